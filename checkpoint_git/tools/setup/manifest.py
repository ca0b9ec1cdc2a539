"""What we offer the pre-commit framework: the hooks of .pre-commit-hooks.yaml, made from one table. Pure."""

import re
from typing import NamedTuple

from checkpoint_git.protocols.registry import KINDS

FILE = ".pre-commit-hooks.yaml"


class Offer(NamedTuple):
    """One hook of the manifest. files: the paths it gets as arguments, "" for a hook that looks around by itself."""

    id: str
    name: str
    description: str
    entry: str
    files: str


def files_pattern() -> str:
    """A regular expression for the paths of every protocol's files, as pre-commit searches for it."""
    endings = [
        (f"{re.escape(kind.folder)}/" if kind.folder else "") + "[^/]+".join(map(re.escape, kind.parts))
        for kind in KINDS
    ]
    return f"(^|/)({'|'.join(endings)})$" if len(endings) > 1 else f"(^|/){endings[0]}$"


def offers() -> list[Offer]:
    """The hooks in the order in which the manifest lists them."""
    return [
        Offer(
            "checkpoint-validate",
            "checkpoints are valid",
            "Checks every changed checkpoint file against its protocol.",
            "checkpoint validate",
            files_pattern(),
        ),
        Offer(
            "checkpoint-doctor",
            "checkpoints match the repository",
            "Compares all checkpoints with the history and the files, and looks after the merge driver and the hooks.",
            "checkpoint-doctor",
            "",
        ),
    ]


def manifest_text() -> str:
    """The whole of .pre-commit-hooks.yaml."""
    head = "# Made from checkpoint_git/tools/setup/manifest.py; a test compares the two.\n"
    return head + "".join(_entry(offer) for offer in offers())


def _entry(offer: Offer) -> str:
    lines = [
        f"- id: {offer.id}",
        f"  name: {offer.name}",
        f"  description: {offer.description}",
        f"  entry: {offer.entry}",
        "  language: python",
    ]
    if offer.files:
        lines.append(f"  files: {yaml_quoted(offer.files)}")
    else:
        lines += ["  always_run: true", "  pass_filenames: false"]
    return "\n".join(lines) + "\n"


def yaml_quoted(text: str) -> str:
    """A text as a single-quoted YAML scalar; it must not hold a newline."""
    return "'" + text.replace("'", "''") + "'"
