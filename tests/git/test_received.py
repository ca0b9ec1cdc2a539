"""What a push brings, held against a plain reading of the rule on histories made by chance."""

import os
import random
from pathlib import Path
from typing import NamedTuple

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git import received
from checkpoint_git.git.received import (
    Received,
    ReceivedFile,
    parse_received,
    read_arrivals,
    read_received_losses,
    read_tips,
    server_env,
)
from checkpoint_git.git.staged import Loss
from checkpoint_git.tools.setup.init import Options, init
from tests.support.repos import GitRepo, environ_in

ZERO = "0" * 40
PATHS = (
    ".checkpoints/a.checkpoint.json",
    "x y/.checkpoints/b\udcff.checkpoint.json",
    ".checkpoints/n\n.checkpoint.json",
)


class Commit(NamedTuple):
    """One commit of a made-up history. files: path -> content."""

    parents: tuple[int, ...]
    files: dict[str, str]


def grow(chance: random.Random, size: int) -> list[Commit]:
    """A history in which each commit changes, drops or takes over some files; half of its merges
    take one side.
    """
    commits = [Commit((), {PATHS[0]: "0"})]
    while len(commits) < size:
        count = chance.choice((1, 1, 1, 2, 2, 3))
        parents = tuple(
            chance.sample(range(max(0, len(commits) - 6), len(commits)), min(count, len(commits)))
        )
        files = dict(commits[chance.choice(parents)].files)
        for path in PATHS:
            dice = chance.random()
            if dice < 0.25:
                files[path] = str(chance.randrange(6))
            elif dice < 0.35:
                files.pop(path, None)
            elif dice < 0.5:
                other = commits[chance.choice(parents)].files
                files.pop(path, None)
                files.update({path: other[path]} if path in other else {})
        commits.append(Commit(parents, files))
    return commits


def write(repo: GitRepo, commits: list[Commit]) -> list[str]:
    """The history as objects that no ref names; the commits' ids."""
    stream, marks = [], []
    for at, commit in enumerate(commits, 1):
        lines = [f"commit refs/made\nmark :{at}\ncommitter a <a@b> {at} +0000\ndata 0\n"]
        lines += [
            f"{'from' if not n else 'merge'} :{parent + 1}\n"
            for n, parent in enumerate(commit.parents)
        ]
        lines.append("deleteall\n")
        for path, text in commit.files.items():
            quoted = '"' + "".join(f"\\{byte:03o}" for byte in os.fsencode(path)) + '"'
            lines.append(f"M 100644 inline {quoted}\ndata {len(text)}\n{text}\n")
        stream.append("".join(lines) + "\n" + ("reset refs/made\n\n" if at < len(commits) else ""))
        marks.append(f":{at}")
    done = repo.run("git", "fast-import", "--quiet", "--force", f"--export-marks={repo.path}/marks",
                    stdin="".join(stream).encode())  # fmt: skip
    assert done.returncode == 0, done.stderr
    named = dict(line.split() for line in (repo.path / "marks").read_text().splitlines())
    repo.git("update-ref", "-d", "refs/made")
    return [named[mark] for mark in marks]


def reach(commits: list[Commit], tips: list[int]) -> set[int]:
    """The commits that these are made of."""
    found: set[int] = set()
    left = list(tips)
    while left:
        at = left.pop()
        if at not in found:
            found.add(at)
            left += commits[at].parents
    return found


def expect(commits: list[Commit], known: list[int], pushed: list[int]) -> set[tuple[str, str]]:
    """(path, content) of what the push brings, by the rule as the docs say it."""
    new = reach(commits, pushed) - reach(commits, known)
    brought = {
        (path, text)
        for at in new
        for path, text in commits[at].files.items()
        if all(commits[parent].files.get(path) != text for parent in commits[at].parents)
    }
    return {pair for at in pushed for pair in commits[at].files.items() if pair in brought}


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 23, 41])
def test_what_a_push_brings_is_what_the_rule_says(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 # a history, no secret
    bare = GitRepo.create(tmp_path / "served.git", "--bare", "--template=")
    commits = grow(chance, 14)
    ids = write(bare, commits)
    known = chance.sample(range(10), 2)
    pushed = chance.sample(range(14), 3)
    for at in known:
        bare.git("update-ref", f"refs/heads/known-{at}", ids[at])
    env = server_env(environ_in(bare.path))
    found = read_arrivals(str(bare.path), [ids[at] for at in pushed], env)
    told = [(arrival.path, arrival.blob) for _, arrivals in found for arrival in arrivals]
    blobs = {bare.run("git", "hash-object", "--stdin", stdin=text.encode()).stdout.decode().strip(): text
             for text in "012345"}  # fmt: skip
    assert {(path, blobs[blob]) for path, blob in told} == expect(commits, known, pushed)
    assert len(told) == len(set(told))
    if told:
        assert starts_python(
            bare, "".join(f"{'0' * 40} {ids[at]} refs/heads/{at}\n" for at in pushed)
        )


def starts_python(bare: GitRepo, lines: str) -> bool:
    """Whether our hook hands these lines over."""
    if not (bare.path / "hooks").exists():
        init(str(bare.path), Options(), environ_in(bare.path))
        spy = bare.write("spy", "#!/bin/sh\nexit 11\n")
        spy.chmod(0o755)
        bare.git("config", "checkpoint.install.python", str(spy))
    done = bare.run(
        "sh", "hooks/pre-receive", stdin=lines.encode(), env={**os.environ, "GIT_DIR": "."}
    )
    assert done.stderr == b""
    return done.returncode != 0


def test_lines_are_read_whatever_the_refs_name() -> None:
    names = ("refs/heads/é", "refs/heads/a", "refs/heads/a b")
    lines = "".join(f"{'0' * 40} {'1' * 40} {name}\n" for name in names)
    assert parse_received(f"{lines}\none two\n") == [
        Received("0" * 40, "1" * 40, name) for name in names
    ]


def test_a_tag_stands_for_its_commit_and_one_on_a_file_for_nothing(repo: GitRepo) -> None:
    repo.write("a.txt", "a\n")
    commit = repo.commit()
    repo.git("tag", "-a", "v1", "-m", "v1")
    tag, blob = repo.git("rev-parse", "v1"), repo.git("rev-parse", "HEAD:a.txt")
    lines = [Received("0" * 40, tag, "refs/tags/v1"), Received("0" * 40, blob, "refs/tags/file")]
    assert read_tips(str(repo.path), lines, os.environ) == {tag: commit}


def test_a_record_that_a_push_changes_is_seen_on_a_known_and_on_a_new_branch(repo: GitRepo) -> None:
    repo.write("records/1.json", "1\n")
    first = repo.commit()
    repo.write("records/1.json", "2\n")
    repo.write("other", "2\n")
    second = repo.commit()
    repo.git("reset", "-q", "--hard", first)
    moved = Received(first, second, "refs/heads/main")
    fresh = Received("0" * 40, second, "refs/heads/new")
    tips = {first: first, second: second}
    for lines in ([moved], [fresh], [moved, fresh]):
        found = list(
            read_received_losses(str(repo.path), lines, tips, "records/*.json", os.environ)
        )
        assert [(line, [loss.path for loss in losses]) for line, losses in found] == [
            (line, ["records/1.json"]) for line in lines
        ]


SUBMODULE = ".checkpoints/a.checkpoint.json"


def commit_submodule(repo: GitRepo, head: str) -> str:
    """Return a commit on top of head that has a submodule at a checkpoint's path."""
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{head},{SUBMODULE}")
    repo.git("commit", "-q", "-m", "a submodule")
    commit = repo.git("rev-parse", "HEAD")
    repo.git("reset", "-q", "--hard", head)
    return commit


def test_a_submodule_at_a_checkpoints_path_arrives_without_a_size(repo: GitRepo) -> None:
    head = repo.commit()
    tip = commit_submodule(repo, head)
    other = repo.git("commit-tree", f"{head}^{{tree}}", "-p", head, "-m", "no checkpoint")
    arrivals = list(read_arrivals(str(repo.path), [other, tip], os.environ))
    assert arrivals == [(tip, [ReceivedFile(SUBMODULE, "160000", head, -1)])]


def test_each_branch_that_a_push_moves_is_asked_for_what_it_loses(repo: GitRepo) -> None:
    for name in ("1", "2"):
        repo.write(f"records/{name}.json", "1\n")
    first = repo.commit()
    changes = {}
    for name, path in (("keeps", "other"), ("one", "records/1.json"), ("two", "records/2.json")):
        repo.git("checkout", "-q", "--detach", first)
        repo.write(path, "2\n")
        changes[name] = repo.commit()
    repo.git("checkout", "-q", "main")
    lines = [Received(first, tip, f"refs/heads/{name}") for name, tip in changes.items()]
    gone = Received(first, ZERO, "refs/heads/gone")
    blob = Received(ZERO, repo.git("rev-parse", f"{first}:records/1.json"), "refs/tags/file")
    tips = read_tips(str(repo.path), [*lines, gone, blob], os.environ)
    words = (str(repo.path), [*lines, gone, blob], tips, "records/*.json", os.environ)
    assert list(read_received_losses(*words)) == [
        (lines[1], [Loss("records/1.json", "changed")]),
        (lines[2], [Loss("records/2.json", "changed")]),
    ]


def test_more_refs_than_are_looked_at_are_refused_unless_there_is_nothing_to_lose(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(received, "_MOST_NEW_REFS", 1)
    monkeypatch.setattr(received, "_MOST_LISTED", 1)
    repo.write("records/1.json", "1\n")
    first = repo.commit()
    odd = commit_submodule(repo, first)
    repo.write("records/1.json", "2\n")
    edited = repo.commit()
    repo.git("reset", "-q", "--hard", first)

    top, env = str(repo.path), os.environ
    with pytest.raises(CheckpointError, match="too many refs or files to check"):
        list(read_arrivals(top, [edited, odd], env))
    assert [tip for tip, _ in read_arrivals(top, [odd], env)] == [odd]

    lines = [Received(ZERO, tip, f"refs/heads/{tip}") for tip in (odd, edited)]
    tips = {odd: odd, edited: edited}
    with pytest.raises(CheckpointError, match="too many new refs to check"):
        list(read_received_losses(top, lines, tips, "records/*.json", env))
    assert list(read_received_losses(top, lines[1:], tips, "records/*.json", env)) == [
        (lines[1], [Loss("records/1.json", "changed")])
    ]
    repo.git("update-ref", "-d", "refs/heads/main")
    assert list(read_received_losses(top, lines, tips, "records/*.json", env)) == []
