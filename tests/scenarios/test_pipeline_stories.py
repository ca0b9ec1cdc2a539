"""Pipeline records where they are usually lost or misread: by the seed's words, git, odd folders
and clocks.
"""

import json
import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import run_here
from tests.support.records import PAYLOADS, RUN, SHORT_RUN, TICKET, put_record, put_text
from tests.support.repos import GitRepo

WHO = ("--ticket-id", TICKET, "--run-id", SHORT_RUN)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tmp_path / "records"


def ask(
    base: Path, *words: str, cwd: Path | None = None, stdin: bytes = b""
) -> tuple[int, dict[str, Any]]:
    """The exit code and the document, which is the only thing on stdout."""
    done = run_here("pipeline", *words, "--base", str(base), cwd=cwd or base.parent, stdin=stdin)
    value: dict[str, Any] = json.loads(done.stdout)
    assert value["success"] is (
        done.returncode == 0 or ("--non-blocking" in words and "error" not in value)
    )
    assert value["correlation_id"]
    return done.returncode, value


def write(base: Path, phase: str = "implement", *more: str) -> tuple[int, dict[str, Any]]:
    return ask(
        base, "write", *WHO, "--phase", phase, "--payload", json.dumps(PAYLOADS[phase]), *more
    )


def test_the_seeds_example_is_written_and_read_to_the_letter(base: Path) -> None:
    payload = (
        '{"branch_name": "feat/OMN-2144", "commit_sha": "a1b2c3d", "files_changed": ["src/foo.py"]}'
    )
    who = (
        "--ticket-id",
        "OMN-2144",
        "--run-id",
        "a1b2c3d4-e5f6-7890-abcd-ef1234567890",
        "--phase",
        "implement",
    )
    more = (
        "--repo-commit-map",
        '{"omniclaude": "a1b2c3d"}',
        "--artifact-paths",
        '["src/foo.py", "tests/test_foo.py"]',
    )
    code, written = ask(base, "write", *who, "--attempt", "1", *more, "--payload", payload)
    assert code == 0
    assert written["checkpoint_path"].startswith("OMN-2144/a1b2c3d4-e5f6-7890-abcd-ef1234567890/")
    _, found = ask(base, "read", *who)
    assert found["checkpoint"]["phase_payload"]["files_changed"] == ["src/foo.py"]
    code, valid = ask(base, "validate", *who)
    assert (code, valid["is_valid"], valid["errors"], valid["warnings"]) == (0, True, [], [])
    assert ask(base, "list", "--ticket-id", "OMN-2144")[1]["count"] == 1


def test_the_same_attempt_again_is_an_error_and_changes_nothing(base: Path) -> None:
    write(base, "implement", "--attempt", "1")
    path = base / TICKET / RUN / "phase_1_implement_a1.yaml"
    before = path.read_bytes()
    code, said = write(base, "implement", "--attempt", "1")
    assert (code, path.read_bytes()) == (1, before)
    assert "attempt" in said["error"] + said["hint"]


@pytest.mark.parametrize("ticket", ["../x", "a/b", ".", "..", "", "a\0b", "x" * 65, "-x/../y"])
def test_a_ticket_that_leaves_the_base_is_refused(base: Path, ticket: str) -> None:
    words = (
        "--run-id",
        RUN,
        "--phase",
        "implement",
        "--payload",
        json.dumps(PAYLOADS["implement"]),
    )
    assert ask(base, "write", f"--ticket-id={ticket}", *words)[0] == 1
    assert not base.exists() or not any(base.rglob("*.yaml"))


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "C:\\x", "a\\b", ""])
def test_an_artifact_outside_is_refused(base: Path, path: str) -> None:
    assert write(base, "implement", "--artifact-paths", json.dumps([path]))[0] == 1


def test_an_unknown_phase_lists_the_valid_ones(base: Path) -> None:
    code, said = ask(base, "read", *WHO, "--phase", "implementing")
    assert code == 1
    assert all(
        phase in said["error"] + said["hint"]
        for phase in ("implement", "local_review", "create_pr")
    )


def test_the_tenth_attempt_is_newer_than_the_ninth(base: Path) -> None:
    for attempt in (1, 2, 9, 10):
        put_record(base, attempt=attempt)
    assert ask(base, "read", *WHO, "--phase", "implement")[1]["checkpoint"]["attempt_number"] == 10
    assert ask(base, "next-attempt", *WHO, "--phase", "implement")[1]["next_attempt"] == 11


@pytest.mark.parametrize(
    "text", [b"", b"\xff\xfe", b"a: &a [*a]", b"!!python/object:os.system x", b"- 1", b"\0"]
)
def test_a_corrupt_record_is_skipped_by_list_and_told_by_read(base: Path, text: bytes) -> None:
    put_record(base)
    put_text(base, "phase_1_implement_a2.yaml", text)
    code, listed = ask(base, "list", "--ticket-id", TICKET)
    assert (code, listed["count"], len(listed["skipped"])) == (0, 1, 1)
    code, said = ask(base, "read", *WHO, "--phase", "implement")
    assert code == 1
    assert "a2.yaml" in said["error"]
    assert (
        ask(base, "read", *WHO, "--phase", "implement", "--fallback")[1]["checkpoint"][
            "attempt_number"
        ]
        == 1
    )
    assert ask(base, "validate", *WHO, "--phase", "implement")[1]["is_valid"] is False


def test_a_fifo_with_a_records_name_is_not_waited_for(base: Path) -> None:
    put_record(base)
    os.mkfifo(base / TICKET / RUN / "phase_1_implement_a2.yaml")
    assert len(ask(base, "list", "--ticket-id", TICKET)[1]["skipped"]) == 1
    assert ask(base, "read", *WHO, "--phase", "implement")[0] == 1


def test_a_base_of_spaces_and_bytes_works(tmp_path: Path) -> None:
    base = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a b"))
    assert write(base)[0] == 0
    assert (
        ask(base, "resume", *WHO, "--skip-to", "local_review")[1]["restored"]["implement"][
            "commit_sha"
        ]
        == "a1b2c3d"
    )


def test_a_base_that_cannot_be_written_blocks_nothing_when_asked(base: Path) -> None:
    base.write_text("a file is in its place")
    code, said = ask(base, "write", *WHO, "--phase", "implement", "--payload", "{}")
    assert (code, said["success"]) == (1, False)
    done = run_here(
        "pipeline", "write", *WHO, "--phase", "implement", "--payload", "{}", "--non-blocking", "--base", str(base),
        cwd=base.parent,
    )  # fmt: skip
    assert done.returncode == 0
    assert "warning" in done.stderr


def test_a_clock_that_is_ahead_is_a_warning_and_no_loss(base: Path) -> None:
    put_record(base, timestamp_utc="2199-01-01T00:00:00Z")
    code, said = ask(base, "validate", *WHO, "--phase", "implement")
    assert code == 0
    assert said["warnings"]


@pytest.mark.parametrize(
    "stamp", ["2026-03-31T14:00:00+02:00", "2026-03-31T12:00:00Z", "2026-03-31T17:45:00+05:45"]
)
def test_a_time_of_any_zone_is_kept_as_utc(base: Path, stamp: str) -> None:
    assert write(base, "implement", "--timestamp", stamp)[0] == 0
    read = ask(base, "read", *WHO, "--phase", "implement")[1]
    assert read["checkpoint"]["timestamp_utc"].startswith("2026-03-31T12:00:00")


def test_a_time_without_a_zone_is_refused(base: Path) -> None:
    assert write(base, "implement", "--timestamp", "2026-03-31T14:00:00")[0] == 1
    assert write(base, "implement", "--timestamp", "")[0] == 1


def test_a_phase_that_was_repeated_warns_that_a_later_one_is_older(base: Path) -> None:
    for at, phase in enumerate(("implement", "local_review", "create_pr")):
        write(base, phase, "--timestamp", f"2026-03-01T1{at}:00:00Z")
    assert ask(base, "resume", *WHO, "--skip-to", "ready_for_merge")[1]["warnings"] == []
    write(base, "implement", "--timestamp", "2026-03-02T10:00:00Z", "--attempt", "auto")
    answer = ask(base, "resume", *WHO, "--skip-to", "ready_for_merge")[1]
    assert [text.partition(":")[0] for text in answer["warnings"]] == ["local_review", "create_pr"]


def test_the_hint_of_an_unwritten_phase_makes_it_writable(base: Path, repo: GitRepo) -> None:
    payload = json.dumps({"last_review_sha": "a1b2c3d", "issue_fingerprints": []})
    words = ("write", *WHO, "--phase", "pr_release_ready", "--payload", payload)
    refused = ask(base, *words, cwd=repo.path)[1]
    assert "is read, but not written" in refused["error"]
    repo.git(*shlex.split(refused["hint"].partition(": git ")[2]))
    assert ask(base, *words, cwd=repo.path)[1]["checkpoint_path"].endswith(
        "phase_4_pr_release_ready_a1.yaml"
    )


def test_a_payload_of_another_phase_is_refused_in_words(base: Path) -> None:
    given = ("--phase", "create_pr", "--payload", json.dumps(PAYLOADS["implement"]))
    error = ask(base, "write", *WHO, *given)[1]["error"]
    assert "phase_payload: not part of the format ('branch_name'" in error
    assert "phase_payload/pr_url is missing" in error


def test_a_merge_that_takes_the_other_branchs_record_passes_the_hooks(repo: GitRepo) -> None:
    base = repo.path / ".claude/checkpoints"
    repo.write("a", "a\n")
    repo.commit()
    assert run_here("init", cwd=repo.path).returncode == 0
    repo.commit()
    repo.git("checkout", "-q", "-b", "topic")
    put_record(base)
    repo.git("add", "-f", ".claude")
    repo.git("commit", "-qm", "record")
    repo.git("checkout", "-q", "-")
    repo.write("b", "b\n")
    repo.commit()
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "topic")
    assert (base / TICKET / RUN / "phase_1_implement_a1.yaml").exists()
    (base / TICKET / RUN / "phase_1_implement_a1.yaml").unlink()
    repo.git("add", "-A")
    assert "append-only" in repo.run("git", "commit", "-m", "remove").stderr.decode()


def test_another_clone_resumes_from_the_records_alone(base: Path, tmp_path: Path) -> None:
    write(base)
    write(base, "local_review")
    shutil.copytree(base, tmp_path / "elsewhere")
    answer = ask(tmp_path / "elsewhere", "resume", *WHO, "--skip-to", "create_pr")[1]
    assert answer["completed_phases"] == ["implement", "local_review"]
    assert (
        ask(tmp_path / "elsewhere", "resume", "--ticket-id", TICKET, "--run-id", "latest")[1][
            "next_phase"
        ]
        == "create_pr"
    )


def test_a_payload_from_a_file_and_from_standard_input(base: Path) -> None:
    text = json.dumps(PAYLOADS["implement"])
    (base.parent / "p.json").write_text(text)
    assert ask(base, "write", *WHO, "--phase", "implement", "--payload", "@p.json")[0] == 0
    words = ("write", *WHO, "--phase", "implement", "--payload", "-", "--attempt", "auto")
    assert ask(base, *words, stdin=text.encode())[1]["attempt_number"] == 2
    assert ask(base, "write", *WHO, "--phase", "implement", "--payload", "@none.json")[0] == 1


@pytest.mark.parametrize(
    "option", ["--repo-commit-map", "--artifact-paths", "--payload", "--timestamp", "--attempt"]
)
def test_an_option_that_is_empty_is_refused(base: Path, option: str) -> None:
    code, answer = write(base, "implement", option, "")
    assert (code, option in answer["error"]) == (1, True)
    assert not list(base.rglob("*.yaml"))


def test_a_phase_that_is_empty_is_not_taken_for_none(base: Path) -> None:
    write(base)
    code, answer = ask(base, "resume", *WHO, "--skip-to", "")
    assert code == 1
    assert "valid phases: implement" in answer["error"]


@pytest.mark.parametrize("below", ["", TICKET, f"{TICKET}/{RUN}"])
def test_validate_finds_the_same_from_every_folder_of_the_records(base: Path, below: str) -> None:
    write(base)
    folder = base / TICKET / RUN
    (folder / "phase_9_x_a1.yaml").write_text("x: 1")
    (folder / "phase_1_implement_a7.yaml").write_bytes(
        (folder / "phase_1_implement_a1.yaml").read_bytes()
    )
    (folder / "phase_3_create_pr_a1.yaml").mkdir()
    done = run_here("validate", str(base / below), "--json", cwd=base.parent)
    found = [
        (one["path"].rpartition("/")[2], one["code"]) for one in json.loads(done.stdout)["findings"]
    ]
    assert found == [
        ("phase_1_implement_a7.yaml", "pipeline/misplaced"),
        ("phase_3_create_pr_a1.yaml", "file/not-a-file"),
        ("phase_9_x_a1.yaml", "pipeline/misplaced"),
    ]


def test_validate_of_one_record_outside_git_knows_its_folders(base: Path) -> None:
    write(base)
    folder = base / TICKET / RUN
    assert (
        run_here("validate", str(folder / "phase_1_implement_a1.yaml"), cwd=folder).returncode == 0
    )
    (folder / "phase_1_implement_a01.yaml").write_text("x: 1")
    done = run_here("validate", str(folder / "phase_1_implement_a01.yaml"), cwd=base.parent)
    assert (done.returncode, "pipeline/misplaced" in done.stdout) == (1, True)
