"""Restore points where work is usually lost: git's own commands in between, odd files, odd
clocks.
"""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.restore_points import ask, look


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    repo.write(".gitignore", "build/\n")
    repo.write("src/a.py", "a\n")
    repo.write("src/b.py", "b\n")
    repo.commit()
    return repo


def make(folder: Path, *words: str) -> str:
    return str(ask(folder, "create", *words)["checkpoint_id"])


def test_files_of_any_name_survive_a_clean_and_a_reset(work: GitRepo) -> None:
    names = ["with space/a b.txt", "ümlaut.txt", "\udcff\udcfe.bin", "new\nline", "-n", "$(id)"]
    for name in names:
        work.write(f"src/{name}", b"kept\0\xff")
    before, point = look(work.path), make(work.path, "src")
    work.git("clean", "-xfdq")
    work.git("reset", "-q", "--hard")
    ask(work.path, "rollback", point)
    assert look(work.path) == before
    for name in names:
        (work.path / "src" / name).unlink()
    done = subprocess.run(
        ["sh", f".checkpoints/{point}/restore.sh"],
        cwd=work.path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert look(work.path) == before


def test_a_name_that_changed_its_case_comes_back_in_the_old_one(work: GitRepo) -> None:
    before, point = look(work.path), make(work.path, ".")
    work.git("mv", "src/a.py", "src/A.py")
    ask(work.path, "rollback", point, "--index")
    assert look(work.path) == before
    assert work.git("status", "--porcelain") == ""


def test_a_file_that_became_a_folder_and_a_folder_that_became_a_file(work: GitRepo) -> None:
    before, point = look(work.path), make(work.path, ".")
    (work.path / "src/a.py").unlink()
    work.write("src/a.py/inner", "x")
    ask(work.path, "rollback", point)
    assert look(work.path) == before
    subprocess.run(["rm", "-r", "src"], cwd=work.path, check=True)
    work.write("src", "a file now")
    done = run_here("rp", "rollback", point, cwd=work.path)
    if done.returncode:  # what is in the way is named, and nothing of it is lost
        assert "src" in done.stderr
        assert work.read("src") == "a file now"
    else:
        assert look(work.path) == before


def test_a_link_in_the_place_of_a_folder_is_not_written_through(
    work: GitRepo, tmp_path: Path
) -> None:
    point = make(work.path, "src")
    outside = tmp_path / "outside"
    outside.mkdir()
    (work.path / "src").rename(work.path / "moved")
    (work.path / "src").symlink_to(outside)
    run_here("rp", "rollback", point, cwd=work.path)
    assert list(outside.iterdir()) == []


def test_a_merge_that_was_given_up_is_there_again(work: GitRepo) -> None:
    work.git("checkout", "-q", "-b", "topic")
    work.write("src/a.py", "topic\n")
    work.commit()
    work.git("checkout", "-q", "-")
    work.write("src/a.py", "main\n")
    work.commit()
    work.git("merge", "topic", check=False)
    work.write("src/a.py", "half resolved\n")
    stages, point = work.git("ls-files", "-s"), make(work.path, ".")
    work.git("merge", "--abort")
    answer = ask(work.path, "rollback", point, "--operation", "--index")
    assert answer["verified"]
    assert work.read("src/a.py") == "half resolved\n"
    assert work.git("ls-files", "-s") == stages
    assert (work.path / ".git/MERGE_HEAD").exists()


def test_a_filter_changes_no_byte_on_the_way_back(work: GitRepo) -> None:
    work.git("config", "filter.lfs.clean", "sed s/secret/pointer/")
    work.git("config", "filter.lfs.smudge", "false")
    work.git("config", "filter.lfs.required", "true")
    work.write(".gitattributes", "*.bin filter=lfs\n")
    work.write("big.bin", "secret content\r\n")
    point = make(work.path, ".")
    work.write("big.bin", "lost")
    ask(work.path, "rollback", point)
    assert work.read("big.bin") == "secret content\r\n"


def test_a_submodule_with_changes_keeps_them(work: GitRepo, tmp_path: Path) -> None:
    library = GitRepo.create(tmp_path / "library")
    library.write("lib.py", "x\n")
    library.commit()
    work.add_submodule(library.path, "vendor")
    work.commit()
    work.write("vendor/lib.py", "mine, not committed\n")
    point = make(work.path, ".")
    GitRepo(work.path / "vendor").git("checkout", "-q", "-f", ".")
    ask(work.path, "rollback", point)
    assert work.read("vendor/lib.py") == "mine, not committed\n"


@pytest.mark.parametrize("megabytes", [20, pytest.param(200, marks=pytest.mark.deep)])
def test_a_huge_file_and_an_empty_one_come_back(work: GitRepo, megabytes: int) -> None:
    with (work.path / "huge").open("wb") as stream:
        stream.truncate(megabytes << 20)
        stream.write(b"end")
    work.write("empty", "")
    point = make(work.path, "huge", "empty")
    (work.path / "huge").write_bytes(b"")
    (work.path / "empty").unlink()
    ask(work.path, "rollback", point)
    assert (work.path / "huge").stat().st_size == megabytes << 20
    assert work.read("empty") == ""


def test_a_fifo_and_a_socket_are_left_out_by_name_and_left_alone(work: GitRepo) -> None:
    os.mkfifo(work.path / "src/pipe")
    answer = ask(work.path, "create", "src")
    assert [(one["path"], one["reason"]) for one in answer["left_out"]] == [
        ("src/pipe", "not a file")
    ]
    work.write("src/a.py", "broken")
    ask(work.path, "rollback", answer["checkpoint_id"])
    assert (work.path / "src/pipe").is_fifo()


def test_a_read_only_folder_is_restored_and_stays_read_only(work: GitRepo) -> None:
    (work.path / "src/a.py").chmod(0o444)
    (work.path / "src").chmod(0o555)
    before, point = look(work.path), make(work.path, "src")
    (work.path / "src").chmod(0o755)
    (work.path / "src/a.py").unlink()
    work.write("src/new.py", "x")
    ask(work.path, "rollback", point)
    after = look(work.path)
    (work.path / "src").chmod(0o755)
    assert after == before


def test_a_clock_that_goes_back_changes_neither_order_nor_latest(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make(work.path, "src", "--expiry", "1h")
    late, real = time.time() - 3 * 86400, time.time
    monkeypatch.setattr(time, "time", lambda: late)
    work.write("src/a.py", "second\n")
    second = make(work.path, "src")
    assert ask(work.path, "verify", second)["verified"]
    monkeypatch.setattr(time, "time", real)
    assert {one["id"]: one["state"] for one in ask(work.path, "list")["restore_points"]} == {
        first: "active",
        second: "active",
    }


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "America/St_Johns", "UTC+12"])
def test_the_time_zone_changes_no_expiry(
    work: GitRepo, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        answer = ask(work.path, "create", "src", "--expiry", "30m")
        assert ask(work.path, "list")["restore_points"][0]["state"] == "active"
        assert answer["checkpoint"]["expiry"].endswith("Z")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_what_was_ignored_stays_when_the_rule_goes(work: GitRepo) -> None:
    work.write("build/out", "precious")
    point = make(work.path, ".")
    work.write(".gitignore", "")
    work.write("src/new.py", "made since")
    answer = ask(work.path, "rollback", point)
    assert work.read("build/out") == "precious"
    assert answer["removed"] == ["src/new.py"]


def test_a_rebase_in_the_middle_goes_on_after_a_rollback(work: GitRepo) -> None:
    work.git("checkout", "-q", "-b", "topic")
    for text in ("one\n", "two\n"):
        work.write("src/a.py", text)
        work.commit()
    work.git("checkout", "-q", "-")
    work.write("src/a.py", "main\n")
    work.commit()
    work.git("rebase", "-q", "HEAD", "topic", check=False)
    point = make(work.path, ".")
    work.git("rebase", "--abort")
    ask(work.path, "rollback", point, "--operation", "--index")
    assert "rebase" in work.git("status")
    work.git("rebase", "--abort")


def test_a_stash_is_as_it_was_around_a_point_and_a_rollback(work: GitRepo) -> None:
    work.write("src/a.py", "stashed\n")
    work.git("stash", "-q")
    before = work.git("stash", "list", "--format=%H")
    point = make(work.path, ".")
    work.git("stash", "pop", "-q")
    work.git("stash", "-q")
    ask(work.path, "rollback", point)
    assert len(work.git("stash", "list", "--format=%H").split()) == len(before.split()) == 1
    work.git("stash", "pop", "-q")
    assert work.read("src/a.py") == "stashed\n"
