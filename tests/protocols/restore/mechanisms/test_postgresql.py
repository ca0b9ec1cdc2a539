import json
import os
import shlex
import stat
import subprocess
import time
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import layout, points, rollback, store
from checkpoint_git.protocols.restore.contents import Part
from checkpoint_git.protocols.restore.mechanisms import parts, postgresql_client
from checkpoint_git.protocols.restore.mechanisms.contract import Means
from checkpoint_git.protocols.restore.mechanisms.parts import request_databases
from checkpoint_git.protocols.restore.mechanisms.postgresql import write_lines
from checkpoint_git.protocols.restore.mechanisms.postgresql_client import (
    open_session,
    read_url,
    write_url,
)
from checkpoint_git.protocols.restore.rules import is_connection
from tests.support.command import run_here
from tests.support.postgres import Server
from tests.support.restore_points import create, go_back, roll_back, run_script, workspace_of
from tests.support.rows import rows

pytestmark = pytest.mark.deep
PASSWORD = "s3cret"  # noqa: S105 - of a server that lives as long as these tests
SHOP = """
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE TABLE customer (id serial PRIMARY KEY, name text NOT NULL, mood mood DEFAULT 'good');
CREATE TABLE "Order ""x" (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer int NOT NULL REFERENCES customer,
  total numeric(10, 2) CHECK (total >= 0), at timestamptz DEFAULT '2026-01-01');
CREATE VIEW sales AS SELECT c.name, sum(o.total) AS total FROM customer c JOIN "Order ""x" o ON o.customer = c.id
  GROUP BY c.name;
CREATE MATERIALIZED VIEW frozen AS SELECT * FROM sales;
CREATE TABLE account (id int PRIMARY KEY, money int);
CREATE TABLE measured (at date, value float8) PARTITION BY RANGE (at);
CREATE TABLE measured_26 PARTITION OF measured FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
INSERT INTO customer (name) VALUES ('ann'), ('bob; DROP TABLE customer');
INSERT INTO "Order ""x" (customer, total) VALUES (1, 2.50), (2, 10);
INSERT INTO account VALUES (1, 500), (2, 500);
INSERT INTO measured VALUES ('2026-03-01', 0.1);
"""
MIGRATION_THAT_FAILED = """
CREATE TABLE extra (id int PRIMARY KEY, customer int REFERENCES customer);
CREATE VIEW looks AS SELECT * FROM extra JOIN customer USING (id);
ALTER TABLE customer ADD COLUMN age int;
ALTER TABLE account ADD CONSTRAINT owned FOREIGN KEY (id) REFERENCES customer;
DELETE FROM "Order ""x";
DROP TABLE measured;
UPDATE customer SET name = 'x';
INSERT INTO customer (name) VALUES ('new');
"""
LOOK = """
SELECT id, name, mood FROM customer ORDER BY id; SELECT * FROM "Order ""x" ORDER BY id;
SELECT * FROM sales ORDER BY 1; SELECT * FROM account ORDER BY id; SELECT * FROM measured;
SELECT last_value FROM customer_id_seq; SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace;
"""


def make(root: Path, url: str, *tables: str) -> points.CreatedPoint:
    """A point of a database."""
    wanted = request_databases(workspace_of(root), [url], tables)
    return create(workspace_of(root), [], "", "database_savepoint", None, wanted)


@pytest.fixture
def shop(server: Server, database: str) -> str:
    """A database with foreign keys, views, partitions, sequences and odd names."""
    server.sql(SHOP, database)
    return database


def test_a_whole_database_goes_back_and_the_rollback_can_be_taken_back(
    server: Server, shop: str, tmp_path: Path
) -> None:
    before = server.sql(LOOK, shop)
    made = make(tmp_path, server.url(shop))
    server.sql(MIGRATION_THAT_FAILED, shop)
    done = roll_back(tmp_path, made.manifest.id)
    assert server.sql(LOOK, shop) == before
    assert [*done.notes] == [], "the server is as old as then"
    assert server.sql("SELECT to_regclass('extra'), to_regclass('looks')", shop) == "|"
    with pytest.raises(AssertionError, match="foreign key"):
        server.sql('INSERT INTO "Order ""x" (customer, total) VALUES (99, 1)', shop)
    roll_back(tmp_path, done.safety)
    assert server.sql("SELECT name, age FROM customer ORDER BY id", shop) == "x|\nx|\nnew|"
    assert server.sql("SELECT count(*) FROM looks", shop) == "0"


def test_the_tables_that_are_named_go_back_and_no_others(
    server: Server, shop: str, tmp_path: Path
) -> None:
    made = make(tmp_path, server.url(shop), "customer", 'public.Order "x', "sales", "public.frozen")
    assert made.parts[0].details["tables"] is not None
    server.sql(
        """UPDATE customer SET name = 'x'; DELETE FROM "Order ""x"; UPDATE account SET money = 0""",
        shop,
    )
    done = roll_back(tmp_path, made.manifest.id)
    assert (
        server.sql("SELECT name, total FROM sales ORDER BY 1", shop)
        == "ann|2.50\nbob; DROP TABLE customer|10.00"
    )
    assert server.sql("SELECT sum(money) FROM account", shop) == "0"
    roll_back(tmp_path, done.safety)
    assert server.sql("SELECT count(*) FROM sales", shop) == "0"


def test_a_table_that_was_dropped_comes_back_and_goes_again(
    server: Server, shop: str, tmp_path: Path
) -> None:
    made = make(tmp_path, server.url(shop), "account")
    server.sql("DROP TABLE account", shop)
    done = roll_back(tmp_path, made.manifest.id)
    assert server.sql("SELECT sum(money) FROM account", shop) == "1000"
    roll_back(tmp_path, done.safety)
    assert server.sql("SELECT to_regclass('account')", shop) == ""


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        (["customer"], 'public."Order ""x" refers to public.customer'),
        (["customer", 'Order "x'], "public.sales looks at public.customer"),
        (["measured"], "public.measured_26 is a part of public.measured"),
        (["measured_26"], "public.measured is made up of public.measured_26"),
        (["nowhere"], "no such table: nowhere"),
    ],
)
def test_tables_that_cannot_go_back_alone_are_refused(
    server: Server, shop: str, tmp_path: Path, tables: list[str], told: str
) -> None:
    with pytest.raises(CheckpointError) as caught:
        make(tmp_path, server.url(shop), *tables)
    assert told in caught.value.message
    assert os.listdir(tmp_path / layout.FOLDER) == []


def test_the_hint_of_a_refusal_can_be_followed(server: Server, shop: str, tmp_path: Path) -> None:
    import shlex

    url, named = server.url(shop), ["--table", "customer"]
    for _ in range(3):
        done = run_here("rp", "create", "--database", url, *named, cwd=tmp_path)
        if done.returncode == 0:
            break
        named += shlex.split(done.stderr.partition("name these too: ")[2].partition("; or")[0])
    assert done.returncode == 0, done.stderr
    assert "public.frozen" in named


def test_what_was_made_since_and_depends_on_a_table_stops_its_rollback_as_a_whole(
    server: Server, shop: str, tmp_path: Path
) -> None:
    made = make(tmp_path, server.url(shop), "account")
    server.sql("CREATE VIEW rich AS SELECT * FROM account; UPDATE account SET money = 0", shop)
    with pytest.raises(CheckpointError, match="other objects depend on it"):
        roll_back(tmp_path, made.manifest.id)
    assert server.sql("SELECT sum(money) FROM rich", shop) == "0"
    server.sql("DROP VIEW rich", shop)
    assert roll_back(tmp_path, made.manifest.id).resumed
    assert server.sql("SELECT sum(money) FROM account", shop) == "1000"


def test_a_dump_is_consistent_while_others_write(server: Server, shop: str, tmp_path: Path) -> None:
    step = "BEGIN; UPDATE account SET money = money - 1 WHERE id = 1; SELECT pg_sleep(0.002);"
    step += "UPDATE account SET money = money + 1 WHERE id = 2; COMMIT;\n"
    (tmp_path / "steps.sql").write_text(step * 5000)
    words = [
        str(server.bin / "psql"),
        "-X",
        "-q",
        "-h",
        str(server.folder),
        "-U",
        "postgres",
        "-d",
        shop,
    ]
    with subprocess.Popen(
        [*words, "-f", str(tmp_path / "steps.sql")], stdout=subprocess.DEVNULL
    ) as writer:
        made = [make(tmp_path, server.url(shop)) for _ in range(2)]
        writer.kill()
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
               "AND pid <> pg_backend_pid()", shop)  # fmt: skip
    assert server.sql("SELECT money FROM account WHERE id = 1", shop) != "500", "they did write"
    for one in made:
        roll_back(tmp_path, one.manifest.id)  # compares the rows with the hash of the same instant
        assert server.sql("SELECT sum(money) FROM account", shop) == "1000"


def test_a_rollback_that_was_killed_is_finished_by_the_next_one(
    server: Server, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path, server.url(shop))
    server.sql(MIGRATION_THAT_FAILED, shop)

    def die(*words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rollback, "_check_result", die)
    with pytest.raises(KeyboardInterrupt):
        roll_back(tmp_path, made.manifest.id)
    monkeypatch.undo()
    monkeypatch.setenv("PATH", server.env()["PATH"])
    done = roll_back(tmp_path, made.manifest.id)
    assert done.resumed
    roll_back(tmp_path, done.safety)
    assert server.sql("SELECT count(*) FROM looks", shop) == "0"


def test_a_lock_that_somebody_holds_stops_the_rollback_in_time(
    server: Server, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(tmp_path, server.url(shop))
    monkeypatch.setattr(postgresql_client, "_LOCK_PATIENCE", "-c lock_timeout=200")
    words = [
        str(server.bin / "psql"),
        "-X",
        "-A",
        "-t",
        "-q",
        "-h",
        str(server.folder),
        "-U",
        "postgres",
        "-d",
        shop,
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdin.write(b"BEGIN; SELECT count(*) FROM account;\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == b"2\n"
        server.sql("UPDATE customer SET name = 'x'", shop)
        with pytest.raises(CheckpointError) as caught:
            roll_back(tmp_path, made.manifest.id)
        assert "has locked these tables" in str(caught.value.hint)
    roll_back(tmp_path, made.manifest.id)
    assert server.sql("SELECT count(*) FROM customer WHERE name = 'x'", shop) == "0"


def test_a_tampered_dump_is_found_and_stops_the_rollback(
    server: Server, shop: str, tmp_path: Path
) -> None:
    made = make(tmp_path, server.url(shop))
    server.sql("UPDATE account SET money = 0", shop)
    path = Path(made.location.folder) / made.parts[0].content
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.write_bytes(data)
    assert len(parts.find_damage(made.location, made.parts)) == 1
    with pytest.raises(CheckpointError, match="lost or damaged"):
        roll_back(tmp_path, made.manifest.id)
    done = run_script(tmp_path, made)
    assert done.returncode == 1
    assert b"lost or damaged" in done.stderr
    assert server.sql("SELECT sum(money) FROM account", shop) == "0"


def test_restore_sh_puts_the_tables_back(server: Server, shop: str, tmp_path: Path) -> None:
    before = server.sql(LOOK, shop)
    made = make(tmp_path, server.url(shop))
    server.sql("UPDATE customer SET name = 'x'; DROP VIEW sales CASCADE", shop)
    for _ in range(2):
        done = run_script(tmp_path, made)
        assert done.returncode == 0, done.stderr
        assert server.sql(LOOK, shop) == before
    server.sql(MIGRATION_THAT_FAILED, shop)
    done = run_script(tmp_path, made)
    assert done.returncode == 1, "tables made since depend on what it replaces"
    assert server.sql("SELECT count(*) FROM looks", shop) == "0", "all of it or nothing"


def test_restore_sh_quotes_names(server: Server, database: str, tmp_path: Path) -> None:
    odd = f"it's $(touch {tmp_path}/run) {database}"
    server.sql(f'CREATE DATABASE "{odd}"')
    server.sql("CREATE TABLE t (a int); INSERT INTO t VALUES (1)", odd)
    made = make(tmp_path, server.url(odd.replace(" ", "%20").replace("/", "%2F")))
    server.sql("DELETE FROM t", odd)
    done = run_script(tmp_path, made)
    assert done.returncode == 0, done.stderr
    assert server.sql("SELECT count(*) FROM t", odd) == "1"
    assert not (tmp_path / "run").exists()


# passwords and programs


@pytest.fixture
def guarded(server: Server, database: str) -> str:
    """A database of somebody who has a password."""
    server.sql(
        "DO $$ BEGIN CREATE ROLE keeper LOGIN PASSWORD 's3cret'; EXCEPTION WHEN duplicate_object THEN END $$"
    )
    server.sql(f"ALTER DATABASE {database} OWNER TO keeper")
    server.sql("SET ROLE keeper; CREATE TABLE t (a int); INSERT INTO t VALUES (1)", database)
    return database


def test_a_password_is_found_nowhere(server: Server, guarded: str, tmp_path: Path) -> None:
    """Neither in a file, nor in an answer, nor in the command line of any program that is
    started.
    """
    seen = tmp_path / "seen"
    for tool in ("psql", "pg_dump", "pg_restore"):
        wrapper = tmp_path / "bin" / tool
        wrapper.parent.mkdir(exist_ok=True)
        program = shlex.quote(f"{server.bin}/{tool}")
        wrapper.write_text(
            f'#!/bin/sh\ntr "\\0" " " < /proc/$$/cmdline >> {shlex.quote(str(seen))}\nexec {program} "$@"\n'
        )
        wrapper.chmod(0o755)
    env = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    work = tmp_path / "work"
    work.mkdir()
    url = server.url(guarded, "keeper", PASSWORD)
    created = run_here("rp", "create", "--database", url, "--json", cwd=work, env=env)
    assert created.returncode == 0, created.stderr
    assert "is not kept" in created.stdout
    point = json.loads(created.stdout)["checkpoint_id"]
    server.sql("DELETE FROM t", guarded)
    bare = run_here("rp", "rollback", point, cwd=work, env=env)
    assert bare.returncode == 2
    assert "PGPASSWORD" in bare.stderr
    wrong = run_here("rp", "rollback", point, cwd=work, env={**env, "PGPASSWORD": "wr0ng"})
    assert wrong.returncode == 2
    done = run_here("rp", "rollback", point, cwd=work, env={**env, "PGPASSWORD": PASSWORD})
    assert done.returncode == 0, done.stderr
    assert server.sql("SELECT count(*) FROM t", guarded) == "1"
    script = work / layout.FOLDER / point / layout.RESTORE_SCRIPT
    ran = subprocess.run(
        ["/bin/sh", script],
        env={**os.environ, **env, "PGPASSWORD": PASSWORD},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert b"pg_dump" in seen.read_bytes()
    files = [seen, *(path for path in work.rglob("*") if path.is_file())]
    assert [
        path
        for path in files
        if PASSWORD.encode() in path.read_bytes() or b"wr0ng" in path.read_bytes()
    ] == []
    told = created.stdout + created.stderr + bare.stderr + wrong.stderr + done.stdout
    assert PASSWORD not in told
    assert "wr0ng" not in told


def test_a_password_comes_from_pgpass(server: Server, guarded: str, tmp_path: Path) -> None:
    secret = tmp_path / "pass"
    secret.write_text(f"*:*:*:keeper:{PASSWORD}\n")
    secret.chmod(stat.S_IRUSR)
    env = {"PGPASSFILE": str(secret)}
    done = run_here(
        "rp", "create", "--database", server.url(guarded, "keeper"), cwd=tmp_path, env=env
    )
    assert done.returncode == 0, done.stderr


def test_a_caller_hands_a_password_over(server: Server, guarded: str, tmp_path: Path) -> None:
    made = make(tmp_path, server.url(guarded, "keeper", PASSWORD))
    server.sql("DELETE FROM t", guarded)
    means = Means(passwords={made.parts[0].name: PASSWORD})
    go_back(workspace_of(tmp_path), made.manifest, None, means)
    assert server.sql("SELECT count(*) FROM t", guarded) == "1"


@pytest.mark.parametrize("missing", ["pg_dump", "psql", "pg_restore"])
def test_a_program_that_is_not_installed_is_said(
    server: Server, shop: str, tmp_path: Path, missing: str
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in {"psql", "pg_dump", "pg_restore"} - {missing}:
        (folder / tool).symlink_to(server.bin / tool)
    done = run_here(
        "rp", "create", "--database", server.url(shop), cwd=tmp_path, env={"PATH": str(folder)}
    )
    assert done.returncode == 2
    assert f"{missing} is not installed" in done.stderr
    assert "client programs" in done.stderr


def test_programs_that_are_older_than_the_server_are_said(
    server: Server, shop: str, tmp_path: Path
) -> None:
    env = {"PATH": f"{server.old_bin}:{os.environ['PATH']}"}
    done = run_here("rp", "create", "--database", server.url(shop), cwd=tmp_path, env=env)
    assert done.returncode == 2
    assert "server version mismatch" in done.stderr
    assert "at least as new as the server" in done.stderr
    assert not [name for name in os.listdir(tmp_path / layout.FOLDER) if "chk_" in name]


def test_a_server_that_does_not_answer_is_said(server: Server, tmp_path: Path, shop: str) -> None:
    done = run_here(
        "rp", "create", "--database", f"postgresql://u@/x?host={tmp_path}", cwd=tmp_path
    )
    assert done.returncode == 2
    assert "psql: " in done.stderr
    assert "psql: psql: " not in done.stderr


def test_a_whole_point_is_made_and_verified_by_the_command(
    server: Server, shop: str, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("1")
    words = ["rp", "create", "a", "--database", server.url(shop), "--table", "account", "--json"]
    value = json.loads(run_here(*words, cwd=tmp_path).stdout)
    point = value["checkpoint_id"]
    assert value["checkpoint"]["type"] == "file_backup"
    assert value["confidence"] == 1.0
    assert any("pg_restore" in text for text in value["prerequisites"])
    server.sql("UPDATE account SET money = 0", shop)
    (tmp_path / "a").write_text("2")
    dry = json.loads(run_here("rp", "rollback", point, "--dry-run", "--json", cwd=tmp_path).stdout)
    assert dry["parts"] == [server.url(shop)]
    assert run_here("rp", "verify", point, cwd=tmp_path).returncode == 0
    done = run_here("rp", "rollback", point, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert server.sql("SELECT sum(money) FROM account", shop) == "1000"
    assert (tmp_path / "a").read_text() == "1"
    undone = run_here(
        "rp", "rollback", json.loads(done.stdout)["safety_checkpoint_id"], cwd=tmp_path
    )
    assert undone.returncode == 0, undone.stderr
    assert server.sql("SELECT sum(money) FROM account", shop) == "0"


def test_a_dump_that_is_not_known_to_be_ours_is_never_run(
    server: Server, shop: str, tmp_path: Path
) -> None:
    created = run_here("rp", "create", "--database", server.url(shop), "--json", cwd=tmp_path)
    point = json.loads(created.stdout)["checkpoint_id"]
    server.sql("UPDATE account SET money = 0", shop)
    (tmp_path / layout.AUDIT_LOG).unlink()
    done = run_here("rp", "rollback", point, cwd=tmp_path)
    assert done.returncode == 2
    assert "has an untrusted database" in done.stderr
    assert server.sql("SELECT sum(money) FROM account", shop) == "0"


@pytest.mark.parametrize(
    "change",
    [
        {"tables": 5},
        {"held": None},
        {"held": [["a", "b"]]},
        {"connection": {"dbname": "host=evil"}},
    ],
)
def test_a_stranger_s_details_are_refused(
    server: Server, shop: str, tmp_path: Path, change: dict[str, object]
) -> None:
    made = make(tmp_path, server.url(shop))
    part = made.manifest.value["parts"][0]
    value = {**made.manifest.value, "parts": [{**part, "details": {**part["details"], **change}}]}
    data = store.write_text({**value, "digest": store.find_digest(value)})
    assert "details of a part" in store.parse_manifest(made.manifest.id, data).trouble


# URLs and programs, without a server


@rows(
    ("url", "name", "password"),
    [
        ("postgresql://u:hush@h:5433/d", "postgresql://u@h:5433/d", "hush"),
        ("postgresql+psycopg://u:hu%40sh@h/d", "postgresql://u@h/d", "hu@sh"),
        ("postgres://u@h/d?password=hush&sslmode=require", "postgresql://u@h/d", "hush"),
        ("postgresql:///d", "postgresql:///d", None),
        ("postgresql://u@/a%20b?host=/run/pg", "postgresql://u@/a%20b?host=/run/pg", None),
        ("postgresql://u@[::1]/d", "postgresql://u@[::1]/d", None),
    ],
)
def test_a_url_is_named_without_its_password(url: str, name: str, password: str | None) -> None:
    connection, found = read_url(url)
    assert (write_url(connection), found) == (name, password)
    assert read_url(name)[0].keys() <= connection.keys()
    assert is_connection(connection)


@rows(
    "url",
    [
        "postgresql://u:hush@h",
        "postgresql://u:hush@h:port/d",
        "postgresql://u:hush@h/d?options=-c%20x",
        "postgresql://u:hush@h/host=evil",
        "postgresql://u:hush@h/postgres:%2F%2Fevil",
        "postgresql://u:hush@a,b/d",
        "postgresql://u:hush@h/d#x",
        "postgresql://u:hush@h/d%0A",
        "postgresql://u:hush@[h/d",
    ],
)
def test_a_url_that_is_not_understood_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        read_url(url)
    assert "hush" not in caught.value.message + str(caught.value.hint)


@rows(
    "value",
    [
        None,
        {},
        {"dbname": 1},
        {"dbname": "d", "options": "x"},
        {"dbname": "a=b"},
        {"dbname": "d", "x": "y"},
    ],
)
def test_a_stranger_s_connection_is_refused(value: object) -> None:
    assert not is_connection(value)


def test_options_hold_no_password() -> None:
    connection, _ = read_url("postgresql://u:hush@h:1/d?sslmode=require")
    artifact = Part("postgresql", "d", "parts/00.dump", 1, "ab", {"connection": connection})
    words = (
        "PGSSLMODE=require postgresql ab parts/00.dump --host=h --port=1 --username=u --dbname=d\n"
    )
    assert write_lines(artifact) == words


def test_a_client_program_that_is_gone_at_once_is_told_every_time(tmp_path: Path) -> None:
    psql = tmp_path / "psql"
    psql.write_text("#!/bin/sh\necho 'no such host' >&2\nexit 2\n")
    psql.chmod(0o755)
    for _ in range(20):
        with pytest.raises(CheckpointError, match="psql: no such host"):
            ask_late({"PATH": str(tmp_path)})


def ask_late(env: dict[str, str]) -> None:
    """A question when the program may be gone already."""
    with open_session(env) as ask:
        time.sleep(0.02)
        ask("SELECT 1")
