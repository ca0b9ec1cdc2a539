"""Caches of earlier versions are found, state beside them is not."""

from pathlib import Path

from checkpoint_git.disk.leftovers import FILES, find_leftovers

CACHES = {*FILES, "history/runs", "history/names"}
STATE = {
    "automatic.index",
    "backups/20260302-100000/build.checkpoint.json",
    "memory-home",
    "memory-initiative",
    "memory-save.log",
    "memory-sync-0123456789abcdef",
    "schemas/0123.json",
    "sessions/one.json",
    "undo/build.before",
}


def plant(git_dir: Path, names: set[str]) -> None:
    for name in names:
        path = git_dir / "checkpoint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")


def test_every_cache_is_found_and_no_state(tmp_path: Path) -> None:
    plant(tmp_path, CACHES | STATE)
    history = tmp_path / "checkpoint/history"
    (history / "folder").mkdir()
    (history / "link").symlink_to("folder")
    found = find_leftovers([str(tmp_path), str(tmp_path)])
    assert found == find_leftovers([str(tmp_path)])
    assert sorted(leftover.name for leftover in found) == sorted(
        f"checkpoint/{name}" for name in CACHES | {"history/link"}
    )
    assert all(Path(leftover.path) == tmp_path / leftover.name for leftover in found)


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    assert find_leftovers([str(tmp_path)]) == []


def test_links_are_found_themselves_and_never_followed(tmp_path: Path) -> None:
    other, git_dir = tmp_path / "other", tmp_path / "git"
    plant(other, CACHES)
    (git_dir / "checkpoint").mkdir(parents=True)
    for name in ("history", "merges", "primed.json"):
        (git_dir / "checkpoint" / name).symlink_to(other / "checkpoint" / name)
    (git_dir / "checkpoint" / "history.sqlite").symlink_to(tmp_path / "nowhere")
    names = [
        "checkpoint/history",
        "checkpoint/history.sqlite",
        "checkpoint/merges",
        "checkpoint/primed.json",
    ]
    assert sorted(leftover.name for leftover in find_leftovers([str(git_dir)])) == names

    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "checkpoint").symlink_to(other / "checkpoint")
    assert find_leftovers([str(linked)]) == []
