import pytest

from checkpoint_git.core.clock import DAY, HOUR, MINUTE
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore.rules import (
    CONNECTION,
    is_connection,
    is_doubtful,
    is_expired,
    is_plain_path,
    is_sensitive,
    read_expiry,
)
from tests.support.rows import rows


@rows(
    ("text", "seconds"),
    [("30m", 30 * MINUTE), ("24h", 24 * HOUR), ("7d", 7 * DAY), ("2w", 14 * DAY), (" 1D ", DAY)],
)
def test_an_expiry_is_a_number_with_a_unit(text: str, seconds: int) -> None:
    assert read_expiry(text, 1_000) == 1_000 + seconds


@pytest.mark.parametrize("text", [None, "never", "NEVER"])
def test_no_expiry_is_never(text: str | None) -> None:
    assert read_expiry(text, 1_000) is None


@rows("text", ["", "0d", "-1d", "1", "1y", "d", "1.5h", "99999999w", "\uff11d", "1d\n2d"])
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
    ["keyboard.keys.py", "environment.py", ".env.example", "id_rsa.pub", "src/keys.py", "monkey", "secretary.py"],
)
def test_harmless_names_are_not_taken_for_secrets(name: str) -> None:
    assert not is_sensitive(name)


def test_a_folder_is_not_secret_by_its_name() -> None:
    assert not is_sensitive("secrets/readme.txt")


@rows("path", ["/etc/passwd", "../x", "a/../../x", ".git/config", "a/.git/hooks/x", "", "a//b", "a\0b", "."])
def test_a_path_that_leads_out_is_not_plain(path: str) -> None:
    assert not is_plain_path(path)


@rows("path", ["a", "a b/c\nd", "-rf", ".github/x", "..a/b"])
def test_a_path_below_the_workspace_is_plain(path: str) -> None:
    assert is_plain_path(path)


@rows(
    ("name", "doubtful"),
    [(".env", False), ("a/.ENV.local", False), ("tls.KEY", False), ("secrets.py", True), ("credentials_form.ts", True)],
)
def test_only_a_name_that_code_has_too_leaves_a_doubt(name: str, doubtful: bool) -> None:
    assert is_doubtful(name) == doubtful


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
def test_a_connection_holds_plain_texts_under_known_names(changed: dict[str, object], fits: bool) -> None:
    assert is_connection({**dict.fromkeys(CONNECTION, "x"), **changed}) == fits
    assert not is_connection({"host": "x"})
    assert not is_connection("dbname")
