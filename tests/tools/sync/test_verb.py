import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import BIN, run_here
from tests.tools.sync.clones import BUILD, Clone, Hub, add_hook


def test_the_answer_as_json_names_what_went_where(hub: Hub, ann: Clone) -> None:
    ann.change(step="sprint-3")
    done = run_here("sync", "--json", cwd=ann.path)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["command"], answer["state"], answer["sent"]) == (
        0,
        "sync",
        "synced",
        [BUILD],
    )
    assert (answer["remote"], answer["branch"], answer["commit"]) == (
        "origin",
        "main",
        hub.git("rev-parse", "main"),
    )


def test_a_person_is_told_the_same(ann: Clone) -> None:
    ann.change(step="sprint-3")
    said = run_here("sync", cwd=ann.path).stdout
    assert "synced with origin/main" in said
    assert f"sent: {BUILD}" in said


def test_what_waits_is_shown_without_asking_the_remote(hub: Hub, ann: Clone) -> None:
    assert run_here("sync", "--status", cwd=ann.path).returncode == 0
    os.rename(hub.path, hub.path.with_name("away"))
    ann.change(step="sprint-3")
    assert run_here("sync", cwd=ann.path).returncode == 1
    done = run_here("sync", "--status", "--json", cwd=ann.path)
    assert (done.returncode, json.loads(done.stdout)["waiting"]) == (1, [BUILD])
    assert "1 checkpoint file waits" in done.stdout


def test_what_was_not_sent_is_never_said_to_be_sent(hub: Hub, ann: Clone) -> None:
    hub.hook("pre-receive", "exit 1")
    ann.change(step="sprint-3")
    refused = run_here("sync", cwd=ann.path).stdout
    os.rename(hub.path, hub.path.with_name("away"))
    offline = run_here("sync", cwd=ann.path).stdout
    for said in (refused, offline):
        assert f"waits: {BUILD}" in said
        assert f"sent: {BUILD}" not in said


def test_a_sync_that_leaves_something_open_does_not_say_that_nothing_is_new(
    hub: Hub, ann: Clone
) -> None:
    ann.write(BUILD, "{")
    done = run_here("sync", cwd=ann.path)
    assert (done.returncode, "nothing new" in done.stdout) == (1, False)
    assert "conflict" not in done.stdout


def test_a_detached_head_is_named_as_what_it_is(ann: Clone) -> None:
    ann.git("checkout", "-q", "--detach")
    done = run_here("sync", cwd=ann.path)
    assert (done.returncode, "detached" in done.stderr) == (2, True)


def test_a_branch_that_follows_none_needs_a_name_and_settings_can_give_it(
    hub: Hub, ann: Clone
) -> None:
    ann.git("switch", "-q", "-c", "side")
    done = run_here("sync", cwd=ann.path)
    assert (done.returncode, "--branch" in done.stderr) == (2, True)
    ann.git("config", "checkpoint.syncBranch", "checkpoints")
    assert run_here("sync", cwd=ann.path).returncode == 0
    assert hub.git("rev-parse", "--verify", "checkpoints")


def test_names_that_could_be_options_or_paths_are_refused(ann: Clone) -> None:
    for branch in ("-x", "a..b", "x:y", "a b", "/x", "x.lock", "HEAD", "@", "refs/tags/x"):
        assert run_here("sync", f"--branch={branch}", cwd=ann.path).returncode == 2
    assert run_here("sync", "--remote=--upload-pack=true", cwd=ann.path).returncode == 2


def test_outside_a_repository_there_is_nothing_to_sync(tmp_path: Path) -> None:
    assert run_here("sync", cwd=tmp_path).returncode == 2


def test_a_sync_of_valid_checkpoints_loads_no_library(ann: Clone) -> None:
    ann.change(step="sprint-3")
    program = "import sys; from checkpoint_git.cli import app; app.main(['sync']); print(sorted(sys.modules))"
    said = ann.run(sys.executable, "-c", program).stdout.decode()
    assert "synced with" in said
    assert not [name for name in ("'git'", "'jsonschema'", "'yaml'") if name in said]


def test_a_second_sync_of_a_work_tree_waits_for_the_first(hub: Hub, ann: Clone) -> None:
    add_hook(ann.path / ".git/hooks/pre-push", "sleep 1")
    ann.change(step="sprint-3")
    words = [str(BIN / "checkpoint"), "sync", "--json"]
    both = [subprocess.Popen(words, cwd=ann.path, stdout=subprocess.PIPE) for _ in range(2)]
    states = sorted(json.loads(process.communicate(timeout=60)[0])["state"] for process in both)
    assert states == ["current", "synced"]
    assert hub.git("rev-list", "--count", "main") == "2"


@pytest.mark.deep
def test_a_sync_killed_at_any_instant_is_made_good_by_the_next(
    hub: Hub, ann: Clone, bob: Clone
) -> None:
    words = [str(BIN / "checkpoint"), "sync"]
    for turn in range(8):
        bob.change(step=f"step-{turn}")
        bob.sync()
        ann.change(cost={"total_usd": turn + 2.5})
        process = subprocess.Popen(words, cwd=ann.path, stdout=subprocess.DEVNULL)
        time.sleep(0.03 * turn)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert ann.sync().state in ("synced", "current")
        assert (hub.load()["step"], hub.load()["cost"]["total_usd"]) == (f"step-{turn}", turn + 2.5)
        assert ann.load() == hub.load()
        bob.sync()
    assert ann.status() == []
    assert "queue" not in ann.git("for-each-ref")
    assert not [
        path
        for path in (ann.path / ".git").rglob("*.lock")
        if not path.name.startswith("checkpoint")
    ]
