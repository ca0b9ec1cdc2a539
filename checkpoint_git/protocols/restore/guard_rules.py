"""Whether an agent's tool call may go on: reading always, changing only what a live restore point covers. Pure.

It fails closed: a tool that it does not know counts as one that changes things.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from checkpoint_git.core.clock import read_instant
from checkpoint_git.protocols.restore.layout import AUDIT_LOG, FOLDER
from checkpoint_git.protocols.restore.sensitive import is_sensitive

# Tools that look, ask or plan. Names are matched whole: a file that is called after a tool means nothing.
_READING = frozenset(
    (
        "Agent", "AskUserQuestion", "BashOutput", "EnterPlanMode", "ExitPlanMode", "Glob", "Grep", "KillShell", "LS",
        "ListMcpResourcesTool", "NotebookRead", "Read", "ReadMcpResourceTool", "Skill", "SlashCommand", "Task",
        "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TodoRead", "TodoWrite",
        "ToolSearch", "WebFetch", "WebSearch",
        # the same by the names that other agents give them
        "glob", "google_web_search", "grep_search", "list_directory", "read_file", "read_many_files",
        "search_file_content", "web_fetch", "write_todos",
    )
)  # fmt: skip
# Tools that change one file, and the member of their input that names it.
_CHANGING = {
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
    "replace": "file_path",
    "write_file": "file_path",
}
_SHELLS = frozenset(("Bash", "Shell", "run_shell_command"))
# Programs that only look, whatever their arguments.
_LOOKING = frozenset(
    (
        "basename", "cat", "cmp", "cut", "df", "diff", "dirname", "du", "echo", "false", "grep", "head",
        "id", "ls", "md5sum", "pwd", "readlink", "realpath", "sha256sum", "stat", "tail", "true",
        "uname", "wc", "which", "whoami",
    )
)  # fmt: skip
_GIT_LOOKING = frozenset(
    ("status", "log", "diff", "show", "rev-parse", "ls-files", "blame", "describe", "shortlog", "cat-file", "rev-list")
)
# options that write a file or run a program, and what git takes for their beginning
_GIT_WRITING = ("--ou", "--op", "-o", "--ext", "--te", "--fi", "-O")
_OURS_PROVING = frozenset(("create", "list", "show", "verify", "rollback", "audit"))  # never drop, never gc
_OURS_LOOKING = frozenset(("status", "next", "resume", "validate", "doctor", "list", "show", "refs", "explain-merge"))
_CONTROL = frozenset(";&|<>`$(){}\n\r\\!*?[]~#")


class Call(NamedTuple):
    """One tool call.

    path: what it changes, absolute; "" for what cannot be told from the call, so anything. cwd: where it starts.
    """

    tool: str
    reads: bool
    path: str = ""
    cwd: str = ""


class Cover(NamedTuple):
    """What one live point covers.

    asked: its scopes below the workspace, "" for all of it. paths: what it holds. in_git: a ref keeps its content.
    """

    asked: tuple[str, ...]
    paths: frozenset[str]
    in_git: bool = False


class Verdict(NamedTuple):
    """allowed, or why not. needs: the scope of a point that would change the answer, "" where none would."""

    allowed: bool
    reason: str = ""
    needs: str = ""


def read_call(value: Any, cwd: str, more_readers: Iterable[str] = ()) -> Call | None:
    """A tool call from the hook's JSON, None where it makes no sense. more_readers: tools that only look, too."""
    if not isinstance(value, Mapping):
        return None
    tool, given = value.get("tool_name"), value.get("tool_input", {})
    if not isinstance(tool, str) or not tool or not isinstance(given, Mapping):
        return None
    if tool in _READING or tool in frozenset(more_readers):
        return Call(tool, True)
    here = value.get("cwd")
    here = here if isinstance(here, str) and os.path.isabs(here) and "\0" not in here else cwd
    if tool in _CHANGING:
        return _read_change(tool, given.get(_CHANGING[tool]), here)
    if tool in _SHELLS:
        command = given.get("command")
        return None if not isinstance(command, str) else Call(tool, is_looking(command), cwd=here)
    return Call(tool, False, cwd=here)


def _read_change(tool: str, path: object, here: str) -> Call | None:
    if not isinstance(path, str) or not path or "\0" in path:
        return None
    return Call(tool, False, os.path.normpath(os.path.join(here, path)), here)


def is_looking(command: str) -> bool:
    """Whether a shell command can only look: one plain command of a known program, without redirection or expansion."""
    if not _CONTROL.isdisjoint(command):
        return False
    import shlex

    try:
        words = shlex.split(command)
    except ValueError:
        return False
    if not words or "=" in words[0]:
        return False
    program, rest = words[0], words[1:]
    if program == "git" and rest[:1] != ["checkpoint"]:
        return _is_git_looking(rest)
    if program in ("checkpoint", "git"):
        return _is_ours(rest if program == "checkpoint" else rest[1:])
    return program in _LOOKING


def _is_git_looking(words: list[str]) -> bool:
    return bool(words) and words[0] in _GIT_LOOKING and not any(word.startswith(_GIT_WRITING) for word in words[1:])


def _is_ours(words: list[str]) -> bool:
    """Our own verbs that look; making a restore point, which must never need one; and going back, which makes one."""
    if words[:1] in (["restore-point"], ["rp"]):
        return len(words) > 1 and words[1] in _OURS_PROVING
    if words[:1] == ["doctor"]:
        return not any(word.startswith("--f") for word in words)
    return not words or words[0] in _OURS_LOOKING


def decide(call: Call, root: str, covers: Iterable[Cover]) -> Verdict:
    """Whether the call may go on. root: the workspace, absolute, its links followed, as the call's path is."""
    if call.reads:
        return Verdict(True)
    if not call.path:
        if any("" in cover.asked for cover in covers):
            return Verdict(True)
        reason = f"{call.tool} may change anything, and no live restore point covers the whole workspace"
        return Verdict(False, reason, ".")
    wall = root.rstrip("/") + "/"
    if not call.path.startswith(wall):
        return Verdict(False, f"{call.path} lies outside the workspace, where no restore point can cover it")
    path = call.path[len(wall) :]
    if path.startswith((f"{FOLDER}/chk_", ".git/")) or path in (".git", AUDIT_LOG):
        return Verdict(False, f"{path} belongs to git or to the restore points themselves")
    if is_sensitive(path):
        return Verdict(False, f"{path} holds secrets by its name, which no restore point ever keeps")
    if any(is_covered(path, cover) for cover in covers):
        return Verdict(True)
    return Verdict(False, f"no live restore point covers {path}", "SCOPE")


def is_covered(path: str, cover: Cover) -> bool:
    """Whether a point would bring this path back: it holds it, or it covers a folder above it."""
    if path in cover.paths:
        return True
    return any(scope == "" or path == scope or path.startswith(f"{scope}/") for scope in cover.asked)


def find_cover(value: Any, point: str, now: int) -> Cover | None:
    """What a point covers by its manifest, None where it is not alive or the manifest makes no sense."""
    if not isinstance(value, dict) or value.get("id") != point or value.get("state") not in ("active", "restored"):
        return None
    expires, scope, entries = value.get("expires_at"), value.get("scope"), value.get("entries")
    if not isinstance(scope, dict) or not isinstance(scope.get("asked"), list) or not isinstance(entries, list):
        return None
    if expires is not None and now >= (read_instant(expires) or (0, ""))[0]:
        return None
    paths = frozenset(
        entry["path"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("path"), str)
    )
    return Cover(tuple(one for one in scope["asked"] if isinstance(one, str)), paths, value.get("type") == "git_stash")
