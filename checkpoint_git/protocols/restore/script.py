"""Write restore.sh, which restores a point without this package, and try it in a test run."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from checkpoint_git.core.terminal_text import quote_word
from checkpoint_git.disk.atomic import create_file
from checkpoint_git.disk.read import read_own
from checkpoint_git.protocols.restore import contents, layout, scope
from checkpoint_git.protocols.restore.contents import ContentEntry, Location, Part
from checkpoint_git.protocols.restore.mechanisms import parts as all_parts

_AT_ONCE = 1000  # names on one command line of restore.sh
_REHEARSED = 20  # files that it restores in its rehearsal, those with the oddest names
_MOST_REHEARSED = 16 << 20  # bytes of one of them


def write_script(
    root: str,
    point: str,
    kind: str,
    entries: Sequence[ContentEntry],
    parts: Sequence[Part],
) -> str:
    """Return restore.sh of a point. root: of the workspace. kind: of the point.

    It is plain POSIX sh. Every name is quoted, so nothing in one is run; it removes nothing that
    is not in the point.
    """
    databases = ""
    states = ""
    for part in parts:
        if not part.content:
            continue
        lines = all_parts.open_mechanism(part.kind).write_lines(part)
        if part.kind == "state":
            states += lines
        else:
            databases += lines

    files = ""
    if entries:
        files = "".join(_write_lines(root, kind, entries))
    notes = ""
    for sentence in all_parts.find_prerequisites(parts):
        notes += f"#  - {ascii(sentence)[1:-1]}\n"
    if notes:
        notes = f"# Before you run it:\n{notes}"
    values = {
        "@POINT@": point,
        "@FOLDER@": quote_word(f"./{layout.FOLDER}/{point}"),
        "# @PREREQUISITES@\n": notes,
        "# @LINES@\n": databases + files + states,
    }
    # in one pass: a file may be called @LINES@
    template = read_own(__file__, "restore.sh")
    return re.sub("|".join(values), lambda match: values[match[0]], template)


def _write_lines(root: str, kind: str, entries: Sequence[ContentEntry]) -> list[str]:
    """Return the commands for files, links and folders.

    First everything is taken to a private folder under numbers and compared there, then each file
    is moved to its place.
    """
    ordered = sorted(entries, key=lambda entry: entry.path)
    folders = [entry for entry in ordered if entry.kind == "folder"]
    files = [entry for entry in ordered if entry.kind == "file"]

    lines = _write_takes(kind, files)
    lines += _write_modes(files)
    lines += [f"folder {_quote(folder)}\n" for folder in folders]
    lines += [f"put {number} {_quote(file)}\n" for number, file in enumerate(files, 1)]

    for entry in ordered:
        if entry.kind == "link":
            target = os.readlink(os.path.join(root, entry.path))
            lines.append(f"link {quote_word(target)} {_quote(entry)}\n")

    for entry in ordered:
        if entry.twin:
            lines.append(f"twin {quote_word(f'./{entry.twin}')} {_quote(entry)}\n")

    for folder in reversed(folders):
        name = _quote(folder)
        lines.append(f"chmod {folder.mode:04o} -- {name} || fail {name}\n")

    return lines


def _write_takes(kind: str, files: Sequence[ContentEntry]) -> list[str]:
    """Return the commands that take all files to the private folder, and compare them."""
    if kind == "git_stash":
        lines = ["use_git\n"]
        take = "take_blob"
    else:
        lines = ["use_copies\n"]
        take = "take_copy"

    sums = ""
    for number, file in enumerate(files, 1):
        lines.append(f"{take} {number} {file.blob or _quote(file)}\n")
        sums += f"{file.sha256}  {number}\n"

    if files:
        lines.append(f"sums <<'SUMS'\n{sums}SUMS\n")
    return lines


def _write_modes(files: Sequence[ContentEntry]) -> list[str]:
    """Return the commands that set modes in the private folder, many files at once."""
    lines = []
    for mode in sorted({file.mode for file in files}):
        numbers = [str(number) for number, file in enumerate(files, 1) if file.mode == mode]
        for start in range(0, len(numbers), _AT_ONCE):
            chosen = " ".join(numbers[start : start + _AT_ONCE])
            lines.append(f'(cd -- "$work" && chmod {mode:04o} {chosen}) 2>/dev/null\n')
    return lines


def _quote(entry: ContentEntry) -> str:
    return quote_word(f"./{entry.path}")


def rehearse_script(
    location: Location,
    point: str,
    kind: str,
    entries: Sequence[ContentEntry],
    parts: Sequence[Part],
) -> bool:
    """Run a restore.sh of some of the entries in an empty folder, and return whether it works.

    It restores all parts but those of a server.
    """
    files = [entry for entry in entries if entry.kind != "folder" and entry.size < _MOST_REHEARSED]
    files.sort(key=lambda entry: re.fullmatch(r"[\w./-]+", entry.path, re.ASCII) is not None)
    chosen = contents.match_twins(files[:_REHEARSED])
    script = os.path.join(location.folder, layout.RESTORE_SCRIPT)
    text = write_script(location.root, point, kind, chosen, parts)
    create_file(script, os.fsencode(text), 0o600)

    with stage(location) as folder:
        env = {**location.env, "CHECKPOINT_WORKSPACE": folder, "CHECKPOINT_REHEARSAL": "1"}
        done = subprocess.run(
            ["/bin/sh", script],
            env=env,
            cwd=folder,
            capture_output=True,
            check=False,
        )
        os.unlink(script)
        return done.returncode == 0 and not compare_stage(folder, chosen)


@contextmanager
def stage(location: Location) -> Iterator[str]:
    """Give an empty folder for a rehearsal, which is removed after the block."""
    with tempfile.TemporaryDirectory(prefix=".rehearsal-", dir=location.folder) as folder:
        yield folder
        for path, names, _ in os.walk(folder):
            for name in names:  # a folder that is closed to its owner could not be removed
                if not os.path.islink(os.path.join(path, name)):
                    os.chmod(os.path.join(path, name), 0o700)


def compare_stage(folder: str, entries: Sequence[ContentEntry]) -> set[str]:
    """Return the paths that did not come back in a rehearsal as they were captured."""
    places = []
    for entry in entries:
        places.append(scope.look_at(folder, entry.path)._replace(kind=entry.kind))
    found = scope.read_entries(folder, places)
    return {difference.path for difference in contents.compare_entries(entries, found)}
