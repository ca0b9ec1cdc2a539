import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import layout, points, rollback
from checkpoint_git.protocols.restore.mechanisms import parts, sqlite
from checkpoint_git.protocols.restore.mechanisms.parts import request_databases
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.restore_points import create, go_back, load, run_script, workspace_of

needs_proc = pytest.mark.skipif(
    not os.path.isdir("/proc"), reason="without /proc only locks show who is connected"
)
SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]
MOVE_MONEY = """
import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
print("started", flush=True)
while True:
    c.execute("BEGIN IMMEDIATE")
    c.execute("UPDATE account SET money = money - 1 WHERE id = 1")
    c.execute("INSERT INTO log VALUES (hex(randomblob(50)))")
    c.execute("UPDATE account SET money = money + 1 WHERE id = 2")
    c.execute("COMMIT")
    time.sleep(0.002)
"""
WRITE_AND_WAIT = """
import sqlite3, sys, time
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA wal_autocheckpoint = 0")
c.execute("UPDATE account SET money = 666")
if len(sys.argv) > 2:
    c.execute("PRAGMA cache_size = 1"); c.execute("BEGIN"); c.execute("UPDATE account SET money = 999")
    for _ in range(500): c.execute("INSERT INTO log VALUES (hex(randomblob(500)))")
print("written", flush=True)
time.sleep(600)
"""


def make_bank(path: Path, mode: str = "wal") -> None:
    """A database with two accounts whose money is 1000 together, an index, a view and odd names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as bank:
        bank.execute(f"PRAGMA journal_mode = {mode}")
        bank.executescript("""
            CREATE TABLE account (id INTEGER PRIMARY KEY, money INTEGER);
            INSERT INTO account VALUES (1, 500), (2, 500);
            CREATE TABLE log (text TEXT);
            CREATE TABLE "odd ""name" (a, "b c" BLOB, PRIMARY KEY (a)) WITHOUT ROWID;
            INSERT INTO "odd ""name" VALUES ('x', x'00ff'), (1.5, NULL);
            CREATE INDEX by_money ON account (money);
            CREATE VIEW rich AS SELECT * FROM account WHERE money > 500;
            PRAGMA user_version = 7;
        """)


def read_money(path: Path) -> list[int]:
    """What the accounts hold, as SQLite reads it."""
    with closing(sqlite3.connect(path)) as bank:
        return [row[0] for row in bank.execute("SELECT money FROM account ORDER BY id")]


def spend(path: Path) -> None:
    """The mutation that is to be undone."""
    with closing(sqlite3.connect(path)) as bank, bank:
        bank.execute("UPDATE account SET money = 0")
        bank.execute("DROP TABLE log")


@contextmanager
def writer(path: Path, program: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A real process on the database; killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path), *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def crash(path: Path, *words: str) -> None:
    """A writer that dies without a word and leaves its side files."""
    with writer(path, WRITE_AND_WAIT, *words) as process:
        process.send_signal(signal.SIGKILL)


def make(
    root: Path, url: str = "sqlite:///app.db", asked: tuple[str, ...] = ()
) -> points.CreatedPoint:
    """A point of a database, and of files."""
    kind = "git_stash" if asked else "database_savepoint"
    return create(
        workspace_of(root), asked, "", kind, None, request_databases(workspace_of(root), [url])
    )


def go_back_to(root: Path, made: points.CreatedPoint) -> rollback.RolledBack:
    """The rollback."""
    return go_back(workspace_of(root), made.manifest)


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_database_goes_back_and_the_rollback_can_be_taken_back(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "app.db"
    make_bank(path, mode)
    path.chmod(0o640)
    made = make(tmp_path)
    before = sqlite.hash_content(str(path), frozen=False)
    spend(path)
    done = go_back_to(tmp_path, made)
    assert read_money(path) == [500, 500]
    assert sqlite.hash_content(str(path), frozen=False) == before
    assert path.stat().st_mode & 0o777 == 0o640
    assert [part.name for part in done.plan.parts] == ["sqlite:///app.db"]
    go_back(workspace_of(tmp_path), load(tmp_path, done.safety))
    assert read_money(path) == [0, 0]


@pytest.mark.parametrize("name", ["a?b.db", "a#b.db", "a%20b c.db"])
def test_a_database_of_any_name_goes_back(tmp_path: Path, name: str) -> None:
    make_bank(tmp_path / name)
    made = make(tmp_path, f"sqlite:///{name}")
    spend(tmp_path / name)
    go_back_to(tmp_path, made)
    assert read_money(tmp_path / name) == [500, 500]


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_copy_is_consistent_while_processes_write(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "app.db"
    make_bank(path, mode)
    with writer(path, MOVE_MONEY), writer(path, MOVE_MONEY):
        copies = [make(tmp_path) for _ in range(3)]
    for made in copies:
        copy = Path(made.location.folder) / made.parts[0].content
        assert sum(read_money(copy)) == 1000
    with closing(sqlite3.connect(path)) as bank:
        assert bank.execute("SELECT count(*) FROM log").fetchone()[0] > 0, "they did write"


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_making_a_point_leaves_no_side_files_and_changes_none(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "app.db"
    make_bank(path, mode)
    before = {file.name: file.read_bytes() for file in tmp_path.glob("app.db*")}
    make(tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.glob("app.db*")} == before
    if mode == "wal":
        crash(path)
        wal = (tmp_path / "app.db-wal").read_bytes()
        make(tmp_path)
        assert (tmp_path / "app.db-wal").read_bytes() == wal


def test_what_a_crashed_writer_left_is_in_the_copy(tmp_path: Path) -> None:
    make_bank(tmp_path / "app.db")
    crash(tmp_path / "app.db")
    made = make(tmp_path)
    assert read_money(Path(made.location.folder) / made.parts[0].content) == [666, 666]


def test_moving_a_file_back_under_a_leftover_wal_is_undone_by_it(tmp_path: Path) -> None:
    """The trap itself, without us: if this ever fails, SQLite has changed."""
    path = tmp_path / "app.db"
    make_bank(path)
    shutil.copyfile(path, tmp_path / "copy")
    crash(path)
    shutil.move(tmp_path / "copy", path)
    assert read_money(path) == [666, 666]


def test_a_rollback_is_not_undone_by_a_crashed_writer_s_wal(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    make_bank(path)
    made = make(tmp_path)
    crash(path)
    assert (tmp_path / "app.db-wal").stat().st_size > 0
    done = go_back_to(tmp_path, made)
    assert read_money(path) == [500, 500]
    go_back(workspace_of(tmp_path), load(tmp_path, done.safety))
    assert read_money(path) == [666, 666], (
        "what the crashed writer had written is kept by the safety point"
    )


def test_a_rollback_is_not_undone_by_a_hot_journal(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    make_bank(path, "delete")
    made = make(tmp_path)
    crash(path, "hot")
    assert (tmp_path / "app.db-journal").exists()
    go_back_to(tmp_path, made)
    assert read_money(path) == [500, 500]
    assert not (tmp_path / "app.db-journal").exists()


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_restore_sh_moves_what_a_crashed_writer_left_out_of_the_way(
    tmp_path: Path, mode: str, shell: str
) -> None:
    path = tmp_path / "it's odd/app.db"
    make_bank(path, mode)
    made = make(tmp_path, "sqlite:///it's odd/app.db")
    for number in range(2):
        crash(path, *(["hot"] if mode == "delete" else []))
        left = [
            side.name
            for side in path.parent.iterdir()
            if side != path and ".before-" not in side.name
        ]
        done = run_script(tmp_path, made, shell)
        assert done.returncode == 0, done.stderr
        aside = [side.name for side in path.parent.iterdir() if ".before-" in side.name]
        assert len(aside) == len(left) * (number + 1) > 0, "moved, never deleted"
        assert read_money(path) == [500, 500]


@needs_proc
@pytest.mark.parametrize("shell", SHELLS)
def test_restore_sh_refuses_while_a_process_is_connected(tmp_path: Path, shell: str) -> None:
    path = tmp_path / "app.db"
    make_bank(path)
    made = make(tmp_path)
    with writer(path, WRITE_AND_WAIT):
        done = run_script(tmp_path, made, shell)
        assert done.returncode == 1
        assert b"a process is connected" in done.stderr
        assert read_money(path) == [666, 666]


def test_restore_sh_puts_nothing_back_that_was_tampered_with(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    make_bank(path)
    made = make(tmp_path)
    spend(path)
    copy = Path(made.location.folder) / made.parts[0].content
    with closing(sqlite3.connect(copy)) as bank, bank:
        bank.execute("UPDATE account SET money = 1")
    done = run_script(tmp_path, made)
    assert (done.returncode, read_money(path)) == (1, [0, 0])
    assert b"damaged content" in done.stderr


@needs_proc
@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_rollback_is_refused_while_a_process_is_connected(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "app.db"
    make_bank(path, mode)
    made = make(tmp_path)
    count = len(os.listdir(tmp_path / layout.FOLDER))
    with writer(path, WRITE_AND_WAIT) as process:
        with pytest.raises(CheckpointError, match=f"in use by process {process.pid}"):
            go_back_to(tmp_path, made)
        assert read_money(path) == [666, 666]
    assert len(os.listdir(tmp_path / layout.FOLDER)) == count, (
        "no safety point of a rollback that was refused"
    )
    go_back_to(tmp_path, made)
    assert read_money(path) == [500, 500]


def test_a_connection_of_this_very_process_counts_too(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    make_bank(path)
    made = make(tmp_path)
    with closing(sqlite3.connect(path)) as bank:
        bank.execute("SELECT 1 FROM account").fetchall()
        with pytest.raises(CheckpointError, match="in use"):
            go_back_to(tmp_path, made)


def test_locks_tell_where_the_list_of_processes_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "app.db"
    make_bank(path)
    made = make(tmp_path)
    monkeypatch.setattr(sqlite, "find_users", lambda path: [])
    monkeypatch.setattr(sqlite, "_BUSY_MILLISECONDS", 50)
    with writer(path, WRITE_AND_WAIT), pytest.raises(CheckpointError, match="is in use"):
        go_back_to(tmp_path, made)


def test_a_damaged_database_can_be_rolled_back(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    make_bank(path)
    made = make(tmp_path)
    path.write_bytes(b"SQLite format 3\0" + b"\xee" * 5000)
    (tmp_path / "app.db-wal").write_bytes(b"rubbish")
    done = go_back_to(tmp_path, made)
    assert read_money(path) == [500, 500]
    safety = load(tmp_path, done.safety)
    kept = parts.read_parts(safety.value)[0]
    assert (
        (tmp_path / layout.FOLDER / done.safety / kept.content)
        .read_bytes()
        .startswith(b"SQLite format 3\0\xee")
    )


def test_a_database_that_breaks_its_own_rules_can_be_rolled_back(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    make_bank(path, "delete")
    with closing(sqlite3.connect(path, isolation_level=None)) as bank:
        bank.execute("CREATE TABLE ruled (a CHECK (a > 0))")
    made = make(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as bank:
        bank.executescript("PRAGMA ignore_check_constraints = ON; INSERT INTO ruled VALUES (-1)")
    done = go_back_to(tmp_path, made)
    assert read_money(path) == [500, 500]
    go_back(workspace_of(tmp_path), load(tmp_path, done.safety))
    with closing(sqlite3.connect(path)) as bank:
        assert bank.execute("SELECT a FROM ruled").fetchall() == [(-1,)]


def test_a_removed_database_comes_back_even_under_a_wal(tmp_path: Path) -> None:
    path = tmp_path / "data/app.db"
    make_bank(path)
    made = make(tmp_path, "sqlite:///data/app.db")
    crash(path)
    path.unlink()
    done = go_back_to(tmp_path, made)
    assert read_money(path) == [500, 500]
    assert any("app.db-wal was moved to" in text for text in done.notes)
    shutil.rmtree(path.parent)
    go_back_to(tmp_path, made)
    assert read_money(path) == [500, 500]
    go_back(workspace_of(tmp_path), load(tmp_path, done.safety))
    assert not path.exists()


def test_a_damaged_database_makes_no_point(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    make_bank(path, "delete")
    with closing(sqlite3.connect(path, isolation_level=None)) as bank:
        bank.executemany("INSERT INTO log VALUES (?)", [("x" * 500,)] * 200)
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 12] = b"\xee" * (4096 * 9)
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"app\.db cannot be captured"):
        make(tmp_path)
    assert os.listdir(tmp_path / layout.FOLDER) == []


def test_a_tampered_copy_is_found_and_stops_the_rollback(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    make_bank(path)
    made = make(tmp_path)
    spend(path)
    copy = Path(made.location.folder) / made.parts[0].content
    data = bytearray(copy.read_bytes())
    data[-1] ^= 1
    copy.write_bytes(data)
    assert parts.find_damage(made.location, made.parts) == ["sqlite:///app.db"]
    with pytest.raises(CheckpointError, match="lost or damaged"):
        go_back_to(tmp_path, made)
    assert read_money(path) == [0, 0]


def test_a_rollback_that_was_killed_is_finished_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "app.db"
    make_bank(path)
    made = make(tmp_path)
    spend(path)
    real = os.replace

    def die(source: str, target: str) -> None:
        if target == str(path):
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        go_back_to(tmp_path, made)
    monkeypatch.undo()
    count = len(os.listdir(tmp_path / layout.FOLDER))
    done = go_back_to(tmp_path, made)
    assert done.resumed
    assert read_money(path) == [500, 500]
    assert len(os.listdir(tmp_path / layout.FOLDER)) == count
    go_back(workspace_of(tmp_path), load(tmp_path, done.safety))
    assert read_money(path) == [0, 0]


def test_a_database_in_a_folder_of_the_scope_is_kept_once_and_as_a_database(repo: GitRepo) -> None:
    path = repo.path / "data/app.db"
    make_bank(path)
    repo.write("data/other", "1")
    made = make(repo.path, "sqlite:///data/app.db", ("data",))
    assert [entry.path for entry in made.entries if entry.kind == "file"] == ["data/other"]
    repo.write("data/other", "2")
    repo.write("data/new", "2")
    crash(path)
    done = go_back_to(repo.path, made)
    assert done.plan.remove == ["data/new"], "the -wal belongs to the database"
    assert read_money(path) == [500, 500]
    assert repo.read("data/other") == "1"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("sqlite:///../app.db", "outside the workspace"),
        ("sqlite:////etc/app.db", "outside the workspace"),
        ("sqlite:///.git/app.db", "outside the workspace"),
        ("sqlite://", "names no database file"),
        ("sqlite:///:memory:", "names no database file"),
        ("sqlite:///a.db?mode=ro", "names no database file"),
        ("sqlite:///nowhere.db", "no such database"),
        ("sqlite:///link.db", "is not a file"),
        ("sqlite:///way/app.db", "symbolic link"),
        ("sqlite:///secrets.key", "looks like a secret by its name"),
        ("sqlite:///text", "cannot be captured"),
        ("mysql://u:hush@h/db", "are not known"),
    ],
)
def test_what_is_no_database_of_the_workspace_is_refused(
    repo: GitRepo, url: str, told: str
) -> None:
    make_bank(repo.path.parent / "app.db")
    (repo.path / "link.db").symlink_to(repo.path.parent / "app.db")
    (repo.path / "way").symlink_to(repo.path.parent)
    repo.write("secrets.key", "")
    repo.write("text", "no database at all" * 100)
    done = run_here("rp", "create", "--database", url, cwd=repo.path)
    assert done.returncode == 2
    assert told in done.stderr
    assert "hush" not in done.stderr


def test_the_hash_sees_rows_types_schema_and_odd_tables(tmp_path: Path) -> None:
    changes = [
        "UPDATE account SET money = 501 WHERE id = 2",
        "UPDATE log SET text = text",
        "UPDATE account SET id = 3 WHERE id = 2",
        'UPDATE "odd ""name" SET "b c" = 1',
        "INSERT INTO log VALUES ('1')",
        "INSERT INTO log VALUES (x'31')",
        "CREATE TABLE more (x)",
        "DROP VIEW rich",
        "PRAGMA user_version = 8",
    ]
    hashes = []
    for number, change in enumerate(["SELECT 1", *changes]):
        path = tmp_path / f"{number}.db"
        make_bank(path, "delete")
        with closing(sqlite3.connect(path, isolation_level=None)) as bank:
            bank.execute(change)
        hashes.append(sqlite.hash_content(str(path), frozen=False))
    same = hashes.pop(2)
    assert same == hashes[0], "writing what is there already is not a change"
    assert len(set(hashes)) == len(hashes)


def test_files_states_and_databases_are_one_point(repo: GitRepo) -> None:
    make_bank(repo.path / "app.db")
    repo.write("src/a", "1")
    repo.write("run.json", "{}")
    words = ["create", "src", "--state", "run=run.json", "--database", "sqlite:///app.db", "--json"]
    value = json.loads(run_here("rp", *words, cwd=repo.path).stdout)
    assert value["checkpoint"]["type"] == "git_stash"
    assert value["restore_order"] == ["sqlite:///app.db", "files", "state:run"]
    assert any("close every connection" in text for text in value["prerequisites"])
    assert "1 file" in value["pre_mutation_state"]["summary"]
    assert "1 database" in value["pre_mutation_state"]["summary"]
    repo.write("src/a", "2")
    repo.write("run.json", "[]")
    spend(repo.path / "app.db")
    script = repo.path / value["checkpoint"]["restore_command"].removeprefix("sh ")
    assert subprocess.run(["/bin/sh", str(script)], cwd="/", check=False).returncode == 0
    assert (repo.read("src/a"), repo.read("run.json"), read_money(repo.path / "app.db")) == (
        "1",
        "{}",
        [500, 500],
    )
    spend(repo.path / "app.db")
    done = run_here("rp", "rollback", value["checkpoint_id"], "--json", cwd=repo.path)
    assert json.loads(done.stdout)["parts"] == ["sqlite:///app.db"]
    assert read_money(repo.path / "app.db") == [500, 500]
    dry = run_here("rp", "rollback", value["checkpoint_id"], "--dry-run", "--json", cwd=repo.path)
    assert json.loads(dry.stdout)["parts"] == []


def test_a_locked_database_is_waited_for_and_never_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "app.db"
    make_bank(path, "delete")
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as bank:
        bank.execute("BEGIN EXCLUSIVE")
        with pytest.raises(CheckpointError, match="is locked"):
            make(tmp_path)


def test_a_database_among_the_files_is_warned_of(repo: GitRepo) -> None:
    make_bank(repo.path / "data/app.db")
    repo.write("data/half", "x")
    repo.write("data/half-wal", "x")
    repo.write("data/no.db", "text")
    done = run_here("rp", "create", "data", "--json", cwd=repo.path)
    warnings = json.loads(done.stdout)["warnings"]
    assert [
        name
        for name in ("app.db", "half", "no.db")
        if f"sqlite:///data/{name} " in " ".join(warnings)
    ] == [
        "app.db",
        "half",
    ]


def test_a_table_of_many_columns_and_a_text_of_any_bytes_are_hashed(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as bank, bank:
        bank.execute(f"CREATE TABLE wide ({', '.join(f'c{number}' for number in range(1500))})")
        bank.execute("INSERT INTO wide (c7) VALUES (CAST(x'ff00fe' AS TEXT))")
    made = make(tmp_path)
    with closing(sqlite3.connect(path)) as bank, bank:
        bank.execute("UPDATE wide SET c7 = x'ff00fe'")
    assert [part.name for part in go_back_to(tmp_path, made).plan.parts] == ["sqlite:///app.db"]


def test_a_full_disk_is_no_reason_to_keep_less_than_the_database(tmp_path: Path) -> None:
    """Before a rollback a database that cannot be read is kept as a file; one for which there is no
    room is not.
    """
    make_bank(tmp_path / "app.db")
    with closing(sqlite3.connect(tmp_path / "app.db")) as bank, bank:
        bank.executemany("INSERT INTO log VALUES (?)", [("x" * 1000,)] * 3000)
    made = make(tmp_path)
    spend(tmp_path / "app.db")
    program = "import resource, sys, runpy; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)); "
    program += (
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); sys.argv[0] = 'checkpoint'; "
    )
    program += "from checkpoint_git.cli.app import main; sys.exit(main())"
    words = [sys.executable, "-c", program, "rp", "rollback", made.manifest.id]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert read_money(tmp_path / "app.db") == [0, 0]
