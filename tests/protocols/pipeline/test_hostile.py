"""What happens to pipeline records behind their writer's back: git commands, clocks, editors, odd
files.
"""

import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import BIN, run_here
from tests.support.hostile import ODD_FILES, put_odd
from tests.support.records import PAYLOADS, RUN, SHORT_RUN, TICKET
from tests.support.repos import GitRepo, copy_built

WHOSE = ["--ticket-id", TICKET, "--run-id", SHORT_RUN]
FOLDER = f"records/{TICKET}/{RUN}"
FIRST, SECOND = f"{FOLDER}/phase_1_implement_a1.yaml", f"{FOLDER}/phase_1_implement_a2.yaml"


def ask(root: Path, *words: str, code: int = 0) -> dict[str, Any]:
    """The document of `checkpoint pipeline WORDS`, with the records below root."""
    done = run_here("pipeline", *words, "--base", str(root / "records"), cwd=root)
    assert done.returncode == code, done.stdout + done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def write(root: Path, phase: str = "implement", *words: str, code: int = 0) -> dict[str, Any]:
    return ask(
        root,
        "write",
        *WHOSE,
        "--phase",
        phase,
        "--payload",
        json.dumps(PAYLOADS[phase]),
        *words,
        code=code,
    )


def where(root: Path) -> str:
    """The phase that resume says is next."""
    return str(ask(root, "resume", *WHOSE)["next_phase"])


def build_work(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    write(repo.path)
    repo.commit("implemented")


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    """A repository that tracks one record, of the phase implement."""
    copy_built(build_work, repo.path)
    return repo


def test_git_clean_takes_what_was_not_added_and_the_number_is_free_again(work: GitRepo) -> None:
    write(work.path)
    work.git("clean", "-xfdq")
    assert (where(work.path), write(work.path)["attempt_number"]) == ("local_review", 2)


def test_a_reset_takes_the_run_back_to_where_the_commit_was(work: GitRepo) -> None:
    write(work.path, "local_review")
    work.commit("reviewed")
    assert where(work.path) == "create_pr"
    work.git("reset", "-q", "--hard", "HEAD~1")
    assert where(work.path) == "local_review"


def test_a_stash_takes_a_staged_record_along_and_brings_it_back(work: GitRepo) -> None:
    write(work.path, "local_review")
    work.git("add", "-A")
    work.git("stash", "-q")
    assert where(work.path) == "local_review"
    work.git("stash", "pop", "-q")
    assert where(work.path) == "create_pr"


@pytest.mark.parametrize("way", ["merge", "rebase"])
def test_markers_in_a_record_make_it_broken_and_the_one_before_counts(
    work: GitRepo, way: str
) -> None:
    work.git("checkout", "-q", "-b", "other")
    write(work.path, "implement", "--artifact-paths", '["theirs"]')
    work.commit("theirs")
    work.git("checkout", "-q", "main")
    write(work.path, "implement", "--artifact-paths", '["ours"]')
    work.commit("ours")
    assert work.exit_code(way, "other") != 0
    words = ["read", *WHOSE, "--phase", "implement"]
    assert SECOND.removeprefix("records/") in ask(work.path, *words, code=1)["error"]
    assert ask(work.path, *words, "--fallback")["checkpoint_path"] == FIRST.removeprefix("records/")
    assert write(work.path)["attempt_number"] == 3
    assert b"<<<<<<<" in (work.path / SECOND).read_bytes()


def test_a_detached_head_is_a_place_like_any_other(work: GitRepo) -> None:
    work.git("checkout", "-q", "--detach")
    write(work.path, "local_review")
    assert where(work.path) == "create_pr"


def test_a_clone_on_another_machine_goes_on_and_both_come_together(
    work: GitRepo, tmp_path: Path
) -> None:
    work.git("clone", "-q", str(work.path), str(tmp_path / "clone"))
    clone = GitRepo(tmp_path / "clone")
    write(clone.path, "local_review")
    clone.commit("reviewed there")
    write(work.path)
    work.commit("another attempt here")
    work.git("pull", "-q", "--no-rebase", "--no-edit", str(clone.path), "main")
    assert len(list((work.path / FOLDER).iterdir())) == 3
    assert where(work.path) == "create_pr"


def test_a_work_tree_that_is_removed_takes_only_its_own_records(
    work: GitRepo, tmp_path: Path
) -> None:
    work.git("worktree", "add", "-q", str(tmp_path / "linked"))
    write(tmp_path / "linked", "local_review")
    work.git("worktree", "remove", "--force", str(tmp_path / "linked"))
    assert where(work.path) == "local_review"


def test_an_earlier_phase_that_runs_again_is_named_when_it_is_written_and_makes_the_later_one_older(
    work: GitRepo,
) -> None:
    moment = ["--timestamp", "2026-03-02T09:30:00Z"]
    write(work.path, "implement", *moment)
    write(work.path, "local_review", *moment)
    assert ask(work.path, "resume", *WHOSE)["warnings"] == []
    assert write(work.path, "implement", *moment)["warnings"]
    assert write(work.path, "implement", "--timestamp", "2026-03-02T09:30:01Z")["warnings"]
    assert "local_review: its record is older" in ask(work.path, "resume", *WHOSE)["warnings"][0]


def test_a_clock_that_was_set_back_is_told_and_the_attempts_count(work: GitRepo) -> None:
    write(work.path, "local_review", "--timestamp", "2001-01-01T00:00:00Z")
    answer = ask(work.path, "resume", *WHOSE)
    assert (answer["next_phase"], len(answer["warnings"])) == ("create_pr", 1)


@pytest.mark.parametrize("name", ["it's", 'a"b', "ünï", "-dash", "a b"])
def test_a_base_may_have_any_name_and_the_hint_quotes_it(tmp_path: Path, name: str) -> None:
    base = f"--base={tmp_path / name}"
    words = ["resume", *WHOSE, "--skip-to", "create_pr", base]
    done = run_here("pipeline", *words, cwd=tmp_path)
    hint = (
        json.loads(done.stdout)["hint"]
        .partition("; ")[2]
        .removesuffix(" restores the finished phases")
    )
    again = subprocess.run(
        ["sh", "-c", f"{shlex.quote(str(BIN))}/{hint}"],
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert json.loads(again.stdout)["resume_from"] == "implement"


@pytest.mark.parametrize("kind", [*ODD_FILES, "dangling"])
def test_what_is_no_file_in_the_place_of_a_record_is_reported_and_never_replaced(
    work: GitRepo, kind: str
) -> None:
    path = work.path / SECOND
    put_odd(path, kind)
    assert len(ask(work.path, "list", "--ticket-id", TICKET)["skipped"]) == 1
    ask(work.path, "read", *WHOSE, "--phase", "implement", code=1)
    write(work.path, "implement", "--attempt", "2", code=1)
    assert write(work.path)["attempt_number"] == 3
    assert os.path.lexists(path)
    assert not path.is_file() or path.is_symlink()


@pytest.mark.parametrize("damage", ["half", "empty", "nul", "latin1"])
def test_a_damaged_record_is_found_by_each_reader_and_never_overwritten(
    work: GitRepo, damage: str
) -> None:
    path, text = work.path / FIRST, (work.path / FIRST).read_bytes()
    broken = {
        "half": text[: len(text) // 2],
        "empty": b"",
        "nul": bytes(40),
        "latin1": b"\xe9: 1\n",
    }[damage]
    path.write_bytes(broken)
    ask(work.path, "validate", *WHOSE, "--phase", "implement", code=1)
    assert where(work.path) == "implement"
    assert run_here("validate", "records", cwd=work.path).returncode == 1
    assert write(work.path)["attempt_number"] == 2
    assert (path.read_bytes(), where(work.path)) == (broken, "local_review")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_an_editor_of_another_system_leaves_a_record_that_counts(
    work: GitRepo, mark: bytes
) -> None:
    path = work.path / FIRST
    path.write_bytes(mark + path.read_bytes().replace(b"\n", b"\r\n"))
    assert where(work.path) == "local_review"


@pytest.mark.parametrize("place", ["records", f"records/{TICKET}", FOLDER])
def test_a_file_where_a_folder_belongs_is_named_and_stays(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text("a file\n")
    assert str(tmp_path / "records") in write(tmp_path, code=1)["error"]
    assert (tmp_path / place).read_text() == "a file\n"
    assert write(tmp_path, "implement", "--non-blocking")["success"] is False


def test_a_clone_that_changes_the_files_times_makes_no_phase_older(work: GitRepo) -> None:
    moment = ["--timestamp", "2026-03-02T09:30:00Z"]
    first = write(work.path, "implement", *moment)
    write(work.path, "local_review", *moment)
    later = time.time() + 60
    os.utime(next(work.path.rglob(os.path.basename(first["checkpoint_path"]))), (later, later))
    assert ask(work.path, "resume", *WHOSE)["warnings"] == []
