"""The table of verbs: strings alone, so that the command line and its completion read the same. It imports nothing."""

# verb -> (module, what it does); a module is imported only when its verb is called
VERBS = {
    "status": ("checkpoint_git.tools.status.verb", "where everything stands, and what waits on you"),
    "next": ("checkpoint_git.protocols.skill.verbs.next", "the one action that matters most now"),
    "resume": (
        "checkpoint_git.protocols.skill.verbs.resume",
        "what a session must know before it goes on with a skill",
    ),
    "validate": ("checkpoint_git.tools.validate.verb", "check checkpoints: work tree, index or a commit"),
    "doctor": ("checkpoint_git.tools.doctor.verb", "compare checkpoints with history, files and the installation"),
    "update": ("checkpoint_git.protocols.skill.verbs.update", "change fields of a checkpoint, or start a new one"),
    "done": ("checkpoint_git.protocols.skill.verbs.done", "take the first next action off the list"),
    "list": ("checkpoint_git.protocols.skill.verbs.list", "the checkpoints of this project"),
    "show": ("checkpoint_git.protocols.skill.verbs.show", "a checkpoint's content, or its public part"),
    "refs": ("checkpoint_git.protocols.skill.verbs.refs", "the tickets that the skills touched"),
    "log": ("checkpoint_git.protocols.skill.verbs.log", "a checkpoint's life through git's history, commit by commit"),
    "report": ("checkpoint_git.tools.report.verb", "all work on one HTML page: board, decisions, drift, timeline"),
    "reset": ("checkpoint_git.protocols.skill.verbs.reset", "archive a checkpoint and start afresh"),
    "migrate": (
        "checkpoint_git.protocols.skill.verbs.migrate",
        "telemetry as one file an entry, or back in the checkpoint",
    ),
    "rotate": ("checkpoint_git.protocols.skill.verbs.rotate", "move closed telemetry into history"),
    "resolve": ("checkpoint_git.tools.merges.resolve", "decide the conflicts of a merge, and stage what is clean"),
    "init": ("checkpoint_git.tools.setup.init", "set this repository up: folder, merge driver, hooks"),
    "uninstall": ("checkpoint_git.tools.setup.uninstall", "take away what init added"),
    "explain-merge": ("checkpoint_git.tools.merges.explain_merge", "what a past merge did, and what it lost"),
    "audit": ("checkpoint_git.tools.merges.audit", "find what past merges lost or doubled, and put it back"),
    "ci": ("checkpoint_git.tools.merges.ci", "what a forge's jobs do for pull requests: merge, verify"),
    "sync": ("checkpoint_git.tools.sync.verb", "exchange checkpoints with a branch that other clones write to"),
    "workflow": ("checkpoint_git.protocols.workflow.verbs.verb", "save and resume the phases and tasks of a workflow"),
    "pipeline": ("checkpoint_git.protocols.pipeline.verbs.verb", "append-only records of a pipeline's phases"),
    "memory": (
        "checkpoint_git.protocols.memory.verbs.verb",
        "where an initiative stands, in the graph of a memory server",
    ),
    "restore-point": (
        "checkpoint_git.protocols.restore.verbs.verb",
        "a proven way back, made before anything dangerous",
    ),
    "schema": ("checkpoint_git.tools.setup.schema", "the JSON Schemas of our files, and settings for editors"),
    "mcp": ("checkpoint_git.mcp.verb", "serve agents: the commands as tools, the checkpoints as resources"),
    "completion": ("checkpoint_git.cli.completion.verb", "the script that makes a shell complete all this"),
    "prime": ("checkpoint_git.tools.session.prime", "tell an agent's new session where the work stands"),
    "session": ("checkpoint_git.tools.session.verb", "remind an agent that stops of what it did not write down"),
    "guard": (
        "checkpoint_git.protocols.restore.verbs.guard",
        "",
    ),  # what `restore-point guard` is: it runs at every tool call
    "hook": ("checkpoint_git.tools.hooks.verb", ""),  # git's hooks call it: no summary, not listed
    "complete": ("checkpoint_git.cli.completion.complete", ""),  # the shells call it
}
SHORT_VERBS = {"rp": "restore-point"}  # for hands that are in a hurry
DEFAULT_VERB = "status"
WITH_FINDINGS = frozenset(("validate", "doctor", "ci", "audit"))
PLAIN_FORMATS = ("text", "json", "md")
