"""Sample pipeline records written for the tests."""

from pathlib import Path
from typing import Any

from checkpoint_git.core.yamlblock import write_block
from checkpoint_git.protocols.pipeline.layout import PHASES

TICKET = "OMN-2144"
RUN = "4fa2159f-9c61-5f8b-9ae5-28692b46cbd7"  # what the short id a1b2c3d4 stands for
SHORT_RUN = "a1b2c3d4"
PAYLOADS: dict[str, dict[str, Any]] = {
    "implement": {
        "branch_name": "feat/OMN-2144",
        "commit_sha": "a1b2c3d",
        "files_changed": ["src/foo.py"],
    },
    "local_review": {
        "iteration_count": 2,
        "issue_fingerprints": ["foo:12"],
        "last_clean_sha": "a1b2c3d",
    },
    "create_pr": {
        "pr_url": "https://example.org/web/pull/12",
        "pr_number": 12,
        "head_sha": "a1b2c3d",
    },
    "pr_release_ready": {"last_review_sha": "a1b2c3d", "issue_fingerprints": []},
    "ready_for_merge": {"label_applied_at": "2026-03-02T09:00:00Z"},
}


def record(phase: str = "implement", attempt: int = 1, **changes: Any) -> dict[str, Any]:
    """A valid record as a value, with fields replaced; a field set to ... is left out."""
    value: dict[str, Any] = {
        "schema_version": "1.0.0",
        "run_id": RUN,
        "ticket_id": TICKET,
        "phase": phase,
        "timestamp_utc": "2026-03-02T09:30:00Z",
        "repo_commit_map": {"web": "a1b2c3d"},
        "artifact_paths": ["src/foo.py"],
        "attempt_number": attempt,
        "phase_payload": {"phase": phase, **PAYLOADS[phase]},
    }
    value.update(changes)
    return {key: field for key, field in value.items() if field is not ...}


def put_record(
    base: Path, phase: str = "implement", attempt: int = 1, *, ordinal: int = 0, **changes: Any
) -> Path:
    """A record put where it belongs below a base, by hand; its path."""
    value = record(phase, attempt, **changes)
    name = f"phase_{ordinal or PHASES[phase]}_{phase}_a{attempt}.yaml"
    return put_text(base, name, write_block(value), run=str(value["run_id"]))


def put_text(base: Path, name: str, text: str | bytes, *, run: str = RUN) -> Path:
    """Any text as a file of a run."""
    path = base / TICKET / run / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


RECORD_FIELDS = (
    "schema_version",
    "run_id",
    "ticket_id",
    "phase",
    "timestamp_utc",
    "repo_commit_map",
    "artifact_paths",
    "attempt_number",
    "phase_payload",
)
