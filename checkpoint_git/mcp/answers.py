"""What each tool's answer looks like, as JSON Schema: the fields of --json that an agent works with. Data alone.

An answer may hold more members than are named here, and holds `error` in place of the rest where a call could not run.
"""

from typing import Any

_TEXT = {"type": "string"}
_MAYBE = {"type": ["string", "null"]}
_WHOLE = {"type": "integer"}
_FLAG = {"type": "boolean"}
_ANY: dict[str, Any] = {}


def _object(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_FINDING = _object(
    code=_TEXT,
    level={"type": "string", "enum": ["error", "warning", "note"]},
    message=_TEXT,
    path=_TEXT,
    where={"type": "string", "description": "JSON Pointer in the file"},
    line=_WHOLE,
    column=_WHOLE,
    hint=_TEXT,
)
_PROGRESS = _object(complete=_WHOLE, total=_WHOLE)
_ACTION = _object(text=_TEXT, done_when=_MAYBE)
_STATE = _object(
    skill=_TEXT,
    path=_TEXT,
    phase=_MAYBE,
    step=_MAYBE,
    status=_MAYBE,
    progress_summary=_MAYBE,
    updated_at=_MAYBE,
    age_seconds={"type": ["integer", "null"]},
    stale=_FLAG,
    progress=_PROGRESS,
    next_actions=_list(_ACTION),
    blockers=_list({"type": "object"}),
)
_NEXT = {
    "skill": _MAYBE,
    "rank": _MAYBE,
    "reason": _MAYBE,
    "action": _MAYBE,
    "done_when": _MAYBE,
    "then": _MAYBE,
}
_WRITTEN = {
    "skill": _TEXT,
    "path": _TEXT,
    "written": _FLAG,
    "created": _FLAG,
    "fields": _list(_TEXT),
    "updated_at": _MAYBE,
    "errors_left": _WHOLE,
}
_POINT = _object(id=_TEXT, state=_TEXT, created_at=_MAYBE, expires_at=_MAYBE, reason=_MAYBE, size=_WHOLE)

_MEMBERS: dict[str, dict[str, Any]] = {
    "checkpoint_status": {"decisions": _list({"type": "object"}), "skills": _list(_STATE), "changed": _list(_STATE)},
    "checkpoint_next": {**_NEXT, "skipped": _WHOLE, "queue": _list(_object(**_NEXT))},
    "checkpoint_resume": {
        "skill": _TEXT,
        "decision": {"type": "string", "enum": ["continue", "ask", "complete", "start_fresh"]},
        "why": _TEXT,
        "question": _MAYBE,
        "answers": _list(_object(name=_TEXT, command=_TEXT)),
        "resuming": _list(_TEXT),
        "phase": _MAYBE,
        "step": _MAYBE,
        "status": _MAYBE,
        "progress": _PROGRESS,
        "next_action": {"type": ["object", "null"]},
        "next_actions": _list(_ACTION),
        "blockers": _list({"type": "object"}),
        "ask_first": _list(_ANY),
        "context_primer": _object(
            key_decisions=_list(_TEXT), generated_files=_list(_TEXT), user_preferences=_list(_TEXT)
        ),
    },
    "checkpoint_list": {"checkpoints": _list(_object(skill=_TEXT, path=_TEXT, valid=_FLAG, status=_MAYBE))},
    "checkpoint_show": {
        "public": _FLAG,
        "checkpoints": {"type": "object", "additionalProperties": {"type": ["object", "null"]}},
    },
    "checkpoint_refs": {"refs": _list(_object(skill=_TEXT, role=_ANY, provider=_ANY, id=_ANY, url=_ANY))},
    "checkpoint_validate": {
        "checked": _list(_object(path=_TEXT, valid=_FLAG)),
        "errors": _WHOLE,
        "warnings": _WHOLE,
        "strict": _FLAG,
    },
    "checkpoint_doctor": {
        "checks": _list(_TEXT),
        "documents": _WHOLE,
        "errors": _WHOLE,
        "warnings": _WHOLE,
        "notes": _WHOLE,
        "suppressed": _list({"type": "object"}),
    },
    "checkpoint_update": _WRITTEN,
    "checkpoint_done": {**_WRITTEN, "done": _MAYBE, "next": _MAYBE},
    "restore_point_create": {
        "checkpoint_created": _FLAG,
        "checkpoint_id": _TEXT,
        "checkpoint": {"type": "object"},
        "pre_mutation_state": {"type": "object"},
        "restore_order": _list(_TEXT),
        "prerequisites": _list(_TEXT),
        "confidence": {"type": "number"},
        "warnings": _list(_TEXT),
    },
    "restore_point_list": {"restore_points": _list(_POINT)},
    "restore_point_show": {**_POINT["properties"], "entries": _list({"type": "object"})},
    "restore_point_verify": {"checkpoint_id": _TEXT, "verified": _FLAG},
    "restore_point_rollback": {
        "checkpoint_id": _TEXT,
        "dry_run": _FLAG,
        "verified": _FLAG,
        "restored": _list({"type": "object"}),
        "removed": _list(_TEXT),
        "safety_checkpoint_id": _MAYBE,
    },
}


def _schema(members: dict[str, Any]) -> dict[str, Any]:
    common = {
        "schema_version": {"const": 1},
        "command": _TEXT,
        "findings": _list(_FINDING),
        "error": _object(message=_TEXT, hint=_TEXT, code=_TEXT),
        "truncated": _object(limit=_WHOLE, count=_WHOLE, places=_list(_TEXT)),
    }
    return {"type": "object", "properties": {**members, **common}, "required": ["schema_version", "command"]}


ANSWERS = {name: _schema(members) for name, members in _MEMBERS.items()}
