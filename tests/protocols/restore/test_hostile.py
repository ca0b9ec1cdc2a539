"""What happens to restore points behind their back: git commands, other work trees, clocks, odd
files.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from checkpoint_git.protocols.restore import store
from checkpoint_git.protocols.restore.contents import hash_contents, read_entry
from tests.support.command import BIN, run_here
from tests.support.hostile import ODD_FILES, put_odd
from tests.support.odd_types import ODD_VALUES, list_places, put
from tests.support.repos import GitRepo, copy_built
from tests.support.restore_points import ask, fork, manifest_file


def build_work(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    repo.write(".gitignore", "data/\n")
    repo.write("a", "a\n")
    repo.write("data/precious", "1\n")
    repo.commit()
    repo.write("a", "edited\n")
    repo.write("new", "untracked\n")
    ask(repo.path, "create", ".", "--reason", "before")


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    """A repository with an edited file, an untracked one, an ignored folder, and a point of all but
    the last.
    """
    copy_built(build_work, repo.path)
    return repo


def contents(work: GitRepo) -> dict[str, str]:
    return {
        name: (work.path / name).read_text()
        for name in ("a", "new")
        if (work.path / name).is_file()
    }


KEPT = {"a": "edited\n", "new": "untracked\n"}


def goes_back(work: GitRepo, *words: str) -> bool:
    """Whether the newest point brings all of it back, is verified, and can be taken back."""
    before = contents(work)
    answer = ask(work.path, "rollback", "latest", *words)
    came = contents(work)
    ask(work.path, "rollback", answer["safety_checkpoint_id"])
    return (came, contents(work)) == (KEPT, before)


HARM = {
    "clean": ["clean", "-xfdq"],
    "reset": ["reset", "-q", "--hard"],
    "stash": ["stash", "-q", "-u"],
    "checkout": ["checkout", "-q", "-f", "--orphan", "empty"],
    "rm": ["rm", "-rqf", "."],
    "gc": ["gc", "-q", "--prune=now"],
    "detach": ["checkout", "-q", "--detach"],
    "commit": ["commit", "-qam", "more"],
    "branch": ["branch", "-q", "-m", "renamed"],
}


USUAL_HARM = ("clean", "stash", "checkout", "rm", "gc")


@pytest.mark.parametrize(
    "harm",
    [name if name in USUAL_HARM else pytest.param(name, marks=pytest.mark.deep) for name in HARM],
)
def test_the_way_back_is_there_after_what_git_does(work: GitRepo, harm: str) -> None:
    work.git(*HARM[harm])
    assert goes_back(work)
    assert ask(work.path, "verify", "latest")["verified"]


def test_a_second_clean_between_two_rollbacks_takes_nothing_of_the_points(work: GitRepo) -> None:
    for _ in range(2):
        work.git("clean", "-xfdq")
        assert goes_back(work)
    assert [one["state"] for one in ask(work.path, "list")["restore_points"]].count("damaged") == 0


@pytest.mark.parametrize("way", ["merge", "rebase", "cherry-pick"])
def test_a_point_made_in_a_conflict_keeps_the_half_resolved_file(work: GitRepo, way: str) -> None:
    work.git("stash", "-q", "-u")
    fork(work)
    assert work.exit_code(way, "topic") == 1
    work.write("a", "half\n")
    ask(work.path, "create", ".")
    work.git(way, "--abort")
    ask(work.path, "rollback", "latest", "--operation")
    assert (work.path / "a").read_text() == "half\n"
    assert "UU a" in work.git("status", "--porcelain") or "AA a" in work.git(
        "status", "--porcelain"
    )


def test_points_of_a_removed_work_tree_can_be_brought_here(work: GitRepo, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    work.git("worktree", "add", "-q", str(linked))
    (linked / "a").write_text("there\n")
    point = ask(linked, "create", ".")["checkpoint_id"]
    work.git("worktree", "remove", "--force", str(linked))
    assert "--here" in str(ask(work.path, "rollback", point, code=2))
    ask(work.path, "rollback", point, "--here")
    assert (work.path / "a").read_text() == "there\n"


def test_a_clone_has_no_points_and_what_is_copied_by_hand_is_foreign(
    work: GitRepo, tmp_path: Path
) -> None:
    work.git("clone", "-q", str(work.path), str(tmp_path / "clone"))
    assert ask(tmp_path / "clone", "list")["restore_points"] == []
    shutil.copytree(work.path / ".checkpoints", tmp_path / "clone/.checkpoints")
    found = ask(tmp_path / "clone", "list")["restore_points"]
    assert [one["state"] for one in found] == ["foreign"]
    for verb in ("rollback", "verify", "diff", "drop"):
        done = run_here("rp", verb, found[0]["id"], cwd=tmp_path / "clone")
        assert (done.returncode, "is not in this clone's store" in done.stderr) == (2, True), verb


def test_the_manifest_of_a_stranger_makes_no_file_setuid(work: GitRepo, tmp_path: Path) -> None:
    """Its digests are real; the owner of what is replaced stays."""
    point = str(ask(work.path, "create", ".", "--type", "file_backup")["checkpoint_id"])
    path = manifest_file(work.path, point)
    value = json.loads(path.read_text())
    for entry in value["entries"]:
        entry["mode"] = "6777"
    value["hash"] = hash_contents([read_entry(entry) for entry in value["entries"]])
    value["digest"] = store.find_digest(value)
    work.git("clone", "-q", str(work.path), str(tmp_path / "clone"))
    clone = tmp_path / "clone"
    copied = shutil.copytree(path.parent, clone / ".checkpoints" / point)
    (copied / "manifest.json").write_bytes(store.write_text(value))
    (clone / "a").write_text("later\n")
    owner = (clone / "a").stat().st_uid
    ask(clone, "rollback", point, "--foreign")
    found = [one for one in clone.rglob("*") if ".git" not in one.parts and one.is_file()]
    assert [one.name for one in found if one.stat().st_mode & 0o7000] == []
    assert (clone / "a").stat().st_mode & 0o777 == 0o777
    assert (clone / "a").stat().st_uid == owner


def test_a_repository_that_is_moved_takes_its_points_along(work: GitRepo, tmp_path: Path) -> None:
    moved = GitRepo(Path(shutil.move(work.path, tmp_path / "moved to a füll path")))
    moved.write("a", "harm\n")
    assert goes_back(moved)


def test_a_clock_that_goes_back_changes_neither_latest_nor_the_order(work: GitRepo) -> None:
    work.write("a", "second\n")
    words = [str(BIN / "checkpoint"), "rp", "create", ".", "--json"]
    script = "import sys, time; time.time = lambda: 946684800.0\nfrom checkpoint_git.cli.app import main\n"
    script += "sys.exit(main(sys.argv[1:]))"
    made = subprocess.run(
        [str(BIN / "python"), "-c", script, *words[1:]], capture_output=True, cwd=work.path
    )
    assert json.loads(made.stdout)["checkpoint_id"].startswith("chk_20000101_")
    assert len(ask(work.path, "list")["restore_points"]) == 2
    assert ask(work.path, "verify", "chk_20000101")["verified"]
    assert ask(work.path, "audit", "verify")["whole"]


ODD = [
    "new\nline",
    'it\'s "odd"',
    "-dash",
    "ünïcode 🎉",
    "a" * 250,
    "*?[x]",
    "$(touch x)",
    "\udcff\udcfe",
    "\\",
]


def test_files_of_any_name_come_back_by_both_ways(work: GitRepo) -> None:
    for name in ODD:
        work.write(f"odd/{name}", f"kept {name!a}\n")
    point = ask(work.path, "create", "odd")["checkpoint_id"]

    shutil.rmtree(work.path / "odd")
    ask(work.path, "rollback", point)
    assert [name for name in ODD if work.read(f"odd/{name}") != f"kept {name!a}\n"] == []

    shutil.rmtree(work.path / "odd")
    assert work.run("sh", f".checkpoints/{point}/restore.sh").returncode == 0
    assert [name for name in ODD if work.read(f"odd/{name}") != f"kept {name!a}\n"] == []
    assert not (work.path / "x").exists()


@pytest.mark.parametrize("kind", ODD_FILES)
def test_what_is_no_file_any_more_gives_way_or_is_named_and_never_hangs(
    work: GitRepo, kind: str
) -> None:
    path = work.path / "a"
    path.unlink()
    put_odd(path, kind)
    done = run_here("rp", "rollback", "latest", "--json", cwd=work.path)
    if done.returncode == 0:
        assert contents(work) == KEPT
    else:
        assert (done.returncode, os.path.lexists(path)) == (2, True)
        path.unlink()
        ask(work.path, "rollback", "latest")
        assert contents(work) == KEPT


@pytest.mark.parametrize("place", ["fifo", "file", "link"])
def test_a_log_that_cannot_be_written_stops_before_anything_is_done(
    work: GitRepo, place: str
) -> None:
    shutil.rmtree(work.path / ".audit")
    if place == "file":
        (work.path / ".audit").write_text("a file\n")
    elif place == "link":
        (work.path / ".audit").symlink_to("/tmp")  # noqa: S108 - a place outside
    else:
        (work.path / ".audit").mkdir()
        os.mkfifo(work.path / ".audit/checkpoint-operations.log")
    work.write("a", "harm\n")
    before = len(ask(work.path, "list")["restore_points"])
    for words in (["create", "."], ["rollback", "latest"], ["drop", "latest"]):
        ask(work.path, *words, code=2)
    assert len(ask(work.path, "list")["restore_points"]) == before
    assert (work.path / "a").read_text() == "harm\n"


def test_any_type_at_any_place_of_a_manifest_is_listed(work: GitRepo) -> None:
    (point,) = (path.name for path in (work.path / ".checkpoints").iterdir())
    kept = work.path / ".git/checkpoint-restore"
    good = json.loads((kept / point / "manifest.json").read_text())
    count = 1
    for kind in ("huge number", "object of twenty"):
        for place in list_places(good):
            if place in ((), ("id",), ("digest",)):
                continue
            name = f"chk_20260101_000000_{count:06d}"
            value = put({**good, "id": name}, place, ODD_VALUES[kind])
            value["digest"] = store.find_digest(value)
            (kept / name).mkdir()
            (kept / name / "manifest.json").write_bytes(store.write_text(value))
            count += 1

    listed = ask(work.path, "list")["restore_points"]
    assert len(listed) == count
    assert {"active", "damaged"} <= {row["state"] for row in listed}
    shown = run_here("restore-point", "list", cwd=work.path)
    assert (shown.returncode, len(shown.stdout.splitlines()) > count) == (0, True)


@pytest.mark.parametrize("damage", ["half", "empty", "array", "nul", "crlf", "fifo"])
def test_a_damaged_manifest_is_told_and_never_gone_back_to(work: GitRepo, damage: str) -> None:
    (point,) = (path.name for path in (work.path / ".checkpoints").iterdir())
    path = work.path / ".git/checkpoint-restore" / point / "manifest.json"
    text = path.read_bytes()
    if damage == "fifo":
        path.unlink()
        os.mkfifo(path)
    else:
        broken = {"half": text[: len(text) // 2], "empty": b"", "array": b"[]", "nul": bytes(40)}
        path.write_bytes(broken.get(damage, text.replace(b'"before"', b'"before\\r"')))
    work.write("a", "harm\n")
    assert [one["state"] for one in ask(work.path, "list")["restore_points"]] == ["damaged"]
    assert ask(work.path, "verify", point, code=1)["verified"] is False
    ask(work.path, "rollback", point, code=2)
    ask(work.path, "rollback", "latest", code=2)
    assert (work.path / "a").read_text() == "harm\n"
    ask(work.path, "drop", point)
