"""What the checks of skill checkpoints look at, as values where nothing has to be read."""

import os
from pathlib import Path
from typing import Any

from checkpoint_git.core.clock import DAY
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.git.history.history import CommitPaths
from checkpoint_git.protocols.check import Context
from checkpoint_git.protocols.skill import layout
from checkpoint_git.protocols.skill.drift.facts import GRACE, NamedFile, SkillFacts, make_facts
from tests.support.contexts import PLACE
from tests.support.documents import LIMITS, NOW, document, seconds
from tests.support.rows import rows
from tests.support.samples import checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
WRITTEN = seconds("2026-03-02T09:30:00Z")


def facts_of(*documents: Any, now: int = NOW, place: Place = PLACE) -> SkillFacts:
    facts = make_facts(place, documents or [document()], now, {})
    facts.context.limits = LIMITS
    return facts


@rows(
    ("status", "days", "limit", "aged"),
    [
        ("in_progress", 7, 7, False),
        ("in_progress", 8, 7, True),
        ("blocked", 4, 3, True),
        ("blocked", 3, 3, False),
        ("in_progress", 4, 3, True),
    ],
)
def test_a_status_lasts_as_long_as_its_limit(
    status: str, days: int, limit: int, aged: bool
) -> None:
    facts = facts_of(document(status=status), now=WRITTEN + days * DAY + 1)
    # a second over the limit counts
    assert [found for _, found in facts.find_aged(status, limit)] == (
        [days] if aged or days == limit else []
    )
    exact = facts_of(document(status=status), now=WRITTEN + days * DAY)
    assert [found for _, found in exact.find_aged(status, limit)] == ([days] if aged else [])


def test_an_age_is_of_the_asked_status_and_of_a_known_instant() -> None:
    old = NOW + 100 * DAY
    assert list(facts_of(document(status="failed"), now=old).find_aged("in_progress", 7)) == []
    assert list(facts_of(document(updated_at="soon"), now=old).find_aged("in_progress", 7)) == []


def test_a_project_folder_is_absent_where_it_is_no_absolute_path_of_a_folder(
    tmp_path: Path,
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    absent = ["/nowhere/at/all", "relative", str(file), "/a\0b"]
    named = [*absent, str(tmp_path), "", " ", "."]
    documents = [document(f"s{number}", project_dir=path) for number, path in enumerate(named)]
    assert facts_of(*documents).absent_dirs == frozenset(absent)


def test_listed_files_are_looked_for_from_the_root_and_from_another_machines_checkout(
    tmp_path: Path,
) -> None:
    (tmp_path / ".checkpoints").mkdir()
    (tmp_path / "a.md").write_text("")
    (tmp_path / "b.md").write_text("")
    listed = ["a.md", "/srv/tidepool/b.md", "gone.md", "/etc/hostname", "a.md, b.md"]
    primer = {"generated_files": listed, "key_decisions": [], "user_preferences": []}
    facts = facts_of(document(context_primer=primer), place=find_place(str(tmp_path)))
    files = facts.files[PATH]
    assert [(file.entry, file.path, file.state) for file in files] == [
        (0, "a.md", "there"),
        (1, "b.md", "there"),
        (2, "gone.md", "missing"),
        (3, "/etc/hostname", "outside"),
        (4, "a.md", "there"),
        (4, "b.md", "there"),
    ]
    primer["generated_files"] = [f"{tmp_path}/a.md", "./b.md", "/srv/tidepool/b.md"]
    facts = facts_of(
        document(project_dir=".", context_primer=primer), place=find_place(str(tmp_path))
    )
    found = [(file.path, file.state) for file in facts.files[PATH]]
    assert found == [("a.md", "there"), ("./b.md", "there"), ("/srv/tidepool/b.md", "outside")]


def named(at: int, path: str, **members: Any) -> NamedFile:
    return NamedFile(at, path, **{"state": "missing", "fate": "renamed", **members})


def test_an_entry_follows_the_files_that_were_renamed_and_no_others() -> None:
    primer = {
        "generated_files": ["a.md", "b.md", "c.md"],
        "key_decisions": [],
        "user_preferences": [],
    }
    facts = facts_of(document(context_primer=primer))
    facts.files = {
        PATH: [
            named(0, "a.md", detail="docs/a.md"),
            named(1, "b.md", fate="deleted", detail="abc1234"),
            named(2, "c.md", state="there", fate="", detail="docs/c.md"),
        ]
    }
    assert facts.find_renamed(facts.summaries[0]) == {0: ("a.md", "docs/a.md")}
    assert facts_of(document("other")).find_renamed(facts.summaries[0]) == {}


def step(name: str, when: int, *paths: str) -> CommitPaths:
    return CommitPaths(name, when, "", frozenset(paths))


@rows(
    ("steps", "touched"),
    [
        # the listed file changed after the commit that brought the checkpoint
        ([("new", DAY, "a.md"), ("own", 60, PATH, "a.md")], ("own", "new")),
        # that commit itself does not count
        ([("own", 60, PATH, "a.md")], None),
        # before it, only what is clearly later than the checkpoint's own time
        ([("own", GRACE + 120, PATH), ("early", GRACE, "a.md")], None),
        ([("own", GRACE + 120, PATH), ("late", GRACE + 60, "a.md")], ("own", "late")),
        # a checkpoint that is not committed as it is
        ([("new", GRACE + 60, "a.md")], ("", "new")),
        ([("new", GRACE, "a.md")], None),
        ([("new", GRACE + 60, "a.md"), ("own", -60, PATH)], ("", "new")),
        # the newest of several
        ([("new", DAY, "a.md"), ("newer", DAY - 60, "a.md"), ("own", 60, PATH)], ("own", "new")),
        # a later commit of the checkpoint and the file is a session's
        ([("both", DAY, PATH, "a.md"), ("own", 60, PATH)], None),
    ],
)
def test_a_listed_file_is_touched_by_what_came_after_its_checkpoint(
    steps: list[Any], touched: Any
) -> None:
    facts = facts_of(document())
    facts.files = {PATH: [named(0, "a.md", state="there", fate="", names=("a.md",))]}
    facts.steps = [
        step(name, WRITTEN + seconds_later, *paths) for name, seconds_later, *paths in steps
    ]
    found = {
        path: (own, {name: row[1].id for name, row in files.items()})
        for path, (own, files) in facts.touched.items()
    }
    assert found == ({PATH: (touched[0], {"a.md": touched[1]})} if touched else {})


def test_only_the_text_of_a_checkpoint_is_read(tmp_path: Path) -> None:
    folder = tmp_path / ".checkpoints"
    folder.mkdir()
    (folder / "build.checkpoint.json").write_text(checkpoint_text())
    (folder / "list.checkpoint.json").write_text("[1]")
    (folder / "bad.checkpoint.json").write_text("{")
    (tmp_path / "secret.json").write_text("{}")
    facts = Context(find_place(str(tmp_path)), NOW, os.environ).facts(SkillFacts)
    assert facts.read_text(PATH) == checkpoint_text()
    assert facts.read_value(PATH)["skill"] == "build"
    assert facts.read_value(".checkpoints/list.checkpoint.json") == {}
    for path in (
        "secret.json",
        "../secret.json",
        ".checkpoints/bad.checkpoint.json",
        ".checkpoints/gone.checkpoint.json",
    ):
        assert facts.read_text(path) is None
        assert facts.read_value(path) == {}
    assert facts.paths == {
        f".checkpoints/{name}{layout.SUFFIX}" for name in ("build", "list", "bad")
    }


def test_history_is_asked_only_for_references_of_a_checkpoint_with_a_beginning() -> None:
    assert not facts_of(document(next_actions=["Go on"])).has_references
    assert facts_of(document(next_actions=["Merge #12"])).has_references
    assert facts_of(document(next_actions=["Merge #12"], created_at="soon")).work == {}
