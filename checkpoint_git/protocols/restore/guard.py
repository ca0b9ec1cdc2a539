"""`checkpoint restore-point guard`: keep what git sees before each tool call of an agent."""

import os
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import AnyHint, advise, command, join_hints
from checkpoint_git.core.jsontext import MAX_BYTES, JsonTextError, decode, load
from checkpoint_git.core.outcome import Answer, Invocation, Line
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.disk.discover import LONGEST_PATH, find_repository, is_git_name

HELP = """\
keep what git sees before an agent's tool call, so that the call can be undone

examples:
  checkpoint restore-point guard < tool-call.json
  checkpoint restore-point guard --require
  checkpoint restore-point guard --reader mcp__docs__search

It reads the tool call from stdin, as an agent's hook gets it: {"tool_name": "Edit", "tool_input":
{...}, "cwd": "..."}.

A tool that only reads, by its name, passes (--reader adds one). Before any other call, what git
sees is kept as an automatic restore point; then the call runs. To go back: checkpoint
restore-point list, checkpoint restore-point rollback auto-ID.

Blocked, because no restore point can undo it: git push --force, git stash drop, git branch -D, git
clean -x, rm -rf .git, DROP TABLE and the like, where the plain words of a command show it. Also
blocked: a call that cannot be kept.

With --require the guard makes no point: every call but a reading one is blocked until a live
restore point of this clone covers the workspace (checkpoint restore-point create . --expiry 8h).

It is a seat belt for honest agents, not a sandbox: a command can hide what it does.

exit codes: 0 the call is allowed; 2 it is blocked, or that could not be decided (the reason is on
stderr)
"""

ALLOWED, STOPPED = 0, 2

# Names of tools that change nothing, of Claude Code, Codex, Gemini CLI, Cursor, Copilot and
# OpenCode. They are compared whole: a file that is called after a tool means nothing.
READERS = frozenset((
    "Agent", "AskUserQuestion", "BashOutput", "EnterPlanMode", "ExitPlanMode", "Glob", "Grep",
    "KillShell", "LS", "ListMcpResourcesTool", "NotebookRead", "Read", "ReadMcpResourceTool",
    "Skill", "SlashCommand", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop",
    "TaskUpdate", "TodoRead", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "ask_user",
    "fetch_copilot_cli_documentation", "glob", "google_web_search", "grep", "grep_search", "list",
    "list_bash", "list_directory", "lsp", "question", "read", "read_agent", "read_bash",
    "read_file", "read_many_files", "report_intent", "search_file_content", "skill", "stop_bash",
    "task", "todoread", "todowrite", "update_plan", "update_todo", "view", "web_fetch", "webfetch",
    "websearch", "write_todos",
))  # fmt: skip
# Members of a tool's input, in small letters without "_": what it runs, where, and what it writes.
_COMMAND_NAMES = frozenset((
    "argv", "cmd", "command", "commandline", "executable", "program", "script", "shellcommand",
))  # fmt: skip
_ARGUMENT_NAMES = ("args", "arguments")  # of such a command, a list of words
_FOLDER_NAMES = frozenset(("cwd", "directory", "dirpath", "workdir", "workingdirectory"))
_PATH_NAMES = frozenset((
    "absolutepath", "destination", "file", "filename", "filepath", "filepaths", "files", "newpath",
    "notebookpath", "oldpath", "path", "paths", "relativepath", "source", "targetfile",
))  # fmt: skip
_EDITED_NAMES = frozenset(("filepath", "notebookpath", "path"))  # what tools that edit call it
_SHELLS = frozenset(("ash", "bash", "dash", "ksh", "pwsh", "sh", "zsh"))
_LET_USER = "let the user run it"


class Call(NamedTuple):
    """A tool call."""

    tool: str
    cwd: str
    command: str = ""  # what it runs, "" for nothing
    paths: tuple[str, ...] = ()  # what it may write, absolute
    folder: str = ""  # where its input says that it runs, absolute, "" if it does not


class CallInput(NamedTuple):
    """The commands, paths and folders that a tool's input names, as it is written there."""

    commands: list[str]
    paths: list[str]
    folders: list[str]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--reader", metavar="TOOL", action="append", help="another tool that only reads"
    )
    parser.add_argument(
        "--require", action="store_true", help="make no point: block until you have made one"
    )
    # what earlier versions wrote into hooks
    parser.add_argument("--auto", action="store_true", help=SUPPRESS)


def answer(args: Namespace, invocation: Invocation) -> Answer:
    """Let the call on stdin run (exit code 0), or block it (2, with the reason on stderr)."""
    stream: Any = getattr(invocation.stdin, "buffer", invocation.stdin)
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        reason = f"the tool call on stdin has more than {MAX_BYTES >> 20} MB"
        return _stop(reason, f"write less at once, or {_LET_USER}")
    if not isinstance(data, bytes):
        data = data.encode()

    try:
        call = read_call(load(decode(data)), invocation.cwd)
    except JsonTextError as error:
        return _stop(f"the tool call on stdin is not JSON: {error.message}")

    if call is None:
        return _stop("the tool call on stdin has an unknown form")

    is_reader = call.tool in READERS or call.tool in (args.reader or ())
    if is_reader and not call.command:
        return Answer((), ALLOWED)

    from checkpoint_git.protocols.restore.snapshot import find_label

    tops = _find_tops(call, invocation.cwd)
    loss = _find_final_loss(call, tops)
    if loss:
        return _stop(f"{loss}, and no restore point brings that back", _LET_USER)

    if args.require:
        return _check_points(call, invocation)
    return _keep(tops, find_label(data), call)


def tell_error(words: Sequence[str], error: CheckpointError) -> Answer:
    return _stop(error.message, error.hint)


def _find_final_loss(call: Call, tops: Sequence[str]) -> str:
    """Return what a call would change that no restore point has, "" for nothing."""
    from checkpoint_git.protocols.restore.losses import find_loss

    for top in tops or [""]:
        loss = find_loss(call.command, call.folder or call.cwd, top)
        if loss:
            return loss

    for path in call.paths:
        parts = [*path.split("/"), *os.path.realpath(path).split("/")]
        if any(is_git_name(part) for part in parts):
            return f"{path} belongs to git"
    return ""


def _stop(reason: str, hint: AnyHint = "") -> Answer:
    """Block the call. hint: what to do instead, which is never shortened."""
    line = Line(shorten(escape_controls(reason), 500), hint=hint)
    return Answer((), STOPPED, f"stopped: {escape_controls(line.whole)}")


def read_call(value: Any, cwd: str) -> Call | None:
    """Return the tool call of a JSON value, None if it makes no sense. cwd: the default."""
    if not isinstance(value, Mapping):
        return None
    tool = value.get("tool_name")
    given = value.get("tool_input", {})
    if not isinstance(tool, str) or not tool or not isinstance(given, Mapping):
        return None

    named = value.get("cwd")
    if isinstance(named, str) and os.path.isabs(named) and _is_path(named):
        cwd = named

    call_input = _read_input(given)
    if call_input is None or not all(map(_is_path, [*call_input.paths, *call_input.folders])):
        return None

    folder = ""
    if call_input.folders:
        folder = os.path.normpath(os.path.join(cwd, call_input.folders[0]))
    paths = [os.path.normpath(os.path.join(cwd, path)) for path in call_input.paths]
    openable = tuple(path for path in paths if len(path) <= LONGEST_PATH)
    return Call(tool, cwd, "\n".join(call_input.commands), openable, folder)


def _read_input(given: Mapping[str, Any]) -> CallInput | None:
    """Return what the members of a tool's input say by their names, at any depth.

    It is None if the file that would be edited is not named by texts.
    """
    for name, member in given.items():
        values = member if isinstance(member, list) else [member]
        if _fold(name) in _EDITED_NAMES and not all(isinstance(value, str) for value in values):
            return None

    found = CallInput([], [], [])
    _collect(given, found)
    return found


def _fold(name: str) -> str:
    return name.lower().replace("_", "")


def _collect(value: Any, found: CallInput) -> None:
    """Add what objects say by the names of their members, at any depth."""
    if isinstance(value, Mapping):
        _add_members(value, found)
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _collect(item, found)


def _add_members(given: Mapping[str, Any], found: CallInput) -> None:
    commands: list[str] = []
    for name, member in given.items():
        kind = _fold(name)
        values = member if isinstance(member, list) else [member]
        if kind == "commands":
            commands += map(_read_command, values)
        elif kind in _COMMAND_NAMES:
            commands.append(_read_command(member))
        elif kind in _PATH_NAMES:
            found.paths.extend(text for text in values if isinstance(text, str) and text)
        elif kind in _FOLDER_NAMES and isinstance(member, str):
            found.folders.append(member)

    for name in _ARGUMENT_NAMES:
        if commands and isinstance(given.get(name), list):
            commands[-1] += " " + _read_command(given[name])
    found.commands.extend(command for command in commands if command)


def _is_path(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:  # half of a letter
        return False


def _read_command(value: Any) -> str:
    """Return the command line of a text, or of a list of words such as ["bash", "-lc", "ls"]."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    import shlex

    words = [word for word in value if isinstance(word, str)]
    is_shell = bool(words) and os.path.basename(words[0]) in _SHELLS
    if is_shell and len(words) == 3 and words[1].endswith("c"):
        return words[2]
    return shlex.join(words)


def _find_tops(call: Call, cwd: str) -> list[str]:
    """Return the work trees that a call may change.

    These are the one where it starts, else where the agent does, and those where it runs and
    writes.
    """
    places = [os.path.dirname(os.path.realpath(path)) for path in call.paths]
    if call.folder:
        places.insert(0, call.folder)
    repositories = [find_repository(call.cwd) or find_repository(cwd)]
    repositories += [find_repository(place) for place in places]
    return list(dict.fromkeys(repository[0] for repository in repositories if repository))


def _keep(tops: Sequence[str], label: str, call: Call) -> Answer:
    """Keep what git sees, and let the call run."""
    from checkpoint_git.protocols.restore import snapshot

    if not tops:
        reason = f"{call.cwd} is not in a git repository, so nothing there can be kept"
        return _stop(reason, join_hints(command("git", "-C", call.cwd, "init"), f"or {_LET_USER}"))

    failed = f"no restore point could be made before {call.tool}"
    for top in tops:
        try:
            kept = snapshot.take(top, label)
        except OSError as error:
            reason = f"{failed}: {error.strerror or error}"
            return _stop(reason, f"then try again, or {_LET_USER}")
        if not kept:
            hint = command("git", "-C", top, "status", more=" shows why")
            return _stop(f"{failed}: git does not read {top}", hint)

    return Answer((), ALLOWED)


def _check_points(call: Call, invocation: Invocation) -> Answer:
    """Let the call run if a live point of this clone covers the workspace."""
    from checkpoint_git.protocols.restore import layout, store

    folders = [call.cwd if os.path.isdir(call.cwd) else invocation.cwd]
    if call.folder:
        folders.append(_find_folder(call.folder))
    folders += [_find_folder(os.path.dirname(os.path.realpath(path))) for path in call.paths]

    for folder in folders:
        workspace = layout.open_workspace(folder, invocation.now, invocation.env)
        if not store.is_covered(workspace):
            root = workspace.root
            create = ("checkpoint", "-C", root, "restore-point", "create", ".", "--expiry", "8h")
            reason = f"no live restore point of this clone covers {root}"
            return _stop(reason, advise("make one in a terminal", *create))

    return Answer((), ALLOWED)


def _find_folder(path: str) -> str:
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path
