"""Sample workflow states written for the tests."""

import json
import os
from pathlib import Path
from typing import Any

from checkpoint_git.protocols.workflow.layout import PHASES, TABLE

OUTPUTS = {name: phase.outputs[0].replace("*", "-1") for name, phase in TABLE.items()}


def phase(
    current: str = "REQUIREMENTS", status: str = "in_progress", **changes: Any
) -> dict[str, Any]:
    """A valid phase.json as a value, everything before the current phase completed and approved;
    ... leaves out.
    """
    done = PHASES[: PHASES.index(current)]
    value: dict[str, Any] = {
        "workflow_id": "login",
        "started_at": "2026-03-01T08:00:00Z",
        "last_updated": "2026-03-02T09:30:00Z",
        "current_phase": current,
        "phase_status": status,
        "completed_phases": [
            {
                "phase": name,
                "completed_at": f"2026-03-01T{9 + at:02}:00:00Z",
                "output": OUTPUTS[name],
            }
            for at, name in enumerate(done)
        ],
        "user_checkpoints": [
            {"phase": name, "approved_at": "2026-03-01T08:30:00Z"} for name in done
        ],
        "interruption_safe": True,
    }
    value.update(changes)
    return {key: member for key, member in value.items() if member is not ...}


def task(name: str = "t1", status: str = "pending", **changes: Any) -> dict[str, Any]:
    """A row of execution.json; a member set to ... is left out."""
    value = {"id": name, "status": status, "attempts": 0, "max_attempts": 3, **changes}
    return {key: member for key, member in value.items() if member is not ...}


def execution(*tasks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A valid execution.json as a value."""
    return {
        "workflow_id": "login",
        "last_updated": "2026-03-02T09:30:00Z",
        "tasks": list(tasks),
        **changes,
    }


def text_of(value: Any) -> str:
    """A document as two-space JSON with a final newline."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_workflow(root: Path, state: dict[str, Any], tasks: dict[str, Any] | None = None) -> Path:
    """The two files, and every output that phase.json names; the folder memory/state."""
    folder = root / "memory/state"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "phase.json").write_text(text_of(state))
    (folder / "execution.json").write_text(text_of(execution() if tasks is None else tasks))
    for row in state.get("completed_phases", []):
        if row["output"] != OUTPUTS["IMPLEMENTATION"]:
            write_output(root, row["output"])
    return folder


def write_output(root: Path, path: str, content: Any = None, at: int | None = None) -> Path:
    """A file that a phase or a task leaves behind. at: when it was written, seconds since 1970."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        content
        if isinstance(content, str)
        else json.dumps({"made": path} if content is None else content)
    )
    if at is not None:
        os.utime(file, (at, at))
    return file


def read_json(path: Path) -> Any:
    """A file's content as plain Python."""
    return json.loads(path.read_text("utf-8"))
