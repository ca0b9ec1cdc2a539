"""The merge with the upstream, foreseen in real clones and compared with what git then does."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.disk.discover import find_place
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.merges import Ancestor, Versions
from checkpoint_git.merge.conflicts import Clash
from checkpoint_git.tools.merges.audited_file import Schemas
from checkpoint_git.tools.merges.preview import FilePreview, preview_file
from checkpoint_git.tools.merges.upstream import Upstream, read_upstream
from tests.scenarios.driven import PATH, drive
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.snapshot import take_snapshot
from tests.support.verbs import NOON, seconds

Fork = Callable[..., GitRepo]
RUN = {"at": "2026-03-03T00:00:00Z", "verdict": "PASS"}


@pytest.fixture
def fork(repo: GitRepo, tmp_path: Path) -> Fork:
    """Makes a clone with the driver in which this branch and its upstream hold these texts; None
    removes the file.
    """

    def make(
        base: str | None, mine: str | bytes | None, theirs: str | bytes | None, path: str = PATH
    ) -> GitRepo:
        repo.write("readme", "x")
        put(repo, path, base)
        repo.git("clone", "-q", str(repo.path), str(tmp_path / "clone"))
        clone = GitRepo(tmp_path / "clone")
        drive(clone)
        put(repo, path, theirs)
        clone.git("fetch", "-q")
        put(clone, path, mine)
        (clone.path / ".checkpoints").mkdir(exist_ok=True)
        return clone

    return make


def put(repo: GitRepo, path: str, text: str | bytes | None) -> None:
    if text is not None:
        repo.write(path, text)
    elif (repo.path / path).exists():
        (repo.path / path).unlink()
    repo.commit("put")


def predict_line_merge(repo: GitRepo) -> Upstream | None:
    return read_upstream(find_place(str(repo.path)), seconds(NOON), dict(os.environ))


def preview(repo: GitRepo) -> FilePreview:
    """What is foreseen of the only file."""
    found = predict_line_merge(repo)
    assert found is not None
    (only,) = found.previews
    return only


def text(**changes: Any) -> str:
    return checkpoint_text(**changes)


def pull(repo: GitRepo) -> int:
    return repo.exit_code("pull", "-q", "--no-rebase", "--no-edit")


def test_a_clean_merge_is_foreseen_and_comes(fork: Fork) -> None:
    clone = fork(
        text(),
        text(step="sprint-3"),
        text(blockers=[{"id": "b", "description": "x", "needs": "info"}]),
    )
    assert preview(clone) == FilePreview(PATH, "clean")
    assert pull(clone) == 0
    assert predict_line_merge(clone) == Upstream("origin/main", ahead=2, behind=0)


def test_a_conflict_is_foreseen_with_its_place_and_comes(fork: Fork) -> None:
    clone = fork(text(), text(step="sprint-3"), text(step="sprint-4"))
    found = preview(clone)
    assert found.kind == "conflict"
    assert found.clashes == (Clash("/step", '"sprint-3"', '"sprint-4"'),)
    assert pull(clone) == 1


def test_a_file_that_only_the_upstream_changed_is_taken_whole(fork: Fork) -> None:
    clone = fork(text(), text(), text(step="sprint-4"))
    clone.write("readme", "y")
    clone.commit("ahead")
    assert preview(clone) == FilePreview(PATH, "whole")
    assert pull(clone) == 0


def test_nothing_is_said_of_what_only_this_branch_changed(fork: Fork) -> None:
    clone = fork(text(), text(step="sprint-3"), text())
    found = predict_line_merge(clone)
    assert found is not None
    assert found.previews == ()


@pytest.mark.parametrize(
    ("mine", "theirs", "kind"),
    [(None, "sprint-4", "removed-here"), ("sprint-3", None, "removed-there")],
)
def test_a_removal_against_a_change_is_foreseen_and_comes(
    fork: Fork, mine: str | None, theirs: str | None, kind: str
) -> None:
    clone = fork(text(), mine and text(step=mine), theirs and text(step=theirs))
    assert preview(clone).kind == kind
    assert pull(clone) == 1


@pytest.mark.parametrize("step", ["sprint-3", "sprint-4"])
def test_two_new_files_meet_without_a_base(fork: Fork, step: str) -> None:
    other = text(
        step=step,
        updated_at="2026-03-02T10:00:00Z",
        status="in_progress" if step == "sprint-3" else "failed",
    )
    clone = fork(None, text(step="sprint-3"), other)
    assert preview(clone).kind == ("clean" if step == "sprint-3" else "conflict")
    assert (pull(clone) == 0) == (step == "sprint-3")


def test_a_renamed_file_is_followed(fork: Fork) -> None:
    clone = fork(text(), text(), text(step="sprint-4"))
    new = ".checkpoints/builder.checkpoint.json"
    clone.git("mv", PATH, new)
    clone.commit("rename")
    assert preview(clone) == FilePreview(new, "whole")
    assert pull(clone) == 0


@pytest.mark.parametrize("broken", [b"{not json", b'{"a": 1, "a": 2}', b"\xff\xfe", b"[" * 5_000])
def test_what_is_no_json_is_left_to_gits_lines(fork: Fork, broken: bytes) -> None:
    clone = fork(text(), text(step="sprint-3"), broken)
    found = preview(clone)
    assert (found.kind, found.clashes) == ("text", ())
    assert found.detail.startswith("theirs cannot be read as JSON: ")
    assert pull(clone) == 1


def test_lines_that_merge_into_a_document_again_are_clean(fork: Fork) -> None:
    broken = text().replace('"phase"', '"step": "twice", "phase"')
    clone = fork(
        broken, text().replace('"status": "in_progress"', '"status": "blocked"', 1), broken + "\n"
    )
    assert preview(clone).kind == "clean"
    assert pull(clone) == 0


def test_a_merged_document_that_breaks_a_rule_is_foreseen() -> None:
    base, mine, theirs = (
        text(next_actions=actions).encode() for actions in (["a", "b"], ["b"], ["a"])
    )
    file = Versions(PATH, "", (Ancestor(base, ()),), mine, theirs, mine, (1, 2))
    # by a schema that does not say that the list may not be empty
    plain = preview_file(file, {}, "conflict", seconds(NOON))
    assert (plain.kind, plain.invalid.partition(":")[0]) == ("clean", "/next_actions")
    broken = file._replace(second=text(next_actions=["a"], status="nonsense").encode())
    assert preview_file(broken, {}, "conflict", seconds(NOON)).invalid == "", (
        "that side was wrong before"
    )
    assert (
        preview_file(file, Schemas(Choices()).load(PATH), "conflict", seconds(NOON)).kind
        == "conflict"
    )


def test_uncommitted_changes_are_in_the_way(fork: Fork) -> None:
    clone = fork(text(), text(), text(step="sprint-4"))
    assert not preview(clone).in_the_way
    clone.write(PATH, text(step="sprint-3"))
    assert preview(clone).in_the_way
    assert pull(clone) != 0


def test_an_untracked_file_is_in_the_way(fork: Fork) -> None:
    clone = fork(None, None, text())
    clone.write(PATH, text())
    assert preview(clone).in_the_way
    assert pull(clone) != 0


def test_unrelated_histories_and_lost_upstreams_are_said(fork: Fork, repo: GitRepo) -> None:
    clone = fork(text(), text(), text())
    repo.git("checkout", "-q", "--orphan", "other")
    repo.commit("other")
    clone.git("fetch", "-q")
    clone.git("branch", "-q", "--set-upstream-to", "origin/other")
    found = predict_line_merge(clone)
    assert found is not None
    assert (found.name, found.state) == ("origin/other", "unrelated")
    clone.git("update-ref", "-d", "refs/remotes/origin/other")
    found = predict_line_merge(clone)
    assert found is not None
    assert (found.name, found.state) == ("origin/other", "gone")


def test_a_shallow_clone_says_that_nothing_can_be_told(
    fork: Fork, repo: GitRepo, tmp_path: Path
) -> None:
    fork(text(), text(), text(step="sprint-4"))
    repo.git("branch", "topic", "HEAD~1")
    repo.git(
        "clone",
        "-q",
        "--depth",
        "1",
        "--no-single-branch",
        f"file://{repo.path}",
        str(tmp_path / "cut"),
    )
    cut = GitRepo(tmp_path / "cut")
    cut.git("checkout", "-q", "-b", "mine", "origin/topic")
    put(cut, PATH, text(step="sprint-3"))
    cut.git("branch", "-q", "--set-upstream-to", "origin/main")
    found = predict_line_merge(cut)
    assert found is not None
    assert found.state == "cut"


def test_a_criss_cross_is_merged_over_the_merge_of_its_bases(fork: Fork, repo: GitRepo) -> None:
    clone = fork(
        text(skill_state={"n": []}), text(skill_state={"n": ["l"]}), text(skill_state={"n": ["r"]})
    )
    mine, theirs = clone.git("rev-parse", "HEAD"), repo.git("rev-parse", "HEAD")
    repo.git("fetch", "-q", str(clone.path), "main")
    drive(repo)
    for one, other, changes in (
        (repo, mine, {"step": "sprint-5"}),
        (clone, theirs, {"project": "new"}),
    ):
        one.git("merge", "-q", "--no-edit", other)
        put(one, PATH, text(skill_state={"n": ["l", "r"]}, **changes))
    clone.git("fetch", "-q")
    assert len(clone.git("merge-base", "--all", "HEAD", "origin/main").split()) == 2
    assert preview(clone).kind == "clean"
    assert pull(clone) == 0
    assert json.loads(clone.read(PATH))["step"] == "sprint-5"


def test_the_clones_own_choices_are_used(fork: Fork) -> None:
    mine = text(step="sprint-3", updated_at="2026-03-02T10:00:00Z")
    clone = fork(text(), mine, text(step="sprint-4", updated_at="2026-03-02T11:00:00Z"))
    drive(clone, choices=Choices("conflict"))
    assert preview(clone).kind == "conflict"
    drive(clone)
    assert preview(clone).kind == "clean"
    assert pull(clone) == 0


def test_a_private_schema_that_is_gone_is_merged_without(fork: Fork, tmp_path: Path) -> None:
    clone = fork(text(), text(skill_state={"a": 1}), text(step="sprint-4"))
    drive(clone, choices=Choices(schema=str(tmp_path / "gone.json")))
    assert preview(clone).kind == "clean"


def test_without_our_driver_the_answer_says_so(fork: Fork) -> None:
    clone = fork(text(), text(step="sprint-3"), text(project="other"))
    assert preview(clone).driven
    (clone.path / ".git/info/attributes").unlink()
    assert not preview(clone).driven
    drive(clone)
    clone.git("config", "merge.checkpoint.driver", "true")
    assert not preview(clone).driven


def test_a_pull_that_rebases_is_known(fork: Fork) -> None:
    clone = fork(text(), text(step="sprint-3"), text(project="other"))
    clone.git("config", "pull.rebase", "true")
    found = predict_line_merge(clone)
    assert found is not None
    assert found.rebases


def test_looking_ahead_changes_nothing(fork: Fork) -> None:
    clone = fork(text(), text(step="sprint-3"), text(step="sprint-4"))
    before = take_snapshot(clone.path)
    predict_line_merge(clone)
    assert take_snapshot(clone.path) == before


def test_a_path_may_have_a_line_end_in_it(fork: Fork) -> None:
    path = ".checkpoints/a\nb.checkpoint.json"
    clone = fork(text(), text(step="sprint-3"), text(step="sprint-4"), path)
    assert (preview(clone).path, preview(clone).kind) == (path, "conflict")


def test_a_clone_without_an_upstream_does_not_even_load_the_merge(repo: GitRepo) -> None:
    repo.write(PATH, text())
    repo.commit("base")
    code = (
        "import os, sys; from checkpoint_git.disk.discover import find_place; "
        "from checkpoint_git.tools.merges.upstream import read_upstream; "
        "print(read_upstream(find_place('.'), 0, os.environ), 'checkpoint_git.merge' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=repo.path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["None", "False"]
