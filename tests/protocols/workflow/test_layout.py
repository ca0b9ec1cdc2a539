"""Names of a workflow's files and archives."""

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.protocols.workflow.layout import archive_name, archive_order, find_skill
from tests.support.rows import rows

INSTANT = "2026-03-02T12:00:00Z"


@rows(
    ("path", "file"),
    [
        ("memory/state/phase.json", "phase"),
        ("execution.json", "execution"),
        ("phase", ""),
        ("x.json", ""),
        ("", ""),
    ],
)
def test_a_name_says_which_of_the_two_files_it_is(path: str, file: str) -> None:
    assert find_skill(path) == file


@given(name=st.text(max_size=300), number=st.integers(1, 99))
def test_an_archives_name_is_one_plain_part_of_a_path_and_says_its_instant(
    name: str, number: int
) -> None:
    made = archive_name(name, INSTANT, number)
    assert made.isascii()
    assert made.isprintable()
    assert not set("/\\: ") & set(made)
    assert made[0] not in ".-"
    assert len(made) < 120
    assert archive_order(made) == ("20260302T120000Z", number)


NO_ARCHIVES = [
    "",
    "mine",
    "_20260302T120000Z",
    "w_20260302",
    "w_20260302T120000Z-",
    "w_20260302T120000Z-x",
]


@rows("name", [*NO_ARCHIVES, "w_2026030aT120000Z"])
def test_what_is_named_otherwise_is_no_archive(name: str) -> None:
    assert archive_order(name) == ("", 0)
