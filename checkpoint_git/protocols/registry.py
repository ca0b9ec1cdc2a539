"""Which paths belong to which protocol: the one table that attributes, hooks, manifest and discovery are made from.

Strings only: the merge driver imports this on git's hot path.
"""

# One row a kind of file: its name, the module that is its room, the schema in that room, the folder that its files lie
# in ("" for any; "/*" at its end is one folder of any name), the fixed parts of a file's name with something between
# each two of them, whether the driver merges it.
KINDS = (
    ("skill", "checkpoint_git.protocols.skill", "schema.json", ".checkpoints", ("", ".checkpoint.json"), True),
    (
        "skill-event",
        "checkpoint_git.protocols.skill",
        "event_schema.json",
        ".checkpoints/history/*",
        ("", ".event.json"),
        False,
    ),
    ("workflow-phase", "checkpoint_git.protocols.workflow", "schema.json", "memory/state", ("phase.json",), True),
    (
        "workflow-execution",
        "checkpoint_git.protocols.workflow",
        "execution_schema.json",
        "memory/state",
        ("execution.json",),
        True,
    ),
    ("pipeline", "checkpoint_git.protocols.pipeline", "schema.json", "", ("phase_", "_a", ".yaml"), False),
)

# Rooms whose files no repository tracks, so that neither attributes nor hooks know them.
LOCAL_ROOMS = (
    ("restore", "checkpoint_git.protocols.restore"),
    ("memory", "checkpoint_git.protocols.memory"),
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    Kind = tuple[str, str, str, str, tuple[str, ...], bool]


def protocol_of(path: str) -> "str | None":
    """The name of the kind that a path belongs to, or None. path: any path with "/" between its parts."""
    kind = _find_kind(path)
    return None if kind is None else kind[0]


def is_merged(path: str) -> bool:
    """Whether a path belongs to a kind that our driver merges."""
    kind = _find_kind(path)
    return kind is not None and kind[5]


def attribute_patterns() -> "list[str]":
    """The gitattributes patterns of all files that merge with our driver, in the order of the table."""
    return [pattern_of(kind) for kind in KINDS if kind[5]]


def path_patterns() -> "list[str]":
    """The same of all files that are ours, merged or not."""
    return [pattern_of(kind) for kind in KINDS]


def pattern_of(kind: "Kind") -> str:
    """The paths of one kind as gitattributes and git's pathspecs spell them."""
    _, _, _, folder, parts, _ = kind
    return f"**/{folder}/{'*'.join(parts)}" if folder else f"**/{'*'.join(parts)}"


def fixed_paths() -> "list[str]":
    """The files whose folder and name are fixed, relative to the project they lie in."""
    return [f"{kind[3]}/{kind[4][0]}" for kind in KINDS if len(kind[4]) == 1]


def schema_path(path: str) -> "str | None":
    """The file of the schema that says how a path of the repository merges, or None where no protocol owns it."""
    kind = _find_kind(path)
    return None if kind is None else _schema_file(kind)


def schema_of_name(path: str) -> "str | None":
    """The same for a file of which only the name is left, or its end: git shows copies under names of its own."""
    for kind in KINDS:
        if kind[5] and path.endswith(kind[4][-1]):
            return _schema_file(kind)
    return None


def _find_kind(path: str) -> "Kind | None":
    folder, _, name = path.rpartition("/")
    for kind in KINDS:
        if _is_named(name, kind[4]) and _is_folder(folder, kind[3]):
            return kind
    return None


def _is_folder(folder: str, wanted: str) -> bool:
    """Whether a folder is the one that a kind's files lie in, or ends with it."""
    if wanted.endswith("/*"):
        folder, wanted = folder.rpartition("/")[0], wanted[:-2]
    return not wanted or folder == wanted or folder.endswith(f"/{wanted}")


def _is_named(name: str, parts: "tuple[str, ...]") -> bool:
    """Whether a name is made of these parts, in order, with something between each two."""
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return name == first
    at = len(first) + 1
    for part in parts[1:-1]:
        found = name.find(part, at)
        if found < 0:
            return False
        at = found + len(part) + 1
    return name.startswith(first) and name.endswith(last) and at + len(last) <= len(name)


def _schema_file(kind: "Kind") -> str:
    return f"{__file__.removesuffix('/protocols/registry.py')}/{'/'.join(kind[1].split('.')[1:])}/{kind[2]}"
