"""The way back to a point of files: a point of the present first, then the restore, then the proof.

What has to survive a crash is in a journal beside the manifest: whoever runs the rollback again finishes it.
"""

import json
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls
from checkpoint_git.disk.atomic import remove_file, write_file
from checkpoint_git.protocols.restore import artifacts as parts
from checkpoint_git.protocols.restore import audit, file_writes, layout, points, rollback_preflight, store
from checkpoint_git.protocols.restore.artifact import Means, Part
from checkpoint_git.protocols.restore.entries import Difference, Entry, compare_entries
from checkpoint_git.protocols.restore.mechanism import Held
from checkpoint_git.protocols.restore.points import World
from checkpoint_git.protocols.restore.read import read_entries
from checkpoint_git.protocols.restore.scope import Named

_JOURNAL = "rollback.json"
_NO_MEANS = Means()


class Plan(NamedTuple):
    """What a rollback would do. remove: what was made since, deep paths first. restore: what is missing or differs.

    parts: the states and databases that are not as they were kept, in the order in which they are put back. found,
    present: the scope as it stood when the plan was made.
    """

    remove: list[str]
    restore: list[Difference]
    entries: list[Entry]
    parts: Sequence[Part] = ()
    found: Sequence[Named] = ()
    present: Sequence[Entry] = ()


class RolledBack(NamedTuple):
    """What a rollback did. safety: the point of what stood there before. "" where all
    of that was handed over. resumed: it finished one that was cut off. told: sentences on what the user should know.
    """

    plan: Plan
    safety: str
    resumed: bool
    told: Sequence[str] = ()


def check_usable(world: World, manifest: store.Manifest) -> list[Entry]:
    """What the point holds, once its manifest and all its content are proven. Raises CheckpointError."""
    name = manifest.id
    if manifest.trouble:
        hint = "`checkpoint restore-point verify` tells more; nothing was changed"
        raise CheckpointError(f"{name} cannot be relied on: {manifest.trouble}", hint)
    entries, held = points.read_held_entries(manifest), points.find_held(world, name)
    damaged = points.find_damage(held, manifest.value["type"], entries)
    damaged += parts.find_damage(held, parts.read_parts(manifest))
    if damaged:
        shown = ", ".join(escape_controls(path) for path in damaged[:5])
        raise CheckpointError(
            f"{name} cannot be relied on: the content of {shown} is lost or damaged", "nothing was changed"
        )
    return entries


def plan_rollback(
    world: World, manifest: store.Manifest, within: Sequence[str] | None = None, means: Means = _NO_MEANS
) -> Plan:
    """What would change. within: paths of the scope to go back for, all where None. Raises CheckpointError."""
    entries = [entry for entry in points.read_held_entries(manifest) if _is_within(entry.path, within)]
    found = [named for named in _read_scope(world, manifest) if _is_within(named.path, within)]
    present = read_entries(world.root, found)
    differences = compare_entries(entries, present)
    added = sorted((one.path for one in differences if one.how == "added"), reverse=True)
    others = parts.find_differing(points.find_held(world, manifest.id), parts.read_parts(manifest, within), means)
    return Plan(added, [one for one in differences if one.how != "added"], entries, others, found, present)


def _read_scope(world: World, manifest: store.Manifest) -> list[Named]:
    """The scope's paths today, and the point's folders even where git ignores them by now."""
    home = world._replace(cwd=world.root)
    claimed = parts.find_claimed(parts.read_parts(manifest))
    asked = _find_asked(home, manifest)
    found = points.read_captured(home, asked, manifest.value["type"], claimed, _find_plain(home, manifest)).found
    there = {named.path for named in found}
    folders = [entry.path for entry in points.read_held_entries(manifest) if entry.kind == "folder"]
    missed = [path for path in folders if path not in there and _is_folder(world.root, path)]
    return [*found, *(Named(path, "folder", os.lstat(os.path.join(world.root, path))) for path in missed)]


def _is_folder(root: str, path: str) -> bool:
    full = os.path.join(root, path)
    return os.path.isdir(full) and not os.path.islink(full)


def _find_asked(world: World, manifest: store.Manifest) -> list[str]:
    """The scopes, absolute. What the point holds belongs to it even where a pattern no longer finds it."""
    asked = [os.path.join(world.root, path) for path in manifest.value["scope"]["asked"]]
    entries = points.read_held_entries(manifest)
    own = {*(entry.path for entry in entries), *manifest.value["scope"]["asked"]}
    # a folder that is still one is reached from what was asked for: named here, what git ignores in it would count
    paths = [one.path for one in entries if one.kind != "folder" or not _is_folder(world.root, one.path)]
    held = [os.path.join(world.root, path) for path in paths if not _is_behind_own_link(world.root, path, own)]
    there = [path for path in asked if os.path.lexists(path)]
    plain = _find_plain(world, manifest)
    patterns = [path for path in asked if path not in plain and not os.path.lexists(path) and _matches(world, path)]
    return list(dict.fromkeys([*there, *patterns, *held]))


def _find_plain(world: World, manifest: store.Manifest) -> frozenset[str]:
    """Those scopes that are names, however much `[id].py` looks like a pattern: the point holds them."""
    return frozenset(os.path.join(world.root, entry.path) for entry in points.read_held_entries(manifest))


def _is_behind_own_link(root: str, path: str, own: set[str]) -> bool:
    """Whether a folder of the scope is a link today: the link is what stands there, and will make way."""
    parts = path.split("/")
    ways = ("/".join(parts[:at]) for at in range(1, len(parts)))
    link = next((way for way in ways if os.path.islink(os.path.join(root, way))), None)
    return link is not None and any(link == one or link.startswith(f"{one}/") or not one for one in own)


def _matches(world: World, pattern: str) -> bool:
    from checkpoint_git.protocols.restore.scope import read_scope

    try:
        return bool(read_scope(world.root, [pattern]).found)
    except CheckpointError:
        return False


def _is_within(path: str, within: Sequence[str] | None) -> bool:
    return within is None or any(path == one or path.startswith(f"{one.rstrip('/')}/") or not one for one in within)


def roll_back(
    world: World, manifest: store.Manifest, within: Sequence[str] | None = None, means: Means = _NO_MEANS
) -> RolledBack:
    """Goes back, and proves it. The caller holds the lock, and has checked that the point has not expired.

    Who runs it again before `end_rollback` finishes the same one.
    Raises CheckpointError where the point is damaged (nothing was changed then) or where the result is not what stood
    there: then everything is kept, the point of the state before too.
    """
    check_usable(world, manifest)
    held = points.find_held(world, manifest.id)
    parts.check_ready(held, parts.read_parts(manifest, within), means)
    found_safety = _find_resumed(world, manifest, within, means)
    safety = found_safety or _make_safety(world, manifest, within, means)
    plan = plan_rollback(world, manifest, within, means)
    changed = [*plan.remove, *(one.path for one in plan.restore)]
    rollback_preflight.check_kept(plan.present, changed, _read_safety_entries(world, safety))
    rollback_preflight.check_ways(world.root, plan.remove, plan.restore, plan.present)
    told = parts.restore_parts(held, plan.parts, means, states=False)
    _change_files(world, manifest, held, plan)
    file_writes.sync_folders(world.root, changed)
    told += parts.restore_parts(held, plan.parts, means, states=True)
    told += _check_result(world, manifest, within, means, safety)
    return RolledBack(plan, safety, bool(found_safety), told)


def end_rollback(world: World, manifest: store.Manifest) -> None:
    """Forgets that a rollback was begun, once all that has to be noted about it is. Raises CheckpointError."""
    path = _journal_path(world, manifest.id)
    if os.path.lexists(path):
        remove_file(path)


def _change_files(world: World, manifest: store.Manifest, held: Held, plan: Plan) -> None:
    """Removes what was made since, then puts back folders, files and links; each only while it is as it was planned."""
    watch = rollback_preflight.Watch(world.root, plan.found)
    other_kinds = sorted((one.path for one in plan.restore if one.how == "kind"), reverse=True)
    for path in [*plan.remove, *other_kinds]:
        file_writes.remove_path(world.root, path, watch.check)
        watch.forget(path)
    wanted = {one.path for one in plan.restore}
    folders = [entry for entry in plan.entries if entry.kind == "folder"]
    files = [entry for entry in plan.entries if entry.path in wanted and entry.kind in ("file", "link")]
    points.apply_entries(held, manifest.value["type"], [*folders, *files], world.root, check=watch.check)


def _find_resumed(world: World, manifest: store.Manifest, within: Sequence[str] | None, means: Means) -> str:
    """The safety point of a rollback that was cut off, if nobody has worked in the scope since; else "".

    A second safety point of a state that nobody made would only hide the first.
    """
    safety = rollback_preflight.read_safety(_load_journal(world, manifest.id), within)
    kept = store.load_manifest(world.root, safety) if safety else None
    if kept is None or kept.trouble or kept.value["state"] == "dropped":
        return ""
    plan = plan_rollback(world, manifest, within, means)
    if not rollback_preflight.is_half_way(plan.present, plan.entries, points.read_held_entries(kept)):
        return ""
    changed = parts.find_differing(points.find_held(world, safety), parts.read_parts(kept), means)
    return "" if {part.name for part in changed} & {part.name for part in plan.parts} else safety


def _read_safety_entries(world: World, safety: str) -> list[Entry]:
    kept = store.load_manifest(world.root, safety) if safety else None
    return points.read_held_entries(kept) if kept is not None else []


def _make_safety(world: World, manifest: store.Manifest, within: Sequence[str] | None, means: Means) -> str:
    """A point of what stands in the scope now, noted in the journal before anything is changed; "" for nothing."""
    home = world._replace(cwd=world.root)
    asked, plain = _find_asked(home, manifest), _find_plain(home, manifest)
    if within is not None:
        found = [named.path for named in _read_scope(home, manifest)]
        asked = [os.path.join(world.root, path) for path in found if _is_within(path, within)]
        plain = frozenset(asked)
    wanted = parts.want_present(points.find_held(world, manifest.id), parts.read_parts(manifest, within), means)
    if not asked and not wanted and means.hand_over is not None:
        return ""  # states that only their owner knows: there is nothing to keep
    reason = f"before rolling back to {manifest.id}"
    kind = manifest.value["type"] if asked or not wanted else parts.choose_type(wanted)
    made = points.create(home, asked, reason, kind, None, wanted, plain)
    details = {"scope": [*made.manifest.value["scope"]["asked"], *(one.name for one in wanted)], "reason": reason}
    told = {**details, "type": kind, "digest": made.manifest.value["digest"]}
    audit.append_record(world.root, audit.Record("create", "success", made.manifest.id, told), world.now)
    text = json.dumps({"safety": made.manifest.id, "within": None if within is None else list(within)}) + "\n"
    write_file(_journal_path(world, manifest.id), text.encode())
    return made.manifest.id


def _journal_path(world: World, point: str) -> str:
    return os.path.join(layout.point_folder(world.root, point), _JOURNAL)


def _load_journal(world: World, point: str) -> dict[str, Any] | None:
    try:
        with open(_journal_path(world, point), "rb") as stream:
            value = json.loads(stream.read(1 << 20))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) and layout.is_id(str(value.get("safety", ""))) else None


def _check_result(
    world: World, manifest: store.Manifest, within: Sequence[str] | None, means: Means, safety: str
) -> list[str]:
    """Sentences on what stays although it was made since. Raises CheckpointError where anything is not as it stood."""
    left = plan_rollback(world, manifest, within, means)
    staying = rollback_preflight.find_staying(world.root, left.remove)
    others = [part.name for part in left.parts if part.kind != "state" or means.hand_over is None]
    wrong = [*(path for path in left.remove if path not in staying), *(one.path for one in left.restore), *others]
    if wrong:
        shown = ", ".join(escape_controls(path) for path in wrong[:5])
        hint = f"nothing is lost: {safety} holds what stood there before; run it again once nobody writes there"
        raise CheckpointError(f"after the rollback these are not as they stood: {shown}", hint)
    return [f"{path} stays: it holds files that no restore point keeps" for path in staying]
