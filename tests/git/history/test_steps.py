"""The commits that changed a file, through its renames, and no other file's."""

from checkpoint_git.git.history.steps import read_blob_at_head, read_life_steps, read_steps
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


def test_what_is_not_there_has_no_blob_at_head(repo: GitRepo) -> None:
    repo.write("a.json", LINES)
    repo.commit("a")
    blob = repo.git("rev-parse", "HEAD:a.json")
    assert read_blob_at_head(str(repo.path), "a.json") == blob
    assert read_blob_at_head(str(repo.path), "b.json") == ""


def test_without_commits_there_are_no_steps(repo: GitRepo) -> None:
    assert list(read_steps(str(repo.path), [JSON])) == []
