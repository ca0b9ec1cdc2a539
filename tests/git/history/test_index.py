"""The index of the history: it answers as the history itself does, whatever became of it or of the branch."""

import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoint_git.git.history import index, merged
from checkpoint_git.git.history.database import Database, Line
from checkpoint_git.git.history.evidence import Evidence
from checkpoint_git.git.history.index import INDEX_FILE, remove_index
from checkpoint_git.git.history.merged import read_merged, read_taken_back
from tests.support.repos import GitRepo

ASKED = {f"#{number}" for number in range(1, 9)} | {"ABC-1", "ABC-2", "!3"}


def cold(repo: GitRepo, references: set[str] = ASKED, where: Path | None = None) -> dict[str, Evidence]:
    """The answer of the history itself: nothing is this long."""
    hidden = [repo.path / ".git" / "checkpoint", repo.path / "hidden"]
    if hidden[0].exists():
        hidden[0].rename(hidden[1])
    answer = read_merged(str(where or repo.path), references, smallest=10**9)
    if hidden[1].exists():
        hidden[1].rename(hidden[0])
    return answer


def warm(repo: GitRepo, references: set[str] = ASKED, where: Path | None = None) -> dict[str, Evidence]:
    """The answer with an index, however short the history."""
    return read_merged(str(where or repo.path), references, smallest=1)


def file(repo: GitRepo) -> Path:
    return repo.path / ".git" / INDEX_FILE


def lines(repo: GitRepo) -> list[Line]:
    return Database(str(file(repo))).list_lines("whole")


def commit_many(repo: GitRepo, count: int, start: int = 100, branch: str = "main") -> None:
    """Commits (#start), (#start + 1) and so on, on top of a branch."""
    tip = repo.git("rev-parse", "--verify", "--quiet", branch, check=False)
    stream = b""
    for number in range(start, start + count):
        message = b"change (#%d)" % number
        stream += b"commit refs/heads/%s\ncommitter A <a@b.c> %d +0000\n" % (branch.encode(), 1_700_000_000 + number)
        stream += b"data %d\n%s\n" % (len(message), message)
        stream += b"from %s\n" % tip.encode() if tip and number == start else b""
    assert repo.run("git", "fast-import", "--quiet", "--force", stdin=stream).returncode == 0
    repo.git("reset", "-q", "--hard")


@pytest.fixture
def told(repo: GitRepo) -> GitRepo:
    """A repository that merged #1 and ABC-1, took #2 back, and has an index."""
    repo.commit("search (#1)")
    repo.write("sort", "1")
    repo.commit("sort (#2)")
    repo.git("revert", "--no-edit", "HEAD")
    repo.commit("ABC-1: more")
    assert warm(repo).keys() == {"#1", "ABC-1"}
    assert [line.tip for line in lines(repo)] == [repo.git("rev-parse", "HEAD")]
    return repo


def test_a_question_without_references_leaves_nothing_behind(repo: GitRepo) -> None:
    repo.commit("search (#1)")
    assert warm(repo, set()) == {}
    assert not (repo.path / ".git" / "checkpoint").exists()


def test_a_short_history_leaves_nothing_behind(repo: GitRepo) -> None:
    repo.commit("search (#1)")
    assert read_merged(str(repo.path), {"#1"}).keys() == {"#1"}
    assert not (repo.path / ".git" / "checkpoint").exists()


def test_the_index_is_asked_rather_than_the_history(told: GitRepo) -> None:
    before = file(told).stat()
    assert warm(told) == cold(told)
    assert file(told).stat().st_ino == before.st_ino


def test_what_is_committed_after_the_index_was_made_counts(told: GitRepo) -> None:
    told.commit("more (#3)")
    told.git("revert", "--no-edit", "--allow-empty", "HEAD~4", check=False)
    told.commit('Revert "search (#1)"')
    assert warm(told) == cold(told)
    assert warm(told).keys() == {"#3", "ABC-1"}


def test_many_new_commits_are_added_to_the_index(told: GitRepo) -> None:
    commit_many(told, 100)
    assert warm(told, {"#1", "#150"}).keys() == {"#1", "#150"}
    assert [line.last for line in lines(told)] == [1]
    assert warm(told, {"#1", "#150", "#2"}) == cold(told, {"#1", "#150", "#2"})


def test_an_index_that_was_added_to_often_is_made_anew(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "_MAX_RUNS", 4)
    seen = set[int]()
    for step in range(9):
        commit_many(repo, 70, 100 + 100 * step)
        asked = {f"#{number}" for number in range(50, 1_000, 50)}
        assert warm(repo, asked) == cold(repo, asked)
        seen.add(lines(repo)[0].last)
    assert seen == {0, 1, 2, 3, 4}
    assert len(lines(repo)) <= 4


def test_of_a_name_that_is_everywhere_the_newest_and_the_oldest_commits_count(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merged, "_MOST_READ", 12)
    for message in ("first (#1)", *["refs #1, refs #2"] * 20, "last (#2)"):
        repo.commit(message)
    assert warm(repo, {"#1"}).keys() == cold(repo, {"#1"}).keys() == {"#1"}
    assert warm(repo, {"#2"}).keys() == cold(repo, {"#2"}).keys() == {"#2"}
    repo.git("revert", "--no-edit", "HEAD~21", check=False)
    repo.commit('Revert "first (#1)"')
    assert warm(repo, {"#1"}) == cold(repo, {"#1"}) == {}


def test_a_commit_that_was_replaced_no_longer_counts(told: GitRepo) -> None:
    told.commit("more (#3)")
    assert "#3" in warm(told)
    file(told).unlink()
    assert "#3" in warm(told)
    told.git("commit", "-q", "--amend", "--allow-empty", "-m", "more (#4)")
    assert warm(told) == cold(told)
    assert "#3" not in warm(told)


def test_another_branch_has_its_own_answer_and_its_own_work_tree_too(told: GitRepo, tmp_path: Path) -> None:
    told.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"), "HEAD~3")
    side = GitRepo(tmp_path / "side")
    side.commit("aside (#5)")
    for _ in range(2):
        assert warm(told).keys() == {"#1", "ABC-1"}
        assert warm(told, where=side.path).keys() == {"#1", "#5"}
    assert not (side.path / "checkpoint").exists()


def test_a_branch_without_common_history_gets_an_index_of_its_own(
    told: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_MAX_LEFT", 2)
    told.git("checkout", "-q", "--orphan", "pages")
    told.commit("pages (#6)")
    for _ in range(2):
        assert warm(told).keys() == {"#6"}
        assert len(lines(told)) == 2
    told.git("checkout", "-q", "main")
    assert warm(told) == cold(told)
    assert len(lines(told)) == 2


@pytest.mark.parametrize("clock", [100_000_000, 4_000_000_000])
def test_clocks_that_were_wrong_in_a_row_hide_nothing(
    told: GitRepo, monkeypatch: pytest.MonkeyPatch, clock: int
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"{clock} +0000")
    for number in range(12):
        told.commit(f"wrong clock {number}")
    told.commit("more (#3)")
    assert warm(told) == cold(told)
    assert warm(told).keys() == {"#1", "#3", "ABC-1"}
    told.git("branch", "tip")
    told.git("reset", "-q", "--hard", "HEAD~1")
    told.commit("other (#4)")
    assert warm(told) == cold(told)


def test_a_revert_counts_in_whichever_order_the_clocks_put_it(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1700000000 +0000")
    repo.commit("search (#1)")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1600000000 +0000")
    repo.commit('Revert "search (#1)"')
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1500000000 +0000")
    assert warm(repo) == cold(repo) == {}
    repo.commit("search, second try (#1)")
    assert warm(repo) == cold(repo)
    assert warm(repo).keys() == {"#1"}


def test_a_revert_on_another_line_takes_back_only_what_it_saw(repo: GitRepo) -> None:
    repo.commit("begin")
    repo.git("checkout", "-q", "-b", "release")
    repo.commit('Revert "search (#1)"')
    repo.git("checkout", "-q", "main")
    repo.commit("search (#1)")
    repo.git("merge", "-q", "--no-ff", "-m", "Take the release in", "release")
    assert warm(repo).keys() == cold(repo).keys() == {"#1"}


def damage_by(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(change(data))

    return damage


def replace_by_database(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE line (other)")
        database.commit()


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "empty": damage_by(lambda data: b""),
    "truncated": damage_by(lambda data: data[:-1]),
    "halved": damage_by(lambda data: data[: len(data) // 2]),
    "longer": damage_by(lambda data: data + b"x"),
    "foreign": damage_by(lambda data: b"something else" * 40),
    "zeroed": damage_by(lambda data: data[:100] + bytes(len(data) - 100)),
    "another table": damage_by(lambda data: data.replace(b"names", b"nAmes")),
    "another database": replace_by_database,
    "a folder": replace_by_folder,
    "unreadable": lambda path: path.chmod(0),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_index_costs_time_only(told: GitRepo, name: str) -> None:
    expected = cold(told)
    DAMAGES[name](file(told))
    assert warm(told) == expected
    assert warm(told) == expected


def test_no_flipped_bit_changes_an_answer(told: GitRepo) -> None:
    expected = cold(told)
    whole = file(told).read_bytes()
    assert len(whole) < 100_000
    for at in range(0, len(whole), 97):
        file(told).write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
        assert Database(str(file(told))).list_lines("whole") == [], f"byte {at}"
        if not at % 7:
            assert warm(told) == expected, f"byte {at}"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_git_directory_that_cannot_be_written_is_enough(repo: GitRepo) -> None:
    repo.commit("search (#1)")
    (repo.path / ".git").chmod(0o555)
    try:
        assert warm(repo).keys() == {"#1"}
    finally:
        (repo.path / ".git").chmod(0o755)


def test_a_file_where_the_folder_should_be_is_no_trouble(repo: GitRepo) -> None:
    repo.commit("search (#1)")
    (repo.path / ".git" / "checkpoint").write_text("in the way")
    assert warm(repo).keys() == {"#1"}


def test_a_full_disk_is_no_trouble(repo: GitRepo) -> None:
    commit_many(repo, 3_000)
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "from checkpoint_git.git.history.merged import read_merged; print(read_merged('.', {'#150'}))"
    )
    done = repo.run(sys.executable, "-c", code)
    assert b"#150" in done.stdout, done.stderr.decode()
    assert os.listdir(file(repo).parent) == []


def test_a_process_without_a_free_descriptor_is_told_so(repo: GitRepo) -> None:
    repo.commit("search (#1)")
    code = (
        "import os, resource; from checkpoint_git.git.history import merged;"
        "free = os.dup(0); os.close(free);"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (free, free)); merged.read_merged('.', {'#1'})"
    )
    done = repo.run(sys.executable, "-c", code)
    assert done.stderr.decode().endswith("OSError: [Errno 24] Too many open files\n"), done.stderr.decode()[-500:]


def test_two_processes_at_once_do_no_harm(repo: GitRepo) -> None:
    commit_many(repo, 3_000)
    code = "from checkpoint_git.git.history.merged import read_merged; print(sorted(read_merged('.', {'#150', '#9'})))"
    both = [
        subprocess.Popen([sys.executable, "-c", code], cwd=repo.path, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [one.communicate(timeout=120)[0] for one in both] == ["['#150']\n"] * 3
    assert warm(repo, {"#150", "#9"}) == cold(repo, {"#150", "#9"})


def test_a_file_that_a_killed_process_left_is_in_the_way_for_ten_minutes_only(repo: GitRepo) -> None:
    repo.commit("search (#1)")
    stray = Path(f"{file(repo)}.tmp")
    stray.parent.mkdir()
    stray.write_bytes(b"half of")
    for _ in range(2):
        assert warm(repo).keys() == {"#1"}
        assert not file(repo).exists()
        assert stray.exists()
    os.utime(stray, (1_700_000_000, 1_700_000_000))
    for _ in range(2):
        assert warm(repo).keys() == {"#1"}
    assert [path.name for path in stray.parent.iterdir()] == [file(repo).name]


def test_a_process_that_is_killed_leaves_an_answer_and_an_index_that_is_whole(repo: GitRepo) -> None:
    commit_many(repo, 3_000)
    code = "from checkpoint_git.git.history.merged import read_merged; print(read_merged('.', {'#150'}))"
    for milliseconds in range(20, 400, 45):
        process = subprocess.Popen([sys.executable, "-c", code], cwd=repo.path, stdout=subprocess.DEVNULL)
        time.sleep(milliseconds / 1000)
        process.kill()
        process.wait()
        assert read_merged(str(repo.path), {"#150", "#9"}).keys() == {"#150"}
        Path(f"{file(repo)}.tmp").unlink(missing_ok=True)
        file(repo).unlink(missing_ok=True)


def test_an_index_that_another_process_removes_meanwhile_is_no_trouble(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("search (#1)")
    replace = os.replace

    def lose(old: str, new: str) -> None:
        remove_index(new)
        replace(old, new)

    monkeypatch.setattr("os.replace", lose)
    assert warm(repo).keys() == {"#1"}
    assert not file(repo).exists()


def test_a_python_without_sqlite_answers_too(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit("search (#1)")
    monkeypatch.setitem(sys.modules, "checkpoint_git.git.history.database", None)
    assert warm(repo).keys() == {"#1"}
    assert not file(repo).exists()


def test_a_removed_index_leaves_no_folder_and_is_made_again(told: GitRepo) -> None:
    remove_index(str(file(told)))
    assert not (told.path / ".git" / "checkpoint").exists()
    assert warm(told) == cold(told)
    assert len(lines(told)) == 1


def test_a_clone_that_gets_deeper_gets_a_new_index(told: GitRepo, tmp_path: Path) -> None:
    told.git("clone", "-q", "--depth", "2", f"file://{told.path}", str(tmp_path / "clone"))
    clone = GitRepo(tmp_path / "clone")
    assert warm(clone).keys() == {"ABC-1"}
    clone.git("fetch", "-q", "--unshallow")
    assert warm(clone).keys() == {"#1", "ABC-1"}


def test_a_bare_repository_has_an_index_too(told: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told.git("clone", "-q", "--bare", str(told.path), str(tmp_path / "bare.git"))
    expected = cold(told)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "bare.git"))
    for _ in range(2):
        assert read_merged(str(tmp_path / "bare.git"), ASKED, smallest=1) == expected
    assert (tmp_path / "bare.git" / INDEX_FILE).is_file()


def test_ids_of_another_length_are_as_good(tmp_path: Path) -> None:
    repo = GitRepo.create(tmp_path / "sha256", "--object-format=sha256")
    repo.commit("search (#1)")
    repo.commit("sort (#2)")
    repo.commit(f"Out again\n\nThis reverts commit {repo.git('rev-parse', 'HEAD')}.")
    for _ in range(2):
        assert warm(repo).keys() == cold(repo).keys() == {"#1"}


def test_a_head_without_commits_beside_an_index_has_merged_nothing(told: GitRepo) -> None:
    told.git("checkout", "-q", "--orphan", "empty")
    assert warm(told) == {}


def test_replacements_and_grafts_change_no_answer(told: GitRepo) -> None:
    expected = cold(told)
    told.git("replace", "--graft", "HEAD")
    assert warm(told) == cold(told) == expected


MESSAGES = st.sampled_from(
    [
        *(f"change (#{number})" for number in range(1, 5)),
        *(f'Revert "change (#{number})"' for number in range(1, 4)),
        "Merge pull request #5 from a/abc-2",
        "ABC-1: x",
        "x\n\nCloses #6, !3",
        "nothing",
    ]
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), MESSAGES),
        st.tuples(st.just("revert"), st.integers(0, 3)),
        st.tuples(st.just("switch"), st.sampled_from(["one", "two", "main"])),
        st.tuples(st.just("branch"), st.sampled_from(["one", "two"])),
        st.tuples(st.just("merge"), st.sampled_from(["one", "two", "main"])),
        st.tuples(st.just("reset"), st.integers(1, 3)),
        st.tuples(st.just("clock"), st.integers(0, 9)),
        st.tuples(st.just("ask"), st.integers(0, 1)),
    ),
    min_size=8,
    max_size=22,
)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS, few=st.sampled_from([0, 1, 64]), runs=st.sampled_from([2, 64]), left=st.sampled_from([1, 5_000]))
def test_an_index_made_in_any_steps_answers_as_the_history_does(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[tuple[str, str | int]],
    few: int,
    runs: int,
    left: int,
) -> None:
    for name, limit in (("_FEW", few), ("_MAX_RUNS", runs), ("_MAX_LEFT", left)):
        monkeypatch.setattr(index, name, limit)
    repo = GitRepo.create(tmp_path_factory.mktemp("law") / "repo")
    repo.commit("begin")
    for verb, value in steps:
        take_step(repo, monkeypatch, verb, value)
        if verb == "ask":
            assert warm(repo) == cold(repo)
    assert warm(repo) == cold(repo)
    back = read_taken_back(str(repo.path), ASKED, smallest=1)
    assert not back.keys() & warm(repo).keys()


def take_step(repo: GitRepo, monkeypatch: pytest.MonkeyPatch, verb: str, value: str | int) -> None:
    """One step; one that git refuses is none."""
    words: dict[str, list[str]] = {
        "commit": ["commit", "-q", "--allow-empty", "-m", str(value)],
        "switch": ["checkout", "-q", str(value)],
        "branch": ["checkout", "-q", "-b", str(value)],
        "merge": ["merge", "-q", "--no-ff", "-m", f"Merge branch '{value}'", str(value)],
        "reset": ["reset", "-q", "--hard", f"HEAD~{value}"],
    }
    if verb == "clock":
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{1_500_000_000 + int(value) * 1_000_000} +0000")
    elif verb == "revert":
        commit = repo.git("rev-parse", "--verify", "--quiet", f"HEAD~{value}", check=False)
        if commit:
            repo.git("commit", "-q", "--allow-empty", "-m", f"Out\n\nThis reverts commit {commit}.")
    elif verb in words:
        repo.git(*words[verb], check=False)
