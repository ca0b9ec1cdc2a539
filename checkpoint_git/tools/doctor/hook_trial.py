"""The proof that our hooks work: real git commits, merges and pushes an invalid checkpoint in a temporary repository.

Only what we wrote is run, word for word, from copies: no other part of a hook, nobody else's hook, no framework.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.managed_block import find_block
from checkpoint_git.git import driver_settings as configured
from checkpoint_git.tools.doctor.trial_repository import (
    FILE,
    SAMPLE,
    Branches,
    Trial,
    Tried,
    check_room,
    import_history,
    must,
    open_trial,
    try_git,
)
from checkpoint_git.tools.setup.hook_files import HookFile

SECONDS = 15.0  # for one commit, merge or push with its hooks
_RUNS_AS_IT_STANDS = ("ours", "block", "moved")
# A shell where systems keep theirs, or one that env finds on the plain PATH, with plain options
_SYSTEM_SHELL = re.compile(
    rb"#! *(?:/usr|/usr/local|/opt/[\w.-]+|/nix/store/[\w.-]+|/data/data/com\.termux/files/usr)?/bin/"
    rb"(?:env (?:-S )?)?(?:sh|bash|dash|ash|ksh|mksh)(?: +-[eux]+)*\s*"
)


class HookFailure(NamedTuple):
    """hook: its name. trouble: what it got wrong. said: the first line that git or the hook wrote to stderr.
    needs_path: it works with the user's PATH, and not with the bare one of a program with a window.
    """

    hook: str
    trouble: str
    said: str
    needs_path: bool = False


def read_own_scripts(hooks: Iterable[HookFile]) -> dict[str, bytes]:
    """Our part of each installed hook with the first line that chooses its shell, by the hook's name. A hook is left
    out when our part of it is not, word for word, what we would write, when it stops nothing, or when its first line
    starts something else than a shell of the system: a branch may have filled it.
    """
    scripts: dict[str, bytes] = {}
    for hook in hooks:
        if hook.name in _TRIALS and hook.state in _RUNS_AS_IT_STANDS:
            data = (hook.legacy if hook.state == "moved" else hook.data) or b""
            block, first = find_block(data), data[: data.find(b"\n") + 1] if data.startswith(b"#!") else b""
            if block and (not first or _SYSTEM_SHELL.fullmatch(first)):  # git hands one without a first line to sh
                scripts[hook.name] = first + data[block.start : block.end]
    return scripts


def prove_hooks(
    scripts: Mapping[str, bytes],
    settings: Mapping[str, str],
    env: Mapping[str, str],
    seconds: float = SECONDS,
    *,
    is_bare_path: bool = True,
) -> list[HookFailure]:
    """What is wrong with these hooks when git runs them. settings: git configuration; only the hooks' keys are used.
    env, is_bare_path: see open_trial. seconds: for each operation. Raises CheckpointError where no trial can be made.
    """
    if not scripts:
        return []
    wanted = {key: settings[key] for key in (configured.PYTHON, configured.PACKAGE) if settings.get(key)}
    with open_trial(env, wanted, seconds, is_bare_path=is_bare_path) as trial:
        folder = os.path.join(trial.work_tree, ".git", "hooks")
        os.makedirs(folder, exist_ok=True)
        for name, script in scripts.items():
            path = os.path.join(folder, name)
            with open(path, "wb") as stream:
                stream.write(script)
            os.chmod(path, 0o700)
            if not os.access(path, os.X_OK):
                hint = "set TMPDIR to a folder on a file system that is not mounted noexec"
                raise CheckpointError("no program can be run from the temporary folder", hint)
        import_history(trial, _BRANCHES)
        failures = []
        for name in scripts:
            for is_valid, result in _TRIALS[name](trial):
                trouble = _judge(result, trial, is_valid=is_valid)
                if trouble:
                    failures.append(HookFailure(name, trouble, result.said))
                    break
        if failures:
            check_room(trial)
        return failures


# bad breaks the schema, and other says another skill than its file name: that is found without the library that
# explains schemas and takes longest to load. One hook that loads it is enough.
_GOOD = json.dumps(SAMPLE, indent=2) + "\n"
_BRANCHES: Branches = {
    "start": ({"README": "proof\n"}, ()),
    "good": ({FILE: _GOOD}, ("start",)),
    "bad": ({FILE: _GOOD.replace('"in_progress"', '"nearly"', 1)}, ("start",)),
    "other": ({FILE: _GOOD.replace('"skill": "proof"', '"skill": "other"')}, ("start",)),
    "aside": ({"aside": "proof\n"}, ("start",)),
}


def _judge(result: Tried, trial: Trial, *, is_valid: bool) -> str:
    if result.hung:
        return f"it did not end in {trial.seconds:g} seconds"
    if is_valid:
        return "it refuses a valid checkpoint" if result.code != 0 else ""
    if result.code == 0:
        return "it lets an invalid checkpoint through"
    return "" if FILE.encode() in result.err + result.out else "it refuses without naming the invalid file"


Attempts = Iterator[tuple[bool, Tried]]  # whether the checkpoint is valid, and what git answered


def _try_commits(trial: Trial) -> Attempts:
    must(trial, ["checkout", "-q", "--force", "start"])
    for is_valid, branch in ((True, "good"), (False, "bad")):
        must(trial, ["read-tree", branch])
        yield is_valid, try_git(trial, ["commit", "-q", "-m", "proof"])


def _try_merge(trial: Trial) -> Attempts:
    must(trial, ["checkout", "-q", "--force", "aside"])
    yield False, try_git(trial, ["merge", "-q", "--no-ff", "--no-edit", "other"])


def _try_push(trial: Trial) -> Attempts:
    remote = os.path.join(trial.folder, "remote.git")
    must(trial, ["init", "-q", "--bare", "--template=", remote])
    yield False, try_git(trial, ["push", "-q", remote, "other:refs/heads/other"])


def _try_receive(name: str, trial: Trial) -> Attempts:
    # a server's hook runs in a bare repository of its own
    server = os.path.join(trial.folder, "server.git")
    must(trial, ["init", "-q", "--bare", "--template=", server])
    for key in (configured.PYTHON, configured.PACKAGE):
        value = try_git(trial, ["config", key]).out.decode("utf-8", "surrogateescape").rstrip("\n")
        must(trial, [f"--git-dir={server}", "config", key, value])
    os.mkdir(os.path.join(server, "hooks"))
    shutil.copy(os.path.join(trial.work_tree, ".git", "hooks", name), os.path.join(server, "hooks", name))
    for is_valid, branch in ((True, "good"), (False, "other")):
        yield is_valid, try_git(trial, ["push", "-q", "--no-verify", server, f"{branch}:refs/heads/{branch}"])


# Those that stop something, each with what it must stop. The others print hints and never fail.
_TRIALS: dict[str, Callable[[Trial], Attempts]] = {
    "pre-commit": _try_commits,
    "pre-merge-commit": _try_merge,
    "pre-push": _try_push,
    "pre-receive": partial(_try_receive, "pre-receive"),
    "update": partial(_try_receive, "update"),
}
