import pytest

from checkpoint_git.core.clock import DAY, HOUR, MINUTE
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore import layout
from checkpoint_git.protocols.restore.contents import Entry, compare_entries, hash_contents, read_entry, write_entry
from checkpoint_git.protocols.restore.rules import is_expired, is_plain_path, is_sensitive, read_expiry

FILE = Entry("src/a", "file", 0o644, 2, "ab" * 32, "cd" * 20)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30m", 30 * MINUTE), ("24h", 24 * HOUR), ("7d", 7 * DAY), ("2w", 14 * DAY), (" 1D ", DAY)],
)
def test_an_expiry_is_a_number_with_a_unit(text: str, seconds: int) -> None:
    assert read_expiry(text, 1_000) == 1_000 + seconds


@pytest.mark.parametrize("text", [None, "never", "NEVER"])
def test_no_expiry_is_never(text: str | None) -> None:
    assert read_expiry(text, 1_000) is None


@pytest.mark.parametrize("text", ["", "0d", "-1d", "1", "1y", "d", "1.5h", "99999999w", "\uff11d", "1d\n2d"])
def test_another_expiry_is_refused(text: str) -> None:
    with pytest.raises(CheckpointError, match="is no expiry"):
        read_expiry(text, 1_000)


def test_a_point_expires_at_its_instant() -> None:
    instant = "2026-01-15T14:30:22Z"
    assert not is_expired(instant, 1_768_487_421)
    assert is_expired(instant, 1_768_487_422)
    assert not is_expired(None, 10**12)


def test_a_damaged_expiry_counts_as_over() -> None:
    assert is_expired("soon", 0)


@pytest.mark.parametrize(
    "name",
    [".env", ".env.local", "a/.ENV", "prod.env", "credentials", "credentials.json", "x/secrets.yaml", "server.pem",
     "tls.key", "id_rsa", "id_ed25519", ".netrc", ".git-credentials", "service-account-prod.json"],
)  # fmt: skip
def test_names_that_hold_secrets_are_known(name: str) -> None:
    assert is_sensitive(name)


@pytest.mark.parametrize(
    "name",
    ["keyboard.keys.py", "environment.py", ".env.example", "id_rsa.pub", "src/keys.py", "monkey", "secretary.py"],
)
def test_harmless_names_are_not_taken_for_secrets(name: str) -> None:
    assert not is_sensitive(name)


def test_a_folder_is_not_secret_by_its_name() -> None:
    assert not is_sensitive("secrets/readme.txt")


def test_an_id_is_made_of_time_and_chance() -> None:
    first, second = (layout.make_id("/w", 1_768_487_422) for _ in range(2))
    assert first.startswith("chk_20260115_143022_")
    assert layout.is_id(first)
    assert first != second
    assert layout.is_id("chk_20260115_143022_a7b3c9")


@pytest.mark.parametrize("text", ["", "chk_1", "../chk_20260115_143022_a7b3c9", "chk_20260115_143022_a7b3c9/x", "-x"])
def test_what_is_no_id_becomes_no_path(text: str) -> None:
    with pytest.raises(CheckpointError, match="is not the name of a restore point"):
        layout.point_folder("/w", text)


def test_an_entry_survives_the_manifest_with_bytes_that_are_no_text() -> None:
    entry = FILE._replace(path="src/\udcff", mode=0o4751)
    assert read_entry(write_entry(entry)) == entry


@pytest.mark.parametrize(
    "other",
    [
        FILE._replace(path="src/b"),
        FILE._replace(mode=0o755),
        FILE._replace(sha256="00" * 32),
        FILE._replace(kind="link"),
    ],
)
def test_the_hash_knows_path_mode_kind_and_content(other: Entry) -> None:
    assert hash_contents([other]) != hash_contents([FILE])


def test_the_hash_knows_no_order() -> None:
    other = FILE._replace(path="b")
    assert hash_contents([FILE, other]) == hash_contents([other, FILE])


def test_names_cannot_be_joined_to_the_hash_of_others() -> None:
    assert hash_contents([Entry("a file", "folder")]) != hash_contents([Entry("a", "folder"), Entry("file", "folder")])


@pytest.mark.parametrize(
    ("now", "how"),
    [([], "missing"), ([FILE._replace(sha256="0")], "changed"), ([FILE._replace(mode=0)], "mode"),
     ([Entry("src/a", "folder")], "kind")],
)  # fmt: skip
def test_a_difference_says_how(now: list[Entry], how: str) -> None:
    assert [one.how for one in compare_entries([FILE], now)] == [how]


def test_what_was_not_there_and_is_not_is_no_difference() -> None:
    assert compare_entries([Entry("x", "absent")], [Entry("x", "absent")]) == []
    assert [one.how for one in compare_entries([Entry("x", "absent")], [FILE._replace(path="x")])] == ["added"]


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../../x", ".git/config", "a/.git/hooks/x", "", "a//b", "a\0b", "."]
)
def test_a_path_that_leads_out_is_not_plain(path: str) -> None:
    assert not is_plain_path(path)


@pytest.mark.parametrize("path", ["a", "a b/c\nd", "-rf", ".github/x", "..a/b"])
def test_a_path_below_the_workspace_is_plain(path: str) -> None:
    assert is_plain_path(path)
