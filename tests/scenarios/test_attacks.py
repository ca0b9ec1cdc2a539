"""What a branch may bring to harm whoever checks it out, one row an attack: what it plants, and
what is run then.

For each: the command ends, soon and with an answer, prints no byte that steers a terminal and
nothing of a file outside the repository, changes nothing there, and starts nothing that the branch
names. `never` says what else must not be in the output.
"""

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support import workflows
from tests.support.command import run_here
from tests.support.records import RUN, TICKET, put_record, put_text
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.snapshot import take_snapshot

PRIVATE = "the-owner-of-this-machine-only"
SKILL = ".checkpoints/build.checkpoint.json"
LOG = ".audit/checkpoint-operations.log"
POINT = ".checkpoints/chk_20260101_000000_aaaaaa/manifest.json"
READ = (
    "status",
    "next",
    "prime",
    "show",
    "log build",
    "resume build",
    "validate",
    "diff",
    "report -o -",
    "doctor",
)
PIPELINE = f"--base @TOP@/records --ticket-id {TICKET} --run-id {RUN}"
RECORDS = (f"pipeline list {PIPELINE}", f"pipeline validate {PIPELINE} --repo .")
SET_UP = ("init --dry-run", "init --agent claude --dry-run", "uninstall --dry-run", "doctor")
POINTS = (
    "restore-point list",
    "restore-point audit",
    "restore-point gc --dry-run --expired",
    "doctor",
)
_MOST_SECONDS = 60


class Attack(NamedTuple):
    name: str
    plant: Callable[[GitRepo, Path], object]  # the second: a folder outside the repository
    words: Sequence[str]
    never: Sequence[str] = ()


def link(place: str, target: str = "secret") -> Callable[[GitRepo, Path], None]:
    """target: an absolute path, or one in the folder outside."""

    def plant(repo: GitRepo, outside: Path) -> None:
        path = repo.path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(outside / target)

    return plant


def pipe(place: str) -> Callable[[GitRepo, Path], None]:
    """As an unpacked archive has one, in its .git too."""

    def plant(repo: GitRepo, outside: Path) -> None:
        (repo.path / place).parent.mkdir(parents=True, exist_ok=True)
        (repo.path / place).unlink(missing_ok=True)
        os.mkfifo(repo.path / place)

    return plant


def fields(name: str = "build", **changes: Any) -> Callable[[GitRepo, Path], object]:
    return lambda repo, outside: repo.write(place_of(name), checkpoint_text(skill=name, **changes))


def place_of(name: str) -> str:
    return f".checkpoints/{name}.checkpoint.json"


def all_of(*plants: Callable[[GitRepo, Path], object]) -> Callable[[GitRepo, Path], None]:
    """In one repository, where none of them hides another."""

    def plant(repo: GitRepo, outside: Path) -> None:
        for each in plants:
            each(repo, outside)

    return plant


def read_each(*names: str) -> tuple[str, ...]:
    """What reads all checkpoints, and what reads one by its name, for each of them."""
    return (*READ, *(f"{verb} {name}" for name in names for verb in ("log", "resume")))


def text(place: str, content: str | bytes) -> Callable[[GitRepo, Path], object]:
    return lambda repo, outside: repo.write(place, content)


def message(content: str, times: int = 1) -> Callable[[GitRepo, Path], object]:
    """times: how often the content is repeated; a long text is made where it is needed, each worker
    would hold it.
    """

    def plant(repo: GitRepo, outside: Path) -> None:
        tree = repo.git("write-tree")
        parent = repo.git("rev-parse", "HEAD")
        who = "Ada <ada@example.org> 1780000000 +0000"
        data = f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{content * times}\n".encode()
        made = (
            repo.run("git", "hash-object", "-t", "commit", "-w", "--stdin", stdin=data)
            .stdout.decode()
            .strip()
        )
        repo.git("update-ref", "HEAD", made)

    return plant


def hooks_folder(repo: GitRepo, outside: Path) -> None:
    repo.git("config", "core.hooksPath", ".husky")
    link(".husky/pre-commit", "pipe")(repo, outside)
    link(".husky/post-commit", "/dev/zero")(repo, outside)


def workflow_link(target: str) -> Callable[[GitRepo, Path], None]:
    def plant(repo: GitRepo, outside: Path) -> None:
        workflows.write_workflow(repo.path, workflows.phase())
        link("memory/state/phase.json", target)(repo, outside)

    return plant


def record_link(target: str) -> Callable[[GitRepo, Path], None]:
    def plant(repo: GitRepo, outside: Path) -> None:
        path = put_record(repo.path / "records")
        link(os.path.relpath(path, repo.path), target)(repo, outside)

    return plant


def bare_repository(repo: GitRepo, outside: Path) -> None:
    program = outside.parent / "program"
    for name, content in (
        ("HEAD", "ref: refs/heads/main\n"),
        (
            "config",
            f"[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = {program}\n\tpager = {program}\n",
        ),
        ("objects/x", ""),
        ("refs/x", ""),
    ):
        repo.write(f".checkpoints/{name}", content)


def shadows(repo: GitRepo, outside: Path) -> None:
    code = f"open({str(outside.parent / 'ran')!r}, 'w')\n"
    for name in (
        "json.py",
        "subprocess.py",
        "sitecustomize.py",
        "checkpoint_git/__init__.py",
        "yaml.py",
    ):
        repo.write(name, code)


def many_versions(repo: GitRepo, outside: Path) -> None:
    for number in range(3):
        repo.write(SKILL, checkpoint_text(progress_summary=f"{number}" * 3_000_000))
        repo.commit(f"large {number}")


MANIFEST: dict[str, Any] = {
    "id": "chk_20260101_000000_aaaaaa",
    "type": "file_backup",
    "state": "active",
    "expires_at": None,
    "scope": {"asked": [""]},
    "entries": [],
}
DATABASE = {
    **MANIFEST,
    "type": "database_savepoint",
    "artifacts": [{"kind": "postgresql", "name": "postgresql://h/x"}],
}
UNPRINTED = ("\x1b", "\x07", "\x85", "\x9b", "\u202e", "\u2066")
STEERING = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\x08"
SCRIPT = "<script>alert(1)</script>"
CALL = "$(touch ran); `touch ran`; touch ran"

ATTACKS = (
    Attack(
        "checkpoints that are links: to a file outside, a device without end, a pipe, a folder, themselves",
        all_of(
            link(SKILL),
            link(place_of("zero"), "/dev/zero"),
            link(place_of("pipe"), "pipe"),
            link(place_of("folder"), "."),
            lambda repo, outside: link(place_of("self"), str(repo.path / place_of("self")))(
                repo, outside
            ),
        ),
        read_each("zero", "pipe", "folder", "self"),
    ),
    Attack(
        "the doctor's settings from outside",
        link(".checkpoints/doctor.toml"),
        ("doctor", "report -o -"),
    ),
    Attack(
        "the doctor's settings from a pipe", link(".checkpoints/doctor.toml", "pipe"), ("doctor",)
    ),
    Attack(
        "settings of newlines alone", text(".checkpoints/doctor.toml", "\n" * 65_000), ("doctor",)
    ),
    Attack(
        "settings of brackets alone",
        text(".checkpoints/doctor.toml", "a = " + "[" * 60_000),
        ("doctor",),
    ),
    Attack("a log of restore points without end", link(LOG, "/dev/zero"), POINTS),
    Attack("a log of restore points that is a pipe", link(LOG, "pipe"), POINTS),
    Attack("a log of restore points from outside", link(LOG), POINTS),
    Attack("the manifest of a restore point from a pipe", link(POINT, "pipe"), POINTS),
    Attack("the manifest of a restore point from a device", link(POINT, "/dev/zero"), POINTS),
    Attack(
        "a restore point of somebody's database",
        text(POINT, json.dumps(DATABASE)),
        (
            "restore-point rollback chk_20260101_000000_aaaaaa --dry-run",
            "restore-point verify latest",
            *POINTS,
        ),
    ),
    Attack(
        "a workflow's state from outside",
        workflow_link("secret"),
        ("workflow status", "workflow resume", "doctor"),
    ),
    Attack(
        "a workflow's state without end",
        workflow_link("/dev/zero"),
        ("workflow status", "workflow validate"),
    ),
    Attack("a status file from outside", link("WORKFLOW-STATUS.yaml"), ("memory sync --dry-run",)),
    Attack(
        "a status file that is a pipe",
        link("WORKFLOW-STATUS.yaml", "pipe"),
        ("memory sync --dry-run",),
    ),
    Attack("a record from outside", record_link("secret"), RECORDS),
    Attack("a record that is a pipe", record_link("pipe"), RECORDS),
    Attack(
        "a record nested five hundred deep",
        lambda repo, _: put_text(
            repo.path / "records", "phase_1_implement_a1.yaml", "a: " + "[" * 500 + "]" * 500
        ),
        RECORDS,
    ),
    Attack("hooks of the work tree that are pipes and devices", hooks_folder, SET_UP),
    Attack("instructions of agents from outside", link("CLAUDE.md"), SET_UP),
    Attack("settings of agents that are a pipe", link(".claude/settings.json", "pipe"), SET_UP),
    Attack(
        "a framework's configuration without end",
        link(".pre-commit-config.yaml", "/dev/zero"),
        SET_UP,
    ),
    Attack("a commit message that steers a terminal", message(STEERING), READ),
    Attack("a commit message of sixteen megabytes", message("x", 16 << 20), (*READ, "audit")),
    Attack("a commit message of forty thousand quotes", message('Revert "' + '"' * 40_000), READ),
    Attack(
        "markup in texts",
        fields(progress_summary=SCRIPT, next_actions=[SCRIPT]),
        ("report -o -",),
        (SCRIPT,),
    ),
    Attack(
        "texts that steer a terminal, that are commands, and that name files outside",
        all_of(
            fields("steering", progress_summary=STEERING, next_actions=[STEERING], step=STEERING),
            fields(
                "calls", next_actions=[{"text": CALL, "done_when": "touch ran"}], project_dir=CALL
            ),
            fields(
                "files",
                context_primer={
                    "key_decisions": [],
                    "generated_files": ["../outside/secret"],
                    "user_preferences": [],
                },
            ),
        ),
        (*read_each("steering", "calls", "files"), "done calls"),
    ),
    Attack(
        "what a session left is a pipe",
        pipe(".git/checkpoint/sessions/unrecorded.txt"),
        (*READ, "session start"),
    ),
    Attack(
        "a log of HEAD that is a pipe", pipe(".git/logs/HEAD"), ("session start", "session stop")
    ),
    Attack(
        "an array a hundred thousand deep, a number of as many digits, bytes that are no text, halves of characters",
        all_of(
            text(place_of("deep"), "[" * 100_000),
            text(place_of("digits"), '{"a": ' + "9" * 100_000 + ', "b": 1e999999999}'),
            text(place_of("bytes"), b'{"skill": "\xff\xfe\x00"}'),
            text(
                place_of("halves"), checkpoint_text(skill="halves").replace("tidepool", "\\ud800")
            ),
        ),
        read_each("deep", "digits", "bytes", "halves"),
    ),
    Attack(
        "names that are options and that steer a terminal",
        all_of(
            text(place_of("--version"), checkpoint_text()),
            text(place_of("a\x1b[2Jb"), checkpoint_text()),
        ),
        READ,
    ),
    Attack("a folder that looks like a repository", bare_repository, READ),
    Attack("modules with names of the library's", shadows, ("status", "doctor", "report -o -")),
    Attack(
        "versions of three megabytes each",
        many_versions,
        ("log build", "show build --public", "prime", "audit"),
    ),
)


@contextmanager
def deadline(seconds: int) -> Iterator[None]:
    """Fails where the block does not end: what waits for a pipe waits for good. No handler of
    OSError hides it.
    """

    def stop(*_: object) -> None:
        pytest.fail(f"it takes more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check_attack(repo: GitRepo, tmp_path: Path, attack: Attack) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text(f'initiative: {PRIVATE}\n{{"skill": "{PRIVATE}"}}\n')
    (tmp_path / "program").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (tmp_path / "program").chmod(0o755)
    before = take_snapshot(outside)
    os.mkfifo(outside / "pipe")
    repo.write(SKILL, checkpoint_text())
    repo.write("docs/plan.md", "the plan\n")
    repo.commit("start")
    attack.plant(repo, outside)
    around = set(tmp_path.iterdir())
    for words in attack.words:
        with deadline(_MOST_SECONDS):
            done = run_here(*words.replace("@TOP@", str(repo.path)).split(), cwd=repo.path)
        said = done.stdout + done.stderr
        found = [one for one in (PRIVATE, *UNPRINTED, *attack.never) if one in said]
        assert done.returncode in (0, 1, 2), (words, said[-2_000:])
        assert "Traceback" not in said, words
        assert not found, (words, said[:2_000])
    (outside / "pipe").unlink()
    assert take_snapshot(outside) == before
    assert set(tmp_path.iterdir()) == around
    assert not [place for place in (tmp_path, repo.path, outside) if (place / "ran").exists()]


@pytest.mark.parametrize(
    "attack", ATTACKS, ids=[attack.name.replace(" ", "-") for attack in ATTACKS]
)
def test_what_a_branch_brings_does_no_harm(repo: GitRepo, tmp_path: Path, attack: Attack) -> None:
    check_attack(repo, tmp_path, attack)
