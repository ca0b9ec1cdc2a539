"""The one table of protocols: one row each, with its kinds of file and its verbs.

Attributes, hooks, the manifest, the command line and discovery are made from it; everything else a
protocol offers is found in its package by the names that contract.py lists. Strings only: the merge
driver imports this on git's hot path.
"""

_PACKAGES = "checkpoint_git.protocols."


class Kind:
    """A kind of file.

    schema: a file of the protocol's package. folder: of the files ("" for any). parts: the fixed
    parts of a file's name, with something between each two of them. noun: for one file. is_merged:
    by our merge driver. is_append_only: a file that was committed is never changed.
    """

    __slots__ = (
        "folder",
        "is_append_only",
        "is_merged",
        "name",
        "noun",
        "package",
        "parts",
        "schema",
    )

    def __init__(
        self,
        name: str,
        schema: str,
        folder: str,
        parts: "tuple[str, ...]",
        *,
        package: str = "",
        noun: str = "checkpoint",
        is_merged: bool = False,
        is_append_only: bool = False,
    ) -> None:
        self.name = name
        self.schema = schema
        self.folder = folder
        self.parts = parts
        self.package = package
        self.noun = noun
        self.is_merged = is_merged
        self.is_append_only = is_append_only

    @property
    def pattern(self) -> str:
        """Return the pattern of the files for .gitattributes."""
        name = "*".join(self.parts)
        if not self.folder:
            return f"**/{name}"
        return f"**/{self.folder}/{name}"

    def owns(self, path: str) -> bool:
        """Whether a path is one of the kind's files. path: any, with "/" between its parts."""
        folder, _, name = path.rpartition("/")
        if not self.has_name(name):
            return False
        return self.folder in ("", folder) or folder.endswith(f"/{self.folder}")

    def has_name(self, name: str) -> bool:
        """Whether a file's name has the fixed parts in order, with something between them."""
        first, last = self.parts[0], self.parts[-1]
        if not name.endswith(last):
            return False
        if len(self.parts) == 1:
            return name == first

        start = len(first) + 1
        for part in self.parts[1:-1]:
            found = name.find(part, start)
            if found < 0:
                return False
            start = found + len(part) + 1

        return name.startswith(first) and start + len(last) <= len(name)


class ProtocolRow:
    """One protocol.

    kinds: the files that a repository tracks. local: patterns for info/exclude of files that no
    repository tracks. verbs: verb -> (module in the package; its line in `checkpoint --help`; its
    topic there). The last two are "" for a verb that is not listed. parts: part of the contract ->
    its module, if that is in a folder of the package.
    """

    __slots__ = ("kinds", "local", "name", "noun", "package", "parts", "verbs")

    def __init__(
        self,
        name: str,
        kinds: "tuple[Kind, ...]",
        verbs: "dict[str, tuple[str, str, str]]",
        local: "tuple[str, ...]" = (),
        parts: "dict[str, str] | None" = None,
    ) -> None:
        self.name = name
        self.package = _PACKAGES + name
        self.kinds = kinds
        self.verbs = verbs
        self.local = local
        self.parts = parts or {}
        for kind in kinds:
            kind.package = self.package


PROTOCOLS = (
    ProtocolRow(
        "skill",
        (Kind("skill", "schema.json", ".checkpoints", ("", ".checkpoint.json"), is_merged=True),),
        {
            "next": ("verbs.next", "the most important next action", "read"),
            "resume": ("verbs.resume", "everything a new session needs to pick this up", "read"),
            "update": (
                "verbs.update",
                "change fields of a checkpoint, or start a new one",
                "write",
            ),
            "done": ("verbs.done", "finish the first next action", "write"),
            "add": ("verbs.add", "add a next action", "write"),
            "row": ("verbs.row", "add a row of progress, or set its status", "write"),
            "note": ("verbs.note", "record a key decision", "write"),
            "ask": ("verbs.ask", "ask the user for a decision", "write"),
            "decide": ("verbs.decide", "answer a waiting decision", "write"),
            "block": ("verbs.block", "add a blocker", "write"),
            "unblock": ("verbs.unblock", "mark a blocker as resolved", "write"),
            "drop": ("verbs.drop", "remove an action that will not be done", "write"),
            "undo": ("verbs.undo", "revert the last write of a checkpoint", "write"),
            "rename": ("verbs.rename", "give a checkpoint another name, with its history", "write"),
            "show": (
                "verbs.show",
                "a checkpoint's content, its public part or its tickets",
                "read",
            ),
            "log": (
                "verbs.log",
                "a checkpoint's history: progress, decisions and blockers",
                "read",
            ),
            "reset": ("verbs.reset", "archive a checkpoint and start over", "write"),
            "rotate": (
                "verbs.rotate",
                "move closed pull requests, old runs and decisions to history",
                "write",
            ),
        },
        parts={"checks": "drift.checks", "fixes": "drift.fixes"},
    ),
    ProtocolRow(
        "workflow",
        (
            Kind("workflow-phase", "schema.json", "memory/state", ("phase.json",), is_merged=True),
            Kind(
                "workflow-execution",
                "execution_schema.json",
                "memory/state",
                ("execution.json",),
                is_merged=True,
            ),
        ),
        {"workflow": ("verbs", "save and resume the phases and tasks of a workflow", "state")},
    ),
    ProtocolRow(
        "pipeline",
        (
            Kind(
                "pipeline",
                "schema.json",
                "",
                ("phase_", "_a", ".yaml"),
                noun="pipeline record",
                is_append_only=True,
            ),
        ),
        {"pipeline": ("verbs", "keep append-only records of a pipeline's phases", "state")},
    ),
    ProtocolRow(
        "memory",
        (),
        {"memory": ("verbs", "keep an initiative's state in a memory server", "state")},
    ),
    ProtocolRow(
        "restore",
        (),
        {
            "restore-point": ("verbs", "verified restore points to roll back to", "state"),
            "guard": ("guard", "", ""),  # the same as `restore-point guard`, for every tool call
        },
        local=(".checkpoints/chk_*", ".checkpoints/.new-*", ".audit/"),
    ),
)
KINDS = tuple([kind for row in PROTOCOLS for kind in row.kinds])


def protocol_of(path: str) -> "str | None":
    """Return the name of a path's kind, None for none. path: any, with "/" between its parts."""
    kind = find_kind(path)
    if kind is None:
        return None
    return kind.name


def find_kind(path: str) -> "Kind | None":
    """Return the kind of a path, None for none. path: any, with "/" between its parts."""
    for kind in KINDS:
        if kind.owns(path):
            return kind
    return None


def is_merged(path: str) -> bool:
    kind = find_kind(path)
    return kind is not None and kind.is_merged


def attribute_patterns() -> "list[str]":
    return [kind.pattern for kind in KINDS if kind.is_merged]


def append_only_patterns() -> "list[str]":
    return [kind.pattern for kind in KINDS if kind.is_append_only]


def fixed_paths() -> "list[str]":
    # relative to the project that they are in
    return [f"{kind.folder}/{kind.parts[0]}" for kind in KINDS if len(kind.parts) == 1]


def with_siblings(paths: "set[str]") -> "set[str]":
    """Return paths with the other files of a protocol with fixed names in the same folders."""
    fixed = [kind for kind in KINDS if len(kind.parts) == 1]
    found = set(paths)
    for path in paths:
        folder = path.rpartition("/")[0]
        packages = {kind.package for kind in fixed if kind.owns(path)}
        for kind in fixed:
            if kind.package in packages:
                found.add(f"{folder}/{kind.parts[0]}")
    return found


def is_fixed(path: str) -> bool:
    kind = find_kind(path)
    return kind is not None and len(kind.parts) == 1


def own_folders() -> "list[str]":
    """Return the folders with only files of ours, relative to their project, ending in "/"."""
    tracked = [f"{kind.folder}/" for kind in KINDS if kind.folder]
    local = [path for row in PROTOCOLS for path in row.local if path.endswith("/")]
    return tracked + local


def schema_path(path: str) -> "str | None":
    """Return the absolute path of the schema of a path's kind, None for none."""
    kind = find_kind(path)
    if kind is None:
        return None
    top = __file__.removesuffix("/protocols/registry.py")
    folder = "/".join(kind.package.split(".")[1:])
    return f"{top}/{folder}/{kind.schema}"
