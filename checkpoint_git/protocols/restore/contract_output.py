"""What is answered about a restore point: the system's published output contract, computed and never assumed. Pure."""

from typing import Any

from checkpoint_git.protocols.restore import artifacts, layout, store
from checkpoint_git.protocols.restore.artifact import RESTORE_ORDER, TYPES, Part
from checkpoint_git.protocols.restore.points import Made

_UNITS = (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10))


def describe(made: Made) -> dict[str, Any]:
    """The whole contract for a point that was just made and proven."""
    value = made.manifest.value
    point = made.manifest.id
    return {
        "checkpoint_created": True,
        "checkpoint_id": point,
        "timestamp": value["created_at"],
        "size": value["size"],
        "checkpoint": {
            "id": point,
            "type": value["type"],
            "created_at": value["created_at"],
            "scope": {"files": value["scope"]["files"], "state_keys": value["scope"]["state_keys"]},
            "restore_command": layout.restore_command(point),
            "expiry": value["expires_at"],
        },
        "pre_mutation_state": {"hash": value["hash"], "summary": summarize(made)},
        "parts": [_describe_part(part) for part in made.parts],
        "restore_order": find_order(made),
        "prerequisites": artifacts.find_prerequisites(made.parts),
        "next_safe_actions": [
            *(f"edit: {path}" for path in value["scope"]["asked"][:10]),
            *(f"change: {part.name}" for part in made.parts[:10]),
            f"rollback: checkpoint restore-point rollback {point}",
        ],
        "confidence": find_confidence(made),
        "evidence_anchors": find_anchors(made),
        "assumptions": find_assumptions(made),
        "warnings": made.warnings,
    }


def _describe_part(part: Part) -> dict[str, Any]:
    return {"name": part.name, "type": TYPES[part.kind], "size": part.size, "hash": f"sha256:{part.sha256}"}


def find_order(made: Made) -> list[str]:
    """What is put back one after another: databases by name, "files", states by name."""
    groups = {
        "databases": [part.name for part in made.parts if part.kind != "state"],
        "files": ["files"] if made.entries else [],
        "states": [part.name for part in made.parts if part.kind == "state"],
    }
    return [name for group in RESTORE_ORDER for name in groups[group]]


def summarize(made: Made) -> str:
    """The state in one line, with what was not committed."""
    value = made.manifest.value
    files = value["scope"]["files"]
    texts = [f"{len(files)} file{'' if len(files) == 1 else 's'}, {size_text(value['size'])}"]
    for kinds, one, many in ((("state",), "state", "states"), (("sqlite", "postgresql"), "database", "databases")):
        count = sum(part.kind in kinds for part in made.parts)
        texts[0] = f"{texts[0]}, {count} {one if count == 1 else many}" if count else texts[0]
    if made.uncommitted is not None and made.entries:
        named = ", ".join(made.uncommitted[:5]) + (" ..." if len(made.uncommitted) > 5 else "")
        texts.append(
            f"{len(made.uncommitted)} with uncommitted changes: {named}" if made.uncommitted else "all committed"
        )
    return "; ".join(texts)


def size_text(size: int) -> str:
    """Bytes as people say them."""
    for name, unit in _UNITS:
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


def find_confidence(made: Made) -> float:
    """The share of what could be proven that was: content, rehearsal, script, ref, completeness."""
    return round(sum(made.proofs.values()) / len(made.proofs), 2)


def find_anchors(made: Made) -> list[str]:
    """The evidence: what was run, and which files prove it."""
    point, value = made.manifest.id, made.manifest.value
    folder = f"{layout.FOLDER}/{point}"
    kept = f"tool:git:update-ref {layout.ref_name(point)} {made.held.commit}" if made.held.commit else ""
    return [
        f"tool:sha256:{len(value['scope']['files'])} files read back and compared, {value['hash']}",
        f"tool:bash:sh -n {folder}/{layout.RESTORE_SCRIPT}",
        *([kept] if kept else []),
        *(f"file:{folder}/{part.content}" for part in made.parts if part.content),
        f"file:{folder}/{layout.MANIFEST}",
        f"file:{layout.AUDIT_LOG}",
    ]


def find_assumptions(made: Made) -> list[str]:
    """What the way back relies on."""
    texts = ["the workspace's folder is the same when the point is restored", "nobody writes in the scope meanwhile"]
    if any(part.kind != "state" for part in made.parts):
        texts.append(
            f"{layout.FOLDER} stays: the copies of databases lie there alone, and `git clean -x` takes it away"
        )
    if made.held.commit:
        texts.append("git is available, and its object database is whole")
    return texts


def outline(manifest: store.Manifest, state: str) -> dict[str, Any]:
    """A point as a list shows it."""
    value = manifest.value
    if manifest.trouble:
        return {"id": manifest.id, "state": state, "trouble": manifest.trouble}
    names = ("type", "created_at", "expires_at", "reason", "size", "hash", "scope", "warnings")
    return {"id": manifest.id, "state": state, **{name: value[name] for name in names}}
