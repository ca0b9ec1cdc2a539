"""Merges that servers make by lines, in real git: what is planted is told and put back; healthy
twins give nothing.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.merges.merges import UNSHALLOW
from checkpoint_git.tools.merges import audit
from checkpoint_git.tools.merges import ci as ci
from tests.merge.schemas import skill_schema
from tests.scenarios.driven import drive
from tests.support.command import run_here
from tests.support.merging import merge_texts
from tests.support.repos import NEEDS_MERGE_TREE, GitRepo
from tests.support.served import PATH, Change, Server, Value, changed, run, start, text_of
from tests.support.verbs import NOON, Ran, run_verb

pytestmark = NEEDS_MERGE_TREE

ROW = {"id": "row-new", "label": "Found on the way", "status": "not_started"}


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path / "server")


def verify(server: Server, *words: str) -> Ran:
    return run_verb(ci, "verify", *words, cwd=server.repo.path, now=NOON, env=dict(os.environ))


def look(server: Server, *words: str) -> Ran:
    return run_verb(audit, *words, cwd=server.repo.path, now=NOON, env=dict(os.environ))


def told(ran: Ran) -> list[tuple[str, str, str]]:
    return [(finding.code, finding.level, finding.where) for finding in ran.outcome.findings]


def held(server: Server) -> Value:
    value: Value = json.loads(server.repo.read(PATH))
    return value


# changes that sides make


def put_row(at: int, **fields: Any) -> Change:
    return lambda value: value["progress_table"].insert(at, {**ROW, **fields})


def set_row(at: int, **fields: Any) -> Change:
    return lambda value: value["progress_table"][at].update(fields)


def set_field(**fields: Any) -> Change:
    return lambda value: value.update(fields)


def put_field(name: str, value_of: Any, at: int) -> Change:
    """A new key of the document at a place among the others."""

    def change(value: Value) -> None:
        rest = list(value.items())[at:]
        for key, _ in rest:
            del value[key]
        value[name] = value_of
        value.update(rest)

    return change


def put_action(at: int, text: str) -> Change:
    return lambda value: value["next_actions"].insert(at, text)


def move_action(old: int, new: int) -> Change:
    return lambda value: value["next_actions"].insert(new, value["next_actions"].pop(old))


def drop_action(at: int) -> Change:
    return lambda value: value["next_actions"].pop(at)


def log_run(day: int, **fields: Any) -> Change:
    return lambda value: value["skill_state"]["run_history"].append({**run(day), **fields})


def log_request(number: int) -> Change:
    return lambda value: value["skill_state"]["merged_prs"].append(
        {"number": number, "title": f"Change {number}"}
    )


class Plant(NamedTuple):
    """Two sides whose merge by lines is clean and wrong.

    found: (code, where it points) of what is told. mended: whether a repair brings about what is
    right; else a person has to choose.
    """

    main: Change
    branch: Change
    found: list[tuple[str, str]]
    mended: bool = True


PLANTS = {
    "a row that both sides added at different ends": Plant(
        put_row(0), put_row(6), [("merge/duplicated", "/progress_table/7")]
    ),
    "two rows under one id": Plant(
        put_row(0),
        put_row(6, label="Another thing"),
        [("merge/duplicated", "/progress_table/7"), ("merge/undecided", "/progress_table/0")],
        mended=False,
    ),
    "an action that both sides took up": Plant(
        put_action(0, "Ask Ada"),
        put_action(6, "Ask Ada"),
        [("merge/duplicated", "/next_actions/7")],
    ),
    "an action that both sides moved alike and elsewhere": Plant(
        move_action(2, 0), move_action(2, 5), [("merge/duplicated", "/next_actions/6")]
    ),
    "an action that one side moved and the other dropped": Plant(
        move_action(3, 0), drop_action(3), [("merge/differs", "/next_actions")]
    ),
    "a key that both sides added": Plant(
        put_field("extra", {"of": "both"}, 6),
        put_field("extra", {"of": "both"}, 12),
        [("merge/duplicate-key", "")],
    ),
    "a key that both sides added with two meanings": Plant(
        put_field("extra", {"of": "main"}, 6),
        put_field("extra", {"of": "branch"}, 12),
        [("merge/duplicate-key", "")],
        mended=False,
    ),
    "a run that both sides logged at different places": Plant(
        lambda value: value["skill_state"]["run_history"].insert(0, run(9)),
        log_run(9),
        [("merge/duplicated", "/skill_state/run_history/6")],
    ),
    "a pull request that both sides noted": Plant(
        lambda value: value["skill_state"]["merged_prs"].insert(
            0, {"number": 8, "title": "Change 8"}
        ),
        log_request(8),
        [("merge/duplicated", "/skill_state/merged_prs/4")],
    ),
}


def diverge(server: Server, pairs: Mapping[str, tuple[Change, Change]]) -> dict[str, str]:
    """A checkpoint for each pair, changed in one way on main and in the other on the branch topic:
    name -> path.
    """
    paths = {
        name: f".checkpoints/case-{number}.checkpoint.json" for number, name in enumerate(pairs)
    }
    for path in paths.values():
        server.put(start_of(path), path)
    server.repo.commit("the cases")
    server.repo.git("branch", "topic")
    for branch, side in (("topic", 1), ("main", 0)):
        server.repo.git("checkout", "-q", branch)
        for name, path in paths.items():
            server.put(changed(pairs[name][side], base=start_of(path)), path)
        server.repo.commit(branch)
    return paths


def start_of(path: str) -> Value:
    return changed(set_field(skill=Path(path).name.partition(".")[0]))


def told_where(ran: Ran) -> set[tuple[str, str, str, str]]:
    return {
        (finding.path, finding.code, finding.level, finding.where)
        for finding in ran.outcome.findings
    }


def test_what_lines_do_wrong_is_foreseen_told_and_put_back(server: Server) -> None:
    paths = diverge(server, {name: (plant.main, plant.branch) for name, plant in PLANTS.items()})
    expected = {
        (paths[name], code, "error", where)
        for name, plant in PLANTS.items()
        for code, where in plant.found
    }
    foreseen = verify(server, "--base", "main", "--head", "topic")
    assert (told_where(foreseen), foreseen.outcome.code) == (expected, 1)
    server.merge("topic")
    wrong = {name: server.repo.read(path) for name, path in paths.items()}
    for found in (verify(server, "--candidate", "HEAD"), look(server)):
        assert (told_where(found), found.outcome.code) == (expected, 1)

    fixed = look(server, "--fix")
    left = {paths[name] for name, plant in PLANTS.items() if not plant.mended}
    assert fixed.outcome.code == 1
    assert {
        finding.path for finding in fixed.outcome.findings if finding.code == "merge/not-repaired"
    } == left
    assert told_where(look(server)) == {one for one in expected if one[0] in left}
    assert server.repo.git("status", "--porcelain") == ""
    assert {*server.repo.git("diff", "--name-only", "HEAD^").splitlines()} == {
        *paths.values()
    } - left
    for name, plant in PLANTS.items():
        first = start_of(paths[name])
        if plant.mended:
            main, branch = changed(plant.main, base=first), changed(plant.branch, base=first)
            right = merge_texts(text_of(first), text_of(main), text_of(branch), skill_schema())
            assert right.conflicts or json.loads(server.repo.read(paths[name])) == json.loads(
                right.text
            ), name
        else:
            assert server.repo.read(paths[name]) == wrong[name]


# healthy twins: beside every plant something that looks like it

TWINS: dict[str, tuple[Change, Change]] = {
    "two rows at different ends": (put_row(0), put_row(6, id="row-other")),
    "two actions": (put_action(0, "Ask Ada"), put_action(6, "Ask Grace")),
    "one side moves an action": (move_action(2, 0), set_field(step="sprint-3")),
    "both sides drop the same action": (drop_action(3), drop_action(3)),
    "two keys": (put_field("extra", 1, 6), put_field("other", 2, 12)),
    "both add the same key in the same place": (put_field("extra", 1, 6), put_field("extra", 1, 6)),
    "a row done here, another there": (
        set_row(0, status="complete"),
        set_row(5, status="complete"),
    ),
    "both log the same run": (log_run(9), log_run(9)),
    "a run here, a request there": (log_run(9), log_request(8)),
    "step here, summary there": (
        set_field(step="sprint-3"),
        set_field(progress_summary="All chapters have a plan."),
    ),
    "the same new status": (set_field(status="complete"), set_field(status="complete")),
}


def test_what_lines_do_right_gives_nothing(server: Server) -> None:
    diverge(server, TWINS)
    foreseen = verify(server, "--base", "main", "--head", "topic")
    assert (told_where(foreseen), foreseen.outcome.code) == (set(), 0)
    server.merge("topic")
    assert told_where(verify(server, "--candidate", "HEAD")) == told_where(look(server)) == set()
    assert "there is nothing to repair" in look(server, "--fix").text


def test_where_lines_stop_it_is_said_what_the_rules_make_of_it(server: Server) -> None:
    server.branch("topic", changed(log_run(8)))
    server.commit(changed(log_run(9)))
    (found,) = verify(server, "--base", "main", "--head", "topic").outcome.findings
    assert (found.code, found.level, found.path) == ("merge/conflict", "error", PATH)
    assert "the merge rules make one document of both sides" in found.message
    assert "checkpoint ci merge" in str(found.hint)
    server.branch("other", changed(set_field(step="sprint-8")))
    server.commit(changed(log_run(9), set_field(step="sprint-9")))
    (found,) = verify(server, "--base", "main", "--head", "other").outcome.findings
    assert (found.where, "only /step would be left to decide" in found.message) == ("/step", True)


def test_two_valid_sides_that_become_an_invalid_checkpoint_are_told_before(server: Server) -> None:
    score = {
        "rubric": "r",
        "score": 4,
        "at": "2026-03-01T00:00:00Z",
        "notes": "one",
        "by": "Ada",
        "max": 10,
    }
    base = server.commit(changed(set_field(eval_scores=[score])))
    server.branch("topic", changed(set_field(eval_scores=[{**score, "max": 5}])), base)
    server.commit(changed(set_field(eval_scores=[{**score, "score": 8}])))
    ran = verify(server, "--base", "main", "--head", "topic")
    assert told(ran) == [("merge/undecided", "error", "/eval_scores/0")]


def test_attributes_and_drivers_of_the_clone_have_no_say(server: Server) -> None:
    drive(server.repo)
    server.branch("topic", changed(put_row(6)))
    server.commit(changed(put_row(0)))
    assert verify(server, "--base", "main", "--head", "topic").codes == ["merge/duplicated"]
    server.merge("topic")
    assert verify(server, "--candidate", "HEAD").codes == look(server).codes == []
    objects = server.repo.git("count-objects", "-v")
    verify(server, "--base", "main~1", "--head", "topic")
    assert server.repo.git("count-objects", "-v") == objects, "nothing is written"


# merges that somebody resolved


def contested(server: Server) -> None:
    """Both sides logged a run, which lines cannot merge; main renamed a row, too."""
    server.branch("topic", changed(log_run(8), put_row(6)))
    server.commit(changed(log_run(9), set_row(0, label="Renamed")))


def test_a_side_picked_whole_lost_what_the_other_wrote(server: Server) -> None:
    contested(server)
    server.merge("topic", "-X", "ours")
    found = look(server)
    assert told(found) == [("merge/lost-entry", "error", "/skill_state/run_history")]
    assert '"lost"' in json.dumps(found.outcome.data["counts"])
    (finding,) = found.outcome.findings
    assert finding.message.count("\n") == 0
    assert server.repo.read(PATH).split("\n")[finding.line - 1] == '    "run_history": ['
    assert told(look(server, "--fix")) == []
    assert held(server)["skill_state"]["run_history"][-2:] == [run(8), run(9)]
    assert held(server)["progress_table"][0]["label"] == "Renamed"


def test_a_lawful_resolution_by_hand_is_no_error(server: Server) -> None:
    contested(server)
    lawful = changed(log_run(8), log_run(9), put_row(6), set_row(0, label="Renamed"))
    server.merge_by_hand("topic", lawful)
    assert told(look(server)) == told(verify(server, "--candidate", "HEAD")) == []


def test_words_that_a_person_wrote_in_the_merge_are_no_error(server: Server) -> None:
    server.branch("topic", changed(set_field(progress_summary="Theirs is done.")))
    server.commit(changed(set_field(progress_summary="Ours is done.")))
    server.merge_by_hand(
        "topic", changed(set_field(progress_summary="Both are done.", step="sprint-7"))
    )
    assert told(look(server)) == []


def test_what_no_picking_of_sides_brings_about_seems_to_be_meant(server: Server) -> None:
    contested(server)
    lawful = changed(log_run(8), log_run(9), put_row(6), set_row(0, label="Renamed"))
    del lawful["progress_table"][3]
    server.merge_by_hand("topic", lawful)
    found = look(server)
    assert told(found) == [("merge/lost-entry", "note", "/progress_table")]
    assert found.outcome.code == 0
    assert "it seems to be meant" in found.outcome.findings[0].message
    assert "nothing to repair" in look(server, "--fix").text
    strict = look(server, "--strict", "--fix")
    assert (strict.outcome.code, len(held(server)["progress_table"])) == (0, 7)


def test_a_clean_merge_that_was_changed_on_purpose_is_a_note(server: Server) -> None:
    server.branch("topic", changed(put_row(6)))
    server.commit(changed(log_run(9)))
    server.merge_by_hand("topic", changed(log_run(9)))
    assert told(look(server)) == [("merge/lost-entry", "note", "/progress_table")]


def test_a_branch_that_was_given_up_is_a_note(server: Server) -> None:
    server.repo.git("checkout", "-q", "-b", "topic")
    server.put(changed(log_run(8)))
    server.repo.write("code.py", "print(2)\n")
    server.repo.commit("both")
    server.repo.git("checkout", "-q", "main")
    server.commit(changed(log_run(9)))
    server.merge("topic", "-s", "ours")
    assert [level for _, level, _ in told(look(server))] == ["note"]


def test_a_head_glued_together_is_left_to_a_person(server: Server) -> None:
    server.branch(
        "topic", changed(set_field(status="blocked", progress_summary="Blocked by the vendor."))
    )
    server.commit(changed(set_field(status="complete", progress_summary="All is done.")))
    server.merge_by_hand(
        "topic", changed(set_field(status="complete", progress_summary="Blocked by the vendor."))
    )
    assert told(look(server)) == [("merge/mixed-up", "error", "/status")]
    fixed = look(server, "--fix")
    assert fixed.codes == ["merge/mixed-up", "merge/not-repaired"]
    assert held(server)["status"] == "complete"


def test_markers_that_were_committed_are_mended_where_the_rules_can(server: Server) -> None:
    contested(server)
    server.repo.run("git", "merge", "-q", "topic")
    server.repo.commit("resolved, it seems")
    assert told(look(server)) == [("merge/not-json", "error", "")]
    assert told(look(server, "--fix")) == []
    assert len(held(server)["skill_state"]["run_history"]) == 7


# what came later


def lost(server: Server) -> None:
    contested(server)
    server.merge("topic", "-X", "ours")


def test_what_somebody_put_back_is_no_news(server: Server) -> None:
    lost(server)
    server.commit(changed(log_run(8), log_run(9), put_row(6), set_row(0, label="Renamed")))
    assert told(look(server)) == []


def test_a_repair_leaves_alone_what_came_since(server: Server) -> None:
    lost(server)
    value = held(server)
    value["skill_state"]["run_history"].append(run(20))
    value["progress_summary"] = "Written later."
    server.commit(value)
    assert told(look(server, "--fix")) == []
    assert [one["at"][8:10] for one in held(server)["skill_state"]["run_history"][-3:]] == [
        "08",
        "09",
        "20",
    ]
    assert held(server)["progress_summary"] == "Written later."


def test_a_place_that_was_touched_since_is_not_overwritten(server: Server) -> None:
    server.branch("topic", changed(put_row(6)))
    server.commit(changed(put_row(0)))
    server.merge("topic")
    value = held(server)
    value["progress_table"][-1]["label"] = "Written later"
    server.commit(value)
    fixed = look(server, "--fix")
    assert "merge/not-repaired" in fixed.codes
    assert held(server) == value


def test_a_merge_that_was_taken_back_is_not_told(server: Server) -> None:
    lost(server)
    server.repo.git("revert", "--no-edit", "-m", "1", "HEAD")
    found = look(server)
    assert (told(found), found.outcome.data["reverted"]) == ([], 1)


def test_what_is_staged_stays_staged_and_is_not_committed(server: Server) -> None:
    lost(server)
    server.repo.write("code.py", "print(3)\n")
    server.repo.git("add", "code.py")
    look(server, "--fix")
    assert server.repo.git("status", "--porcelain") == "M  code.py"
    assert server.repo.git("diff", "--name-only", "HEAD^", "HEAD") == PATH


def test_a_file_with_changes_of_its_own_is_refused_and_the_others_are_mended(
    server: Server,
) -> None:
    other = ".checkpoints/audit.checkpoint.json"
    value = changed(set_field(skill="audit"))
    server.commit(value, path=other)
    server.repo.git("checkout", "-q", "-b", "topic")
    server.put(changed(log_run(8)))
    server.put(changed(log_run(8), base=value), other)
    server.repo.commit("topic")
    server.repo.git("checkout", "-q", "main")
    server.put(changed(log_run(9), base=value), other)
    server.commit(changed(log_run(9)))
    server.merge("topic", "-X", "ours")
    server.put(changed(log_run(9), set_field(step="mine")))
    fixed = look(server, "--fix")
    refused = [
        finding for finding in fixed.outcome.findings if finding.code == "merge/not-repaired"
    ]
    assert [
        (one.path, "uncommitted changes" in one.message, PATH in str(one.hint)) for one in refused
    ] == [(PATH, True, True)]
    assert len(json.loads(server.repo.read(other))["skill_state"]["run_history"]) == 7
    assert held(server)["step"] == "mine"


def test_a_stranger_who_only_says_that_a_merge_was_taken_back_is_not_heard(server: Server) -> None:
    lost(server)
    server.repo.write("code.py", "print(4)\n")
    server.repo.commit(f"Tidy\n\nThis reverts commit {server.repo.git('rev-parse', 'HEAD')}.")
    assert look(server).codes == ["merge/lost-entry"]


def test_it_works_from_any_folder_of_the_work_tree(server: Server) -> None:
    lost(server)
    server.repo.write("deep/down/file", "x\n")
    server.repo.commit("deep")
    below = Server.__new__(Server)
    below.repo = GitRepo(server.repo.path / "deep/down")
    assert look(below).codes == ["merge/lost-entry"]
    assert look(below, "--fix").codes == []
    assert server.repo.git("status", "--porcelain") == ""


def test_a_dry_run_shows_the_diff_and_writes_nothing(server: Server) -> None:
    lost(server)
    before = server.repo.git("rev-parse", "HEAD")
    shown = look(server, "--fix", "--dry-run")
    assert '+        "at": "2026-03-08T00:00:00Z",' in shown.text
    assert (server.repo.git("rev-parse", "HEAD"), server.repo.git("status", "--porcelain")) == (
        before,
        "",
    )


def test_a_bare_repository_is_audited_and_repaired(server: Server, tmp_path: Path) -> None:
    lost(server)
    server.repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    bare = Server.__new__(Server)
    bare.repo = GitRepo(tmp_path / "bare")
    assert look(bare).codes == ["merge/lost-entry"]
    assert told(look(bare, "--fix")) == []
    repaired = json.loads(bare.repo.git("show", f"main:{PATH}"))
    assert len(repaired["skill_state"]["run_history"]) == 7


def test_a_repair_is_known_by_its_trailer(server: Server) -> None:
    lost(server)
    merge = server.repo.git("rev-parse", "HEAD")
    look(server, "--fix")
    assert (
        server.repo.git(
            "log", "-1", "--format=%(trailers:key=Checkpoint-Repairs,valueonly)"
        ).strip()
        == merge
    )
    with pytest.raises(CheckpointError, match="not a merge: it repaired what merges did") as raised:
        run_verb(audit, "HEAD", "--all", cwd=server.repo.path)
    assert merge[:12] in str(raised.value.hint)


def test_an_operation_under_way_keeps_a_repair_from_being_made(server: Server) -> None:
    lost(server)
    server.branch("more", changed(log_run(15)), "main~1")
    server.repo.run("git", "merge", "-q", "--no-commit", "more")
    with pytest.raises(CheckpointError, match="a merge waits to be finished"):
        look(server, "--fix")


# squashes, stacks, octopuses, shallow clones


def test_a_squash_is_judged_by_both_its_sides(server: Server) -> None:
    server.branch("topic", changed(put_row(6)))
    server.commit(changed(put_row(0)))
    squash = server.squash("topic", "Add a row")
    words = (squash, "--base", f"{squash}^", "--head", "topic")
    assert look(server, *words).codes == ["merge/duplicated"]
    assert verify(server, "--candidate", squash, *words[1:]).codes == ["merge/duplicated"]
    assert look(server).codes == [], "without the branch's name nothing is known of it"
    assert look(server, *words, "--fix").codes == []
    assert len(held(server)["progress_table"]) == 7


def test_a_squash_names_its_pull_request(server: Server) -> None:
    head = server.branch("topic", changed(put_row(6)))
    server.commit(changed(put_row(0)))
    server.repo.git("update-ref", "refs/pull/12/head", head)
    server.repo.git("branch", "-D", "-q", "topic")
    server.repo.git("merge", "-q", "--squash", head)
    server.repo.commit("Add a row (#12)")
    server.commit(changed(put_row(0), log_run(9)), "Take the row back (#12)")
    found = look(server)
    assert found.codes == [], "somebody took the row back"
    server.repo.git("reset", "-q", "--hard", "HEAD^")
    assert (look(server).codes, look(server).outcome.data["squashes_looked_at"]) == (
        ["merge/duplicated"],
        1,
    )
    assert look(server, "--fix").codes == look(server).codes == []


def test_a_queue_of_merges_is_judged_one_by_one(server: Server) -> None:
    base = server.repo.git("rev-parse", "HEAD")
    server.branch("one", changed(put_row(0)))
    server.branch("two", changed(log_run(9)))
    server.branch("three", changed(put_row(6)))
    for name in ("one", "two", "three"):
        server.merge(name)
    wrong = server.repo.git("rev-parse", "HEAD")
    ran = verify(server, "--base", base, "--candidate", "HEAD")
    assert (ran.codes, ran.outcome.data["merges_looked_at"]) == (["merge/duplicated"], 3)
    assert wrong[:12] in ran.outcome.findings[0].message
    assert verify(server, "--base", base, "--candidate", "HEAD^").codes == []
    server.commit(changed(set_field(step="direct")))
    assert verify(server, "--base", "HEAD^", "--candidate", "HEAD").codes == ["merge/not-audited"]
    with pytest.raises(CheckpointError, match="not based on the base"):
        verify(server, "--base", "two", "--candidate", base)


def test_an_octopus_is_judged_as_far_as_two_parents_go(server: Server) -> None:
    server.branch("one", changed(log_run(8)))
    server.branch("two", start(), path="other/.checkpoints/build.checkpoint.json")
    server.commit(changed(log_run(9)))
    server.repo.run("git", "merge", "-q", "--no-commit", "-s", "ours", "one", "two")
    server.repo.commit("three at once")
    found = look(server)
    assert {code for code, _, _ in told(found)} == {"merge/lost-entry"}


def test_the_ends_of_a_shallow_clone_are_named(server: Server, tmp_path: Path) -> None:
    lost(server)
    server.commit(changed(set_field(step="later"), base=held(server)))
    server.repo.git(
        "clone", "-q", "--depth", "2", f"file://{server.repo.path}", str(tmp_path / "shallow")
    )
    shallow = Server.__new__(Server)
    shallow.repo = GitRepo(tmp_path / "shallow")
    (found,) = look(shallow).outcome.findings
    assert (found.code, found.level, "--unshallow" in str(found.hint)) == (
        "merge/not-audited",
        "warning",
        True,
    )


def test_a_shallow_clone_without_a_merge_does_not_pass_for_a_history_without_harm(
    server: Server, tmp_path: Path
) -> None:
    lost(server)
    last = server.commit(changed(set_field(step="later"), base=held(server)))
    server.repo.git(
        "clone", "-q", "--depth", "1", f"file://{server.repo.path}", str(tmp_path / "shallow")
    )
    shallow = Server.__new__(Server)
    shallow.repo = GitRepo(tmp_path / "shallow")
    (found,) = look(shallow).outcome.findings
    assert (found.code, found.level, str(found.hint)) == (
        "merge/not-audited",
        "warning",
        str(UNSHALLOW),
    )
    assert found.message == f"this clone was cut off at {last[:12]}: earlier merges are unknown"


def test_a_criss_cross_is_held_against_the_merge_of_its_bases(server: Server) -> None:
    server.branch("topic", changed(put_row(6)))
    one = server.commit(changed(log_run(9)))
    server.repo.git("checkout", "-q", "topic")
    two = server.repo.git("rev-parse", "HEAD")
    server.repo.git("merge", "-q", "--no-edit", one)
    server.put(changed(put_row(6), log_run(9), set_row(0, status="complete")))
    server.repo.commit("on")
    server.repo.git("checkout", "-q", "main")
    server.repo.git("merge", "-q", "--no-edit", two)
    server.commit(changed(put_row(6), log_run(9), put_row(0, id="row-z")))
    assert verify(server, "--base", "main", "--head", "topic").codes == []
    server.merge("topic")
    assert look(server).codes == []


# words and strangers


@pytest.mark.parametrize(
    "words", [["nonsense"], [""], ["nonsense..HEAD"], ["HEAD", "--head=-x"], ["--base=HEAD"]]
)
def test_what_names_no_commit_is_refused(words: list[str], server: Server) -> None:
    with pytest.raises(CheckpointError):
        look(server, *words)


def test_a_word_that_looks_like_an_option_is_no_range(server: Server) -> None:
    done = run_here("audit", "--", "--all", cwd=server.repo.path)
    assert (done.returncode, "invalid range" in done.stderr) == (2, True)


def test_a_range_beside_head_is_audited_and_not_repaired(server: Server) -> None:
    server.repo.git("checkout", "-q", "-b", "side")
    server.repo.git("checkout", "-q", "main")
    lost(server)
    server.repo.git("checkout", "-q", "side")
    assert look(server, "side..main").codes == ["merge/lost-entry"]
    assert look(server).codes == []
    with pytest.raises(CheckpointError, match="not part of HEAD"):
        look(server, "main", "--fix")


def test_text_of_strangers_is_escaped_in_every_format(server: Server) -> None:
    server.branch("topic", changed(log_run(8, notes="\x1b[31mred\n::error::\u202e")))
    server.commit(changed(log_run(9)))
    server.merge("topic", "-X", "ours", message="keep \x1b[31mours\n\nCheckpoint-Repairs: none")
    for form in ("text", "md", "github", "sarif", "json"):
        for words in (("audit",), ("ci", "verify", "--candidate", "HEAD")):
            done = run_here(*words, "--format", form, cwd=server.repo.path)
            assert (done.returncode, "lost" in done.stdout, "\x1b" in done.stdout) == (
                1,
                True,
                False,
            ), done.stderr
            assert not any(line.startswith("::error::") for line in done.stdout.splitlines())


def test_a_hostile_file_does_no_harm(server: Server) -> None:
    for at, text in enumerate(("[" * 50_000, "\0" * 100, "9" * 50_000, "")):
        server.put(text, f".checkpoints/bad-{at}.checkpoint.json")
    server.repo.commit("hostile")
    server.branch("topic", "[" * 50_000)
    server.commit(changed(log_run(9)))
    assert verify(server, "--base", "main", "--head", "topic").codes == ["merge/conflict"]
    server.merge_by_hand("topic", "{" * 1000)
    assert look(server).outcome.code in (0, 1)


# a queue of pull requests


def make_request(number: int) -> Change:
    """What pull request `number` of forty does: most rename a row; of each ten some collide with
    one another.
    """
    group, kind = divmod(number, 10)
    if kind == 3:
        return put_row(number, id=f"new-{group}")
    if kind == 7:
        return put_row(number, id=f"new-{group}")  # the same row elsewhere: lines make two of it
    if kind == 5:
        # lines stop from the second one on
        return log_run(number % 28 + 1, notes=f"request {number}")
    return set_row(number, label=f"Named by request {number}")


def test_of_forty_pull_requests_exactly_the_harmed_ones_are_told_and_mended(tmp_path: Path) -> None:
    server = Server.__new__(Server)
    server.repo = GitRepo.create(tmp_path / "server", "--bare")
    rows = [
        {"id": f"row-{n}", "label": f"Row number {n}", "status": "not_started"} for n in range(42)
    ]
    base = changed(set_field(progress_table=rows))
    heads = {number: text_of(changed(make_request(number), base=base)) for number in range(40)}
    import_heads(server.repo, text_of(base), heads)
    harmed = []
    for number in range(40):
        wrong = press_button(server.repo, number, heads[number])
        if wrong:
            harmed.append(wrong)
    assert len(harmed) == 5
    found = look(server)
    assert sorted({finding.message.split()[1] for finding in found.outcome.findings}) == sorted(
        commit[:12] for commit in harmed
    )
    assert {code for code, _, _ in told(found)} == {"merge/duplicated", "merge/lost-entry"}
    assert (found.outcome.data["merges_looked_at"], found.outcome.code) == (40, 1)
    assert told(look(server, "--fix")) == told(look(server)) == []
    value = json.loads(server.repo.git("show", f"main:{PATH}"))
    ids = [row["id"] for row in value["progress_table"]]
    assert len(ids) == len(set(ids)) == 46
    assert (
        sum(
            one.get("notes", "").startswith("request")
            for one in value["skill_state"]["run_history"]
        )
        == 4
    )
    renamed = [row["label"] for row in value["progress_table"] if row["label"].startswith("Named")]
    assert len(renamed) == 28


def import_heads(repo: GitRepo, base: str, heads: dict[int, str]) -> None:
    """Main with the base, and a branch for each request, all grown from it."""
    lines = []
    for mark, (branch, text) in enumerate(
        [("main", base), *((f"request-{n}", text) for n, text in heads.items())], 1
    ):
        size = len(text.encode())
        start_at = "" if mark == 1 else "from :1\n"
        lines.append(
            f"commit refs/heads/{branch}\nmark :{mark}\ncommitter a <a@b> {1_772_400_000 + mark} +0000\n"
            f"data 1\nx\n{start_at}M 100644 inline {PATH}\ndata {size}\n{text}\n"
        )
    assert repo.run("git", "fast-import", "--quiet", stdin="".join(lines).encode()).returncode == 0


def press_button(repo: GitRepo, number: int, head: str) -> str:
    """One pull request merged by lines; where they stop, by a person. The merge's id where it did
    harm.
    """
    branch, group = f"request-{number}", number // 10
    done = repo.run("git", "merge-tree", "--write-tree", "-z", "--name-only", "main", branch)
    tree = done.stdout.decode().split("\0")[0]
    harm = number % 10 == 7
    if done.returncode == 1:
        ours, old = (
            repo.git("show", f"main:{PATH}") + "\n",
            repo.git("show", f"request-0~1:{PATH}") + "\n",
        )
        lawful = group % 2 == 1
        text = merge_texts(old, ours, head, skill_schema()).text if lawful else ours
        blob = (
            repo.run("git", "hash-object", "-w", "--stdin", stdin=text.encode())
            .stdout.decode()
            .strip()
        )
        folder = repo.run(
            "git", "mktree", stdin=f"100644 blob {blob}\tbuild.checkpoint.json\n".encode()
        )
        tree_of = f"040000 tree {folder.stdout.decode().strip()}\t.checkpoints\n"
        tree = repo.run("git", "mktree", stdin=tree_of.encode()).stdout.decode().strip()
        harm = not lawful
    words = ["commit-tree", "-p", "main", "-p", branch, "-m", f"Merge request {number}", tree]
    commit = repo.git(*words)
    repo.git("update-ref", "refs/heads/main", commit)
    return commit if harm else ""
