"""What the doctor says about past merges and the next pull, as values."""

import json
from typing import Any

import pytest

from checkpoint_git.core.finding import Finding
from checkpoint_git.git.merges.merges import Ancestor, Versions
from checkpoint_git.merge.conflicts import Clash
from checkpoint_git.protocols.check import run_checks
from checkpoint_git.protocols.merge_schema import load_merge_schema
from checkpoint_git.tools.doctor.catalog import choose_checks
from checkpoint_git.tools.merges.audited_file import AuditedFile, find_hits
from checkpoint_git.tools.merges.checks import MergeFacts
from checkpoint_git.tools.merges.findings import AuditedMerge, Event
from checkpoint_git.tools.merges.preview import FilePreview
from checkpoint_git.tools.merges.upstream import Upstream
from tests.support.contexts import give, make_context

PATH = ".checkpoints/build.checkpoint.json"
OTHER = ".checkpoints/audit.checkpoint.json"


# past merges

FIRST, SECOND = "1" * 40, "2" * 40


def merged(result: dict[str, Any], path: str = PATH, subject: str = "Merge main") -> AuditedMerge:
    """A merge to which each side added a blocker; its result is given."""
    base, first, second = (
        text_of({"status": "in_progress", "blockers": blockers}) for blockers in ([], [ONE], [TWO])
    )
    file = Versions(path, "", (Ancestor(base, ()),), first, second, text_of(result), (1, 2))
    audited = AuditedFile(file, load_merge_schema(PATH))
    event = Event("c" * 40, ("11111111", "22222222"), subject, parents=(FIRST, SECOND))
    audited.hits = find_hits(audited, event.name_parents(file))
    return AuditedMerge(event, [audited])


def text_of(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=2).encode()


ONE = {"id": "one", "description": "the first of the blockers", "needs": "code_fix"}
TWO = {"id": "two", "description": "another blocker of the second", "needs": "user_decision"}
LOST: dict[str, Any] = {"status": "in_progress", "blockers": [ONE]}
CODES = ["merge/lost-entry", "merge/duplicated", "merge/mixed-up", "merge/not-audited"]


def audited(*merges: AuditedMerge) -> list[Finding]:
    return run_checks(choose_checks(CODES), give(make_context(), MergeFacts, merges=merges))


def test_without_damage_there_is_nothing_to_say() -> None:
    assert audited() == audited(merged({"status": "in_progress", "blockers": [ONE, TWO]})) == []


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (LOST, "merge/lost-entry"),
        ({"blockers": [ONE, TWO, TWO], "status": "in_progress"}, "merge/duplicated"),
        (
            {
                "blockers": [ONE, {**TWO, "description": ONE["description"]}],
                "status": "in_progress",
            },
            "merge/mixed-up",
        ),
    ],
)
def test_every_kind_of_damage_has_its_code(result: dict[str, Any], code: str) -> None:
    (found,) = audited(merged(result))
    assert (found.code, found.level, found.path) == (code, "warning", PATH)
    assert found.where.startswith("/blockers")


def test_a_loss_names_the_merge_its_parents_the_entry_and_who_has_it() -> None:
    (found,) = audited(merged(LOST))
    said = "blockers[two]: "
    assert found.message.startswith(
        f'merge cccccccccccc of 11111111 and 22222222 ("Merge main") lost an entry: {said}'
    )
    assert found.where == "/blockers"
    assert str(found.hint).startswith(f"it is still in: git show {'2' * 12}:{PATH}; ")
    assert str(found.hint).endswith(f": checkpoint audit {'1' * 12}..{'c' * 12} --fix")
    (found,) = audited(
        merged(
            {"status": "in_progress", "blockers": [ONE, {**TWO, "description": ONE["description"]}]}
        )
    )
    assert str(found.hint) == f"to see all that it did: checkpoint audit --all {'c' * 12} -- {PATH}"


def test_many_losses_in_one_file_are_one_finding() -> None:
    merge = merged(LOST)
    merge.files[0].hits = list(merge.files[0].hits) * 5
    (found,) = audited(merge)
    assert " lost 5 entries: blockers[two]: " in found.message
    assert found.message.endswith("; and 2 more")


def test_a_strangers_path_is_one_word_of_the_command() -> None:
    (found,) = audited(merged(LOST, ".checkpoints/$(touch x).checkpoint.json", "s" * 500))
    assert f"git show '{'2' * 12}:.checkpoints/$(touch x).checkpoint.json'" in str(found.hint)
    assert len(found.message) < 300


def test_a_shallow_clone_says_how_many_merges_it_cannot_judge() -> None:
    unknown = AuditedMerge(Event("c" * 40, ("a", "b")), [], reason="it is not here")
    (found,) = audited(unknown, unknown)
    assert (found.code, found.level) == ("merge/not-audited", "note")
    assert found.message.startswith("2 recent merges could not be audited")


# the next pull

BOTH = Upstream("origin/main", ahead=2, behind=3)


def told(upstream: Upstream | None) -> list[Finding]:
    return run_checks(
        choose_checks(["upstream"]), give(make_context(), MergeFacts, upstream=upstream)
    )


def only(upstream: Upstream | None) -> Finding:
    (finding,) = told(upstream)
    return finding


@pytest.mark.parametrize("upstream", [None, Upstream("origin/main"), BOTH])
def test_there_is_nothing_to_say_without_news_of_checkpoints(upstream: Upstream | None) -> None:
    assert told(upstream) == []


def test_a_pull_that_only_brings_news_is_a_note() -> None:
    found = only(BOTH._replace(ahead=0, behind=1, previews=(FilePreview(PATH, "whole"),)))
    assert (found.code, found.level) == ("upstream/behind", "note")
    assert (
        found.message
        == f"origin/main has 1 commit that this branch does not have, and they change {PATH}"
    )
    assert str(found.hint) == "before you continue: git pull"


def test_a_clean_merge_is_a_note_that_names_what_merges() -> None:
    found = only(BOTH._replace(previews=(FilePreview(PATH, "clean"), FilePreview(OTHER, "whole"))))
    assert (found.code, found.level) == ("upstream/diverged", "note")
    assert found.message.endswith(
        f"does not have: a pull merges {PATH} cleanly and takes {OTHER} from there"
    )


def test_a_long_list_is_cut() -> None:
    previews = tuple(
        FilePreview(f".checkpoints/{number}.checkpoint.json", "whole") for number in range(9)
    )
    assert only(BOTH._replace(previews=previews)).message.count(".checkpoints/") == 5
    assert " and 4 more" in only(BOTH._replace(previews=previews)).message


def test_without_the_driver_a_clean_merge_is_called_the_drivers() -> None:
    found = only(BOTH._replace(previews=(FilePreview(PATH, "clean", driven=False),)))
    assert "if the merge driver is set up; here git merges as text" in found.message


def test_a_conflict_is_a_warning_at_its_place() -> None:
    clashes = (Clash("/step", '"a"', '"b"'), Clash("/project", "nothing", '"' + "x" * 500 + '"'))
    found = only(
        BOTH._replace(
            previews=(FilePreview(PATH, "conflict", clashes), FilePreview(OTHER, "clean"))
        )
    )
    assert (found.code, found.level, found.path, found.where) == (
        "upstream/conflict",
        "warning",
        PATH,
        "/step",
    )
    assert (
        'a pull will conflict in this file: origin/main and this branch disagree at /step ("a" here, "b" there), '
        in (found.message)
    )
    assert len(found.message) < 300
    assert "once per commit" not in str(found.hint)


@pytest.mark.parametrize(
    ("preview", "said"),
    [
        (
            FilePreview(PATH, "removed-here"),
            "this branch removed it, and origin/main has changed it",
        ),
        (
            FilePreview(PATH, "removed-there"),
            "origin/main removed it, and this branch has changed it",
        ),
        (
            FilePreview(PATH, "text", detail="theirs is odd"),
            "git will use a text merge: theirs is odd",
        ),
        (FilePreview(PATH, "conflict", (Clash("", "1", "2"),)), "disagree at / (1 here, 2 there)"),
    ],
)
def test_every_reason_to_stop_is_said(preview: FilePreview, said: str) -> None:
    found = only(BOTH._replace(previews=(preview,)))
    assert found.code == "upstream/conflict"
    assert said in found.message


def test_a_rebase_may_ask_more_than_once() -> None:
    assert "once per commit" in str(
        only(BOTH._replace(rebases=True, previews=(FilePreview(PATH, "removed-here"),))).hint
    )


def test_a_merge_with_the_default_branch_is_not_called_a_pull() -> None:
    found = only(
        BOTH._replace(
            name="origin/it's", tracked=False, previews=(FilePreview(PATH, "removed-here"),)
        )
    )
    assert found.message.startswith("a merge with origin/it's will conflict in this file")
    assert str(found.hint).startswith("merge early: git merge 'origin/it'\"'\"'s'; ")


def test_what_is_not_committed_or_comes_out_wrong_is_told_beside() -> None:
    codes = [
        one.code
        for one in told(BOTH._replace(previews=(FilePreview(PATH, "clean", in_the_way=True),)))
    ]
    assert codes == ["upstream/uncommitted", "upstream/diverged"]
    found = told(
        BOTH._replace(previews=(FilePreview(PATH, "clean", invalid="/next_actions: it is empty"),))
    )
    assert [one.code for one in found] == ["upstream/invalid", "upstream/diverged"]
    assert "/next_actions: it is empty" in found[0].message


@pytest.mark.parametrize(
    ("state", "level", "said"),
    [
        ("gone", "note", "is not in this clone"),
        ("cut", "note", "how they merge is unknown: half is missing"),
        ("unrelated", "warning", "unrelated histories"),
    ],
)
def test_an_upstream_of_which_nothing_can_be_told_is_said(
    state: str, level: str, said: str
) -> None:
    found = only(Upstream("origin/main", state=state, ahead=1, behind=1, detail="half is missing"))  # type: ignore[arg-type]  # parametrized
    assert (found.code, found.level) == ("upstream/unknown", level)
    assert said in found.message
    assert str(found.hint)
