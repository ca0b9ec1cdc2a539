import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import layout, points, store
from checkpoint_git.protocols.restore.contents import Part
from checkpoint_git.protocols.restore.mechanisms import parts
from checkpoint_git.protocols.restore.mechanisms.contract import Means
from checkpoint_git.protocols.restore.mechanisms.state import find_prerequisites, request_state
from tests.support.command import BIN, run_here
from tests.support.repos import GitRepo
from tests.support.restore_points import (
    create,
    folder_of,
    go_back,
    roll_back,
    run_script,
    workspace_of,
)
from tests.support.rows import rows


def make(root: Path, *states: Any, asked: tuple[str, ...] = ()) -> points.CreatedPoint:
    """A point of states, and of files."""
    kind = "git_stash" if asked else "state_snapshot"
    return create(workspace_of(root), asked, "", kind, None, states)


def test_a_state_goes_back_to_the_file_it_came_from(repo: GitRepo) -> None:
    path = repo.write("run.json", b'{"step": 1,\n "x": [1.50]}')
    made = make(repo.path, request_state("run", path.read_bytes(), "run.json", 0o640))
    repo.write("run.json", "{}")
    done = go_back(workspace_of(repo.path), made.manifest)
    assert path.read_bytes() == b'{"step": 1,\n "x": [1.50]}'
    assert path.stat().st_mode & 0o777 == 0o640
    assert [part.name for part in done.plan.parts] == ["state:run"]
    roll_back(repo.path, done.safety)
    assert path.read_text() == "{}"


def test_a_state_that_came_from_no_file_needs_to_be_told_where_it_goes() -> None:
    part = Part("state", "state:run", "", 0, "", {"file": "run.json"})
    assert len(find_prerequisites(part)) == 1
    told = find_prerequisites(part._replace(details={"file": None}))
    assert [
        text.startswith("the state run came from no file: --state-to run=FILE") for text in told
    ] == [True, False]


def test_a_file_that_was_broken_since_is_kept_as_it_was_before_the_rollback(repo: GitRepo) -> None:
    made = make(repo.path, request_state("run", b"{}", "run.json"))
    repo.write("run.json", b"\xff no JSON")
    done = go_back(workspace_of(repo.path), made.manifest)
    assert repo.read("run.json") == "{}"
    roll_back(repo.path, done.safety)
    assert (repo.path / "run.json").read_bytes() == b"\xff no JSON"


def test_a_rollback_of_a_rollback_removes_what_was_not_there(repo: GitRepo) -> None:
    made = make(repo.path, request_state("run", b"{}", "run.json"))
    done = go_back(workspace_of(repo.path), made.manifest)
    assert repo.read("run.json") == "{}"
    roll_back(repo.path, done.safety)
    assert not (repo.path / "run.json").exists()


def test_a_state_is_handed_over_to_a_callback(repo: GitRepo) -> None:
    made = make(repo.path, request_state("run", b'{"step": 1}'), request_state("other", b"[2]"))
    taken: dict[str, Any] = {}
    go_back(workspace_of(repo.path), made.manifest, None, Means(hand_over=taken.__setitem__))
    assert taken == {"run": {"step": 1}, "other": [2]}


def test_a_state_without_a_file_needs_a_place_before_anything_is_changed(repo: GitRepo) -> None:
    repo.write("a", "1")
    made = make(repo.path, request_state("run", b"{}"), asked=("a",))
    repo.write("a", "2")
    with pytest.raises(CheckpointError, match="came from no file") as caught:
        go_back(workspace_of(repo.path), made.manifest)
    assert "--state-to run=FILE" in str(caught.value.hint)
    assert repo.read("a") == "2"
    go_back(
        workspace_of(repo.path), made.manifest, None, Means({"run": str(repo.path / "back.json")})
    )
    assert (repo.read("a"), repo.read("back.json")) == ("1", "{}")


def test_a_part_of_a_point_goes_back_alone(repo: GitRepo) -> None:
    repo.write("a", "1")
    made = make(repo.path, request_state("run", b"{}", "run.json"), asked=("a",))
    repo.write("a", "2")
    go_back(workspace_of(repo.path), made.manifest, ["state:run"])
    assert (repo.read("a"), repo.read("run.json")) == ("2", "{}")
    repo.write("run.json", "[]")
    go_back(workspace_of(repo.path), made.manifest, ["a"])
    assert (repo.read("a"), repo.read("run.json")) == ("1", "[]")


@rows("key", ["", "a/b", "..", ".hidden", "a b", "-x", "x" * 65, "ä", "a\n"])
def test_a_key_is_a_name_and_no_path(key: str) -> None:
    with pytest.raises(CheckpointError, match="not a key of a state"):
        request_state(key, b"{}")


@rows("data", [b"", b"{", b"NaN", b"\xff", b"{} {}", b"[" * 100_000])
def test_a_state_that_is_no_json_is_refused(data: bytes) -> None:
    with pytest.raises(CheckpointError, match="is not JSON"):
        request_state("run", data)


def test_a_state_of_a_secret_file_is_refused() -> None:
    with pytest.raises(CheckpointError, match="looks like a secret by its name"):
        request_state("run", b"{}", "conf/credentials.json")


def test_two_states_of_one_key_are_refused_and_nothing_is_left(repo: GitRepo) -> None:
    with pytest.raises(CheckpointError, match="named twice"):
        make(repo.path, request_state("run", b"{}"), request_state("run", b"[]"))
    assert layout.list_ids(workspace_of(repo.path).base) == []


def test_a_tampered_state_is_found_and_stops_the_rollback(repo: GitRepo) -> None:
    made = make(repo.path, request_state("run", b"{}", "run.json"))
    repo.write("run.json", "[]")
    (folder_of(repo.path, made.manifest.id) / "parts/00.json").write_bytes(b"[]")
    assert parts.find_damage(made.location, made.parts) == ["state:run"]
    with pytest.raises(CheckpointError, match="state:run is lost or damaged"):
        go_back(workspace_of(repo.path), made.manifest)
    assert repo.read("run.json") == "[]"


@pytest.mark.parametrize(
    "change",
    [
        {"content": "../../x"},
        {"content": "parts/.."},
        {"details": {"file": "../x", "mode": "0600"}},
        {"details": {}},
    ],
)
def test_a_stranger_s_part_leads_nowhere_else(repo: GitRepo, change: dict[str, Any]) -> None:
    made = make(repo.path, request_state("run", b"{}", "run.json"))
    value = {**made.manifest.value, "parts": [{**made.manifest.value["parts"][0], **change}]}
    trouble = store.parse_manifest(
        made.manifest.id, store.write_text({**value, "digest": store.find_digest(value)})
    ).trouble
    assert trouble.startswith("its manifest is wrong at /parts/0")


def test_the_hash_of_a_point_covers_its_states(repo: GitRepo) -> None:
    first, second = (make(repo.path, request_state("run", data)) for data in (b"1", b"2"))
    assert first.manifest.value["hash"] != second.manifest.value["hash"]


def test_restore_sh_gives_states_back_as_files(repo: GitRepo) -> None:
    odd = "it's $(odd)\nname.json"
    made = make(repo.path, request_state("run", b"[1]", odd), request_state("loose", b"[2]"))
    for _ in range(2):
        done = run_script(repo.path, made)
        assert done.returncode == 0, done.stderr
        assert repo.read(odd) == "[1]"
    loose = repo.path / layout.FOLDER / made.manifest.id / "given-back/loose.json"
    assert loose.read_text() == "[2]"
    assert b"loose" in done.stderr


def test_restore_sh_gives_nothing_back_that_was_tampered_with(repo: GitRepo) -> None:
    made = make(repo.path, request_state("run", b"[1]", "run.json"))
    (folder_of(repo.path, made.manifest.id) / "parts/00.json").write_bytes(b"[6]")
    done = run_script(repo.path, made)
    assert done.returncode == 1
    assert b"not restored: ./run.json" in done.stderr
    assert not (repo.path / "run.json").exists()


def test_a_state_outlives_a_cleared_work_tree_beside_files_in_git(repo: GitRepo) -> None:
    repo.write("a", "1")
    repo.write("run.json", '{"step": 1}')
    created = run_here("rp", "create", "a", "--state", "run=run.json", "--json", cwd=repo.path)
    point = json.loads(created.stdout)["checkpoint_id"]
    script = repo.git("show", f"refs/checkpoints/{point}:restore.sh")
    shutil.rmtree(repo.path / layout.FOLDER)
    (repo.path / "run.json").unlink()
    done = subprocess.run(
        ["/bin/sh"],
        input=script.encode(),
        cwd=repo.path,
        env={**os.environ, "CHECKPOINT_WORKSPACE": str(repo.path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert repo.read("run.json") == '{"step": 1}'
    repo.write("run.json", "[]")
    back = run_here("rp", "rollback", point, cwd=repo.path)
    assert (back.returncode, repo.read("run.json")) == (0, '{"step": 1}'), back.stderr


def test_states_come_from_files_and_from_another_program_s_output(repo: GitRepo) -> None:
    repo.write("sub/run.json", "[1]")
    words = ["rp", "create", "state:run", "--state", "run=run.json", "--state", "live=-", "--json"]
    done = run_here(*words, cwd=repo.path / "sub", stdin=b'{"pid": 7}')
    value = json.loads(done.stdout)
    assert value["checkpoint"]["scope"]["state_keys"] == ["run", "live"]
    assert value["checkpoint"]["type"] == "state_snapshot"
    assert value["restore_order"] == ["state:run", "state:live"]
    assert value["confidence"] == 1.0
    (repo.path / "sub/run.json").unlink()
    words = ["rp", "rollback", value["checkpoint_id"]]
    refused = run_here(*words, cwd=repo.path)
    assert refused.returncode == 2
    assert "--state-to live=FILE" in refused.stderr
    done = run_here(*words, "--state-to", "live=../live.json", cwd=repo.path)
    assert done.returncode == 0, done.stderr
    assert (repo.path / "sub/run.json").read_text() == "[1]"
    assert (repo.path.parent / "live.json").read_text() == '{"pid": 7}'


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["create", "state:run"], "the state run is not given"),
        (["create", "--state", "run"], "takes KEY=FILE"),
        (["create", "--state", "a=-", "--state", "b=-"], "one state only"),
        (["create", "--state", "run=.env"], "looks like a secret by its name"),
        (["create", "--state", "run=nowhere.json"], "cannot be read"),
        (["create", "a", "--type", "state_snapshot"], "cannot store files"),
        (["create", "--state", "run=a", "--type", "git_stash"], "cannot store what was named"),
        (["list", "--state", "run=a"], "list takes no --state"),
        (["create"], "needs a scope"),
    ],
)
def test_what_cannot_be_kept_is_said(repo: GitRepo, words: list[str], told: str) -> None:
    repo.write("a", "{}")
    repo.write(".env", "{}")
    done = run_here("rp", *words, cwd=repo.path)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_part_that_a_point_does_not_hold_is_refused(repo: GitRepo) -> None:
    made = make(repo.path, request_state("run", b"{}", "run.json"))
    done = run_here("rp", "rollback", made.manifest.id, "--scope", "state:other", cwd=repo.path)
    assert done.returncode == 2
    assert "has no state:other" in done.stderr


def test_verify_and_show_tell_of_states(repo: GitRepo) -> None:
    repo.write("run.json", "{}")
    point = json.loads(
        run_here("rp", "create", "--state", "run=run.json", "--json", cwd=repo.path).stdout
    )
    name = point["checkpoint_id"]
    assert run_here("rp", "verify", name, cwd=repo.path).returncode == 0
    assert "state:run" in run_here("rp", "show", name, cwd=repo.path).stdout
    (folder_of(repo.path, name) / "parts/00.json").write_text("[]")
    found = run_here("rp", "verify", name, cwd=repo.path)
    assert found.returncode == 1
    assert "state:run" in found.stdout


def test_a_pipe_is_refused_at_once_and_standard_input_named(repo: GitRepo) -> None:
    os.mkfifo(repo.path / "pipe")
    (repo.path / "link").symlink_to("pipe")
    for name in ("pipe", "link", "/dev/zero", "/dev/stdin"):
        words = [str(BIN / "checkpoint"), "rp", "create", "--state", f"run={name}"]
        done = subprocess.run(words, cwd=repo.path, input=b"1", capture_output=True, timeout=30)
        assert (done.returncode, b"not a regular file" in done.stderr) == (2, True), done.stderr
        assert b"--state run=-" in done.stderr
