from pathlib import Path

import pytest
from mcp.shared.exceptions import MCPError

from checkpoint_git.mcp.resources import find_named, find_uri, read_sizes


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


def test_other_files_are_no_checkpoints(project: Path) -> None:
    before = read_sizes(str(project))
    assert before == {"build": (project / ".checkpoints/build.checkpoint.json").stat().st_size}
    (project / ".checkpoints/README.md").write_text("read me")
    (project / ".checkpoints/..checkpoint.json").write_text("{}")
    assert read_sizes(str(project)) == before


def test_where_there_is_no_folder_there_is_nothing(tmp_path: Path) -> None:
    assert read_sizes(str(tmp_path)) == {}
    assert read_sizes(str(tmp_path / "gone")) == {}
