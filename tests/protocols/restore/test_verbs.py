import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.command import BIN, run_checkpoint, run_here
from tests.support.repos import GitRepo
from tests.support.restore_points import KINDS, ask, folder_of, look, manifest_file


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    """Two tracked files, one of them changed."""
    repo.write("src/a.py", "a\n")
    repo.write("src/b.py", "b\n")
    repo.commit()
    repo.write("src/a.py", "changed\n")
    return repo


def rp(work: GitRepo | Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """`checkpoint restore-point WORDS`."""
    cwd = work if isinstance(work, Path) else work.path
    return run_here("restore-point", *words, cwd=cwd, env=env)


def make_point(work: GitRepo | Path, *words: str) -> str:
    """The id of a new point."""
    return str(ask(work, "create", *words)["checkpoint_id"])


def index_of(work: GitRepo) -> tuple[bytes, int, str]:
    """The index, when it was written, and what status says."""
    path = work.path / ".git/index"
    return (
        path.read_bytes(),
        path.stat().st_mtime_ns,
        work.git("--no-optional-locks", "status", "--porcelain"),
    )


def test_the_answer_keeps_the_published_contract(work: GitRepo) -> None:
    answer = ask(
        work, "create", "src", "later.txt", "--absent", "--reason", "why", "--expiry", "24h"
    )
    point = answer["checkpoint"]["id"]
    assert answer["checkpoint_created"] is True
    assert answer["checkpoint_id"] == point
    assert answer["timestamp"] == answer["checkpoint"]["created_at"]
    assert answer["checkpoint"]["type"] == "git_stash"
    assert answer["checkpoint"]["scope"] == {"files": ["src/a.py", "src/b.py"], "state_keys": []}
    assert answer["checkpoint"]["restore_command"] == f"sh .checkpoints/{point}/restore.sh"
    assert answer["pre_mutation_state"]["hash"].startswith("sha256:")
    assert "1 with uncommitted changes: src/a.py" in answer["pre_mutation_state"]["summary"]
    assert answer["confidence"] == 1.0
    anchors = answer["evidence_anchors"]
    assert any(one.startswith("tool:") for one in anchors)
    assert any(one.startswith("file:") and point in one for one in anchors)
    rollback = f"rollback: checkpoint restore-point rollback {point}"
    assert answer["next_safe_actions"][-1] == rollback
    assert "git is available" in " ".join(answer["assumptions"])


def test_making_a_point_leaves_the_index_as_it_is_to_the_nanosecond(work: GitRepo) -> None:
    os.utime(work.path / "src/b.py", (1, 1))  # an index that git would like to refresh
    before = index_of(work)
    make_point(work, "src")
    assert index_of(work) == before


def test_a_hooks_variables_lead_nowhere_else(work: GitRepo, tmp_path: Path) -> None:
    other = GitRepo.create(tmp_path / "other")
    before = index_of(work)
    env = {
        "GIT_DIR": str(other.path / ".git"),
        "GIT_INDEX_FILE": str(tmp_path / "x"),
        "GIT_WORK_TREE": str(tmp_path),
    }
    assert rp(work, "create", "src", **env).returncode == 0
    assert index_of(work) == before
    assert other.git("for-each-ref") == ""
    assert "refs/checkpoints/chk_" in work.git("for-each-ref")


def test_a_point_can_be_made_in_the_middle_of_a_merge(work: GitRepo) -> None:
    work.git("checkout", "-q", "-b", "side", "HEAD")
    work.commit()
    work.git("checkout", "-q", "main")
    work.write("src/a.py", "other\n")
    work.commit()
    assert work.exit_code("merge", "side") == 1
    before, tree = index_of(work), look(work.path)
    point = make_point(work, ".")
    assert index_of(work) == before
    work.write("src/a.py", "resolved\n")
    ask(work, "rollback", point)
    assert look(work.path) == tree
    assert index_of(work)[0] == before[0]


# the five ways of losing work with a stash


def test_the_edits_stay_in_the_work_tree_while_a_point_is_made(work: GitRepo) -> None:
    make_point(work, ".")
    assert work.read("src/a.py") == "changed\n"


def test_a_clean_tree_gives_a_point_too_and_nobody_elses_is_taken(work: GitRepo) -> None:
    work.git("stash", "push", "-q", "-m", "somebody's")
    point = make_point(work, "src")
    work.write("src/a.py", "broken")
    ask(work, "rollback", point)
    assert work.read("src/a.py") == "a\n"
    assert len(work.git("stash", "list").splitlines()) == 1


def test_a_point_is_found_by_its_name_whatever_was_made_or_dropped_since(work: GitRepo) -> None:
    first = make_point(work, "src")
    work.git("stash", "push", "-q")
    second = make_point(work, "src")
    ask(work, "drop", second)
    ask(work, "rollback", first)
    assert work.read("src/a.py") == "changed\n"


def test_going_back_works_over_later_changes_of_the_same_lines(work: GitRepo) -> None:
    point = make_point(work, "src")
    work.write("src/a.py", "quite another\n")
    work.commit()
    ask(work, "rollback", point)
    assert work.read("src/a.py") == "changed\n"


def test_no_filter_and_no_line_end_rule_changes_a_byte(work: GitRepo) -> None:
    work.write(".gitattributes", "*.py filter=lossy text eol=crlf ident\n")
    work.git("config", "filter.lossy.clean", "sed s/secret/xxx/")
    work.git("config", "filter.lossy.smudge", "sed s/xxx/yyy/")
    content = b"secret\r\nmixed\n$Id$\0\xff\n"
    work.write("src/a.py", content)
    point = make_point(work, "src")
    work.write("src/a.py", "broken")
    assert work.run("sh", f".checkpoints/{point}/restore.sh").returncode == 0
    assert (work.path / "src/a.py").read_bytes() == content
    work.write("src/a.py", "broken")
    ask(work, "rollback", point)
    assert (work.path / "src/a.py").read_bytes() == content


# repositories of every kind


def test_a_bare_repository_is_refused(tmp_path: Path) -> None:
    bare = GitRepo.create(tmp_path / "bare.git", "--bare")
    for folder in (bare.path, bare.path / "refs"):
        done = rp(folder, "create", ".")
        assert done.returncode == 2
        assert "without a work tree" in done.stderr
    assert not (bare.path / ".checkpoints").exists()


def test_points_of_every_work_tree_are_listed_and_used_elsewhere_only_on_request(
    work: GitRepo, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    work.git("worktree", "add", "-q", str(other))
    (other / "src/a.py").write_text("from the other one\n")
    point = make_point(other, "src")
    (listed,) = ask(work, "list")["restore_points"]
    assert (listed["id"], listed["work_tree"]) == (point, "other")
    refused = rp(work, "rollback", point)
    assert refused.returncode == 2
    assert "--here" in refused.stderr
    work.git("worktree", "remove", "--force", str(other))
    assert [one["id"] for one in ask(work, "list")["restore_points"]] == [point]
    ask(work, "rollback", point, "--here")
    assert work.read("src/a.py") == "from the other one\n"


def test_files_of_a_submodule_come_back_and_its_history_is_left_alone(
    work: GitRepo, tmp_path: Path
) -> None:
    library = GitRepo.create(tmp_path / "library")
    library.write("lib.py", "x\n")
    library.commit()
    work.add_submodule(library.path, "vendor")
    head = (work.path / ".git/modules/vendor/HEAD").read_bytes()
    point = make_point(work, "vendor")
    work.write("vendor/lib.py", "broken")
    answer = ask(work, "rollback", point)
    assert answer["removed"] == []
    assert work.read("vendor/lib.py") == "x\n"
    assert (work.path / ".git/modules/vendor/HEAD").read_bytes() == head
    assert (work.path / "vendor/.git").is_file()


def test_a_sparse_work_tree_keeps_what_is_there(work: GitRepo) -> None:
    work.write("docs/x", "x\n")
    work.commit()
    work.git("sparse-checkout", "set", "src")
    assert not (work.path / "docs").exists()
    point = make_point(work, ".")
    work.write("src/a.py", "broken")
    ask(work, "rollback", point)
    assert work.read("src/a.py") == "changed\n"
    assert not (work.path / "docs").exists()


def test_what_git_does_to_clean_up_takes_no_point_away(work: GitRepo) -> None:
    work.write("src/new", "untracked\n")
    point = make_point(work, "src")
    work.git("stash", "push", "-q", "-u")
    work.git("stash", "clear")
    work.git("reflog", "expire", "--expire=now", "--all")
    work.git("gc", "-q", "--prune=now")
    work.git("clean", "-qxffd")
    assert ask(work, "verify", point)["verified"] is True
    ask(work, "rollback", point)
    assert (work.read("src/a.py"), work.read("src/new")) == ("changed\n", "untracked\n")


# files of every kind


def test_names_that_are_no_text_are_kept_and_told(work: GitRepo) -> None:
    name = "src/\udcff\n'\"- \x1b[31m"
    work.write(name, "odd\n")
    point = make_point(work, "src")
    (work.path / name).unlink()
    done = rp(work, "rollback", point)
    assert done.returncode == 0, done.stderr
    assert "\x1b[31m" not in done.stdout
    assert work.read(name) == "odd\n"
    assert rp(work, "show", point).returncode == 0
    assert (
        run_checkpoint("rp", "create", os.fsdecode(os.fsencode(name)), cwd=work.path).returncode
        == 0
    )


@pytest.mark.parametrize("words", [("src",), ("src/[id].tsx",), ("src/*.tsx",)])
def test_a_name_that_looks_like_a_pattern_is_a_name(work: GitRepo, words: tuple[str, ...]) -> None:
    work.write("src/[id].tsx", "brackets\n")
    work.write("src/i.tsx", "one letter\n")
    point = make_point(work, *words)
    (work.path / "src/[id].tsx").unlink()
    work.write("src/i.tsx", "mine\n")
    ask(work, "rollback", point, "--scope", "src/[id].tsx")
    assert (work.read("src/[id].tsx"), work.read("src/i.tsx")) == ("brackets\n", "mine\n")


def test_links_that_lead_in_circles_are_kept_as_links(work: GitRepo) -> None:
    (work.path / "src/one").symlink_to("two")
    (work.path / "src/two").symlink_to("one")
    (work.path / "src/up").symlink_to("..")
    before = look(work.path)
    point = make_point(work, "src")
    shutil.rmtree(work.path / "src")
    ask(work, "rollback", point)
    assert look(work.path) == before


def test_names_that_differ_in_case_only_are_two_files(work: GitRepo) -> None:
    work.write("src/Name", "upper")
    work.write("src/name", "lower")
    point = make_point(work, "src")
    shutil.rmtree(work.path / "src")
    ask(work, "rollback", point)
    assert (work.read("src/Name"), work.read("src/name")) == ("upper", "lower")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_never_stands_still_is_named_and_no_point_is_made(
    work: GitRepo, kind: str
) -> None:
    (work.path / "src/busy").write_bytes(bytes(8_000_000))
    script = "import os\nfile = os.open('src/busy', os.O_WRONLY)\nwhile True: os.pwrite(file, os.urandom(9), 7)"
    writer = subprocess.Popen([sys.executable, "-c", script], cwd=work.path)
    time.sleep(0.3)
    try:
        done = rp(work, "create", "src/busy", "--type", kind)
        # it stood still for a moment, and what was kept is what stood there
        while done.returncode == 0:
            done = rp(work, "create", "src/busy", "--type", kind)
    finally:
        writer.kill()
        writer.wait()
    assert done.returncode == 2
    assert "src/busy changes while it is read" in done.stderr


@pytest.mark.skipif(
    shutil.which("setpriv") is None, reason="needs setpriv to be another user than root"
)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_file_that_may_not_be_read_is_named_and_no_point_is_made() -> None:
    # not in pytest's own folder, which it closes to others again whenever it starts
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "locked")
        path.write_text("x")
        path.chmod(0)
        path.parent.chmod(0o777)
        who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        command = [*who, str(BIN / "checkpoint")]
        able = subprocess.run([*command, "rp", "--help"], cwd=name, capture_output=True, text=True)
        if able.returncode:
            pytest.skip(f"another user cannot start the command here: {able.stderr[:100]}")
        done = subprocess.run(
            [*command, "rp", "create", "locked"], cwd=name, capture_output=True, text=True
        )
    assert done.returncode == 2
    assert "locked cannot be read" in done.stderr


# the disk


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """A limit on the size of files for the processes started meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_cannot_be_kept_whole_leaves_no_point_and_nothing_else(
    work: GitRepo, kind: str
) -> None:
    work.write("src/big", os.urandom(300_000))
    tree = look(work.path)
    with file_size_limit(100_000):
        done = run_checkpoint("rp", "create", "src", "--type", kind, cwd=work.path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert look(work.path) == tree
    names = os.listdir(work.path / ".git/checkpoint-restore")
    assert [name for name in names if name.startswith((".new", "chk_"))] == []
    assert ask(work, "list")["restore_points"] == []


def test_a_rollback_that_runs_out_of_room_keeps_everything_and_is_finished_later(
    work: GitRepo,
) -> None:
    work.write("src/big", os.urandom(300_000))
    before = look(work.path)
    point = make_point(work, "src")
    work.write("src/big", "small")
    work.write("src/a.py", "broken")
    with file_size_limit(100_000):
        assert run_checkpoint("rp", "rollback", point, cwd=work.path).returncode == 2
    assert work.read("src/big") == "small"
    ask(work, "rollback", point)
    assert look(work.path) == before


def test_a_folder_of_points_that_is_a_link_is_refused(work: GitRepo, tmp_path: Path) -> None:
    (work.path / ".checkpoints").symlink_to(tmp_path)
    done = rp(work, "create", "src")
    assert done.returncode == 2
    assert "symbolic link" in done.stderr
    assert not [name for name in os.listdir(tmp_path) if name.startswith("chk_")]


# duties of the words


@pytest.mark.parametrize(
    "scope", ["/etc/hosts", "../x", ".git/config", ".checkpoints/chk_20260115_143022_a7b3c9", ""]
)
def test_a_scope_that_is_not_the_users_is_refused(work: GitRepo, scope: str) -> None:
    assert rp(work, "create", scope).returncode == 2


@pytest.mark.parametrize("words", [("rollback", "chk_20260115_143022_a7b3c9"), ("rollback", "../x"), ("drop", "-"),
                                   ("show",), ("gc",), ("list", "x"), ("create",),
                                   ("create", "src", "--expiry", "soon"), ("list", "--force")])  # fmt: skip
def test_words_that_make_no_sense_are_told_so(work: GitRepo, words: tuple[str, ...]) -> None:
    done = rp(work, *words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_dry_run_changes_nothing(work: GitRepo) -> None:
    point = make_point(work, "src")
    work.write("src/a.py", "broken")
    work.write("src/new", "x")
    tree = look(work.path)
    answer = ask(work, "rollback", point, "--dry-run")
    assert [one["path"] for one in answer["restored"]] == ["src/a.py"]
    assert answer["removed"] == ["src/new"]
    assert look(work.path) == tree
    assert len(ask(work, "list")["restore_points"]) == 1


def test_only_a_part_goes_back_when_it_is_named(work: GitRepo) -> None:
    point = make_point(work, "src")
    work.write("src/a.py", "broken")
    work.write("src/b.py", "kept as it is now")
    ask(work, "rollback", point, "--scope", "src/a.py")
    assert (work.read("src/a.py"), work.read("src/b.py")) == ("changed\n", "kept as it is now")


@pytest.mark.parametrize(
    "words", [("--scope", "src/typo.py"), ("--scope", "src/a.py", "--scope", "typo", "--dry-run")]
)
def test_a_part_that_is_neither_in_the_point_nor_there_is_named(
    work: GitRepo, words: tuple[str, ...]
) -> None:
    point = make_point(work, "src")
    work.write("src/a.py", "broken")
    done = rp(work, "rollback", point, *words)
    assert done.returncode == 2
    assert f"{point} does not contain" in done.stderr
    assert "typo" in done.stderr
    assert work.read("src/a.py") == "broken"


def test_of_a_part_that_git_ignores_a_rollback_says_that_it_stays(work: GitRepo) -> None:
    point = make_point(work, "src")
    work.write(".gitignore", "*.log\n")
    work.write("src/a.log", "kept")
    for words in ((), ("--dry-run",)):
        done = rp(work, "rollback", point, "--scope", "src/a.log", *words)
        assert (done.returncode, work.read("src/a.log")) == (2, "kept")
        assert f"{point} does not contain src/a.log, and it stays as it is" in done.stderr


def test_a_state_that_is_not_json_is_named_with_its_line(work: GitRepo) -> None:
    work.write("state.json", '{"a": 1\n"b": 2}')
    done = rp(work, "create", "--state", "run=state.json")
    assert done.returncode == 2
    assert "the state run is not JSON" in done.stderr
    assert "line 2" in done.stderr


def test_a_dropped_point_is_gone_with_its_ref(work: GitRepo) -> None:
    point = make_point(work, "src")
    ask(work, "drop", point)
    assert work.git("for-each-ref", "refs/checkpoints") == ""
    assert rp(work, "rollback", point).returncode == 2
    assert not [
        name for name in os.listdir(work.path / ".checkpoints") if name.startswith(("chk_", ".new"))
    ]


def test_the_hint_of_a_drop_removes_the_lock_that_a_killed_git_left(work: GitRepo) -> None:
    points = [make_point(work, "src"), make_point(work, "src")]
    (work.path / ".git/packed-refs.lock").write_text("")
    done = rp(work, "drop", *points)
    assert done.returncode == 2
    command = done.stderr.partition("if none is running: ")[2]
    assert command.startswith("rm ")
    work.run("sh", "-c", command)
    ask(work, "drop", *points)
    assert work.git("for-each-ref", "refs/checkpoints") == ""


def test_a_drop_clears_the_locks_that_a_killed_git_left_on_the_refs_of_points(
    work: GitRepo,
) -> None:
    points = [make_point(work, "src"), make_point(work, "src")]
    locks = [work.path / f".git/refs/checkpoints/{point}.lock" for point in points]
    for lock in locks:
        lock.write_text("")
    ask(work, "drop", *points)
    assert work.git("for-each-ref", "refs/checkpoints") == ""
    assert [lock for lock in locks if lock.exists()] == []


def test_a_drop_that_was_cut_off_is_finished_by_the_next_clearing(work: GitRepo) -> None:
    point = make_point(work, "src")
    path = manifest_file(work.path, point)
    path.write_text(path.read_text().replace('"state": "active"', '"state": "dropped"'))
    assert rp(work, "rollback", point).returncode == 2
    answer = ask(work, "gc", "--expired")
    assert (answer["cleared"], answer["automatic"]) == ([point], 0)
    assert work.git("for-each-ref", "refs/checkpoints") == ""


@pytest.mark.parametrize("what", ["manifest", "looked at", "script", "blob", "copy", "ref", "log"])
def test_verify_finds_what_was_tampered_with(work: GitRepo, what: str) -> None:
    point = make_point(work, "src", "--type", "file_backup" if what == "copy" else "git_stash")
    assert rp(work, "verify", point).returncode == 0
    folder, copy = folder_of(work.path, point), work.path / ".checkpoints" / point
    if what == "manifest":
        path = folder / "manifest.json"
        path.write_text(path.read_text().replace('"reason": ""', '"reason": "x"'))
    elif what == "script":
        (copy / "restore.sh").write_text("rm -rf /\n")
    elif what == "looked at":
        path = copy / "manifest.json"
        path.write_text(path.read_text().replace('"reason": ""', '"reason": "x"'))
    elif what == "blob":
        blob = work.git("hash-object", "--no-filters", "src/a.py")
        path = work.path / ".git/objects" / blob[:2] / blob[2:]
        path.chmod(0o644)
        path.write_bytes(b"damaged")
    elif what == "copy":
        (folder / "content/src/a.py").write_text("evil\n")
    elif what == "ref":
        work.git("update-ref", "-d", f"refs/checkpoints/{point}")
    else:
        path = work.path / ".audit/checkpoint-operations.log"
        lines = path.read_text().splitlines()
        path.write_text("\n".join(line for line in lines if '"create"' not in line) + "\n")
    done = rp(work, "verify", point, "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == (0 if what == "log" else 1), answer
    assert answer["findings"]
    if what == "log":
        assert answer["findings"][0]["code"] == "restore/unlogged"
        assert rp(work, "audit", "verify").returncode == 1
        (work.path / ".audit/checkpoint-operations.log").unlink()
        gone = rp(work, "audit", "verify", "--json")
        found = json.loads(gone.stdout)["findings"]
        assert (gone.returncode, [each["code"] for each in found]) == (1, ["restore/unlogged"])


def test_secrets_are_left_out_and_named(work: GitRepo) -> None:
    for name in (".env", "src/credentials.json", "src/server.pem", "src/id_rsa"):
        work.write(name, "TOKEN")
    work.write("src/keyboard.keys.py", "x")
    answer = ask(work, "create", ".")
    assert "src/keyboard.keys.py" in answer["checkpoint"]["scope"]["files"]
    assert answer["confidence"] < 1
    told = " ".join(answer["warnings"])
    assert all(
        name in told for name in (".env", "src/credentials.json", "src/server.pem", "src/id_rsa")
    )
    assert "TOKEN" not in work.git("log", "-p", "--glob=refs/checkpoints", "--format=%B")


# several at once, and killed


@pytest.mark.parametrize("count", [8, pytest.param(20, marks=pytest.mark.deep)])
def test_many_at_once_make_as_many_points_and_one_whole_log(work: GitRepo, count: int) -> None:
    command = [str(BIN / "checkpoint"), "rp", "create", "src/a.py", "--json"]
    processes = [
        subprocess.Popen(command, cwd=work.path, stdout=subprocess.PIPE) for _ in range(count)
    ]
    made = {
        json.loads(process.communicate(timeout=120)[0])["checkpoint_id"] for process in processes
    }
    assert [process.returncode for process in processes] == [0] * count
    assert len(made) == count
    assert {point["id"] for point in ask(work, "list")["restore_points"]} == made
    verified = ask(work, "audit", "verify")
    assert (verified["records"], verified["whole"]) == (count, True)


def kill_after(work: GitRepo, seconds: float, *words: str) -> None:
    """Starts a command, and ends it and its children the hard way after some time."""
    process = subprocess.Popen(
        [str(BIN / "checkpoint"), "rp", *words],
        cwd=work.path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.parametrize(
    "at", [4, *(pytest.param(at, marks=pytest.mark.deep) for at in (1, 2, 3, 5, 6, 7, 8))]
)
def test_a_kill_at_any_time_leaves_a_tree_that_the_same_command_finishes(
    work: GitRepo, at: int
) -> None:
    for number in range(30):
        work.write(f"src/{number}", f"{number}\n" * 20)
    before = look(work.path)
    began = time.monotonic()
    point = make_point(work, "src")
    length = time.monotonic() - began
    kill_after(work, length * at / 8, "create", "src")
    assert look(work.path) == before
    for number in range(30):
        work.write(f"src/{number}", "broken")
    work.write("src/made/since", "x")
    harmed = look(work.path)
    kill_after(work, length * at / 6, "rollback", point)
    is_over = look(work.path) == before
    answer = ask(work, "rollback", point)
    assert look(work.path) == before
    if not is_over:
        ask(work, "rollback", answer["safety_checkpoint_id"])
        assert look(work.path) == harmed
    ask(work, "create", "src")
    names = os.listdir(work.path / ".checkpoints")
    assert all(name.startswith("chk_") for name in names), names
    assert all(one["state"] != "damaged" for one in ask(work, "list")["restore_points"])
