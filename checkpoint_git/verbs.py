"""The table of verbs: strings alone, so that the command line and its completion read the same. It imports nothing."""

# verb -> (module, what it does); a module is imported only when its verb is called
VERBS = {
    "status": ("checkpoint_git.commands.status", "where everything stands, and what waits on you"),
    "next": ("checkpoint_git.commands.next", "the one action that matters most now"),
    "resume": ("checkpoint_git.commands.resume", "what a session must know before it goes on with a skill"),
    "validate": ("checkpoint_git.commands.validate", "check checkpoints: work tree, index or a commit"),
    "doctor": ("checkpoint_git.commands.doctor.verb", "compare checkpoints with history, files and the installation"),
    "update": ("checkpoint_git.commands.update", "change fields of a checkpoint, or start a new one"),
    "done": ("checkpoint_git.commands.done", "take the first next action off the list"),
    "list": ("checkpoint_git.commands.list", "the checkpoints of this project"),
    "show": ("checkpoint_git.commands.show", "a checkpoint's content, or its public part"),
    "refs": ("checkpoint_git.commands.refs", "the tickets that the skills touched"),
    "log": ("checkpoint_git.commands.log", "a checkpoint's life through git's history, commit by commit"),
    "report": ("checkpoint_git.htmlreport", "all work on one HTML page: board, decisions, drift, timeline"),
    "reset": ("checkpoint_git.commands.reset", "archive a checkpoint and start afresh"),
    "migrate": ("checkpoint_git.commands.migrate", "telemetry as one file an entry, or back in the checkpoint"),
    "rotate": ("checkpoint_git.commands.rotate", "move closed telemetry into history"),
    "resolve": ("checkpoint_git.commands.merges.resolve", "decide the conflicts of a merge, and stage what is clean"),
    "init": ("checkpoint_git.commands.setup.init", "set this repository up: folder, merge driver, hooks"),
    "uninstall": ("checkpoint_git.commands.setup.uninstall", "take away what init added"),
    "explain-merge": ("checkpoint_git.commands.merges.explain_merge", "what a past merge did, and what it lost"),
    "audit": ("checkpoint_git.commands.forge.audit", "find what past merges lost or doubled, and put it back"),
    "ci": ("checkpoint_git.commands.forge.verb", "what a forge's jobs do for pull requests: merge, verify"),
    "sync": ("checkpoint_git.commands.sync.verb", "exchange checkpoints with a branch that other clones write to"),
    "workflow": ("checkpoint_git.commands.workflow.verb", "save and resume the phases and tasks of a workflow"),
    "pipeline": ("checkpoint_git.commands.pipeline.verb", "append-only records of a pipeline's phases"),
    "memory": ("checkpoint_git.commands.memory.verb", "where an initiative stands, in the graph of a memory server"),
    "restore-point": ("checkpoint_git.commands.restore.verb", "a proven way back, made before anything dangerous"),
    "schema": ("checkpoint_git.commands.schema", "the JSON Schemas of our files, and settings for editors"),
    "mcp": ("checkpoint_git.mcpserver.verb", "serve agents: the commands as tools, the checkpoints as resources"),
    "completion": ("checkpoint_git.completion.verb", "the script that makes a shell complete all this"),
    "prime": ("checkpoint_git.commands.session.prime", "tell an agent's new session where the work stands"),
    "session": ("checkpoint_git.commands.session.verb", "remind an agent that stops of what it did not write down"),
    "guard": ("checkpoint_git.commands.restore.guard", ""),  # what `restore-point guard` is: it runs at every tool call
    "hook": ("checkpoint_git.commands.hook", ""),  # git's hooks call it: no summary, not listed
    "complete": ("checkpoint_git.completion.complete", ""),  # the shells call it
}
SHORT_VERBS = {"rp": "restore-point"}  # for hands that are in a hurry
DEFAULT_VERB = "status"
WITH_FINDINGS = frozenset(("validate", "doctor", "ci", "audit"))
PLAIN_FORMATS = ("text", "json", "md")
