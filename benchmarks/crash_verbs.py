"""The commands that are stopped at each of their writes, each with the repository that it works
in.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.records import SHORT_RUN, TICKET, put_record
from tests.support.samples import checkpoint_text
from tests.support.workflows import OUTPUTS, execution, phase, task, write_output, write_workflow

SKILL = ".checkpoints/build.checkpoint.json"
WAYS = ("kill", "torn", "data", "names", "some")
Words = Sequence[str]


class Verb(NamedTuple):
    """prepare: fills an empty folder, in which `repo` is where the command runs. then: what runs
    after its death, the last of them is looked at. says: printed when the write is acknowledged.
    codes: of the command without a death.
    """

    name: str
    words: Words
    prepare: Callable[[Path], None]
    then: Sequence[Words]
    says: str = ""
    codes: tuple[int, ...] = (0,)
    uses_git: bool = False  # it writes through git, whose objects are looked at as well
    loose: tuple[str, ...] = ()  # beginnings of paths whose content may be another one
    ways: tuple[str, ...] = WAYS  # to die
    moves: bool = False  # it moves files to another place before it writes new ones
    adds: bool = False  # after a death halfway, the next one adds a restore point of what it found

    def may_differ(self, path: str) -> bool:
        return path.startswith(self.loose) if self.loose else False


def git(cwd: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(repo: Path, message: str = "change") -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--no-verify", "--allow-empty", "-m", message)


def put(repo: Path, name: str, text: str) -> None:
    path = repo / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def make_empty(root: Path) -> None:
    (root / "repo").mkdir()
    git(root / "repo", "init", "-q", "-b", "main", "--template=")


def make_project(root: Path, **changes: Any) -> None:
    make_empty(root)
    put(root / "repo", SKILL, checkpoint_text(**changes))
    put(root / "repo", "docs/plan.md", "the plan\n")
    commit(root / "repo", "start")


def make_question(root: Path) -> None:
    question = {
        "id": "b1",
        "description": "Which region?",
        "needs": "user_decision",
        "since": "2026-03-01T08:00:00Z",
    }
    make_project(root, blockers=[question])


def make_blocked(root: Path) -> None:
    make_project(root)
    run_self(root / "repo", "block", "build", "No account")


def make_long(root: Path) -> None:
    merged = [{"number": number, "title": f"Change {number}"} for number in range(1, 40)]
    decisions = [f"Decision {number}" for number in range(60)]
    primer = {
        "key_decisions": decisions,
        "generated_files": ["docs/plan.md"],
        "user_preferences": [],
    }
    make_project(root, context_primer=primer, skill_state={"merged_prs": merged})


def make_written(root: Path) -> None:
    make_project(root)
    run_self(root / "repo", "note", "build", "One thing")


def run_self(cwd: Path, *words: str) -> None:
    run_module(cwd, "checkpoint_git", *words)


def run_module(cwd: Path, *words: str) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent)}
    done = [sys.executable, "-m", *words]
    subprocess.run(
        done, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )


def make_set_up(root: Path) -> None:
    make_project(root)
    put(root / "repo", "AGENTS.md", "Ours.\n")
    run_self(root / "repo", "init")


def make_clones(root: Path) -> None:
    """A server, this clone with a change of its own, and a newer version on the server."""
    make_project(root)
    git(root, "clone", "-q", "--bare", "--template=", "repo", "server.git")
    git(root / "repo", "remote", "add", "origin", "../server.git")
    git(root / "repo", "fetch", "-q")
    git(root / "repo", "branch", "-q", "-u", "origin/main")
    git(root, "clone", "-q", "--template=", "server.git", "other")
    put(root / "other", SKILL, checkpoint_text(step="theirs", updated_at="2026-03-03T09:30:00Z"))
    put(root / "other", ".checkpoints/their.checkpoint.json", checkpoint_text(skill="their"))
    commit(root / "other", "theirs")
    git(root / "other", "push", "-q")
    put(root / "repo", SKILL, checkpoint_text(project="ours"))
    put(root / "repo", ".checkpoints/mine.checkpoint.json", checkpoint_text(skill="mine"))
    shutil.rmtree(root / "other")


def make_records(root: Path) -> None:
    make_project(root)
    put_record(root / "repo/records")


def make_workflow(root: Path) -> None:
    make_project(root)
    write_workflow(root / "repo", phase(user_checkpoints=[]))
    write_output(root / "repo", "docs/requirements.md", "x\n")
    write_output(root / "repo", OUTPUTS["REQUIREMENTS"])
    commit(root / "repo", "workflow")


def make_change(root: Path) -> None:
    make_project(root)
    (root / "repo/.git/info").mkdir()  # as git's own template has it
    put(root / "repo", "docs/plan.md", "the plan, changed\n")


def make_point(
    kind: str, then: Callable[[Path], None] = lambda repo: None
) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        make_project(root)
        repo = root / "repo"
        put(repo, "src/a.txt", "a\n")
        put(repo, "src/deep/b.txt", "b\n")
        commit(repo, "source")
        put(repo, "src/a.txt", "a, changed\n")
        run_self(repo, "restore-point", "create", "src", "--type", kind, "--reason", "before")
        then(repo)

    return make


def break_source(repo: Path) -> None:
    put(repo, "src/a.txt", "broken\n")
    (repo / "src/deep/b.txt").unlink()
    put(repo, "src/new.txt", "new\n")


def make_second_point(repo: Path) -> None:
    put(repo, "src/a.txt", "later\n")
    run_self(repo, "restore-point", "create", "src", "--reason", "second")


def make_turn(root: Path) -> None:
    """A tool call of an agent has its point, and the next one has changed files."""
    make_project(root)
    put(root / "repo", "src/a.txt", "a\n")
    run_module(root / "repo", "checkpoint_git.protocols.restore.snapshot")
    put(root / "repo", "src/a.txt", "b\n")
    put(root / "repo", "src/new.txt", "new\n")


def make_conflict(root: Path) -> None:
    make_set_up(root)
    repo = root / "repo"
    commit(repo, "set up")
    git(repo, "checkout", "-q", "-b", "side")
    put(
        repo,
        SKILL,
        checkpoint_text(status="blocked", phase="theirs", updated_at="2026-03-02T09:30:00Z"),
    )
    commit(repo, "side")
    git(repo, "checkout", "-q", "main")
    put(
        repo,
        SKILL,
        checkpoint_text(status="complete", phase="ours", updated_at="2026-03-02T09:30:00Z"),
    )
    commit(repo, "main")
    subprocess.run(["git", "merge", "-q", "side"], cwd=repo, capture_output=True, check=False)


def make_broken_graph(root: Path) -> None:
    make_project(root)
    others = {"type": "entity", "name": "else", "entityType": "person", "observations": ["x"]}
    (root / "graph.jsonl").write_text(json.dumps(others) + '\n{"type":"entity","na')
    git(root / "repo", "config", "checkpoint.memoryFile", str(root / "graph.jsonl"))


def make_moved_file(root: Path) -> None:
    make_project(root)
    git(root / "repo", "mv", "docs/plan.md", "docs/new-plan.md")
    commit(root / "repo", "move")


def make_claimed(root: Path) -> None:
    make_clones(root)
    run_self(root / "repo", "claim", "build")


def make_local_claim(root: Path) -> None:
    make_project(root)
    run_self(root / "repo", "claim", "build", "--remote", ".")


def make_behind(root: Path) -> None:
    make_clones(root)
    git(root / "repo", "checkout", "-q", "--", SKILL)
    (root / "repo/.checkpoints/mine.checkpoint.json").unlink()


def make_contradicting(root: Path) -> None:
    make_clones(root)
    put(
        root / "repo",
        SKILL,
        checkpoint_text(step="ours", phase="ours", updated_at="2026-03-03T09:30:00Z"),
    )


def make_broken_setup(root: Path) -> None:
    """What the doctor can fix in several places at once: files, hooks and settings."""
    make_set_up(root)
    repo = root / "repo"
    commit(repo, "set up")
    put(repo, ".checkpoints/other.checkpoint.json", checkpoint_text(skill="other"))
    git(repo, "mv", "docs/plan.md", "docs/new-plan.md")
    commit(repo, "move")
    (repo / ".gitattributes").unlink()
    git(repo, "config", "--unset-all", "merge.checkpoint.driver")
    (repo / ".git/hooks/pre-push").unlink()


def make_agents(root: Path) -> None:
    make_set_up(root)
    run_self(root / "repo", "init", "--agent", "claude,codex,gemini", "--ci", "github", "--schemas")


def make_other_json(root: Path) -> None:
    make_project(root)
    put(root / "repo", "data/a.json", "{}\n")
    put(root / "repo", "schema.json", '{"type": "object"}\n')


def make_framework(root: Path) -> None:
    make_project(root)
    put(root / "repo", ".pre-commit-config.yaml", "repos: []\n")


def make_tasks(*tasks: dict[str, Any], **changes: Any) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        make_project(root)
        write_workflow(root / "repo", phase("IMPLEMENTATION", **changes), execution(*tasks))
        commit(root / "repo", "workflow")

    return make


def make_state(root: Path) -> None:
    make_project(root)
    put(root / "repo", "state.json", '{"step": 1}\n')


def make_database(root: Path) -> None:
    import sqlite3

    make_project(root)
    with contextlib.closing(sqlite3.connect(root / "repo/data.db")) as connection:
        connection.execute("create table t (a)")
        connection.execute("insert into t values (1)")
        connection.commit()


def make_database_point(root: Path) -> None:
    import sqlite3

    make_database(root)
    run_self(
        root / "repo",
        "restore-point",
        "create",
        "--database",
        "sqlite:///data.db",
        "--reason",
        "before",
    )
    with contextlib.closing(sqlite3.connect(root / "repo/data.db")) as connection:
        connection.execute("delete from t")
        connection.commit()


def make_expired_point(root: Path) -> None:
    make_project(root)
    put(root / "repo", "src/a.txt", "a\n")
    run_self(
        root / "repo", "restore-point", "create", "src", "--reason", "before", "--expiry", "1s"
    )
    time.sleep(1.1)


def make_driver_files(root: Path) -> None:
    make_set_up(root)
    for name, changes in (("O", {}), ("A", {"step": "ours"}), ("B", {"project": "theirs"})):
        put(root / "repo", f".merge_file_{name}", checkpoint_text(**changes))


def make_lossy_merge(root: Path) -> None:
    """A merge that kept one side's whole file."""
    make_project(root)
    repo = root / "repo"
    for branch, decision in (("side", "Theirs"), ("main", "Ours")):
        git(repo, "checkout", "-q", "-B", branch, "HEAD" if branch == "side" else "main")
        primer = {
            "key_decisions": [decision],
            "generated_files": ["docs/plan.md"],
            "user_preferences": [],
        }
        put(repo, SKILL, checkpoint_text(context_primer=primer))
        commit(repo, decision)
    git(repo, "merge", "-q", "-s", "ours", "-m", "merge", "side")


_RECORD = (
    "pipeline",
    "write",
    "--base",
    "@ROOT@/repo/records",
    "--ticket-id",
    TICKET,
    "--run-id",
    SHORT_RUN,
)
_PAYLOAD = json.dumps(
    {"iteration_count": 2, "issue_fingerprints": ["foo:12"], "last_clean_sha": "a1b2c3d"}
)
_WRITE: Words = (
    *_RECORD,
    "--phase",
    "local_review",
    "--payload",
    _PAYLOAD,
    "--timestamp",
    "2026-03-02T09:30:00Z",
)
_WRITE = (*_WRITE, "--repo-commit-map", '{"web": "a1b2c3d"}', "--artifact-paths", '["src/foo.py"]')
_REPAIR: Words = ("memory", "doctor", "--fix", "--yes")
_NOTE = (("note", "build", "And then"),)
_START = ("workflow", "start", "login")
# phase.json says first that a write is under way (interruption_safe), and last that it is over
_STATE = ("repo/memory/state/phase.json",)
# the log of restore points keeps a line that was cut off: that it is broken is to be seen
_LOG = ("repo/.audit/",)
_POINT = ("restore-point", "create", "src")
_BACK: Words = ("restore-point", "rollback", "latest")
_AUTO: Words = ("restore-point", "rollback", "@AUTO@")
_STATE_POINT: Words = ("restore-point", "create", "--state", "run=state.json", "--reason", "before")
_DATABASE: Words = (
    "restore-point",
    "create",
    "--database",
    "sqlite:///data.db",
    "--reason",
    "before",
)
_POINT_OF_DOCS: Words = ("restore-point", "create", "docs")
_EXPIRED: Words = ("restore-point", "gc", "--expired")
_TURN = (("point", "s end of a turn"),)
_FRESH: Words = ("workflow", "resume", "--fresh")
_COPIES = ("./graph.jsonl.broken-",)  # each repair keeps a copy
_SAVED: Words = ("workflow", "save", "--note", "after")
_AGENTS: Words = (
    "init",
    "--agent",
    "claude,codex,gemini,cursor,generic",
    "--agent-guard",
    "--ci",
    "gitlab",
)
_PATTERNS: Words = ("init", "data/*.json", "--schema", "schema.json")
_DRIVER: Words = ("driver", ".merge_file_O", ".merge_file_A", ".merge_file_B", "7", SKILL)
_WHEN = "2026-03-02T09:00:00Z"
VERBS = (
    Verb("update", ("update", "build", "--step=sprint-3"), make_project, _NOTE, "build"),
    Verb(
        "start",
        ("update", "fresh", "--next+=Begin"),
        make_project,
        (("update", "fresh", "--next+=Begin"),),
        "fresh",
    ),
    Verb("note", ("note", "build", "Use SQLite"), make_project, _NOTE, "build"),
    Verb("decide", ("decide", "build", "eu-west"), make_question, _NOTE, "build"),
    Verb("done", ("done", "build"), make_project, _NOTE, "build"),
    Verb("undo", ("undo", "build"), make_written, _NOTE, "build"),
    Verb("reset", ("reset", "build"), make_project, (("update", "build", "--next+=Begin"),)),
    Verb("rotate", ("rotate",), make_long, (("rotate",),)),
    Verb("init", ("init",), make_project, (("init",),)),
    Verb(
        "init agents",
        ("init", "--agent", "claude", "--ci", "github"),
        make_set_up,
        (("init", "--agent", "claude"),),
    ),
    Verb("uninstall", ("uninstall",), make_set_up, (("uninstall",),)),
    Verb("sync", ("sync",), make_clones, (("sync",),), uses_git=True),
    Verb(
        "sync branch",
        ("sync", "--branch", "states"),
        make_clones,
        (("sync", "--branch", "states"),),
        uses_git=True,
    ),
    Verb("pipeline write", _WRITE, make_records, (_WRITE,)),
    Verb("workflow start", _START, make_project, (_START,), loose=_STATE),
    Verb(
        "workflow advance",
        ("workflow", "advance", "--yes"),
        make_workflow,
        (("workflow", "save"),),
        loose=_STATE,
    ),
    Verb(
        "restore create",
        (*_POINT, "--type", "git_stash"),
        make_point("git_stash"),
        (_POINT,),
        uses_git=True,
        loose=_LOG,
    ),
    Verb("restore first", _POINT_OF_DOCS, make_change, (_POINT_OF_DOCS,), "go back", loose=_LOG),
    Verb(
        "restore backup",
        (*_POINT, "--type", "file_backup"),
        make_point("file_backup"),
        (_POINT,),
        loose=_LOG,
    ),
    Verb(
        "restore rollback",
        ("restore-point", "rollback", "latest"),
        make_point("git_stash", break_source),
        (("restore-point", "rollback", "latest"), _POINT),
        uses_git=True,
        loose=_LOG,
    ),
    Verb(
        "restore rollback backup",
        ("restore-point", "rollback", "latest"),
        make_point("file_backup", break_source),
        (("restore-point", "rollback", "latest"), _POINT),
        loose=_LOG,
    ),
    Verb(
        "restore gc",
        ("restore-point", "gc", "--keep", "1"),
        make_point("git_stash", make_second_point),
        (("restore-point", "gc", "--keep", "1"),),
        uses_git=True,
        loose=_LOG,
    ),
    Verb("memory doctor fix", _REPAIR, make_broken_graph, (_REPAIR,), loose=_COPIES),
    Verb(
        "resolve",
        ("resolve", "--take", "theirs"),
        make_conflict,
        (("resolve", "--take", "theirs"),),
        uses_git=True,
    ),
    Verb("doctor fix", ("doctor", "--fix"), make_moved_file, (("doctor", "--fix"),), codes=(0, 1)),
    Verb("report", ("report",), make_project, (("report",),), codes=(0, 1)),
    Verb("ask", ("ask", "build", "Which?"), make_project, _NOTE, "build"),
    Verb("block", ("block", "build", "No account"), make_project, _NOTE, "build"),
    Verb("drop", ("drop", "build", "--why", "Not needed"), make_project, _NOTE, "build"),
    Verb(
        "claim", ("claim", "build"), make_clones, (("claim", "build"),), "is yours", uses_git=True
    ),
    Verb(
        "claim here",
        ("claim", "build", "--remote", "."),
        make_project,
        (("claim", "build"),),
        "is yours",
        uses_git=True,
    ),
    Verb(
        "release",
        ("release", "build"),
        make_claimed,
        (("release", "build"),),
        "is released",
        uses_git=True,
    ),
    Verb(
        "release here",
        ("release", "build"),
        make_local_claim,
        (("release", "build"),),
        "is released",
        uses_git=True,
    ),
    Verb("sync behind", ("sync",), make_behind, (("sync",),), uses_git=True),
    Verb(
        "sync only",
        ("sync", "--only", "build"),
        make_clones,
        (("sync", "--only", "build"),),
        uses_git=True,
    ),
    Verb(
        "sync take",
        ("sync", "--take", "ours"),
        make_contradicting,
        (("sync", "--take", "ours"),),
        uses_git=True,
    ),
    Verb(
        "doctor fix all",
        ("doctor", "--fix"),
        make_broken_setup,
        (("doctor", "--fix"),),
        codes=(0, 1),
    ),
    Verb("init schemas", ("init", "--schemas"), make_set_up, (("init", "--schemas"),)),
    Verb("init patterns", _PATTERNS, make_other_json, (_PATTERNS,)),
    Verb("init framework", ("init",), make_framework, (("init",),)),
    Verb("init every agent", _AGENTS, make_set_up, (_AGENTS,)),
    Verb("uninstall all", ("uninstall",), make_agents, (("uninstall",),)),
    Verb("restore state", _STATE_POINT, make_state, (_STATE_POINT,), loose=_LOG),
    Verb("restore database", _DATABASE, make_database, (_DATABASE,), loose=_LOG),
    Verb(
        "restore rollback database",
        _BACK,
        make_database_point,
        (_BACK, _POINT_OF_DOCS),
        loose=(*_LOG, "repo/data.db"),
    ),
    Verb(
        "restore gc expired", _EXPIRED, make_expired_point, (_EXPIRED,), loose=_LOG, uses_git=True
    ),
    Verb(
        "restore drop",
        ("restore-point", "drop", "latest"),
        make_point("file_backup"),
        (_POINT,),
        loose=_LOG,
    ),
    Verb(
        "restore operation",
        (*_BACK, "--operation"),
        make_point("git_stash", break_source),
        (_BACK, _POINT),
        loose=_LOG,
        uses_git=True,
    ),
    *(
        Verb(
            f"workflow task {words[0]}",
            ("workflow", "task", *words),
            make_tasks(*tasks),
            (_SAVED,),
            loose=_STATE,
        )
        for words, tasks in (
            (("add", "t2"), (task(),)),
            (("start", "t1"), (task(),)),
            (("done", "t1"), (task("t1", "in_progress", started_at=_WHEN),)),
            (("fail", "t1", "--error", "it broke"), (task("t1", "in_progress", started_at=_WHEN),)),
            (("block", "t1", "--error", "no key"), (task(),)),
        )
    ),
    *(
        Verb(f"workflow {words[0]}", ("workflow", *words), make, (_SAVED,), loose=_STATE)
        for words, make in (
            (("approve", "REQUIREMENTS"), make_workflow),
            (("reject", "--note", "too long"), make_workflow),
            (("fail", "--error", "it broke"), make_workflow),
            (("back", "REQUIREMENTS"), make_tasks(task())),
            (("save", "--note", "next"), make_workflow),
            (("recover",), make_tasks(task("t1", "in_progress", started_at=_WHEN))),
            (("resume", "--yes"), make_tasks(task())),
        )
    ),
    Verb("workflow archive", ("workflow", "archive"), make_workflow, (_START,), loose=_STATE),
    Verb(
        "workflow fresh", _FRESH, make_workflow, (_START,), loose=_STATE, moves=True, codes=(0, 1)
    ),
    Verb("pipeline first", _WRITE, make_project, (_WRITE,)),
    Verb("agent points first", ("point", "s before Edit"), make_project, _TURN, uses_git=True),
    Verb("agent points", ("point", "s before Bash"), make_turn, _TURN, uses_git=True),
    Verb("agent points end", ("point", "s end of a turn"), make_turn, _TURN, uses_git=True),
    Verb(
        "agent points back", _AUTO, make_turn, (_AUTO, _POINT), uses_git=True, loose=_LOG, adds=True
    ),
    Verb("unblock", ("unblock", "build", "No account"), make_blocked, _NOTE, "build"),
    Verb("driver", _DRIVER, make_driver_files, (("hook", "post-commit"),), ways=("kill", "torn")),
    Verb(
        "audit fix",
        ("audit", "--fix"),
        make_lossy_merge,
        (("audit", "--fix"),),
        uses_git=True,
        codes=(0, 1),
    ),
    Verb("status", ("status",), make_clones, (("status",),), codes=(0, 1)),
    Verb("doctor", ("doctor",), make_set_up, (("doctor",),), codes=(0, 1)),
    Verb("prime", ("prime",), make_set_up, (("prime",),), codes=(0, 1)),
)
