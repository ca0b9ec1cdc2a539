"""The table of what each command starts, connects to and writes.

docs/promises.md shows it, and a test runs each command to compare.
"""

from typing import NamedTuple


class Effects(NamedTuple):
    """Words of docs/promises.md, separated by commas; "" for nothing."""

    starts: str
    connects: str
    writes: str


# A command as it is typed, with the option that changes what it does -> its effects. A test fails
# if a verb has no row.
EFFECTS = {
    "status": Effects("git, pager", "", "state"),
    "next": Effects("git, pager", "", "state"),
    "resume": Effects("git", "", "state"),
    "show": Effects("git, pager", "", ""),
    "log": Effects("git, pager", "", ""),
    "diff": Effects("git, pager", "", ""),
    "report": Effects("git", "", "state"),
    "report --open": Effects("git, browser", "", "state"),
    "update": Effects("git", "", "checkpoints, state"),
    "done": Effects("", "", "checkpoints, state"),
    "done --verify": Effects("sh", "", "checkpoints, state"),
    "add": Effects("", "", "checkpoints, state"),
    "row": Effects("", "", "checkpoints, state"),
    "note": Effects("", "", "checkpoints, state"),
    "ask": Effects("", "", "checkpoints, state"),
    "decide": Effects("", "", "checkpoints, state"),
    "block": Effects("", "", "checkpoints, state"),
    "unblock": Effects("", "", "checkpoints, state"),
    "drop": Effects("", "", "checkpoints, state"),
    "rename": Effects("git", "", "checkpoints, state, index, objects"),
    "undo": Effects("", "", "checkpoints, state"),
    "reset": Effects("", "", "checkpoints, state"),
    "rotate": Effects("", "", "checkpoints, state"),
    "validate": Effects("git, pager", "", ""),
    "doctor": Effects("git, driver, hooks, pager", "", "state"),
    "doctor --fix": Effects("git, driver, hooks, pager", "", "checkpoints, state, settings, files"),
    "schema": Effects("", "", ""),
    "resolve": Effects("git, filters, hooks", "", "checkpoints, state, index, objects"),
    "merge-file": Effects("", "", "files, checkpoints"),
    "audit": Effects("git, pager", "", ""),
    "audit --fix": Effects(
        "git, filters, hooks, signing, pager", "", "checkpoints, state, index, objects, refs"
    ),
    "audit --all": Effects("git, transport, pager", "remote", ""),
    "sync": Effects(
        "git, hooks, transport", "remote", "checkpoints, state, index, objects, refs, remote"
    ),
    "sync --status": Effects("git", "", ""),
    "ci verify": Effects("git, transport", "remote", ""),
    "ci merge": Effects("git, hooks, transport", "remote", "objects, refs, remote"),
    "claim": Effects("git, transport", "remote", "objects, refs, remote"),
    "release": Effects("git, transport", "remote", "refs, remote"),
    "workflow start": Effects("git", "", "workflow, state"),
    "workflow status": Effects("git", "", ""),
    "workflow resume": Effects("git", "", ""),
    "workflow advance": Effects("git", "", "workflow, state"),
    "workflow approve": Effects("git", "", "workflow, state"),
    "workflow reject": Effects("git", "", "workflow, state"),
    "workflow back": Effects("git", "", "workflow, state"),
    "workflow fail": Effects("git", "", "workflow, state"),
    "workflow save": Effects("git", "", "workflow, state"),
    "workflow task": Effects("git", "", "workflow, state"),
    "workflow recover": Effects("git", "", "workflow, state"),
    "workflow validate": Effects("git", "", ""),
    "workflow archive": Effects("git", "", "workflow, state"),
    "pipeline write": Effects("git", "", "records"),
    "pipeline read": Effects("git", "", ""),
    "pipeline validate": Effects("git", "", ""),
    "pipeline list": Effects("git", "", ""),
    "pipeline resume": Effects("git", "", ""),
    "pipeline next-attempt": Effects("git", "", ""),
    "memory save": Effects("git, server", "", "graph, state, home"),
    "memory load": Effects("git, server", "", "graph, state, home, checkpoints"),
    "memory update": Effects("git, server", "", "graph, state, home"),
    "memory clear": Effects("git, server", "", "graph, state, home"),
    "memory archive": Effects("git, server", "", "graph, state, home, files"),
    "memory sync": Effects("git, server", "", "graph, state, home, files"),
    "memory doctor": Effects("git, server", "", "graph, state, home"),
    "memory setup": Effects("git, npm, server", "npm", "settings, state, graph, home"),
    "restore-point create": Effects("git, sh, psql", "PostgreSQL", "points, objects, refs"),
    "restore-point list": Effects("git", "", ""),
    "restore-point show": Effects("", "", ""),
    "restore-point diff": Effects("git, psql", "PostgreSQL", ""),
    "restore-point verify": Effects("git, psql", "PostgreSQL", "points"),
    "restore-point rollback": Effects(
        "git, hooks, filters, sh, psql", "PostgreSQL", "points, objects, refs, index, files"
    ),
    "restore-point gc": Effects("git", "", "points, refs, state"),
    "restore-point drop": Effects("git", "", "points, refs"),
    "restore-point audit": Effects("", "", ""),
    "restore-point guard": Effects("git", "", "objects, refs, state"),
    "init": Effects("git, hooks, python", "", "settings, files, checkpoints, state"),
    "init --dry-run": Effects("git", "", ""),
    "uninstall": Effects("git, hooks", "", "settings, files, checkpoints, state"),
    "uninstall --dry-run": Effects("git", "", ""),
    "prime": Effects("git", "", "state"),
    "session start": Effects("git", "", "state"),
    "session stop": Effects("git, server", "", "state"),
    "session precompact": Effects("git", "", "state"),
    "session end": Effects("git, server", "", "state"),
    "mcp": Effects("git", "", "checkpoints, state"),
    "completion": Effects("", "", ""),
    "complete": Effects("git", "", ""),
    "hook": Effects("git, server", "", "state, checkpoints"),
    "merge-driver": Effects("", "", "files"),
}
