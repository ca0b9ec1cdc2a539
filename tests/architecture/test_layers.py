from tests.architecture.imports import (
    PACKAGE,
    Import,
    find_imports,
    is_ours,
    module_files,
    read_imports,
)

# The layers, lowest first. A package may import itself and what lies on lower layers; packages on
# one layer do not know one another. The registry is strings that import nothing: everybody may know
# which paths are whose.
LAYERS: dict[str, int] = {
    "version": -1,
    "protocols.registry": -1,
    "protocols.merge_schema": 1,
    "core": 0,
    "disk": 1,
    "git": 1,
    "merge": 1,
    "net": 1,
    "protocols": 2,
    "mergefile": 2,
    "tools": 3,
    "cli": 4,
    "api": 5,
    "mcp": 5,
    "__main__": 6,
    "": 6,
}
# What git starts: each says itself what it may use.
STARTED_BY_GIT = {
    "driver": {"mergefile"},
    "mergefile": {"core", "disk", "merge", "protocols.registry", "protocols.merge_schema"},
}
# What the packages above the protocols may know of them: the contract, and what documents are
# checked, fixed and written with. The Python API is made of the protocols' own modules.
CONTRACT = {
    "check",
    "contract",
    "digest",
    "document",
    "fix",
    "limits",
    "merge_schema",
    "mismatch",
    "registry",
    "typed_hints",
    "validate",
    "write",
}


def package_of(module: str) -> str:
    """The package or top module that a module belongs to: "core", "protocols", "" for the package
    itself.
    """
    parts = module.split(".")[1:]
    if parts[:2] in (["protocols", "registry"], ["protocols", "merge_schema"]):
        return ".".join(parts[:2])
    return parts[0] if parts else ""


def is_allowed(found: Import) -> bool:
    """Whether an import stays in its package or goes to a lower layer."""
    importer, imported = package_of(found.importer), package_of(found.imported)
    if importer in STARTED_BY_GIT:
        return imported in STARTED_BY_GIT[importer]
    if imported in ("", importer):  # the package itself is loaded in any case; it has the version
        return True
    return LAYERS[imported] < LAYERS[importer]


def read_own_imports() -> list[Import]:
    """The imports of our modules by our modules."""
    return [found for found in read_imports() if is_ours(found.imported)]


def shown(found: list[Import]) -> str:
    """Imports for an assertion's message."""
    return "\n".join(f"{each.importer}:{each.line} imports {each.imported}" for each in found)


def test_every_module_belongs_to_a_known_layer() -> None:
    unknown = [
        module for module in module_files() if package_of(module) not in {*LAYERS, *STARTED_BY_GIT}
    ]
    assert not unknown, f"say in LAYERS where these belong: {unknown}"


def test_imports_go_to_lower_layers_only() -> None:
    wrong = [found for found in read_own_imports() if not is_allowed(found)]
    assert not wrong, shown(wrong)


def test_tools_know_protocols_through_the_contract_only() -> None:
    wrong = [
        one
        for one in read_own_imports()
        if package_of(one.importer) in ("tools", "cli", "mcp")
        and one.imported.startswith(f"{PACKAGE}.protocols.")
        and one.imported.removeprefix(f"{PACKAGE}.protocols.") not in CONTRACT
    ]
    assert not wrong, f"go through protocols/contract.py:\n{shown(wrong)}"


def test_a_merge_asks_the_writer_in_three_places_only() -> None:
    # what a merge is made of is in merge/result.py: who reads one need not know how text is written
    writer = f"{PACKAGE}.core.jsonwrite"
    merging = [found for found in read_own_imports() if package_of(found.importer) == "merge"]
    asking = {found.importer for found in merging if found.imported.startswith(writer)}
    assert asking == {f"{PACKAGE}.merge.{name}" for name in ("items", "layout", "lines")}


# The rooms of skill checkpoints, lowest first: "" is the document, its files in the folder itself.
# Tools come in by the entrances, which may import every room.
SKILL = f"{PACKAGE}.protocols.skill"
ROOMS = ("", "edit", "drift", "brief", "verbs")
ENTRANCES = {f"{SKILL}.{name}" for name in ("exchange", "hooks", "summary")}


def room_of(module: str) -> str:
    """The room of a module of skill checkpoints: "edit", or "" for the document."""
    parts = module.removeprefix(f"{SKILL}.").split(".")
    return parts[0] if parts[0] in ROOMS else ""


def test_a_room_of_skill_checkpoints_imports_from_lower_rooms_only() -> None:
    found = [each for each in read_own_imports() if each.importer.startswith(f"{SKILL}.")]
    inner = [
        each
        for each in found
        if each.imported.startswith(f"{SKILL}.") and each.importer not in ENTRANCES
    ]
    wrong = [
        each
        for each in inner
        if ROOMS.index(room_of(each.imported)) > ROOMS.index(room_of(each.importer))
        or each.imported in ENTRANCES
    ]
    assert {room_of(each.imported) for each in inner} == set(ROOMS)
    assert not wrong, shown(wrong)


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for found in read_own_imports():
        if found.imported != found.importer:
            graph.setdefault(found.importer, set()).add(found.imported)
    circle = find_circle(graph)
    assert not circle, " -> ".join(circle)


def find_circle(graph: dict[str, set[str]]) -> list[str]:
    """The first circle as its members in order, the first one again at the end; [] when there is
    none.
    """
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


# Third-party packages and who alone may import them, always inside a function. The SDK has two
# owners, a client and a server; what the server is made of may begin with it, since nobody imports
# that but inside a function.
_CLIENT, _SERVER = "protocols.memory.transports.stdio", "mcp"
_SDK = (_CLIENT, _SERVER)
OWNERS = {
    "jsonschema": ("core.schema",),
    "git": ("git",),
    "yaml": ("core.yamltext",),
    "mcp": _SDK,
    "mcp_types": (_SERVER,),
    "anyio": _SDK,
    "jinja2": ("tools.report.page",),
    "markupsafe": ("tools.report.page",),
}
LATE = {f"{PACKAGE}.mcp.{name}" for name in ("session", "consent", "handlers", "server", "stdio")}


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


NETWORK = {
    "asyncio",
    "ftplib",
    "http",
    "smtplib",
    "socket",
    "socketserver",
    "ssl",
    "urllib.request",
    "xmlrpc",
}


def test_one_room_alone_may_open_a_connection() -> None:
    wrong = [found for found in read_imports() if package_of(found.importer) != "net"
             and any(f"{found.imported}.".startswith(f"{name}.") for name in NETWORK)]  # fmt: skip
    assert not wrong, shown(wrong)


def test_nothing_loads_the_network_before_it_is_asked_for() -> None:
    early = [found for found in read_own_imports() if package_of(found.imported) == "net" != package_of(found.importer)
             and not found.late]  # fmt: skip
    assert not early, shown(early)


def test_an_import_inside_a_function_is_seen() -> None:
    source = "def read():\n    from checkpoint_git.core import clock\n    return clock\n"
    found = list(find_imports("checkpoint_git.disk.discover", source, module_files()))
    assert found == [
        Import("checkpoint_git.disk.discover", "checkpoint_git.core.clock", 2, late=True)
    ]


def test_a_circle_is_found() -> None:
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
