import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from checkpoint_git.cli import app
from checkpoint_git.cli.verbs import VERBS, Verb
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.version import __version__
from tests.support.command import BIN, run_checkpoint, run_here, run_on_terminal
from tests.support.repos import GitRepo, environ_in
from tests.support.rows import rows
from tests.support.samples import checkpoint_text

FILE = ".checkpoints/build.checkpoint.json"
CHECKPOINT = shlex.quote(str(BIN / "checkpoint"))


@pytest.fixture
def project(repo: GitRepo) -> Path:
    """A repository with one checkpoint in it."""
    repo.write(FILE, checkpoint_text())
    return repo.path


def make_verb(monkeypatch: pytest.MonkeyPatch, run: Any, **names: Any) -> None:
    """A verb of the test's own, called `probe`."""
    module = ModuleType("probe_verb")
    add_arguments = names.pop("add_arguments", lambda parser: None)
    for name, value in {"add_arguments": add_arguments, **names}.items():
        setattr(module, name, value)
    module.run = run  # type: ignore[attr-defined]  # a module made by hand
    monkeypatch.setitem(sys.modules, "probe_verb", module)
    monkeypatch.setitem(VERBS, "probe", Verb("probe_verb", "try things", "read"))


def watch_verb(
    monkeypatch: pytest.MonkeyPatch, **names: Any
) -> list[tuple[argparse.Namespace, Invocation]]:
    """A verb `probe` that does nothing; what it was called with is in the list."""
    seen: list[tuple[argparse.Namespace, Invocation]] = []

    def run(args: argparse.Namespace, world: Invocation) -> Outcome:
        seen.append((args, world))
        return Outcome({})

    make_verb(monkeypatch, run, **names)
    return seen


# finding the verb


@rows(
    ("words", "verb", "rest"),
    [
        ([], "status", []),
        (["--brief"], "status", ["--brief"]),
        (["next", "--all"], "next", ["--all"]),
        (["--json", "-C", "x", "next"], "next", ["--json", "-C", "x"]),
        (["--format", "json", "next"], "next", ["--format", "json"]),
        (["-Cx", "--format=md", "show"], "show", ["-Cx", "--format=md"]),
        (["show", "next"], "show", ["next"]),
    ],
)
def test_the_first_word_that_is_no_global_option_names_the_verb(
    words: list[str], verb: str, rest: list[str]
) -> None:
    request = app.find_request(words)
    assert (request.verb, request.words) == (verb, rest)


def test_another_name_for_a_command_takes_its_words(project: Path) -> None:
    for words, verb in (
        (["ls", "build"], "status"),
        (["refs", "build"], "show"),
        (["rp", "list"], "restore-point"),
    ):
        assert json.loads(run_here(*words, "--json", cwd=project).stdout)["command"] == verb
        wrong = run_here(*words, "--bogus", "--json", cwd=project)
        assert (wrong.returncode, json.loads(wrong.stdout)["command"]) == (2, verb)
    assert run_here("refs", "build", cwd=project).returncode == 0


def test_a_mistyped_verb_suggests_the_near_one(project: Path) -> None:
    done = run_here("statsu", cwd=project)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "did you mean status?" in done.stderr


def test_a_word_like_no_verb_gets_no_suggestion(project: Path) -> None:
    done = run_here("xyzzy\x1b[2J", cwd=project)
    assert "did you mean" not in done.stderr
    assert "\x1b" not in done.stderr


def test_every_listed_verb_has_help_with_examples_and_exit_codes(project: Path) -> None:
    for verb in VERBS:
        done = run_here(verb, "--help", cwd=project)
        assert done.returncode == 0, f"{verb}: {done.stderr}"
        assert "examples:" in done.stdout
        assert "exit codes:" in done.stdout


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["help"], ["-C", ".", "--help"]])
def test_help_lists_the_verbs_but_not_the_one_for_hooks(words: list[str], tmp_path: Path) -> None:
    done = run_here(*words, cwd=tmp_path)
    assert done.returncode == 0
    assert "validate" in done.stdout
    assert "\n  hook" not in done.stdout


def test_the_version_is_told_everywhere(project: Path) -> None:
    for words in (["--version"], ["show", "--version"]):
        assert run_checkpoint(*words, cwd=project).stdout == f"checkpoint {__version__}\n"


@pytest.mark.parametrize(
    "start", [[str(BIN / "git-checkpoint")], [sys.executable, "-m", "checkpoint_git"]]
)
def test_it_is_the_same_program_under_each_name(start: list[str], project: Path) -> None:
    done = subprocess.run([*start, "show"], cwd=project, capture_output=True, text=True, timeout=60)
    assert done.stdout == run_checkpoint("show", cwd=project).stdout


def test_git_finds_it_as_a_command_of_its_own(project: Path) -> None:
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["git", "checkpoint", "nonsense"],
        cwd=project,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "git checkpoint --help" in done.stderr


def test_checkpoint_doctor_is_the_verb_doctor(project: Path) -> None:
    done = run_checkpoint("--help", cwd=project, command="checkpoint-doctor")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: checkpoint-doctor [")


# options and words


def test_global_options_may_stand_before_and_behind_the_verb(project: Path) -> None:
    before = run_here("--json", "-C", str(project), "show", cwd=project.parent)
    behind = run_here("show", "-C", str(project), "--format=json", cwd=project.parent)
    assert before.stdout == behind.stdout
    assert json.loads(before.stdout)["command"] == "show"


def test_positional_words_may_stand_around_options(monkeypatch: pytest.MonkeyPatch) -> None:
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("paths", nargs="*")
        parser.add_argument("--strict", action="store_true")

    seen = watch_verb(monkeypatch, add_arguments=add_arguments)
    assert app.main(["probe", "a", "--strict", "b"]) == 0
    assert seen[0][0].paths == ["a", "b"]


def test_a_raw_verb_gets_its_words_as_they_were_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("skill")
        parser.add_argument("words", nargs="*")

    seen = watch_verb(monkeypatch, add_arguments=add_arguments, RAW=True)
    assert (
        app.main(["probe", "--a=1", "--json", "build", "--b+=two words", "--c:json=[1]", "odd"])
        == 0
    )
    args = seen[0][0]
    assert args.skill == "build"
    assert args.words == ["--a=1", "--b+=two words", "--c:json=[1]", "odd"]
    assert args.format == "json"


@pytest.mark.parametrize(
    "words",
    [
        ["show", "--nonsense"],
        ["unblock", "--x"],
        ["update"],
        ["show", "--format=xml"],
        ["show", "--format=sarif"],
    ],
)
def test_words_that_make_no_sense_end_with_2_and_the_usage(words: list[str], project: Path) -> None:
    done = run_here(*words, cwd=project)
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"checkpoint {words[0]} --help" in done.stderr


def test_a_folder_that_is_not_there_ends_with_2(project: Path) -> None:
    done = run_here("-C", "nowhere", cwd=project)
    assert done.returncode == 2
    assert "nowhere" in done.stderr


def test_a_current_folder_that_is_gone_ends_with_2(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    words = f"mkdir {gone}; cd {gone}; rmdir {gone}; exec {CHECKPOINT} show"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "no longer exists" in done.stderr


# the error door


def test_being_unable_to_go_on_is_told_with_a_hint(tmp_path: Path) -> None:
    for words in ([], ["show"], ["status", "--"]):
        done = run_here(*words, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.startswith("checkpoint: no .checkpoints folder found")
        assert "checkpoint init" in done.stderr.splitlines()[1]


@pytest.mark.parametrize(
    "words", [["--json", "show"], ["show", "--format", "json"], ["nonsense", "--json"]]
)
def test_errors_are_json_where_json_was_asked_for(words: list[str], tmp_path: Path) -> None:
    done = run_here(*words, cwd=tmp_path)
    document = json.loads(done.stdout)
    assert done.returncode == 2
    assert document["schema_version"] == 1
    assert set(document["error"]) == {"message", "hint", "commands"}
    assert document["error"]["hint"]


def test_a_bug_leaves_a_log_that_only_its_user_can_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def run(args: argparse.Namespace, world: Invocation) -> Outcome:
        raise ValueError("of our own making")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make_verb(monkeypatch, run)
    assert app.main(["probe"]) == 3
    said = capsys.readouterr().err
    (log,) = tmp_path.iterdir()
    assert str(log) in said
    assert "Traceback" not in said
    assert "of our own making" in log.read_text("utf-8")
    assert log.stat().st_mode & 0o077 == 0


def test_a_bug_is_json_where_json_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    make_verb(monkeypatch, lambda args, world: 1 / 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert app.main(["probe", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert Path(document["error"]["log"]).parent == tmp_path


def test_an_error_of_the_file_system_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(args: argparse.Namespace, world: Invocation) -> Outcome:
        raise PermissionError(13, "Permission denied", "/some/where")

    make_verb(monkeypatch, run)
    assert app.main(["probe"]) == 2
    assert "/some/where: Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("raised", "code"), [(KeyboardInterrupt(), 130), (CheckpointError("no", "do"), 2)]
)
def test_what_a_verb_raises_becomes_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int
) -> None:
    def run(args: argparse.Namespace, world: Invocation) -> Outcome:
        raise raised

    make_verb(monkeypatch, run)
    assert app.main(["probe"]) == code


def test_findings_make_the_exit_code_unless_the_verb_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from checkpoint_git.core.finding import Finding

    error, warning = Finding("a/b", "error", "bad"), Finding("a/b", "warning", "odd")
    for outcome, code in (
        (Outcome({}, [], [error]), 1),
        (Outcome({}, [], [warning]), 0),
        (Outcome({}, [], [error], 0), 0),
        (Outcome({}, [], [], 1), 1),
    ):
        make_verb(monkeypatch, lambda args, world, outcome=outcome: outcome)
        assert app.main(["probe", "-q"]) == code


def test_words_are_utf8_in_any_locale(project: Path, tmp_path: Path) -> None:
    make = ["localedef", "-i", "en_US", "-f", "ISO-8859-1", str(tmp_path / "latin")]
    if not shutil.which(make[0]) or subprocess.run(make, capture_output=True).returncode:
        pytest.skip("this system cannot make a locale")
    env = {**environ_in(project), "LOCPATH": str(tmp_path), "LC_ALL": "latin"}
    for at, words in enumerate(
        ([str(BIN / "checkpoint")], [sys.executable, "-m", "checkpoint_git"])
    ):
        subprocess.run(
            [*words, "workflow", "start", f"ü-{at}", "--fresh"], cwd=project, env=env, check=True
        )
        assert f'"workflow_id": "ü-{at}"' in (project / "memory/state/phase.json").read_text(
            "utf-8"
        )


def test_an_interrupted_process_ends_with_130(project: Path) -> None:
    code = (
        "import signal, time; from checkpoint_git.cli import app;"
        # a shell's & may have run this suite
        "signal.signal(signal.SIGINT, signal.default_int_handler);"
        "app._run = lambda *_: (print('ready', flush=True), [time.sleep(0.1) for _ in range(900)]); app.main()"
    )
    words = [sys.executable, "-c", code]
    with subprocess.Popen(
        words, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == b""


@pytest.mark.parametrize(
    ("words", "has_document"), [(["probe"], False), (["probe", "--json"], True)]
)
def test_who_waits_for_a_document_gets_one_when_interrupted(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    has_document: bool,
) -> None:
    def run(args: argparse.Namespace, world: Invocation) -> Outcome:
        raise KeyboardInterrupt

    make_verb(monkeypatch, run)
    assert app.main(words) == 130
    said = capsys.readouterr().out
    assert bool(said) is has_document
    if has_document:
        assert json.loads(said)["error"]["message"] == "interrupted"


# streams


def test_a_reader_who_has_seen_enough_is_no_trouble(repo: GitRepo) -> None:
    for number in range(300):
        text = checkpoint_text(skill=f"s{number}", progress_summary="x" * 900)
        repo.write(f".checkpoints/s{number}.checkpoint.json", text)
    words = f"{CHECKPOINT} show | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", words], cwd=repo.path, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


def test_a_full_disk_behind_stdout_ends_with_2(project: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [BIN / "checkpoint", "show"],
            cwd=project,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    assert done.returncode == 2
    assert b"No space left" in done.stderr


def test_it_runs_without_standard_streams(project: Path) -> None:
    words = f"exec {CHECKPOINT} show <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", words], cwd=project, timeout=60).returncode == 0


@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}],
)
def test_an_encoding_that_lacks_letters_gets_escapes(env: dict[str, str], repo: GitRepo) -> None:
    repo.write(FILE, checkpoint_text(project="Überfahrt → ☃"))
    done = run_checkpoint("show", "build", cwd=repo.path, env=env)
    assert done.returncode == 0
    assert "\\xdcberfahrt -> \\u2603" in done.stdout


def test_stdout_of_json_is_one_document_and_stderr_is_empty(project: Path) -> None:
    for words in (
        ["status", "--short"],
        ["validate"],
        ["show", "build"],
        ["show", "--tickets"],
        ["status"],
        ["next"],
        ["resume", "build"],
    ):
        done = run_here(*words, "--json", cwd=project)
        assert json.loads(done.stdout)["command"] == words[0]
        assert done.stderr == ""


def test_a_terminal_gets_signs_and_colours_within_its_width(project: Path) -> None:
    said = run_on_terminal("status", cwd=project, env={})
    assert "🔄 in_progress" in said
    assert "\x1b[1m" in said
    plain = run_on_terminal("status", "--no-color", cwd=project, env={"COLUMNS": "60"})
    assert "\x1b" not in plain
    assert max(len(line) for line in plain.splitlines() if "🔄" in line) <= 60


def test_every_verb_with_a_summary_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.main(["--help", "--all"]) == 0
    lines = [line.split(None, 1) for line in capsys.readouterr().out.splitlines()]
    for verb, row in VERBS.items():
        assert not row.summary or [verb, row.summary] in lines


def test_a_person_can_be_asked_only_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch_verb(monkeypatch)
    assert app.main(["probe"]) == 0
    world = seen[0][1]
    assert not world.interactive
    assert world.now == pytest.approx(time.time(), abs=60)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_write_whose_answer_cannot_be_shown_is_not_called_undone(project: Path) -> None:
    with open("/dev/full", "w") as full:
        words = [str(BIN / "checkpoint"), "done", "build"]
        done = subprocess.run(words, cwd=project, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert "the command itself succeeded" in done.stderr
    assert "try again" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    ("words", "code"),
    [(["list", "--ticket-id", "T-1"], 1), (["write", "--non-blocking", "--payload", "x"], 0)],
)
def test_a_document_that_cannot_be_shown_is_told_on_stderr(
    words: list[str], code: int, project: Path
) -> None:
    with open("/dev/full", "w") as full:
        command = [str(BIN / "checkpoint"), "pipeline", *words]
        done = subprocess.run(
            command, cwd=project, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == code
    assert done.stderr.startswith("checkpoint: ")
    assert "Traceback" not in done.stderr
