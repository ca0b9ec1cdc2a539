"""doctor, next and status in repositories in every condition: documented exit codes, text that is
safe.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.tools.setup.init import Options, init
from tests.support.command import run_checkpoint, run_here
from tests.support.repos import GitRepo, copy_built, needs_git
from tests.support.samples import checkpoint_text

KNOWS_OWNERS = needs_git(2, 35, 2, feature="a check of who owns a repository")
PATH = ".checkpoints/build.checkpoint.json"
# What no terminal should be sent: controls but the newline, invisible characters, marks that
# reverse the reading.
UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
Run = Callable[..., "subprocess.CompletedProcess[str]"]
COMMANDS = (("doctor",), ("next",), ("status",))
UNTRIED = (
    "schema",
    "drift",
    "content",
    "merge",
    "upstream",
    "install",
    "driver/inert",
    "hooks/unreachable",
)


def build_initialised(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    init(str(repo.path), Options(), os.environ)
    repo.write("docs/plan.md", "the plan\n")


@pytest.fixture
def healthy(tmp_path: Path) -> GitRepo:
    """An initialised repository with one checkpoint, committed."""
    copy_built(build_initialised, tmp_path / "repo")
    repo = GitRepo(tmp_path / "repo")
    repo.write(PATH, text(repo))
    repo.git("add", "-A")
    repo.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "begin (#12)")
    return repo


def text(repo: GitRepo, **changes: object) -> str:
    defaults: dict[str, object] = {
        "project_dir": str(repo.path),
        "next_actions": ["Merge #12", "Merge #13", "Write"],
    }
    return checkpoint_text(**{**defaults, **changes})


def run_all(
    cwd: Path,
    codes: tuple[int, ...] = (0, 1),
    *,
    whole: bool = False,
    run: Run = run_here,
    env: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Each command's JSON document, after what it showed was safe and it ended as documented.

    whole: with the doctor's trials, which take the longest, and each command as text too.
    """
    answers = {}
    for words in COMMANDS:
        few = (
            []
            if whole or words != ("doctor",)
            else [word for group in UNTRIED for word in ("--check", group)]
        )
        for form in (("--json",), ()) if whole else (("--json",),):
            done = run(*words, *few, *form, cwd=cwd, env=env)
            shown = f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
            assert done.returncode in codes, shown
            assert "Traceback" not in done.stderr, shown
            assert not UNSAFE.search(done.stdout), shown
            assert not UNSAFE.search(done.stderr), shown
            assert done.returncode != 2 or done.stderr or '"error"' in done.stdout, shown
            if form:
                answers[words[0]] = json.loads(done.stdout)
    return answers


def codes_of(answer: dict[str, Any]) -> list[str]:
    return sorted({finding["code"] for finding in answer["findings"]})


def test_a_healthy_repository_is_the_measure_of_the_others(healthy: GitRepo) -> None:
    answers = run_all(healthy.path, whole=True, run=run_checkpoint)
    assert set(codes_of(answers["doctor"])) <= {"drift/action-shipped", "drift/stale-in-progress"}


# what git is in the middle of


def diverge_from_side(repo: GitRepo) -> None:
    """Branch side changes the checkpoint in another way than main does."""
    repo.git("checkout", "-q", "-b", "side")
    repo.write(PATH, text(repo, project="left"))
    repo.commit("left", hooks=False)
    repo.git("checkout", "-q", "main")
    repo.write(PATH, text(repo, project="right"))
    repo.commit("right", hooks=False)


@pytest.mark.parametrize(
    "words",
    [
        ("merge", "side"),
        ("rebase", "side"),
        ("cherry-pick", "side"),
        ("revert", "--no-edit", "HEAD~1"),
    ],
)
def test_in_the_middle_of_a_conflict_the_doctor_says_of_what(
    healthy: GitRepo, words: tuple[str, ...]
) -> None:
    diverge_from_side(healthy)
    assert healthy.exit_code(*words) != 0
    found = run_all(healthy.path)["doctor"]["findings"]
    told = " ".join(
        finding["message"] for finding in found if finding["code"] == "merge/unresolved"
    )
    assert f"in the middle of a {words[0]}" in told
    assert PATH in {finding["path"] for finding in found if finding["level"] == "error"}


def test_in_the_middle_of_a_bisect_nothing_is_wrong(healthy: GitRepo) -> None:
    healthy.commit("go on", hooks=False)
    healthy.commit("go on", hooks=False)
    healthy.git("bisect", "start", "HEAD", "HEAD~2")
    assert "merge/unresolved" not in codes_of(run_all(healthy.path)["doctor"])


def test_a_detached_head_is_fine(healthy: GitRepo) -> None:
    healthy.git("checkout", "-q", "--detach")
    assert set(codes_of(run_all(healthy.path, whole=True)["doctor"])) <= {
        "drift/action-shipped",
        "drift/stale-in-progress",
    }


def test_a_head_without_commits_is_fine(repo: GitRepo) -> None:
    init(str(repo.path), Options(), os.environ)
    repo.write("docs/plan.md", "x")
    repo.write(PATH, text(repo))
    run_all(repo.path)
    repo.commit("begin", hooks=False)
    repo.git("checkout", "-q", "--orphan", "empty")
    run_all(repo.path)


def test_a_head_that_names_a_broken_ref_is_said_and_no_crash(healthy: GitRepo) -> None:
    (healthy.path / ".git/refs/heads/main").write_text("not an id\n")
    run_all(healthy.path, (0, 1, 2))


def test_objects_that_are_gone_are_said_and_no_crash(healthy: GitRepo) -> None:
    healthy.commit("Merge pull request #13 from a/b", hooks=False)
    first = healthy.git("rev-parse", "HEAD~1")
    (healthy.path / ".git/objects" / first[:2] / first[2:]).unlink()
    run_all(healthy.path, (0, 1, 2))


# branches and clones


def clone_of(repo: GitRepo, folder: Path, *options: str) -> GitRepo:
    repo.git("clone", "-q", *options, f"file://{repo.path}", str(folder))
    clone = GitRepo(folder)
    init(str(folder), Options(), os.environ)
    return clone


def test_an_upstream_that_is_gone_is_no_crash(healthy: GitRepo, tmp_path: Path) -> None:
    clone = clone_of(healthy, tmp_path / "clone")
    run_all(clone.path)
    clone.git("update-ref", "-d", "refs/remotes/origin/main")
    run_all(clone.path)
    clone.git("config", "branch.main.merge", "refs/heads/no-such")
    run_all(clone.path)
    clone.git("config", "branch.main.remote", "no-such-remote")
    run_all(clone.path)


def test_a_clone_without_a_default_branch_is_no_crash(healthy: GitRepo, tmp_path: Path) -> None:
    clone = clone_of(healthy, tmp_path / "clone")
    clone.git("symbolic-ref", "-d", "refs/remotes/origin/HEAD")
    run_all(clone.path)
    clone.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/gone")
    run_all(clone.path)


def test_a_server_that_is_gone_is_not_even_asked(healthy: GitRepo, tmp_path: Path) -> None:
    clone = clone_of(healthy, tmp_path / "clone", "--filter=blob:none")
    clone.git("remote", "set-url", "origin", "file:///nowhere")
    run_all(clone.path)


def test_a_shallow_clone_says_that_evidence_is_partial(healthy: GitRepo, tmp_path: Path) -> None:
    healthy.commit("go on", hooks=False)
    clone = clone_of(healthy, tmp_path / "clone", "--depth", "1")
    assert "drift/history-partial" in codes_of(run_all(clone.path)["doctor"])


def test_grafts_and_replaced_commits_are_followed_as_git_follows_them(healthy: GitRepo) -> None:
    first = healthy.git("rev-parse", "HEAD")
    healthy.commit("Merge pull request #13 from a/b", hooks=False)
    last = healthy.commit("last", hooks=False)
    (healthy.path / ".git/info/grafts").write_text(f"{last} {first}\n")
    run_all(healthy.path)
    (healthy.path / ".git/info/grafts").unlink()
    healthy.git("replace", "--graft", last, first)
    run_all(healthy.path)
    healthy.git("replace", "-d", last)
    healthy.git("replace", last, first)
    run_all(healthy.path)


def test_a_linked_worktree_is_fine_and_says_so_when_its_repository_is_gone(
    healthy: GitRepo, tmp_path: Path
) -> None:
    healthy.git("worktree", "add", "-q", str(tmp_path / "linked"))
    answers = run_all(tmp_path / "linked")
    assert "install/missing" not in codes_of(answers["doctor"])
    healthy.path.rename(tmp_path / "moved")
    run_all(tmp_path / "linked", (0, 1, 2))


def test_a_folder_with_its_own_checkpoints_is_looked_at_from_there(healthy: GitRepo) -> None:
    healthy.write(f"part one/{PATH}", text(healthy, skill="build"))
    healthy.commit("part", hooks=False)
    answers = run_all(healthy.path / "part one")
    assert answers["doctor"]["documents"] == 1
    assert {finding["path"] for finding in answers["doctor"]["findings"]} <= {
        f"part one/{PATH}",
        ".checkpoints",
        "",
    }


def test_a_submodule_is_a_repository_of_its_own(healthy: GitRepo, tmp_path: Path) -> None:
    outer = GitRepo.create(tmp_path / "outer")
    outer.add_submodule(healthy.path, "inner")
    outer.commit("inner")
    assert "install/missing" in codes_of(run_all(tmp_path / "outer/inner")["doctor"])


def test_a_bare_repository_has_no_checkpoints_to_look_at_but_a_server_to_set_up(
    healthy: GitRepo, tmp_path: Path
) -> None:
    healthy.git("clone", "-q", "--bare", str(healthy.path), str(tmp_path / "bare.git"))
    answers = run_all(tmp_path / "bare.git", (0, 2))
    assert "error" in answers["status"]
    assert {finding["hint"] for finding in answers["doctor"]["findings"]} == {
        "set it up: checkpoint init"
    }
    run_all(healthy.path / ".git", (0, 1, 2))


# what git refuses


@KNOWS_OWNERS
def test_where_git_refuses_no_answer_is_made_up(healthy: GitRepo) -> None:
    healthy.write(PATH, text(healthy, context_primer={"generated_files": ["gone.md"]}))
    for config in ((healthy.path / ".git/config").read_text(), "[broken\n"):
        (healthy.path / ".git/config").write_text(config)
        answers = run_all(healthy.path, env={"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
        assert "next/no-history" in codes_of(answers["next"])
        assert "doctor/not-looked-at" in codes_of(answers["doctor"])
        assert "drift/file-missing" not in codes_of(answers["doctor"])


@pytest.mark.parametrize(
    "config",
    ["[broken\n", "\x00\x01", "[core]\n\trepositoryformatversion = 9\n", "[a]\n\tb = \\q\n"],
)
def test_a_broken_configuration_is_one_clear_sentence(healthy: GitRepo, config: str) -> None:
    (healthy.path / ".git/config").write_text(config)
    run_all(healthy.path, (0, 1, 2))


def test_a_users_broken_configuration_is_one_clear_sentence(healthy: GitRepo) -> None:
    Path(os.environ["HOME"], ".gitconfig").write_text("[broken\n")
    run_all(healthy.path, (0, 1, 2))


@KNOWS_OWNERS
def test_a_repository_that_git_does_not_trust_is_one_clear_sentence(healthy: GitRepo) -> None:
    done = run_here("doctor", cwd=healthy.path, env={"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    assert done.returncode in (0, 1, 2)
    assert "safe.directory" in done.stdout + done.stderr
    run_all(healthy.path, (0, 1, 2), env={"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})


def test_a_git_folder_that_must_not_be_written_is_only_read(healthy: GitRepo) -> None:
    folders = [path for path in (healthy.path / ".git").rglob("*") if path.is_dir()] + [
        healthy.path / ".git"
    ]
    for folder in folders:
        folder.chmod(0o500)
    try:
        run_all(healthy.path)
    finally:
        for folder in folders:
            folder.chmod(0o700)


def test_a_broken_index_is_said_and_no_crash(healthy: GitRepo) -> None:
    (healthy.path / ".git/index").write_bytes(b"DIRC, or not")
    run_all(healthy.path, (0, 1, 2))


def test_a_lock_that_somebody_left_does_not_matter(healthy: GitRepo) -> None:
    for name in ("index.lock", "HEAD.lock", "config.lock"):
        (healthy.path / ".git" / name).touch()
    run_all(healthy.path)


def test_without_git_the_files_are_still_read(healthy: GitRepo, tmp_path: Path) -> None:
    run_all(healthy.path, (0, 1, 2), whole=True, env={"PATH": str(tmp_path)})


def test_a_variable_that_names_another_repository_is_no_crash(
    healthy: GitRepo, tmp_path: Path
) -> None:
    for name, value in (
        ("GIT_DIR", "/nowhere"),
        ("GIT_WORK_TREE", "/nowhere"),
        ("GIT_INDEX_FILE", "/nowhere/index"),
    ):
        run_all(healthy.path, (0, 1, 2), whole=name == "GIT_DIR", env={name: value})


# time


def test_commits_from_the_future_and_from_1970_are_no_crash(
    healthy: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for date in ("@4102444800 +0000", "@0 +0000", "@1 -1200"):
        monkeypatch.setenv("GIT_COMMITTER_DATE", date)
        monkeypatch.setenv("GIT_AUTHOR_DATE", date)
        healthy.write("docs/plan.md", date)
        healthy.commit("Merge pull request #13 from a/b", hooks=False)
    answers = run_all(healthy.path)
    assert "drift/action-shipped" in codes_of(answers["doctor"])


def test_a_checkpoint_of_another_age_is_no_crash(healthy: GitRepo) -> None:
    for at, instant in enumerate(
        ("2999-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z")
    ):
        old = text(healthy, skill=f"age{at}", created_at="0001-01-01T00:00:00Z", updated_at=instant)
        healthy.write(f".checkpoints/age{at}.checkpoint.json", old)
    healthy.commit("when", hooks=False)
    run_all(healthy.path)


# a stranger's words

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u202e\u200b\x9b1m"
MESSAGES = {
    "escapes": f"{ESCAPES} (#13)\n\nCloses #13 {ESCAPES}\n".encode(),
    "not utf-8": b"\xff\xfe\xc3 Merge pull request #13 from \xe9\n",
    "a million signs": b"#" * 1_000_000 + b"\n\nCloses #13\n",
    "a million numbers": b"subject\n\n" + b"#13 #" * 200_000,
    "carriage returns": b"Merge pull request #13\r\n\r\x0b\x0c\n",
    "no subject": b"\n\n\n(#13)\n",
    "separators": "Merge #13\u2028\u2029\x85 (#13)\n".encode(),
    "our own marks": b"\x01\x02deadbeef 0 (#13)\n\n\x01" + b"0" * 40 + b" 1 x\n",
}


def test_a_commit_message_is_only_text(healthy: GitRepo) -> None:
    tree = healthy.git("rev-parse", "HEAD^{tree}")
    for message in MESSAGES.values():
        made = healthy.run(
            "git", "commit-tree", tree, "-p", healthy.git("rev-parse", "HEAD"), stdin=message
        )
        healthy.git("update-ref", "refs/heads/main", made.stdout.decode().strip())
    run_all(healthy.path)
    done = run_here("doctor", "--check", "drift", cwd=healthy.path)
    assert not UNSAFE.search(done.stdout + done.stderr)


NAMES = {
    "a newline": "two\nlines",
    "blanks and quotes": 'it\'s "quoted"  twice',
    "escapes": "\x1b[2J\u202eevil",
    "an option": "-rf",
    "not utf-8": os.fsdecode(b"caf\xe9"),
    "magic": ":(glob)**",
    "a backslash": "a\\b",
}


def test_a_file_name_is_only_text(healthy: GitRepo) -> None:
    for name in NAMES.values():
        healthy.write(f"{name}/{PATH}", text(healthy, status="nonsense"))
        healthy.write(f".checkpoints/{name}.checkpoint.json", "{")
        healthy.write(f"docs/{name}", "x")
    listed = [f"docs/{name}".encode("utf-8", "replace").decode() for name in NAMES.values()]
    healthy.write(PATH, text(healthy, context_primer={"generated_files": listed}))
    healthy.git("add", "-A")
    healthy.git("commit", "-q", "--no-verify", "-m", "names")
    for name in NAMES.values():
        (healthy.path / "docs" / name).unlink()
    healthy.git("commit", "-q", "--no-verify", "-am", "gone")

    run_all(healthy.path)
    for name in NAMES.values():
        run_all(healthy.path / name)
    done = run_here("doctor", "--check", "drift", "--check", "schema", cwd=healthy.path)
    assert not UNSAFE.search(done.stdout + done.stderr)


def test_a_branch_name_is_only_text(healthy: GitRepo, tmp_path: Path) -> None:
    for number, branch in enumerate(("with'quote", "umläut", "-dash", "a" * 200, "caf\udce9")):
        healthy.git("update-ref", f"refs/heads/{branch}", "HEAD")
        healthy.git("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        run_all(healthy.path)
        healthy.git("clone", "-q", f"file://{healthy.path}", str(tmp_path / f"clone{number}"))
        run_all(tmp_path / f"clone{number}")


def replace_by(make: Callable[[Path], None]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.unlink()
        make(path)

    return damage


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "binary": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "deep": lambda path: path.write_bytes(b"[" * 100_000),
    "long-number": lambda path: path.write_bytes(b'{"a": ' + b"9" * 100_000 + b"}"),
    "escapes": lambda path: path.write_text(
        json.dumps({"skill": ESCAPES, "next_actions": [ESCAPES], "status": ESCAPES})
    ),
    "link-out": replace_by(lambda path: path.symlink_to("/etc/passwd")),
    "link-to-itself": replace_by(lambda path: path.symlink_to(path)),
    "folder": replace_by(Path.mkdir),
    "pipe": replace_by(os.mkfifo),
}


def test_a_file_that_is_no_checkpoint_is_a_finding(healthy: GitRepo) -> None:
    places = {name: f".checkpoints/{name}.checkpoint.json" for name in DAMAGES}
    for name, place in places.items():
        healthy.write(place, text(healthy, skill=name))
    healthy.commit("files", hooks=False)
    for name, damage in DAMAGES.items():
        damage(healthy.path / places[name])
    answers = run_all(healthy.path, (0, 1, 2))
    wrong = {
        finding["path"] for finding in answers["doctor"]["findings"] if finding["level"] == "error"
    }
    assert set(places.values()) - wrong == set()
