"""Deaths at every write: a command is stopped before each of its writes in turn, then the next
command runs.

    python -m benchmarks.crash                          every command, every way to die
    python -m benchmarks.crash update sync --ways kill names
    python -m benchmarks.crash --json crash.json        the figures as a file

A write is any call that changes what is on the disk: a file opened for writing, written, flushed,
renamed, linked or removed, a folder made, a git process that changes an index, a ref or the
objects. The ways to die:

    kill     the process ends before the call, as by SIGKILL
    torn     it ends in the middle: a write has written half of its bytes
    data     the power fails before the call: what was written and not flushed (fsync) is not there
    names    the power fails before the call: names whose folder was not flushed are as they were
    some     the same, but the disk has some of those names: which ones, chance decides
    git      not the process, but a git that it started ends, before one of git's own calls (needs
    strace) group    both end there

After each death: every file has its content from before the command or from after it; if the
command had acknowledged its write, the write is there; the next command answers as it would have
without a death, and leaves no file behind that it would not have left. What git itself writes is
git's to flush: where the process dies, a git process counts as one call. Where git dies, it may
leave locks of the user's: the doctor has to name each of them, with the command that removes it,
and the next command runs after that.
"""

import argparse
import builtins
import contextlib
import importlib
import io
import json
import multiprocessing
import os
import pkgutil
import posix
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import checkpoint_git
from benchmarks.crash_git import GIT_WAYS, Point, Wrapper, list_locks
from benchmarks.crash_verbs import VERBS, WAYS, Verb
from benchmarks.measure import HERMETIC
from checkpoint_git.cli.app import main as run_checkpoint
from checkpoint_git.mergefile import merge_files, read_request
from checkpoint_git.protocols.restore.snapshot import REF, take

_READING_GIT = frozenset(
    (
        *(
            "cat-file",
            "check-attr",
            "check-ignore",
            "check-ref-format",
            "diff",
            "diff-files",
            "diff-index",
            "diff-tree",
        ),
        *(
            "for-each-ref",
            "log",
            "ls-files",
            "ls-remote",
            "ls-tree",
            "merge-base",
            "merge-file",
            "merge-tree",
        ),
        *("name-rev", "rev-list", "rev-parse", "show", "status", "var", "version", "--version"),
    )
)
# instants (-1: the second backup of one second), ids of points, digests, numbers of processes;
# whether init made the folders above a file itself
_UNSTABLE = re.compile(
    r"\d{4}-\d\d-\d\d[T ][\d:.]+(?:Z|[+-]\d\d:?\d\d)?|\d{8}[T_]\d{6}Z?(?:-\d\b)?|chk_\w+|\b[0-9a-f]{7,64}\b|\d{9,}"
    r"|\d+-[0-9a-f]{8}|\b(?:new|folders)=\d"
)
_GIT_OWN = (
    "objects",
    "logs",
    "index",
    "packed-refs",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "COMMIT_EDITMSG",
    "config",
)
_MOST_SECONDS = 60
# seconds for a command whose git dies: a sync tries for minutes to push where a server's lock is
# left
_SHORT = 15
_NONE = frozenset[str]()


class Death(NamedTuple):
    verb: str
    way: str
    call: int  # which call it died at, counted from 1
    what: str  # what the call was
    trouble: str


class Look(NamedTuple):
    """contents: normalized path -> the normalized texts of all files of that name (two points of
    one second), of the work tree. names: of everything else that is not git's own.
    """

    contents: Mapping[str, frozenset[str]]
    names: frozenset[str]


# --- in the process that dies
# ---------------------------------------------------------------------------------------


class _Disk:
    """Counts the calls that change the disk, and ends the process at one of them."""

    def __init__(self, at: int, way: str, report: int) -> None:
        self.at, self.way, self.report = at, way, report
        self.calls = 0
        # inode -> (path, bytes of it that the disk has)
        self.unflushed: dict[int, tuple[str, int]] = {}
        self.undo: list[tuple[str, Callable[[], None]]] = []  # (folder, what takes the name back)
        self.real = {
            name: getattr(posix, name) for name in dir(posix) if callable(getattr(posix, name))
        }

    def count(self, what: str, half: Callable[[], object] | None = None) -> None:
        self.calls += 1
        if self.calls == self.at:
            self.real["write"](self.report, what.encode("utf-8", "replace")[:200])
            if self.way == "torn" and half:
                half()
            self.fail()
            os.kill(os.getpid(), signal.SIGKILL)

    def fail(self) -> None:
        """What a power failure takes away."""
        self.at = -1
        if self.way == "data":
            for inode, (path, size) in self.unflushed.items():
                with contextlib.suppress(OSError):
                    if self.real["stat"](path).st_ino == inode:
                        self.real["truncate"](path, size)
        if self.way in ("names", "some"):
            luck = random.Random(len(self.undo) * 1000 + self.calls)  # noqa: S311 (no secret)
            for _, take_back in reversed(self.undo):
                if self.way == "some" and luck.random() < 0.5:
                    continue
                with contextlib.suppress(OSError):
                    take_back()

    def flush(self, descriptor: int) -> None:
        inode = os.fstat(descriptor).st_ino
        self.unflushed.pop(inode, None)
        self.undo = [one for one in self.undo if _inode(one[0]) != inode]

    def will_write(self, descriptor: int, path: str) -> None:
        with contextlib.suppress(OSError):
            status = os.fstat(descriptor)
            if os.path.isfile(path):
                self.unflushed.setdefault(status.st_ino, (path, status.st_size))

    def moved(self, path: str) -> None:
        inode = _inode(path)
        if inode in self.unflushed:
            self.unflushed[inode] = path, self.unflushed[inode][1]

    def will_name(self, path: str, came_from: str = "") -> None:
        """A name is about to appear, vanish or be replaced."""
        path = os.path.abspath(path)
        kept = None
        with contextlib.suppress(OSError):
            kept = (
                (Path(path).read_bytes(), os.stat(path).st_mode)
                if not os.path.islink(path)
                else None
            )
        is_folder, link = os.path.isdir(path), os.readlink(path) if os.path.islink(path) else ""

        def take_back() -> None:
            if came_from:
                self.real["rename"](path, came_from)
            elif kept is None and not link and not is_folder:
                shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else self.real[
                    "unlink"
                ](path)
            if is_folder and not os.path.isdir(path):
                self.real["mkdir"](path)
            if link and not os.path.islink(path):
                self.real["symlink"](link, path)
            if kept is not None:
                with contextlib.suppress(OSError):
                    self.real["unlink"](path)
                descriptor = self.real["open"](
                    path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, kept[1] & 0o7777
                )
                self.real["write"](descriptor, kept[0])
                self.real["close"](descriptor)

        self.undo.append((os.path.dirname(path), take_back))


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return -1


def _instrument(disk: _Disk) -> None:
    real = disk.real

    def at(path: Any, folder: int | None = None) -> str:
        name = (
            os.fsdecode(path) if not isinstance(path, int) else os.readlink(f"/proc/self/fd/{path}")
        )
        return os.path.join(
            os.readlink(f"/proc/self/fd/{folder}") if folder is not None else os.getcwd(), name
        )

    def open_(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        where = at(path, dir_fd)
        is_new = bool(flags & os.O_CREAT) and not os.path.lexists(where)
        is_cut = bool(flags & os.O_TRUNC) and os.path.exists(where)
        if (is_new or is_cut) and where != os.devnull:
            disk.count(f"open {where}")
            if is_new:
                disk.will_name(where)
        descriptor: int = real["open"](path, flags, mode, dir_fd=dir_fd)
        if is_cut:
            disk.will_write(descriptor, where)
        elif is_new:
            disk.unflushed.pop(os.fstat(descriptor).st_ino, None)
        return descriptor

    def write(descriptor: int, data: Any) -> int:
        where = os.readlink(f"/proc/self/fd/{descriptor}")
        if where.startswith("/") and where != os.devnull:
            view = memoryview(data)
            disk.count(f"write {where}", lambda: real["write"](descriptor, view[: len(view) // 2]))
            disk.will_write(descriptor, where)
        written: int = real["write"](descriptor, data)
        return written

    def fsync(descriptor: int) -> None:
        disk.count("fsync")
        real["fsync"](descriptor)
        disk.flush(descriptor)

    def moving(name: str) -> Callable[..., None]:
        def move(
            src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
        ) -> None:
            before, after = at(src, src_dir_fd), at(dst, dst_dir_fd)
            disk.count(f"{name} {before} {after}")
            if os.path.lexists(before):
                disk.will_name(after, before)
            real[name](src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            disk.moved(after)

        return move

    def link(src: Any, dst: Any, **kwargs: Any) -> None:
        disk.count(f"link {at(src)} {at(dst)}")
        if not os.path.lexists(at(dst)):
            disk.will_name(at(dst))
        real["link"](src, dst, **kwargs)
        disk.moved(at(dst))

    def naming(name: str) -> Callable[..., None]:
        def change(path: Any, *args: Any, dir_fd: int | None = None, **kwargs: Any) -> None:
            where = at(path, dir_fd)
            is_change = os.path.lexists(where) != (name == "mkdir")
            if is_change:
                disk.count(f"{name} {where}")
                disk.will_name(where)
            real[name](path, *args, dir_fd=dir_fd, **kwargs)

        return change

    def symlink(src: Any, dst: Any, *args: Any, **kwargs: Any) -> None:
        disk.count(f"symlink {dst}")
        disk.will_name(at(dst, kwargs.get("dir_fd")))
        real["symlink"](src, dst, *args, **kwargs)

    def plainly(name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            disk.count(f"{name} {args[0]}")
            return real[name](*args, **kwargs)

        return call

    patched: dict[str, Any] = {"open": open_, "write": write, "fsync": fsync, "fdatasync": fsync}
    patched |= {"link": link, "symlink": symlink}
    patched |= {name: moving(name) for name in ("replace", "rename")}
    patched |= {name: naming(name) for name in ("unlink", "remove", "mkdir", "rmdir")}
    patched |= {
        name: plainly(name)
        for name in ("chmod", "fchmod", "truncate", "ftruncate", "utime", "sendfile")
    }
    for name, function in patched.items():
        for module in (os, posix):
            if hasattr(module, name):
                setattr(module, name, function)
    _instrument_streams(disk)

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if event in ("subprocess.Popen", "os.posix_spawn") and disk.at > 0:
            words = [os.fsdecode(word) for word in args[1]] if args[1] else []
            name = _git_command(words)
            if name:
                disk.count(f"git {name}")

    sys.addaudithook(audit)


def _instrument_streams(disk: _Disk) -> None:
    class Counted(io.FileIO):
        def write(self, data: Any, /) -> int:
            posix.write(self.fileno(), data)
            return len(memoryview(data).cast("B"))

    real_open = io.open

    def open_stream(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if not set(mode) & set("wax+"):
            return real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        opener = opener or (lambda path, flags: os.open(path, flags, 0o666))
        raw = Counted(
            file,
            mode.replace("b", "").replace("t", ""),
            closefd,
            None if isinstance(file, int) else opener,
        )
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

    builtins.open = open_stream
    io.open = open_stream
    tempfile._io.open = open_stream  # type: ignore[attr-defined]


def _git_command(words: Sequence[str]) -> str:
    """The command of a git process that may change something, "" for any other."""
    if not words or os.path.basename(words[0]) != "git":
        return ""
    rest = iter(words[1:])
    for word in rest:
        if word in ("-c", "-C"):
            next(rest, "")
        elif not word.startswith("-") or word == "--version":
            left = list(rest)
            is_reading = word in _READING_GIT or (word == "hash-object" and "-w" not in left)
            is_reading |= word == "config" and any(
                one.startswith(("--get", "--list", "-l", "--null")) for one in left
            )
            return "" if is_reading else word
    return ""


# --- in the harness
# -------------------------------------------------------------------------------------------------


def run(
    words: Sequence[str],
    root: Path,
    at: int = 0,
    way: str = "kill",
    wrapper: Wrapper | None = None,
    folder: str = "repo",
    seconds: int = _MOST_SECONDS,
) -> tuple[int, str, int, str]:
    """(exit code or minus the signal, what it printed, calls, what the last was). at: the call it
    dies at, 0 for none of them, -1 for after the last. wrapper: of the git that it starts. folder:
    where it runs. seconds: after which it is killed.
    """
    reading, writing = os.pipe()
    printed = root.parent / "printed"
    child = os.fork()
    if child == 0:
        _run_here(words, root / folder, at, way, writing, str(printed), wrapper, seconds)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with open(reading, "rb") as stream:
        calls, _, what = stream.read().decode("utf-8", "replace").rpartition("\n")
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    said = printed.read_text("utf-8", "replace")
    return os.waitstatus_to_exitcode(status), said, int(calls or 0), what


def _run_here(
    words: Sequence[str],
    cwd: Path,
    at: int,
    way: str,
    report: int,
    printed: str,
    wrapper: Wrapper | None,
    seconds: int,
) -> None:
    code = 99
    try:
        os.setpgid(0, 0)
        if wrapper is not None:
            wrapper.enter()
        signal.alarm(seconds)
        os.chdir(cwd)
        out = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for descriptor, number in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (out, 2)):
            os.dup2(descriptor, number)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(number, how, errors="replace") for number, how in enumerate("rww")
        )
        disk = _Disk(at if at > 0 else sys.maxsize, way, report)
        _instrument(disk)
        words = [word.replace("@ROOT@", str(cwd.parent)) for word in words]
        if "@AUTO@" in words:  # the newest point of an agent's hook
            words = [
                word.replace("@AUTO@", f"auto-{(cwd / '.git' / REF).read_text()[:12]}")
                for word in words
            ]
        if words[0] == "point":
            code = 0 if take(str(cwd), words[1]) else 1
        else:
            code = (
                merge_files(read_request(words[1:]))
                if words[0] == "driver"
                else run_checkpoint(words)
            )
        sys.stdout.flush()
        if at:
            disk.fail()
        disk.real["write"](report, f"{disk.calls}\n".encode())
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _show(texts: Iterable[str]) -> str:
    return " and ".join(repr(text[:80]) for text in sorted(texts))


def look(root: Path) -> Look:
    contents, names = defaultdict[str, set[str]](set), set()
    for folder, folders, files in os.walk(root):
        here = os.path.relpath(folder, root)
        parts = here.split(os.sep)
        inside = (
            parts.index(".git") + 1 if ".git" in parts else 1 if parts[0].endswith(".git") else 0
        )
        if inside and len(parts) == inside:
            folders[:] = [name for name in folders if name not in _GIT_OWN]
            files = [name for name in files if name not in _GIT_OWN]
        for name in files:
            path = os.path.join(folder, name)
            shown = _UNSTABLE.sub("#", os.path.join(here, name))
            if inside or os.path.islink(path):
                names.add(shown)
            else:
                text = _UNSTABLE.sub(
                    "#", Path(path).read_bytes().decode("utf-8", "backslashreplace")
                )
                # a workflow's state is set in by one space before it is archived: the same JSON
                contents[shown].add(textwrap.dedent(text) if text.startswith(" {") else text)
    return Look({path: frozenset(texts) for path, texts in contents.items()}, frozenset(names))


class Expected(NamedTuple):
    """What may be seen without a death: before, after, and after the next command of either."""

    before: Look
    after: Look
    then: tuple[Look, ...]
    codes: tuple[frozenset[int], ...]  # of each command that comes next
    code: int


class Stage:
    """One verb's template on the disk, and what is expected of it."""

    def __init__(self, verb: Verb, base: Path) -> None:
        self.verb, self.base = verb, base
        self.root, self.template = base / "run", base / "template"
        self.root.mkdir(parents=True)
        os.chdir(base)  # a folder that stays
        verb.prepare(self.root)
        self.root.rename(self.template)
        self.expected = self._expect()
        self.wrapper: Wrapper | None = None

    def renew(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.template, self.root, symlinks=True)

    def _expect(self) -> Expected:
        self.renew()
        before = look(self.root)
        code, said, self.calls, _ = run(self.verb.words, self.root)
        assert code in self.verb.codes, f"{self.verb.name}: {code}\n{said}"
        after = look(self.root)
        then, codes = [], [set[int](self.verb.codes) for _ in self.verb.then]
        for start in ("new", "old"):
            if start == "old":
                self.renew()
            for again, known in zip(self.verb.then, codes, strict=True):
                known.add(run(again, self.root)[0])
            then.append(look(self.root))
        return Expected(before, after, tuple(then), tuple(map(frozenset, codes)), code)

    def die(self, call: int, way: str) -> Death:
        """One death, at a call or (-1) after the last. trouble: "" where all is as it should be."""
        self.renew()
        code, said, _, what = run(self.verb.words, self.root, call, way)
        trouble = list(self._check_at_once(code, said))
        trouble += self._go_on()
        return Death(
            self.verb.name, way, call, what.replace(str(self.root), ""), "; ".join(trouble)
        )

    def list_git_points(self) -> list[Point]:
        """Return the calls at which a git process of the command can die."""
        self.wrapper = Wrapper(self.base / "bin")
        self.renew()
        self.wrapper.record()
        run(self.verb.words, self.root, wrapper=self.wrapper)
        return self.wrapper.list_points(self.root)

    def die_in_git(self, point: Point, way: str) -> Death:
        """One death inside git, of git alone or of the command with it."""
        assert self.wrapper is not None
        self.renew()
        self.wrapper.arm(point, way)
        code, said, *_ = run(self.verb.words, self.root, wrapper=self.wrapper, seconds=_SHORT)
        trouble = list(self._check_at_once(code, said, is_git_dead=True))
        trouble += self._follow_doctor()
        trouble += self._go_on()
        return Death(
            self.verb.name,
            way,
            point.call,
            point.what.replace(str(self.root), ""),
            "; ".join(trouble),
        )

    def _follow_doctor(self) -> Iterator[str]:
        """Remove the user's locks as the doctor says, some minutes later."""
        own, users = list_locks(self.root)
        for path in (*own, *users):
            os.utime(path, (time.time() - 300,) * 2)
        if not users:
            return
        for folder in sorted({path.relative_to(self.root).parts[0] for path in users}):
            _, said, *_ = run(["doctor", "--json"], self.root, folder=folder)
            try:
                findings = json.loads(said)["findings"]
            except (ValueError, KeyError):
                yield f"the doctor beside locks: {said[-300:]}"
                continue
            for finding in findings:
                if finding["code"] == "clone/stale-lock":
                    typed = finding["hint"].removeprefix("remove it: ")
                    subprocess.run(typed, shell=True, check=False)  # noqa: S602 - as a user would paste it
        if left := [str(path.relative_to(self.root)) for path in users if path.exists()]:
            yield f"the doctor names no {', '.join(left)}"

    def _go_on(self) -> Iterator[str]:
        for again, known in zip(self.verb.then, self.expected.codes, strict=True):
            code, said, *_ = run(again, self.root)
            if code not in known:  # minus 14: it took longer than _MOST_SECONDS
                yield f"the next command, {again}, answered {code}: {said[-300:]}"
        yield from self._check_then()

    def _check_at_once(self, code: int, said: str, *, is_git_dead: bool = False) -> Iterator[str]:
        before, after = self.expected.before.contents, self.expected.after.contents
        seen = look(self.root)
        now = seen.contents
        allowed = {
            path: _NONE.union(*(one.get(path, _NONE) for one in (before, after)))
            for path in {**before, **after}
        }
        for path, texts in now.items():
            if path in allowed and not texts <= allowed[path] and not self.verb.may_differ(path):
                yield f"{path} is neither old nor new: {_show(texts - allowed[path])}"
        for path in (before.keys() & after.keys()) - now.keys():
            is_moved = self.verb.moves and before[path] in now.values()
            if not is_moved:
                yield f"{path} is gone"
        is_acknowledged = code == self.expected.code or (
            code < 0 and self.verb.says and self.verb.says in said
        )
        if is_acknowledged:
            for path, texts in after.items():
                if now.get(path) != texts and not self.verb.may_differ(path):
                    yield f"acknowledged, and {path} has not what was written: {_show(now.get(path, _NONE))}"
            for path in before.keys() - after.keys():
                if path in now:
                    yield f"acknowledged, and {path} is still there"
            kept = {
                path for path in self.expected.after.names if "/.git/checkpoint-restore/#" in path
            }
            if lost := kept - seen.names:
                yield f"acknowledged, and the store has lost {', '.join(sorted(lost))}"
        elif code >= 0 and not (is_git_dead and code in (1, 2)):
            yield f"answered {code}: {said[-300:]}"

    def _check_then(self) -> Iterator[str]:
        seen = [self.expected.before, self.expected.after, *self.expected.then]
        now = look(self.root)
        left = (now.names | now.contents.keys()) - {
            name for one in seen for name in (*one.names, *one.contents)
        }
        left -= {path for path in left if self.verb.may_differ(path) and not path.endswith(".tmp")}
        if left:
            yield f"left behind: {', '.join(sorted(left))}"
        for path, texts in now.contents.items():
            known = _NONE.union(*(one.contents.get(path, _NONE) for one in seen))
            is_added = (
                self.verb.adds
                and "/#/" in path
                and self.expected.after.contents.get(path, _NONE) <= texts
            )
            if (
                path not in left
                and not texts <= known
                and not is_added
                and not self.verb.may_differ(path)
            ):
                yield f"then {path} has {_show(texts - known)}"
        for repo in (self.root / "repo", *self.root.glob("*.git")) if self.verb.uses_git else ():
            fsck = ["git", "fsck", "--connectivity-only", "--no-dangling"]
            done = subprocess.run(fsck, cwd=repo, capture_output=True, text=True, check=False)
            if done.returncode:
                yield f"git fsck: {done.stdout[:200]}{done.stderr[:200]}"


def load_package() -> None:
    """Everything that a forked command would import is loaded once."""
    for module in pkgutil.walk_packages(checkpoint_git.__path__, "checkpoint_git."):
        if ".mcp" not in module.name and not module.name.endswith(
            ("__main__", "driver", "textconv")
        ):
            importlib.import_module(module.name)


def run_deaths(
    verb: Verb, ways: Sequence[str], base: Path, every: int = 1, begin: int = 1
) -> Iterator[Death]:
    stage = Stage(verb, base)
    for way in (way for way in ways if way in verb.ways):
        for call in (*range(begin, stage.calls + 1, every), -1):
            yield stage.die(call, way)

    git_ways = [way for way in ways if way in GIT_WAYS]
    points = stage.list_git_points() if git_ways else []
    for way in git_ways:
        for point in points[begin - 1 :: every]:
            yield stage.die_in_git(point, way)


def _run_verb(task: tuple[str, Sequence[str], Path, int, int]) -> tuple[str, int, list[Death]]:
    name, ways, folder, begin, every = task
    verb = next(verb for verb in VERBS if verb.name == name)
    deaths = list(run_deaths(verb, ways, folder / name.replace(" ", "-"), every, begin))
    return name, len(deaths), [death for death in deaths if death.trouble]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "verbs", nargs="*", help=f"default: all of {', '.join(verb.name for verb in VERBS)}"
    )
    parser.add_argument("--ways", nargs="+", choices=(*WAYS, *GIT_WAYS), default=list(WAYS))
    parser.add_argument("--every", type=int, default=1, help="only every nth call")
    parser.add_argument(
        "--seed", type=int, help="begin at another call, and take the commands in another order"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="how many commands at once"
    )
    parser.add_argument("--folder", help="work in this one, such as /dev/shm")
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    load_package()
    deaths, found = Counter[str](), list[Death]()
    luck = random.Random(args.seed)  # noqa: S311 (no secret)
    chosen = [verb.name for verb in VERBS if not args.verbs or verb.name in args.verbs]
    luck.shuffle(chosen)
    begins = [1 if args.seed is None else luck.randint(1, args.every) for _ in chosen]
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        os.environ.update(HERMETIC | {"HOME": folder})
        tasks = [
            (name, args.ways, Path(folder), begin, args.every)
            for name, begin in zip(chosen, begins, strict=True)
        ]
        with multiprocessing.get_context("fork").Pool(args.jobs, maxtasksperchild=1) as pool:
            for name, count, trouble in pool.imap_unordered(_run_verb, tasks, 1):
                deaths[name] = count
                found += trouble
                for death in trouble:
                    print(f"{death.verb} {death.way} {death.call} ({death.what}): {death.trouble}")
                print(f"{name}: {count} deaths", flush=True)
    print(f"{deaths.total()} deaths, {len(found)} with trouble")
    if args.json:
        figures = {
            "deaths": dict(deaths),
            "total": deaths.total(),
            "trouble": [one._asdict() for one in found],
        }
        Path(args.json).write_text(json.dumps(figures, indent=2) + "\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
