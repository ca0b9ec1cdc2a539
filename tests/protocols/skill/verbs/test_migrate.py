"""checkpoint migrate: the telemetry goes into files of its own and comes back, and every verb reads both as one."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoint_git.core import jsonedit
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import find_place
from checkpoint_git.protocols.skill.verbs import done, migrate, refs, reset, resume, rotate, show, update
from checkpoint_git.protocols.skill.verbs import list as list_verb
from checkpoint_git.protocols.skill.verbs import next as next_verb
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.status import verb as status
from checkpoint_git.tools.validate import verb as validate
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint, checkpoint_text
from tests.support.verbs import NOON, run_verb, seconds

PRS = [{"number": number, "title": f"change {number}"} for number in range(3)]
RUNS = [{"at": f"2026-03-01T0{hour}:00:00Z", "cost": 1.50} for hour in range(8)]
STATE: dict[str, Any] = {"merged_prs": PRS, "mode": "x", "run_history": RUNS}


@pytest.fixture
def full(build: Path) -> Path:
    """The sample with telemetry."""
    build.write_text(checkpoint_text(skill_state=STATE, cost={"total_usd": 2.50}, protocol_version="1.1"), "utf-8")
    return build


@pytest.fixture
def sharded(full: Path, project: Path) -> Path:
    """The same in the sharded layout."""
    run_verb(migrate, "--layout", "sharded", cwd=project)
    return full


def read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return value


def events(project: Path, skill: str = "build") -> "dict[str, bytes]":
    return {path.name: path.read_bytes() for path in sorted((project / ".checkpoints/history" / skill).glob("*"))}


def shown(project: Path) -> dict[str, Any]:
    value: dict[str, Any] = run_verb(show, "build", cwd=project).outcome.data["checkpoints"]["build"]
    return value


def test_the_checkpoint_keeps_empty_lists_and_every_entry_is_a_file(sharded: Path, project: Path) -> None:
    assert read(sharded)["layout"] == "sharded"
    assert read(sharded)["skill_state"] == {"merged_prs": [], "mode": "x", "run_history": []}
    assert len(events(project)) == len(PRS) + len(RUNS)


def test_there_and_back_is_byte_for_byte_the_same(full: Path, project: Path) -> None:
    before = full.read_bytes()
    run_verb(migrate, "--layout", "sharded", cwd=project)
    assert full.read_bytes() != before
    run_verb(migrate, "--layout", "single", cwd=project)
    assert full.read_bytes() == before
    assert not (project / ".checkpoints/history/build").exists()


@pytest.mark.parametrize("layout", ["sharded", "single"])
def test_a_second_run_changes_nothing(full: Path, project: Path, layout: str) -> None:
    run_verb(migrate, "--layout", layout, cwd=project)
    before = (full.read_bytes(), events(project))
    ran = run_verb(migrate, "--layout", layout, cwd=project)
    assert ran.text == f"nothing to do: the layout is {layout} already"
    assert ran.outcome.data["unchanged"] == ["build"]
    assert (full.read_bytes(), events(project)) == before


def test_a_dry_run_says_it_and_changes_nothing(full: Path, project: Path) -> None:
    before = full.read_bytes()
    ran = run_verb(migrate, "--layout", "sharded", "--dry-run", cwd=project)
    assert "build: would be sharded (git does not track it yet)" in ran.text
    assert "11 files written to .checkpoints/history/build" in ran.text
    assert full.read_bytes() == before
    assert events(project) == {}
    real = run_verb(migrate, "--layout", "sharded", cwd=project).outcome.data["migrated"]
    assert real == ran.outcome.data["migrated"]


def test_it_says_what_git_does_not_have(full: Path, project: Path) -> None:
    repo = GitRepo(project)
    repo.commit()
    clean = run_verb(migrate, "--layout", "sharded", cwd=project)
    assert clean.outcome.data["migrated"][0]["was"] == "committed"
    assert "git add -A .checkpoints" in clean.text
    changed = run_verb(migrate, "--layout", "single", cwd=project)
    assert "it had changes that were not committed" in changed.text


@pytest.mark.parametrize("verb", [status, next_verb, list_verb, refs, doctor])
def test_the_verbs_that_read_say_the_same_of_both_layouts(full: Path, project: Path, verb: Any) -> None:
    before = run_verb(verb, cwd=project)
    run_verb(migrate, "--layout", "sharded", cwd=project)
    after = run_verb(verb, cwd=project)
    assert after.text == before.text
    assert after.codes == before.codes
    assert after.outcome.data == before.outcome.data


def test_show_and_resume_say_the_same_of_both_layouts(full: Path, project: Path) -> None:
    before, told = shown(project), run_verb(resume, "build", cwd=project).text
    run_verb(migrate, "--layout", "sharded", cwd=project)
    assert shown(project) == {**before, "layout": "sharded"}
    assert run_verb(resume, "build", cwd=project).text == told


def test_an_append_writes_one_file_and_leaves_the_checkpoint_alone(sharded: Path, project: Path) -> None:
    before, files = sharded.read_bytes(), events(project)
    ran = run_verb(update, "build", '--skill_state.merged_prs+:json={"number": 7}', cwd=project)
    assert ran.outcome.code == 0
    (new,) = events(project).keys() - files.keys()
    assert new.endswith(".event.json")
    assert "-20260302120000-" in new
    assert sharded.read_bytes() == before
    assert shown(project)["skill_state"]["merged_prs"] == [*PRS, {"number": 7}]
    assert shown(project)["updated_at"] == "2026-03-02T12:00:00Z"


def test_what_a_run_costs_is_one_file_too(sharded: Path, project: Path) -> None:
    before = sharded.read_bytes()
    words = ("--cost.total_usd:json=2.75", "--skill_state.run_history+:json={}")
    run_verb(update, "build", *words, cwd=project)
    assert sharded.read_bytes() == before
    assert '"total_usd": 2.75' in json.dumps(shown(project)["cost"])
    run_verb(migrate, "--layout", "single", cwd=project)
    assert '"total_usd": 2.75' in sharded.read_text("utf-8")
    assert events(project) == {}


def test_done_changes_the_plan_and_no_event(sharded: Path, project: Path) -> None:
    files = events(project)
    run_verb(done, "build", cwd=project)
    assert len(read(sharded)["next_actions"]) == 1
    assert events(project) == files
    assert read(sharded)["skill_state"]["merged_prs"] == []


def test_rotate_moves_closed_entries_out_of_the_folder(sharded: Path, project: Path) -> None:
    run_verb(rotate, "build", cwd=project)
    assert len(events(project)) == 5
    assert shown(project)["skill_state"] == {"merged_prs": [], "mode": "x", "run_history": RUNS[3:]}
    (past,) = (project / ".checkpoints/history").glob("build.*.json")
    assert {part["where"]: part["items"] for part in read(past)["entries"]} == {
        "/skill_state/merged_prs": PRS,
        "/skill_state/run_history": RUNS[:3],
    }
    assert run_verb(rotate, "build", cwd=project).text == "nothing to rotate"
    assert shown(project)["updated_at"] == "2026-03-02T09:30:00Z"


def test_reset_archives_all_of_it_and_a_new_checkpoint_starts_empty(sharded: Path, project: Path) -> None:
    run_verb(reset, "build", cwd=project)
    (past,) = (project / ".checkpoints/history").glob("build.*.json")
    assert read(past)["skill_state"] == STATE
    assert events(project) == {}
    run_verb(update, "build", "--phase=again", cwd=project)
    assert "merged_prs" not in shown(project).get("skill_state", {})


def test_validate_counts_the_entries_and_finds_the_sharded_layout_sound(sharded: Path, project: Path) -> None:
    ran = run_verb(validate, "--strict", cwd=project)
    assert (ran.outcome.code, ran.codes) == (0, [])
    assert ran.outcome.data["history_entries"] == 11
    repo = GitRepo(project)
    repo.git("add", "-A")
    staged = run_verb(validate, "--strict", "--staged", cwd=project)
    assert (staged.outcome.code, staged.outcome.data["history_entries"]) == (0, 11)
    repo.commit()
    assert run_verb(validate, "--strict", "--rev", "HEAD", cwd=project).outcome.data["history_entries"] == 11
    assert run_verb(validate, "--strict", ".", cwd=project).outcome.data["history_entries"] == 11
    one = next_event(project)
    assert run_verb(validate, "--strict", str(one), cwd=project).outcome.code == 0


def next_event(project: Path) -> Path:
    return min((project / ".checkpoints/history/build").glob("*"))


def test_a_sharded_checkpoint_is_as_big_as_its_own_file(full: Path, project: Path) -> None:
    full.write_text(checkpoint_text(skill_state={"merged_prs": [{"number": n, "t": "x" * 99} for n in range(300)]}))
    assert "skill/file-too-big" in run_verb(validate, cwd=project).codes
    run_verb(migrate, "--layout", "sharded", cwd=project)
    assert run_verb(validate, "--strict", cwd=project).codes == []
    assert "skill/file-too-big" not in run_verb(doctor, cwd=project).codes
    full.write_text(json.dumps({**read(full), "progress_table": [{"id": "x" * 40_000, "label": "l", "status": "x"}]}))
    assert "skill/file-too-big" in run_verb(doctor, cwd=project).codes


# what another branch or another tool left


@pytest.mark.parametrize("verb", [validate, doctor])
def test_entries_in_the_file_of_a_sharded_checkpoint_are_told_and_mended(
    sharded: Path, project: Path, verb: Any
) -> None:
    value = read(sharded)
    value["skill_state"]["merged_prs"] = [{"number": 9}]
    sharded.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
    assert "layout/leftover" in run_verb(verb, cwd=project).codes
    assert shown(project)["skill_state"]["merged_prs"] == [*PRS, {"number": 9}]
    ran = run_verb(migrate, "--layout", "sharded", cwd=project)
    assert ran.outcome.data["migrated"][0]["moved"] == {"/skill_state/merged_prs": 1}
    assert "layout/leftover" not in run_verb(verb, cwd=project).codes
    assert shown(project)["skill_state"]["merged_prs"] == [*PRS, {"number": 9}]


@pytest.mark.parametrize("verb", [validate, doctor])
def test_events_of_a_single_checkpoint_are_told_and_mended(sharded: Path, project: Path, verb: Any) -> None:
    value = read(sharded)
    del value["layout"]
    sharded.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
    assert "layout/orphans" in run_verb(verb, cwd=project).codes
    assert shown(project)["skill_state"]["merged_prs"] == PRS
    run_verb(migrate, "--layout", "single", cwd=project)
    assert read(sharded)["skill_state"] == STATE
    assert "layout/orphans" not in run_verb(verb, cwd=project).codes


def test_events_without_a_checkpoint_are_told(sharded: Path, project: Path) -> None:
    (project / ".checkpoints/other.checkpoint.json").write_text(checkpoint_text(skill="other"), "utf-8")
    sharded.unlink()
    for words in ((), ("--staged",)):
        GitRepo(project).git("add", "-A")
        assert run_verb(validate, *words, cwd=project).codes == ["layout/orphans"]


def test_any_write_takes_in_what_was_left(sharded: Path, project: Path) -> None:
    value = read(sharded)
    value["skill_state"]["merged_prs"] = [{"number": 9}]
    sharded.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
    run_verb(update, "build", "--step=s2", cwd=project)
    assert read(sharded)["skill_state"]["merged_prs"] == []
    assert shown(project)["skill_state"]["merged_prs"] == [*PRS, {"number": 9}]


def test_an_entry_that_two_branches_edited_is_told(sharded: Path, project: Path) -> None:
    before = events(project)
    run_verb(update, "build", "--skill_state.merged_prs.0.title=ours", cwd=project)
    ours = events(project)
    assert len(ours) == len(before)
    for name in before.keys() - ours.keys():
        (project / ".checkpoints/history/build" / name).write_bytes(before[name])
    assert run_verb(validate, cwd=project).codes == ["layout/entry-twice"]
    assert len(shown(project)["skill_state"]["merged_prs"]) == 4


# what it refuses


def test_a_broken_event_is_told_stays_and_keeps_the_checkpoint_sharded(sharded: Path, project: Path) -> None:
    broken = next_event(project)
    broken.write_text("{", "utf-8")
    assert run_verb(validate, cwd=project).codes == ["layout/broken-event"]
    assert "layout/broken-event" in run_verb(doctor, cwd=project).codes
    ran = run_verb(migrate, "--layout", "single", cwd=project)
    assert (ran.outcome.code, ran.codes) == (1, ["layout/broken-event"])
    assert read(sharded)["layout"] == "sharded"
    run_verb(update, "build", "--skill_state.merged_prs+=x", cwd=project)
    assert broken.read_text("utf-8") == "{"
    assert len(shown(project)["skill_state"]["merged_prs"]) + len(shown(project)["skill_state"]["run_history"]) == 11


def test_an_event_that_was_edited_by_hand_is_told(sharded: Path, project: Path) -> None:
    folder = project / ".checkpoints/history/build"
    (event,) = (path for path in folder.iterdir() if "change 0" in path.read_text("utf-8"))
    event.write_text(event.read_text("utf-8").replace("change 0", "change 9"), "utf-8")
    GitRepo(project).git("add", "-A")
    for words in ((), ("--staged",), (str(event),)):
        ran = run_verb(validate, *words, cwd=project)
        assert [(finding.code, finding.path) for finding in ran.outcome.findings] == [
            ("layout/broken-event", f".checkpoints/history/build/{event.name}")
        ]


def test_a_field_of_that_name_with_another_meaning_is_left_alone(build: Path, project: Path) -> None:
    build.write_text(checkpoint_text(layout={"columns": 2}), "utf-8")
    before = build.read_bytes()
    ran = run_verb(migrate, "--layout", "sharded", cwd=project)
    assert (ran.outcome.code, ran.codes) == (1, ["layout/field-taken"])
    assert build.read_bytes() == before
    assert run_verb(validate, "--strict", cwd=project).outcome.code == 0


def test_an_entry_too_large_for_a_file_keeps_the_checkpoint_single(build: Path, project: Path) -> None:
    build.write_text(checkpoint_text(skill_state={"merged_prs": ["x" * 300_000]}), "utf-8")
    before = build.read_bytes()
    with pytest.raises(CheckpointError, match="too large"):
        run_verb(migrate, "--layout", "sharded", cwd=project)
    assert build.read_bytes() == before
    assert events(project) == {}


def test_another_skills_checkpoint_is_not_migrated(full: Path, project: Path) -> None:
    with pytest.raises(CheckpointError, match="another skill"):
        run_verb(migrate, "--layout", "sharded", "build", cwd=project, env={"CHECKPOINT_SKILL": "other"})


def test_a_broken_checkpoint_is_told_and_left_alone(build: Path, project: Path) -> None:
    build.write_text("{", "utf-8")
    ran = run_verb(migrate, "--layout", "sharded", cwd=project)
    assert (ran.outcome.code, ran.codes) == (1, ["json/syntax"])
    assert build.read_text("utf-8") == "{"


def test_a_folder_that_leads_elsewhere_is_told_and_never_written(full: Path, project: Path, tmp_path: Path) -> None:
    (project / ".checkpoints/history").mkdir()
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", project / ".checkpoints/history/build")
    assert run_verb(validate, cwd=project).codes == ["layout/not-a-folder"]
    before = full.read_bytes()
    with pytest.raises(CheckpointError, match="folder"):
        run_verb(migrate, "--layout", "sharded", cwd=project)
    assert full.read_bytes() == before
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_new_checkpoint_can_be_sharded_from_the_start(project: Path) -> None:
    run_verb(update, "new", "--layout=sharded", "--skill_state.run_history+:json={}", cwd=project)
    assert len(events(project, "new")) == 1
    assert "skill_state" not in read(project / ".checkpoints/new.checkpoint.json")


# killed at any instant


def run_killed(step: int, action: Callable[[], object]) -> bool:
    """Acts in a process of its own that is killed at its n-th touch of the file system; whether it got that far."""
    child = os.fork()
    if child == 0:
        seen = 0

        def count(event: str, arguments: "tuple[Any, ...]") -> None:
            nonlocal seen
            if event in ("open", "os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir"):
                seen += 1
                if seen == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            action()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize("layout", ["sharded", "single"])
def test_a_migration_that_is_killed_at_any_instant_loses_nothing_and_the_next_one_completes_it(
    build: Path, project: Path, layout: str
) -> None:
    state = {"merged_prs": PRS[:2], "run_history": []}
    text = checkpoint_text(skill_state=state, cost={"total_usd": 2.50}, protocol_version="1.1")
    spent = "--cost.total_usd:json=2.75"
    for step in range(1, 500):
        shutil.rmtree(project / ".checkpoints/history", ignore_errors=True)
        build.write_text(text, "utf-8")
        if layout == "single":
            run_verb(migrate, "--layout", "sharded", cwd=project)
            run_verb(update, "build", spent, cwd=project)
        was_killed = run_killed(step, lambda: migrate.migrate(find_place(str(project)), "build", layout))
        found = shown(project)
        assert (found["skill_state"], found["cost"]["total_usd"]) == (state, 2.75 if layout == "single" else 2.5)
        run_verb(migrate, "--layout", layout, cwd=project)
        found = shown(project)
        assert (found["skill_state"], found["cost"]["total_usd"]) == (state, 2.75 if layout == "single" else 2.5)
        assert run_verb(validate, "--strict", cwd=project).codes == []
        assert len(events(project)) == (2 if layout == "sharded" else 0)
        if not was_killed:
            break
    assert 10 < step < 400


def test_a_rotation_that_is_killed_at_any_instant_loses_nothing_and_the_next_one_completes_it(
    build: Path, project: Path
) -> None:
    for step in range(1, 500):
        shutil.rmtree(project / ".checkpoints/history", ignore_errors=True)
        build.write_text(checkpoint_text(skill_state={"merged_prs": PRS[:2], "run_history": RUNS[:1]}), "utf-8")
        run_verb(migrate, "--layout", "sharded", cwd=project)
        was_killed = run_killed(step, lambda: rotate.rotate(find_place(str(project)), "build", seconds(NOON)))
        assert find_entries(project) == {json.dumps(entry) for entry in [*PRS[:2], RUNS[0]]}
        run_verb(rotate, "build", cwd=project)
        assert find_entries(project) == {json.dumps(entry) for entry in [*PRS[:2], RUNS[0]]}
        assert shown(project)["skill_state"] == {"merged_prs": [], "run_history": RUNS[:1]}
        if not was_killed:
            break
    assert 10 < step < 400


def find_entries(project: Path) -> set[str]:
    """Every entry that the checkpoint and its history files hold."""
    past = [read(path)["entries"] for path in (project / ".checkpoints/history").glob("build.*.json")]
    moved = [item for entries in past for part in entries for item in part["items"]]
    state = shown(project)["skill_state"]
    return {json.dumps(entry) for entry in [*state["merged_prs"], *state["run_history"], *moved]}


def test_processes_that_append_at_once_all_are_heard(sharded: Path, project: Path) -> None:
    children = []
    for writer in range(4):
        children.append(os.fork())
        if children[-1] == 0:
            try:
                for turn in range(5):
                    words = f'--skill_state.merged_prs+:json={{"number": {100 + 10 * writer + turn}}}'
                    run_verb(update, "build", words, "--cost.total_usd:json=3", cwd=project)
            finally:
                os._exit(0)
    for child in children:
        os.waitpid(child, 0)
    numbers = [entry["number"] for entry in shown(project)["skill_state"]["merged_prs"]]
    assert sorted(numbers[3:]) == [100 + 10 * writer + turn for writer in range(4) for turn in range(5)]
    assert shown(project)["cost"]["total_usd"] == 3


def test_whoever_reads_while_it_is_moved_there_and_back_sees_every_entry(full: Path, project: Path) -> None:
    child = os.fork()
    if child == 0:
        try:
            for _ in range(12):
                migrate.migrate(find_place(str(project)), "build", "sharded")
                migrate.migrate(find_place(str(project)), "build", "single")
        finally:
            os._exit(0)
    seen = 0
    while os.waitpid(child, os.WNOHANG)[0] == 0:
        assert shown(project)["skill_state"] == STATE
        seen += 1
    assert seen > 10


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    state=st.dictionaries(
        st.sampled_from(["merged_prs", "merged_prs_old", "run_history", "reconciliation_a/b~c", "mode", "bypasses"]),
        st.lists(
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers()
                | st.floats(allow_nan=False, allow_infinity=False)
                | st.text(),
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
                max_leaves=6,
            ),
            max_size=5,
        ),
    )
)
def test_any_telemetry_comes_back_byte_for_byte(project: Path, build: Path, state: dict[str, Any]) -> None:
    shutil.rmtree(project / ".checkpoints/history", ignore_errors=True)
    before = jsonedit.render(checkpoint(skill_state=state)).encode()
    build.write_bytes(before)
    place = find_place(str(project))
    assert migrate.migrate(place, "build", "sharded").findings == []
    assert not any(entries for key, entries in read(build)["skill_state"].items() if key not in ("mode", "bypasses"))
    migrate.migrate(place, "build", "single")
    assert build.read_bytes() == before
