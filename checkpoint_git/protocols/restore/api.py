"""Make and use restore points from Python. Nothing is printed, and nobody is asked."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.git.gitpython import find_folder
from checkpoint_git.protocols.contract import fix_clock
from checkpoint_git.protocols.restore import operations, output, store
from checkpoint_git.protocols.restore.capture import PointRequest
from checkpoint_git.protocols.restore.layout import Workspace, open_workspace
from checkpoint_git.protocols.restore.mechanisms import parts
from checkpoint_git.protocols.restore.mechanisms.contract import Means, WantedState

if TYPE_CHECKING:
    from checkpoint_git.git.gitpython import Folder

Objects = list[dict[str, Any]]
Findings = list[Finding]
Ids = list[str]
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class RestorePoints:
    """The restore points of one workspace: verified ways back, made before anything dangerous.

    root: a folder in it, from which relative scopes start, or a git.Repo. The workspace is the
    repository around it; outside git the nearest folder upward with .checkpoints, else root
    itself. now: as for Checkpoints.
    """

    def __init__(self, root: "Folder" = ".", now: int | None = None) -> None:
        self._root = find_folder(root)
        self._now = fix_clock(now)

    @property
    def _workspace(self) -> Workspace:
        return open_workspace(self._root, self._now(), os.environ)

    def create(
        self,
        scope: Paths = (),
        reason: str = "",
        *,
        states: Mapping[str, Any] | None = None,
        databases: Iterable[str] = (),
        tables: Iterable[str] = (),
        checkpoint_type: str | None = None,
        expiry: str | None = None,
        include: Paths = (),
        absent: bool = True,
    ) -> dict[str, Any]:
        """Make a point, read it back and rehearse it. The result has its id as checkpoint_id.

        scope: files, folders, patterns. states: key -> a value that JSON can hold, or a
        pathlib.Path of a JSON file. databases: URLs. tables: of the one PostgreSQL database, all
        if none are named. expiry: "24h", "7d", ... include: files to keep although their names
        suggest secrets. absent: a path that does not exist may be named, and going back removes
        what is made there.
        """
        workspace = self._workspace
        requests = parts.request_databases(workspace, list(databases), list(tables))
        requests += parts.request_states(workspace, states or {})
        kept = frozenset(operations.find_below(workspace, text) for text in _texts(include))
        request = PointRequest(
            _texts(scope),
            reason,
            parts=requests,
            include=kept,
            may_lack=absent,
        )
        made = operations.create_point(workspace, request, checkpoint_type, expiry)
        return output.describe(made)

    def verify(self, checkpoint_id: str, *, foreign: bool = False) -> Findings:
        """Return what is wrong with a point, [] if it is intact.

        foreign: also a point that this clone did not make, as everywhere here.
        """
        return operations.verify_point(self._workspace, checkpoint_id, foreign=foreign).findings

    def rollback(
        self,
        checkpoint_id: str,
        scope: Paths | None = None,
        *,
        on_state: Callable[[str, Any], object] | None = None,
        state_to: Mapping[str, str | os.PathLike[str]] | None = None,
        databases: Iterable[str] = (),
        index: bool = False,
        operation: bool = False,
        dry_run: bool = False,
        force: bool = False,
        foreign: bool = False,
        here: bool = False,
        reason: str = "",
    ) -> operations.RolledBackPoint:
        """Go back to a point, also an automatic one, and verify the result.

        result.safety is the point of what was there before. scope: only these paths, "state:KEY"
        or URLs. on_state: takes (key, value) of each state, None if there was none. state_to: key
        -> file. databases: URLs with the passwords that going back needs. index: of git, too.
        operation: HEAD, its branch, and a merge, rebase or cherry-pick in progress, with the
        index. force: although expired. here: although another work tree made it.
        """
        workspace = self._workspace
        within = None
        if scope is not None:
            within = [operations.find_below(workspace, text) for text in _texts(scope)]

        files = {}
        for key, file in (state_to or {}).items():
            files[key] = parts.place_target(self._root, os.fspath(file))

        passwords = {}
        for request in parts.request_databases(workspace, list(databases)):
            passwords[request.name] = str(request.details.get("password") or "")

        return operations.roll_back_point(
            workspace,
            checkpoint_id,
            WantedState(within, Means(files, on_state, passwords), index, operation),
            operations.Allowed(force, foreign, here),
            dry_run=dry_run,
            reason=reason,
        )

    def list(self) -> Objects:
        """Return one object for each point, oldest first.

        Its members are id, state, type, created_at, expires_at, reason, size, hash, scope, ...
        """
        workspace = self._workspace
        manifests = store.list_points(workspace)
        return [output.outline(manifest, workspace.now) for manifest in manifests]

    def show(self, checkpoint_id: str) -> dict[str, Any]:
        """Return a point's manifest. Raises CheckpointError if it is damaged."""
        manifest = store.load_point(self._workspace, checkpoint_id, foreign=True)
        if manifest.trouble:
            message = f"{manifest.id} is damaged: {manifest.trouble}"
            raise CheckpointError(message, "verify() shows the details")
        return manifest.value

    def drop(self, *checkpoint_ids: str, foreign: bool = False) -> None:
        """Delete points."""
        operations.drop_points(self._workspace, checkpoint_ids, foreign=foreign)

    def gc(self, *, keep: int | None = None, dry_run: bool = False) -> Ids:
        """Delete expired points, and return their ids.

        keep: also your own points, except so many of the newest.
        """
        removed = operations.collect_garbage(self._workspace, keep=keep, dry_run=dry_run)
        return [manifest.id for manifest in removed]

    @contextmanager
    def guarded(
        self,
        scope: Paths = (),
        reason: str = "",
        *,
        states: Mapping[str, Any] | None = None,
        databases: Iterable[str] = (),
        tables: Iterable[str] = (),
        on_state: Callable[[str, Any], object] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Make a point, run the block, and go back if it raises. The point stays.

        on_state: takes the states back; needed for those that were given as values. Raises
        CheckpointError from the block's exception if going back failed: the point is still there
        then.
        """
        urls = list(databases)
        values = (states or {}).values()
        if on_state is None and any(not isinstance(value, os.PathLike) for value in values):
            message = "states given as values need somewhere to go back to"
            raise CheckpointError(message, "give on_state, or files")

        made = self.create(scope, reason, states=states, databases=urls, tables=tables)
        point = str(made["checkpoint_id"])
        try:
            yield made
        except BaseException as error:
            try:
                self.rollback(point, on_state=on_state, databases=urls)
            except CheckpointError as trouble:
                message = f"the block failed, and going back to {point} did too: {trouble.message}"
                raise CheckpointError(message, trouble.hint) from error
            error.add_note(f"rolled back to restore point {point}")
            raise


def _texts(paths: Paths) -> list[str]:
    if isinstance(paths, str | os.PathLike):
        return [os.fspath(paths)]
    return [os.fspath(path) for path in paths]
