"""Automatic restore points: what they hold and leave alone, kills, sessions side by side, and the
way back.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core import platform
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.lock import hold_lock
from checkpoint_git.protocols.restore import snapshot
from checkpoint_git.protocols.restore.api import RestorePoints
from tests.support.command import run_here
from tests.support.killed_git import update_ref_killed
from tests.support.repos import GitRepo
from tests.support.restore_points import ask

COPILOT = ".github/hooks/checkpoint-git.json"
CALL = {"session_id": "s-1", "tool_name": "Edit", "tool_input": {"content": '"session_id": "x"'}}


def start(cwd: Path, **call: object) -> "subprocess.Popen[bytes]":
    """The hook, as an agent starts it before a tool call."""
    words = [sys.executable, "-I", "-S", str(snapshot.__file__)]
    done = subprocess.Popen(
        words, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert done.stdin is not None
    given = {key: value for key, value in {**CALL, **call}.items() if value is not None}
    done.stdin.write(json.dumps(given).encode())
    done.stdin.close()
    done.stdin = None
    return done


def take(cwd: Path, **call: object) -> None:
    hook = start(cwd, **call)
    out, err = hook.communicate(timeout=60)
    assert (hook.returncode, out, err) == (0, b"", b"")


def labels(repo: GitRepo) -> list[str]:
    """Newest first."""
    return repo.git("log", "-g", "--format=%gs", snapshot.REF, "--", check=False).splitlines()


def names(repo: GitRepo, point: str = snapshot.REF) -> list[str]:
    return repo.git("ls-tree", "-r", "--name-only", point).splitlines()


def forget(repo: GitRepo) -> None:
    """Let the next hook begin with the user's index."""
    shutil.rmtree(repo.path / ".git/checkpoint/automatic")


def points(repo: GitRepo) -> list[dict[str, str]]:
    found: list[dict[str, str]] = ask(repo, "list")["automatic"]
    return found


@pytest.fixture
def work(repo: GitRepo) -> GitRepo:
    repo.write(".gitignore", "*.log\n")
    repo.write("a.py", "one\n")
    repo.write("b.py", "b\n")
    repo.commit()
    repo.write("a.py", "two\n")
    repo.write("new.py", "new\n")
    return repo


def test_it_holds_what_git_would_add_and_touches_nothing_of_the_users(work: GitRepo) -> None:
    work.git("add", "b.py")
    index = (work.path / ".git/index").read_bytes()
    before = [
        work.git(*words.split())
        for words in ("status", "for-each-ref", "log --all", "stash list", "reflog")
    ]
    take(work.path)
    assert names(work) == [".gitignore", "a.py", "b.py", "new.py"]
    assert work.git("show", f"{snapshot.REF}:a.py") == "two"
    after = [
        work.git(*words.split())
        for words in ("status", "for-each-ref", "log --all", "stash list", "reflog")
    ]
    assert (before, index) == (after, (work.path / ".git/index").read_bytes())
    mirror = GitRepo.create(work.path.parent / "mirror", "--bare")
    work.git("push", "-q", "--mirror", str(mirror.path))
    assert mirror.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_what_looks_like_a_secret_or_is_ignored_is_not_kept(work: GitRepo) -> None:
    for name in (
        ".env",
        ".ENV",
        "x/id_rsa",
        "prod.pem",
        "x/.aws/config",
        "x.log",
        "credentials.json",
        ".env.example",
    ):
        work.write(name, "x")
    take(work.path)
    assert names(work) == [".env.example", ".gitignore", "a.py", "b.py", "new.py"]
    ours = work.git("count-objects", "-v")
    take(work.path)
    assert work.git("count-objects", "-v") == ours
    work.git("config", "core.excludesFile", str(work.write("mine", "*.own\n")))
    work.write("secrets/plain.py", "x")
    work.write("x.own", "x")
    work.git("add", "-f", ".env")
    forget(work)
    take(work.path)
    work.write(".env", "changed")
    take(work.path)
    assert work.git("show", f"{snapshot.REF}:.env") == "x", (
        "what is tracked is left as it is in the index"
    )
    assert {"secrets/plain.py", "mine", ".env"} == set(names(work)) - {
        ".env.example",
        ".gitignore",
        "a.py",
        "b.py",
        "new.py",
    }


def test_ignore_rules_that_changed_in_the_instant_of_a_point_count_for_the_next(
    work: GitRepo,
) -> None:
    take(work.path)
    exclude = work.write(".git/info/exclude", "*.own\n")
    begun = (work.path / ".git/checkpoint/automatic/config").stat().st_mtime_ns
    os.utime(exclude, ns=(begun, begun))
    work.write("x.own", "x")
    work.write("later.py", "x")
    take(work.path)
    assert {"later.py", "x.own"} & {*names(work)} == {"later.py"}


def test_only_what_changed_is_kept_again_also_by_a_shell_command(work: GitRepo) -> None:
    for tool in ("Bash", "Edit", "Read"):
        take(work.path, tool_name=tool)
    work.write("made/by/shell.txt", "x")
    take(work.path, tool_name="Write", session_id="s-2")
    (work.path / "b.py").unlink()
    take(work.path, tool_name=None)
    assert labels(work) == ["s-1 end of a turn", "s-2 before Write", "s-1 before Bash"]
    work.commit("all of it")
    take(work.path)
    take(work.path)
    assert len(labels(work)) == 4, "a commit moves HEAD, once"


def test_where_nothing_changed_nothing_is_added(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, run = list[str](), snapshot._run

    def run_and_note(words: tuple[str, ...], *rest: Any) -> tuple[int, str, str]:
        asked.extend(words)
        return run(words, *rest)

    monkeypatch.setattr(snapshot, "_run", run_and_note)
    work.write("c.py", "1\n")

    def adds() -> bool:
        asked.clear()
        snapshot.take(str(work.path), "s-1 before Edit")
        return "add" in asked

    assert adds()
    assert not adds()
    os.utime(work.path / "a.py", (1, 1))
    assert (adds(), adds()) == (True, False), "the index learns the new time"
    (work.path / "c.py").unlink()
    assert adds()
    assert "c.py" not in names(work)


def test_they_are_listed_by_session_and_one_command_goes_back(work: GitRepo) -> None:
    work.write(".checkpoints/build.checkpoint.json", "{}")
    take(work.path)
    work.write("a.py", "broken\n")
    work.write("later.py", "x")
    (work.path / "new.py").unlink()
    (work.path / "b.py").unlink()
    (work.path / "b.py").symlink_to("a.py")
    work.write(".checkpoints/build.checkpoint.json", '{"more": 1}')
    take(work.path, session_id="s-2")
    first, second = points(work)
    assert (first["session"], first["before"], second["session"]) == ("s-1", "before Edit", "s-2")
    planned = ask(work, "rollback", first["id"], "--dry-run")
    assert planned["removed"] == ["later.py"]
    done = ask(work, "rollback", first["id"])
    assert [each["path"] for each in done["restored"]] == ["a.py", "b.py", "new.py"]
    assert (work.read("a.py"), work.read("b.py"), work.read("new.py")) == ("two\n", "b\n", "new\n")
    assert not (work.path / "b.py").is_symlink()
    assert not (work.path / "later.py").exists()
    assert work.read(".checkpoints/build.checkpoint.json") == '{"more": 1}', (
        "the record of the work is not undone"
    )
    ask(work, "rollback", str(done["safety_checkpoint_id"]))
    assert (work.read("a.py"), work.read("later.py"), (work.path / "b.py").is_symlink()) == (
        "broken\n",
        "x",
        True,
    )
    assert not (work.path / "new.py").exists()
    listed = run_here("rp", "list", cwd=work.path).stdout
    assert listed.index("session s-1: before Edit") < listed.index("session s-2: before Edit")


def test_a_part_goes_back_alone(work: GitRepo) -> None:
    take(work.path)
    for name in ("a.py", "b.py"):
        work.write(name, "broken\n")
    ask(work, "rollback", points(work)[0]["id"], "--scope", "b.py")
    assert (work.read("a.py"), work.read("b.py")) == ("broken\n", "b\n")


def refuse(repo: GitRepo, *words: str) -> str:
    done = run_here("rp", *words, cwd=repo.path)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


REFUSED = [
    (["rollback", "auto-123456789abc"], "no such restore point: auto-123456789abc"),
    (["rollback", "auto-"], "no such restore point: auto-"),
    (["rollback", "auto-\x1b[2J"], "no such restore point: auto-\\x1b[2J"),
    (["rollback", "ID", "--foreign"], "omit --state-to"),
    (["rollback", "ID", "--state-to", "a=b.json"], "omit --state-to"),
    (["rollback", "ID", "--scope", "state:run"], "omit --state-to"),
    (["rollback", "ID", "--scope", "../out"], "outside the workspace"),
    *(
        ([verb, "ID"], f"{verb} takes no automatic restore point")
        for verb in ("show", "diff", "verify", "drop")
    ),
]


def test_what_cannot_be_done_with_them_is_refused(work: GitRepo) -> None:
    take(work.path)
    work.write("a.py", "later\n")
    point = points(work)[0]["id"]
    for words, message in REFUSED:
        assert message in refuse(work, *(point if word == "ID" else word for word in words))
        assert work.read("a.py") == "later\n"


def test_odd_names_modes_links_and_folders_go_back_and_forth(work: GitRepo) -> None:
    odd = ("-n", "two\nlines", ":(top)x", "[id].py")
    replaced = ("was-file", "folder/in", "linked/x")
    for name in (*odd, *replaced, "run.sh"):
        work.write(name, "then\n")
    (work.path / "run.sh").chmod(0o755)
    take(work.path)
    outside = work.path.parent / "outside"
    outside.mkdir()
    (outside / "x").write_text("theirs\n")
    for name in odd:
        work.write(name, "now\n")
    (work.path / "run.sh").chmod(0o644)
    for name in replaced:
        (work.path / name).unlink()
    for name in ("folder", "linked"):
        (work.path / name).rmdir()
    work.write("was-file/deep/x", "now\n")
    work.write("folder", "now\n")
    (work.path / "linked").symlink_to(outside)
    index = work.git("ls-files", "--stage")
    done = ask(work, "rollback", points(work)[0]["id"], "--reason", "it was wrong")
    for name in (*odd, *replaced, "run.sh"):
        assert work.read(name) == "then\n"
    assert (work.path / "run.sh").stat().st_mode & 0o100
    assert not (work.path / "linked").is_symlink()
    assert (outside / "x").read_text() == "theirs\n"
    assert work.git("ls-files", "--stage") == index
    assert (
        "two\nlines" not in run_here("rp", "rollback", points(work)[0]["id"], cwd=work.path).stdout
    )
    ask(work, "rollback", str(done["safety_checkpoint_id"]))
    assert (work.read("-n"), work.read("was-file/deep/x"), work.read("folder")) == ("now\n",) * 3
    assert (work.path / "linked").is_symlink()
    assert not (work.path / "run.sh").stat().st_mode & 0o100
    log = run_here("rp", "audit", "--json", cwd=work.path).stdout
    assert [one["details"]["reason"] for one in json.loads(log)["records"]][:2] == [
        f"before rolling back to {points(work)[0]['id']}",
        "it was wrong",
    ]


def test_what_no_point_keeps_is_never_replaced(work: GitRepo) -> None:
    work.write("out/x", "then\n")
    take(work.path)
    point = points(work)[0]["id"]
    (work.path / "out/x").unlink()
    work.write("out/x/own.log", "ignored\n")
    work.write("later.py", "x")
    assert "no restore point keeps out/x/own.log" in refuse(work, "rollback", point)
    assert (work.read("out/x/own.log"), work.read("later.py")) == ("ignored\n", "x")
    (work.path / "out/x/own.log").unlink()
    (work.path / "out/x").rmdir()
    (work.path / "out").rmdir()
    work.write(".git/info/exclude", "out\n")
    (work.path / "out").symlink_to(work.path.parent)
    assert "symbolic link" in refuse(work, "rollback", point)
    (work.path / "out").unlink()
    work.write("out/x", "ignored by now\n")
    done = ask(work, "rollback", point)
    assert (work.read("out/x"), (work.path / "later.py").exists()) == ("then\n", False)
    ask(work, "rollback", str(done["safety_checkpoint_id"]))
    assert (work.read("out/x"), work.read("later.py")) == ("ignored by now\n", "x")


def test_a_rollback_that_fails_on_the_way_can_be_run_again(work: GitRepo) -> None:
    take(work.path)
    work.write("a.py", "later\n")
    work.write("later/deep.py", "x")
    work.write(".git/index.lock", "")
    assert "another git command has locked the index" in refuse(
        work, "rollback", points(work)[0]["id"], "--index"
    )
    (work.path / ".git/index.lock").unlink()
    ask(work, "rollback", points(work)[0]["id"])
    assert (work.read("a.py"), (work.path / "later").exists()) == ("two\n", False)


def test_a_lock_that_a_killed_git_left_on_the_ref_stops_no_point(work: GitRepo) -> None:
    """Nor does one whose time is in the future, because the clock was set back since."""
    take(work.path)
    for count, seconds in enumerate((0, time.time() + 3600), start=2):
        lock = update_ref_killed(work, snapshot.REF, snapshot.REF)
        os.utime(lock, (seconds, seconds))
        work.write("a.py", f"later {count}\n")
        take(work.path)
        assert (len(labels(work)), lock.exists()) == (count, False)


def test_a_linked_work_tree_goes_back_to_its_own_from_a_folder_below(
    work: GitRepo, tmp_path: Path
) -> None:
    work.git("worktree", "add", "-q", str(tmp_path / "other"))
    other = GitRepo(tmp_path / "other")
    other.write("sub/x", "then\n")
    take(other.path)
    other.write("sub/x", "now\n")
    other.write("a.py", "now\n")
    point = points(other)[0]["id"]
    assert "no such restore point" in refuse(work, "rollback", point)
    assert (
        run_here("rp", "rollback", point[:10], "--scope", ".", cwd=other.path / "sub").returncode
        == 0
    )
    assert (other.read("sub/x"), other.read("a.py")) == ("then\n", "now\n")


def end_turns(work: GitRepo, size: int) -> None:
    for number in range(5):
        work.write("a.py", str(number) + random.randbytes(size).hex())  # noqa: S311 (no secret)
        snapshot.take(str(work.path), f"s-{number} end of a turn")


def test_the_oldest_are_dropped_first_and_gc_keeps_the_others(work: GitRepo) -> None:
    work.git("config", snapshot.BUDGET, "250k")
    end_turns(work, 100_000)
    work.git("gc", "-q", "--prune=now")
    assert labels(work) == ["s-4 end of a turn", "s-3 end of a turn"]
    assert [work.git("show", f"{snapshot.REF}@{{{at}}}:a.py")[0] for at in range(2)] == ["4", "3"]
    work.git("config", snapshot.BUDGET, "2100")
    end_turns(work, 1000)
    assert labels(work) == ["s-4 end of a turn"], "the newest stays"


def test_what_is_committed_does_not_count(work: GitRepo) -> None:
    work.write("big.bin", random.randbytes(300_000).hex())  # noqa: S311 (no secret)
    work.commit("big")
    work.git("config", snapshot.BUDGET, "250k")
    end_turns(work, 10)
    assert len(labels(work)) == 5


def test_gc_drops_all_but_the_newest_and_then_a_new_one_is_taken(work: GitRepo) -> None:
    end_turns(work, 10)
    for words, left in (
        (("--keep", "2", "--dry-run"), 5),
        (("--keep", "2"), 2),
        (("--keep", "0"), 0),
    ):
        assert run_here("rp", "gc", *words, cwd=work.path).returncode == 0
        assert len(points(work)) == left
    take(work.path)
    assert labels(work) == ["s-1 before Edit"]


def test_objects_that_were_pruned_are_written_again(work: GitRepo) -> None:
    take(work.path)
    work.git("update-ref", "-d", snapshot.REF)
    work.git("reflog", "expire", "--expire=now", "--all")
    work.git("gc", "-q", "--prune=now")
    (work.path / "b.py").touch()
    for number in range(3):
        work.write("c.py", f"{number}")
        take(work.path)
    assert "new.py" in names(work)
    assert work.git("show", f"{snapshot.REF}:new.py") == "new"


@pytest.mark.parametrize("kills", [6, pytest.param(40, marks=pytest.mark.deep)])
def test_kills_in_the_middle_leave_nothing_that_stops_the_next(work: GitRepo, kills: int) -> None:
    for number in range(kills):
        work.write("new.py", f"{number}\n" * 1_000)
        for more in range(5):
            work.write(f"many/{more}.txt", f"{number} {more}\n" * 100)
        hook = start(work.path)
        time.sleep(random.random() * 0.25)  # noqa: S311 (no secret)
        hook.kill()
        hook.communicate(timeout=60)
    status = work.git("status", "--porcelain")
    work.write("last.py", "x")
    take(work.path)
    assert work.git("show", f"{snapshot.REF}:new.py") == work.read("new.py").rstrip("\n")
    assert "last.py" in names(work)
    work.git("fsck", "--strict")
    (work.path / "last.py").unlink()
    assert work.git("status", "--porcelain") == status


def test_sessions_side_by_side_all_end_well(work: GitRepo) -> None:
    for number in range(2):
        work.write("a.py", f"{number}\n")
        hooks = [start(work.path, session_id=f"s-{at}") for at in range(4)]
        assert [hook.communicate(timeout=60) for hook in hooks] == [(b"", b"")] * 4
        assert work.git("show", f"{snapshot.REF}:a.py") == str(number)
    assert len(labels(work)) == 2


def test_points_are_written_and_dropped_alone_where_the_file_system_grants_every_lock(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "flock", lambda descriptor, wait: True)
    lock = work.path / ".git/checkpoint/automatic.lock"
    locked = list[str]()
    for name in ("_take_locked", "_drop_oldest_locked"):
        real = getattr(snapshot, name)

        def note(*given: object, name: str = name, real: Callable[..., object] = real) -> object:
            with pytest.raises(CheckpointError, match="has held"), hold_lock(str(lock), 0):
                pass
            locked.append(name)
            return real(*given)

        monkeypatch.setattr(snapshot, name, note)

    assert snapshot.take(str(work.path), "s-1 before Edit")
    repository = snapshot.find_repository(str(work.path))
    assert repository is not None
    assert snapshot.drop_oldest(repository, 0) == 1
    assert locked == ["_take_locked", "_drop_oldest_locked"]
    assert sorted(path.name for path in lock.parent.iterdir()) == ["automatic", "automatic.lock"]


def test_work_trees_have_their_own(work: GitRepo) -> None:
    work.git("worktree", "add", "-q", str(work.path.parent / "tree"))
    tree = GitRepo(work.path.parent / "tree")
    tree.write("a.py", "theirs\n")
    take(tree.path)
    assert (len(points(tree)), len(points(work))) == (1, 0)
    work.git("gc", "-q", "--prune=now")
    assert tree.git("show", f"{snapshot.REF}:a.py") == "theirs"


@pytest.mark.parametrize("options", [(), ("--object-format=sha256",)], ids=["sha1", "sha256"])
def test_before_the_first_commit_and_from_a_folder_below(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    repo = GitRepo.create(tmp_path / "repo", *options)
    take(repo.path)
    repo.write("src/a.py", "x")
    repo.write("b.py", "y")
    take(repo.path / "src")
    assert names(repo) == ["b.py", "src/a.py"]
    repo.write("b.py", "z")
    ask(repo, "rollback", points(repo)[-1]["id"])
    assert repo.read("b.py") == "y"


def test_a_merge_in_progress_keeps_its_conflict(work: GitRepo) -> None:
    work.git("stash", "-q", "-u")
    work.git("checkout", "-q", "-b", "other")
    work.write("a.py", "theirs\n")
    work.commit("theirs")
    work.git("checkout", "-q", "main")
    work.write("a.py", "ours\n")
    work.commit("ours")
    work.git("merge", "-q", "other", check=False)
    unmerged = work.git("ls-files", "--unmerged")
    take(work.path)
    assert work.git("ls-files", "--unmerged") == unmerged
    conflict = work.read("a.py")
    work.write("a.py", "lost")
    ask(work, "rollback", points(work)[-1]["id"])
    assert work.read("a.py") == conflict


def test_submodules_and_repositories_inside_are_left_alone(work: GitRepo) -> None:
    inner = GitRepo.create(work.path.parent / "inner")
    inner.write("x", "x")
    inner.commit()
    work.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "sub"
    )
    work.commit("sub")
    GitRepo.create(work.path / "empty")
    work.write("a.py", "three\n")
    take(work.path)
    work.write("a.py", "four\n")
    work.write("sub/x", "changed")
    ask(work, "rollback", points(work)[-1]["id"])
    assert (work.read("a.py"), work.read("sub/x")) == ("three\n", "changed")


def test_outside_git_and_with_any_input_nothing_is_said(tmp_path: Path, work: GitRepo) -> None:
    take(tmp_path)
    for stdin in (b"", b"[]", b"\xff", b'{"session_id": 7, "tool_name": "../x y\\n"}'):
        words = [sys.executable, "-I", "-S", str(snapshot.__file__)]
        done = subprocess.run(words, cwd=work.path, input=stdin, capture_output=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert labels(work) == ["default end of a turn"]


@pytest.mark.parametrize(
    ("agent", "file"), [("claude", ".claude/settings.json"), ("copilot", COPILOT)]
)
def test_init_sets_it_up_and_uninstall_takes_it_away(work: GitRepo, agent: str, file: str) -> None:
    assert (
        run_here(
            "init", "--agent", agent, "--agent-points", "--agent-guard", cwd=work.path
        ).returncode
        == 0
    )
    hooks = json.loads(work.read(file))["hooks"]
    found = [each for group in hooks["PreToolUse"] for each in group.get("hooks", [group])]
    commands = [each.get("command") if agent == "claude" else each["bash"] for each in found]
    assert len(commands) == 2
    command = next(each for each in commands if "snapshot.py" in each)
    done = subprocess.run(
        ["sh", "-c", command], cwd=work.path, input=json.dumps(CALL).encode(), capture_output=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert labels(work) == ["s-1 before Edit"]
    again = run_here(
        "init", "--agent", agent, "--agent-points", "--agent-guard", "--json", cwd=work.path
    )
    assert {each["deed"] for each in json.loads(again.stdout)["steps"] if each["what"] == file} == {
        "keep"
    }
    removed = run_here("uninstall", cwd=work.path, stdin=b"").stdout
    assert "(automatic restore points); to drop them: git update-ref -d CHECKPOINT_HEAD" in removed
    assert not (work.path / ".git/checkpoint").exists()
    assert not os.path.exists(work.path / file)


def complain(repo: GitRepo) -> str:
    """What the hook says; it stops no call."""
    out, err = start(repo.path).communicate(timeout=60)
    assert out == b""
    return str(err.decode())


def test_a_point_holds_a_files_own_bytes_whatever_git_converts(work: GitRepo) -> None:
    """Line ends, encodings and filters; git-lfs and its kin keep what is unchanged, so that is left
    to them.
    """
    attributes = [
        "*.txt text",
        "*.id ident",
        "*.u16 working-tree-encoding=UTF-16",
        "*.nb filter=strip",
        "*.big filter=lfs",
    ]
    work.write(".gitattributes", "\n".join(attributes) + "\n")
    for name, driver in (("strip", "sed s/output//"), ("lfs", "sed s/large/pointer/")):
        work.git("config", f"filter.{name}.clean", driver)
        work.git("config", f"filter.{name}.smudge", "sed s/pointer/large/")
        work.git("config", f"filter.{name}.required", "true")
    contents = {
        "dos.txt": b"x\r\ny\r\n",
        "both.txt": b"x\r\ny\n",
        "old.id": b"$Id: of another tool$\n",
        "wide.u16": "x\n".encode("utf-16"),
        "book.nb": b"cell output\n",
        "file.big": b"large\n",
    }
    for name, content in contents.items():
        (work.path / name).write_bytes(content)
    work.commit("all of it")
    work.git("config", "core.safecrlf", "true")
    (work.path / "later.txt").write_bytes(b"x\r\n")
    take(work.path)
    for name in (*contents, "later.txt"):
        (work.path / name).unlink()
    ask(work, "rollback", points(work)[-1]["id"])
    assert {name: (work.path / name).read_bytes() for name in contents} == contents
    assert (work.path / "later.txt").read_bytes() == b"x\r\n"
    assert work.git("status", "--porcelain") == "?? later.txt"


def test_what_the_budget_cannot_hold_is_said_and_not_added(work: GitRepo) -> None:
    take(work.path)
    work.git("config", snapshot.BUDGET, "100k")
    work.write("big.bin", "x" * 200_000)
    before = work.git("count-objects", "-v")
    assert "195 KB changed since the last point, more than the budget of 100 KB" in complain(work)
    assert work.git("count-objects", "-v") == before
    (work.path / "big.bin").unlink()
    assert complain(work) == ""


def test_a_hook_killed_while_it_begins_keeps_no_secret_later(work: GitRepo) -> None:
    work.write("credentials.json", "x")
    begun = work.path / ".git/checkpoint/automatic.begun"
    begun.mkdir(parents=True)
    (begun / "index").write_bytes((work.path / ".git/index").read_bytes())
    take(work.path)
    assert "new.py" in names(work)
    assert "credentials.json" not in names(work)


def test_a_gitignore_that_takes_back_what_it_ignores_keeps_no_secret(work: GitRepo) -> None:
    work.write(".gitignore", "*\n!src/\n!src/**\n!id_rsa\n!.aws/\n!.aws/config\n")
    for name in (
        "src/.env",
        "src/id_rsa",
        "src/x/prod.PEM",
        "id_rsa",
        ".aws/config",
        "src/.env.local",
        "src/secrets/a",
    ):
        work.write(name, "x")
    take(work.path)
    assert set(names(work)) == {".gitignore", "a.py", "b.py", "src/secrets/a"}


def test_a_budget_that_git_cannot_read_drops_nothing(work: GitRepo) -> None:
    work.git("config", snapshot.BUDGET, "1gb")
    end_turns(work, 10)
    assert len(labels(work)) == 5


def test_the_budget_holds_where_an_object_is_missing(work: GitRepo) -> None:
    work.git("config", snapshot.BUDGET, "250k")
    work.write("lost.py", "x")
    take(work.path)
    lost = work.git("rev-parse", f"{snapshot.REF}:lost.py")
    (work.path / ".git/objects" / lost[:2] / lost[2:]).unlink()
    (work.path / "lost.py").unlink()
    end_turns(work, 100_000)
    assert labels(work) == ["s-4 end of a turn", "s-3 end of a turn"]


def test_what_was_untracked_and_ignored_is_no_longer_kept_from_the_end_of_the_turn(
    work: GitRepo,
) -> None:
    take(work.path)
    work.git("rm", "-q", "--cached", "b.py")
    work.write(".gitignore", "b.py\n")
    take(work.path, tool_name=None)
    assert names(work) == [".gitignore", "a.py", "new.py"]


def test_an_own_list_of_ignored_files_is_read_from_the_top(work: GitRepo) -> None:
    work.git("config", "core.excludesFile", "mine")
    work.write("mine", "*.own\n")
    work.write("src/x.own", "x")
    take(work.path / "src")
    assert "src/x.own" not in names(work)


def test_a_line_break_in_the_path_writes_nothing(tmp_path: Path) -> None:
    repo = GitRepo.create(tmp_path / "a\nq")
    repo.write("x", "x")
    take(repo.path)
    assert repo.git("status", "--porcelain", "--ignored") == "?? x"


def test_an_index_in_two_parts_and_the_users_environment_do_no_harm(
    work: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.git("config", "core.splitIndex", "true")
    work.git("config", "core.hooksPath", str(work.path / "own"))
    (work.path / "own").mkdir()
    for name in ("reference-transaction", "post-index-change"):
        (work.path / "own" / name).write_text(f"#!/bin/sh\ntouch '{work.path}/ran'\n")
        (work.path / "own" / name).chmod(0o755)
    work.git("-c", "core.hooksPath=/dev/null", "update-index", "--split-index")
    shared = sorted((work.path / ".git").glob("sharedindex.*"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(work.path.parent / "elsewhere"))
    monkeypatch.setenv("GIT_LITERAL_PATHSPECS", "1")
    take(work.path)
    monkeypatch.undo()
    assert "new.py" in names(work)
    assert not (work.path / "ran").exists()
    assert sorted((work.path / ".git").glob("sharedindex.*")) == shared


@pytest.mark.parametrize(
    ("call", "label"),
    [
        ({"conversation_id": "c", "toolName": "x" * 90}, f"c before {'x' * 64}"),
        ({"sessionId": "../s x\n", "tool_name": 7}, "sxn end of a turn"),
    ],
)
def test_the_label_is_short_and_plain(call: dict[str, object], label: str) -> None:
    assert snapshot.find_label(json.dumps(call).encode()) == label


def test_a_pipe_that_stays_open_does_not_hold_up_the_call(work: GitRepo) -> None:
    words = [sys.executable, "-I", "-S", str(snapshot.__file__)]
    with subprocess.Popen(words, cwd=work.path, stdin=subprocess.PIPE) as hook:
        assert hook.wait(timeout=30) == 0
    assert labels(work) == ["default end of a turn"]


def test_a_pipe_or_socket_in_the_place_of_a_file_is_reported_and_nothing_is_changed(
    work: GitRepo,
) -> None:
    take(work.path)
    point = points(work)[0]["id"]
    work.write("a.py", "later\n")
    (work.path / "b.py").unlink()
    os.mkfifo(work.path / "b.py")
    for words in (["--dry-run"], [], ["--scope", "b.py"]):
        assert "a pipe, socket or device is in the place of b.py" in refuse(
            work, "rollback", point, *words
        )
    assert work.read("a.py") == "later\n"
    assert ask(work, "rollback", point, "--scope", "a.py")["verified"]
    assert work.read("a.py") == "two\n"


def test_the_python_api_goes_back_to_an_automatic_point(work: GitRepo) -> None:
    take(work.path)
    work.write("a.py", "later\n")
    store, point = RestorePoints(work.path), points(work)[0]["id"]
    assert store.rollback(point, dry_run=True).result is None
    done = store.rollback(point, ["a.py"], reason="why")
    assert (done.manifest.id, [one.path for one in done.plan.restore]) == (point, ["a.py"])
    assert done.result is not None
    assert work.read("a.py") == "two\n"
    store.rollback(done.result.safety)
    assert work.read("a.py") == "later\n"
    with pytest.raises(CheckpointError, match="only files of this work tree and git's state"):
        store.rollback(point, state_to={"run": "x.json"})


def test_the_whole_work_tree_may_be_named(work: GitRepo) -> None:
    take(work.path)
    work.write("a.py", "later\n")
    work.write(".checkpoints/x", "x\n")
    point = points(work)[0]["id"]
    assert (
        "a.py"
        in run_here("rp", "rollback", point, "--scope", ".", "--dry-run", cwd=work.path).stdout
    )
    assert ask(work, "rollback", point, "--scope", ".", "--scope", "a.py")["verified"]
    assert (work.read("a.py"), work.read(".checkpoints/x")) == ("two\n", "x\n")


def test_only_json_of_a_service_account_is_a_secret_until_it_is_tracked(work: GitRepo) -> None:
    for name in ("service-account.py", "Service_Account-prod.json", "service-account/readme.txt"):
        work.write(name, "x\n")
    take(work.path)
    assert {"service-account.py", "service-account/readme.txt"} == {
        one for one in names(work) if "service" in one.lower()
    }
    work.git("add", "-f", "Service_Account-prod.json")
    forget(work)
    take(work.path)
    assert "Service_Account-prod.json" in names(work)


def test_dropped_points_leave_a_reflog_that_holds_together(work: GitRepo) -> None:
    for number in range(4):
        work.write("a.py", f"{number}\n")
        take(work.path, tool_name=f"T{number}")
    run_here("rp", "gc", "--keep", "2", cwd=work.path)
    assert labels(work) == ["s-1 before T3", "s-1 before T2"]
    old = [
        line.split()[:2]
        for line in (work.path / f".git/logs/{snapshot.REF}").read_text().splitlines()
    ]
    assert (set(old[0][0]), old[1][0]) == ({"0"}, old[0][1])


def test_what_is_staged_is_held_where_the_file_says_something_else(work: GitRepo) -> None:
    work.write("b.py", "staged\n")
    work.git("add", "b.py")
    staged = work.git("rev-parse", ":b.py")
    work.write("b.py", "written since\n")
    take(work.path)
    held = work.git("rev-list", "--objects", "--no-object-names", snapshot.REF).splitlines()
    assert staged in held
    assert work.git("hash-object", "b.py") in held
