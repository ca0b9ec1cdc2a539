from tests.architecture.imports import PACKAGE, Import, find_imports, is_ours, module_files, read_imports

# What each room may import besides itself. A room is a folder or a module at the top of the package; every protocol
# is a room of its own. "" is the package's own __init__, which holds the version and the lazy names. The registry
# lies in protocols/, but it is a table of strings that imports nothing: everybody may know which paths are whose.
REGISTRY = "protocols/registry"
MAY_IMPORT: dict[str, set[str]] = {
    REGISTRY: set(),
    "core": set(),
    "disk": {"core", REGISTRY},
    "repo": {"core", REGISTRY},
    "net": {"core"},
    "merge": {"core"},
    "protocols": {"core", "disk", REGISTRY},
    "protocols/*": {"core", "disk", "protocols", REGISTRY},
    "protocols/restore": {"core", "disk", "repo", "protocols", REGISTRY},  # its content lies in git
    "checks": {"core", "protocols", "protocols/*", REGISTRY},
    "mergefile": {"core", "disk", "merge", "protocols"},
    "driver": {"mergefile"},
    "textconv": {"core", REGISTRY},
    "report": {"core"},
    "commands": {"", "core", "disk", "repo", "net", "merge", "protocols", "protocols/*", REGISTRY, "checks"},
    "verbs": set(),
    "completion": {
        "core",
        "disk",
        "repo",
        "protocols",
        "protocols/*",
        "checks",
        "commands",
        "report",
        "verbs",
        "words",
        "parsing",
    },
    "mcpserver": {"", "core", "disk", "protocols/*", "commands", "report", "verbs", "words", "parsing"},
    "htmlreport": {"core", "disk", "commands", "report"},  # the one verb that gathers and draws
    "words": {"core"},
    "parsing": {"", "core", "verbs", "words"},
    "cli": {"", "core", "commands", "report", "verbs", "words", "parsing"},
    "api": {"", "core", "disk", "repo", "protocols", "protocols/*", REGISTRY, "checks", "commands"},
    "__main__": {"cli"},
    "": {"api", "core"},
}
# Modules of rooms that are pure never bring in a drawer that touches files.
DOING_DRAWERS = {"store", "eventstore"}
PURE_ROOMS = {"checks"}


def room_of(module: str) -> str:
    """The room that a module belongs to: "core", "protocols/skill", "" for the package itself."""
    parts = module.split(".")[1:]
    if parts == ["protocols", "registry"]:
        return REGISTRY
    if len(parts) >= 2 and parts[0] == "protocols" and (is_folder(parts[:2]) or len(parts) > 2):
        return "/".join(parts[:2])
    return parts[0] if parts else ""


def is_folder(parts: list[str]) -> bool:
    """Whether these parts below the package are a folder."""
    return module_files()[".".join([PACKAGE, *parts])].name == "__init__.py"


def kind_of(room: str) -> str:
    """The room as MAY_IMPORT names it: all protocols' rooms share one entry."""
    return "protocols/*" if room.startswith("protocols/") and room != REGISTRY else room


def is_allowed(found: Import) -> bool:
    """Whether an import stays in its room or goes to one that its room may know."""
    importer, imported = room_of(found.importer), room_of(found.imported)
    allowed = MAY_IMPORT.get(importer) or MAY_IMPORT[kind_of(importer)]
    return importer == imported or kind_of(imported) in allowed


def read_own_imports() -> list[Import]:
    """The imports of our modules by our modules."""
    return [found for found in read_imports() if is_ours(found.imported)]


def shown(found: list[Import]) -> str:
    """Imports for an assertion's message."""
    return "\n".join(f"{each.importer}:{each.line} imports {each.imported}" for each in found)


def test_every_module_belongs_to_a_known_room() -> None:
    strangers = [module for module in module_files() if kind_of(room_of(module)) not in MAY_IMPORT]
    assert not strangers, f"say in MAY_IMPORT what these may import: {strangers}"


def test_imports_go_to_lower_floors_only() -> None:
    wrong = [found for found in read_own_imports() if not is_allowed(found)]
    assert not wrong, shown(wrong)


def test_no_two_rooms_may_import_each_other() -> None:
    assert find_circle(MAY_IMPORT) == ["", "api", ""], "but for the lazy names of the package itself"


def test_pure_rooms_import_no_drawer_that_touches_files() -> None:
    wrong = [
        found
        for found in read_own_imports()
        if room_of(found.importer) in PURE_ROOMS and found.imported.rpartition(".")[2] in DOING_DRAWERS
    ]
    assert not wrong, shown(wrong)


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for found in read_own_imports():
        if not found.late:  # inside one room a function may look back; between rooms MAY_IMPORT forbids that too
            graph.setdefault(found.importer, set()).add(found.imported)
    circle = find_circle(graph)
    assert not circle, " -> ".join(circle)


def find_circle(graph: dict[str, set[str]]) -> list[str]:
    """The first circle as its members in order, the first one again at the end; [] when there is none."""
    done: set[str] = set()

    def walk(member: str, trail: list[str]) -> list[str]:
        if member in trail:
            return [*trail[trail.index(member) :], member]
        if member in done:
            return []
        for target in sorted(graph.get(member, ())):
            circle = walk(target, [*trail, member])
            if circle:
                return circle
        done.add(member)
        return []

    return next((circle for member in sorted(graph) if (circle := walk(member, []))), [])


# Third-party packages and who alone may import them, always inside a function. The SDK has two owners, a client and a
# server; what the server is made of may begin with it, since nobody imports that but inside a function.
_CLIENT, _SERVER = "protocols.memory.transports.stdio", "mcpserver"
_SDK = (_CLIENT, _SERVER)
OWNERS = {
    "jsonschema": ("core.schema",),
    "git": ("repo",),
    "yaml": ("core.yamltext",),
    "mcp": _SDK,
    "mcp_types": (_SERVER,),
    "anyio": _SDK,
}
LATE = {f"{PACKAGE}.mcpserver.{name}" for name in ("agent", "consent", "handling", "notices", "serving", "stdio")}


def test_third_party_packages_have_their_owners_and_load_late() -> None:
    wrong = [found for found in read_imports() if (top := found.imported.split(".")[0]) in OWNERS
             and not (is_owner(found.importer, OWNERS[top]) and (found.late or found.importer in LATE))]  # fmt: skip
    assert not wrong, shown(wrong)


def is_owner(importer: str, owners: tuple[str, ...]) -> bool:
    """Whether a module is one of the owners, or lies in one."""
    return f"{importer}.".startswith(tuple(f"{PACKAGE}.{owner}." for owner in owners))


def test_what_begins_with_a_slow_library_is_imported_late_itself() -> None:
    found = [each for each in read_own_imports() if each.imported in LATE]
    wrong = [each for each in found if not (each.late or each.importer in LATE)]
    assert found
    assert not wrong, shown(wrong)


NETWORK = {"asyncio", "ftplib", "http", "smtplib", "socket", "socketserver", "ssl", "urllib.request", "xmlrpc"}


def test_one_room_alone_may_open_a_connection() -> None:
    wrong = [found for found in read_imports() if room_of(found.importer) != "net"
             and any(f"{found.imported}.".startswith(f"{name}.") for name in NETWORK)]  # fmt: skip
    assert not wrong, shown(wrong)


def test_nothing_loads_the_network_before_it_is_asked_for() -> None:
    early = [found for found in read_own_imports() if room_of(found.imported) == "net" != room_of(found.importer)
             and not found.late]  # fmt: skip
    assert not early, shown(early)


def test_an_import_inside_a_function_is_seen() -> None:
    source = "def read():\n    from checkpoint_git.core import clock\n    return clock\n"
    found = list(find_imports("checkpoint_git.disk.discover", source, module_files()))
    assert found == [Import("checkpoint_git.disk.discover", "checkpoint_git.core.clock", 2, late=True)]


def test_a_circle_is_found() -> None:
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
