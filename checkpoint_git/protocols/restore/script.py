"""restore.sh: the way back for a machine without this package. It fills in the template and runs nothing.

The template is plain POSIX sh. Every name in it is quoted, so nothing in a name is ever run; every file is written
beside its place and moved there; nothing is forced, and nothing that is not in the point is removed.
"""

import os
import re
from collections.abc import Sequence

from checkpoint_git.core.terminal_text import quote_word
from checkpoint_git.protocols.restore import artifacts, layout
from checkpoint_git.protocols.restore.contents import Artifact, Entry

_TEMPLATE = os.path.join(os.path.dirname(__file__), "restore.sh")
_AT_ONCE = 1000  # names on one command line
_SOURCES = {"git_stash": ("use_git", "take_blob"), "file_backup": ("use_copies", "take_copy")}


def write_script(root: str, point: str, mechanism: str, entries: Sequence[Entry], kept: Sequence[Artifact]) -> str:
    """The script of a point. root: the workspace, whose links are read for where they point."""
    with open(_TEMPLATE, encoding="ascii") as stream:
        text = stream.read()
    notes = "".join(f"#  - {ascii(line)[1:-1]}\n" for line in artifacts.find_prerequisites(kept))
    lines = [(one.kind, artifacts.open_mechanism(one.kind).write_lines(one)) for one in kept if one.content]
    databases = [line for kind, line in lines if kind != "state"]
    states = [line for kind, line in lines if kind == "state"]
    files = _write_lines(root, mechanism, entries) if entries else []
    values = {
        "@POINT@": point,
        "@FOLDER@": quote_word(f"./{layout.FOLDER}/{point}"),
        "# @PREREQUISITES@\n": f"# Before you run it:\n{notes}" if notes else "",
        "# @LINES@\n": "".join([*databases, *files, *states]),
    }
    # in one pass: a file may be called @LINES@
    return re.sub("|".join(values), lambda match: values[match[0]], text)


def _write_lines(root: str, mechanism: str, entries: Sequence[Entry]) -> list[str]:
    # first everything is taken to a folder of our own and compared there, then each file is moved to its place
    use, take = _SOURCES[mechanism]
    ordered = [(entry, quote_word(f"./{entry.path}")) for entry in sorted(entries, key=lambda entry: entry.path)]
    folders = [(entry, name) for entry, name in ordered if entry.kind == "folder"]
    files = list(enumerate(((entry, name) for entry, name in ordered if entry.kind == "file"), 1))
    lines = [f"{use}\n", *(f"{take} {number} {entry.blob or name}\n" for number, (entry, name) in files)]
    if files:
        sums = "".join(f"{entry.sha256}  {number}\n" for number, (entry, _) in files)
        lines.append(f"sums <<'SUMS'\n{sums}SUMS\n")
    for mode in sorted({entry.mode for _, (entry, _) in files}):
        numbers = [str(number) for number, (entry, _) in files if entry.mode == mode]
        for at in range(0, len(numbers), _AT_ONCE):
            chosen = " ".join(numbers[at : at + _AT_ONCE])
            lines.append(f'(cd -- "$work" && chmod {mode:04o} {chosen}) 2>/dev/null\n')
    lines += [f"folder {name}\n" for _, name in folders]
    lines += [f"put {number} {name}\n" for number, (_, name) in files]
    for entry, name in ordered:
        if entry.kind == "link":
            lines.append(f"link {quote_word(os.readlink(os.path.join(root, entry.path)))} {name}\n")
    return lines + [f"chmod {entry.mode:04o} -- {name} || fail {name}\n" for entry, name in reversed(folders)]
