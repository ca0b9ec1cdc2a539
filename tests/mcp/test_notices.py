from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from checkpoint_git.mcp.notices import find_changed, find_named, find_uri, take_snapshot
from tests.support.samples import checkpoint_text


@pytest.mark.parametrize("skill", ["build", "oc-app-architect", "Größe", "a b", "50%", "a#b"])
def test_a_skill_and_its_uri_stand_for_each_other(skill: str) -> None:
    uri = find_uri(skill)
    assert uri.isascii()
    assert " " not in uri
    assert find_named(uri) == skill
    assert find_named(f"{uri}/") == skill


@pytest.mark.parametrize(
    "uri", ["", "file:///etc/passwd", "checkpoint://", "checkpoint://..%2Fx", "checkpoint://a/b", "checkpoint://%00"]
)
def test_what_is_no_skill_is_no_resource(uri: str) -> None:
    with pytest.raises(MCPError, match="Unknown resource"):
        find_named(uri)


def test_a_snapshot_tells_a_file_that_was_written_again_with_the_same_size(project: Path) -> None:
    before = take_snapshot(str(project))
    file = project / ".checkpoints/build.checkpoint.json"
    other = file.with_name("other")
    other.write_text(checkpoint_text(step="sprint-3"))
    other.replace(file)
    assert find_changed(before, take_snapshot(str(project))) == ["build"]


def test_skills_that_come_and_go_change_the_list(project: Path) -> None:
    before = take_snapshot(str(project))
    (project / ".checkpoints/build.checkpoint.json").rename(project / ".checkpoints/ship.checkpoint.json")
    assert find_changed(before, take_snapshot(str(project))) == ["build", "ship"]


def test_other_files_are_no_checkpoints(project: Path) -> None:
    before = take_snapshot(str(project))
    (project / ".checkpoints/README.md").write_text("read me")
    (project / ".checkpoints/..checkpoint.json").write_text("{}")
    assert take_snapshot(str(project)) == before


def test_where_there_is_no_folder_there_is_nothing(tmp_path: Path) -> None:
    assert take_snapshot(str(tmp_path)) == {}
    assert take_snapshot(str(tmp_path / "gone")) == {}
