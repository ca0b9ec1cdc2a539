"""checkpoint pipeline: every answer one JSON document, exit codes 0 and 1."""

import io
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from checkpoint_git.cli.parser import CommandLine, parse
from checkpoint_git.core.clock import read_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Invocation
from checkpoint_git.git.settings import PIPELINE_DIR, PIPELINE_PHASES
from checkpoint_git.protocols.pipeline import verbs as pipeline
from checkpoint_git.protocols.pipeline.layout import PHASES, READ_PHASES
from checkpoint_git.protocols.pipeline.store import read_setting
from tests.support.records import PAYLOADS, RUN, SHORT_RUN, TICKET, put_record, put_text, record
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.verbs import NOON, seconds

FIRST = f"{TICKET}/{RUN}/phase_1_implement_a1.yaml"


class Said(NamedTuple):
    """An answer: its document, its exit code, what it warned of."""

    document: dict[str, Any]
    code: int
    warning: str

    @property
    def error(self) -> str:
        """The error's sentence; the document must be one of a failure."""
        assert self.document["success"] is False
        assert self.document["hint"]
        return str(self.document["error"])


class Desk:
    """`checkpoint pipeline` with a base of its own, run in this process."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def ask(
        self,
        *words: str,
        now: str = NOON,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        stdin: str = "",
    ) -> Said:
        """The answer to the words as they are."""
        world = Invocation(
            cwd=str(cwd or self.base.parent),
            env={**os.environ, **(env or {})},
            now=seconds(now),
            stdin=io.StringIO(stdin),
            stdout=io.StringIO(),
            stderr=io.StringIO(),
            interactive=False,
        )
        try:
            args = parse(
                CommandLine("checkpoint pipeline", "pipeline", list(words)), pipeline, ("text",)
            )
            answer = pipeline.answer(args, world)
        except CheckpointError as error:
            answer = pipeline.tell_error(words, error)
        return Said(json.loads("".join(answer.text)), answer.code, answer.warning)

    def run(self, action: str, *words: str, now: str = NOON, run: str = SHORT_RUN) -> Said:
        """The answer of an action about the sample run."""
        return self.ask(
            action,
            "--base",
            str(self.base),
            "--ticket-id",
            TICKET,
            "--run-id",
            run,
            *words,
            now=now,
        )

    def write(
        self, phase: str = "implement", /, *words: str, now: str = NOON, **payload: Any
    ) -> Said:
        """A record of the phase with the sample payload, members replaced; one set to ... is left
        out.
        """
        members = {
            key: value for key, value in {**PAYLOADS[phase], **payload}.items() if value is not ...
        }
        return self.run(
            "write", "--phase", phase, "--payload", json.dumps(members), *words, now=now
        )

    def put_phases(self, *phases: str) -> None:
        """Good records of these phases."""
        for phase in phases:
            put_record(self.base, phase)

    @property
    def files(self) -> list[str]:
        """Everything below the base that is no folder."""
        return sorted(
            str(path.relative_to(self.base)) for path in self.base.rglob("*") if not path.is_dir()
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A base that does not exist yet."""
    return Desk(tmp_path / "base")


# write


def test_a_record_is_written_where_its_phase_run_and_attempt_say(desk: Desk) -> None:
    said = desk.write("implement", "--attempt", "1", "--repo-commit-map", '{"web": "a1b2c3d"}')
    assert said.code == 0
    assert said.document["success"] is True
    assert said.document["checkpoint_path"] == FIRST
    assert desk.files == [FIRST]


def test_what_is_written_is_read_again(desk: Desk) -> None:
    desk.write(
        "implement", "--repo-commit-map", '{"web": "a1b2c3d"}', "--artifact-paths", '["src/foo.py"]'
    )
    said = desk.run("read", "--phase", "implement")
    assert said.code == 0
    assert said.document["checkpoint"] == record(timestamp_utc=NOON)


def test_every_phase_can_be_written_with_its_payload(desk: Desk) -> None:
    for phase, ordinal in PHASES.items():
        said = desk.write(phase)
        assert said.document["checkpoint_path"] == f"{TICKET}/{RUN}/phase_{ordinal}_{phase}_a1.yaml"


def test_files_and_folders_are_for_their_owner_alone(desk: Desk) -> None:
    desk.write()
    modes = {path.stat().st_mode & 0o777 for path in desk.base.rglob("*") if path.is_dir()}
    assert modes | {desk.base.stat().st_mode & 0o777} == {0o700}
    assert (desk.base / FIRST).stat().st_mode & 0o777 == 0o600


def test_the_same_attempt_twice_is_refused_and_changes_nothing(desk: Desk) -> None:
    desk.write("implement", "--attempt", "1")
    before = (desk.base / FIRST).read_bytes()
    said = desk.write("implement", "--attempt", "1", branch_name="other")
    assert said.code == 1
    assert "already exists" in said.error
    assert "increment" in said.document["hint"]
    assert "--attempt 2" in said.document["hint"]
    assert (desk.base / FIRST).read_bytes() == before


@pytest.mark.parametrize("words", [[], ["--attempt", "auto"]])
def test_the_next_attempt_is_one_more_than_the_highest_by_number(
    desk: Desk, words: list[str]
) -> None:
    for attempt in (1, 2, 10):
        put_record(desk.base, attempt=attempt)
    assert desk.write("implement", *words).document["attempt_number"] == 11
    assert desk.run("next-attempt", "--phase", "implement").document["next_attempt"] == 12
    assert desk.run("next-attempt", "--phase", "create_pr").document["next_attempt"] == 1


def test_attempts_of_another_numbering_count_as_well(desk: Desk) -> None:
    put_record(desk.base, "ready_for_merge", 3, ordinal=5)
    assert desk.write("ready_for_merge").document["attempt_number"] == 4
    assert "already exists" in desk.write("ready_for_merge", "--attempt", "3").error


def test_an_attempt_below_the_newest_is_written_and_warned_of(desk: Desk) -> None:
    put_record(desk.base, attempt=3)
    said = desk.write("implement", "--attempt", "2")
    assert said.document["success"] is True
    assert "attempt 3" in said.document["warnings"][0]


@pytest.mark.parametrize("attempt", ["0", "-1", "1.5", "x", "", "\u0661", "9999999"])
def test_an_attempt_that_is_no_number_from_one_is_refused(desk: Desk, attempt: str) -> None:
    assert "--attempt" in desk.write("implement", f"--attempt={attempt}").error
    assert not desk.base.exists()


def test_a_payload_that_claims_another_phase_is_refused(desk: Desk) -> None:
    assert "create_pr" in desk.write("implement", phase="create_pr").error
    assert desk.write("implement", phase="implement").code == 0


@rows(
    ("words", "named"),
    [
        (["--repo-commit-map", '{"web": "xyz"}'], "repo_commit_map/web"),
        (["--repo-commit-map", '{"web": "A1B2C3D"}'], "repo_commit_map/web"),
        (["--repo-commit-map", '{"web": 1234567}'], "repo_commit_map/web"),
        (["--repo-commit-map", "[]"], "--repo-commit-map"),
        (["--artifact-paths", '["/etc/passwd"]'], "artifact_paths/0"),
        (["--artifact-paths", '["a", "../b"]'], "artifact_paths/1"),
        (["--artifact-paths", '["C:\\\\x"]'], "artifact_paths/0"),
        (["--artifact-paths", '[""]'], "artifact_paths/0"),
        (["--artifact-paths", "[1]"], "artifact_paths/0"),
        (["--artifact-paths", '"a"'], "--artifact-paths"),
        (["--artifact-paths", "[a]"], "--artifact-paths"),
        (["--timestamp", "2026-03-02T09:00:00"], "timestamp_utc"),
        (["--timestamp", "yesterday"], "timestamp_utc"),
        (["--payload", "{"], "--payload"),
        (["--payload", "[]"], "--payload"),
        (["--payload", '{"branch_name": "x", "branch_name": "y"}'], "--payload"),
        (["--payload", '{"branch_name": "x"}'], "commit_sha"),
        (["--payload", "[" * 5000], "--payload"),
        (
            [
                "--payload",
                '{"branch_name": "\\ud800", "commit_sha": "a1b2c3d", "files_changed": []}',
            ],
            "Unicode",
        ),
    ],
)
def test_contents_that_are_no_record_are_refused_before_anything_is_made(
    desk: Desk, words: list[str], named: str
) -> None:
    said = desk.write("implement", *words)
    assert said.code == 1
    assert named in said.error
    assert not desk.base.exists()


def test_what_could_be_written_and_not_read_again_is_refused(desk: Desk) -> None:
    assert "larger" in desk.write("create_pr", pr_number=10**70).error
    assert "lines" in desk.write("implement", files_changed=["a"] * 30_000).error
    assert "bytes" in desk.write("implement", files_changed=["a" * 4000] * 300).error
    long_name = json.dumps({"\u00e4" * 200: "a1b2c3d"})
    assert "repository" in desk.write("implement", "--repo-commit-map", long_name).error
    assert desk.files == []


def test_every_letter_comes_back(desk: Desk) -> None:
    names = [
        "gr\u00f6\u00dfe.md",
        "\u65e5\u672c",
        "\U0001f600",
        "it's: #1",
        "- x",
        "true",
        "1e3",
        " x",
    ]
    desk.write("implement", "--artifact-paths", json.dumps(names), branch_name="feat/\u00e4\n\t")
    found = desk.run("read", "--phase", "implement").document["checkpoint"]
    assert found["artifact_paths"] == names
    assert found["phase_payload"]["branch_name"] == "feat/\u00e4\n\t"


def test_an_unknown_member_of_a_payload_is_refused(desk: Desk) -> None:
    assert "'note'" in desk.write("implement", note="x").error


def test_instants_are_written_in_utc(desk: Desk) -> None:
    desk.write(
        "ready_for_merge",
        "--timestamp",
        "2026-03-02T10:30:00+01:00",
        label_applied_at="2026-03-02T04:00:00-05:00",
    )
    found = desk.run("read", "--phase", "ready_for_merge").document["checkpoint"]
    assert found["timestamp_utc"] == "2026-03-02T09:30:00Z"
    assert found["phase_payload"]["label_applied_at"] == "2026-03-02T09:00:00Z"


def test_an_instant_in_the_future_is_warned_of_after_a_minute_s_tolerance(desk: Desk) -> None:
    assert "warnings" not in desk.write("implement", "--timestamp", "2026-03-02T12:01:00Z").document
    said = desk.write("implement", "--timestamp", "2026-03-02T12:01:01Z")
    assert said.document["success"] is True
    assert "future" in said.document["warnings"][0]


@pytest.mark.parametrize("ticket", ["a/b", "..", "x/..", ".", "", "a\\b", "x" * 65])
def test_a_ticket_that_could_be_a_path_is_refused(desk: Desk, ticket: str) -> None:
    said = desk.ask("list", "--base", str(desk.base), "--ticket-id", ticket)
    assert said.code == 1
    assert "ticket id" in said.error


def test_a_run_id_that_is_a_path_is_only_a_name_for_a_uuid(desk: Desk) -> None:
    put = desk.run(
        "write",
        "--phase",
        "implement",
        "--payload",
        json.dumps(PAYLOADS["implement"]),
        run="../../etc",
    )
    assert put.document["success"] is True
    assert [len(name.split("/")) for name in desk.files] == [3]


def test_a_phase_that_is_only_read_is_not_written(desk: Desk) -> None:
    said = desk.run("write", "--phase", "pr_release_ready", "--payload", "{}")
    assert "not written" in said.error


@pytest.mark.parametrize("action", ["write", "read", "validate", "next-attempt"])
def test_an_unknown_phase_is_told_with_the_valid_ones(desk: Desk, action: str) -> None:
    words = ["--payload", "{}"] if action == "write" else []
    said = desk.run(action, "--phase", "deploy", *words)
    assert all(phase in said.error for phase in (PHASES if action == "write" else READ_PHASES))
    assert said.code == 1


def test_a_failing_write_that_must_not_block_exits_with_zero_and_warns(desk: Desk) -> None:
    desk.write("implement", "--attempt", "1")
    said = desk.write("implement", "--attempt", "1", "--non-blocking")
    assert said.code == 0
    assert said.document["success"] is False
    assert "already exists" in said.error
    assert "warning" in said.warning
    assert "already exists" in said.warning
    assert desk.write("implement", "--non-blocking").warning == ""


def test_a_base_that_is_no_plain_absolute_folder_is_refused(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for base in (
        "relative",
        f"{tmp_path}/../x",
        str(tmp_path / "file"),
        str(tmp_path / "file/below"),
    ):
        said = desk.ask("write", "--base", base, *FULL[1:])
        assert said.code == 1, base
        assert said.error


FULL = [
    *("write", "--ticket-id", TICKET, "--run-id", SHORT_RUN, "--phase", "implement"),
    *("--payload", json.dumps(PAYLOADS["implement"])),
]


def test_the_base_is_the_option_else_the_setting_else_a_folder_in_the_home(
    desk: Desk, repo: GitRepo
) -> None:
    home = Path(os.environ["HOME"])
    desk.ask(*FULL, cwd=repo.path)
    assert (home / ".claude/checkpoints" / FIRST).is_file()
    repo.git("config", "checkpoint.pipelineDir", "~/elsewhere")
    desk.ask(*FULL, cwd=repo.path)
    assert (home / "elsewhere" / FIRST).is_file()
    desk.ask(*FULL, "--base", str(desk.base), cwd=repo.path)
    assert (desk.base / FIRST).is_file()


def test_without_git_the_folder_in_the_home_is_used(desk: Desk, tmp_path: Path) -> None:
    assert desk.ask(*FULL, env={"PATH": str(tmp_path)}).code == 0
    assert (Path(os.environ["HOME"]) / ".claude/checkpoints" / FIRST).is_file()


def test_a_link_out_of_the_base_is_never_followed(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    desk.base.mkdir()
    (desk.base / TICKET).symlink_to(outside)
    assert "symbolic link" in desk.write().error
    put_record(outside.parent / "other")
    assert list(outside.rglob("*.yaml")) == []
    listed = desk.run("list")
    assert listed.document["count"] == 0
    assert "symbolic link" in listed.document["skipped"][0]["reason"]


# read


def test_the_highest_attempt_by_number_is_read(desk: Desk) -> None:
    for attempt in (1, 2, 10):
        put_record(desk.base, attempt=attempt)
    assert desk.run("read", "--phase", "implement").document["checkpoint"]["attempt_number"] == 10
    assert (
        desk.run("read", "--phase", "implement", "--attempt", "2").document["checkpoint"][
            "attempt_number"
        ]
        == 2
    )


def test_a_missing_record_is_told_with_what_is_there(desk: Desk) -> None:
    desk.put_phases("implement")
    said = desk.run("read", "--phase", "create_pr")
    assert said.code == 1
    assert "create_pr" in said.error
    assert "implement" in said.document["hint"]
    put_record(desk.base, attempt=7)
    said = desk.run("read", "--phase", "implement", "--attempt", "3")
    assert "no attempt 3 at implement" in said.error
    assert said.document["hint"] == "there are attempts 1, 7"


def test_an_option_that_is_no_json_is_not_called_a_file(desk: Desk) -> None:
    for text in ("", "{"):
        said = desk.run("write", "--phase", "implement", "--payload", text)
        assert said.error.startswith("--payload is not JSON: it ")


@pytest.mark.parametrize("text", ["a: [", "", b"\xff", "a: 1\n", "- x\n", "x" * 2_000_000])
def test_a_broken_newest_record_is_an_error_that_names_it(desk: Desk, text: str | bytes) -> None:
    put_record(desk.base)
    put_text(desk.base, "phase_1_implement_a2.yaml", text)
    said = desk.run("read", "--phase", "implement")
    assert said.code == 1
    assert "phase_1_implement_a2.yaml" in said.error
    assert "--fallback" in said.document["hint"]


def test_a_broken_record_is_named_with_the_line_of_its_first_error(desk: Desk) -> None:
    put_text(desk.base, "phase_1_implement_a1.yaml", "schema_version: '1.0.0'\na: [\n")
    for verb in ("read", "validate"):
        assert "/phase_1_implement_a1.yaml:" in desk.run(verb, "--phase", "implement").error


def test_a_fallback_takes_the_newest_good_one_and_says_so(desk: Desk) -> None:
    put_record(desk.base)
    put_record(desk.base, attempt=2)
    put_text(desk.base, "phase_1_implement_a3.yaml", "a: [")
    put_record(desk.base, attempt=4, attempt_number=7)
    said = desk.run("read", "--phase", "implement", "--fallback")
    assert said.document["checkpoint"]["attempt_number"] == 2
    assert [each["path"].rpartition("_")[2] for each in said.document["skipped"]] == [
        "a4.yaml",
        "a3.yaml",
    ]
    assert len(said.document["warnings"]) == 2


def test_a_fallback_without_a_good_one_is_an_error_about_the_newest(desk: Desk) -> None:
    put_text(desk.base, "phase_1_implement_a1.yaml", "a: [")
    put_text(desk.base, "phase_1_implement_a2.yaml", "b: [")
    assert "a2.yaml" in desk.run("read", "--phase", "implement", "--fallback").error


@pytest.mark.parametrize(
    "change", [{"attempt_number": 3}, {"ticket_id": "OMN-1"}, {"phase": "create_pr"}]
)
def test_contents_that_disagree_with_the_place_are_an_error(
    desk: Desk, change: dict[str, Any]
) -> None:
    path = put_record(desk.base)
    path.write_text(json.dumps(record(**change)))
    assert next(iter(change)) in desk.run("read", "--phase", "implement").error


def test_a_record_of_a_later_format_is_read_with_a_warning(desk: Desk) -> None:
    put_record(desk.base, schema_version="1.1.0")
    assert desk.run("read", "--phase", "implement").code == 0
    said = desk.run("validate", "--phase", "implement")
    assert said.document["is_valid"] is True
    assert "1.1.0" in said.document["warnings"][0]


# validate

KEYS = {"is_valid", "success", "errors", "warnings", "correlation_id", "checkpoint"}


def test_a_valid_record_is_said_to_be_valid(desk: Desk) -> None:
    desk.put_phases("implement")
    said = desk.run("validate", "--phase", "implement")
    assert said.code == 0
    assert said.document.keys() >= KEYS
    assert (said.document["is_valid"], said.document["errors"], said.document["warnings"]) == (
        True,
        [],
        [],
    )
    assert said.document["checkpoint"] == record()


@pytest.mark.parametrize("text", [None, "a: [", b"\xff\n", "a: 1\n", "x" * 2_000_000])
def test_every_answer_of_validate_has_the_same_members(
    desk: Desk, text: str | bytes | None
) -> None:
    if text is not None:
        put_text(desk.base, "phase_1_implement_a1.yaml", text)
    said = desk.run("validate", "--phase", "implement")
    assert said.code == 1
    assert said.document.keys() >= {*KEYS, "error", "hint"}
    assert said.document["is_valid"] is False
    assert said.document["errors"]


def test_usage_errors_of_validate_have_its_members_too(desk: Desk) -> None:
    assert desk.ask("validate", "--ticket-id", "x").document.keys() >= {*KEYS, "error", "hint"}


def test_all_that_is_wrong_with_a_record_is_told_with_its_place(desk: Desk) -> None:
    put_record(desk.base, artifact_paths=["/x", "../y"], schema_version=1)
    said = desk.run("validate", "--phase", "implement")
    assert len(said.document["errors"]) == 3
    assert {(each["code"], each["line"]) for each in said.document["findings"]} == {
        ("pipeline/path", 9),
        ("pipeline/path", 10),
        ("pipeline/wrong-type", 1),
    }


@pytest.fixture
def web(repo: GitRepo, desk: Desk) -> GitRepo:
    """A repository with one commit; the sample run's implement record names it."""
    repo.write("src/foo.py", "")
    head = repo.commit()
    payload = {**PAYLOADS["implement"], "phase": "implement", "commit_sha": head[:9]}
    put_record(desk.base, repo_commit_map={"web": head}, phase_payload=payload)
    return repo


def validate_in(desk: Desk, repo: GitRepo) -> Said:
    return desk.run("validate", "--phase", "implement", "--repo", str(repo.path))


def test_commits_and_artifacts_that_a_repository_has_are_fine(desk: Desk, web: GitRepo) -> None:
    assert validate_in(desk, web).document["errors"] == []
    assert (
        desk.ask(
            "validate", "--base", str(desk.base), *RUN_WORDS, "--repo", ".", cwd=web.path / "src"
        ).code
        == 0
    )


RUN_WORDS = ["--ticket-id", TICKET, "--run-id", SHORT_RUN, "--phase", "implement"]


def test_an_artifact_that_is_gone_makes_a_record_invalid(desk: Desk, web: GitRepo) -> None:
    (web.path / "src/foo.py").unlink()
    said = validate_in(desk, web)
    assert said.code == 1
    assert [each["code"] for each in said.document["findings"]] == ["pipeline/artifact-missing"]


def test_a_commit_that_is_no_ancestor_makes_a_record_invalid(desk: Desk, web: GitRepo) -> None:
    web.git("checkout", "-q", "--orphan", "other")
    web.git("commit", "-q", "-m", "other", "--allow-empty")
    codes = [each["code"] for each in validate_in(desk, web).document["findings"]]
    assert codes == ["pipeline/commit-elsewhere"] * 2


def test_a_commit_that_the_repository_lacks_makes_a_record_invalid(
    desk: Desk, web: GitRepo
) -> None:
    put_record(desk.base, attempt=2, repo_commit_map={"web": "0" * 40})
    codes = {each["code"] for each in validate_in(desk, web).document["findings"]}
    assert codes == {"pipeline/commit-unknown"}


def test_of_several_repositories_the_one_of_that_name_is_compared(desk: Desk, web: GitRepo) -> None:
    head = web.git("rev-parse", "HEAD")
    payload = {**PAYLOADS["implement"], "phase": "implement", "commit_sha": head}
    put_record(
        desk.base,
        attempt=2,
        repo_commit_map={"org/repo": head, "api": "0" * 40},
        phase_payload=payload,
    )
    said = validate_in(desk, web)
    assert said.document["errors"] == []
    assert "api" in said.document["warnings"][0]


def test_a_linked_work_tree_is_named_like_its_repository_and_like_its_remotes(
    desk: Desk, web: GitRepo, tmp_path: Path
) -> None:
    web.git("remote", "add", "origin", "https://example.org/acme/Shop.git")
    web.git("worktree", "add", "-q", str(tmp_path / "wt"))
    put_record(
        desk.base,
        attempt=2,
        repo_commit_map={"org/repo": "0" * 40, "shop": "1" * 40, "api": "2" * 40},
    )
    said = desk.run("validate", "--phase", "implement", "--repo", str(tmp_path / "wt"))
    wheres = [
        each["where"]
        for each in said.document["findings"]
        if each["code"] == "pipeline/commit-unknown"
    ]
    assert {"/repo_commit_map/org~1repo", "/repo_commit_map/shop"} <= set(wheres)
    assert "/repo_commit_map/api" not in wheres


def test_a_repository_that_is_none_is_an_error(desk: Desk, tmp_path: Path) -> None:
    desk.put_phases("implement")
    for path in (tmp_path, tmp_path / "missing"):
        assert "--repo" in desk.run("validate", "--phase", "implement", "--repo", str(path)).error


# list


def test_records_are_listed_by_run_ordinal_and_attempt(desk: Desk) -> None:
    first, second = "00000000-0000-4000-8000-000000000000", "ffffffff-0000-4000-8000-000000000000"
    for run in (second, first):
        put_record(desk.base, "create_pr", run_id=run)
        for attempt in (10, 2, 1):
            put_record(desk.base, attempt=attempt, run_id=run)
    said = desk.ask("list", "--base", str(desk.base), "--ticket-id", TICKET)
    found = [
        (each["run_id"], each["phase"], each["attempt_number"])
        for each in said.document["checkpoints"]
    ]
    one = [("implement", 1), ("implement", 2), ("implement", 10), ("create_pr", 1)]
    assert found == [(run, *each) for run in (first, second) for each in one]
    assert said.document["count"] == 8
    assert [each["count"] for each in [desk.run("list", run=first).document]] == [4]


def test_a_listed_record_says_everything_and_where_it_lies(desk: Desk) -> None:
    desk.put_phases("implement")
    assert desk.run("list").document["checkpoints"] == [{**record(), "checkpoint_path": FIRST}]


def test_a_ticket_without_records_has_an_empty_list(desk: Desk) -> None:
    said = desk.ask("list", "--base", str(desk.base), "--ticket-id", "NONE-1")
    assert (said.code, said.document["count"], said.document["checkpoints"]) == (0, 0, [])


def test_what_cannot_be_listed_is_reported_and_the_rest_is_listed(desk: Desk) -> None:
    desk.put_phases("implement", "create_pr")
    run = desk.base / TICKET / RUN
    put_text(desk.base, "phase_1_implement_a2.yaml", "a: [")
    put_text(desk.base, "phase_1_implement_a3.yaml", b"\xff")
    put_text(desk.base, "phase_1_implement_a4.yaml", "x" * 2_000_000)
    (run / "phase_1_implement_a5.yaml").mkdir()
    os.mkfifo(run / "phase_1_implement_a6.yaml")
    (run / "phase_1_implement_a7.yaml").symlink_to("/etc/passwd")
    put_text(desk.base, "phase_1_implement_a8.yaml", json.dumps(record(attempt=8, note="x")))
    put_text(desk.base, "phase_9_deploy_a1.yaml", "")
    put_text(desk.base, "notes.txt", "")
    (desk.base / TICKET / "notes").mkdir()
    said = desk.run("list")
    assert said.document["count"] == 2
    assert sorted(each["path"].rpartition("/")[2] for each in said.document["skipped"]) == [
        *(f"phase_1_implement_a{attempt}.yaml" for attempt in range(2, 9)),
        "phase_9_deploy_a1.yaml",
    ]
    assert all(each["reason"] for each in said.document["skipped"])


def test_records_in_the_folder_of_no_run_are_reported(desk: Desk) -> None:
    path = put_record(desk.base)
    path.parent.rename(path.parent.with_name("a1b2c3d4"))
    said = desk.ask("list", "--base", str(desk.base), "--ticket-id", TICKET)
    assert (said.document["count"], said.document["skipped"][0]["path"]) == (
        0,
        f"{TICKET}/a1b2c3d4",
    )


def test_names_that_are_no_text_are_reported_readably(desk: Desk) -> None:
    desk.put_phases("implement")
    (desk.base / TICKET / RUN / os.fsdecode(b"phase_\xff.yaml")).write_text("")
    assert desk.run("list").document["skipped"][0]["path"].endswith("phase_\\xff.yaml")


# resume


def test_a_run_goes_on_when_every_earlier_phase_is_over(desk: Desk) -> None:
    desk.put_phases("implement", "local_review")
    put_record(desk.base, attempt=2, artifact_paths=["later.py"])
    said = desk.run("resume", "--skip-to", "create_pr")
    assert said.code == 0
    assert said.document["resume_from"] == "create_pr"
    assert said.document["completed_phases"] == ["implement", "local_review"]
    assert said.document["restored"] == {
        phase: PAYLOADS[phase] for phase in ("implement", "local_review")
    }
    assert said.document["checkpoints"][0]["artifact_paths"] == ["later.py"]


def test_the_first_phase_needs_no_other(desk: Desk) -> None:
    said = desk.run("resume", "--skip-to", "implement")
    assert (said.code, said.document["restored"]) == (0, {})


def test_what_is_missing_is_named_with_what_to_run(desk: Desk) -> None:
    desk.put_phases("implement", "create_pr")
    said = desk.run("resume", "--skip-to", "ready_for_merge")
    assert said.code == 1
    assert "local_review" in said.error
    assert said.document["missing"] == ["local_review"]
    assert said.document["run_from"] == "local_review"
    assert "run local_review" in said.document["hint"]


def test_a_broken_earlier_phase_stops_a_run_unless_an_older_attempt_may_serve(desk: Desk) -> None:
    desk.put_phases("implement")
    put_text(desk.base, "phase_1_implement_a2.yaml", "a: [")
    said = desk.run("resume", "--skip-to", "local_review")
    assert said.document["invalid"][0]["phase"] == "implement"
    went_on = desk.run("resume", "--skip-to", "local_review", "--fallback")
    assert went_on.code == 0
    assert "phase_1_implement_a2.yaml is newer, and broken" in went_on.document["warnings"][0]


def test_a_pipeline_with_a_release_check_needs_that_too(desk: Desk) -> None:
    desk.put_phases("implement", "local_review", "create_pr")
    assert desk.run("resume", "--skip-to", "ready_for_merge").code == 0
    put_record(desk.base, "pr_release_ready", ordinal=4)
    said = desk.run("resume", "--skip-to", "ready_for_merge")
    assert said.document["completed_phases"][-1] == "pr_release_ready"


def test_a_repository_can_stop_a_run(desk: Desk, web: GitRepo) -> None:
    words = ["--skip-to", "local_review", "--repo", str(web.path)]
    assert desk.run("resume", *words).code == 0
    (web.path / "src/foo.py").unlink()
    assert "src/foo.py" in desk.run("resume", *words).error


def test_later_phases_may_be_broken(desk: Desk) -> None:
    desk.put_phases("implement")
    put_text(desk.base, "phase_3_create_pr_a1.yaml", "a: [")
    assert desk.run("resume", "--skip-to", "local_review").code == 0


# all answers


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["list", "--run-id", "x"], "--run-id needs --ticket-id"),
        (["resume", "--ticket-id", "x"], "--run-id"),
        (["read", "--ticket-id", "x"], "--run-id, --phase"),
        (["list", "--ticket-id", "x", "--phase", "implement"], "takes no --phase"),
        (["read", *RUN_WORDS, "--non-blocking"], "takes no --non-blocking"),
        (["resume", "--ticket-id", "x", "--run-id", "y", "--skip-to", "z"], "valid phases"),
        (["read", "--ticket-id", "x", "--run-id", " ", "--phase", "implement"], "run id"),
    ],
)
def test_options_that_make_no_sense_are_told(desk: Desk, words: list[str], named: str) -> None:
    said = desk.ask(*words, "--base", str(desk.base))
    assert said.code == 1
    assert named in said.error


def test_every_answer_has_a_correlation_id_of_its_own(desk: Desk) -> None:
    desk.put_phases("implement")
    said = [
        desk.run(action, "--phase", "implement") for action in ("read", "validate", "next-attempt")
    ]
    said += [desk.run("list"), desk.run("list"), desk.run("read", "--phase", "none"), desk.write()]
    assert len({each.document["correlation_id"] for each in said}) == len(said)
    assert all("success" in each.document for each in said)


def test_a_stamp_without_an_option_is_now(desk: Desk) -> None:
    desk.write(now="2026-03-05T01:02:03Z")
    found = desk.run("read", "--phase", "implement").document["checkpoint"]["timestamp_utc"]
    assert read_instant(found) == (seconds("2026-03-05T01:02:03Z"), "")


def test_a_payload_comes_from_a_file_or_from_standard_input(desk: Desk, tmp_path: Path) -> None:
    payload = json.dumps(PAYLOADS["implement"])
    (tmp_path / "payload.json").write_text(payload)
    words = ["write", "--base", str(desk.base), *RUN_WORDS]
    assert desk.ask(*words, "--payload", "@payload.json").code == 0
    assert desk.ask(*words, "--payload", "-", stdin=payload).document["attempt_number"] == 2
    assert "cannot be read" in desk.ask(*words, "--payload", "@nothing.json").error
    assert "--payload is not JSON" in desk.ask(*words, "--payload", "-", stdin="{").error


def test_an_empty_time_is_refused(desk: Desk) -> None:
    assert "--timestamp is empty" in desk.write("implement", "--timestamp", "").error
    assert desk.files == []


def test_the_latest_run_is_the_one_with_the_newest_record(desk: Desk) -> None:
    assert "no records" in desk.run("read", "--phase", "implement", run="latest").error
    desk.run(
        "write", "--phase", "implement", "--payload", json.dumps(PAYLOADS["implement"]), run="zzz"
    )
    desk.write(now="2026-03-03T12:00:00Z")
    assert (
        desk.run("read", "--phase", "implement", run="latest").document["checkpoint"]["run_id"]
        == RUN
    )
    assert desk.run("list", run="latest").document["count"] == 1


def test_tickets_and_runs_are_listed(desk: Desk) -> None:
    assert desk.ask("list", "--base", str(desk.base)).document["runs"] == []
    desk.put_phases("implement", "local_review")
    document = desk.ask("list", "--base", str(desk.base)).document
    assert (document["tickets"], document["count"]) == ([TICKET], 1)
    assert document["runs"][0]["run_id"] == RUN
    assert document["runs"][0]["phases"] == ["implement", "local_review"]


def test_resume_without_a_phase_says_how_far_the_run_is(desk: Desk) -> None:
    desk.put_phases("implement", "create_pr")
    document = desk.run("resume").document
    assert (document["next_phase"], document["completed_phases"]) == (
        "local_review",
        ["implement", "create_pr"],
    )
    assert [each["state"] for each in document["phases"]] == [
        "valid",
        "missing",
        "valid",
        "missing",
    ]
    desk.put_phases("local_review", "ready_for_merge")
    assert desk.run("resume").document["next_phase"] is None


def test_a_later_phase_is_older_than_an_earlier_one_that_was_run_again(desk: Desk) -> None:
    desk.put_phases("implement", "local_review")
    assert desk.run("resume", "--skip-to", "create_pr").document["warnings"] == []
    said = desk.write("implement", "--attempt", "auto", now="2026-03-03T12:00:00Z")
    assert said.document["warnings"] == ["local_review was recorded before this: run it again"]
    (warning,) = desk.run("resume", "--skip-to", "create_pr", now="2026-03-03T12:00:00Z").document[
        "warnings"
    ]
    assert "local_review: its record is older than that of implement" in warning


def test_the_phases_of_a_pipeline_are_a_setting(desk: Desk, repo: GitRepo) -> None:
    repo.git("config", "checkpoint.pipelinePhases", ", ".join(READ_PHASES))
    for phase, ordinal in (("pr_release_ready", 4), ("ready_for_merge", 5)):
        words = [
            "--base",
            str(desk.base),
            "--ticket-id",
            TICKET,
            "--run-id",
            SHORT_RUN,
            "--phase",
            phase,
        ]
        said = desk.ask("write", *words, "--payload", json.dumps(PAYLOADS[phase]), cwd=repo.path)
        assert said.document["checkpoint_path"].endswith(f"phase_{ordinal}_{phase}_a1.yaml")
    said = desk.ask("resume", *words[:6], cwd=repo.path)
    assert len(said.document["phases"]) == 5
    repo.git("config", "checkpoint.pipelinePhases", "create_pr, implement")
    assert "pipelinePhases" in desk.ask("resume", *words[:6], cwd=repo.path).error


def test_of_the_settings_only_the_folder_is_expanded_as_git_expands_paths(repo: GitRepo) -> None:
    repo.git("config", PIPELINE_PHASES, "~/a")
    assert read_setting(str(repo.path), os.environ, PIPELINE_PHASES) == "~/a"
    for value in ("%(prefix)/x", "~/a"):  # git 2.31 leaves the first as it is
        repo.git("config", PIPELINE_DIR, value)
        found = read_setting(str(repo.path), os.environ, PIPELINE_DIR)
        assert found == repo.git("config", "--type=path", PIPELINE_DIR)
    assert os.path.isabs(found)


def test_a_hint_can_be_pasted_whatever_the_names(desk: Desk) -> None:
    words = ["--base", str(desk.base), "--ticket-id", "my ticket", "--run-id", "a b"]
    hint = desk.ask("resume", *words, "--skip-to", "create_pr").document["hint"]
    assert f"--ticket-id 'my ticket' --run-id 'a b' --base {desk.base}" in hint


@pytest.mark.parametrize("name", [".git", ".GIT", "git~1", ".git ", ".Git."])
def test_no_ticket_is_what_git_may_take_for_its_own(desk: Desk, name: str) -> None:
    assert (
        "invalid ticket id" in desk.ask("list", "--base", str(desk.base), "--ticket-id", name).error
    )


def test_a_base_that_a_branch_has_linked_elsewhere_is_refused(
    repo: GitRepo, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (repo.path / "records").symlink_to(tmp_path / "out")
    assert "symbolic link" in Desk(repo.path / "records").write().error
    assert list((tmp_path / "out").iterdir()) == []


def test_callers_may_give_the_option_of_the_original(desk: Desk) -> None:
    assert desk.ask("-v", "list", "--base", str(desk.base), "--ticket-id", TICKET).code == 0
