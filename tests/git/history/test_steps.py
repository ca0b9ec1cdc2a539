"""The commits that changed a file, through its renames, and no other file's."""

from collections.abc import Sequence

import pytest

from checkpoint_git.git.history import steps
from checkpoint_git.git.history.steps import (
    Commit,
    read_blob_at_head,
    read_branch,
    read_life_steps,
    read_steps,
)
from tests.support.repos import GitRepo
from tests.support.streams import Stream

LINES = "".join(f"line {number}\n" for number in range(30))
JSON = ":(top)*.json"


def test_a_file_is_followed_through_its_rename_and_others_are_not(repo: GitRepo) -> None:
    top = str(repo.path)
    repo.write("stranger.json", LINES.replace("line", "other"))
    stranger = repo.commit("a stranger")
    repo.write("old.json", LINES)
    made = repo.commit("made")
    blob = repo.git("rev-parse", "HEAD:old.json")
    repo.git("mv", "old.json", "new.json")
    repo.git("mv", "stranger.json", "apart.json")
    renamed = repo.commit("renamed")
    repo.write("readme", "x\n")
    repo.commit("no JSON")
    repo.write("new.json", LINES + "more\n")
    changed = repo.commit("changed")

    found = list(read_steps(top, [JSON]))
    assert [step.commit.id for step in found] == [changed, renamed, made, stranger]
    assert [step.commit.subject for step in found] == ["changed", "renamed", "made", "a stranger"]
    (touch,) = (one for one in found[1].touches if one.path == "new.json")
    assert (touch.came_from, touch.before, touch.after) == ("old.json", (blob,), blob)
    assert [step.commit.id for step in read_steps(top, [JSON], most=2)] == [changed, renamed]
    assert found[0].commit.parents == (repo.git("rev-parse", "HEAD^"),)
    assert found[0].commit.author == "Ada"

    life = list(read_life_steps(top, "new.json", JSON, lambda _: []))
    assert [step.commit.id for step in life] == [changed, renamed, made]


def test_a_name_that_another_file_has_taken_since_is_not_followed(repo: GitRepo) -> None:
    repo.write("old.json", LINES)
    made = repo.commit("made")
    repo.git("mv", "old.json", "new.json")
    renamed = repo.commit("renamed")
    repo.write("old.json", "another\n")
    repo.commit("another file of that name")
    repo.write("old.json", "another, changed\n")
    repo.write("new.json", LINES + "more\n")
    changed = repo.commit("both")

    life = list(read_life_steps(str(repo.path), "new.json", JSON, lambda _: []))
    assert [(step.commit.id, [touch.path for touch in step.touches]) for step in life] == [
        (changed, ["new.json"]),
        (renamed, ["new.json"]),
        (made, ["old.json"]),
    ]


def test_a_change_of_a_side_branch_under_an_older_name_is_a_step_and_a_namesakes_are_not(
    repo: GitRepo,
) -> None:
    changed = LINES + "more\n"
    stream = Stream()
    stream.commit("made", [], {"old.json": LINES})
    stream.commit("renamed", ["made"], {"old.json": None, "new.json": LINES})
    stream.commit("side", ["made"], {"old.json": changed})
    stream.commit("merge", ["renamed", "side"], {"new.json": changed})
    stream.commit("namesake", ["merge"], {"old.json": "another\n"})
    stream.commit("again", ["namesake"], {"old.json": "another, changed\n"})
    stream.commit("earlier", ["renamed"], {"old.json": "another\n"})
    stream.commit("merge2", ["earlier", "side"], {"new.json": changed})
    stream.commit("both", ["renamed", "side"], {"old.json": changed})
    stream.write(repo)

    def read(tip: str) -> list[str]:
        repo.git("checkout", "-q", "--detach", tip)
        life = read_life_steps(str(repo.path), "new.json", JSON, lambda _: [])
        return [step.commit.subject for step in life]

    assert read("merge") == ["merge", "side", "renamed", "made"]
    assert read("again") == ["merge", "side", "renamed", "made"]
    assert read("merge2") == ["merge2", "side", "renamed", "made"]
    assert read("both") == ["side", "renamed", "made"]


def test_what_belongs_to_a_file_is_read_and_not_followed(repo: GitRepo) -> None:
    repo.write("other.json", LINES.replace("line", "other"))
    repo.write("new.json", LINES)
    made = repo.commit("made")
    repo.git("mv", "other.json", "related.json")
    moved = repo.commit("moved")
    asked = list[Sequence[str]]()

    def list_related(paths: Sequence[str]) -> list[str]:
        asked.append([*paths])
        return [":(top,literal)related.json"]

    life = read_life_steps(str(repo.path), "new.json", JSON, list_related)
    assert [step.commit.id for step in life] == [moved, made]
    assert asked == [["new.json"]]


def test_a_file_is_followed_to_so_many_names_and_from_an_instant(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream()
    stream.commit("made", [], {"a.json": LINES})
    stream.commit("to-b", ["made"], {"a.json": None, "b.json": LINES})
    stream.commit("to-c", ["to-b"], {"b.json": None, "c.json": LINES})
    stream.commit("changed", ["to-c"], {"c.json": LINES + "more\n"})
    stream.write(repo)
    repo.git("checkout", "-q", "--detach", "changed")

    def read(since: int | None = None) -> list[Commit]:
        life = read_life_steps(str(repo.path), "c.json", JSON, lambda _: [], since)
        return [step.commit for step in life]

    commits = read()
    assert [commit.subject for commit in commits] == ["changed", "to-c", "to-b", "made"]
    assert read(commits[1].at) == commits[:2]
    assert read(-9) == commits
    monkeypatch.setattr(steps, "_MOST_ORIGINS", 1)
    assert read() == commits[:3]


def test_the_times_of_a_commit_are_its_committers_and_its_authors_or_nothing(repo: GitRepo) -> None:
    repo.write("a.json", "1")
    repo.git("add", "a.json")
    head = f"tree {repo.git('write-tree')}\nauthor A <a> 5 +0000\ncommitter "
    words = ("git", "hash-object", "-t", "commit", "-w", "--literally", "--stdin")
    times = []
    for committer in ("A <a> 7 +0000", "A"):
        made = repo.run(*words, stdin=f"{head}{committer}\n\nx\n".encode())
        repo.git("reset", "-q", "--soft", made.stdout.decode().strip())
        (step,) = read_steps(str(repo.path), [JSON])
        times.append((step.commit.at, step.commit.authored_at))
    assert times == [(7, 5), (0, 5)]


def test_what_is_not_there_has_no_blob_at_head(repo: GitRepo) -> None:
    repo.write("a.json", LINES)
    repo.commit("a")
    blob = repo.git("rev-parse", "HEAD:a.json")
    assert read_blob_at_head(str(repo.path), "a.json") == blob
    assert read_blob_at_head(str(repo.path), "b.json") == ""


def test_without_commits_there_are_no_steps_and_yet_a_branch(repo: GitRepo) -> None:
    assert list(read_steps(str(repo.path), [JSON])) == []
    assert read_branch(str(repo.path)) == "main"
    commit = repo.commit("begin")
    repo.git("checkout", "-q", "--detach", commit)
    assert read_branch(str(repo.path)) == ""
