"""Checkpoints of a realistic size and shape, the same on every run, and the three versions of a
clean merge.
"""

import copy
import json
import os
from typing import Any

_TEXT = """
session sync importer retries queue schema index cache worker export passkey table migration review
deploy monitor report budget search upload webhook digest locale backup cursor ledger replay shard token
"""
_WORDS = _TEXT.split()


def sentence(seed: int, words: int) -> str:
    """Some words in an order that depends on the seed only."""
    picked = [_WORDS[(seed * 7 + step * (3 + seed % 5)) % len(_WORDS)] for step in range(words)]
    return " ".join(picked).capitalize()


def stamp(seed: int) -> str:
    """An instant in October 2026 that grows with the seed (0 to 500)."""
    return f"2026-10-{1 + seed // 20:02d}T{seed % 20:02d}:15:00Z"


def make_checkpoint(skill: str, project_dir: str, seed: int = 0) -> dict[str, Any]:
    """A valid checkpoint whose text has about 16 KB."""
    return {
        "protocol_version": "1.0",
        "skill": skill,
        "project": "tidepool",
        "project_dir": project_dir,
        "created_at": "2026-09-01T08:00:00Z",
        "updated_at": stamp(200 + seed),
        "phase": "build-loop",
        "step": "sprint-7",
        "status": "in_progress",
        "progress_summary": ". ".join(sentence(seed + number, 9) for number in range(9)) + ".",
        "progress_table": [_row(number, seed) for number in range(16)],
        "context_primer": {
            "key_decisions": [sentence(seed * 31 + number, 14) for number in range(19)],
            "generated_files": [f"src/{word}/{word}.py" for word in _WORDS],
            "user_preferences": [sentence(seed + 90 + number, 6) for number in range(5)],
        },
        "blockers": [],
        "next_actions": [
            *(sentence(seed + 60 + number, 11) for number in range(7)),
            f"Get #{150 + seed} reviewed and merged",
        ],
        "recently_done": [
            {"text": sentence(seed + 40 + n, 8), "at": stamp(180 - n)} for n in range(10)
        ],
        "skill_state": {
            "iteration": 7,
            "run_history": [_run(number, seed) for number in range(28)],
            "merged_prs": [_merged(number, seed) for number in range(20)],
        },
    }


def _row(number: int, seed: int) -> dict[str, Any]:
    status = "complete" if number < 6 else "in_progress" if number == 6 else "not_started"
    return {
        "id": f"sprint-{number + 1}",
        "label": f"Sprint {number + 1}: {sentence(seed + number, 4)}",
        "status": status,
    }


def _run(number: int, seed: int) -> dict[str, Any]:
    return {
        "at": stamp(number),
        "result": "pass",
        "score": 7.5,
        "notes": sentence(seed + number * 3, 8),
    }


def _merged(number: int, seed: int) -> dict[str, Any]:
    return {
        "number": 100 + number,
        "title": sentence(seed + number * 5, 6),
        "merged_at": stamp(number),
    }


def make_sides(base: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Ours and theirs: both log a run, record a decision and advance a row; one pops an action, one
    appends one.
    """
    ours, theirs = copy.deepcopy(base), copy.deepcopy(base)
    _change(ours, 201, "ours", row=6, status="complete")
    _change(theirs, 203, "theirs", row=7, status="in_progress")
    ours["next_actions"].pop(0)
    theirs["next_actions"].append("Write the release notes")
    return ours, theirs


def _change(value: dict[str, Any], when: int, side: str, row: int, status: str) -> None:
    value["updated_at"] = stamp(when)
    value["progress_table"][row]["status"] = status
    value["context_primer"]["key_decisions"].append(
        f"Decided on the side of {side}: {sentence(when, 9)}"
    )
    value["skill_state"]["run_history"].append(
        {"at": stamp(when), "result": "pass", "score": 8.0, "notes": side}
    )


def text_of(value: dict[str, Any]) -> str:
    """Two-space JSON with a final newline."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_text(path: str, text: str) -> None:
    """A file, its folder made."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
