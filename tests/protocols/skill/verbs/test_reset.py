"""checkpoint reset."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.skill.verbs import reset, update
from checkpoint_git.protocols.write import set_apart
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.verbs import run_verb

ARCHIVE = ".checkpoints/history/build.20260302T120000Z.json"


def test_the_file_moves_to_history_with_every_line_a_column_further_right(
    build: Path, project: Path
) -> None:
    before = build.read_text("utf-8")
    ran = run_verb(reset, "build", cwd=project)
    assert ran.outcome.data["archive"] == ARCHIVE
    assert (project / ARCHIVE).read_text("utf-8") == "".join(
        f" {line}\n" for line in before.splitlines()
    )
    assert json.loads((project / ARCHIVE).read_text("utf-8")) == json.loads(before)
    assert not build.exists()


@rows(
    ("content", "kept"),
    [
        (b'{"a": 1e400}', b' {"a": 1e400}'),
        (b'\xef\xbb\xbf{\r\n\t"a": "\\n"\r\n}\r\n', b'\xef\xbb\xbf {\r\n \t"a": "\\n"\r\n }\r\n'),
        (b'{\n\n"a": 1\n}', b' {\n\n "a": 1\n }'),
        (b"{\n<<<<<<< ours\n", b"{\n<<<<<<< ours\n"),
        (b"", b""),
    ],
)
def test_an_archive_holds_the_same_tokens_and_what_is_no_json_as_it_is(
    content: bytes, kept: bytes
) -> None:
    assert set_apart(content) == kept


@pytest.mark.parametrize("indent", [None, 0, 1, 2, 4, "\t"])
def test_what_another_branch_wrote_meanwhile_does_not_vanish_into_the_archive(
    repo: GitRepo, indent: int | str | None
) -> None:
    path = ".checkpoints/build.checkpoint.json"
    value = {
        "skill": "build",
        "progress_summary": "as far as this",
        "next_actions": [f"action {n}" for n in range(40)],
    }
    repo.write(path, json.dumps(value, indent=indent) + "\n")
    repo.commit("base")
    repo.git("checkout", "-q", "-b", "side")
    repo.write(
        path, json.dumps({**value, "progress_summary": "much further"}, indent=indent) + "\n"
    )
    repo.commit("go on")
    repo.git("checkout", "-q", "-")
    run_verb(reset, "build", cwd=repo.path)
    repo.commit("archive")
    assert repo.exit_code("merge", "-q", "-m", "merge", "side") == 1
    assert "much further" in repo.git("show", f":3:{path}")


def test_a_corrupt_file_can_be_reset_and_is_kept(build: Path, project: Path) -> None:
    build.write_bytes(b"\xff\xfenot json")
    run_verb(reset, "build", cwd=project)
    assert (project / ARCHIVE).read_bytes() == b"\xff\xfenot json"


def test_two_resets_in_one_second_keep_both(build: Path, project: Path) -> None:
    run_verb(reset, "build", cwd=project)
    run_verb(update, "build", cwd=project)
    ran = run_verb(reset, "build", cwd=project)
    assert ran.outcome.data["archive"] == ".checkpoints/history/build.20260302T120000Z-2.json"
    assert len(list((project / ".checkpoints/history").iterdir())) == 2


def test_a_reset_that_was_killed_half_way_is_finished_by_the_next(
    build: Path, project: Path
) -> None:
    (project / ".checkpoints/history").mkdir()
    (project / ARCHIVE).write_bytes(set_apart(build.read_bytes()))
    assert run_verb(reset, "build", cwd=project).outcome.data["archive"] == ARCHIVE
    assert not build.exists()


def test_a_kill_at_any_instant_loses_nothing(build: Path, project: Path) -> None:
    before = build.read_bytes()
    script = (
        "import sys\n"
        "from checkpoint_git.protocols.skill.verbs.reset import reset\n"
        "from checkpoint_git.disk.discover import find_place\n"
        "place = find_place(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "reset(place, 'build', 0)\n"
    )
    for kill in range(20):
        build.write_bytes(before)
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(project)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(kill * 0.0001)
        process.kill()
        process.communicate()
        archives = [path.read_bytes() for path in (project / ".checkpoints").glob("history/*.json")]
        assert set_apart(before) in archives or build.read_bytes() == before
    run_verb(update, "build", cwd=project)
    assert not list((project / ".checkpoints").rglob(".*.tmp"))


def test_nothing_to_reset_is_an_error(project: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint"):
        run_verb(reset, "deploy", cwd=project)


def test_a_history_folder_that_leads_out_of_the_repository_is_refused(
    build: Path, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (project / ".checkpoints/history").symlink_to(tmp_path / "outside")
    with pytest.raises(CheckpointError, match="is a symbolic link"):
        run_verb(reset, "build", cwd=project)
    assert build.exists()
    assert list((tmp_path / "outside").iterdir()) == []


def test_another_skills_checkpoint_is_not_reset(build: Path, project: Path) -> None:
    with pytest.raises(CheckpointError):
        run_verb(reset, "build", cwd=project, env={"CHECKPOINT_SKILL": "deploy"})
    assert build.exists()
