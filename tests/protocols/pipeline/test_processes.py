"""checkpoint pipeline as real processes: many at once, killed ones, full disks, words that make no
sense.
"""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import BIN, run_checkpoint
from tests.support.records import PAYLOADS, RUN, SHORT_RUN, TICKET

FOLDER = f"{TICKET}/{RUN}"
WRITE = [
    "--ticket-id",
    TICKET,
    "--run-id",
    SHORT_RUN,
    "--phase",
    "implement",
    "--payload",
    json.dumps(PAYLOADS["implement"]),
]
# Writes records one after another and says each on stdout as soon as the write has returned.
WRITER = """
import sys, time
from checkpoint_git.protocols.pipeline import records
run = records.open_run(sys.argv[1], "OMN-2144", "a1b2c3d4")
payload = {"branch_name": "x", "commit_sha": "a1b2c3d", "files_changed": []}
draft = records.RecordDraft("implement", payload, {}, ["a" * 4000])
print("ready", flush=True)
while True:
    print(records.write_record(run, draft, None, int(time.time())).path, flush=True)
"""


def ask(cwd: Path, *words: str, code: int) -> dict[str, Any]:
    """The one document on stdout; nothing else is said."""
    done = run_checkpoint("pipeline", *words, cwd=cwd)
    assert (done.returncode, done.stderr) == (code, "")
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["success"] is (code == 0)
    assert document["correlation_id"]
    return document


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "ACTION"),
        (["frobnicate"], "frobnicate"),
        (["list", "--no-such-option"], "--no-such-option"),
        (["list", "extra"], "extra"),
        (["list", "--ticket-id"], "--ticket-id"),
        (["write", *WRITE, "--attempt"], "--attempt"),
        (["read", "--ticket-id", "x", "--run-id", "y", "--phase", "deploy"], "ready_for_merge"),
        (["list", "--ticket-id", "x", "-C", "/no/such/folder"], "/no/such/folder"),
    ],
)
def test_words_that_make_no_sense_are_answered_with_a_document_and_exit_code_1(
    tmp_path: Path, words: list[str], named: str
) -> None:
    document = ask(tmp_path, *words, code=1)
    assert named in document["error"]
    assert document["hint"]


def test_usage_errors_of_a_write_that_must_not_block_exit_with_zero(tmp_path: Path) -> None:
    done = run_checkpoint("pipeline", "write", "--non-blocking", "--phase", cwd=tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["success"] is False
    assert "warning" in done.stderr


def test_global_options_may_stand_anywhere_and_change_nothing(tmp_path: Path) -> None:
    for words in (
        ["--json", "pipeline", "list"],
        ["pipeline", "list", "--json"],
        ["pipeline", "list", "-q"],
    ):
        done = run_checkpoint(*words, "--ticket-id", "x", cwd=tmp_path)
        assert json.loads(done.stdout)["count"] == 0


@pytest.mark.parametrize("count", [12, pytest.param(50, marks=pytest.mark.deep)])
def test_many_writers_at_once_lose_nothing(tmp_path: Path, count: int) -> None:
    command = [
        str(BIN / "checkpoint"),
        "pipeline",
        "write",
        "--base",
        str(tmp_path / "base"),
        *WRITE,
        "--attempt",
        "auto",
    ]
    writers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path) for _ in range(count)
    ]
    said = [json.loads(writer.communicate(timeout=120)[0]) for writer in writers]
    assert sorted(each["attempt_number"] for each in said) == list(range(1, count + 1))
    listed = ask(tmp_path, "list", "--base", str(tmp_path / "base"), "--ticket-id", TICKET, code=0)
    assert (listed["count"], listed["skipped"]) == (count, [])
    assert len(list((tmp_path / "base" / FOLDER).iterdir())) == count


def test_a_killed_writer_leaves_whole_records_and_loses_none_that_it_told_of(
    tmp_path: Path,
) -> None:
    base = tmp_path / "base"
    instants = random.Random(7)  # noqa: S311 (when to kill a process is no secret)
    told: set[str] = set()
    for _ in range(8):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(base)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(instants.uniform(0, 0.02))
        writer.send_signal(signal.SIGKILL)
        lines = writer.communicate(timeout=60)[0]
        told |= set(lines.split("\n")[: lines.count("\n")])
    listed = ask(tmp_path, "list", "--base", str(base), "--ticket-id", TICKET, code=0)
    assert listed["skipped"] == []
    assert told <= {each["checkpoint_path"] for each in listed["checkpoints"]}
    ask(tmp_path, "write", "--base", str(base), *WRITE, code=0)
    assert [path.name for path in (base / FOLDER).iterdir() if path.suffix != ".yaml"] == []


def test_a_disk_that_takes_nothing_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    command = [
        str(BIN / "checkpoint"),
        "pipeline",
        "write",
        "--base",
        str(tmp_path / "base"),
        *WRITE,
    ]
    limited = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *command]
    done = subprocess.run(limited, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "could not be written" in json.loads(done.stdout)["error"]
    assert [path for path in (tmp_path / "base").rglob("*") if not path.is_dir()] == []


def test_a_place_where_nothing_can_be_made_is_told(tmp_path: Path) -> None:
    assert (
        "could not be written"
        in ask(tmp_path, "write", "--base", "/dev/null/records", *WRITE, code=1)["error"]
    )


def test_a_reader_that_goes_away_ends_a_long_list_quietly(tmp_path: Path) -> None:
    command = [
        str(BIN / "checkpoint"),
        "pipeline",
        "list",
        "--base",
        str(tmp_path),
        "--ticket-id",
        "x",
    ]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    assert writer.stdout is not None
    writer.stdout.close()
    assert writer.stderr is not None
    assert writer.stderr.read() == b""
    assert writer.wait(60) == 0
    writer.stderr.close()
