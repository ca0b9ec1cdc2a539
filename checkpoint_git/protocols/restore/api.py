"""Restore points for Python, and savepoints inside one process. It prints nothing and asks nobody."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.restore import contract_output
from checkpoint_git.protocols.restore import operations as restore_points
from checkpoint_git.protocols.restore import requested_parts as restore_parts
from checkpoint_git.protocols.restore.artifact import Means
from checkpoint_git.protocols.restore.points import World
from checkpoint_git.protocols.restore.workspace import find_workspace, open_world

Objects = list[dict[str, Any]]
Findings = list[Finding]
Ids = list[str]
Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class RestorePoints:
    """The restore points of one workspace: proven ways back, made before anything dangerous.

    root: a folder in it, from which relative scopes start. The workspace is the repository around it; outside git the
    nearest folder upward with .checkpoints, else root itself. now: as for Checkpoints.
    """

    def __init__(self, root: str | os.PathLike[str] = ".", now: int | None = None) -> None:
        self._root = os.path.abspath(os.fspath(root))
        self._now = now

    @property
    def _world(self) -> World:
        now = int(time.time()) if self._now is None else self._now
        return open_world(find_workspace(self._root), self._root, now, os.environ)

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
    ) -> dict[str, Any]:
        """A new point, read back and rehearsed: the output contract, with its id under checkpoint_id.

        scope: files, folders, patterns. states: key -> a value that JSON can hold, or a pathlib.Path of a JSON file.
        databases: URLs. tables: of the one PostgreSQL database, all where none are named. expiry: "24h", "7d", ...
        """
        world = self._world
        wanted = restore_parts.find_databases(world, list(databases), list(tables))
        wanted += restore_parts.keep_states(world, states or {})
        made = restore_points.create_point(world, _texts(scope), reason, checkpoint_type, expiry, wanted)
        return contract_output.describe(made)

    def verify(self, checkpoint_id: str) -> Findings:
        """Everything that is wrong with a point; [] where it can be relied on."""
        return restore_points.verify_point(self._world, checkpoint_id)

    def rollback(
        self,
        checkpoint_id: str,
        scope: Paths | None = None,
        *,
        on_state: Callable[[str, Any], object] | None = None,
        state_to: Mapping[str, str | os.PathLike[str]] | None = None,
        databases: Iterable[str] = (),
        dry_run: bool = False,
        force: bool = False,
    ) -> restore_points.RolledBackPoint:
        """Goes back, and proves it; result.safety is the point of what stood there before.

        scope: only these paths, "state:KEY" or URLs. on_state: takes (key, value) of each state, None where there was
        none. state_to: key -> file. databases: URLs with the passwords that going back needs. force: although expired.
        """
        world = self._world
        within = None if scope is None else [restore_points.find_below(world, text) for text in _texts(scope)]
        files = {key: restore_parts.place_target(self._root, os.fspath(file)) for key, file in (state_to or {}).items()}
        means = Means(files, on_state, restore_parts.find_passwords(world, list(databases)))
        return restore_points.roll_back_point(world, checkpoint_id, within, means, dry_run=dry_run, force=force)

    def list(self) -> Objects:
        """One object a point, oldest first: id, state, type, created_at, expires_at, reason, size, hash, scope."""
        standings = restore_points.list_points(self._world)
        return [contract_output.outline(one.manifest, one.state) for one in standings]

    def show(self, checkpoint_id: str) -> dict[str, Any]:
        """The manifest of a point as it lies on the disk."""
        manifest = restore_points.load_point(self._world, checkpoint_id)
        if manifest.trouble:
            raise CheckpointError(f"{manifest.id} is damaged: {manifest.trouble}", "verify() tells more")
        return manifest.value

    def drop(self, checkpoint_id: str) -> None:
        """Removes a point."""
        restore_points.drop_point(self._world, checkpoint_id)

    def gc(self, *, dry_run: bool = False) -> Ids:
        """Removes the points that have expired; their ids."""
        return [manifest.id for manifest in restore_points.collect_expired(self._world, dry_run=dry_run)]

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
        """Makes a point, runs the block, goes back when it raises, and lets the exception on. The point stays.

        on_state: takes the states back; needed for those that were given as values. Raises CheckpointError from the
        block's exception where going back failed: the point is still there then.
        """
        urls = list(databases)
        if on_state is None and any(not isinstance(value, os.PathLike) for value in (states or {}).values()):
            raise CheckpointError("states given as values need somewhere to go back to", "give on_state, or files")
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


def savepoint(connection: Any) -> AbstractContextManager[str]:
    """A savepoint around a block on an open DB-API or SQLAlchemy connection, undone when the block raises.

    Nothing is committed behind the caller's back. It cannot outlive its process: RestorePoints copies databases.
    """
    from checkpoint_git.protocols.restore.mechanisms.savepoint import savepoint as hold_savepoint

    return hold_savepoint(connection)


def _texts(paths: Paths) -> list[str]:
    return [os.fspath(paths)] if isinstance(paths, str | os.PathLike) else [os.fspath(path) for path in paths]
