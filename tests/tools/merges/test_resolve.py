"""Conflicts of real merges, decided from git's index: nothing is lost, and only what is clean and
valid is staged.
"""

import io
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.cli.render.json import write as write_json
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.core.outcome import Line
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.merge.conflicts import Conflict
from checkpoint_git.merge.result import OURS as OURS_SIDE
from checkpoint_git.tools.merges import resolve
from checkpoint_git.tools.merges.asker import Asker
from checkpoint_git.tools.merges.decisions import ResolveRequest
from checkpoint_git.tools.merges.unmerged import Case
from tests.scenarios.driven import PATH, branch_with, drive
from tests.support.command import BIN, run_checkpoint
from tests.support.repos import BARE_MUST_BE_NAMED, GitRepo, needs_git
from tests.support.samples import checkpoint, checkpoint_text
from tests.support.streams import Stream
from tests.support.verbs import Ran, lines_of, run_verb
from tests.support.workflows import execution, phase, task, text_of, write_workflow

# the step is asked for: ours says no later instant than the base
ZDIFF3 = pytest.param("zdiff3", marks=needs_git(2, 35, feature="merge.conflictStyle=zdiff3"))
STYLES = ["merge", "diff3", ZDIFF3]
OURS: dict[str, Any] = {
    "step": "ours-step",
    "project": "mine",
    "updated_at": "2026-03-02T09:30:00Z",
}
THEIRS: dict[str, Any] = {
    "step": "theirs-step",
    "project": "yours",
    "updated_at": "2026-03-04T00:00:00Z",
}
LATER = "2026-03-04T00:00:00Z"


def conflicted(
    repo: GitRepo,
    base: str | bytes | None = None,
    ours: str | bytes | None = "",
    theirs: str | bytes | None = "",
    *,
    driver: bool = True,
    path: str = PATH,
    style: str = "merge",
) -> GitRepo:
    """A merge of two branches that stopped at the checkpoint. None: the side has no such file; "":
    the usual one.
    """
    if driver:
        drive(repo)
    repo.configure({"merge.conflictStyle": style})
    base = checkpoint_text() if base is None else base
    ours = checkpoint_text(**OURS) if ours == "" else ours
    theirs = checkpoint_text(**THEIRS) if theirs == "" else theirs

    stream = Stream()
    stream.commit("main", [], {"other.txt": "other\n", **({path: base} if base else {})})
    stream.commit("right", ["main"], {path: theirs})
    stream.commit("left", ["main"], {path: ours})
    stream.write(repo)
    repo.git("checkout", "-q", "left")
    repo.git("merge", "-q", "right", check=False)
    assert f"{path}\0" in repo.git("diff", "--name-only", "-z", "--diff-filter=U")
    return repo


def run(repo: GitRepo, *words: str, answer: str | None = None, cwd: Path | None = None) -> Ran:
    return run_verb(resolve, *words, cwd=cwd or repo.path, now=LATER, answer=answer)


def said(ran: Ran) -> str:
    """Everything that the outcome tells a person."""
    outcome = ran.outcome
    blocks = [line for block in (*outcome.blocks, *outcome.summary) for line in lines_of(block)]
    return "\n".join(
        [*blocks, *(f"{finding.message} / {finding.hint}" for finding in outcome.findings)]
    )


def value(repo: GitRepo, path: str = PATH) -> Any:
    return json.loads(repo.read(path))


def staged(repo: GitRepo, path: str = PATH) -> str:
    """The content in the index, and that nothing else differs from it."""
    assert repo.git("ls-files", "-u") == ""
    assert repo.git("diff", "--name-only") == ""
    return repo.run("git", "cat-file", "blob", f":{path}").stdout.decode()


def unmerged(repo: GitRepo) -> bool:
    return repo.git("ls-files", "-u") != ""


# taking a side


@pytest.mark.parametrize(
    ("take", "step", "project"),
    [
        ("ours", "ours-step", "mine"),
        ("theirs", "theirs-step", "yours"),
        ("base", "sprint-2", "tidepool"),
        ("newest", "theirs-step", "yours"),
    ],
)
def test_taking_a_side_decides_every_conflict_and_stages(
    repo: GitRepo, take: str, step: str, project: str
) -> None:
    ran = run(conflicted(repo), "--take", take)
    assert ran.outcome.code == 0
    merged = checkpoint_text(step=step, project=project, updated_at=LATER)
    assert repo.read(PATH) == staged(repo) == merged
    assert repo.git("commit", "-q", "-m", "merged") == ""


def test_only_the_named_place_is_decided_and_the_rest_stays_marked(repo: GitRepo) -> None:
    ran = run(conflicted(repo), PATH, "--where", "/step", "--take", "theirs")
    assert ran.outcome.code == 1
    assert unmerged(repo)
    text = repo.read(PATH)
    assert '"step": "theirs-step"' in text
    assert "ours: /project" in text
    assert "ours: /step" not in text
    assert [(finding.code, finding.where) for finding in ran.outcome.findings] == [
        ("resolve/undecided", "/project")
    ]


def test_decisions_add_up_over_several_calls(repo: GitRepo) -> None:
    conflicted(repo)
    assert run(repo, PATH, "--where", "/step", "--take", "theirs").outcome.code == 1
    assert run(repo, PATH, "--where", "/project", "--take", "ours").outcome.code == 0
    assert staged(repo) == checkpoint_text(step="theirs-step", project="mine", updated_at=LATER)


def test_a_decision_can_be_changed_before_the_last_one(repo: GitRepo) -> None:
    conflicted(repo)
    run(repo, "--where", "/step", "--take", "theirs")
    run(repo, "--where", "/step", "--take", "ours")
    run(repo, "--take", "theirs")
    assert json.loads(staged(repo))["step"] == "ours-step"
    assert json.loads(staged(repo))["project"] == "yours"


def test_a_side_chosen_by_hand_between_the_markers_counts_as_decided(repo: GitRepo) -> None:
    conflicted(repo)
    text = repo.read(PATH)
    start, end = text.index("<<<<<<< ours: /project"), text.index(">>>>>>> theirs: /project\n")
    chosen = '  "project": "yours",\n'
    repo.write(PATH, text[:start] + chosen + text[end + len(">>>>>>> theirs: /project\n") :])
    run(repo, "--take", "ours")
    assert (json.loads(staged(repo))["project"], json.loads(staged(repo))["step"]) == (
        "yours",
        "ours-step",
    )


def test_several_places_can_be_named(repo: GitRepo) -> None:
    ran = run(conflicted(repo), "--where", "/step", "--where", "/project", "--take", "ours")
    assert ran.outcome.code == 0
    assert value(repo)["project"] == "mine"


def test_a_place_without_a_conflict_is_an_error_that_names_the_conflicts(repo: GitRepo) -> None:
    conflicted(repo)
    with pytest.raises(CheckpointError) as caught:
        run(repo, "--where", "/nowhere", "--take", "ours")
    assert caught.value.message == "no conflict at /nowhere"
    assert str(caught.value.hint) == "there are: /project, /step"


def test_any_place_of_a_group_names_it(repo: GitRepo) -> None:
    conflicted(
        repo,
        ours=checkpoint_text(step="a", progress_summary="A"),
        theirs=checkpoint_text(step="b", progress_summary="B"),
    )
    assert run(repo, "--where", "/progress_summary", "--take", "theirs").outcome.code == 0
    assert (value(repo)["step"], value(repo)["progress_summary"]) == ("b", "B")


def test_a_tie_is_not_decided_as_newest(repo: GitRepo) -> None:
    same = {"updated_at": LATER}
    conflicted(
        repo, ours=checkpoint_text(step="a", **same), theirs=checkpoint_text(step="b", **same)
    )
    before = repo.read(PATH)
    ran = run(repo, "--take", "newest")
    assert ran.codes == ["resolve/no-newest"]
    assert repo.read(PATH) == before
    assert unmerged(repo)


def test_each_file_has_its_own_newest(repo: GitRepo) -> None:
    drive(repo)
    other = ".checkpoints/plan.checkpoint.json"
    repo.write(PATH, checkpoint_text())
    repo.write(other, checkpoint_text(skill="plan"))
    repo.commit("base")
    for name, day, other_day in (("right", 4, 3), ("left", 3, 4)):
        repo.git("checkout", "-q", "-b", name, "main")
        repo.write(PATH, checkpoint_text(step=name, updated_at=f"2026-03-0{day}T00:00:00Z"))
        repo.write(
            other,
            checkpoint_text(skill="plan", step=name, updated_at=f"2026-03-0{other_day}T00:00:00Z"),
        )
        repo.commit(name)
    repo.git("merge", "-q", "right", check=False)
    assert run(repo, "--take", "newest").outcome.code == 0
    assert (value(repo)["step"], value(repo, other)["step"]) == ("right", "left")


def test_what_is_decided_but_not_valid_is_written_and_not_staged(repo: GitRepo) -> None:
    conflicted(repo, theirs=checkpoint_text(project=""))
    ran = run(repo, "--take", "theirs")
    assert ran.outcome.code == 1
    assert ran.codes[-1] == "resolve/not-valid"
    assert len(ran.codes) == 2
    assert value(repo)["project"] == ""
    assert unmerged(repo)


def test_a_dry_run_changes_nothing(repo: GitRepo) -> None:
    conflicted(repo)
    before = repo.read(PATH)
    ran = run(repo, "--take", "ours", "--dry-run")
    assert ran.outcome.code == 0
    assert "would be staged" in said(ran)
    assert repo.read(PATH) == before
    assert unmerged(repo)


# merges that ran without the driver


@pytest.mark.parametrize("style", STYLES)
def test_a_merge_without_the_driver_is_made_again(repo: GitRepo, style: str) -> None:
    conflicted(repo, driver=False, style=style)
    assert "<<<<<<< HEAD" in repo.read(PATH)
    assert run(repo, "--take", "theirs").outcome.code == 0
    assert staged(repo) == checkpoint_text(**THEIRS)
    assert not list(repo.path.glob(".checkpoints/*.before-resolve*"))


@pytest.mark.parametrize("style", STYLES)
def test_what_only_git_found_conflicting_is_merged_unasked(repo: GitRepo, style: str) -> None:
    ours, theirs = (
        checkpoint_text(updated_at="2026-03-03T00:00:00Z"),
        checkpoint_text(updated_at=LATER),
    )
    conflicted(repo, ours=ours, theirs=theirs, driver=False, style=style)
    ran = run(repo)
    assert ran.outcome.code == 0
    assert staged(repo) == theirs


def test_a_file_that_git_left_as_ours_without_markers_is_not_taken_for_decided(
    repo: GitRepo,
) -> None:
    repo.write(".gitattributes", "*.checkpoint.json -merge\n")
    conflicted(repo, ours=checkpoint_text(step="a"), theirs=checkpoint_text(step="b"), driver=False)
    assert repo.read(PATH) == checkpoint_text(step="a")
    assert run(repo).codes == ["resolve/undecided"]
    assert unmerged(repo)


def test_two_documents_of_different_things_are_one_conflict_of_the_whole_file(
    repo: GitRepo,
) -> None:
    one, other = (text_of(phase(workflow_id=name)) for name in ("one", "other"))
    ran = run(conflicted(repo, base=b"", ours=one, theirs=other, path="memory/state/phase.json"))
    assert ran.outcome.findings[0].message.startswith("undecided at the whole file: ours ")


@pytest.mark.parametrize("driver", [True, False])
def test_a_file_added_on_both_sides_is_merged(repo: GitRepo, driver: bool) -> None:
    ours, theirs = checkpoint_text(step="a", blockers=...), checkpoint_text(step="b", pm_refs=[])
    conflicted(repo, base=b"", ours=ours, theirs=theirs, driver=driver)
    ran = run(repo, "--take", "theirs")
    assert ran.outcome.data["files"][0]["kind"] == "both-added"
    assert ran.outcome.code == 0
    assert (value(repo)["step"], value(repo)["pm_refs"], value(repo)["blockers"]) == ("b", [], [])


# deleted on one side


def test_a_removal_against_a_change_says_what_each_side_did(repo: GitRepo) -> None:
    ran = run(conflicted(repo, ours=None))
    assert ran.codes == ["resolve/undecided"]
    message = ran.outcome.findings[0].message
    assert message.startswith(
        "undecided: the whole file: ours removed the file, theirs changed it (project: yours; "
    )
    assert unmerged(repo)


@pytest.mark.parametrize(("ours", "theirs"), [(None, ""), ("", None)])
@pytest.mark.parametrize("driver", [True, False])
def test_the_side_that_changed_it_can_be_kept(
    repo: GitRepo, ours: str | None, theirs: str | None, driver: bool
) -> None:
    conflicted(repo, ours=ours, theirs=theirs, driver=driver)
    kept, text = (
        ("theirs", checkpoint_text(**THEIRS)) if ours is None else ("ours", checkpoint_text(**OURS))
    )
    ran = run(repo, "--take", kept)
    assert ran.outcome.code == 0
    assert staged(repo) == text
    assert "git rm" in said(ran)


@pytest.mark.parametrize(("ours", "theirs"), [(None, ""), ("", None)])
def test_the_side_that_removed_it_can_be_taken_and_undone(
    repo: GitRepo, ours: str | None, theirs: str | None
) -> None:
    conflicted(repo, ours=ours, theirs=theirs)
    ran = run(repo, "--take", "ours" if ours is None else "theirs")
    assert ran.outcome.code == 0
    assert ran.outcome.data["files"][0]["removed"] is True
    assert not (repo.path / PATH).exists()
    assert repo.git("ls-files", PATH) == ""
    way_back = next(line for line in said(ran).splitlines() if "undo: " in line).partition(
        "undo: "
    )[2]
    assert repo.run("sh", "-c", way_back).returncode == 0
    assert staged(repo) == (checkpoint_text(**THEIRS) if ours is None else checkpoint_text(**OURS))


def test_the_version_before_both_can_be_taken(repo: GitRepo) -> None:
    assert run(conflicted(repo, ours=None), "--take", "base").outcome.code == 0
    assert staged(repo) == checkpoint_text()


def test_only_what_can_be_taken_is_offered(repo: GitRepo) -> None:
    hint = str(run(conflicted(repo, ours=None)).outcome.findings[0].hint)
    # ours is the removal
    assert hint == f"take ours, theirs or base: checkpoint resolve {PATH} --take theirs"
    repo.git("merge", "--abort")
    conflicted(
        GitRepo.create(repo.path / "added"), base=b"", ours=checkpoint_text(step="a", phase="a")
    )
    added = run(GitRepo(repo.path / "added"))
    assert all(
        "take ours, theirs or newest: " in str(finding.hint) for finding in added.outcome.findings
    )
    assert run(GitRepo(repo.path / "added"), "--where", "/phase", "--take", "base").codes == [
        "resolve/no-base"
    ]


def test_what_was_decided_into_something_invalid_can_be_decided_again(repo: GitRepo) -> None:
    conflicted(
        repo,
        ours=checkpoint_text(status="almost"),
        theirs=checkpoint_text(status="failed", project="x"),
    )
    first = run(repo, "--take", "ours")
    assert first.codes == ["skill/unknown-status", "resolve/not-valid"]
    assert f"git add -- {PATH}" in str(first.outcome.findings[1].hint)
    assert run(repo).codes == first.codes
    assert run(repo, "--take", "theirs").outcome.code == 0
    assert value(repo)["status"] == "failed"


def test_of_a_pick_that_leaves_nothing_to_commit_the_rest_is_skipped(repo: GitRepo) -> None:
    repo.diverge(*({PATH: checkpoint_text(step=step)} for step in ("one", "two", "three")))
    repo.git("cherry-pick", "right", check=False)
    ran = run(repo, "--take", "ours")
    command = said(ran).partition("finish with: ")[2].partition(" (")[0]
    assert (command, repo.exit_code(*command.split()[1:])) == ("git cherry-pick --skip", 0)
    assert repo.git("status", "--porcelain") == ""


def test_neither_side_of_a_removal_is_the_newest(repo: GitRepo) -> None:
    assert run(conflicted(repo, ours=None), "--take", "newest").codes == ["resolve/no-newest"]


def test_a_removal_never_takes_an_edited_file_away(repo: GitRepo) -> None:
    conflicted(repo, ours=None)
    repo.write(PATH, checkpoint_text(step="by hand"))
    ran = run(repo, "--take", "ours")
    assert ran.outcome.data["files"][0]["kept_copy"] == f"{PATH}.before-resolve"
    assert repo.read(f"{PATH}.before-resolve") == checkpoint_text(step="by hand")
    assert not (repo.path / PATH).exists()


def test_two_renames_of_one_file_are_decided_name_by_name(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text())
    repo.commit("base")
    for branch, name in (("right", "two"), ("left", "one")):
        repo.git("checkout", "-q", "-b", branch, "main")
        repo.git("mv", PATH, f".checkpoints/{name}.checkpoint.json")
        repo.write(f".checkpoints/{name}.checkpoint.json", checkpoint_text(skill=name))
        repo.commit(branch)
    repo.git("merge", "-q", "right", check=False)
    ran = run(repo)
    kinds = {
        file["path"].split("/")[1].split(".")[0]: file["kind"] for file in ran.outcome.data["files"]
    }
    assert kinds == {"build": "both-deleted", "one": "added-by-ours", "two": "added-by-theirs"}
    assert run(repo, PATH, "--take", "ours").outcome.data["files"][0]["removed"] is True
    assert repo.git("ls-files", PATH) == ""
    # git wrote what both sides have under both names, with markers
    assert run(repo, ".checkpoints/one.checkpoint.json", "--take", "ours").codes == []
    assert (
        repo.git("show", ":.checkpoints/one.checkpoint.json")
        == checkpoint_text(skill="one").rstrip()
    )
    assert (
        run(repo, ".checkpoints/two.checkpoint.json", "--take", "ours").outcome.data["files"][0][
            "removed"
        ]
        is True
    )


# what cannot be merged


def test_a_side_that_is_no_json_is_decided_as_a_whole(repo: GitRepo) -> None:
    conflicted(repo, theirs='{"a": 1,\n')
    listed = run(repo)
    assert "theirs is not JSON that can be merged: line 2" in listed.outcome.findings[0].message
    refused = run(repo, "--take", "theirs")
    assert refused.codes[-1] == "resolve/not-valid"
    assert repo.read(PATH) == '{"a": 1,\n'
    taken = run(repo, "--take", "ours")
    assert taken.outcome.code == 0
    assert staged(repo) == checkpoint_text(**OURS)
    # what was not taken
    assert repo.read(taken.outcome.data["files"][0]["kept_copy"]) == '{"a": 1,\n'


def test_a_symbolic_link_on_one_side_is_left_alone(repo: GitRepo) -> None:
    conflicted(repo)
    entries = repo.git("ls-files", "-u").replace("100644 ", "120000 ").encode()
    repo.git("update-index", "--force-remove", PATH)
    repo.run("git", "update-index", "--index-info", stdin=entries)
    before = repo.read(PATH)
    ran = run(repo, "--take", "ours")
    assert ran.codes == ["resolve/not-a-file"]
    assert "a symbolic link or a submodule" in ran.outcome.findings[0].message
    assert repo.read(PATH) == before


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_is_no_file_in_the_work_tree_is_left_alone(
    repo: GitRepo, tmp_path: Path, kind: str
) -> None:
    conflicted(repo)
    target = tmp_path / "target"
    target.write_text("untouched")
    (repo.path / PATH).unlink()
    (repo.path / PATH).symlink_to(target) if kind == "link" else (repo.path / PATH).mkdir()
    assert run(repo, "--take", "ours").codes == ["resolve/not-a-file"]
    assert target.read_text() == "untouched"


def test_a_folder_that_became_a_link_out_of_the_repository_is_not_followed(
    repo: GitRepo, tmp_path: Path
) -> None:
    conflicted(repo)
    outside = tmp_path / "outside"
    (repo.path / ".checkpoints").rename(outside)
    (repo.path / ".checkpoints").symlink_to(outside)
    before = (outside / "build.checkpoint.json").read_bytes()
    assert run(repo, "--take", "ours").codes == ["resolve/not-a-file"]
    assert (outside / "build.checkpoint.json").read_bytes() == before


# a file that was edited meanwhile


def test_a_file_resolved_by_hand_is_left_alone_off_a_terminal(repo: GitRepo) -> None:
    conflicted(repo)
    repo.write(PATH, checkpoint_text(step="by hand"))
    ran = run(repo)
    assert ran.codes == ["resolve/edited"]
    assert "is a valid checkpoint now" in ran.outcome.findings[0].message
    assert repo.read(PATH) == checkpoint_text(step="by hand")


def test_what_a_resolution_by_hand_lost_is_told(repo: GitRepo) -> None:
    blocker = {
        "id": "b1",
        "description": "which region?",
        "type": "user_decision",
        "needs": "an answer",
    }
    conflicted(repo, theirs=checkpoint_text(step="theirs", blockers=[blocker]))
    repo.write(PATH, checkpoint_text(step="by hand"))
    (found,) = run(repo).outcome.findings
    assert found.message.endswith(
        "a valid checkpoint now, but " + found.message.rpartition("but ")[2]
    )
    assert "blockers[b1]: " in found.message
    assert "of theirs is gone" in found.message
    assert "blockers[b1]: " in run(repo, answer="e\n").stderr


def test_a_file_resolved_by_hand_can_be_staged_as_it_is(repo: GitRepo) -> None:
    conflicted(repo)
    repo.write(PATH, checkpoint_text(step="by hand"))
    assert run(repo, answer="s\n").outcome.code == 0
    assert staged(repo) == checkpoint_text(step="by hand")


def test_a_half_edited_file_cannot_be_staged(repo: GitRepo) -> None:
    conflicted(repo)
    repo.write(PATH, repo.read(PATH).replace("Passkeys", "Passwords"))
    ran = run(repo, answer="s\ne\n")
    assert "please answer with one of: m, e, q" in ran.stderr
    assert ran.codes == ["resolve/edited"]
    assert unmerged(repo)


@pytest.mark.parametrize("driver", [True, False])
def test_an_edited_file_is_kept_beside_before_it_is_replaced(repo: GitRepo, driver: bool) -> None:
    conflicted(repo, driver=driver)
    for number, end in ((1, ""), (2, "-2")):
        edited = repo.read(PATH).replace("Passkeys", f"Passwords {number} and Passkeys")
        repo.write(PATH, edited)
        ran = run(repo, "--where", "/step", "--take", "ours")
        assert repo.read(f"{PATH}.before-resolve{end}") == edited
        assert f"kept as {PATH}.before-resolve{end}" in said(ran)
        assert "Passwords" not in repo.read(PATH)


def test_a_file_that_changes_while_somebody_thinks_is_not_overwritten(repo: GitRepo) -> None:
    conflicted(repo)

    class Thinking(Asker):
        def ask_side(self, case: Case, conflict: Conflict) -> int | None:
            repo.write(PATH, "{}\n")
            return OURS_SIDE

    with pytest.raises(CheckpointError, match="changed while it was being resolved"):
        resolve.resolve(str(repo.path), ResolveRequest(), 0, Thinking(io.StringIO(), io.StringIO()))
    assert repo.read(PATH) == "{}\n"
    assert unmerged(repo)


def test_a_resolution_that_rerere_replayed_is_offered_as_it_is(repo: GitRepo) -> None:
    repo.git("config", "rerere.enabled", "true")
    conflicted(repo, driver=False)
    repo.write(PATH, checkpoint_text(step="remembered"))
    repo.commit("merged")
    repo.git("reset", "-q", "--hard", "HEAD^")
    repo.git("merge", "-q", "right", check=False)
    assert repo.read(PATH) == checkpoint_text(step="remembered")
    assert run(repo).codes == ["resolve/edited"]
    assert run(repo, answer="s\n").outcome.code == 0
    assert staged(repo) == checkpoint_text(step="remembered")


# a person at the terminal


def test_a_person_is_asked_about_each_conflict(repo: GitRepo) -> None:
    ran = run(conflicted(repo), answer="t\nours\n")
    assert ran.outcome.code == 0
    assert (value(repo)["project"], value(repo)["step"]) == ("yours", "ours-step")
    for line in (
        f"{PATH}: /project",
        '  base    "tidepool"',
        '  ours    "mine"',
        '  theirs  "yours"',
    ):
        assert line in ran.stderr.splitlines()
    assert "[o]urs [t]heirs [n]ewest (theirs) [b]ase [e]dit later [q]uit? " in ran.stderr
    assert f"undo: git checkout --merge -- {PATH}" in said(ran)


@pytest.mark.parametrize(
    ("answers", "asked"), [("t\nq\n", 2), ("t\n", 2), ("q\n", 1), ("", 1), ("t\ne\n", 2)]
)
def test_what_was_not_chosen_stays_in_conflict(repo: GitRepo, answers: str, asked: int) -> None:
    ran = run(conflicted(repo), answer=answers)
    assert ran.outcome.code == 1
    assert ran.stderr.count("[o]urs") == asked
    assert unmerged(repo)
    assert "ours: /step" in repo.read(PATH)
    assert ("ours: /project" in repo.read(PATH)) is not answers.startswith("t")


def test_an_answer_that_makes_no_sense_is_asked_again(repo: GitRepo) -> None:
    ran = run(conflicted(repo), answer="what?\nn\nb\n")
    assert "please answer with one of: o, t, n, b, e, q" in ran.stderr
    assert (value(repo)["project"], value(repo)["step"]) == ("yours", "sprint-2")


def test_lists_and_objects_are_shown_a_line_each(repo: GitRepo) -> None:
    actions = {
        "ours": [f"action {number}" for number in range(20, 0, -1)],
        "theirs": [f"action {number}" for number in (3, 1, 2, *range(4, 21))],
        "base": [f"action {number}" for number in range(1, 21)],
    }
    base, ours, theirs = (
        checkpoint_text(next_actions=actions[side]) for side in ("base", "ours", "theirs")
    )
    ran = run(conflicted(repo, base, ours, theirs), answer="o\n")
    assert "          []: action 19" in ran.stderr.splitlines()
    assert "          ... and 8 more" in ran.stderr.splitlines()


def test_hostile_text_is_escaped_at_the_prompt(repo: GitRepo) -> None:
    ran = run(conflicted(repo, theirs=checkpoint_text(project="\x1b[2J\u202e")), answer="o\n")
    assert "\x1b" not in ran.stderr
    assert "\u202e" not in ran.stderr
    assert "\\u001b[2J\\u202e" in ran.stderr


def test_a_removal_is_asked_about_as_a_whole(repo: GitRepo) -> None:
    ran = run(conflicted(repo, ours=None), answer="t\n")
    assert f"{PATH}: the whole file" in ran.stderr
    assert "ours removed the file, theirs changed it" in ran.stderr
    assert staged(repo) == checkpoint_text(**THEIRS)


# what is said


def test_off_a_terminal_the_conflicts_are_listed_with_their_commands(repo: GitRepo) -> None:
    conflicted(repo)
    before = repo.read(PATH)
    ran = run(repo)
    assert ran.outcome.code == 1
    first = ran.outcome.findings[0]
    assert first.message == 'undecided at /project: ours "mine", theirs "yours" (base "tidepool")'
    assert (
        str(first.hint)
        == f"take ours, theirs, newest or base: checkpoint resolve {PATH} --where /project --take ours"
    )
    assert repo.read(PATH) == before


def test_every_field_of_a_group_is_listed_and_git_s_words_decide_it(repo: GitRepo) -> None:
    sides = [
        checkpoint_text(step=f"{name} \x1b[2J", phase=name, progress_summary="x" * 300)
        for name in ("a", "b")
    ]
    conflicted(repo, ours=sides[0], theirs=sides[1])
    before = repo.read(PATH)
    fields = ["/phase: ours", "/step: ours"]
    ran = run(repo, "--list", answer="o\n")
    assert (ran.outcome.code, ran.stderr, repo.read(PATH)) == (1, "", before)
    shown = [
        line.text for block in ran.outcome.blocks for line in [block] if isinstance(line, Line)
    ]
    assert shown[1:] == [
        f"{PATH}: decided together:",
        '  /phase: ours "a", theirs "b" (base "build-loop")',
        '  /step: ours "a \\u001b[2J", theirs "b \\u001b[2J" (base "sprint-2")',
    ]
    (finding,) = ran.outcome.findings
    assert finding.message == "undecided at /phase, /step: 2 fields that are decided together"

    # the driver says the same
    again = repo.run("git", "checkout", "--merge", "--", PATH).stderr.decode()
    lines = [
        line.removeprefix("checkpoint: ").strip()
        for line in again.splitlines()
        if line.startswith("checkpoint:")
    ]
    assert lines[0] == f"conflict in {PATH} at 2 fields that are decided together:"
    assert [line.partition(' "')[0] for line in lines[1:-1]] == fields
    assert lines[-1].endswith(f"checkpoint resolve {PATH} --where /phase --take ours")

    assert (
        run(repo, "--theirs", "--dry-run").outcome.data["files"][0]["decided"][0]["take"]
        == "theirs"
    )
    assert run(repo, "--ours").outcome.code == 0
    assert (value(repo)["phase"], unmerged(repo)) == ("a", False)
    with pytest.raises(CheckpointError):
        run(repo, "--list", "--theirs")


def test_the_listed_commands_resolve_from_where_they_were_printed(repo: GitRepo) -> None:
    conflicted(repo)
    folder = repo.path / "a folder"
    folder.mkdir()
    for finding in run(repo, cwd=folder).outcome.findings:
        command = str(finding.hint).partition(": ")[2]
        repo.run(
            "sh",
            "-c",
            command.replace("checkpoint", shlex.quote(str(BIN / "checkpoint")), 1),
            cwd=folder,
        )
    assert staged(repo) == checkpoint_text(**{**OURS, "updated_at": LATER})


def test_json_holds_every_value_and_what_became_of_it(repo: GitRepo) -> None:
    conflicted(repo, theirs=checkpoint_text(**{**THEIRS, "project": ...}))
    run(repo, "--where", "/step", "--take", "theirs")
    data = run(repo).outcome.data
    assert data["operation"] == "merge"
    assert data["still_unmerged"] == [PATH]
    assert data["files"] == [
        {
            "path": PATH,
            "kind": "both-modified",
            "conflicts": [
                {"where": "/project", "places": ["/project"], "ours": "mine", "base": "tidepool"},
                {
                    "where": "/step",
                    "places": ["/step"],
                    "ours": {"step": "ours-step"},
                    "base": {"step": "sprint-2"},
                    "theirs": {"step": "theirs-step"},
                },
            ],
            "decided": [{"where": "/step", "take": "theirs"}],
            "remaining": ["/project"],
            "staged": False,
            "removed": False,
            "kept_copy": None,
        }
    ]


def test_numbers_are_numbers_in_json(repo: GitRepo) -> None:
    base, ours, theirs = (
        checkpoint_text(skill_state={"n": 0}).replace('"n": 0', f'"n": {number}')
        for number in ("1.50", "12345678901234567890", "1e400")
    )
    data = run(conflicted(repo, base, ours, theirs)).outcome.data
    assert '"ours": 12345678901234567890' in write_json(data)
    assert run(repo, "--take", "theirs").outcome.code in (0, 1)
    assert '"n": 1e400' in repo.read(PATH)


def test_a_rebase_is_explained(repo: GitRepo) -> None:
    drive(repo)
    repo.write(PATH, checkpoint_text())
    repo.commit("base")
    branch_with(repo, "right", checkpoint_text(**THEIRS))
    branch_with(repo, "left", checkpoint_text(**OURS))
    repo.git("rebase", "right", check=False)
    ran = run(repo, "--take", "theirs")
    assert "rebasing: ours = the branch you rebase onto (upstream), theirs = your commit" in said(
        ran
    )
    assert "finish with: git rebase --continue" in said(ran)
    assert value(repo)["step"] == "ours-step"
    assert repo.run("env", "GIT_EDITOR=true", "git", "rebase", "--continue").returncode == 0


def test_what_the_sides_are_is_said_before_the_first_question(repo: GitRepo) -> None:
    ran = run(conflicted(repo), answer="o\no\n")
    assert ran.stderr.startswith("merging: ours = your branch, theirs = the branch being merged\n")
    assert "merging: " not in said(ran)


@pytest.mark.parametrize("operation", ["cherry-pick", "revert"])
def test_other_operations_are_named(repo: GitRepo, operation: str) -> None:
    drive(repo)
    repo.write(PATH, checkpoint_text())
    repo.commit("base")
    branch_with(repo, "right", checkpoint_text(**THEIRS))
    branch_with(repo, "left", checkpoint_text(**OURS), "right" if operation == "revert" else "main")
    repo.git(operation, "--no-edit" if operation == "revert" else "-x", "right", check=False)
    ran = run(repo, "--take", "ours")
    assert ran.outcome.data["operation"] == operation
    assert ran.outcome.code == 0
    assert not unmerged(repo)


def test_a_stash_that_does_not_fit_is_resolved_too(repo: GitRepo) -> None:
    drive(repo)
    repo.write(PATH, checkpoint_text())
    repo.commit("base")
    repo.write(PATH, checkpoint_text(**THEIRS))
    repo.git("stash", "-q")
    repo.write(PATH, checkpoint_text(**OURS))
    repo.commit("ours")
    repo.git("stash", "apply", "-q", check=False)
    assert unmerged(repo)
    assert run(repo, "--take", "theirs").outcome.code == 0
    assert json.loads(staged(repo))["step"] == "theirs-step"


def test_resolving_is_undone_by_the_command_that_is_printed(repo: GitRepo) -> None:
    conflicted(repo)
    before = repo.read(PATH)
    ran = run(repo, "--take", "theirs")
    way_back = next(line for line in said(ran).splitlines() if "undo: " in line).partition(
        "undo: "
    )[2]
    assert repo.run("sh", "-c", way_back).returncode == 0
    assert repo.read(PATH) == before
    assert unmerged(repo)
    assert run(repo, "--take", "ours").outcome.code == 0
    assert json.loads(staged(repo))["step"] == "ours-step"


# where it works


def test_line_ends_of_the_checkout_are_kept_and_status_is_clean(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.checkpoint.json text eol=crlf\n")
    conflicted(repo)
    assert b"\r\n" in (repo.path / PATH).read_bytes()
    run(repo, "--where", "/step", "--take", "ours")
    assert run(repo, "--where", "/project", "--take", "theirs").outcome.code == 0
    assert "\r" not in staged(repo)
    assert repo.read(PATH).count("\r\n") == repo.read(PATH).count("\n") > 10
    assert not list(repo.path.glob(".checkpoints/*.before-resolve*"))


def test_a_filter_of_the_repository_is_obeyed(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.checkpoint.json filter=lines\n")
    repo.git("config", "filter.lines.smudge", "sed 's/tidepool/TIDEPOOL/'")
    repo.git("config", "filter.lines.clean", "sed 's/TIDEPOOL/tidepool/'")
    conflicted(repo, ours=checkpoint_text(step="a"), theirs=checkpoint_text(step="b"))
    assert run(repo, "--take", "ours").outcome.code == 0
    assert "TIDEPOOL" in repo.read(PATH)
    assert staged(repo) == checkpoint_text(step="a")


def test_the_mode_of_the_file_stays(repo: GitRepo) -> None:
    conflicted(repo)
    (repo.path / PATH).chmod(0o640)
    run(repo, "--take", "ours")
    assert (repo.path / PATH).stat().st_mode & 0o777 == 0o640


def test_a_file_that_is_gone_from_the_work_tree_is_written_again(repo: GitRepo) -> None:
    conflicted(repo)
    (repo.path / PATH).unlink()
    (repo.path / ".checkpoints").rmdir()
    assert run(repo, "--take", "ours").outcome.code == 0
    assert json.loads(staged(repo))["step"] == "ours-step"


@pytest.mark.parametrize("name", ["it's; $(x) größe", "-dash", "tab\tin"])
def test_any_path_works(repo: GitRepo, name: str) -> None:
    path = f"{name}/.checkpoints/build.checkpoint.json"
    conflicted(repo, path=path)
    listed = run(repo, "--", path)
    assert listed.codes == ["resolve/undecided"] * 2
    ran = run(repo, "--take", "ours", "--", path)
    assert ran.outcome.code == 0
    assert json.loads(staged(repo, path))["step"] == "ours-step"
    way_back = next(line for line in said(ran).splitlines() if "undo: " in line).partition(
        "undo: "
    )[2]
    assert repo.run("sh", "-c", way_back).returncode == 0
    assert unmerged(repo)


def test_marker_sizes_of_the_attributes_are_kept(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.checkpoint.json conflict-marker-size=11\n")
    conflicted(repo)
    run(repo, "--where", "/step", "--take", "ours")
    assert "<<<<<<<<<<< ours: /project\n" in repo.read(PATH)
    assert run(repo, "--take", "ours").outcome.code == 0


def test_the_narrative_of_the_clone_is_that_of_its_driver(repo: GitRepo) -> None:
    conflicted(repo, driver=False)
    drive(repo, choices=Choices("newest"))
    assert [finding.where for finding in run(repo).outcome.findings] == ["/project"]
    run(repo, "--take", "ours")
    assert value(repo)["step"] == "theirs-step"
    assert value(repo)["superseded"][0]["step"] == "ours-step"


def test_the_schema_of_the_clone_is_that_of_its_driver(repo: GitRepo, tmp_path: Path) -> None:
    schema = tmp_path / "private.json"
    schema.write_text(json.dumps({"properties": {"spent": {"x-merge": {"strategy": "sum"}}}}))
    base, ours, theirs = (checkpoint_text(skill_state={"spent": spent}) for spent in (1, 3, 5))
    conflicted(repo, base, ours, theirs, driver=False)
    drive(repo, choices=Choices(schema=str(schema)))
    schema.rename(tmp_path / "elsewhere.json")
    with pytest.raises(CheckpointError, match="cannot be read"):
        run(repo)
    (tmp_path / "elsewhere.json").rename(schema)
    assert run(repo).outcome.code == 0
    assert value(repo)["skill_state"] == {"spent": 7}


def test_a_linked_worktree_has_conflicts_of_its_own(repo: GitRepo, tmp_path: Path) -> None:
    drive(repo)
    repo.write(PATH, checkpoint_text())
    repo.commit("base")
    branch_with(repo, "right", checkpoint_text(**THEIRS))
    branch_with(repo, "left", checkpoint_text(**OURS))
    repo.git("checkout", "-q", "main")
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "left")
    linked = GitRepo(tmp_path / "linked")
    linked.git("merge", "-q", "right", check=False)
    assert "nothing to resolve" in said(run(repo))
    assert run(linked, "--take", "newest", cwd=linked.path / ".checkpoints").outcome.code == 0
    assert json.loads(staged(linked))["step"] == "theirs-step"


def test_paths_are_taken_from_here_or_from_the_top(repo: GitRepo) -> None:
    path = "sub/.checkpoints/build.checkpoint.json"
    conflicted(repo, path=path)
    sub = repo.path / "sub"
    for typed in (
        ".checkpoints/build.checkpoint.json",
        path,
        ".",
        "../sub",
        str(repo.path / path),
        ".checkpoints",
    ):
        assert run(repo, typed, cwd=sub).codes == ["resolve/undecided"] * 2, typed


def test_a_sparse_checkout_can_stage_what_lies_outside_it(repo: GitRepo) -> None:
    drive(repo)
    repo.write(PATH, checkpoint_text())
    repo.write("kept/file", "x\n")
    repo.commit("base")
    branch_with(repo, "right", checkpoint_text(**THEIRS))
    branch_with(repo, "left", checkpoint_text(**OURS))
    repo.git("sparse-checkout", "set", "--cone", "kept")
    repo.git("merge", "-q", "right", check=False)
    assert run(repo, "--take", "ours").outcome.code == 0
    assert not unmerged(repo)


# nothing to do, or not here


def test_where_nothing_is_unmerged_there_is_nothing_to_do(repo: GitRepo) -> None:
    ran = run(repo)
    assert (ran.outcome.code, said(ran)) == (0, "nothing to resolve: no checkpoint is unmerged")


def test_a_path_that_is_not_unmerged_needs_nothing(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text())
    repo.commit()
    ran = run(repo, PATH)
    assert (ran.outcome.code, said(ran)) == (0, f"{PATH}: nothing to resolve, it is not unmerged")


def test_a_path_that_git_does_not_know_is_an_error(repo: GitRepo) -> None:
    with pytest.raises(CheckpointError, match=r"git has no file nowhere\.json"):
        run(repo, "nowhere.json")


def test_a_path_outside_the_work_tree_is_an_error(repo: GitRepo) -> None:
    with pytest.raises(CheckpointError, match="outside the work tree"):
        run(repo, "/etc/passwd")


def test_an_archived_workflow_that_met_open_work_is_merged_again_without_renames(
    repo: GitRepo,
) -> None:
    tasks = [task(f"t{number}", "complete") for number in range(9)]
    write_workflow(repo.path, phase("REFLECTION"), execution(*tasks))
    repo.commit("base")
    repo.git("checkout", "-q", "-b", "fin")
    state, archive = (
        repo.path / "memory/state",
        repo.path / "memory/state/.archive/login_20260302T120000Z",
    )
    archive.mkdir(parents=True)
    write_workflow(
        repo.path,
        phase("REFLECTION", "complete", last_updated="2026-03-02T12:00:00Z"),
        execution(*tasks),
    )
    for name in ("phase.json", "execution.json"):
        (state / name).rename(archive / name)
    repo.commit("fin")
    repo.git("checkout", "-q", "main")
    write_workflow(
        repo.path,
        phase("REFLECTION", last_updated="2026-03-02T12:30:00Z"),
        execution(*tasks, task("open")),
    )
    repo.commit("open")
    repo.git("merge", "-q", "fin", check=False)
    ran = run(repo)
    said = "\n".join(block.whole for block in ran.outcome.summary if isinstance(block, Line))
    assert ran.outcome.code == 1
    assert "git merge --abort, then the same with --strategy recursive -X no-renames" in said
    repo.git("merge", "--abort")
    repo.git("merge", "-q", "--strategy", "recursive", "-X", "no-renames", "fin", check=False)
    assert run(repo, "memory/state", "--take", "ours").outcome.code == 0
    assert '"open"' in (state / "execution.json").read_text()
    assert '"open"' not in (archive / "execution.json").read_text()


def test_other_unmerged_files_are_not_touched(repo: GitRepo) -> None:
    repo.write("other.txt", "base\n")
    repo.commit("base")
    for name in ("right", "left"):
        repo.git("checkout", "-q", "-b", name, "main")
        repo.write("other.txt", f"{name}\n")
        repo.commit(name)
    repo.git("merge", "-q", "right", check=False)
    ran = run(repo, "--take", "ours")
    assert (ran.outcome.code, ran.outcome.data["still_unmerged"]) == (0, ["other.txt"])
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        run(repo, "other.txt", "--take", "ours")


def test_outside_a_repository_it_cannot_run(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not a git repository"):
        run_verb(resolve, cwd=tmp_path)


@pytest.mark.parametrize("folder", ["bare", "repo/.git"])
def test_where_no_files_are_checked_out_it_cannot_run(
    repo: GitRepo, tmp_path: Path, folder: str
) -> None:
    GitRepo.create(tmp_path / "bare", "--bare")
    # git itself refuses a bare repository that has to be named, and before 2.44 the inside of .git
    # too
    message = (
        "cannot use bare repository|no files"
        if BARE_MUST_BE_NAMED
        else "no files are checked out here"
    )
    with pytest.raises(CheckpointError, match=message):
        run_verb(resolve, cwd=tmp_path / folder)


def test_a_locked_index_is_said_and_a_second_run_finishes(repo: GitRepo) -> None:
    conflicted(repo)
    lock = repo.write(".git/index.lock", "")
    with pytest.raises(CheckpointError, match=r"index\.lock"):
        run(repo, "--take", "ours")
    lock.unlink()
    assert run(repo).outcome.code == 0
    assert json.loads(staged(repo))["step"] == "ours-step"


def test_the_installed_command_resolves(repo: GitRepo) -> None:
    conflicted(repo)
    listed = run_checkpoint("resolve", "--json", cwd=repo.path)
    assert listed.returncode == 1
    assert json.loads(listed.stdout)["files"][0]["remaining"] == ["/project", "/step"]
    done = run_checkpoint("resolve", PATH, "--take", "ours", cwd=repo.path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "all conflicts resolved; finish with: git commit" in done.stdout


def test_it_runs_no_driver_and_leaves_no_trace(repo: GitRepo) -> None:
    conflicted(repo)
    run(repo, "--take", "ours")
    assert sorted(path.name for path in (repo.path / ".checkpoints").iterdir()) == [
        "build.checkpoint.json"
    ]


# what git merged as text


def decided_differently() -> dict[str, str]:
    """Two sides that git's text merge stops at, and of which the driver leaves a conflict at the
    step alone.
    """
    base = checkpoint(context_primer={"key_decisions": ["SQLite"]})
    sides = {
        "base": base,
        "ours": {**base, "step": "ours-step"},
        "theirs": {**base, "step": "theirs-step"},
    }
    for name in ("ours", "theirs"):
        sides[name]["context_primer"] = {"key_decisions": ["SQLite", f"decided by {name}"]}
    return {name: json.dumps(each, indent=2) + "\n" for name, each in sides.items()}


OTHER_STYLES = [
    pytest.param("diff3", marks=pytest.mark.deep),
    pytest.param("zdiff3", marks=[pytest.mark.deep, *ZDIFF3.marks]),
]


@pytest.mark.parametrize("style", ["merge", *OTHER_STYLES])
@pytest.mark.parametrize("how", ["unmerged", "added", "committed", "fetched"])
def test_without_the_driver_resolve_merges_what_it_would_have(
    repo: GitRepo, style: str, how: str
) -> None:
    conflicted(repo, **decided_differently(), driver=False, style=style)
    if how != "unmerged":
        repo.git("add", "-A")
    if how in ("committed", "fetched"):
        repo.git("commit", "-q", "-m", "Markers and all")
    if how == "fetched":  # git keeps the stages of what was resolved in the index alone
        (repo.path / ".git/index").unlink()
        repo.git("reset", "-q")
    ran = run(repo)
    assert ran.outcome.code == 1
    assert [(one.code, one.where) for one in ran.outcome.findings] == [
        ("resolve/undecided", "/step")
    ]
    text = repo.read(PATH)
    assert text.count("<<<<<<< ") == 1
    assert "decided by ours" in text
    assert "decided by theirs" in text
    assert run(repo, "--where", "/step", "--take", "theirs").outcome.code == 0
    assert value(repo)["step"] == "theirs-step"
    assert sorted(value(repo)["context_primer"]["key_decisions"]) == [
        "SQLite",
        "decided by ours",
        "decided by theirs",
    ]
    assert staged(repo) == repo.read(PATH)
    assert "nothing to resolve" in said(run(repo))


@pytest.mark.parametrize("style", STYLES)
def test_where_no_merge_is_left_to_make_again_the_markers_themselves_are_merged(
    repo: GitRepo, style: str
) -> None:
    conflicted(repo, **decided_differently(), driver=False, style=style)
    text = repo.read(PATH).replace("tidepool", "tidepool, edited since")
    repo.git("merge", "--abort")
    repo.write(PATH, text)
    assert [one.where for one in run(repo).outcome.findings] == ["/step"]
    assert run(repo, "--where", "/step", "--take", "ours").outcome.code == 0
    assert value(repo)["project"] == "tidepool, edited since"
    assert sorted(value(repo)["context_primer"]["key_decisions"]) == [
        "SQLite",
        "decided by ours",
        "decided by theirs",
    ]


def test_markers_that_hold_no_documents_are_left_to_an_editor(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text())
    repo.commit("Start")
    repo.write(PATH, checkpoint_text().replace('  "step"', '<<<<<<< HEAD\n  "step"', 1))
    ran = run(repo, "--take", "ours")
    assert [one.code for one in ran.outcome.findings] == ["resolve/not-valid"]
    assert "<<<<<<< HEAD" in repo.read(PATH)


def test_whoever_meets_a_conflict_is_sent_to_resolve(repo: GitRepo) -> None:
    conflicted(repo, **decided_differently(), driver=False)
    said_by = {
        verb: run_checkpoint(verb, cwd=repo.path).stdout
        for verb in ("status", "next", "validate", "prime")
    }
    repo.git("add", "-A")
    said_by["pre-commit"] = run_checkpoint("hook", "pre-commit", cwd=repo.path).stdout
    for verb, text in said_by.items():
        assert f"checkpoint resolve {PATH}" in text, verb
        assert "one side" not in text, verb
    assert "nothing to do" not in said_by["next"]


@pytest.mark.parametrize(
    "take", ["ours", *(pytest.param(take, marks=pytest.mark.deep) for take in ("theirs", "newest"))]
)
def test_a_side_beyond_the_limit_is_left_to_git_whatever_is_asked(repo: GitRepo, take: str) -> None:
    conflicted(repo, theirs=checkpoint_text(**THEIRS) + " " * MAX_BYTES, driver=False)
    before = repo.git("ls-files", "-u"), repo.read(PATH)
    ran = run(repo, "--take", take)
    assert ran.codes == ["resolve/not-a-file"]
    assert f"git checkout --ours -- {PATH}" in said(ran)
    assert (repo.git("ls-files", "-u"), repo.read(PATH)) == before
