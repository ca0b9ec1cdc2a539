"""Read unmerged checkpoint files in the versions that git's index has, and stage a result."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens
from checkpoint_git.git.attributes import read_attribute
from checkpoint_git.git.driver_settings import JSON_DRIVER, Choices, read_driver_command
from checkpoint_git.git.merges.bases import read_base_ids
from checkpoint_git.git.merges.merges import read_contents, read_files_at
from checkpoint_git.git.objects import (
    FILE_MODES,
    GITLINK,
    IndexEntry,
    blob_id,
    read_blob,
    read_index,
)
from checkpoint_git.git.run import Env, read_names, run_git
from checkpoint_git.git.staged import pathspecs
from checkpoint_git.protocols.registry import is_merged

DEFAULT_MARKER_SIZE = 7
_MOST_MERGES = 8  # looked at for where markers came from
_STAGE_OF_SIDE = (2, 1, 3)  # ours, base, theirs


class FileVersion(NamedTuple):
    mode: str  # "100644"
    blob: str
    data: bytes  # empty for a submodule

    @property
    def is_file(self) -> bool:
        return self.mode in FILE_MODES


Stages = tuple[tuple[str, str, int], ...]  # (mode, blob, stage) in the index's order


class Unmerged(NamedTuple):
    path: str  # relative to the work tree, "/"
    # ours, base, theirs; None if it has none
    sides: tuple[FileVersion | None, FileVersion | None, FileVersion | None]
    stages: Stages


class Conflicts(NamedTuple):
    files: list[Unmerged]  # checkpoints and other JSON that init was given, sorted by path
    others: list[str]  # the paths of files that are none


class Top(NamedTuple):
    work_tree: str  # its root, absolute; "" if there is none
    git_dir: str  # its own, absolute


def find_top(cwd: str, env: Env = None) -> Top:
    words = ["rev-parse", "--is-inside-work-tree", "--absolute-git-dir"]
    out = os.fsdecode(run_git(words, cwd, env=env).out)
    inside, _, git_dir = out.removesuffix("\n").partition("\n")  # a path may have line breaks
    if inside != "true":
        return Top("", git_dir)
    top = run_git(["rev-parse", "--show-toplevel"], cwd, env=env).out
    return Top(os.fsdecode(top).removesuffix("\n"), git_dir)


def read_top(cwd: str) -> Top:
    """Return the top of the work tree. Raises CheckpointError if there is none."""
    top = find_top(cwd)
    if not top.work_tree:
        message = "no files are checked out here: this is a bare repository or the inside of one"
        raise CheckpointError(message, "run it in a clone or a work tree")
    return top


def read_stages(work_tree: str) -> dict[str, Stages]:
    return _group_stages(read_index(work_tree, unmerged=True))


def _group_stages(entries: Sequence[IndexEntry]) -> dict[str, Stages]:
    found: dict[str, Stages] = {}
    for path, mode, blob, stage in entries:
        found[path] = (*found.get(path, ()), (mode, blob, stage))
    return found


def read_conflicts(work_tree: str) -> Conflicts:
    """Return every unmerged file. Those that our driver merges have their contents."""
    stages = read_stages(work_tree)
    drivers = read_drivers(work_tree, [path for path in stages if not is_merged(path)])
    paths = sorted(path for path in stages if is_merged(path) or path in drivers)
    files = _read_versions(work_tree, {path: stages[path] for path in paths})
    return Conflicts(files, sorted(set(stages) - set(paths)))


def _read_versions(work_tree: str, stages: Mapping[str, Stages]) -> list[Unmerged]:
    blobs = set[str]()
    for rows in stages.values():
        blobs.update(blob for mode, blob, _ in rows if mode != GITLINK)
    contents = read_contents(work_tree, blobs)
    files = []
    for path, rows in stages.items():
        versions = {
            stage: FileVersion(mode, blob, contents.get(blob, b"")) for mode, blob, stage in rows
        }
        ours, base, theirs = (versions.get(stage) for stage in _STAGE_OF_SIDE)
        files.append(Unmerged(path, (ours, base, theirs), rows))
    return files


def list_marked(work_tree: str) -> list[str]:
    """Return the tracked checkpoints with conflict markers that git does not take for unmerged."""
    words = ["grep", "-l", "-z", "--full-name", "--basic-regexp", "--no-color"]
    words += ["-e", "^<<<<<<<", "--", *pathspecs()]
    found = set(read_names(words, work_tree, check=False))
    return sorted(path for path in found - set(read_stages(work_tree)) if is_merged(path))


def read_past_conflicts(work_tree: str, path: str) -> Iterator[Unmerged]:
    """Yield what may have been merged, if markers were added or committed as they were.

    That is the stages that the index had then, which git keeps in the clone that merged, and the
    parents of the merges that brought markers, newest first.
    """
    stages = _group_stages(read_index(work_tree, [f":(top,literal){path}"], resolved=True))
    yield from (file._replace(stages=()) for file in _read_versions(work_tree, stages))
    words = ["log", f"-{_MOST_MERGES}", "--merges", "-m", "-S<<<<<<< ", "--format=%P"]
    words += ["--", f":(top,literal){path}"]
    out = run_git(words, work_tree, check=False).out.decode()
    for line in dict.fromkeys(out.split("\n")):
        parents = line.split()
        if len(parents) != 2:
            continue
        ours, theirs = parents
        bases = list(read_base_ids(work_tree, parents))
        contents = [
            _read_file_at(work_tree, path, ours),
            _read_file_at(work_tree, path, bases[0]) if bases else None,
            _read_file_at(work_tree, path, theirs),
        ]
        yield make_unmerged(path, contents)


def _read_file_at(work_tree: str, path: str, commit: str) -> bytes | None:
    return read_files_at(work_tree, [path], commit=commit)[path]


def make_unmerged(path: str, contents: Sequence[bytes | None]) -> Unmerged:
    """Return a file of which the index has no stages. contents: ours, base, theirs."""
    ours, base, theirs = [_make_version(data) for data in contents]
    return Unmerged(path, (ours, base, theirs), ())


def _make_version(data: bytes | None) -> FileVersion | None:
    if data is None:
        return None
    return FileVersion(FILE_MODES[0], "", data)


def is_as_committed(work_tree: str) -> bool:
    return run_git(["diff", "--cached", "--quiet", "HEAD"], work_tree, check=False).code == 0


def read_marker_sizes(work_tree: str, paths: Sequence[str]) -> dict[str, int]:
    """Return the length of the conflict markers in each file.

    A length that is not a number, or has more than five digits, counts as git's default.
    """
    sizes = {}
    for path, size in read_attribute("conflict-marker-size", work_tree, paths).items():
        sizes[path] = DEFAULT_MARKER_SIZE
        if size.isascii() and size.isdigit() and len(size) < 6 and int(size) > 0:
            sizes[path] = int(size)
    return sizes


def read_drivers(work_tree: str, paths: Sequence[str]) -> dict[str, str]:
    """Return the files that a driver of ours merges, by path with its name."""
    drivers = read_attribute("merge", work_tree, paths)
    return {
        path: name
        for path, name in drivers.items()
        if name == "checkpoint" or name.startswith(JSON_DRIVER)
    }


def read_choices(work_tree: str, driver: str = "checkpoint") -> Choices:
    command = run_git(["config", "--get", f"merge.{driver}.driver"], work_tree, check=False).out
    installed = read_driver_command(os.fsdecode(command).removesuffix("\n"))
    if installed is None:
        return Choices()
    return installed.choices


def read_as_stored(work_tree: str, path: str, raw: bytes) -> bytes:
    """Return a file's bytes as `git add` would store them: git's line ends, filters undone."""
    hashed = run_git(["hash-object", f"--path={path}", "--stdin"], work_tree, stdin=raw)
    blob = hashed.out.decode().strip()
    for data in (raw, raw.replace(b"\r\n", b"\n")):
        if blob == blob_id(data, blob):
            return data

    run_git(["hash-object", "-w", f"--path={path}", "--stdin"], work_tree, stdin=raw)
    stored = read_blob(work_tree, blob)
    return raw if stored is None else stored


def read_as_checked_out(work_tree: str, path: str, data: bytes) -> bytes:
    """Return a blob's bytes as a checkout would write them.

    The blob is stored: it is what will be staged.
    """
    blob = run_git(["hash-object", "-w", "--stdin"], work_tree, stdin=data).out.decode().strip()
    return run_git(["cat-file", "--filters", f"--path={path}", blob], work_tree).out


class TextMerge(NamedTuple):
    data: bytes | None  # with conflict markers unless clean; None for what git calls binary
    is_clean: bool


def merge_lines(
    cwd: str, base: bytes, ours: bytes, theirs: bytes, *options: str, env: Env = None
) -> TextMerge:
    """Merge three versions with `git merge-file`."""
    from tempfile import TemporaryDirectory  # late: it brings shutil and compression along

    with TemporaryDirectory(prefix="checkpoint-") as folder:
        paths = [os.path.join(folder, name) for name in ("ours", "base", "theirs")]
        for path, data in zip(paths, (ours, base, theirs), strict=True):
            with open(path, "wb") as stream:
                stream.write(data)
        labels = ["-L", "ours", "-L", "base", "-L", "theirs"]
        words = ["merge-file", "-p", "-q", *labels, *options, *paths]
        result = run_git(words, cwd, env=env, check=False)

    if result.code > 127:
        return TextMerge(None, is_clean=False)
    return TextMerge(result.out, result.code == 0)


def merge_as_text(
    cwd: str, base: bytes | None, ours: bytes, theirs: bytes, env: Env = None
) -> TextMerge:
    """Merge by lines, as the driver does what is not JSON.

    It is clean only if a document results.
    """
    merged = merge_lines(cwd, base or b"", ours, theirs, env=env)
    try:
        scan_tokens(decode(merged.data or b""))
    except JsonTextError:
        return merged._replace(is_clean=False)
    return merged


def read_line_merges(
    cwd: str, base: bytes, ours: bytes, theirs: bytes
) -> tuple[bytes, bytes] | None:
    """Merge by lines with every conflict decided for ours, and again for theirs.

    None for what git calls binary.
    """
    with_ours = merge_lines(cwd, base, ours, theirs, "--ours").data
    with_theirs = merge_lines(cwd, base, ours, theirs, "--theirs").data
    if with_ours is None or with_theirs is None:
        return None
    return with_ours, with_theirs


def stage_path(work_tree: str, path: str, *, removed: bool = False) -> None:
    """Stage a file, or that it is removed.

    git keeps the stages that it had: `git checkout --merge` brings them back, except those of a
    removed file.
    """
    words = ["update-index", "-z"]
    if removed:
        words.append("--force-remove")
    run_git([*words, "--stdin"], work_tree, stdin=os.fsencode(path) + b"\0")
