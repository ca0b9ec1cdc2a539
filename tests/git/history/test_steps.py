"""The commits that changed a file, through its renames, and no other file's."""

from checkpoint_git.git.history.steps import read_life_steps, read_steps
from tests.support.repos import GitRepo

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

    steps = list(read_steps(top, [JSON]))
    assert [step.commit.id for step in steps] == [changed, renamed, made, stranger]
    assert [step.commit.subject for step in steps] == ["changed", "renamed", "made", "a stranger"]
    (touch,) = (one for one in steps[1].touches if one.path == "new.json")
    assert (touch.came_from, touch.before, touch.after) == ("old.json", (blob,), blob)
    assert [step.commit.id for step in read_steps(top, [JSON], most=2)] == [changed, renamed]

    life = list(read_life_steps(top, "new.json", JSON, lambda _: []))
    assert [step.commit.id for step in life] == [changed, renamed, made]


def test_without_commits_there_are_no_steps(repo: GitRepo) -> None:
    assert list(read_steps(str(repo.path), [JSON])) == []
