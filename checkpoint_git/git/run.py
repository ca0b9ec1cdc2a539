"""Run git. It is started nowhere else."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, NamedTuple

from checkpoint_git.core import platform
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import AnyHint, Blank, Output, Word, advise, fill_blank, join_hints
from checkpoint_git.core.terminal_text import escape_controls, shorten

if TYPE_CHECKING:
    import subprocess

# 2.31 brought `git rev-parse --path-format`; the suite runs with 2.39 and later.
MINIMUM_VERSION = (2, 31)

# What `git rev-parse --local-env-vars` prints (git 2.39): with one of these set, git talks to that
# repository, whatever directory it is started in.
LOCAL_VARIABLES = frozenset((
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY", "GIT_PREFIX", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
))  # fmt: skip

_CHUNK = 1 << 18  # bytes
_PIPE = 1 << 20  # bytes
USAGE_ERROR = 129  # git's exit code
# what git would start also to read, and an index written anew, which starts a hook: an unpacked
# archive may name any
_QUIET = ("-c", "core.fsmonitor=false", "-c", "diff.autoRefreshIndex=false")
# a hook on refs and on the index is for the user's own, and for no private one
NO_HOOKS = ("-c", f"core.hooksPath={os.devnull}")
_COMPARING = frozenset(("status", "diff"))
# In a partial clone git would fetch what these lack, with the transport that the configuration
# names.
_READING = frozenset(("cat-file", "diff", "diff-files", "diff-index", "diff-tree", "status"))
# "0" lets git fetch: it is in no configuration, so it is the user's word
LAZY_FETCH = "GIT_NO_LAZY_FETCH"
_OFFLINE = {LAZY_FETCH: "1", "GIT_ALLOW_PROTOCOL": "none"}
_NO_GIT = ("git was not found", "install git, or put it on PATH")
_SET_ASIDE = advise(
    "git pruned what these refs of sync name; set them aside",
    "mv",
    Word((Output(("git", "rev-parse", "--git-path", "refs/worktree/checkpoint")),)),
    Word((Output(("git", "rev-parse", "--git-path", "checkpoint-pruned")),)),
)
_OWNED = Blank("the repository", "PATH")
_OTHER_OWNER = advise(
    "the repository belongs to another user",
    "git",
    "config",
    "--global",
    "--add",
    "safe.directory",
    _OWNED,
)
LACKING = join_hints(
    f"in a partial clone, {LAZY_FETCH}=0 in the environment lets git fetch it",
    advise("else the repository is damaged", "git", "fsck"),
)
_KNOWN_TROUBLE: tuple[tuple[bytes, AnyHint], ...] = (
    (b"dubious ownership", _OTHER_OWNER),
    (b"unsafe repository", _OTHER_OWNER),  # git 2.35.2 to 2.37
    (
        b"safe.bareRepository",
        'name the bare repository, as this setting wants it: export GIT_DIR="$PWD"',
    ),
    (
        b"not a git repository: ",  # followed by the folder that something names
        advise(
            "unset GIT_DIR; if the file .git here names a folder that was moved, run there",
            "git",
            "worktree",
            "repair",
        ),
    ),
    (b"not a git repository", advise("go into a repository, or make one", "git", "init")),
    (
        b"git diff --no-index",  # the usage of a diff without a repository
        advise("git cannot read this repository; see why", "git", "status"),
    ),
    (b"for refs/worktree/checkpoint/", _SET_ASIDE),
    (b"lazy fetching disabled", LACKING),
    (b"transport '", LACKING),  # is not allowed: in gits that do not know the variable
    (b"Read-only file system", "the file system is mounted read-only"),
    (b"No space left on device", "the disk is full: make room, then run the same command again"),
    (
        b"must be run in a work tree",
        "go into a work tree: a bare repository has no files to look at",
    ),
)


# of the command's scope, which git obeys; git 2.31 to 2.37 does not know the setting, and reads
# over it
_ANY_BARE = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.bareRepository",
    "GIT_CONFIG_VALUE_0": "all",
}


# git's whole environment; None for this process's own, with a hook's GIT_DIR and GIT_INDEX_FILE:
# see clean_env
Env = Mapping[str, str] | None


class GitMissingError(CheckpointError):
    """There is no git on PATH."""


class GitResult(NamedTuple):
    code: int  # git's exit code, negative when a signal ended it
    out: bytes
    err: bytes


def run_git(
    words: Sequence[str], cwd: str, *, stdin: bytes = b"", env: Env = None, check: bool = True
) -> GitResult:
    """Run git to its end. check: any exit code but 0 is a CheckpointError with git's message."""
    with start_git(words, cwd, env=env) as process:
        out, err = process.communicate(stdin)
    result = GitResult(process.returncode, out, err)
    if check and result.code != 0:
        raise git_error(words, result, cwd)
    return result


def read_names(
    words: Sequence[str], cwd: str, *, stdin: bytes = b"", env: Env = None, check: bool = True
) -> list[str]:
    """Return the paths that git lists with -z."""
    out = run_git(words, cwd, stdin=stdin, env=env, check=check).out
    return [os.fsdecode(name) for name in out.split(b"\0") if name]


def start_git(
    words: Sequence[str],
    cwd: str,
    *,
    env: Env = None,
    stdin: int | None = None,
    stderr: "int | IO[bytes] | None" = None,
    own_group: bool = False,
) -> "subprocess.Popen[bytes]":
    """Start git. Its streams are pipes unless the caller gives others.

    Who reads only stdout passes a stderr, or a chatty git may block. own_group: it and all that it
    starts can be ended together, and no key pressed here reaches them.
    """
    import subprocess

    if env is None:
        env = os.environ
    words, surroundings = _quieten(words, cwd, {"GIT_OPTIONAL_LOCKS": "0", **env})
    try:
        return subprocess.Popen(
            ["git", *_QUIET, *words],
            cwd=cwd,
            env=surroundings,
            stdin=subprocess.PIPE if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if stderr is None else stderr,
            start_new_session=own_group,
        )
    except FileNotFoundError as error:
        if not os.path.isdir(cwd):
            raise CheckpointError(f"{escape_controls(cwd)} is not a directory") from error
        raise GitMissingError(*_NO_GIT) from error
    except OSError as error:
        message = f"git could not be started: {error.strerror}"
        raise CheckpointError(message, "check PATH and the directory") from error


def _quieten(
    words: Sequence[str], cwd: str, env: dict[str, str]
) -> tuple[Sequence[str], dict[str, str]]:
    """Return words and an environment with which git starts no program that a repository names.

    A command that reads fetches nothing. One that compares files of the work tree would start the
    filters of the configuration for a file whose time has changed: without them it counts as
    changed unless its bytes are those of the index. A submodule, which has filters of its own, is
    not asked.
    """
    if not _READING.isdisjoint(words[:2]) and env.get(LAZY_FETCH) != "0":
        env |= _OFFLINE
    if _COMPARING.isdisjoint(words[:2]):
        return words, env

    pattern = r"^filter\..*\.(clean|process|required)$"
    asked = ["config", "--null", "--name-only", "--get-regexp", pattern]
    keys = os.fsdecode(run_git(asked, cwd, env=env, check=False).out).split("\0")[:-1]
    given = env.get("GIT_CONFIG_COUNT", "")
    count = int(given) if given.isdecimal() else 0
    for key in keys:
        env[f"GIT_CONFIG_KEY_{count}"] = key
        env[f"GIT_CONFIG_VALUE_{count}"] = ""  # no program, and not required
        count += 1
    env["GIT_CONFIG_COUNT"] = str(count)

    command_end = 1
    while words[command_end - 1] not in _COMPARING:
        command_end += 1
    return [*words[:command_end], "--ignore-submodules=dirty", *words[command_end:]], env


def stream_git(
    words: Sequence[str], cwd: str, *, env: Mapping[str, str], stdin: bytes = b""
) -> Iterator[bytes]:
    """Yield git's output in chunks; closing the iterator ends git.

    Raises CheckpointError after the last chunk if git failed. stdin: for a command that reads it to
    its end before it writes, such as `git log --stdin`.
    """
    words, env = _quieten(words, cwd, dict(env))
    reading, writing = os.pipe()
    platform.widen_pipe(writing, _PIPE)
    asking, feeding = os.pipe()
    quiet = os.open(os.devnull, os.O_WRONLY | platform.CLOSE_ON_EXEC)
    try:
        wait = platform.spawn(["git", *_QUIET, "-C", cwd, *words], env, (asking, writing, quiet))
    except OSError as error:
        os.close(reading)
        os.close(feeding)
        raise GitMissingError(*_NO_GIT) from error
    finally:
        for descriptor in (asking, writing, quiet):
            os.close(descriptor)

    try:
        with suppress(BrokenPipeError), open(feeding, "wb") as stream:
            stream.write(stdin)
        while chunk := os.read(reading, _CHUNK):
            yield chunk
    finally:
        os.close(reading)  # git, if it still writes, ends with a broken pipe
        code = wait()

    if code:
        result = GitResult(code, b"", b"the history could not be read whole")
        message = git_error(words, result, cwd).message
        shown = ("log", "--raw") if "log" in words else ("status",)
        raise CheckpointError(message, advise("git says why", "git", *shown))


def git_error(words: Sequence[str], result: GitResult, cwd: str) -> CheckpointError:
    first_line = result.err.strip().split(b"\n")[0].decode("utf-8", "replace")
    hint: AnyHint = next((text for sign, text in _KNOWN_TROUBLE if sign in result.err), "")
    if hint == _OTHER_OWNER:
        repository = first_line.partition("'")[2].rpartition("'")[0]
        if repository.startswith("/"):
            hint = fill_blank(hint, _OWNED, repository)
    if result.code == USAGE_ERROR and not hint:
        hint = f"git {_version_text(MINIMUM_VERSION)} or newer is needed"
    what = escape_controls(shorten(first_line, 300)) or f"exit code {result.code}"
    command = _find_command(words)
    return CheckpointError(f"git {command} failed in {escape_controls(cwd)}: {what}", hint)


def _find_command(words: Sequence[str]) -> str:
    """Return the command behind git's own options, the first word if there is none."""
    remaining = iter(words)
    for word in remaining:
        if word == "-c":
            next(remaining)
        elif not word.startswith("-"):
            return word
    return words[0]


def quote_path(path: bytes) -> bytes:
    """Return a path as git reads it from a line.

    It is in quotes, with octal escapes, if it has bytes that a line cannot have.
    """
    if not path.startswith(b'"') and not any(byte < 0x20 or byte == 0x7F for byte in path):
        return path
    quoted = b""
    for byte in path:
        if byte < 0x20 or byte in b'"\\' or byte >= 0x7F:
            quoted += b"\\%03o" % byte
        else:
            quoted += bytes([byte])
    return b'"' + quoted + b'"'


def clean_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what ties git to one repository, for work in any other one.

    That GIT_DIR named one, as git does for its hooks, is what safe.bareRepository=explicit (the
    default of git 3.0) asks for, and stays known.
    """
    pairs = ("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_")
    is_named = "GIT_DIR" in env or env.get("GIT_CONFIG_KEY_0") == _ANY_BARE["GIT_CONFIG_KEY_0"]
    kept = {
        name: env[name]
        for name in env
        if name not in LOCAL_VARIABLES and not name.startswith(pairs)
    }
    if is_named:
        kept |= _ANY_BARE
    return kept


def fetching_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which git fetches what a partial clone lacks, unless the user
    forbids it.
    """
    return {LAZY_FETCH: "0", **env}


def offline_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return a clean environment in which git fetches nothing that a partial clone lacks, unless
    the user lets it.
    """
    offline = clean_env(env)
    if env.get(LAZY_FETCH) != "0":
        offline |= _OFFLINE
    return {**offline, "GIT_TERMINAL_PROMPT": "0"}


def read_bare_top(cwd: str, env: Mapping[str, str]) -> str | None:
    words = ["rev-parse", "--path-format=absolute", "--is-bare-repository", "--absolute-git-dir"]
    answer = run_git(words, cwd, env=env, check=False)
    bare, _, top = os.fsdecode(answer.out).removesuffix("\n").partition("\n")
    if answer.code == 0 and bare == "true":
        return top
    return None


def check_git_version(cwd: str, minimum: tuple[int, ...] = MINIMUM_VERSION) -> tuple[int, ...]:
    """Return git's version. Raises CheckpointError if it is missing or too old."""
    words = run_git(["--version"], cwd).out.decode("utf-8", "replace").split()
    numbers = words[2].split(".") if len(words) > 2 else []
    version = tuple(int(number) for number in numbers if number.isdecimal())
    if not version:
        raise CheckpointError("git --version gave no version", "check which git is on PATH")
    if version < minimum:
        message = f"git {_version_text(version)} is too old"
        raise CheckpointError(message, f"install git {_version_text(minimum)} or newer")

    return version


def _version_text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
