"""Describe a point as the command line and Python report it: the output contract."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from checkpoint_git.core.hint import AnyHint, advise
from checkpoint_git.core.terminal_text import plural
from checkpoint_git.protocols.restore import layout, store
from checkpoint_git.protocols.restore.contents import TYPES, Part
from checkpoint_git.protocols.restore.mechanisms import parts as all_parts
from checkpoint_git.protocols.restore.points import CreatedPoint
from checkpoint_git.protocols.restore.store import Manifest

_SHOWN_NAMES = 5
_SHOWN_ACTIONS = 10
_UNITS = {"GB": 1 << 30, "MB": 1 << 20, "KB": 1 << 10}
_OUTLINE = ("type", "created_at", "expires_at", "reason", "size", "hash", "scope", "warnings")
_OPTIONAL_OUTLINE = ("work_tree", "made_for", "left_out", "git")


def describe(made: CreatedPoint) -> dict[str, Any]:
    """Return what `create` reports of a new point."""
    value = made.manifest.value
    point = made.manifest.id
    script = f"sh {layout.FOLDER}/{point}/{layout.RESTORE_SCRIPT}"
    return {
        "checkpoint_created": True,
        "checkpoint_id": point,
        "timestamp": value["created_at"],
        "size": value["size"],
        "checkpoint": {
            "id": point,
            "type": value["type"],
            "created_at": value["created_at"],
            "scope": {key: value["scope"][key] for key in ("files", "state_keys")},
            "restore_command": script,
            "expiry": value["expires_at"],
        },
        "pre_mutation_state": {"hash": value["hash"], "summary": _summarize(made)},
        "parts": [_describe_part(part) for part in made.parts],
        "restore_order": _list_order(made),
        "prerequisites": all_parts.find_prerequisites(made.parts),
        "git": value["git"],
        "left_out": value["left_out"],
        "next_safe_actions": _list_actions(made),
        "confidence": find_confidence(made.proofs),
        "evidence_anchors": _list_anchors(made, script),
        "assumptions": _list_assumptions(made),
        "warnings": made.warnings,
    }


def _describe_part(part: Part) -> dict[str, Any]:
    return {
        "name": part.name,
        "type": TYPES[part.kind],
        "size": part.size,
        "hash": f"sha256:{part.sha256}",
    }


def _list_states(parts: Sequence[Part]) -> list[str]:
    return [part.name for part in parts if part.kind == "state"]


def _list_databases(parts: Sequence[Part]) -> list[str]:
    return [part.name for part in parts if part.kind != "state"]


def _summarize(made: CreatedPoint) -> str:
    """Return a line such as "2 files, 3.1 KB, 1 state; all committed"."""
    value = made.manifest.value
    counts = [plural(len(value["scope"]["files"]), "file"), size_text(value["size"])]
    states = _list_states(made.parts)
    databases = _list_databases(made.parts)
    if states:
        counts.append(plural(len(states), "state"))
    if databases:
        counts.append(plural(len(databases), "database"))
    summary = ", ".join(counts)

    uncommitted = made.uncommitted
    if not made.entries or uncommitted is None:
        return summary
    if not uncommitted:
        return f"{summary}; all committed"
    named = ", ".join(uncommitted[:_SHOWN_NAMES])
    if len(uncommitted) > _SHOWN_NAMES:
        named += " ..."
    return f"{summary}; {len(uncommitted)} with uncommitted changes: {named}"


def _list_order(made: CreatedPoint) -> list[str]:
    files = ["files"] if made.entries else []
    return [*_list_databases(made.parts), *files, *_list_states(made.parts)]


def _list_actions(made: CreatedPoint) -> list[AnyHint]:
    """Return what can be done now without a loss."""
    asked = made.manifest.value["scope"]["asked"][:_SHOWN_ACTIONS]
    actions: list[AnyHint] = [f"edit: {path or '.'}" for path in asked]
    actions += [f"change: {part.name}" for part in made.parts[:_SHOWN_ACTIONS]]
    rollback = ("checkpoint", "restore-point", "rollback", made.manifest.id)
    return [*actions, advise("rollback", *rollback)]


def _list_anchors(made: CreatedPoint, script: str) -> list[str]:
    """Return the evidence that the point can be restored. script: the command that does it."""
    count = len(made.manifest.value["scope"]["files"])
    anchors = find_anchors(made.manifest, f"{count} files read back and compared")
    anchors.append(f"tool:bash:CHECKPOINT_WORKSPACE=<empty folder> {script}")
    commit = made.location.commit
    if commit:
        anchors.append(f"tool:git:update-ref {layout.ref_name(made.manifest.id)} {commit}")
    folder = os.path.relpath(made.location.folder, made.location.root)
    anchors += [f"file:{folder}/{part.content}" for part in made.parts if part.content]
    return anchors


def _list_assumptions(made: CreatedPoint) -> list[str]:
    assumptions = [
        "the workspace's folder is the same when the point is restored",
        "nothing else writes in the scope meanwhile",
    ]
    if made.location.commit:
        assumptions.append("git is available, and its object database is whole")
    return assumptions


def find_anchors(manifest: Manifest, what: str) -> list[str]:
    """Return evidence about a point. what: was done, such as "compared with what was kept"."""
    if not layout.is_id(manifest.id):  # an automatic one, whose digits are a commit's
        digits = manifest.id.rpartition("-")[2]
        return [f"tool:git:{what}, git diff {digits}", f"file:{layout.AUDIT_LOG}"]
    return [
        f"tool:sha256:{what}, {manifest.value.get('hash')}",
        f"tool:checkpoint:restore-point verify {manifest.id}",
        f"file:{layout.FOLDER}/{manifest.id}/{layout.MANIFEST}",
        f"file:{layout.AUDIT_LOG}",
    ]


def find_confidence(proofs: Mapping[str, bool]) -> float:
    """Return the share of proofs that were given."""
    return round(sum(proofs.values()) / len(proofs), 2)


def size_text(size: int) -> str:
    """Return a number of bytes as "3.1 KB"."""
    for name, unit in _UNITS.items():
        if size >= unit:
            # in whole numbers: a manifest may claim more than a float can hold
            tenths = (size * 10 + unit // 2) // unit
            return f"{tenths // 10}.{tenths % 10} {name}"
    return f"{size} bytes"


def outline(manifest: Manifest, now: int) -> dict[str, Any]:
    """Return what a list reports of a point."""
    state = store.find_state(manifest, now)
    if manifest.trouble:
        return {"id": manifest.id, "state": state, "trouble": manifest.trouble}
    outlined = {"id": manifest.id, "state": state}
    outlined |= {name: manifest.value[name] for name in _OUTLINE}
    return outlined | {name: manifest.value.get(name) for name in _OPTIONAL_OUTLINE}
