"""What the doctor knows of the last merges that real git made, by the driver and by everything
else.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.disk.discover import find_place
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.protocols.check import Context
from checkpoint_git.tools.merges.checks import MergeFacts, find_lost_entries
from tests.scenarios.driven import PATH, branch_with, drive
from tests.support.repos import GitRepo, copy_built
from tests.support.samples import checkpoint_text
from tests.support.verbs import NOON, seconds

R1, R2, R3 = ({"at": f"2026-03-0{day}T00:00:00Z", "verdict": "PASS"} for day in (1, 2, 3))
CORPUS = Path(__file__).parents[3] / ".." / "shared" / "corpus" / "real-merges"


def text(*runs: Any, **fields: Any) -> str:
    return checkpoint_text(skill_state={"run_history": list(runs)}, **fields)


@pytest.fixture
def diverged(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitRepo]:
    """Both branches logged a run; left is checked out; no driver is set up."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-03-01T00:00:00Z")
    copy_built(build_diverged, repo.path)
    return (yield repo)


def build_diverged(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    repo.diverge({PATH: text(R1)}, left={PATH: text(R1, R2)}, right={PATH: text(R1, R3)})


def facts(repo: GitRepo, now: int = seconds(NOON), skill: str = "") -> MergeFacts:
    return MergeFacts(Context(find_place(str(repo.path)), now, dict(os.environ), skill=skill))


def harms(repo: GitRepo, now: int = seconds(NOON), skill: str = "") -> list[tuple[str, list[str]]]:
    """(verdict, places) of the damage of each file of each merge."""
    return [
        (file.hits[0].entry.verdict, [hit.where for hit in file.hits])
        for merge in facts(repo, now, skill).merges
        for file in merge.files
        if file.hits[0].entry
    ]


LOST = [("lost", ["/skill_state/run_history"])]


def merge(repo: GitRepo, content: str | bytes | None = None, other: str = "right") -> str:
    """A merge of another branch, its result replaced by the content given."""
    repo.run("git", "merge", "-q", "--no-commit", other)
    if content is not None:
        repo.write(PATH, content)
    return repo.commit("a merge")


def later(repo: GitRepo, content: str) -> None:
    repo.write(PATH, content)
    repo.commit("later")


# merges that did no harm


def test_merges_by_our_own_driver_are_no_news(diverged: GitRepo) -> None:
    drive(diverged)
    diverged.git("merge", "-q", "--no-edit", "right")
    assert json.loads(diverged.read(PATH))["skill_state"]["run_history"] == [R1, R2, R3]
    assert harms(diverged) == []


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
def test_real_merges_made_again_by_our_driver_are_no_news(diverged: GitRepo) -> None:
    drive(diverged, choices=Choices("newest"))
    clean = 0
    for number, folder in enumerate(sorted(CORPUS.iterdir())):
        path = f".checkpoints/{json.loads((folder / 'ours.json').read_bytes())['skill']}.checkpoint.json"
        diverged.git("checkout", "-q", "-f", "--orphan", f"base-{number}")
        diverged.git("rm", "-rfq", "--ignore-unmatch", ".")
        for side, start in (
            ("base", None),
            ("theirs", f"base-{number}"),
            ("ours", f"base-{number}"),
        ):
            if start:
                diverged.git("checkout", "-q", "-b", f"{side}-{number}", start)
            data = (folder / f"{side}.json").read_bytes()
            if data:
                diverged.write(path, data)
            diverged.commit(side)
        if diverged.exit_code("merge", "-q", "--no-edit", f"theirs-{number}") == 0:
            clean += 1
            assert harms(diverged) == [], folder.name
        else:
            diverged.git("merge", "--abort")
    assert clean > 3


def test_deliberate_edits_in_a_merge_that_lose_nothing_are_no_news(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2, R3, step="written in the merge", project="renamed"))
    assert harms(diverged) == []


def test_one_of_two_values_had_to_go(diverged: GitRepo) -> None:
    branch_with(diverged, "one", text(R1, step="one"))
    branch_with(diverged, "two", text(R1, step="two"))
    merge(diverged, text(R1, step="one"), "one")
    assert harms(diverged) == []


# merges that did


@pytest.mark.parametrize("words", [("-X", "ours"), ("-s", "ours"), ("-X", "theirs")])
def test_a_side_that_was_thrown_away_is_found(diverged: GitRepo, words: tuple[str, ...]) -> None:
    diverged.git("merge", "-q", *words, "--no-edit", "right")
    assert harms(diverged) == LOST
    (found,) = find_lost_entries(facts(diverged))
    keeper = diverged.git("rev-parse", "--short=12", "HEAD^1" if words[1] == "theirs" else "right")
    assert diverged.git("rev-parse", "HEAD")[:12] in found.message
    assert f"git show {keeper}:{PATH}" in str(found.hint)
    assert "parent added it" in found.message
    assert found.path == PATH


def test_what_both_parents_had_and_the_merge_lost_is_found(diverged: GitRepo) -> None:
    merge(diverged, text(R2, R3))
    assert harms(diverged) == LOST


def test_lines_of_both_sides_glued_together_are_found(diverged: GitRepo) -> None:
    diverged.write(".git/info/attributes", "*.checkpoint.json merge=union\n")
    diverged.git("merge", "-q", "--no-edit", "right")
    assert [verdict for verdict, _ in harms(diverged)] == ["duplicated"]


def test_a_row_that_stands_twice_is_found(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2, R3, R3))
    assert harms(diverged) == [("duplicated", ["/skill_state/run_history/3"])]
    later(diverged, text(R1, R2, R3))
    assert harms(diverged) == []


def test_conflict_markers_that_were_committed_are_found_until_they_are_gone(
    diverged: GitRepo,
) -> None:
    merge(diverged)
    assert "<<<<<<<" in diverged.read(PATH)
    assert harms(diverged) == [("mixed-up", [""])]
    later(diverged, text(R1, R2, R3))
    assert harms(diverged) == []


def test_what_went_missing_while_markers_were_removed_is_found(diverged: GitRepo) -> None:
    merge(diverged)
    later(diverged, text(R1, R2))
    assert harms(diverged) == LOST


def test_a_whole_file_that_was_lost_is_found(diverged: GitRepo) -> None:
    other = ".checkpoints/audit.checkpoint.json"
    diverged.git("checkout", "-q", "right")
    diverged.write(other, checkpoint_text(skill="audit"))
    diverged.commit("audit")
    diverged.git("checkout", "-q", "left")
    diverged.run("git", "merge", "-q", "--no-commit", "right")
    (diverged.path / other).unlink()
    diverged.write(PATH, text(R1, R2, R3))
    diverged.commit("a merge")
    assert [
        (file.file.path, [hit.kind for hit in file.hits])
        for file in facts(diverged).merges[0].files
    ] == [(other, ["lost"])]
    diverged.write(other, checkpoint_text(skill="audit", step="again"))
    diverged.commit("again")
    assert harms(diverged) == []


def test_an_octopus_that_lost_an_entry_is_found(diverged: GitRepo) -> None:
    diverged.git("checkout", "-q", "-b", "third", "main")
    diverged.write("readme", "x")
    diverged.commit("third")
    tree = diverged.git("rev-parse", "left^{tree}")
    commit = diverged.git(
        "commit-tree", tree, "-p", "third", "-p", "left", "-p", "right", "-m", "octopus"
    )
    diverged.git("checkout", "-q", "-B", "left", commit)
    (file,) = facts(diverged).merges[0].files
    assert (file.hits[0].kind, file.file.parents) == ("lost", (2, 3))


# what became of it since


def test_what_is_back_is_no_news(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    assert harms(diverged) == LOST
    later(diverged, text(R1, R2, R3))
    assert harms(diverged) == []


def test_what_came_back_and_was_removed_on_purpose_is_no_news(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    later(diverged, text(R1, R2, R3))
    later(diverged, text(R1, R2))
    assert harms(diverged) == []


def test_what_is_mended_in_the_work_tree_is_no_news(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    diverged.write(PATH, text(R1, R2, R3))
    assert harms(diverged) == []


def test_work_that_goes_on_does_not_hide_a_loss(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    later(diverged, text(R1, R2, {"at": "2026-03-04T00:00:00Z"}, step="sprint-9"))
    assert harms(diverged) == LOST


def test_a_value_that_was_written_again_since_is_no_news(diverged: GitRepo) -> None:
    branch_with(diverged, "one", text(R1, project="one"))
    branch_with(diverged, "two", text(R1, step="two"))
    merge(diverged, text(R1, step="two"), "one")
    assert harms(diverged) == [("lost", ["/project"])]
    later(diverged, text(R1, step="two", project="three"))
    assert harms(diverged) == []


def test_a_file_that_was_removed_since_is_no_news(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    diverged.git("rm", "-q", PATH)
    diverged.commit("removed")
    (diverged.path / ".checkpoints").mkdir()
    assert harms(diverged) == []


def test_a_present_file_that_is_no_json_is_anothers_business(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    later(diverged, "{")
    assert harms(diverged) == []
    later(diverged, text(R1, R2, step="sprint-9"))
    assert harms(diverged) == LOST


def test_old_merges_are_left_alone(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    summer = seconds("2026-08-01T00:00:00Z")
    assert harms(diverged, summer) == []


def test_only_what_is_asked_for_is_told(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    assert harms(diverged, skill="audit") == []
    assert harms(diverged, skill="build") == harms(diverged) == LOST


def test_an_unfinished_merge_is_not_judged(diverged: GitRepo) -> None:
    assert diverged.exit_code("merge", "-q", "right") == 1
    assert harms(diverged) == []


def test_a_shallow_clone_says_how_much_it_could_not_judge(
    diverged: GitRepo, tmp_path: Path
) -> None:
    merge(diverged, text(R1, R2))
    cut = tmp_path / "cut"
    diverged.git("clone", "-q", "--depth", "2", f"file://{diverged.path}", str(cut))
    (found,) = facts(GitRepo(cut)).merges
    assert (bool(found.reason), found.files) == (True, [])


def test_every_merge_is_judged(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    branch_with(diverged, "more", text(R1, R3, {"at": "2026-03-05T00:00:00Z"}), "right")
    diverged.git("checkout", "-q", "left")
    merge(diverged, text(R1, R2), "more")
    assert [verdict for verdict, _ in harms(diverged)] == ["lost", "lost"]


def test_nothing_is_kept_beside_the_repository(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    assert harms(diverged) == LOST
    assert not (diverged.path / ".git/checkpoint").exists()
