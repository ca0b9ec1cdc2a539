"""Keep what git sees in a work tree as a commit, for the guard and agents' hooks.

Agents' hooks start this file alone, with `python -I -S`: of the package it imports the lock, once
there is a repository.

Nothing of the user's is touched. A private git directory, `checkpoint/automatic` in the user's,
has an index, ignore rules and attributes of its own, and shares the repository's objects. A point
is a commit as `git stash` makes them: its tree is the work tree, its parents are HEAD and a commit
of what was staged. The reflog of CHECKPOINT_HEAD holds the points: no branch, push, `--all` or
other work tree sees it, `git gc` keeps it and expires its old entries.
"""

import json
import os
import select
import shutil
import stat
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

REF = "CHECKPOINT_HEAD"
MOST = 500  # points of a work tree
BUDGET = "checkpoint.pointsBudget"  # bytes that they may add to the objects of HEAD
DEFAULT_BUDGET = "512m"
_END = "end of a turn"
# the budget is enforced after so many points, since not every agent reports the end of a turn
_OFTEN = 20
_ATTEMPTS = 3
_LONGEST_LOCK = 10_000_000_000  # nanoseconds; git holds the lock of a ref for milliseconds
_NAP = 0.1  # seconds
# seconds that another session's point is waited for: its first one may add gigabytes
_LONGEST_TURN = 600.0
_TICK = 10_000_000  # nanoseconds by which the times of files may lag behind the clock
_QUIET = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_SETTINGS = """\
[core]
\tbare = false
\tsafecrlf = false
\tsplitIndex = false
\tuntrackedCache = false
\tlooseCompression = 1
"""  # to compress more costs most of the time, and `git gc` does it for all that lasts
# A point holds a file's own bytes: no filter runs, and no line ends are converted.
_ATTRIBUTES = "* -text !crlf !eol -ident !working-tree-encoding -filter\n"
_CONVERTING = ("text", "crlf", "eol", "ident", "working-tree-encoding", "filter")
# filters that give back what they took: an unchanged file stays what it is in git
STORES = ("lfs", "annex", "git-crypt")
# What git keeps of a merge, rebase, cherry-pick, revert or bisect in progress; first its refs.
OPERATION_REFS = (
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "ORIG_HEAD",
    "AUTO_MERGE",
    "MERGE_AUTOSTASH",
    "BISECT_EXPECTED_REV",
    "refs/bisect",
)
OPERATION_FILES = (
    *OPERATION_REFS,
    "sequencer",
    "rebase-merge",
    "rebase-apply",
    "MERGE_HEAD",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "SQUASH_MSG",
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_TERMS",
    "BISECT_NAMES",
    "BISECT_ANCESTORS_OK",
    "BISECT_FIRST_PARENT",
    "BISECT_RUN",
)
# automatic.X of earlier versions
_FORMER_FILES = ("index", "ignored", "paths", "new", "index.lock")
_SESSION_KEYS = (b'"session_id"', b'"conversation_id"', b'"sessionId"')
_TOOL_KEYS = (b'"tool_name"', b'"toolName"')


class OverBudgetError(OSError):
    """Raised if what changed is more than all points may add to the repository."""


class SnapshotRepository:
    """A work tree with its git directory, and the private git directory in it."""

    def __init__(self, top: str, git_dir: str, common_dir: str) -> None:
        self.top = top
        self.git_dir = git_dir
        self.common_dir = common_dir
        self.home = os.path.join(git_dir, "checkpoint", "automatic")
        self.env = {
            name: value for name, value in os.environ.items() if not name.startswith("GIT_")
        }

        self.env["LC_ALL"] = "C"
        for role in ("AUTHOR", "COMMITTER"):
            self.env[f"GIT_{role}_NAME"] = "checkpoint"
            self.env[f"GIT_{role}_EMAIL"] = "checkpoint"

    def ask(self, *words: str, source: str = os.devnull) -> str:
        """Return what the user's git prints, "" if it fails."""
        return _run(words, self.top, self.env, source)[1]

    def change(self, *words: str) -> str:
        """Return what the user's git prints. Raises OSError if it fails."""
        return _check(words, _run(words, self.top, self.env))

    def ask_private(
        self, *words: str, home: str = "", index: str = "", source: str = os.devnull
    ) -> str:
        """Return what git prints in the private git directory. Raises OSError if it fails."""
        home = home or self.home
        env = self.env | {
            "GIT_DIR": home,
            "GIT_WORK_TREE": self.top,
            "GIT_OBJECT_DIRECTORY": os.path.join(self.common_dir, "objects"),
            "GIT_INDEX_FILE": index or os.path.join(home, "index"),
        }
        return _check(words, _run(words, self.top, env, source))


def _run(
    words: tuple[str, ...], cwd: str, env: dict[str, str], source: str = os.devnull
) -> tuple[int, str, str]:
    """Return git's exit code, its output, and its last complaint.

    subprocess would cost more than git.
    """
    output, output_end = os.pipe()
    errors, errors_end = os.pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, source, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, output_end, 1),
        (os.POSIX_SPAWN_DUP2, errors_end, 2),
    ]
    parts: dict[int, list[bytes]] = {output: [], errors: []}
    waiting = [output, errors]

    try:
        argv = ["git", "-C", cwd, *_QUIET, *words]
        pid = os.posix_spawnp("git", argv, env, file_actions=actions)
        os.close(output_end)
        os.close(errors_end)
        while waiting:
            for stream in select.select(waiting, (), ())[0]:
                data = os.read(stream, 1 << 16)
                parts[stream].append(data)
                if not data:
                    waiting.remove(stream)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    finally:
        os.close(output)
        os.close(errors)

    printed = ""
    if code == 0:
        printed = os.fsdecode(b"".join(parts[output])).rstrip("\n")
    complaint = b"".join(parts[errors]).decode("utf-8", "replace").strip().rpartition("\n")[2]
    return code, printed, complaint


def _check(words: tuple[str, ...], result: tuple[int, str, str]) -> str:
    code, printed, complaint = result
    if code != 0:
        raise OSError(f"git {words[0]} failed: {complaint or f'exit code {code}'}")
    return printed


def find_repository(start: str) -> SnapshotRepository | None:
    """Return the repository around a folder; None outside git, and if a path has a line break."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    words = (
        "rev-parse",
        "--path-format=absolute",
        "--show-toplevel",
        "--git-dir",
        "--git-common-dir",
    )
    lines = _run(words, start, env)[1].split("\n")
    if len(lines) != 3 or not os.path.exists(os.path.join(lines[1], "HEAD")):
        return None
    return SnapshotRepository(*lines)


def take(start: str, label: str) -> str:
    """Return the tree of what git sees now, "" outside a repository.

    It is kept if it is new and has a label: "SESSION NEXT", such as "3f2a before Edit"; "" to keep
    nothing. Raises OSError if git cannot keep it, CheckpointError if another session holds the
    points.
    """
    repository = find_repository(start)
    if repository is None:
        return ""

    with _hold_points(repository):
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return _take_locked(repository, label)
            except OverBudgetError:
                raise
            except OSError:
                # a file went away meanwhile, or objects that the private index names were pruned
                if attempt == _ATTEMPTS:
                    raise
                shutil.rmtree(repository.home, ignore_errors=True)

    raise AssertionError("the last attempt returns or raises")


def _hold_points(repository: SnapshotRepository) -> "AbstractContextManager[None]":
    """Return the lock of a work tree's automatic points, as every write has one."""
    from checkpoint_git.disk.lock import hold_lock  # late: outside a repository nothing is locked

    os.makedirs(os.path.dirname(repository.home), exist_ok=True)
    return hold_lock(f"{repository.home}.lock", _LONGEST_TURN)


def _take_locked(repository: SnapshotRepository, label: str) -> str:
    _clear_locks(repository)
    if _is_outdated(repository, label):
        _begin(repository)

    changed = _list_changed(repository)
    budget = sys.maxsize
    if changed and label:
        budget = _read_budget(repository)
    size = _measure(repository, changed)
    if size > budget:  # after `git checkout`, say, the user's index knows what has not changed
        _begin(repository)
        changed = _list_changed(repository)
        size = _measure(repository, changed)

    if size > budget:
        message = f"{size >> 10:,} KB changed since the last point, "
        message += f"more than the budget of {budget >> 10:,} KB: "
        message += "let git ignore what is generated, "
        message += f"or raise it: git config {BUDGET} {(size >> 20) + 100}m"
        raise OverBudgetError(message)

    if any(not path.endswith("/") for path in changed):
        _add(repository, changed)
    tree = repository.ask_private("write-tree")
    if label and _keep(repository, tree, label):
        number = int(repository.ask("rev-list", "--walk-reflogs", "--count", REF, "--") or 0)
        if label.endswith(_END) or number % _OFTEN == 0 or size > budget // _OFTEN:
            _drop_oldest_locked(repository, MOST)

    return tree


def _clear_locks(repository: SnapshotRepository) -> None:
    """Remove what a git that was killed left on the ref of these points, which only we write.

    A lock that is younger than git ever holds one may be of the user's `git gc`, so its age is
    waited for. One from the future was left before the clock was set back.
    """
    for name in (f"{REF}.lock", f"logs/{REF}.lock"):
        path = os.path.join(repository.git_dir, name)
        while os.path.lexists(path) and abs(time.time_ns() - _read_time(path)) < _LONGEST_LOCK:
            time.sleep(_NAP)
        if os.path.lexists(path):
            os.unlink(path)


def _is_outdated(repository: SnapshotRepository, label: str) -> bool:
    """Return whether the private git directory is missing, or older than what it was made from."""
    try:
        lock = os.path.join(repository.home, "index.lock")
        if os.path.exists(lock):  # of a git that was killed
            os.unlink(lock)
        begun = os.stat(os.path.join(repository.home, "config")).st_mtime_ns
    except OSError:
        return True

    if _read_time(os.path.join(repository.common_dir, "info", "exclude")) >= begun:
        return True
    return label.endswith(_END) and _read_time(os.path.join(repository.git_dir, "index")) >= begun


def _read_time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _begin(repository: SnapshotRepository) -> None:
    """Make the private git directory, with the user's index; it gets its name at the end."""
    begun = time.time_ns() - _TICK
    for name in _FORMER_FILES:
        former = f"{repository.home}.{name}"
        if os.path.lexists(former):
            os.unlink(former)

    new = f"{repository.home}.begun"
    shutil.rmtree(new, ignore_errors=True)
    for folder in ("info", "refs"):
        os.makedirs(os.path.join(new, folder))

    for name in os.listdir(repository.git_dir):
        # git compares its time with those of the files
        if name == "index" or name.startswith("sharedindex."):
            shutil.copy2(os.path.join(repository.git_dir, name), os.path.join(new, name))

    names_file = os.path.join(os.path.dirname(__file__), "secret_names.json")
    with open(names_file, encoding="utf-8") as stream:
        secrets = json.load(stream)

    exclude = os.path.join(repository.common_dir, "info", "exclude")
    files = {
        "HEAD": "ref: refs/heads/none\n",  # git wants one
        "refs/.keep": "",
        "info/attributes": _ATTRIBUTES,
        "info/exclude": _list_secret_patterns(secrets) + _read(exclude),
        "info/sparse-checkout": _read(os.path.join(repository.git_dir, "info", "sparse-checkout")),
        "paths": "\0".join(_list_pathspecs(secrets)),
        "config": _write_settings(repository),
    }

    for name, text in files.items():
        if text or name == "refs/.keep":
            _write(os.path.join(new, name), text)

    _replace_converted(repository, new, secrets)
    os.utime(os.path.join(new, "config"), ns=(begun, begun))
    shutil.rmtree(repository.home, ignore_errors=True)
    os.rename(new, repository.home)


def _read(path: str) -> str:
    if not os.path.isfile(path):
        return ""
    with open(path, encoding="utf-8", errors="surrogateescape") as stream:
        return stream.read()


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(text)


def _write_settings(repository: SnapshotRepository) -> str:
    """Return a configuration: the user's, with what differs in a private git directory."""
    object_format = repository.ask("rev-parse", "--show-object-format")
    lines = ["[core]", f"\trepositoryformatversion = {int(object_format == 'sha256')}"]
    if object_format == "sha256":
        lines += ["[extensions]", "\tobjectFormat = sha256"]
    users = (
        os.path.join(repository.common_dir, "config"),
        os.path.join(repository.git_dir, "config.worktree"),
    )

    for path in users:
        quoted = path.replace("\\", "\\\\").replace('"', '\\"')
        lines += ["[include]", f'\tpath = "{quoted}"']

    return "\n".join(lines) + "\n" + _SETTINGS


def _list_secret_patterns(secrets: dict[str, list[str]]) -> str:
    """Return ignore rules for untracked files whose names may be those of secrets."""
    lines = [*secrets["names"], *(f"*{ending}" for ending in secrets["endings"])]
    lines += [f"{start}*.json" for start in secrets["json_only"]]
    lines += [f"{start}*" for start in secrets["beginnings"] if start not in secrets["json_only"]]
    lines += [f"!*{ending}" for ending in secrets["harmless_endings"]]
    lines.append("!*/")
    text = "\n".join(lines) + "\n"
    return "".join(_ignore_case(letter) for letter in text)


def _ignore_case(letter: str) -> str:
    if not letter.isalpha():
        return letter
    return f"[{letter}{letter.upper()}]"


def _list_pathspecs(secrets: dict[str, list[str]]) -> list[str]:
    """Return what `git add` is given: everything but what is a secret by its name.

    A .gitignore that takes back what it ignores takes back no pathspec; git is slow with `**/` in
    one.
    """
    specs = ["."]
    for name in [*secrets["names"], *(path[1:] for path in secrets["paths"])]:
        specs.append(f":(icase,exclude)*/{name}")
        # [s]ecrets is a file, secrets a folder too
        specs.append(f":(icase,exclude)[{name[0]}]{name[1:]}")

    specs += [f":(icase,exclude)*{ending}" for ending in secrets["endings"]]
    return specs


def _replace_converted(
    repository: SnapshotRepository, home: str, secrets: dict[str, list[str]]
) -> None:
    """Replace the content of files that git converts by their own bytes, in a private index."""
    listed = os.path.join(home, "listed")
    _write(listed, repository.ask("ls-files", "-z"))
    fields = repository.ask("check-attr", "-z", "--stdin", *_CONVERTING, source=listed).split("\0")
    records = zip(fields[::3], fields[1::3], fields[2::3], strict=False)
    paths = {path for path, _, value in records if value not in ("unspecified", "unset", *STORES)}
    if repository.ask("config", "core.autocrlf") not in ("", "false"):
        paths = set(fields[::3]) - {""}

    paths = {path for path in paths if not _is_secret(path, secrets)}
    paths = {path for path in paths if os.path.isfile(os.path.join(repository.top, path))}
    _write(listed, "".join(f"{path}\0" for path in sorted(paths)))
    if paths:
        repository.ask_private(
            "update-index", "-z", "--force-remove", "--stdin", home=home, source=listed
        )
        repository.ask_private("update-index", "-z", "--add", "--stdin", home=home, source=listed)


def _is_secret(path: str, secrets: dict[str, list[str]]) -> bool:
    name = path.rpartition("/")[2].lower()
    if name in secrets["names"] or name.endswith(tuple(secrets["endings"])):
        return True
    return f"/{path.lower()}".endswith(tuple(secrets["paths"]))


def _list_changed(repository: SnapshotRepository) -> list[str]:
    """Return paths that differ from the private index by their times, and untracked ones.

    A repository is "inner/".
    """
    words = ("diff-files", "-z", "--name-only", "--ignore-submodules=dirty")
    changed = repository.ask_private(*words)
    others = repository.ask_private("ls-files", "-z", "--others", "--exclude-standard")
    return [path for path in f"{changed}\0{others}".split("\0") if path]


def _measure(repository: SnapshotRepository, paths: list[str]) -> int:
    size = 0
    for path in paths:
        try:
            status = os.lstat(os.path.join(repository.top, path))
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            size += status.st_size
    return size


def _add(repository: SnapshotRepository, changed: list[str]) -> None:
    """Take what changed into the private index, except what git cannot add."""
    specs = _read(os.path.join(repository.home, "paths")).split("\0")
    for path in changed:
        if not _can_add(repository, path):
            specs.append(f":(exclude,literal){path.rstrip('/')}")

    source = os.path.join(repository.home, "paths.now")
    _write(source, "\0".join(specs))
    repository.ask_private("add", "-A", f"--pathspec-from-file={source}", "--pathspec-file-nul")


def _can_add(repository: SnapshotRepository, path: str) -> bool:
    """Return whether a path is a file that can be read, or a link, or was removed.

    Inner repositories, pipes and devices cannot be added.
    """
    full = os.path.join(repository.top, path)
    try:
        mode = os.lstat(full).st_mode
    except PermissionError:
        return False
    except OSError:
        return True

    if stat.S_ISREG(mode):
        return os.access(full, os.R_OK)
    return stat.S_ISLNK(mode) or (stat.S_ISDIR(mode) and not path.endswith("/"))


def _keep(repository: SnapshotRepository, tree: str, label: str) -> bool:
    """Keep a tree with what git holds beside it, unless the newest point has the same."""
    head = repository.ask("rev-parse", "--verify", "--quiet", "HEAD")
    branch = repository.ask("symbolic-ref", "--quiet", "HEAD")
    staged = _write_staged(repository)
    notes = f"branch {branch or 'none'}\nhead {head or 'none'}\nstaged {staged}"
    if repository.ask("log", "-1", "--format=%T%n%b", REF, "--") == f"{tree}\n{notes}":
        return False

    index = repository.change("commit-tree", staged, "-m", "index")
    words = ["commit-tree", tree]
    if head:
        words += ["-p", head]
    commit = repository.change(*words, "-p", index, "-m", label, "-m", notes)
    repository.change("update-ref", "--create-reflog", "-m", label, REF, commit)
    return True


def _write_staged(repository: SnapshotRepository) -> str:
    """Return a tree of what git holds beside the files.

    It has all entries of the user's index as STAGE/PATH, conflicts too, and the files of an
    operation as git/PATH.
    """
    operation = _list_operation_files(repository)
    state = " ".join(
        f"{name} {_read_time(os.path.join(repository.git_dir, name))}"
        for name in ("index", *operation)
    )
    record = os.path.join(repository.home, "staged")
    tree, _, recorded = _read(record).partition(" ")
    if recorded == state:
        return tree

    lines = []
    for entry in repository.ask("ls-files", "-z", "--stage").split("\0"):
        facts, _, path = entry.partition("\t")
        if path:
            mode, blob, number = facts.split(" ")
            lines.append(f"{mode} {blob}\t{number}/{path}")

    listed = os.path.join(repository.home, "listed")
    _write(listed, "".join(f"{os.path.join(repository.git_dir, name)}\n" for name in operation))
    blobs = repository.ask_private(
        "hash-object", "-w", "--no-filters", "--stdin-paths", source=listed
    ).split()
    lines += [f"100644 {blob}\tgit/{name}" for name, blob in zip(operation, blobs, strict=True)]
    _write(listed, "".join(f"{line}\0" for line in lines))

    index = os.path.join(repository.home, "staged.index")
    if os.path.exists(index):
        os.unlink(index)
    repository.ask_private("update-index", "-z", "--index-info", index=index, source=listed)
    tree = repository.ask_private("write-tree", "--missing-ok", index=index)
    _write(record, f"{tree} {state}")
    return tree


def _list_operation_files(repository: SnapshotRepository) -> list[str]:
    """Return the files of an operation in progress, relative to the git directory."""
    found = []
    for name in OPERATION_FILES:
        path = os.path.join(repository.git_dir, name)
        if os.path.isfile(path) and not os.path.islink(path):
            found.append(name)
        for folder, _, names in os.walk(path):
            paths = [os.path.join(folder, file) for file in sorted(names)]
            found += [os.path.relpath(file, repository.git_dir) for file in paths]

    return found


def _read_budget(repository: SnapshotRepository) -> int:
    """Return a number of bytes, without limit where git cannot read the setting."""
    text = repository.ask("config", "--type=int", f"--default={DEFAULT_BUDGET}", BUDGET)
    return int(text or sys.maxsize)


def drop_oldest(repository: SnapshotRepository, most: int = MOST) -> int:
    """Drop the oldest points until the others are within the budget, and return their number.

    The newest stays, unless most is 0. Raises CheckpointError if another session holds the points.
    """
    with _hold_points(repository):
        return _drop_oldest_locked(repository, most)


def _drop_oldest_locked(repository: SnapshotRepository, most: int) -> int:
    # git drops entries of a reflog by their number, which a point that is added meanwhile changes
    budget = _read_budget(repository)
    commits = repository.ask("rev-list", "--walk-reflogs", REF, "--").split()
    keep = min(len(commits), most)

    while keep > 1 and _measure_points(repository, commits[:keep]) > budget:
        keep = keep * 3 // 4

    if keep == 0 and commits:
        repository.ask("update-ref", "-d", REF)
    elif keep < len(commits):
        old = [f"{REF}@{{{number}}}" for number in range(len(commits) - 1, keep - 1, -1)]
        repository.ask("reflog", "delete", "--rewrite", *old)

    return len(commits) - keep


def _measure_points(repository: SnapshotRepository, commits: list[str]) -> int:
    """Return how many bytes they add to what HEAD has on the disk; 0 before the first commit."""
    words = ("rev-list", "--objects", "--disk-usage", "--missing=allow-any", *commits)
    return int(repository.ask(*words, "--not", "HEAD", "HEAD^{tree}") or 0)


def find_label(data: bytes) -> str:
    """Return "SESSION NEXT" for a tool call as an agent's hook gets it.

    Two names are searched for, because to parse JSON takes longer.
    """
    session = _find_text(data, _SESSION_KEYS) or "default"
    tool = _find_text(data, _TOOL_KEYS)
    if not tool:
        return f"{session} {_END}"
    return f"{session} before {tool}"


def _find_text(data: bytes, keys: tuple[bytes, ...]) -> str:
    for key in keys:
        text = data.partition(key)[2].partition(b'"')[2].partition(b'"')[0]
        if text:
            letters = text[:64].decode("ascii", "replace")
            return "".join(letter for letter in letters if letter in "-_" or letter.isalnum())
    return ""


def _read_call() -> bytes:
    """Return the beginning of stdin, which some agents never close."""
    call = b""
    while len(call) < 1 << 16 and select.select([0], (), (), 0.5)[0]:
        part = os.read(0, 1 << 16)
        if not part:
            break
        call += part
    return call


if __name__ == "__main__":
    sys.path.append(os.path.abspath(os.path.join(__file__, "../../../..")))
    try:
        take(os.getcwd(), find_label(_read_call()))
    except Exception as error:  # whatever goes wrong, this hook stops no tool call
        sys.stderr.write(f"checkpoint-git: no restore point: {error}\n")
    sys.exit(0)
