"""Deaths inside git: a `git` on PATH runs one of a command's git processes under strace, which
kills it there.
"""

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

GIT_WAYS = ("git", "group")
# what changes the disk; openat and write do so in part
_CALLS = (
    *("openat", "write", "pwrite64", "ftruncate", "fsync", "fdatasync", "chmod", "mkdir", "rmdir"),
    *("rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat"),
)
_LINE = re.compile(r"(\d+) +(\w+)\((.*)")
_WRAPPER = """\
#!/bin/sh
printf . >> '{folder}/count'
number=$(($(wc -c < '{folder}/count')))
read -r process name call way group < '{folder}/wanted'
case $process in
    all) exec '{strace}' -f -y -qq -e 'trace={calls}' -o '{folder}/trace.'"$number" '{git}' "$@" ;;
    "$number") ;;
    *) exec '{git}' "$@" ;;
esac
'{strace}' -f -qq -e 'trace={calls}' -e "inject=$name:signal=SIGKILL:when=$call" -o '{folder}/died' '{git}' "$@"
code=$?
if [ "$way" = group ]; then
    kill -9 "-$group" 0
fi
[ "$code" != 137 ] || kill -9 $$
exit "$code"
"""


class Point(NamedTuple):
    """process: which git process of the command, from 1. call: which of its calls of that name,
    from 1.
    """

    process: int
    name: str
    call: int
    what: str


class Wrapper:
    """A folder for PATH with a `git` that counts, and dies where it is told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        strace, git = shutil.which("strace"), shutil.which("git")
        if not strace or not git:
            raise SystemExit("deaths inside git need strace (Linux)")
        text = _WRAPPER.format(folder=folder, strace=strace, git=git, calls=",".join(_CALLS))
        (folder / "git").write_text(text)
        (folder / "git").chmod(0o755)

    def record(self) -> None:
        """Let the next command's git processes show their calls."""
        self._write("all - 0 git")

    def arm(self, point: Point, way: str) -> None:
        """Let the next command's git die at a point."""
        self._write(f"{point.process} {point.name} {point.call} {way}")

    def _write(self, wanted: str) -> None:
        (self.folder / "count").write_bytes(b"")
        (self.folder / "wanted").write_text(f"{wanted} 0\n")

    def enter(self) -> None:
        """Make it the git of this process, which a death of the whole group ends as well."""
        os.environ["PATH"] = f"{self.folder}{os.pathsep}{os.environ['PATH']}"
        wanted = (self.folder / "wanted").read_text().rsplit(" ", 1)[0]
        (self.folder / "wanted").write_text(f"{wanted} {os.getpid()}\n")

    def list_points(self, root: Path) -> list[Point]:
        """Return the calls below a folder that change it, of the processes that ran since
        `record`.
        """
        found = list[Point]()
        for trace in self.folder.glob("trace.*"):
            found += _read_trace(trace, int(trace.suffix[1:]), str(root))
            trace.unlink()
        return sorted(found)


def _read_trace(trace: Path, process: int, root: str) -> Iterator[Point]:
    counts = Counter[str]()
    for line in trace.read_text("utf-8", "replace").splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        number, name, rest = match.groups()
        counts[number + name] += 1  # as strace counts
        if _is_change(name, rest, root):
            yield Point(process, name, counts[number + name], f"git {process}: {name}({rest}"[:200])


def _is_change(name: str, rest: str, root: str) -> bool:
    if name == "openat":
        return "O_CREAT" in rest and root in rest
    if name in ("write", "pwrite64", "ftruncate", "fsync", "fdatasync"):
        return root in rest.partition(",")[0]
    return True


def list_locks(root: Path) -> tuple[list[Path], list[Path]]:
    """Return the locks that git's death left: those on what only checkpoint-git writes, and the
    user's.
    """
    own, users = list[Path](), list[Path]()
    for path in sorted((*root.rglob("*.lock"), *root.rglob("packed-refs.new"))):
        _, mark, inside = path.relative_to(root).as_posix().partition(".git/")
        if not mark or inside.startswith("checkpoint"):
            continue
        is_own = path.name == "CHECKPOINT_HEAD.lock" or path.name.endswith(".tmp.lock")
        is_own |= re.search("refs/(worktree/checkpoint|checkpoints)/", inside) is not None
        (own if is_own else users).append(path)
    return own, users
