"""Where the records of a pipeline are looked for, what is listed of them, and what is never
followed.
"""

import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import find_place
from checkpoint_git.git.settings import PIPELINE_DIR, PIPELINE_PHASES
from checkpoint_git.protocols.pipeline import layout, store
from checkpoint_git.protocols.pipeline.store import RunState, Skipped
from tests.support.records import RUN, TICKET, put_record, put_text
from tests.support.repos import GitRepo

OTHER_RUN = "00000000-0000-4000-8000-000000000001"


def test_the_base_is_the_wished_one_else_the_settings_else_below_the_home(repo: GitRepo) -> None:
    cwd = str(repo.path)
    env = {**os.environ, "HOME": "/home/ada"}
    homeless = {name: value for name, value in env.items() if name != "HOME"}
    assert store.find_base(None, cwd, env) == "/home/ada/.claude/checkpoints"
    assert store.find_base(None, cwd, homeless) == f"{os.environ['HOME']}/.claude/checkpoints"
    with pytest.raises(CheckpointError, match="the home folder is unknown"):
        store.find_base(None, cwd, {**env, "HOME": "ada"})

    repo.git("config", PIPELINE_DIR, "~/records")
    repo.git("config", PIPELINE_PHASES, "~/implement")
    assert store.find_base(None, cwd, env) == "/home/ada/records"
    assert store.find_base("", cwd, env) == ""
    assert store.find_base("/wished", cwd, env) == "/wished"
    assert store.read_setting(cwd, env, PIPELINE_PHASES) == "~/implement"


def test_a_machine_without_git_has_no_settings(tmp_path: Path) -> None:
    env = {**os.environ, "PATH": str(tmp_path)}
    assert store.read_setting(str(tmp_path), env, PIPELINE_DIR) == ""


def test_a_project_has_the_usual_folder_and_the_settings_if_they_are_there(
    project: Path, repo: GitRepo
) -> None:
    place = find_place(str(project))
    usual = project / ".claude/checkpoints"
    outside = project.parent / "outside"
    assert store.find_bases(place, os.environ) == []

    repo.git("config", PIPELINE_DIR, str(outside))
    assert store.find_bases(place, os.environ) == []
    usual.mkdir(parents=True)
    assert store.find_bases(place, os.environ) == [str(usual)]
    outside.mkdir()
    assert store.find_bases(place, os.environ) == [str(usual), str(outside)]

    repo.git("config", PIPELINE_DIR, "./.claude/checkpoints/")
    assert store.find_bases(place, os.environ) == [str(usual)]
    (project / "linked").symlink_to(outside)
    repo.git("config", PIPELINE_DIR, "linked")
    assert store.find_bases(place, os.environ) == [str(usual)]


def test_every_run_of_a_base_is_listed_with_its_phases_and_attempts(tmp_path: Path) -> None:
    base = tmp_path / "top/records"
    put_record(base)
    put_record(base, attempt=2)
    put_record(base, "create_pr")
    (base / TICKET / OTHER_RUN).mkdir()
    put_text(base / "deeper", "phase_1_implement_a1.yaml", "")
    (base / ".git/hooks").mkdir(parents=True)
    (base / ".git" / OTHER_RUN).mkdir()
    (base / "README.md").write_text("")

    folder = f"records/{TICKET}/"
    assert store.read_base(str(base), str(tmp_path / "top")) == [
        RunState(TICKET, OTHER_RUN, [], 0, folder + OTHER_RUN),
        RunState(TICKET, RUN, ["implement", "create_pr"], 3, folder + RUN),
    ]
    (outside,) = store.read_base(str(base), str(tmp_path / "elsewhere"))[1:]
    assert outside.folder == str(base / TICKET / RUN)
    assert store.read_base(str(tmp_path / "none"), str(tmp_path)) == []


def test_what_only_looks_like_a_run_or_a_record_is_reported(tmp_path: Path) -> None:
    put_record(tmp_path, "create_pr")
    put_record(tmp_path, attempt=10)
    put_record(tmp_path, attempt=9)
    for name in ("phase_1_other_a1.yaml", "phase_2_implement_a1.yml", "notes.yaml"):
        put_text(tmp_path, name, "")
    put_text(tmp_path, "phase_1_implement_a1.yaml", "", run="my-run")
    put_text(tmp_path, "notes.yaml", "", run="notes")
    (tmp_path / TICKET / "file").write_text("")
    (tmp_path / TICKET / OTHER_RUN).write_text("")

    skipped: list[Skipped] = []
    assert store.list_runs(str(tmp_path), TICKET, skipped) == [OTHER_RUN, RUN]
    reason = "it contains records, but its name is not the UUID of a run"
    assert skipped == [Skipped(f"{TICKET}/my-run", reason)]

    skipped = []
    names = store.list_names(str(tmp_path), TICKET, RUN, skipped)
    assert [(name.phase, name.attempt) for name in names] == [
        ("implement", 9),
        ("implement", 10),
        ("create_pr", 1),
    ]
    reason = "its name is not phase_<ordinal>_<phase>_a<attempt>.yaml of a known phase"
    assert skipped == [
        Skipped(f"{TICKET}/{RUN}/phase_1_other_a1.yaml", reason),
        Skipped(f"{TICKET}/{RUN}/phase_2_implement_a1.yml", reason),
    ]

    skipped = []
    assert store.list_names(str(tmp_path), TICKET, OTHER_RUN, skipped) == []
    assert skipped == [Skipped(f"{TICKET}/{OTHER_RUN}", "it is not a folder")]


def test_a_link_is_followed_inside_the_base_only(tmp_path: Path) -> None:
    base = tmp_path / "base"
    put_record(base)
    put_record(tmp_path / "outside")
    (base / "inside").symlink_to(TICKET)
    (base / "out").symlink_to(tmp_path / "outside" / TICKET)
    (base / "loop").symlink_to("loop")

    skipped: list[Skipped] = []
    assert store.list_runs(str(base), "inside", skipped) == [RUN]
    assert len(store.list_names(str(base), "inside", RUN, skipped)) == 1
    assert skipped == []

    assert store.list_runs(str(base), "out", skipped) == []
    assert store.list_names(str(base), "out", RUN, skipped) == []
    reason = "it is a symbolic link that leads out of the base"
    assert skipped == [Skipped("out", reason), Skipped(f"out/{RUN}", reason)]

    skipped = []
    assert store.list_runs(str(base), "loop", skipped) == []
    (found,) = skipped
    assert found.reason.startswith("it cannot be read: ")


def test_a_base_is_an_absolute_folder_and_no_link_that_a_branch_brings(repo: GitRepo) -> None:
    outside = repo.path.parent / "outside"
    outside.mkdir()
    (outside / "file").write_text("")
    (outside / "link").symlink_to(repo.path)
    (repo.path / "linked").symlink_to(outside)
    for good in (outside, outside / "missing", repo.path / "records"):
        store.check_base(str(good))

    for bad, message in (
        ("records", '"records" cannot be the base of the records: it is not absolute'),
        (f"{outside}/file", f"{outside}/file is not a folder"),
        (f"{repo.path}/linked", "is a symbolic link"),
        (f"{repo.path}/.git/records", "is git's own"),
    ):
        with pytest.raises(CheckpointError) as caught:
            store.check_base(bad)
        assert message in caught.value.message


def test_a_runs_folder_is_for_its_owner_and_is_not_made_through_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    base = tmp_path / "base"
    store.prepare_folder(str(base), TICKET, RUN)
    store.prepare_folder(str(base), TICKET, RUN)
    for folder in (base, base / TICKET, base / TICKET / RUN):
        assert folder.stat().st_mode & 0o777 == layout.FOLDER_MODE

    (base / "linked").symlink_to(outside)
    with pytest.raises(CheckpointError, match="symbolic link"):
        store.prepare_folder(str(base), "linked", RUN)

    def lose_race(path: str, mode: int) -> None:
        (base / "late").symlink_to(outside)

    monkeypatch.setattr(atomic, "make_folder", lose_race)
    with pytest.raises(CheckpointError, match="symbolic link"):
        store.prepare_folder(str(base), "late", RUN)
    assert list(outside.iterdir()) == []
