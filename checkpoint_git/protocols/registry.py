"""Which paths belong to which protocol: the one table that attributes, hooks, manifest and discovery are made from.

Strings only: the merge driver imports this on git's hot path.
"""

# name, the module that is its room, its attribute patterns, its folder's name, the ending of its files
PROTOCOLS = (
    (
        "skill",
        "checkpoint_git.protocols.skill",
        ("**/.checkpoints/*.checkpoint.json",),
        ".checkpoints",
        ".checkpoint.json",
    ),
)


def protocol_of(path: str) -> "str | None":
    """The name of the protocol that a path belongs to, or None. path: any path with "/" between its parts."""
    folder, _, name = path.rpartition("/")
    for protocol, _, _, directory, ending in PROTOCOLS:
        if name.endswith(ending) and name != ending and folder.rpartition("/")[2] == directory:
            return protocol
    return None


def attribute_patterns() -> "list[str]":
    """The gitattributes patterns of all files that merge with our driver, in the order of the table."""
    return [pattern for protocol in PROTOCOLS for pattern in protocol[2]]


def schema_path(path: str) -> "str | None":
    """The file of the schema that says how a path of the repository merges, or None where no protocol owns it."""
    return schema_of_name(path) if protocol_of(path) else None


def schema_of_name(path: str) -> "str | None":
    """The same for a file of which only the name is left: git shows copies of files in folders of its own."""
    for _, room, _, _, ending in PROTOCOLS:
        if path.endswith(ending):
            return f"{__file__.removesuffix('/protocols/registry.py')}/{'/'.join(room.split('.')[1:])}/schema.json"
    return None
