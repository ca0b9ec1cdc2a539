"""Documents with something in every place of their schema, and a value of another type put into
each place.
"""

import copy
from collections.abc import Iterator
from typing import Any

from tests.support import workflows
from tests.support.records import record
from tests.support.samples import checkpoint

AT = "2026-03-01T09:00:00Z"
# letters of a timestamp: a reader that asks for the length alone takes a list of 20 for one
TWENTY = 20

ODD_VALUES: dict[str, Any] = {
    "null": None,
    "true": True,
    "zero": 0,
    "fraction": 1.5,
    "huge number": 10**400,
    "empty text": "",
    "text": "zzz",
    "empty list": [],
    "empty object": {},
    "list of twenty": list(range(TWENTY)),
    "object of twenty": {f"m{number}": number for number in range(TWENTY)},
    "mixed list": [None, 1, "a", {"x": 1}, [1]],
    "nested object": {"a": {"b": [{}]}},
}

Place = tuple[str | int, ...]


def full_checkpoint() -> dict[str, Any]:
    """A skill checkpoint with every field that the schema knows."""
    value = checkpoint(
        protocol_version="1.1",
        recently_done=[{"text": "A", "at": AT}],
        pm_refs=[
            {
                "provider": "linear",
                "id": "P-1",
                "role": "deploy",
                "first_seen_at": AT,
                "url": "https://x.example/1",
            },
            {
                "provider": "linear",
                "id": "P-2",
                "role": "incident",
                "first_seen_at": AT,
                "created_by_skill": "b",
            },
        ],
        depends_on=["plan"],
        cost={
            "total_usd": 1,
            "budget_usd": 2,
            "by_phase": {"a": 1},
            "by_model": {"b": 1},
            "currency": "EUR",
        },
        eval_scores=[
            {"rubric": "r", "score": 1, "max": 2, "at": AT, "dimensions": {"a": 1}},
            {"rubric": "r", "score": 1, "at": "2026-03-02T09:00:00Z"},
        ],
        telemetry_handle={"enabled": True, "id": "x", "sink": "y", "since": AT},
        handoffs=[{"id": "h", "to": "x"}],
        findings=[{"id": "f", "severity": "high", "status": "open"}],
        superseded=[
            {
                "phase": "a",
                "step": "b",
                "status": "in_progress",
                "progress_summary": "x",
                "updated_at": AT,
            }
        ],
        blockers=[
            {
                "id": "b1",
                "description": "d",
                "blocking": "sprint-1",
                "needs": "user_decision",
                "proposed_resolution": "p",
                "options": ["a", {"label": "b"}],
            },
            {
                "id": "b2",
                "description": "d",
                "needs": "code_fix",
                "resolved": True,
                "resolved_at": AT,
            },
        ],
        next_actions=["Do #12", {"text": "Run", "done_when": "make", "done_when_merged": ["#12"]}],
        skill_state={
            "last_run": {"at": AT},
            "streak": 1,
            "run_history": [{"a": 1}],
            "merged_prs": [{"number": 1}],
        },
    )
    value["progress_table"][0].update(estimate="2d", notes="n")
    return value


def full_documents() -> dict[str, dict[str, Any]]:
    """One full document of each kind that has a path: path -> value."""
    return {
        ".checkpoints/build.checkpoint.json": full_checkpoint(),
        "memory/state/phase.json": workflows.phase("IMPLEMENTATION", resume_context={"note": "n"}),
        "memory/state/execution.json": workflows.execution(
            workflows.task("t1", "complete", output_path="a.md", completed_at=AT),
            workflows.task("t2", "failed"),
        ),
        "OMN-2144/4fa2159f-9c61-5f8b-9ae5-28692b46cbd7/phase_1_implement_a1.yaml": record(),
    }


def list_places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield every place of a value, the whole first."""
    yield place
    if isinstance(value, dict):
        for name, member in value.items():
            yield from list_places(member, (*place, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from list_places(item, (*place, index))


def put(value: Any, place: Place, odd: Any) -> Any:
    """Return a copy of the value with something else at the place."""
    if not place:
        return odd

    changed = copy.deepcopy(value)
    target = changed
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = odd
    return changed
