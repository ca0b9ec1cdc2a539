"""What EFFECTS says that each command starts, connects to and writes: each one is run, and does no
more.
"""

import os
import re
import shlex
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.cli import help_text
from checkpoint_git.cli.effects import EFFECTS
from checkpoint_git.cli.verbs import NESTED, PAGED, VERBS, load_verb
from tests.architecture.imports import ROOT
from tests.support import restore_points, workflows
from tests.support.command import run_here
from tests.support.hostile import make_hostile, take_marks
from tests.support.memory import serve_files
from tests.support.records import SHORT_RUN, TICKET, put_record
from tests.support.repos import GitRepo, copy_built
from tests.support.samples import checkpoint_text

PAGE = (
    (ROOT / "docs/promises.md")
    .read_text()
    .partition("\n## What each command does\n")[2]
    .partition("\n## ")[0]
)
ROWS = {
    command: [set(words.split(", ")) for words in effects] for command, effects in EFFECTS.items()
}
WORDS = {
    word for pair in re.findall(r"^- (.+?): ", PAGE, re.MULTILINE) for word in pair.split(", ")
}

RUN = f"--base .claude/checkpoints --ticket-id {TICKET} --run-id {SHORT_RUN}"
PAYLOAD = '{"iteration_count": 2, "issue_fingerprints": ["foo:12"], "last_clean_sha": "a1b2c3d"}'
MAPS = """--repo-commit-map '{"web": "a1b2c3d"}' --artifact-paths '["src/foo.py"]' --timestamp 2026-03-02T09:30:00Z"""
SAVE = "memory save --initiative l --milestone M --phase d --next-action n --last-action l"
# what is run for a row: commands in turn, of which the last counts; a row that is not here is run
# as it stands
CALLS: dict[str, list[list[str]]] = {
    "resume": [["resume build"]],
    "show": [["show"], ["show --tickets"]],
    "log": [["log"], ["log build"]],
    "diff": [["diff"], ["diff --rev HEAD~1..HEAD"]],
    "update": [["update build --step=x"], ["update fresh --next+=Begin"]],
    "done": [["done build"]],
    "done --verify": [["done build 1 --verify --yes"]],
    "add": [["add build x"]],
    "row": [["row build x"]],
    "note": [["note build x"]],
    "ask": [["ask build Which?"]],
    "decide": [["ask build Which?", "decide build eu"]],
    "block": [["block build x"]],
    "unblock": [["block build x", "unblock build x"]],
    "drop": [["drop build --why no"]],
    "rename": [["rename build api"]],
    "undo": [["note build x", "undo build"]],
    "reset": [["reset build"]],
    "validate": [["validate"], ["validate --staged"], ["validate --rev HEAD"]],
    "merge-file": [["merge-file " + " ".join([".checkpoints/build.checkpoint.json"] * 3)]],
    "ci verify": [["ci verify --base HEAD~1"]],
    "ci merge": [["ci merge --base main --branch side --push"]],
    "claim": [["claim build"], ["claim build --remote ."]],
    "release": [["claim build", "release build"], ["claim build --remote .", "release build"]],
    "sync": [["sync"], ["sync --branch states"]],
    "workflow start": [["workflow archive", "workflow start other"]],
    "workflow advance": [["workflow approve REQUIREMENTS", "workflow advance --yes"]],
    "workflow approve": [["workflow approve REQUIREMENTS"]],
    "workflow back": [["workflow back REQUIREMENTS"]],
    "workflow fail": [["workflow fail --error x"]],
    "workflow save": [["workflow save --note x"]],
    "workflow task": [["workflow task add t2"]],
    "pipeline write": [[f"pipeline write {RUN} --phase local_review --payload '{PAYLOAD}' {MAPS}"]],
    "pipeline read": [[f"pipeline read {RUN} --phase implement"]],
    "pipeline validate": [[f"pipeline validate {RUN} --phase implement --repo ."]],
    "pipeline list": [["pipeline list --base .claude/checkpoints"]],
    "pipeline resume": [[f"pipeline resume {RUN}"]],
    "pipeline next-attempt": [[f"pipeline next-attempt {RUN} --phase implement"]],
    "memory save": [[SAVE], [SAVE]],
    "memory load": [["memory load"], [SAVE, "memory load"]],
    "memory update": [["memory update phase=x"], [SAVE, "memory update phase=x"]],
    "memory clear": [["memory clear --yes"], [SAVE, "memory clear --yes"]],
    "memory archive": [["memory archive --yes"], [SAVE, "memory archive --yes"]],
    "memory sync": [["memory sync --yes"], [SAVE, "memory sync --yes"]],
    "memory doctor": [["memory doctor"], [SAVE, "memory doctor"]],
    "memory setup": [["memory setup --yes"]],
    "restore-point create": [["rp create docs"], ["rp create docs --type git_stash"], ["rp create --database sqlite:///data.db"]],
    "restore-point show": [["rp show latest"]],
    "restore-point diff": [["rp diff latest"]],
    "restore-point verify": [["rp verify latest"]],
    "restore-point rollback": [["rp rollback latest"], ["rp rollback latest --operation"]],
    "restore-point gc": [["rp gc --keep 0"], ["rp gc --expired"]],
    "restore-point drop": [["rp drop latest"]],
    "init": [["init"], ["init --agent claude --ci github --schemas"]],
    "uninstall": [["init", "uninstall"]],
    "completion": [["completion bash"]],
}  # fmt: skip
READING_STDIN = (
    "restore-point guard",
    *(f"session {each}" for each in ("start", "stop", "precompact", "end")),
)
STDIN = b'{"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "rm -rf docs"}}'
# a path that was written, below the folder of repository and remote -> the word for it
PLACES = (
    ("points", r"repo/(\.git/checkpoint-restore/|\.audit/|\.checkpoints/chk_)"),
    ("checkpoints", r"repo/\.checkpoints/"),
    ("state", r"repo/\.git/checkpoint[-./]"),
    ("index", r"repo/\.git/index$"),
    ("objects", r"repo/\.git/objects/"),
    ("refs", r"repo/\.git/(refs|logs)/|repo/\.git/\w+_?HEAD$"),
    ("settings", r"repo/\.git/(config$|hooks/|info/)"),
    ("remote", r"server\.git/"),
    ("workflow", r"repo/memory/state/"),
    ("records", r"repo/\.claude/checkpoints/"),
    ("graph", r"graph\.jsonl"),
    ("home", r"home/"),
    ("files", r"repo/(?!\.git/)"),
)
PROGRAMS = (
    ("server", "false|node"),
    ("sh", "sh"),
    ("git", "git"),
    ("npm", "npm"),
    ("python", "python"),
)
SCRIPT = "node_modules/@modelcontextprotocol/server-memory/dist"
NPM = f"mkdir -p {SCRIPT} && : > {SCRIPT}/index.js"
MARKS = (
    ("hooks", r"hook\."),
    ("filters", r"filter\."),
    ("transport", r"remote$|core\.sshCommand|credential|core\.(askPass|gitProxy)"),
    ("driver", r"merge\."),
    ("server", r"checkpoint\.memoryCommand"),
    ("signing", r"gpg\."),
)


def build_tame(folder: Path) -> None:
    """0: a clone with something of everything, changed since its last commit; 1: its remote."""
    repo = GitRepo.create(folder / "0/repo")
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.write("docs/plan.md", "the plan\n")
    state = workflows.phase(user_checkpoints=[])
    workflows.write_workflow(repo.path, state)
    workflows.write_output(repo.path, workflows.OUTPUTS["REQUIREMENTS"])
    put_record(repo.path / ".claude/checkpoints")
    repo.commit("start (#1)")
    repo.git("clone", "-q", "--bare", "--template=", ".", "../server.git")
    repo.git("remote", "add", "origin", "../server.git")
    repo.git("fetch", "-q")
    repo.git("branch", "-q", "-u", "origin/main")
    for branch in ("side", "main"):
        repo.git("checkout", "-q", "-B", branch, "origin/main")
        primer = {
            "key_decisions": [branch],
            "generated_files": ["docs/plan.md"],
            "user_preferences": [],
        }
        repo.write(".checkpoints/build.checkpoint.json", checkpoint_text(context_primer=primer))
        repo.commit(branch)
    repo.git("push", "-q", "origin", "side")
    repo.git("merge", "-q", "-s", "ours", "-m", "merge side (#2)", "side")
    restore_points.create(restore_points.workspace_of(repo.path), ["docs"], "", "file_backup", None)
    repo.write("docs/plan.md", "changed\n")
    repo.write("WORKFLOW-STATUS.yaml", "active:\n  initiative: other\n  milestone: M2\n")
    repo.write("data.db", b"")
    repo.pack()
    GitRepo(folder / "0/server.git").pack()
    (folder / "0/home").mkdir()


def build_hostile(folder: Path) -> None:
    make_hostile(GitRepo.create(folder / "0/repo"), folder / "marks", is_packed=True)
    (folder / "0/home").mkdir()


def list_commands() -> list[str]:
    """As they are typed: a verb with its own sub-verbs is not there itself."""
    nested = {home: name for name, home in NESTED.items()}
    found = []
    for verb in VERBS:
        pages = help_text.read_pages(verb)[1:] if getattr(load_verb(verb), "TAKERS", None) else []
        found += [f"{verb} {page.head.split()[0]}" for page in pages] or [nested.get(verb, verb)]
    return found


def read_files(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def prepare(
    build: Callable[[Path], object], root: Path, monkeypatch: pytest.MonkeyPatch
) -> GitRepo:
    """A copy, unless it is there, with programs that stand in for npm and for what it installs."""
    repo = GitRepo(root / "repo")
    if not root.exists():
        copy_built(build, root)
    for name, text in (("npm", NPM), ("node", "exit 1")):
        path = root.parent / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{root.parent}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(root / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if build is build_tame:
        repo.configure(
            {
                "checkpoint.memoryFile": str(root / "graph.jsonl"),
                "checkpoint.memoryCommand": "false",
            }
        )
    return repo


def watch(monkeypatch: pytest.MonkeyPatch, started: set[str]) -> None:
    """Notes the names of the programs that this process starts from now on, and "socket" where it
    connects.
    """

    def noting(real: Any, at: int) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            words = args[at]
            started.add(
                os.path.basename(os.fsdecode(words if isinstance(words, str | bytes) else words[0]))
            )
            return real(*args, **kwargs)

        return call

    monkeypatch.setattr(subprocess.Popen, "__init__", noting(subprocess.Popen.__init__, 1))
    for name in ("posix_spawn", "posix_spawnp"):
        monkeypatch.setattr(os, name, noting(getattr(os, name), 1))
    monkeypatch.setattr(socket.socket, "connect", lambda *args: started.add("socket"))


def name_all(found: Iterable[str], table: Sequence[tuple[str, str]]) -> set[str]:
    return {next((word for word, form in table if re.match(form, each)), each) for each in found}


def run_last(calls: Sequence[str], repo: GitRepo, before: Callable[[], object]) -> str:
    """Runs commands in turn, before() before the last of them; that one, where it cannot go on."""
    for number, call in enumerate(calls, 1):
        if number == len(calls):
            before()
        line = call
        if "MERGE" in call:
            line = call.replace("MERGE", repo.git("rev-list", "-1", "--merges", "HEAD"))
        done = run_here(
            *shlex.split(line), cwd=repo.path, stdin=STDIN if line in READING_STDIN else b""
        )
    return (
        ""
        if done.returncode in (0, 1) or line in READING_STDIN
        else f"{line}: {done.returncode} {done.stderr}"
    )


RUN_ROWS = [row for row in ROWS if row not in ("mcp", "hook", "complete", "merge-driver")]
READING = [row for row in RUN_ROWS if ROWS[row][2] == {"nothing"}]
# all that only read are run in one repository after another; what writes has one of its own
TOGETHER = [READING, *([row] for row in RUN_ROWS if row not in READING)]


def name_rows(rows: list[str]) -> str:
    return rows[0] if len(rows) == 1 else "all that read"


@pytest.mark.parametrize("rows", TOGETHER, ids=name_rows)
def test_a_command_does_no_more_than_its_row_says(
    rows: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = Copies(build_tame, tmp_path)
    for row, number, calls in list_calls(rows):
        files, started = dict[str, bytes](), set[str]()
        with monkeypatch.context() as patch:
            repo = copies.prepare(row, patch)
            # first with a server that fails, then with one that answers
            if number and row.startswith("memory "):
                serve_files(patch)

            def before(
                files: dict[str, bytes] = files,
                started: set[str] = started,
                root: Path = copies.root,
            ) -> None:
                files |= read_files(root)
                watch(patch, started)

            assert run_last(calls, repo, before) == ""
        after = read_files(copies.root)
        changed = [path for path in {*files, *after} if files.get(path) != after.get(path)]
        starts, connects, writes = ROWS[row]
        assert name_all(changed, PLACES) <= writes, (row, changed)
        assert name_all(started, PROGRAMS) <= starts, row
        assert "remote" in connects or not starts & {"transport"}, row


@pytest.mark.parametrize("rows", TOGETHER, ids=name_rows)
def test_what_the_configuration_names_is_started_where_the_row_says_so(
    rows: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = Copies(build_hostile, tmp_path)
    for row, _, calls in list_calls(rows):
        with monkeypatch.context() as patch:
            repo = copies.prepare(row, patch)
            marks = Path(repo.git("config", "checkpoint.memoryCommand").split()[0]).parent
            run_last(calls, repo, partial(take_marks, marks))
        assert name_all(take_marks(marks), MARKS) <= ROWS[row][0], row


def list_calls(rows: list[str]) -> Iterator[tuple[str, int, list[str]]]:
    """For each row: its name, and each of its lists of commands with its number."""
    for row in rows:
        for number, calls in enumerate(CALLS.get(row, [[row]])):
            yield row, number, calls


class Copies:
    """Copies of what build makes: the last one again for a row that only reads, else a new one."""

    def __init__(self, build: Callable[[Path], object], folder: Path) -> None:
        self._build, self._folder = build, folder
        self._count = 0

    @property
    def root(self) -> Path:
        return self._folder / str(self._count) / "copy"

    def prepare(self, row: str, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
        if row not in READING:
            self._count += 1
        return prepare(self._build, self.root, monkeypatch)


def test_every_command_has_a_row() -> None:
    assert {row.partition(" --")[0] for row in ROWS} == {*list_commands()}
    assert {row.partition(" --")[0] for row, cells in ROWS.items() if "pager" in cells[0]} == PAGED
    assert {word for cells in ROWS.values() for cell in cells for word in cell} - WORDS == {""}
