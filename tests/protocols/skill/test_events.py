"""An event's file: its name is made of what it holds, and what is no event is never taken for one."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.jsontext import scan_tokens
from checkpoint_git.protocols.skill import events
from checkpoint_git.protocols.skill.events import Event, event_name, event_text, is_too_deep, read_event

ENTRY = Event("/skill_state/merged_prs", 50_000_003, 0, "2026-03-02T12:00:00Z", {"number": b"7"}, "")
AMOUNT = Event("/cost/by_phase/plan", 0, 0, "", b"0.250", "00ff00ff")
SCHEMA = json.loads(Path(events.__file__).with_name("event_schema.json").read_text("utf-8"))

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def fields(**changes: Any) -> str:
    """An event's text with fields replaced; ... takes one away."""
    value = {**json.loads(event_text("build", ENTRY)), **changes}
    return json.dumps({key: field for key, field in value.items() if field is not ...})


@given(content=JSON, order=st.integers(0, 99_999_999), copy=st.integers(0, 9), at=st.sampled_from(["", ENTRY.at]))
def test_what_is_written_is_read(content: Any, order: int, copy: int, at: str) -> None:
    event = Event("/skill_state/run_history", order, copy, at, scan_tokens(json.dumps(content)), "")
    assert read_event(event_text("build", event), "build") == event
    name = event_name(event_text("build", event), event)
    assert name.endswith(".event.json")
    assert set(name) <= set("0123456789abcdefmovedntjs.-")
    assert name.startswith(f"{order:08d}-")


@pytest.mark.parametrize("event", [ENTRY, AMOUNT])
def test_the_schema_says_the_same(event: Event) -> None:
    text = event_text("build", event)
    assert read_event(text, "build") == event
    jsonschema.validate(json.loads(text), SCHEMA)


def test_the_name_depends_on_every_field() -> None:
    others = [
        ENTRY,
        ENTRY._replace(where="/skill_state/merged_prs_old"),
        ENTRY._replace(copy=1),
        ENTRY._replace(content={"number": b"7.0"}),
        ENTRY._replace(at="2026-03-02T12:00:00.5Z"),
    ]
    names = {event_name(event_text(skill, event), event) for event in others for skill in ("build", "other")}
    assert len(names) == 2 * len(others)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "end"),
        ("[]", "no object"),
        (fields(skill="other"), "another skill"),
        (fields(skill=...), "skill is missing"),
        (fields(where="/skill_state/mode"), "no list of telemetry"),
        (fields(where="/skill_state/merged_prs/0"), "no list of telemetry"),
        (fields(where="/skill_state/../merged_prs"), "no list of telemetry"),
        (fields(where=["/skill_state/merged_prs"]), "where is no text"),
        (fields(order=-1), "order is no number"),
        (fields(order=1.0), "order is no number"),
        (fields(order=True), "order is no number"),
        (fields(order=10**9), "order is no number"),
        (fields(copy=...), "copy is missing"),
        (fields(entry=...), "entry is missing"),
        (fields(at="yesterday"), "at is no instant"),
        (fields(at=None), "at is no instant"),
        (fields(extra=1), "a field that no event has: extra"),
        (fields(amount=1), "amount too"),
        (fields(mark="00ff00ff"), "amount is missing"),
        (fields(entry=..., copy=..., where="/cost/total_usd", mark="00ff00ff", amount=0), "above zero"),
        (fields(entry=..., copy=..., where="/cost/total_usd", mark="00ff00ff", amount=-1), "above zero"),
        (fields(entry=..., copy=..., where="/cost/budget_usd", mark="00ff00ff", amount=1), "no amount of the cost"),
        (fields(entry=..., copy=..., where="/cost/total_usd", mark="short", amount=1), "hexadecimal"),
        (fields(where="/cost/total_usd", mark="00ff00ff", amount=1), "both"),
        (fields(entry=json.loads("[" * 80 + "]" * 80)), "nested"),
        ('{"entry": ' + "[" * 100_000 + "]" * 100_000 + "}", "deep"),
        (fields()[:-1] + ', "skill": "build"}', "twice"),
    ],
)
def test_what_is_no_event_is_refused_with_the_reason(text: str, why: str) -> None:
    found = read_event(text, "build")
    assert isinstance(found, str)
    assert why in found


def test_depth_is_counted_in_levels() -> None:
    assert not is_too_deep(json.loads("[" * 64 + "]" * 64))
    assert is_too_deep(json.loads("[" * 65 + "]" * 65))
