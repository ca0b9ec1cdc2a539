"""Harm of a merge undone in later versions, on texts; and the law that lines are silent only where
they are right.
"""

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given

from checkpoint_git.git.merges.merges import Ancestor, Versions
from checkpoint_git.tools.merges.audited_file import (
    AuditedFile,
    Hit,
    find_hits,
    key_of,
)
from checkpoint_git.tools.merges.judge import MergeJudge
from checkpoint_git.tools.merges.lasting import find_lasting
from checkpoint_git.tools.merges.repair import CONTRADICTED, TOUCHED, Repaired, remake, repair
from checkpoint_git.tools.merges.walk import EntryVersions
from checkpoint_git.tools.merges.wording import Parents
from tests.merge.operations import Operation, Value, apply_operations, histories, start, text_of
from tests.merge.schemas import skill_schema
from tests.support.examples import examples
from tests.support.merging import merge_texts

SCHEMA = skill_schema()


def data_of(value: Value) -> bytes:
    return text_of(value).encode()


def everything(_: EntryVersions) -> bool:
    return True


def mend(
    base: Value, first: Value, second: Value, result: Value, later: Value | None = None
) -> Repaired:
    now = data_of(result if later is None else later)
    return repair(judge_of(base, first, second), data_of(result), now, everything)


def judge_of(base: Value, first: Value, second: Value) -> MergeJudge:
    return MergeJudge(data_of(base), data_of(first), data_of(second), SCHEMA)


def changed(**paths: Any) -> Value:
    """The start with fields of skill_state replaced."""
    value = start()
    value["skill_state"].update(paths)
    return value


def judged(base: Value, first: Value, second: Value, result: str) -> AuditedFile:
    versions = (text_of(version).encode() for version in (base, first, second))
    old, left, right = versions
    file = Versions(
        ".checkpoints/build.checkpoint.json",
        "",
        (Ancestor(old, ()),),
        left,
        right,
        result.encode(),
        (1, 2),
    )
    return AuditedFile(file, SCHEMA)


# single places


def test_an_item_goes_back_behind_the_one_it_followed() -> None:
    second = start()
    second["next_actions"].insert(2, "between")
    repaired = mend(start(), changed(iteration=1), second, changed(iteration=1))
    assert json.loads(repaired.data)["next_actions"] == second["next_actions"]
    assert json.loads(repaired.data)["skill_state"]["iteration"] == 1


def test_a_field_that_was_lost_gets_the_changed_value() -> None:
    second = start()
    second["updated_at"] = "2026-05-01T00:00:00Z"
    first = start()
    first["updated_at"] = "2026-04-01T00:00:00Z"
    assert json.loads(mend(start(), first, second, first).data) == second


def test_costs_are_added_up_again_and_what_was_spent_since_stays() -> None:
    first, second, later = start(), start(), start()
    first["cost"]["total_usd"], second["cost"]["total_usd"] = 1.75, 2.25
    later["cost"]["total_usd"] = 3.25
    repaired = mend(start(), first, second, second, later)
    assert json.loads(repaired.data)["cost"]["total_usd"] == 3.75
    assert repaired.refused == ()


def test_the_record_of_one_run_is_restored_as_a_whole() -> None:
    first = changed(
        last_run={"at": "2026-04-01T00:00:00Z", "verdict": "FAIL", "notes": "the first's"}
    )
    second = changed(
        last_run={"at": "2026-04-02T00:00:00Z", "verdict": "PASS", "notes": "the second's"}
    )
    blend = changed(
        last_run={"at": "2026-04-02T00:00:00Z", "verdict": "FAIL", "notes": "the first's"}
    )
    assert (
        json.loads(mend(start(), first, second, blend).data)["skill_state"]["last_run"]
        == (second["skill_state"]["last_run"])
    )


def test_what_a_person_wrote_in_the_merge_stays() -> None:
    second = start()
    second["context_primer"]["key_decisions"].append("decision 9")
    result = start()
    result["progress_summary"] = "Written in the merge."
    repaired = json.loads(mend(start(), changed(iteration=1), second, result).data)
    assert repaired["progress_summary"] == "Written in the merge."
    assert repaired["context_primer"]["key_decisions"][-1] == "decision 9"


def test_a_place_that_changed_since_keeps_what_it_holds() -> None:
    first, second, result, later = start(), start(), start(), start()
    first["progress_table"][1]["label"] = "by the first"
    later["progress_table"][1]["label"] = "written since"
    repaired = mend(start(), first, second, result, later)
    assert json.loads(repaired.data) == later
    assert [(where, why) for where, why in repaired.refused] == [
        ("/progress_table/1/label", TOUCHED)
    ]


def test_what_both_sides_contradict_each_other_on_is_refused() -> None:
    first, second, result = start(), start(), start()
    first["status"], first["progress_summary"] = "complete", "Done."
    second["status"], second["progress_summary"] = "blocked", "Stuck."
    result["status"], result["progress_summary"] = "complete", "Stuck."
    repaired = mend(start(), first, second, result)
    assert json.loads(repaired.data) == result
    assert [why for _, why in repaired.refused] == [CONTRADICTED]


def test_only_wanted_entries_are_mended() -> None:
    second = start()
    second["next_actions"].append("one")
    second["blockers"].append({"id": "b9", "description": "two"})
    now, judge = data_of(start()), judge_of(start(), start(), second)
    repaired = repair(judge, now, now, lambda entry: entry.name.startswith("blockers"))
    value = json.loads(repaired.data)
    assert (value["next_actions"], value["blockers"]) == (
        start()["next_actions"],
        second["blockers"],
    )


def test_a_result_that_is_no_json_is_made_anew_where_nothing_contradicts() -> None:
    second = start()
    second["next_actions"].append("one")
    made = json.loads(remake(judge_of(start(), changed(iteration=1), second)) or b"")
    assert (made["skill_state"]["iteration"], made["next_actions"][-1]) == (1, "one")
    first = start()
    first["step"], second["step"] = "a", "b"
    assert remake(judge_of(start(), first, second)) is None


def test_bytes_that_nobody_touched_stay() -> None:
    second = start()
    second["next_actions"].append("one")
    odd, added = (
        text_of(value).replace("1.25", "1.250").replace('"count": 3', '"count"  :  3').encode()
        for value in (start(), second)
    )
    repaired = repair(MergeJudge(odd, odd, added, SCHEMA), odd, odd, everything)
    assert b'"total_usd": 1.250' in repaired.data
    assert b'"count"  :  3' in repaired.data
    assert b'"one"' in repaired.data


# laws


def merge_by_lines(folder: Path, base: str, first: str, second: str) -> str | None:
    """What lines make of three texts; None where they stop."""
    for name, text in (("first", first), ("base", base), ("second", second)):
        (folder / name).write_text(text)
    words = ["git", "merge-file", "-p", "-q", "first", "base", "second"]
    done = subprocess.run(words, cwd=folder, capture_output=True)
    return None if done.returncode else done.stdout.decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines")


MOST_DONE = 10  # entries of recently_done

few = examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(shared=histories("s"), ours=histories("o"), theirs=histories("t"))
@few
def test_lines_are_silent_exactly_where_they_do_what_the_rules_do(
    folder: Path, shared: list[Operation], ours: list[Operation], theirs: list[Operation]
) -> None:
    base = start()
    first = apply_operations(base, [*shared[:2], *ours[:2]])
    second = apply_operations(base, [*theirs[:2], *shared[:2]])
    result = merge_by_lines(folder, text_of(base), text_of(first), text_of(second))
    if result is None:
        return
    file = judged(base, first, second, result)
    file.how = "lines"
    hits = find_hits(file, Parents(1, 2))
    right = merge_texts(text_of(base), text_of(first), text_of(second), SCHEMA)
    is_right = (
        not right.conflicts and file.is_readable and json.loads(result) == json.loads(right.text)
    )
    assert bool(hits) != is_right
    ours_is = file.found.ours
    for place in () if ours_is is None else ours_is.differences or ours_is.conflicts:
        assert any(is_related(hit, place) for hit in hits)


def is_related(hit: Hit, place: str) -> bool:
    return f"{hit.where}/".startswith(f"{place}/") or f"{place}/".startswith(f"{hit.where}/")


@given(ours=histories("o"), theirs=histories("t"), later=histories("l"))
@few
def test_a_side_taken_whole_is_mended_and_what_came_later_stays(
    ours: list[Operation], theirs: list[Operation], later: list[Operation]
) -> None:
    base = start()
    first, second = apply_operations(base, ours), apply_operations(base, theirs)
    now = apply_operations(first, later[:3])
    file = judged(base, first, second, text_of(first))
    file.hits = find_hits(file, Parents(1, 2))

    def mend_left(data: bytes) -> bytes:
        """What an audit does: it mends the harm that still stands."""
        hits = find_lasting(file, data, Parents(1, 2), lambda: ())
        keys = {key_of(hit.entry) for hit in hits if hit.entry}
        return repair(file.judge, data_of(first), data, lambda entry: key_of(entry) in keys).data

    repaired = mend_left(data_of(now))
    assert bool(file.found.damage) or repaired == data_of(now)
    assert mend_left(repaired) == repaired, "a second repair finds nothing to do"
    before, after = scalars(now), scalars(json.loads(repaired))
    changing = scalars(base) | {json.dumps(value) for value in replaced(now)}
    kept = [str(entry["at"]) for entry in json.loads(repaired)["recently_done"]]
    cut = [
        entry
        for entry in now["recently_done"]
        if len(kept) >= MOST_DONE and entry["at"] <= min(kept)
    ]
    assert before - after <= changing | scalars(cut)


def test_what_a_full_list_loses_to_a_repair_is_not_newer_than_what_it_keeps() -> None:
    base = start()
    second = apply_operations(base, [Operation("record", 4, "t00")])
    now = apply_operations(base, [Operation("record", 8, "l00")])
    repaired = repair(judge_of(base, base, second), data_of(base), data_of(now), everything)
    done = json.loads(repaired.data)["recently_done"]
    assert len(done) == MOST_DONE
    gone = [entry["at"] for entry in now["recently_done"] if entry not in done]
    assert max(gone) < min(entry["at"] for entry in done)


def scalars(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {leaf for child in value.values() for leaf in scalars(child)}
    if isinstance(value, list):
        return {leaf for child in value for leaf in scalars(child)}
    return {json.dumps(value)}


def replaced(value: Value) -> list[Any]:
    """What rules replace or add up: instants, the latest run, costs; and an action done, which
    leaves its list.
    """
    state = copy.deepcopy(value["skill_state"])
    run = state["last_run"]
    return [value["updated_at"], *run.values(), *state["streak"].values(), *value["cost"]["by_phase"].values(),
            value["cost"]["total_usd"]]  # fmt: skip
