"""The table of paths: what belongs to whom, asked of git and of us alike."""

from pathlib import Path

import pytest

from checkpoint_git.protocols import registry
from checkpoint_git.protocols.registry import (
    KINDS,
    Kind,
    is_merged,
    protocol_of,
    schema_path,
)
from tests.support.repos import GitRepo
from tests.support.rows import rows

# path -> the kind it belongs to
PATHS: dict[str, str | None] = {
    ".checkpoints/build.checkpoint.json": "skill",
    "a/b/.checkpoints/x.y.checkpoint.json": "skill",
    "/abs/.checkpoints/x.checkpoint.json": "skill",
    ".checkpoints/.checkpoint.json": None,
    "x.checkpoints/build.checkpoint.json": None,
    ".checkpoints/history/build.checkpoint.json": None,
    ".checkpoints/history/build/5-x.event.json": None,
    ".checkpoints/history/build/.checkpoint.json": None,
    "build.checkpoint.json": None,
    "memory/state/phase.json": "workflow-phase",
    "app/memory/state/execution.json": "workflow-execution",
    "memory/state/.archive/w_20260302T120000Z/phase.json": None,
    "memory/state/other.json": None,
    "src/phase.json": None,
    "T-1/4fa2159f-9c61-5f8b-9ae5-28692b46cbd7/phase_3_create_pr_a12.yaml": "pipeline",
    "phase_1_a1.yml": None,
}
HOME = "checkpoint_git.protocols.skill"
TABLE = (
    Kind("one", "schema.json", "other/state", ("phase.json",), package=HOME, is_merged=True),
    Kind("many", "other.json", "", ("step_", "_a", ".yaml"), package=HOME),
)
TABLE_PATHS: dict[str, str | None] = {
    "other/state/phase.json": "one",
    "app/other/state/phase.json": "one",
    "other/state/xphase.json": None,
    "state/phase.json": None,
    "xother/state/phase.json": None,
    "other/state/.archive/w/phase.json": None,
    "phase.json": None,
    "step_1_implement_a1.yaml": "many",
    "T-1/run/step_3_create_pr_a12.yaml": "many",
    "step_a_a_a.yaml": "many",
    "step__a.yaml": None,
    "step_1_a1.yml": None,
    "step_a1.yaml": None,
    "step_1_a.yaml": None,
}


@rows(("path", "kind"), PATHS.items())
def test_a_path_belongs_to_the_kind_that_its_folder_and_name_say(
    path: str, kind: str | None
) -> None:
    assert protocol_of(path) == kind


@pytest.mark.parametrize(("path", "kind"), TABLE_PATHS.items())
def test_a_kind_may_have_one_fixed_name_or_a_name_of_several_parts(
    path: str, kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "KINDS", TABLE)
    assert protocol_of(path) == kind
    assert is_merged(path) == (kind == "one")


def test_git_gives_every_path_to_the_same_kind(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "KINDS", (*KINDS, *TABLE))
    rows = [f"{kind.pattern} kind={kind.name}\n" for kind in registry.KINDS]
    repo.write(".gitattributes", "".join(rows))
    # git's * may be empty
    nothing_between = {
        ".checkpoints/.checkpoint.json",
        "step__a.yaml",
        "step_1_a.yaml",
    }
    paths = [
        path for path in {**PATHS, **TABLE_PATHS} if path[0] != "/" and path not in nothing_between
    ]
    for line in repo.git("check-attr", "kind", "--", *paths).splitlines():
        path, _, found = line.rpartition(": kind: ")
        assert (protocol_of(path) or "unspecified") == found


def test_the_schema_is_found_by_the_whole_path() -> None:
    path = schema_path(".checkpoints/build.checkpoint.json")
    assert path is not None
    assert Path(path).is_file()
    assert schema_path("elsewhere/build.checkpoint.json") is None
