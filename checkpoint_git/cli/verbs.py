"""The table of verbs, made of rows for the tools and of the protocols' rows.

The command line and its completion read it.
"""

from importlib import import_module
from types import ModuleType
from typing import NamedTuple

from checkpoint_git.protocols.registry import PROTOCOLS

_FIRST = {"status": ("tools.status.verb", "all work, and the decisions that wait for you", "read")}
_TOOLS = {
    "validate": (
        "tools.validate.verb",
        "check checkpoints: work tree, index or a commit",
        "check",
    ),
    "doctor": (
        "tools.doctor.verb",
        "compare checkpoints with history, files and the installation",
        "check",
    ),
    "diff": ("tools.diff.verb", "what changed, one line per value", "read"),
    "report": (
        "tools.report.verb",
        "all work on one HTML page: board, decisions, drift, timeline",
        "read",
    ),
    "resolve": (
        "tools.merges.resolve",
        "resolve the conflicts of a merge, and stage what is clean",
        "merge",
    ),
    "merge-file": ("tools.merges.merge_file", "merge three versions of any JSON file", "merge"),
    "audit": (
        "tools.merges.audit",
        "find and repair what past merges lost or duplicated",
        "merge",
    ),
    "sync": ("tools.sync.verb", "exchange checkpoints with a shared branch", "merge"),
    "ci": ("tools.merges.ci", "CI helpers for pull requests: merge, verify", "merge"),
    "init": ("tools.setup.init", "set this repository up: folder, merge driver, hooks", "setup"),
    "uninstall": ("tools.setup.uninstall", "remove what init added", "setup"),
    "claim": ("tools.claims.claim", "reserve a checkpoint for this session", "state"),
    "release": ("tools.claims.release", "give up this session's claim", "state"),
}
_LAST = {
    "schema": ("tools.setup.schema", "the JSON Schemas of our files", "check"),
    "prime": ("tools.session.prime", "brief an agent's new session", "setup"),
    "session": (
        "tools.session.verb",
        "remind an agent to record progress before it stops",
        "setup",
    ),
    "mcp": ("mcp.verb", "serve the commands to agents as MCP tools", "setup"),
    "completion": ("cli.completion.shells", "print a shell completion script", "setup"),
    # those that only programs call have no summary, and are not listed
    "merge-driver": ("tools.hooks.merge_driver", "", ""),  # git, if the driver's Python is gone
    "hook": ("tools.hooks.verb", "", ""),  # git's hooks
    "complete": ("cli.completion.complete", "", ""),  # the shells
}


class Verb(NamedTuple):
    """module: imported only when the verb is called. summary and topic: "" if it is not listed."""

    module: str
    summary: str
    topic: str


def _list_verbs() -> dict[str, Verb]:
    """Return the verbs in the order of --help: those of skills come before those of the tools."""
    first, *others = PROTOCOLS
    groups = [("checkpoint_git", _FIRST), (first.package, first.verbs), ("checkpoint_git", _TOOLS)]
    groups += [(row.package, row.verbs) for row in others]
    groups.append(("checkpoint_git", _LAST))

    found: dict[str, Verb] = {}
    for package, verbs in groups:
        for verb, (module, summary, topic) in verbs.items():
            found[verb] = Verb(f"{package}.{module}", summary, topic)

    return found


VERBS = _list_verbs()


def load_verb(verb: str) -> ModuleType:
    """Import a verb's module: add_arguments, run or answer, HELP and, in a family, SUB_HELP."""
    return import_module(VERBS[verb].module)


# sub-verbs with a module and a page of their own
NESTED = {"restore-point guard": "guard"}
# former sub-verbs, which jobs and scripts still call -> the word for them now
FORMER = {"audit explain": "--all", "ci premerge": "merge"}
SHORT_VERBS = {"rp": "restore-point"}  # for hands that are in a hurry
LONG_VERBS = {
    "list": ["status", "--short"],
    "ls": ["status", "--short"],
    "refs": ["show", "--tickets=all"],
}
LONG_VERBS["explain-merge"] = ["audit", "--all"]  # its former name
_MEANT = {
    "update": "new create start save edit set write",
    "rename": "mv move",
    "reset": "rm delete remove",
    "done": "finish tick",
    "add": "todo queue",
    "row": "progress table",
    "validate": "check lint",
    "init": "setup install",
}
# what people type -> the command for it
MEANT_VERBS = {word: verb for verb, words in _MEANT.items() for word in words.split()}
MEANT_VERBS |= {
    "version": "--version",
    "open": "report",
    "merge": "resolve",
    "history": "log",
    "fix": "doctor",
}
DEFAULT_VERB = "status"
# they rest on modes, links, groups of processes and select on pipes
POSIX_ONLY = frozenset(("restore-point", "sync"))
PAGED = frozenset(("status", "next", "show", "log", "diff", "doctor", "validate", "audit"))
WITH_FINDINGS = frozenset(("validate", "doctor", "ci", "audit"))
PLAIN_FORMATS = ("text", "json", "md")
