from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.tools.report.verb import plan_path, write_page

OURS = '<!DOCTYPE html>\n<html><meta charset="utf-8"><meta name="generator" content="checkpoint-git report">'


@pytest.fixture
def place(project: Path) -> Place:
    return find_place(str(project))


def test_without_a_wish_the_page_goes_into_the_git_directory(place: Place, project: Path) -> None:
    path = plan_path(place, None, str(project))
    assert path == str(project / ".git/checkpoint-report.html")


def test_outside_git_it_goes_into_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / ".checkpoints").mkdir()
    assert plan_path(find_place(str(tmp_path)), None, str(tmp_path)) == str(
        tmp_path / "checkpoint-report.html"
    )


def test_a_folder_gets_the_page_under_its_own_name(place: Place, project: Path) -> None:
    assert plan_path(place, ".", str(project)) == str(project / "checkpoint-report.html")


@pytest.mark.parametrize(
    "wished",
    [
        "",
        "a\0b",
        "missing/x.html",
        ".checkpoints/x.html",
        ".checkpoints/build.checkpoint.json",
        "data.json",
    ],
)
def test_a_path_that_is_not_fit_is_refused(place: Place, project: Path, wished: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        plan_path(place, wished, str(project))
    assert str(caught.value.hint)


def test_a_page_of_ours_is_replaced_and_nothing_else_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "x.html"
    write_page(str(path), OURS, force=False)
    write_page(str(path), OURS + "2", force=False)
    assert path.read_text("utf-8") == OURS + "2"
    path.write_text("<html>mine", "utf-8")
    with pytest.raises(CheckpointError) as caught:
        write_page(str(path), OURS, force=False)
    assert "--force" in str(caught.value.hint)
    assert path.read_text("utf-8") == "<html>mine"
    write_page(str(path), OURS, force=True)
    assert path.read_text("utf-8") == OURS
    assert [each.name for each in tmp_path.iterdir()] == ["x.html"]


def test_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target.html"
    target.write_text(OURS, "utf-8")
    (tmp_path / "link.html").symlink_to(target)
    with pytest.raises(CheckpointError):
        write_page(str(tmp_path / "link.html"), OURS + "new", force=True)
    assert target.read_text("utf-8") == OURS
