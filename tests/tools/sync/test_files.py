"""Which files sync, and which paths of a branch are refused, as values."""

import os
import resource
from pathlib import Path
from typing import Any

from checkpoint_git.disk.discover import find_place
from checkpoint_git.tools.sync.files import (
    FileArrival,
    find_path_trouble,
    kind_of,
    read_journal,
    read_work,
    skill_of,
    write_arrivals,
)
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.samples import checkpoint_text


@rows(
    ("path", "kind", "skill"),
    [
        (".checkpoints/build.checkpoint.json", "skill", "build"),
        ("app/.checkpoints/build.checkpoint.json", "skill", "build"),
        (".checkpoints/history/build.2026.json", "history", "build"),
        (".checkpoints/history/build/a.event.json", "", ""),
        ("memory/state/phase.json", "workflow-phase", ""),
        ("src/app.json", "", ""),
        ("history/build.2026.json", "", ""),
    ],
)
def test_a_path_tells_its_kind_and_its_skill(path: str, kind: str, skill: str) -> None:
    assert (kind_of(path), skill_of(path)) == (kind, skill)


@rows(
    "path",
    [
        ".git/.checkpoints/a.checkpoint.json",
        "app/.GIT/.checkpoints/a.checkpoint.json",
        "git~1/.checkpoints/a.checkpoint.json",
        ".git /.checkpoints/a.checkpoint.json",
        ".git. ./.checkpoints/a.checkpoint.json",
        ".git::$INDEX_ALLOCATION/.checkpoints/a.checkpoint.json",
        "../.checkpoints/a.checkpoint.json",
        "/.checkpoints/a.checkpoint.json",
        "app//.checkpoints/a.checkpoint.json",
        "./.checkpoints/a.checkpoint.json",
        "app\\.checkpoints/.checkpoints/a.checkpoint.json",
        "a\nb/.checkpoints/a.checkpoint.json",
        "a\u202eb/.checkpoints/a.checkpoint.json",
        f"{'a' * 1_000}/.checkpoints/a.checkpoint.json",
        ".checkpoints/-rf.checkpoint.json",
    ],
)
def test_a_path_that_leads_astray_is_refused(path: str) -> None:
    assert find_path_trouble(path)


def test_plain_paths_are_taken() -> None:
    plain = [
        ".checkpoints/build.checkpoint.json",
        "app/.checkpoints/größe.checkpoint.json",
        "memory/state/phase.json",
    ]
    plain.append(".github/.checkpoints/build.checkpoint.json")
    assert [find_path_trouble(path) for path in plain] == ["", "", "", ""]


def test_nothing_is_written_behind_a_link(tmp_path: Path) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    top.mkdir()
    outside.mkdir()
    (top / ".checkpoints").symlink_to(outside)
    path = ".checkpoints/build.checkpoint.json"
    lock = str(tmp_path / "lock")
    arrivals, journal = [FileArrival(path, None, b"{}")], str(tmp_path / "own/journal")
    taken, findings = write_arrivals(
        lock, str(top), arrivals, lambda *_: None, lambda: None, journal, "f" * 40
    )
    assert read_journal(journal) == ("f" * 40, {""})
    assert taken == []
    assert [(one.code, one.path) for one in findings] == [("sync/not-written", path)]
    assert os.listdir(outside) == []


def test_a_full_disk_that_takes_no_notes_hinders_no_file(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"{}")
    arrivals = [
        FileArrival("one", None, b"{}"),
        FileArrival("two", None, b"{}"),
        FileArrival("old", b"{}", None),
    ]
    journal, (soft, hard) = str(tmp_path / "journal"), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (42, hard))
    try:
        found = write_arrivals(
            str(tmp_path / "lock"),
            str(tmp_path),
            arrivals,
            lambda *_: None,
            lambda: None,
            journal,
            "f" * 40,
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert found == (["one", "two", "old"], [])
    assert (os.stat(journal).st_size, os.path.exists(tmp_path / "old")) == (42, False)


def test_a_file_that_is_not_checked_out_on_purpose_is_known_as_such(repo: GitRepo) -> None:
    names = [f".checkpoints/{skill}.checkpoint.json" for skill in ("build", "ship", "gone")]
    for name in names:
        repo.write(name, checkpoint_text())
    repo.commit()
    repo.git("update-index", "--skip-worktree", names[1])
    for name in names[1:]:
        (repo.path / name).unlink()
    work = read_work(
        find_place(str(repo.path)),
        str(repo.path),
        os.environ,
        with_ignored=False,
        is_asked=lambda _: False,
    )
    assert work.contents.keys() == {names[0]}
    assert work.sparse == {names[1]}  # the other one was removed


# what is there now, what the sync read, what it becomes, what a merge answers; what is there
# afterwards, the trouble
ARRIVALS: list[tuple[bytes | None, bytes | None, bytes | None, bytes | None, bytes | None, str]] = [
    (b"1", b"1", b"2", None, b"2", ""),
    (None, None, b"2", None, b"2", ""),
    (b"1", b"1", None, None, None, ""),
    (b"2", b"1", b"2", None, b"2", ""),
    (None, b"1", None, None, None, ""),
    (b"3", b"1", b"2", b"2+3", b"2+3", ""),
    (
        b"3",
        b"1",
        b"2",
        None,
        b"3",
        "it was changed meanwhile, and the two changes contradict each other",
    ),
    (None, b"1", b"2", None, None, "it was written or removed meanwhile"),
    (b"3", b"1", None, None, b"3", "it was written or removed meanwhile"),
]


def test_what_arrives_is_written_unless_that_would_lose_what_somebody_wrote_meanwhile(
    tmp_path: Path,
) -> None:
    top, journal = tmp_path / "top", str(tmp_path / "journal")
    for number, (now, was, becomes, merged, after, trouble) in enumerate(ARRIVALS):
        path, asked = f"{number}/a", list[object]()

        def merge(
            *texts: object, merged: bytes | None = merged, asked: list[object] = asked
        ) -> bytes | None:
            asked.append(texts)
            return merged

        full = top / path
        if now is not None:
            full.parent.mkdir(parents=True)
            full.write_bytes(now)
        arrivals = [FileArrival(path, was, becomes)]
        taken, findings = write_arrivals(
            str(tmp_path / "lock"), str(top), arrivals, merge, lambda: None, journal, "f" * 40
        )
        assert (full.read_bytes() if full.exists() else None) == after, number
        assert [one.message for one in findings] == ([trouble] if trouble else []), number
        assert taken == ([] if trouble else [path]), number
        assert read_journal(journal) == ("f" * 40, {"", *taken}), number
        assert asked in ([], [(path, was, now, becomes)]), number


def test_files_that_git_ignores_stay_here_and_are_named_unless_they_are_asked_for(
    repo: GitRepo,
) -> None:
    names = [f".checkpoints/{skill}.checkpoint.json" for skill in ("build", "ship")]
    repo.write(".gitignore", ".checkpoints/\n")
    for name in names:
        repo.write(name, checkpoint_text())

    def read(**options: Any) -> tuple[list[str], set[str], list[str]]:
        work = read_work(find_place(str(repo.path)), str(repo.path), os.environ, **options)
        return sorted(work.contents), work.refused, [one.code for one in work.findings]

    assert read(with_ignored=False) == ([], set(), [])
    assert read(with_ignored=True, is_asked=lambda path: path == names[0]) == (
        names[:1],
        {names[1]},
        ["sync/ignored"],
    )
    assert read(with_ignored=True, is_asked=lambda _: True) == (names, set(), [])
