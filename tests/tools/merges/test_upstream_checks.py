"""What the doctor says about the next pull, as values."""

import pytest

from checkpoint_git.core.finding import Finding
from checkpoint_git.merge.conflicts import Clash
from checkpoint_git.tools.doctor.context import World
from checkpoint_git.tools.doctor.table import choose_checks, find_all
from checkpoint_git.tools.merges.facts import Meeting, Upstream

PATH = ".checkpoints/build.checkpoint.json"
OTHER = ".checkpoints/audit.checkpoint.json"
BOTH = Upstream("origin/main", ahead=2, behind=3)


def told(upstream: Upstream | None) -> list[Finding]:
    return find_all(choose_checks(["upstream"]), World(upstream=upstream))


def only(upstream: Upstream | None) -> Finding:
    (finding,) = told(upstream)
    return finding


@pytest.mark.parametrize("upstream", [None, Upstream("origin/main"), BOTH])
def test_there_is_nothing_to_say_without_news_of_checkpoints(upstream: Upstream | None) -> None:
    assert told(upstream) == []


def test_a_pull_that_only_brings_news_is_a_note() -> None:
    found = only(BOTH._replace(ahead=0, behind=1, meetings=(Meeting(PATH, "whole"),)))
    assert (found.code, found.level) == ("upstream/behind", "note")
    assert found.message == f"origin/main has 1 commit that this branch lacks, and they change {PATH}"
    assert found.hint == "git pull before you go on"


def test_a_clean_merge_is_a_note_that_names_what_merges() -> None:
    found = only(BOTH._replace(meetings=(Meeting(PATH, "clean"), Meeting(OTHER, "whole"))))
    assert (found.code, found.level) == ("upstream/diverged", "note")
    assert found.message.endswith(f"lacks: a pull merges {PATH} cleanly and takes {OTHER} as it is there")


def test_a_long_list_is_cut() -> None:
    meetings = tuple(Meeting(f".checkpoints/{number}.checkpoint.json", "whole") for number in range(9))
    assert only(BOTH._replace(meetings=meetings)).message.count(".checkpoints/") == 5
    assert " and 4 more" in only(BOTH._replace(meetings=meetings)).message


def test_without_the_driver_a_clean_merge_is_called_the_drivers() -> None:
    found = only(BOTH._replace(meetings=(Meeting(PATH, "clean", driven=False),)))
    assert "where the merge driver is set up; here git merges line by line" in found.message


def test_a_conflict_is_a_warning_at_its_place() -> None:
    clashes = (Clash("/step", '"a"', '"b"'), Clash("/project", "nothing", '"' + "x" * 500 + '"'))
    found = only(BOTH._replace(meetings=(Meeting(PATH, "conflict", clashes), Meeting(OTHER, "clean"))))
    assert (found.code, found.level, found.path, found.where) == ("upstream/conflict", "warning", PATH, "/step")
    assert 'a pull will stop at this file: origin/main and this branch disagree at /step ("a" here, "b" there), ' in (
        found.message
    )
    assert len(found.message) < 300
    assert "rebase" not in found.hint


@pytest.mark.parametrize(
    ("meeting", "said"),
    [
        (Meeting(PATH, "removed-here"), "this branch removed it, and origin/main has changed it"),
        (Meeting(PATH, "removed-there"), "origin/main removed it, and this branch has changed it"),
        (Meeting(PATH, "text", detail="theirs is odd"), "git merges it line by line, for theirs is odd"),
        (Meeting(PATH, "conflict", (Clash("", "1", "2"),)), "disagree at / (1 here, 2 there)"),
    ],
)
def test_every_reason_to_stop_is_said(meeting: Meeting, said: str) -> None:
    found = only(BOTH._replace(meetings=(meeting,)))
    assert found.code == "upstream/conflict"
    assert said in found.message


def test_a_rebase_may_ask_more_than_once() -> None:
    assert "commit by commit" in only(BOTH._replace(rebases=True, meetings=(Meeting(PATH, "removed-here"),))).hint


def test_a_merge_with_the_default_branch_is_not_called_a_pull() -> None:
    found = only(BOTH._replace(name="origin/it's", tracked=False, meetings=(Meeting(PATH, "removed-here"),)))
    assert found.message.startswith("a merge with origin/it's will stop at this file")
    assert found.hint.startswith("git merge 'origin/it'\"'\"'s' soon")


def test_what_is_not_committed_or_comes_out_wrong_is_told_beside() -> None:
    codes = [one.code for one in told(BOTH._replace(meetings=(Meeting(PATH, "clean", in_the_way=True),)))]
    assert codes == ["upstream/uncommitted", "upstream/diverged"]
    found = told(BOTH._replace(meetings=(Meeting(PATH, "clean", invalid="/next_actions: it is empty"),)))
    assert [one.code for one in found] == ["upstream/invalid", "upstream/diverged"]
    assert "/next_actions: it is empty" in found[0].message


@pytest.mark.parametrize(
    ("state", "level", "said"),
    [
        ("gone", "note", "is not in this clone"),
        ("cut", "note", "how they merge cannot be told: half is missing"),
        ("unrelated", "warning", "no commit in common"),
    ],
)
def test_an_upstream_of_which_nothing_can_be_told_is_said(state: str, level: str, said: str) -> None:
    found = only(Upstream("origin/main", state=state, ahead=1, behind=1, detail="half is missing"))  # type: ignore[arg-type]  # parametrized
    assert (found.code, found.level) == ("upstream/unknown", level)
    assert said in found.message
    assert found.hint
