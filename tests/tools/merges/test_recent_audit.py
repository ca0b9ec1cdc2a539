"""The audit of merges that real git made, by the driver and by everything else."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import find_place
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.tools.merges import recent_audit
from checkpoint_git.tools.merges.recent_audit import Audit, Damage, read_audit
from tests.scenarios.driven import PATH, branch_with, drive
from tests.support.repos import GitRepo
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
    repo.diverge({PATH: text(R1)}, left={PATH: text(R1, R2)}, right={PATH: text(R1, R3)})
    return (yield repo)


def look(path: Path, now: int = seconds(NOON), **options: Any) -> Audit:
    chosen = {"present": lambda path: None, "is_asked": lambda path: True, **options}
    return read_audit(find_place(str(path)), now, dict(os.environ), **chosen)


def audit(repo: GitRepo, **options: Any) -> tuple[Damage, ...]:
    return look(repo.path, **options).damages


def harms(repo: GitRepo, **options: Any) -> list[tuple[str, list[str]]]:
    """(harm, places) of everything that was found."""
    return [(damage.harm, [where for where, _ in damage.entries]) for damage in audit(repo, **options)]


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
    assert audit(diverged) == ()


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
def test_real_merges_made_again_by_our_driver_are_no_news(diverged: GitRepo) -> None:
    drive(diverged, choices=Choices("newest"))
    clean = 0
    for number, folder in enumerate(sorted(CORPUS.iterdir())):
        path = f".checkpoints/{json.loads((folder / 'ours.json').read_bytes())['skill']}.checkpoint.json"
        diverged.git("checkout", "-q", "-f", "--orphan", f"base-{number}")
        diverged.git("rm", "-rfq", "--ignore-unmatch", ".")
        for side, start in (("base", None), ("theirs", f"base-{number}"), ("ours", f"base-{number}")):
            if start:
                diverged.git("checkout", "-q", "-b", f"{side}-{number}", start)
            data = (folder / f"{side}.json").read_bytes()
            if data:
                diverged.write(path, data)
            diverged.commit(side)
        if diverged.exit_code("merge", "-q", "--no-edit", f"theirs-{number}") == 0:
            clean += 1
            assert audit(diverged) == (), folder.name
        else:
            diverged.git("merge", "--abort")
    assert clean > 3


def test_deliberate_edits_in_a_merge_that_lose_nothing_are_no_news(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2, R3, step="written in the merge", project="renamed"))
    assert audit(diverged) == ()


def test_one_of_two_values_had_to_go(diverged: GitRepo) -> None:
    branch_with(diverged, "one", text(R1, step="one"))
    branch_with(diverged, "two", text(R1, step="two"))
    merge(diverged, text(R1, step="one"), "one")
    assert audit(diverged) == ()


# merges that did


@pytest.mark.parametrize("words", [("-X", "ours"), ("-s", "ours"), ("-X", "theirs")])
def test_a_side_that_was_thrown_away_is_found(diverged: GitRepo, words: tuple[str, ...]) -> None:
    diverged.git("merge", "-q", *words, "--no-edit", "right")
    assert harms(diverged) == LOST
    (damage,) = audit(diverged)
    assert damage.commit == diverged.git("rev-parse", "HEAD")
    assert damage.parents == tuple(diverged.git("rev-parse", "HEAD^1", "HEAD^2").split())
    assert damage.keeper == diverged.git("rev-parse", "HEAD^1" if words[1] == "theirs" else "right")
    assert "parent added it" in damage.entries[0][1]
    assert damage.path == PATH


def test_what_both_parents_had_and_the_merge_lost_is_found(diverged: GitRepo) -> None:
    merge(diverged, text(R2, R3))
    assert harms(diverged) == LOST


def test_lines_of_both_sides_glued_together_are_found(diverged: GitRepo) -> None:
    diverged.write(".git/info/attributes", "*.checkpoint.json merge=union\n")
    diverged.git("merge", "-q", "--no-edit", "right")
    assert [harm for harm, _ in harms(diverged)] == ["duplicated"]


def test_a_row_that_stands_twice_is_found(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2, R3, R3))
    assert harms(diverged) == [("duplicated", ["/skill_state/run_history/3"])]
    later(diverged, text(R1, R2, R3))
    assert audit(diverged) == ()


def test_conflict_markers_that_were_committed_are_found_until_they_are_gone(diverged: GitRepo) -> None:
    merge(diverged)
    assert "<<<<<<<" in diverged.read(PATH)
    assert harms(diverged) == [("mixed-up", [""])]
    later(diverged, text(R1, R2, R3))
    assert audit(diverged) == ()


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
    assert [(damage.harm, damage.path) for damage in audit(diverged)] == [("lost", other)]
    diverged.write(other, checkpoint_text(skill="audit", step="again"))
    diverged.commit("again")
    assert audit(diverged) == ()


def test_an_octopus_that_lost_an_entry_is_found(diverged: GitRepo) -> None:
    diverged.git("checkout", "-q", "-b", "third", "main")
    diverged.write("readme", "x")
    diverged.commit("third")
    tree = diverged.git("rev-parse", "left^{tree}")
    commit = diverged.git("commit-tree", tree, "-p", "third", "-p", "left", "-p", "right", "-m", "octopus")
    diverged.git("checkout", "-q", "-B", "left", commit)
    (damage,) = audit(diverged)
    assert (damage.harm, damage.parents) == ("lost", tuple(diverged.git("rev-parse", "HEAD^2", "HEAD^3").split()))


# what became of it since


def test_what_is_back_is_no_news(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    assert harms(diverged) == LOST
    later(diverged, text(R1, R2, R3))
    assert audit(diverged) == ()


def test_what_came_back_and_was_removed_on_purpose_is_no_news(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    later(diverged, text(R1, R2, R3))
    later(diverged, text(R1, R2))
    assert audit(diverged) == ()


def test_what_is_mended_in_the_work_tree_is_no_news(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    repaired = text(R1, R2, R3)
    assert audit(diverged, present=lambda path: repaired.encode() if path == PATH else None) == ()


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
    assert audit(diverged) == ()


def test_a_file_that_was_removed_since_is_no_news(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    diverged.git("rm", "-q", PATH)
    diverged.commit("removed")
    (diverged.path / ".checkpoints").mkdir()
    assert audit(diverged) == ()


def test_a_present_file_that_is_no_json_is_anothers_business(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    later(diverged, "{")
    assert audit(diverged) == ()
    later(diverged, text(R1, R2, step="sprint-9"))
    assert harms(diverged) == LOST


def test_old_merges_are_left_alone(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    summer = seconds("2026-08-01T00:00:00Z")
    assert look(diverged.path, summer).damages == ()


def test_only_what_is_asked_for_is_told(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    assert audit(diverged, is_asked=lambda path: path != PATH) == ()
    assert harms(diverged) == LOST


def test_an_unfinished_merge_is_not_judged(diverged: GitRepo) -> None:
    assert diverged.exit_code("merge", "-q", "right") == 1
    assert audit(diverged) == ()


def test_a_shallow_clone_says_how_much_it_could_not_judge(diverged: GitRepo, tmp_path: Path) -> None:
    merge(diverged, text(R1, R2))
    cut = tmp_path / "cut"
    diverged.git("clone", "-q", "--depth", "2", f"file://{diverged.path}", str(cut))
    found = look(cut)
    assert (found.merges, found.cut, found.damages) == (1, 1, ())


# what is kept


@pytest.fixture
def kept(diverged: GitRepo) -> Path:
    """The file in which the verdicts on one merge are."""
    merge(diverged, text(R1, R2))
    assert harms(diverged) == LOST
    return diverged.path / ".git/checkpoint/merges"


def spoil(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.unlink(),
        spoil(lambda data: b""),
        spoil(lambda data: data[:-9]),
        spoil(lambda data: data.replace(b"lost", b"lust")),
        spoil(lambda data: data.partition(b"\n")[0] + b"\n[]"),
        spoil(lambda data: b"\xff" * 100),
        lambda path: (path.unlink(), path.mkdir()),
    ],
)
def test_a_lost_or_damaged_memory_changes_no_answer(
    diverged: GitRepo, kept: Path, harm: Callable[[Path], object]
) -> None:
    assert kept.is_file()
    harm(kept)
    assert harms(diverged) == LOST
    assert harms(diverged) == LOST


def test_a_link_in_the_place_of_the_memory_is_refused(diverged: GitRepo, kept: Path) -> None:
    kept.unlink()
    kept.symlink_to("/dev/zero")
    with pytest.raises(CheckpointError, match="checkpoint/merges is a symbolic link"):
        harms(diverged)


def test_a_git_directory_that_cannot_be_written_changes_no_answer(diverged: GitRepo, kept: Path) -> None:
    for path in (kept, kept.parent):
        path.unlink() if path.is_file() else path.rmdir()
    kept.parent.write_bytes(b"in the way")
    assert harms(diverged) == LOST


def test_what_is_known_is_not_found_out_again(diverged: GitRepo, kept: Path) -> None:
    spoiled = kept.read_bytes().partition(b"\n")
    before = kept.stat().st_mtime_ns
    assert harms(diverged) == LOST
    assert kept.stat().st_mtime_ns == before
    assert spoiled[0].startswith(b"checkpoint-git cache 1 ")


def test_what_was_mended_once_is_not_judged_again_but_where_it_was_not(diverged: GitRepo, kept: Path) -> None:
    diverged.git("branch", "elsewhere")
    later(diverged, text(R1, R2, R3))
    assert audit(diverged) == ()
    before = kept.stat().st_mtime_ns
    later(diverged, text(R1, R2, R3, step="sprint-9"))
    assert audit(diverged) == ()
    assert kept.stat().st_mtime_ns == before
    diverged.git("checkout", "-q", "elsewhere")
    assert harms(diverged) == LOST
    later(diverged, text(R1, R2, step="sprint-9"))
    assert harms(diverged) == LOST


def test_a_linked_worktree_shares_what_is_known(diverged: GitRepo, kept: Path, tmp_path: Path) -> None:
    diverged.git("worktree", "add", "-q", str(tmp_path / "linked"), "HEAD")
    before = kept.stat().st_mtime_ns
    assert harms(GitRepo(tmp_path / "linked")) == LOST
    assert kept.stat().st_mtime_ns == before


def test_every_merge_is_judged_and_what_is_still_damaged_is_judged_again(diverged: GitRepo) -> None:
    merge(diverged, text(R1, R2))
    branch_with(diverged, "more", text(R1, R3, {"at": "2026-03-05T00:00:00Z"}), "right")
    diverged.git("checkout", "-q", "left")
    merge(diverged, text(R1, R2), "more")
    found = [look(diverged.path) for _ in range(2)]
    assert [(one.cut, len(one.damages)) for one in found] == [(0, 2), (0, 2)]


def test_without_merges_nothing_is_kept(repo: GitRepo) -> None:
    repo.write(PATH, text(R1))
    repo.commit("base")
    assert audit(repo) == ()
    assert not (repo.path / ".git/checkpoint-git").exists()


def test_one_run_stops_after_its_share_of_damaged_merges_and_counts_the_rest(
    diverged: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge(diverged, text(R1, R2))
    for number in range(2):
        diverged.git("checkout", "-q", "-b", f"more-{number}")
        later(diverged, text(R1, R2, {**R3, "verdict": f"run {number}"}))
        diverged.git("checkout", "-q", "left")
        later(diverged, text(R1, R2, updated_at=f"2026-03-0{number + 2}T00:00:00Z"))
        merge(diverged, text(R1, R2, updated_at=f"2026-03-0{number + 2}T00:00:00Z"), f"more-{number}")
    monkeypatch.setattr(recent_audit, "MOST_DAMAGED", 2)
    found = look(diverged.path)
    assert (len(found.damages), found.waiting, found.cut) == (2, 1, 0)
