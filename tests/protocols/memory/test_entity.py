from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.clock import read_instant, write_instant
from checkpoint_git.protocols.memory.entity import (
    KEYS,
    Entity,
    group,
    holds,
    join_files,
    next_stamp,
    parse,
    plan_update,
    read_entity,
    write,
    write_all,
)
from tests.support.rows import rows

NAME = "initiative-checkpoint"
NOW = 1_800_000_000
SOUND = ("initiative:i", "phase:A", "timestamp:2026-01-01T00:00:00Z")


def make(*observations: str, entity_type: str = "checkpoint") -> Entity:
    return Entity(NAME, entity_type, observations)


def apply(entity: Entity, changes: dict[str, str | None], calls: int = 3) -> Entity:
    """The entity after the first so many calls of an update."""
    steps = plan_update(entity, changes)
    there = list(entity.observations)
    for number, (kind, texts) in enumerate(
        (("-", steps.leftovers), ("+", steps.add), ("-", steps.delete))
    ):
        if number < calls:
            there = (
                [*there, *(t for t in texts if t not in there)]
                if kind == "+"
                else [t for t in there if t not in texts]
            )
    return entity._replace(observations=tuple(there))


def test_a_field_is_what_stands_behind_the_first_colon() -> None:
    reading = read_entity(
        make("initiative: a: b", "next_action:c:d", "timestamp:2026-01-01T00:00:00Z", "a remark")
    )
    assert reading.fields["initiative"] == "a: b"
    assert reading.fields["next_action"] == "c:d"
    assert reading.loose == ["a remark"]


@rows(
    ("observations", "state"),
    [
        (SOUND, "good"),
        ((*SOUND, "phase: A"), "good"),
        (("phase:A",), "corrupted"),
        ((*SOUND, "phase:B"), "interrupted"),
        ((*SOUND, "phase:B", "timestamp:2026-01-02T00:00:00Z"), "interrupted"),
        ((*SOUND, "tag:a", "tag:b"), "good"),
    ],
)
def test_an_entity_is_told_by_its_values(observations: tuple[str, ...], state: str) -> None:
    assert read_entity(make(*observations)).state == state


def test_an_entity_of_another_type_is_anothers() -> None:
    assert read_entity(make(*SOUND, entity_type="person")).state == "foreign"


def test_the_newest_timestamp_counts_and_of_other_keys_what_was_added_last() -> None:
    reading = read_entity(make("timestamp:2026-03-01T00:00:00Z", *SOUND, "phase:B"))
    assert (reading.fields["timestamp"], reading.fields["phase"]) == ("2026-03-01T00:00:00Z", "B")


texts = st.text(st.characters(codec="utf-8", min_codepoint=32), min_size=1, max_size=8)
values = texts.map(str.strip).filter(bool)
updates = st.lists(
    st.dictionaries(st.sampled_from(KEYS[:6]), values, min_size=1), min_size=1, max_size=6
)


@given(updates)
def test_after_any_updates_every_field_has_its_last_value_alone(rows: list[dict[str, str]]) -> None:
    entity, expected = make("initiative:i", "remark"), {"initiative": "i"}
    for row in rows:
        entity = apply(entity, dict(row))
        expected.update(row)
    assert holds(entity, dict(expected))
    assert "remark" in entity.observations


@given(updates, st.integers(0, 3))
def test_an_update_that_is_killed_anywhere_is_mended_by_the_next(
    rows: list[dict[str, str]], calls: int
) -> None:
    entity = make(*SOUND)
    for number, row in enumerate(rows[:-1]):
        entity = apply(entity, {**row, "timestamp": f"2026-01-02T00:00:0{number}Z"}, calls)
    last = {**rows[-1], "timestamp": "2026-01-03T00:00:00Z"}
    mended = apply(entity, dict(last))
    assert holds(mended, dict(last))
    assert read_entity(mended).several == {}


@given(values, values)
def test_an_update_killed_between_its_calls_is_read_as_done(before: str, after: str) -> None:
    entity = make("initiative:i", f"phase:{before}", "timestamp:2026-01-01T00:00:00Z")
    cut = apply(entity, {"phase": after, "timestamp": "2026-01-02T00:00:00Z"}, calls=2)
    assert read_entity(cut).fields["phase"] == after
    assert read_entity(cut).state == "interrupted"


def test_a_field_is_taken_away() -> None:
    assert apply(make(*SOUND), {"phase": None}).observations == (SOUND[0], SOUND[2])


@given(st.integers(0, 30), st.text("0123456789", max_size=6))
def test_a_timestamp_is_later_than_the_one_before(ahead: int, fraction: str) -> None:
    before = f"{write_instant(NOW + ahead)[:-1]}{f'.{fraction}' if fraction else ''}Z"
    assert (read_instant(next_stamp(before, NOW)) or (0, "")) > (read_instant(before) or (0, ""))


@rows("before", ["nonsense", "", "2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z"])
def test_a_timestamp_is_the_clocks_where_nothing_is_near(before: str) -> None:
    assert next_stamp(before, NOW) == write_instant(NOW)


def test_an_update_cut_off_in_the_second_of_the_one_before_is_no_corruption() -> None:
    entity = make("initiative:i", "phase:A", f"timestamp:{next_stamp('', NOW)}")
    stamp = next_stamp(read_entity(entity).fields["timestamp"], NOW)
    cut = apply(entity, {"phase": "B", "timestamp": stamp}, calls=2)
    assert (read_entity(cut).state, read_entity(cut).fields["phase"]) == ("interrupted", "B")
    assert read_entity(cut).fields["timestamp"] == stamp


@given(st.text())
def test_what_is_written_is_read_back(value: str) -> None:
    assert parse(write("next_action", value)).value == value.strip()


@given(st.text())
def test_any_text_is_an_observation(text: str) -> None:
    found = parse(text)
    assert found.text == text
    assert found.key == "" or text.startswith(f"{found.spelled or found.key}:")


def test_known_keys_with_capitals_are_read_in_lower_case() -> None:
    reading = read_entity(
        make("Initiative: i", "NEXT_ACTION:a", "milestone:M1", "Milestone: M2", "Jira: J-1")
    )
    assert reading.fields == {
        "initiative": "i",
        "next_action": "a",
        "milestone": "M2",
        "Jira": "J-1",
    }
    assert reading.several == {"milestone": ["M1", "M2"]}
    assert reading.spelled == ["Initiative", "NEXT_ACTION", "Milestone"]


@rows(
    ("before", "changes", "after"),
    [
        (
            ("Initiative: i", "Jira:x", "Notes: a"),
            {"phase": "A"},
            {"initiative:i", "phase:A", "Jira:x", "Notes: a"},
        ),
        (("initiative:i", "Phase:A"), {"phase": "A"}, {"initiative:i", "phase:A"}),
        (("initiative:i", "Phase:A", "PHASE: A"), {"phase": "B"}, {"initiative:i", "phase:B"}),
        (("initiative:i", "Phase:A"), {"phase": None}, {"initiative:i"}),
        (("Initiative:i", "initiative: i"), {"phase": "A"}, {"initiative: i", "phase:A"}),
        (
            ("initiative:i", "phase:A", "Phase:B"),
            {"milestone": "M"},
            {"initiative:i", "phase:B", "milestone:M"},
        ),
    ],
)
def test_an_update_writes_keys_in_lower_case_and_keeps_every_value(
    before: tuple[str, ...], changes: dict[str, str | None], after: set[str]
) -> None:
    entity = make(*before)
    expected = {**read_entity(entity).fields, **changes}
    assert {*apply(entity, changes).observations} == after
    assert read_entity(apply(entity, changes)).fields == {
        key: text for key, text in expected.items() if text
    }
    for calls in (1, 2):  # killed in between
        assert (
            read_entity(apply(entity, changes, calls)).fields.keys()
            >= read_entity(entity).fields.keys()
        )


def test_addresses_and_sentences_are_no_fields() -> None:
    assert [parse(text).key for text in ("http://x", "a note: b", "plain", ":x", "9a:b")] == [
        ""
    ] * 5


def test_values_are_grouped_in_their_order_and_only_once() -> None:
    assert group(["a:1", "b:2", "a: 1", "a:3"]) == {"a": ["1", "3"], "b": ["2"]}


def test_known_fields_come_first() -> None:
    assert write_all({"zebra": "z", "phase": "p", "initiative": "i"}) == [
        "initiative:i",
        "phase:p",
        "zebra:z",
    ]


def test_a_comma_in_a_path_is_no_separator() -> None:
    assert join_files(["a,b", "c%d", "e"]) == "a%2Cb,c%25d,e"
