from checkpoint_git.protocols.restore.contents import (
    ContentEntry,
    compare_entries,
    hash_contents,
    read_entry,
    write_entry,
)
from tests.support.rows import rows

FILE = ContentEntry("src/a", "file", 0o644, 2, "ab" * 32, "cd" * 20)


def test_an_entry_survives_the_manifest_with_bytes_that_are_no_text() -> None:
    entry = FILE._replace(path="src/\udcff", mode=0o4751)
    assert read_entry(write_entry(entry)) == entry


@rows(
    "other",
    [
        FILE._replace(path="src/b"),
        FILE._replace(mode=0o755),
        FILE._replace(sha256="00" * 32),
        FILE._replace(kind="link"),
    ],
)
def test_the_hash_knows_path_mode_kind_and_content(other: ContentEntry) -> None:
    assert hash_contents([other]) != hash_contents([FILE])


def test_the_hash_knows_no_order() -> None:
    other = FILE._replace(path="b")
    assert hash_contents([FILE, other]) == hash_contents([other, FILE])


def test_names_cannot_be_joined_to_the_hash_of_others() -> None:
    assert hash_contents([ContentEntry("a file", "folder")]) != hash_contents(
        [ContentEntry("a", "folder"), ContentEntry("file", "folder")]
    )


@rows(
    ("now", "how"),
    [([], "missing"), ([FILE._replace(sha256="0")], "changed"), ([FILE._replace(mode=0)], "mode"),
     ([ContentEntry("src/a", "folder")], "kind")],
)  # fmt: skip
def test_a_difference_says_how(now: list[ContentEntry], how: str) -> None:
    assert [one.how for one in compare_entries([FILE], now)] == [how]


def test_what_was_not_there_and_is_not_is_no_difference() -> None:
    assert compare_entries([ContentEntry("x", "absent")], [ContentEntry("x", "absent")]) == []
    assert [
        one.how for one in compare_entries([ContentEntry("x", "absent")], [FILE._replace(path="x")])
    ] == ["added"]
