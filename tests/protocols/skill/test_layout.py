"""Names of skills and of their files."""

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.skill import layout
from tests.support.rows import rows

PLACE = Place("/r/sub", "/r/sub/.checkpoints", "/r", "/r/.git")


@rows(
    "name", ["build", "oc-app-architect", "v1.5", "Über-prüfung", "a b", "x" * 128, "0", "con-man"]
)
def test_an_ordinary_name_is_a_name(name: str) -> None:
    layout.check_skill_name(name)
    assert layout.checkpoint_path(PLACE, name) == f"/r/sub/.checkpoints/{name}.checkpoint.json"


@rows(
    "name",
    [
        "", " ", "../x", "..", ".", "/etc/passwd", "a/b", "a\\b", "C:x", ".hidden", "-x", "~root", "a\x00b", "a\nb",
        "a\x1b[2J", "a\u202eb", "con", "NUL", "Com1", "aux.x", "lpt9", "x" * 129, "é" * 65, "a.", "a ", " a", "a*",
        "what?", 'a"b', "a|b", "build.checkpoint.json", "\ud800",
    ],
)  # fmt: skip
def test_a_name_that_is_a_path_or_a_trap_is_refused(name: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        layout.checkpoint_path(PLACE, name)
    assert caught.value.message.isprintable()
    with pytest.raises(CheckpointError):
        layout.history_path(PLACE, name, "2026")
    with pytest.raises(CheckpointError):
        layout.history_path(PLACE, "build", name)


def test_the_skill_is_what_stands_before_the_ending() -> None:
    assert layout.find_skill("a/.checkpoints/build.checkpoint.json") == "build"
    assert layout.find_skill("v1.5.checkpoint.json") == "v1.5"
    assert layout.find_skill(".checkpoint.json") == ""
    assert layout.find_skill("build.json") == ""
    assert layout.find_skill("build.checkpoint.json.bak") == ""


def test_a_history_name_is_not_an_active_one() -> None:
    path = layout.history_path(PLACE, "build", "2026-03-02-0a1b")
    assert path == "/r/sub/.checkpoints/history/build.2026-03-02-0a1b.json"
    assert layout.find_skill(path) == ""


def test_messages_show_paths_from_the_repository() -> None:
    assert (
        layout.relative_checkpoint_path(PLACE, "build") == "sub/.checkpoints/build.checkpoint.json"
    )
