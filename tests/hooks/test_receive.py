"""pre-receive and update, run by git itself in a bare repository that init has set up."""

import argparse
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Invocation, Line
from checkpoint_git.git.staged import Files, Staged
from checkpoint_git.tools.hooks import verb
from checkpoint_git.tools.setup.init import Options, init
from tests.hooks.conftest import BAD, GOOD, PATH
from tests.support.records import RUN, TICKET, put_record
from tests.support.repos import GitRepo, copy_built, environ_in
from tests.support.samples import checkpoint_text
from tests.support.workflows import execution, phase, task, text_of

RECORD = f"records/{TICKET}/{RUN}/phase_1_implement_a1.yaml"
NEXT = checkpoint_text(step="sprint-3")


def make_server(path: Path, *options: str, hooks: str = "auto") -> GitRepo:
    """A bare repository with our hook."""
    server = GitRepo.create(path, "--bare", *options)
    init(str(server.path), Options(hooks=hooks), environ_in(server.path))  # type: ignore[arg-type]  # a test's word for a choice
    return server


def build_pushed(folder: Path) -> None:
    """A server, and a repository whose main with one valid checkpoint is pushed to it."""
    server, repo = make_server(folder / "0"), GitRepo.create(folder / "1")
    repo.write(PATH, GOOD)
    repo.commit("first")
    repo.git("remote", "add", "origin", str(server.path))
    repo.git("push", "-q", "origin", "main")


@pytest.fixture
def clone(repo: GitRepo, tmp_path: Path) -> GitRepo:
    """A repository without hooks of its own, and its server, whose path is as awkward as paths
    get.
    """
    server = tmp_path / 'it\'s a "sörver" %d.git'
    copy_built(build_pushed, server, repo.path)
    repo.git("remote", "set-url", "origin", str(server))
    return repo


@pytest.fixture
def server(clone: GitRepo) -> GitRepo:
    """A bare repository with the pre-receive hook."""
    return GitRepo(Path(clone.git("remote", "get-url", "origin")))


def push(repo: GitRepo, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Git push to origin, whatever it answers."""
    return repo.run("git", "push", "-q", "origin", *words)


def said(done: subprocess.CompletedProcess[bytes]) -> str:
    """What the pusher reads."""
    return done.stderr.decode()


def test_the_hook_works_where_git_uses_a_bare_repository_by_its_name_alone(clone: GitRepo) -> None:
    Path(os.environ["HOME"], ".gitconfig").write_text("[safe]\n\tbareRepository = explicit\n")
    clone.write(PATH, NEXT)
    clone.commit("second")
    assert push(clone, "main").returncode == 0
    clone.write(PATH, BAD)
    clone.commit("bad")
    done = push(clone, "main")
    assert done.returncode != 0
    assert PATH in said(done)


def branch(
    repo: GitRepo, name: str, text: str | bytes, path: str = PATH, start: str = "main"
) -> None:
    """A branch whose tip holds a file of this text."""
    repo.git("checkout", "-q", "-b", name, start)
    repo.write(path, text)
    repo.commit(name)
    repo.git("checkout", "-q", "main")


def test_a_workflows_file_is_compared_with_the_other_one_that_is_there_already(
    clone: GitRepo,
) -> None:
    clone.write("memory/state/phase.json", text_of(phase("VERIFICATION")))
    clone.write("memory/state/execution.json", text_of(execution(task("a", "complete"))))
    clone.commit("workflow")
    assert push(clone, "main").returncode == 0
    clone.write("memory/state/execution.json", text_of(execution(task("a", "complete"), task("b"))))
    clone.commit("one more task")
    done = push(clone, "main")
    assert (done.returncode, "workflow/tasks-behind" in said(done)) == (1, True)
    clone.write(
        "memory/state/execution.json",
        text_of(execution(task("a", "complete"), task("b", "complete"))),
    )
    clone.commit("done")
    assert push(clone, "main").returncode == 0


def test_a_broken_checkpoint_is_refused_with_its_place_and_what_to_do(
    clone: GitRepo, server: GitRepo
) -> None:
    clone.write(PATH, BAD)
    clone.commit("bad")
    done = push(clone, "main")
    assert done.returncode == 1
    assert f"remote: {PATH}:10" in said(done)
    assert "Fix the files in a new commit and push again" in said(done)
    assert server.git("log", "-1", "--format=%s", "main") == "first"


def test_what_is_valid_comes_in(clone: GitRepo, server: GitRepo) -> None:
    branch(clone, "good", NEXT)
    assert push(clone, "good", "good:main").returncode == 0
    assert server.git("show", f"main:{PATH}") == NEXT.rstrip("\n")


def test_one_bad_ref_refuses_the_whole_push(clone: GitRepo, server: GitRepo) -> None:
    branch(clone, "a-good", NEXT)
    branch(clone, "b-bad", BAD)
    done = push(clone, "a-good", "b-bad")
    assert done.returncode == 1
    assert "refs/heads/b-bad" in said(done)
    assert server.git("branch", "--list", "*-*") == ""


def test_the_update_hook_refuses_the_bad_ref_alone_and_with_atomic_all(
    repo: GitRepo, tmp_path: Path
) -> None:
    server = make_server(tmp_path / "origin.git", hooks="update")
    assert not (server.path / "hooks/pre-receive").exists()
    repo.write(PATH, GOOD)
    repo.commit("first")
    repo.git("remote", "add", "origin", str(server.path))
    branch(repo, "a-good", NEXT)
    branch(repo, "b-bad", BAD)
    assert push(repo, "--atomic", "a-good", "b-bad").returncode == 1
    assert server.git("branch", "--list") == ""
    done = push(repo, "a-good", "b-bad")
    assert done.returncode == 1
    assert f"{PATH}:10" in said(done)
    assert server.git("branch", "--list", "--format=%(refname:short)") == "a-good"


def test_a_bad_commit_that_a_later_one_mended_passes(clone: GitRepo) -> None:
    clone.write(PATH, BAD)
    clone.commit("bad")
    clone.write(PATH, NEXT)
    clone.commit("mended")
    assert push(clone, "main").returncode == 0


def test_what_the_repository_has_already_is_nobodys_fault(clone: GitRepo, server: GitRepo) -> None:
    (server.path / "hooks/pre-receive").rename(server.path / "hooks/off")
    clone.write(PATH, BAD)
    clone.commit("before there was a hook")
    assert push(clone, "main").returncode == 0
    (server.path / "hooks/off").rename(server.path / "hooks/pre-receive")
    clone.git("checkout", "-q", "-b", "feature", "main~1")
    clone.write("a.txt", "a\n")
    clone.commit("a")
    clone.git("merge", "-q", "--no-edit", "main")
    assert push(clone, "feature", "main:refs/heads/copy").returncode == 0
    clone.write(PATH, BAD.replace("nearly", "almost"))
    clone.commit("worse")
    assert push(clone, "feature").returncode == 1


def test_deletions_tags_and_forced_pushes_are_ordinary(clone: GitRepo) -> None:
    branch(clone, "gone", NEXT)
    branch(clone, "bad", BAD)
    clone.git("tag", "file", f"HEAD:{PATH}")
    clone.git("tag", "tree", "HEAD^{tree}")
    clone.git("tag", "-a", "v1", "-m", "v1", "bad")
    clone.git("tag", "-a", "v2", "-m", "v2", "v1")
    assert push(clone, "gone", "file", "tree").returncode == 0
    assert push(clone, ":gone", "bad").returncode == 1
    assert push(clone, ":gone").returncode == 0
    assert push(clone, "v1").returncode == 1
    assert push(clone, "v2").returncode == 1
    assert push(clone, "--force", "bad:main").returncode == 1
    branch(clone, "other", NEXT, start="main")
    clone.git("commit-tree", "-m", "orphan", "other^{tree}")
    clone.git("branch", "orphan", clone.git("commit-tree", "-m", "orphan", "other^{tree}"))
    assert push(clone, "--force", "orphan:main").returncode == 0


def test_a_push_that_touches_no_checkpoint_starts_no_python(
    clone: GitRepo, server: GitRepo, tmp_path: Path
) -> None:
    mark = tmp_path / "python-was-started"
    spy = tmp_path / "spy"
    spy.write_text(f'#!/bin/sh\ntouch "{mark}"\n')
    spy.chmod(0o755)
    server.git("config", "checkpoint.install.python", str(spy))
    clone.write("a.txt", "a\n")
    clone.commit()
    clone.git("tag", "-a", "v1", "-m", "v1")
    assert push(clone, "main", "main:new", "v1").returncode == 0
    assert push(clone, ":new").returncode == 0
    assert push(clone, "--force", "main~1:main").returncode == 0
    assert not mark.exists()
    branch(clone, "other", NEXT)
    push(clone, "other")
    assert mark.exists()


def test_a_server_whose_python_is_gone_refuses_and_says_whom_to_ask(
    clone: GitRepo, server: GitRepo
) -> None:
    server.git("config", "checkpoint.install.python", "/gone/python")
    clone.write("a.txt", "a\n")
    clone.commit()
    assert push(clone, "main").returncode == 0
    clone.write(PATH, NEXT)
    clone.commit()
    receive = f"env PATH=/usr/bin:/bin {shutil.which('git')} receive-pack"
    done = clone.run("git", "push", "-q", f"--receive-pack={receive}", "origin", "main")
    assert done.returncode == 1
    assert "Ask its administrator to install checkpoint-git" in said(done)


def test_a_bare_path_is_enough(clone: GitRepo) -> None:
    clone.write(PATH, BAD)
    clone.commit()
    receive = (
        f"env -i PATH=/usr/bin:/bin HOME={os.environ['HOME']} {shutil.which('git')} receive-pack"
    )
    done = clone.run("git", "push", "-q", f"--receive-pack={receive}", "origin", "main")
    assert done.returncode == 1
    assert f"{PATH}:10" in said(done)


def test_hostile_names_reach_the_pusher_escaped(clone: GitRepo) -> None:
    branch(
        clone,
        "x;$(touch\u202epwned)`id`'\"&|é",
        BAD,
        ".checkpoints/a\x1b[2J\nb\u202e.checkpoint.json",
    )
    done = push(clone, "--all")
    assert done.returncode == 1
    assert "\x1b[2J" not in said(done)
    assert "\u202e" not in "".join(line for line in said(done).splitlines() if "remote:" in line)
    assert not [path for path in clone.path.parent.rglob("*pwned*") if "touch" not in path.name]


def test_content_of_any_kind_is_judged(clone: GitRepo) -> None:
    contents = (
        (b'{"a": "\xff"}', "json/"),
        (b"{" * 500, "json/"),
        (b'{"a": "' + b"x" * (5 << 20) + b'"}\n', "skill/"),
        (b'{"a": "' + b"x" * (9 << 20) + b'"}\n', "json/too-large"),
    )
    for number, (content, code) in enumerate(contents):
        branch(clone, f"odd-{number}", content)
        done = push(clone, f"odd-{number}")
        assert done.returncode == 1
        assert code in said(done)
        assert len(done.stderr) < 50_000


def test_a_link_out_of_the_repository_and_a_submodule_are_refused_in_a_checkpoints_place(
    clone: GitRepo,
) -> None:
    clone.git("checkout", "-q", "-b", "link")
    (clone.path / ".checkpoints/other.checkpoint.json").symlink_to("../../outside")
    clone.commit()
    done = push(clone, "link")
    assert done.returncode == 1
    assert "file/link-outside" in said(done)
    clone.git("checkout", "-q", "-b", "module", "main")
    clone.git(
        "update-index",
        "--add",
        "--cacheinfo",
        f"160000,{'1' * 40},.checkpoints/sub.checkpoint.json",
    )
    clone.git("commit", "-q", "-m", "a submodule")
    done = push(clone, "module")
    assert done.returncode == 1
    assert "file/not-a-file" in said(done)
    clone.git("rm", "-q", "--cached", ".checkpoints/sub.checkpoint.json")
    clone.git("commit", "-q", "-m", "no submodule")
    assert push(clone, "module").returncode == 0


def test_a_replacement_that_was_pushed_hides_nothing(clone: GitRepo) -> None:
    clone.write(PATH, BAD)
    bad = clone.git("hash-object", "-w", PATH)
    good = clone.git("rev-parse", f"main:{PATH}")
    clone.git("update-ref", f"refs/replace/{bad}", good)
    assert push(clone, f"refs/replace/{bad}").returncode == 0
    clone.git("-c", "core.useReplaceRefs=false", "add", "-A")
    clone.git("commit", "-q", "-m", "bad")
    assert push(clone, "main").returncode == 1


def test_a_shallow_clone_pushes_and_is_checked(
    clone: GitRepo, server: GitRepo, tmp_path: Path
) -> None:
    clone.write("a.txt", "a\n")
    clone.commit()
    assert push(clone, "main").returncode == 0
    clone.git(
        "clone",
        "-q",
        "--depth=1",
        f"file://{server.path}".replace("%", "%25"),
        str(tmp_path / "shallow"),
    )
    shallow = GitRepo(tmp_path / "shallow")
    shallow.write(PATH, NEXT)
    shallow.commit()
    assert push(shallow, "main").returncode == 0
    shallow.write(PATH, BAD)
    shallow.commit()
    assert push(shallow, "main").returncode == 1


def test_a_repository_that_borrows_objects_is_checked(
    clone: GitRepo, server: GitRepo, tmp_path: Path
) -> None:
    server.git("clone", "-q", "--bare", "--shared", str(server.path), str(tmp_path / "fork.git"))
    fork = GitRepo(tmp_path / "fork.git")
    init(str(fork.path), Options(), environ_in(fork.path))
    clone.git("remote", "set-url", "origin", str(fork.path))
    branch(clone, "bad", BAD)
    branch(clone, "good", NEXT)
    assert push(clone, "bad").returncode == 1
    assert push(clone, "good").returncode == 0


def test_sha256_repositories_are_checked(tmp_path: Path) -> None:
    server = make_server(tmp_path / "server.git", "--object-format=sha256")
    repo = GitRepo.create(tmp_path / "repo", "--object-format=sha256")
    repo.git("remote", "add", "origin", str(server.path))
    repo.write(PATH, GOOD)
    repo.commit()
    assert push(repo, "main").returncode == 0
    repo.write(PATH, BAD)
    repo.commit()
    assert push(repo, "main").returncode == 1


@pytest.mark.parametrize("change", ["changed", "removed", "rewound", "merged away"])
def test_a_pushed_record_is_neither_changed_nor_lost(clone: GitRepo, change: str) -> None:
    put_record(clone.path / "records")
    clone.commit("a record")
    assert push(clone, "main").returncode == 0
    words, clean = ["main"], ["HEAD~1"]
    if change == "changed":
        put_record(clone.path / "records", artifact_paths=["other"])
        clone.commit()
    elif change == "removed":
        (clone.path / RECORD).unlink()
        clone.commit()
    elif change == "rewound":
        words, clean = ["--force", "main~1:main"], ["main"]
    else:
        clone.git("checkout", "-q", "-b", "feature", "main~1")
        clone.write("a.txt", "a\n")
        clone.commit()
        clean = ["feature"]
        clone.git("merge", "-q", "--no-edit", "-s", "ours", "main")
        words, clean = ["feature"], ["feature~1"]
    done = push(clone, *words)
    assert done.returncode == 1
    assert "pipeline/append-only" in said(done)
    assert RECORD in said(done)
    assert push(clone, f"{clean[0]}:refs/heads/clean").returncode == 0


@pytest.mark.parametrize("target", ["main", "third"])
def test_what_another_branch_of_the_server_edited_before_may_be_merged(
    clone: GitRepo, server: GitRepo, target: str
) -> None:
    put_record(clone.path / "records")
    clone.commit("a record")
    assert push(clone, "main").returncode == 0
    clone.git("checkout", "-q", "-b", "other")
    put_record(clone.path / "records", artifact_paths=["other"])
    clone.commit("edited")
    hook = server.path / "hooks/pre-receive"
    hook.rename(server.path / "aside")
    assert push(clone, "other").returncode == 0  # from before the server had its hook
    (server.path / "aside").rename(hook)
    clone.git("checkout", "-q", "main")
    clone.git("merge", "-q", "--no-ff", "other")
    done = push(clone, f"main:{target}")
    assert (done.returncode, said(done)) == (0, "")


def test_another_hook_still_reads_every_line_after_ours(clone: GitRepo, server: GitRepo) -> None:
    hook = server.path / "hooks/pre-receive"
    hook.write_text(f'{hook.read_text()}while read -r line; do echo "$line" >> lines.txt; done\n')
    branch(clone, "a", NEXT)
    assert push(clone, "a", "main:b").returncode == 0
    lines = (server.path / "lines.txt").read_text().splitlines()
    assert [line.split()[2] for line in lines] == ["refs/heads/a", "refs/heads/b"]


def test_a_push_through_a_daemon_on_the_loopback_is_checked(
    clone: GitRepo, server: GitRepo, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    words = [
        "--export-all",
        "--enable=receive-pack",
        f"--base-path={server.path.parent}",
        "--reuseaddr",
    ]
    bare = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"], "GIT_CONFIG_NOSYSTEM": "1"}
    where = ["--listen=127.0.0.1", f"--port={port}"]
    daemon = subprocess.Popen(["git", "daemon", *words, *where], env=bare, start_new_session=True)
    try:
        clone.git("remote", "set-url", "origin", f"git://127.0.0.1:{port}/{server.path.name}")
        branch(clone, "bad", BAD)
        branch(clone, "good", NEXT)
        for _ in range(100):
            done = push(clone, "bad")
            if b"Connection refused" not in done.stderr:
                break
            time.sleep(0.05)
        assert f"remote: {PATH}:10" in said(done)
        assert push(clone, "good").returncode == 0
    finally:
        os.killpg(daemon.pid, signal.SIGTERM)
        daemon.wait(10)


def test_many_refs_cost_one_question(clone: GitRepo, server: GitRepo) -> None:
    tip = clone.git("rev-parse", "main")
    refs = "".join(f"create refs/heads/many/{number} {tip}\n" for number in range(300))
    clone.run("git", "update-ref", "--stdin", stdin=refs.encode())
    branch(clone, "many/bad", BAD)
    done = push(clone, "refs/heads/many/*:refs/heads/many/*")
    assert done.returncode == 1
    assert said(done).count(f"{PATH}:10") == 1
    clone.git("branch", "-q", "-D", "many/bad")
    assert push(clone, "refs/heads/many/*:refs/heads/many/*").returncode == 0


def test_a_server_that_lacks_a_tool_lets_nothing_through_unseen(
    clone: GitRepo, server: GitRepo, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    # but for head; dirname: git may be a script
    for name in (
        "sh",
        "cat",
        "git",
        "cut",
        "sed",
        "dirname",
    ):
        (tools / name).write_text(f"#!/bin/sh\nexec '{shutil.which(name)}' \"$@\"\n")
        (tools / name).chmod(0o755)
    clone.write(PATH, BAD)
    clone.commit()
    lines = f"{server.git('rev-parse', 'main')} {clone.git('rev-parse', 'HEAD')} refs/heads/main\n"
    server.git("fetch", "-q", str(clone.path), "HEAD")
    env = {"PATH": str(tools), "HOME": os.environ["HOME"], "GIT_DIR": "."}
    done = server.run("/bin/sh", "hooks/pre-receive", stdin=lines.encode(), env=env)
    assert done.returncode == 1
    assert f"{PATH}:10" in said(done)


class Contents(Files):
    """Files that are in no repository."""

    def __init__(self, contents: dict[str, str]) -> None:
        super().__init__("")
        self.contents = contents

    def __iter__(self) -> Iterator[tuple[str, bytes | OSError]]:
        return iter([(path, text.encode()) for path, text in self.contents.items()])


def make_world(folder: Path, text: str = "") -> Invocation:
    """What the hook sees, with this text on standard input."""
    output = io.StringIO()
    return Invocation(
        str(folder), os.environ, 1_900_000_000, io.StringIO(text), output, output, False
    )


def test_warnings_and_files_of_others_hide_no_error_in_a_later_file(tmp_path: Path) -> None:
    many = json.loads(GOOD)
    many["blockers"] = [{"id": "x", "description": "d", "type": "other"}] * 150
    later = ".checkpoints/z.checkpoint.json"
    foreign = {f"records/x/{number}.yaml": "[" for number in range(150)}
    contents = Contents({PATH: json.dumps(many), **foreign, later: BAD})
    found = verb.check_validity(verb.HookSubject("", Staged(contents)), make_world(tmp_path))
    assert {finding.path for finding in found} == {later}


def test_warnings_about_one_ref_hide_no_error_in_another(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    warning = Finding("drift/too-old", "warning", "old", PATH)
    error = Finding("file/not-json", "error", "no JSON", PATH)
    answers = {"one": [warning] * 150, "two": [error]}
    hook = verb.Hook(
        lambda *_: [verb.HookSubject(title) for title in answers],
        lambda subject, _: answers[subject.title],
        stops=True,
        advice=Line(""),
    )
    monkeypatch.setitem(verb._HOOKS, "pre-push", hook)
    outcome = verb.run(argparse.Namespace(name="pre-push", words=[]), make_world(repo.path))
    assert outcome.code == 1
    assert len(outcome.findings) == 100
    assert outcome.findings[0] == error
