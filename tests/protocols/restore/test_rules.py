from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.clock import DAY, HOUR, MINUTE
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore.contents import hash_contents, read_entry, read_part
from checkpoint_git.protocols.restore.layout import LOCKS
from checkpoint_git.protocols.restore.rules import (
    CONNECTION,
    check,
    check_not_sensitive,
    is_connection,
    is_doubtful,
    is_expired,
    is_harmless,
    is_plain_path,
    is_sensitive,
    read_expiry,
)
from tests.support.rows import rows


@rows(
    ("text", "seconds"),
    [
        ("60s", MINUTE),
        ("30m", 30 * MINUTE),
        ("24h", 24 * HOUR),
        ("7d", 7 * DAY),
        ("2w", 14 * DAY),
        (" 1D ", DAY),
    ],
)
def test_an_expiry_is_a_number_with_a_unit(text: str, seconds: int) -> None:
    assert read_expiry(text, 1_000) == 1_000 + seconds


@pytest.mark.parametrize("text", [None, "never", "NEVER"])
def test_no_expiry_is_never(text: str | None) -> None:
    assert read_expiry(text, 1_000) is None


@rows("text", ["", "0d", "59s", "-1d", "1", "1y", "d", "1.5h", "99999999w", "\uff11d", "1d\n2d"])
def test_another_expiry_is_refused(text: str) -> None:
    with pytest.raises(CheckpointError, match="is not an expiry"):
        read_expiry(text, 1_000)


def test_a_point_expires_at_its_instant() -> None:
    instant = "2026-01-15T14:30:22Z"
    assert not is_expired(instant, 1_768_487_421)
    assert is_expired(instant, 1_768_487_422)
    assert not is_expired(None, 10**12)


def test_a_damaged_expiry_counts_as_over() -> None:
    assert is_expired("soon", 0)


@rows(
    "name",
    [".env", ".env.local", "a/.ENV", "prod.env", "credentials", "credentials.json", "x/secrets.yaml", "server.pem",
     "tls.key", "id_rsa", "id_ed25519", ".netrc", ".git-credentials", "service-account-prod.json"],
)  # fmt: skip
def test_names_that_hold_secrets_are_known(name: str) -> None:
    assert is_sensitive(name)


@rows(
    "name",
    [
        "keyboard.keys.py",
        "environment.py",
        ".env.example",
        "id_rsa.pub",
        "src/keys.py",
        "monkey",
        "secretary.py",
    ],
)
def test_harmless_names_are_not_taken_for_secrets(name: str) -> None:
    assert not is_sensitive(name)


def test_a_folder_is_not_secret_by_its_name() -> None:
    assert not is_sensitive("secrets/readme.txt")


@rows(
    "path",
    ["/etc/passwd", "../x", "a/../../x", ".git/config", "a/.git/hooks/x", "", "a//b", "a\0b", "."],
)
def test_a_path_that_leads_out_is_not_plain(path: str) -> None:
    assert not is_plain_path(path)


@rows("path", ["a", "a b/c\nd", "-rf", ".github/x", "..a/b", ".checkpoints/notes.json"])
def test_a_path_below_the_workspace_is_plain(path: str) -> None:
    assert is_plain_path(path)


@rows(
    "path",
    [
        ".checkpoints/chk_20260115_143022_a7b3c9/manifest.json",
        ".audit/checkpoint-operations.log",
        *LOCKS,
        # where capitals are small letters, it is the same file
        ".Checkpoints/CHK_20260115_143022_a7b3c9/manifest.json",
        "a/.AUDIT/x",
        ".GIT/config",
    ],
)
def test_what_restore_points_and_locks_are_made_of_is_not_plain(path: str) -> None:
    assert not is_plain_path(path)


@rows(
    ("name", "doubtful"),
    [
        (".env", False),
        ("a/.ENV.local", False),
        ("tls.KEY", False),
        ("id_rsa", False),
        (".env.py", False),
        ("secrets.py", True),
        ("credentials_form.ts", True),
    ],
)
def test_only_a_name_that_code_has_too_leaves_a_doubt(name: str, doubtful: bool) -> None:
    assert is_doubtful(name) == doubtful


def test_code_without_a_key_is_harmless_if_all_of_it_could_be_read(tmp_path: Path) -> None:
    key = f"-----BEGIN {'PRIVATE'} KEY-----\n"
    contents = {
        "secrets.py": "names = []\n",
        "secrets.MD": "\xff\n",
        "secrets.json": "{}",
        "secrets.ts": key,
        "secrets.go": "\n" * (3 << 19),
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content, "latin-1")
    (tmp_path / "secrets.rs").symlink_to("secrets.py")
    harmless = [
        name for name in (*contents, "secrets.rs", "secrets.c") if is_harmless(str(tmp_path / name))
    ]
    assert harmless == ["secrets.py", "secrets.MD"]


def test_a_name_of_a_secret_is_refused_as_the_user_wrote_it() -> None:
    check_not_sensitive("src/keys.py", "keys.py")
    with pytest.raises(CheckpointError) as raised:
        check_not_sensitive("src/.env", "./\x1b.env")
    assert raised.value.message == "./\\x1b.env looks like a secret by its name"
    assert raised.value.hint == "secrets are never copied into a restore point"


@rows(
    ("changed", "fits"),
    [
        ({}, True),
        ({"user": "a b~"}, True),
        ({"user": "a\x1f"}, False),
        ({"user": "\n"}, False),
        ({"port": 5432}, False),
        ({"dbname": ""}, False),
        ({"dbname": "host=evil dbname=x"}, False),
        ({"dbname": "postgresql://evil"}, False),
        ({"host": "one,two"}, False),
        ({"password": "x"}, False),
    ],
)
def test_a_connection_holds_plain_texts_under_known_names(
    changed: dict[str, object], fits: bool
) -> None:
    assert is_connection({**dict.fromkeys(CONNECTION, "x"), **changed}) == fits
    assert not is_connection({"host": "x"})
    assert not is_connection("dbname")


# manifests of the right shape, as a branch may bring them

POINT = "chk_20260115_143022_a7b3c9"
LEADS_OUT = "a path that leads out of the workspace, or into git"
STATE = {
    "kind": "state",
    "name": "state:run",
    "content": "parts/run.json",
    "size": 2,
    "sha256": "0" * 64,
}
STATE_DETAILS = {"file": "run.json", "mode": "0600"}
POSTGRESQL_DETAILS = {
    "tables": None,
    "held": [["public", "items", "r"]],
    "logical": "",
    "server_version": "17",
    "connection": {"dbname": "shop"},
}


def find_troubles(
    entries: list[dict[str, Any]], *parts: dict[str, Any], **members: Any
) -> list[tuple[str, str]]:
    """The code and the place of what is wrong with a manifest, apart from its hash."""
    value = {"id": POINT, "entries": entries, "parts": list(parts), **members}
    value["hash"] = hash_contents(map(read_entry, entries), [read_part(part) for part in parts])
    return [(one.code, one.where) for one in check(value, POINT)]


def find_part_troubles(
    content: str = "parts/run.json", kind: str = "state", **details: Any
) -> list[str]:
    base = POSTGRESQL_DETAILS if kind == "postgresql" else STATE_DETAILS
    part = {**STATE, "kind": kind, "content": content, "details": {**base, **details}}
    return [
        code.removeprefix("restore/manifest-")
        for code, where in find_troubles([], part)
        if where == "/parts/0"
    ]


def test_a_manifest_is_of_its_point_and_its_hash_is_that_of_its_content() -> None:
    file = {"path": "a", "kind": "file", "mode": "644", "size": 1, "sha256": "0" * 64}
    times = {"created_at": "2026-01-15T14:30:22Z", "expires_at": None}
    assert find_troubles([file], **times) == []
    assert find_troubles([file], id="chk_20260115_143022_ffffff") == [
        ("restore/manifest-id", "/id")
    ]
    assert find_troubles([file], created_at="soon", expires_at="late") == [
        ("restore/manifest-time", "/created_at"),
        ("restore/manifest-time", "/expires_at"),
    ]
    changed = {"id": POINT, "entries": [file], "hash": "sha256:0"}
    assert [one.where for one in check(changed, POINT)] == ["/hash"]


def test_no_entry_leads_out_and_a_twin_is_the_same_file() -> None:
    one, twin, other = (
        {"path": path, "kind": "file", "mode": "644", "sha256": digit * 64, **more}
        for path, digit, more in (
            ("a", "0", {}),
            ("b", "0", {"twin": "a"}),
            ("c", "1", {"twin": "a"}),
        )
    )
    assert find_troubles([one, twin]) == []
    assert find_troubles([one, other]) == [("restore/manifest-path", "/entries/1/twin")]
    assert find_troubles([twin]) == [("restore/manifest-path", "/entries/0/twin")]
    assert find_troubles([one, {**one, "path": "../a"}]) == [
        ("restore/manifest-path", "/entries/1/path")
    ]


@rows(
    ("given", "troubles"),
    [
        ({}, []),
        ({"content": ""}, []),
        ({"content": "run.json"}, ["path"]),
        ({"content": "parts/.."}, ["path"]),
        ({"content": "parts/a/b"}, ["path"]),
        ({"file": None}, []),
        ({"file": "../run.json"}, ["path"]),
        ({"file": 7}, ["path"]),
        ({"file": "../run.json", "path": "/etc/passwd"}, ["path"]),
        ({"path": "/etc/passwd"}, ["path"]),
        ({"content": "run.json", "file": "../run.json"}, ["path", "path"]),
        ({"kind": "sqlite"}, ["shape"]),
        ({"kind": "sqlite", "path": "a.db", "logical": ""}, []),
        ({"kind": "sqlite", "path": None, "logical": ""}, ["shape"]),
        ({"kind": "postgresql"}, []),
        ({"kind": "postgresql", "tables": [["public", "items", "r"]]}, []),
        ({"kind": "postgresql", "tables": [["public", "items"]]}, ["shape"]),
        ({"kind": "postgresql", "tables": "items"}, ["shape"]),
        ({"kind": "postgresql", "held": None}, ["shape"]),
        ({"kind": "postgresql", "held": [["public", "items", 7]]}, ["shape"]),
        ({"kind": "postgresql", "connection": {"dbname": "host=evil"}}, ["shape"]),
    ],
)
def test_a_part_is_kept_in_the_points_own_folder_and_has_what_is_read(
    given: dict[str, Any], troubles: list[str]
) -> None:
    assert find_part_troubles(**given) == troubles


def test_each_finding_says_what_is_wrong_and_that_the_point_is_not_to_be_used() -> None:
    value = {
        "id": "chk_20260115_143022_ffffff",
        "created_at": "soon",
        "entries": [{"path": "../a", "kind": "file", "twin": "b"}],
        "parts": [{**STATE, "content": "run.json", "details": {}}],
        "hash": "sha256:0",
    }
    found = check(value, POINT)
    assert [(finding.code, finding.where, finding.message) for finding in found] == [
        ("restore/manifest-id", "/id", "the manifest is of another restore point"),
        ("restore/manifest-time", "/created_at", "created_at is not a valid timestamp"),
        ("restore/manifest-path", "/entries/0/path", LEADS_OUT),
        ("restore/manifest-path", "/entries/0/twin", "a twin is another file"),
        ("restore/manifest-path", "/parts/0", "a part is kept outside the point's own folder"),
        ("restore/manifest-shape", "/parts/0", "the details of a part are not whole"),
    ]
    (changed,) = check({"id": POINT, "entries": [], "hash": "sha256:0"}, POINT)
    assert (changed.code, changed.where) == ("restore/manifest-hash", "/hash")
    assert changed.message == "the hash is not that of the entries"
    for finding in (*found, changed):
        assert finding.level == "error"
        assert finding.hint == ("do not use this point: its manifest was edited by hand or damaged")
