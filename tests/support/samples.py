"""Sample checkpoints written for the tests."""

import json
from typing import Any


def checkpoint(**changes: Any) -> dict[str, Any]:
    """A valid skill checkpoint as a value, with top-level fields replaced; a field set to ... is
    left out.
    """
    value: dict[str, Any] = {
        "protocol_version": "1.0",
        "skill": "build",
        "project": "tidepool",
        "project_dir": "/srv/tidepool",
        "created_at": "2026-03-01T08:00:00Z",
        "updated_at": "2026-03-02T09:30:00Z",
        "phase": "build-loop",
        "step": "sprint-2",
        "status": "in_progress",
        "progress_summary": "Sprint 1 is done; sprint 2 has its contract.",
        "progress_table": [
            {"id": "plan", "label": "Plan", "status": "complete"},
            {"id": "sprint-1", "label": "Sprint 1: sign-in", "status": "complete"},
            {"id": "sprint-2", "label": "Sprint 2: notes", "status": "in_progress"},
        ],
        "context_primer": {
            "key_decisions": ["SQLite for storage", "Passkeys only"],
            "generated_files": ["docs/plan.md"],
            "user_preferences": ["Short answers"],
        },
        "blockers": [],
        "next_actions": [
            "Write the notes API",
            {"text": "Run the evaluator", "done_when": "make eval"},
        ],
        "skill_state": {"iteration": 1},
    }
    value.update(changes)
    return {key: field for key, field in value.items() if field is not ...}


def checkpoint_text(**changes: Any) -> str:
    """The same as a file's text: two-space JSON with a final newline."""
    return json.dumps(checkpoint(**changes), indent=2, ensure_ascii=False) + "\n"
