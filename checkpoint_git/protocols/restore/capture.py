"""Find the files that a restore point is to hold: no secrets, none that git ignores."""

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git import private_objects
from checkpoint_git.protocols.restore import layout, rules, scope
from checkpoint_git.protocols.restore.contents import ScopePath
from checkpoint_git.protocols.restore.layout import Workspace
from checkpoint_git.protocols.restore.mechanisms.contract import PartRequest

_LINKED = "with other names outside of the scope (hard links), which a rollback leaves as they are"
_NESTED = "another repository, of which the files are kept and its own history is not"


class PointRequest(NamedTuple):
    """A request for a point, with all that it is to hold."""

    asked: Sequence[str] = ()  # scopes; none for a point without files
    reason: str = ""
    kind: str = "file_backup"
    expires: int | None = None
    parts: Sequence[PartRequest] = ()  # states and databases
    plain: frozenset[str] = frozenset()  # names in `asked` that are not patterns
    include: frozenset[str] = frozenset()  # paths to keep although their names suggest secrets
    may_lack: bool = True  # what is asked for may be missing
    made_for: str = ""  # "rollback" and "guard" for what the user did not ask for
    branches: Mapping[str, str] = {}  # to keep besides HEAD's -> their commits


class Capture(NamedTuple):
    """The files that a point will hold."""

    asked: list[str]
    found: list[ScopePath]
    left_out: list[tuple[str, str]]  # (path, why); a folder with all below it ends in "/"
    warnings: list[str]


def plan_capture(
    workspace: Workspace,
    request: PointRequest,
    claimed: frozenset[str] = frozenset(),
) -> Capture:
    """Return which files a point will hold. claimed: files of databases, which are left out.

    Raises CheckpointError for a scope that is empty, outside the workspace, or all secret.
    """
    if not request.asked:
        return Capture([], [], [], [])
    named = scope.read_scope(
        workspace.root,
        request.asked,
        workspace.cwd,
        request.plain,
        may_lack=request.may_lack,
    )

    secret = _find_secret(workspace, named.secret, request.include)
    harmless = [scope_path for scope_path in named.secret if scope_path.path not in secret]
    candidates = [*named.found, *harmless]
    found = [scope_path for scope_path in candidates if scope_path.path not in claimed]
    found.sort(key=lambda scope_path: scope_path.path)
    ignored: list[str] = []
    if request.kind == "git_stash":
        found, ignored = _split_ignored(workspace, named.asked, found)
    _check_not_empty(found, secret, claimed)

    left_out = [(path, "secret") for path in secret]
    left_out += [(path, "not a file") for path in named.special]
    left_out += [(path, "ignored by git") for path in ignored]
    warnings = {
        "excluded, since secrets are not copied (--include PATH keeps one)": secret,
        "excluded, since they are not regular files": named.special,
        "excluded, since git ignores them (name them to include them)": ignored,
        _LINKED: _find_linked(found),
        _NESTED: _find_nested(workspace.root, found),
    }
    sentences = [f"{text}: {scope.list_some(paths)}" for text, paths in warnings.items() if paths]
    return Capture(named.asked, found, left_out, sentences)


def _check_not_empty(
    found: Sequence[ScopePath],
    secret: Sequence[str],
    claimed: frozenset[str],
) -> None:
    if secret and all(scope_path.kind == "folder" for scope_path in found):
        shown = scope.list_some(secret)
        hint = f"secrets are not copied into a restore point: {shown}; --include PATH keeps one"
        raise CheckpointError("every file in this scope looks like a secret by its name", hint)
    if not found and not claimed:
        hint = "name files, folders or patterns that exist"
        raise CheckpointError("the scope is empty", hint)


def _find_linked(found: Sequence[ScopePath]) -> list[str]:
    """Return files that have more names than those in the scope."""
    names = Counter[tuple[int, int]]()
    for scope_path in found:
        if scope_path.status:
            names[scope_path.status.st_dev, scope_path.status.st_ino] += 1

    linked = []
    for path, kind, status in found:
        if kind == "file" and status and status.st_nlink > names[status.st_dev, status.st_ino]:
            linked.append(path)
    return linked


def _find_nested(root: str, found: Sequence[ScopePath]) -> list[str]:
    """Return folders that are repositories of their own."""
    folders = [scope_path.path for scope_path in found if scope_path.kind == "folder"]
    return [path for path in folders if os.path.lexists(os.path.join(root, path, ".git"))]


def _find_secret(
    workspace: Workspace,
    found: Sequence[ScopePath],
    include: frozenset[str],
) -> list[str]:
    # a name alone makes no secret of code, of documents, and of what the repository tracks
    paths = [scope_path.path for scope_path in found if scope_path.path not in include]
    doubtful = [path for path in paths if rules.is_doubtful(path)]
    tracked: Collection[str] = ()
    if workspace.git_dir:
        tracked = private_objects.read_tracked(workspace.root, doubtful, workspace.env)

    kept: set[str] = set()
    for path in doubtful:
        if path in tracked or rules.is_harmless(os.path.join(workspace.root, path)):
            kept.add(path)

    return [path for path in paths if path not in kept]


def _split_ignored(
    workspace: Workspace,
    asked: Sequence[str],
    found: Sequence[ScopePath],
) -> tuple[list[ScopePath], list[str]]:
    """Return (what is kept, what git ignores, by path; a folder ends in "/").

    An ignored path is kept if it was named itself, or is in an ignored folder that was.
    """
    root = workspace.root
    ignored = private_objects.read_ignored(root, workspace.env)
    folders = tuple(path for path in ignored if path.endswith("/"))
    files = frozenset(ignored).difference(folders)
    named = _find_named(root, asked, files, folders)

    kept: list[ScopePath] = []
    left_out: set[str] = set()
    for scope_path in found:
        path = scope_path.path
        way = f"{path}/"
        is_ignored = path in files or way.startswith(folders)
        if not is_ignored or way.startswith(named):
            kept.append(scope_path)
        elif path in files:
            left_out.add(path)
        else:
            around = _find_around(way, folders)
            left_out.add(path if around == f"{layout.FOLDER}/" else around)

    # .checkpoints alone does not count: files of the user in it are listed themselves
    return kept, sorted(left_out - {layout.FOLDER})


def _find_named(
    root: str,
    asked: Sequence[str],
    files: frozenset[str],
    folders: tuple[str, ...],
) -> tuple[str, ...]:
    """Return the ignored paths that were named themselves, each with a final "/"."""
    named: list[str] = []
    for path in asked:
        if not path or not (path in files or f"{path}/".startswith(folders)):
            continue
        matches: list[str] = []
        if not os.path.lexists(os.path.join(root, path)):  # it may be a pattern
            matches = scope.match(root, path)
        named += matches or [path]
    return tuple(f"{path}/" for path in named)


def _find_around(way: str, folders: Sequence[str]) -> str:
    """Return the folder that a path is in, or is itself. way: the path with a final "/"."""
    return next(folder for folder in folders if way.startswith(folder))
