"""The gitattributes lines that give checkpoint files their merge driver, and what git makes of
them.
"""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.managed_block import Note, find_block, put_block, take_block
from checkpoint_git.git.run import Env, run_git
from checkpoint_git.protocols.registry import attribute_patterns

DRIVER = "checkpoint"
OTHER_DRIVER = "opchain-checkpoint"
FILE = ".gitattributes"

# the attribute with the schema that a team agreed on; git does not read it
SCHEMA = "checkpoint-schema"

_LINE = re.compile(rf'("[^"]+"|[^\s"#]\S*) merge=({DRIVER}(?:-json-[0-9a-f]+)?(?: {SCHEMA}=\S+)?)')
_ADOPTED = b"# checkpoint-git adopted: "
_OWN_MERGE = b"merge=" + DRIVER.encode()
_OTHER_MERGE = re.compile(
    rb"(?<=[ \t])merge=" + re.escape(OTHER_DRIVER.encode()) + rb"(?=[ \t\r\n]|\Z)"
)


def attribute_lines() -> list[str]:
    return [f"{pattern} merge={DRIVER}" for pattern in attribute_patterns()]


def attribute_body() -> bytes:
    return "".join(f"{line}\n" for line in attribute_lines()).encode()


def has_attributes(data: bytes) -> bool:
    merged = {words[0] for words in map(bytes.split, data.splitlines()) if _OWN_MERGE in words[1:]}
    return all(pattern.encode() in merged for pattern in attribute_patterns())


def find_other_driver(data: bytes) -> list[int]:
    """Return the numbers, from 1, of the lines that name another driver; comments do not count."""
    lines = enumerate(data.splitlines(), 1)
    return [number for number, line in lines if _names_other_driver(line)]


def _names_other_driver(line: bytes) -> bool:
    return not line.lstrip().startswith(b"#") and _OTHER_MERGE.search(line) is not None


def add_attributes(
    data: bytes | None, notes: tuple[Note, ...] = (), others: Mapping[str, str] | None = None
) -> bytes:
    """Return a .gitattributes with our block.

    others: patterns of other JSON files and their driver, beside those that the block has.
    """
    kept = {**find_others(data or b""), **(others or {})}
    lines = ""
    for pattern, driver in kept.items():
        if " " in pattern:
            pattern = f'"{pattern}"'
        lines += f"{pattern} merge={driver}\n"
    return put_block(data, attribute_body() + os.fsencode(lines), notes=notes)


def find_others(data: bytes) -> dict[str, str]:
    """Return pattern -> driver of the files in our block that are not checkpoints.

    Their driver names the schema that a team agreed on.
    """
    block = None
    with suppress(CheckpointError):  # damaged marks, which whoever writes the block reports
        block = find_block(data)
    if block is None:
        return {}
    ours = set(attribute_patterns())
    found = (_LINE.fullmatch(line) for line in os.fsdecode(block.body).splitlines())
    pairs = [(line[1].strip('"'), line[2]) for line in found if line]
    return {pattern: driver for pattern, driver in pairs if pattern not in ours}


def remove_attributes(data: bytes) -> bytes | None:
    return take_block(restore_lines(data))


def adopt_lines(data: bytes) -> bytes:
    adopted: list[bytes] = []
    for line in data.splitlines(keepends=True):
        if _names_other_driver(line):
            adopted += [_ADOPTED, line]
            if not line.endswith((b"\n", b"\r")):
                adopted.append(b"\n")
            line = _OTHER_MERGE.sub(_OWN_MERGE, line)
        adopted.append(line)
    return b"".join(adopted)


def restore_lines(data: bytes) -> bytes:
    """Return the lines as they were before adopt_lines, to the byte.

    A line that was edited since stays as it is.
    """
    restored: list[bytes] = []
    above = b""
    for line in data.splitlines(keepends=True):
        original, text = above.removeprefix(_ADOPTED).rstrip(b"\r\n"), line.rstrip(b"\r\n")
        if above.startswith(_ADOPTED) and _OTHER_MERGE.sub(_OWN_MERGE, original) == text:
            restored += [original, line[len(text) :]]
        elif not line.startswith(_ADOPTED):
            restored.append(line)
        above = line
    return b"".join(restored)


def read_attribute(
    name: str,
    folder: str,
    paths: Sequence[str],
    env: Env = None,
    options: Sequence[str] = (),
    *,
    check: bool = True,
) -> dict[str, str]:
    """Return path, relative to folder -> its attribute in git's words.

    options: of git. check: git may not fail.
    """
    if not paths:
        return {}
    stdin = b"".join(os.fsencode(path) + b"\0" for path in paths)
    if env is None:
        env = os.environ
    env = {**env, "GIT_FLUSH": "0"}  # or git writes each answer by itself
    words = [*options, "check-attr", "-z", "--stdin", name]
    fields = run_git(words, folder, stdin=stdin, env=env, check=check).out.split(b"\0")
    return dict(zip(map(os.fsdecode, fields[::3]), map(os.fsdecode, fields[2::3]), strict=False))


def read_shared_merge_attributes(
    top: str, names: Sequence[str], env: Mapping[str, str]
) -> dict[str, str]:
    """Return the merge attributes as .gitattributes gives them in a clone without own settings."""
    from tempfile import TemporaryDirectory  # late, as most who ask for attributes need none

    # An empty git directory is asked: it has no info/attributes, which would overrule every file.
    with suppress(OSError), TemporaryDirectory(prefix="checkpoint-attributes-") as folder:
        for name in ("objects", "refs"):
            os.mkdir(os.path.join(folder, name))
        with open(os.path.join(folder, "HEAD"), "w", encoding="ascii") as stream:
            stream.write("ref: refs/heads/none\n")
        options = [
            f"--git-dir={folder}",
            f"--work-tree={top}",
            "-c",
            f"core.attributesFile={os.devnull}",
        ]
        return read_attribute(
            "merge", top, names, {**env, "GIT_ATTR_NOSYSTEM": "1"}, options, check=False
        )

    return {}
