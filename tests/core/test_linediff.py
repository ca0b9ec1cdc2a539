"""Diffs that git itself takes and that lead from one text to the other."""

from pathlib import Path

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from checkpoint_git.core.linediff import diff_lines
from tests.support.examples import examples
from tests.support.repos import GitRepo

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  x", "\\ no", "- y", "+ z"]), max_size=30)
TEXTS = st.builds(
    lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n", "\n\n"])
)


def test_equal_texts_have_no_diff() -> None:
    assert diff_lines(b"a\nb", b"a\nb", "x") == []


def test_a_diff_shows_a_few_lines_around_each_change() -> None:
    before = "".join(f"{number}\n" for number in range(40))
    after = before.replace("10\n", "ten\n", 1).replace("30\n", "")
    assert diff_lines(before.encode(), after.encode(), "x.json") == [
        "--- a/x.json",
        "+++ b/x.json",
        "@@ -8,7 +8,7 @@",
        " 7",
        " 8",
        " 9",
        "-10",
        "+ten",
        " 11",
        " 12",
        " 13",
        "@@ -28,7 +28,6 @@",
        " 27",
        " 28",
        " 29",
        "-30",
        " 31",
        " 32",
        " 33",
    ]


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=TEXTS.filter(bool), after=TEXTS.filter(bool))
def test_git_applies_every_diff_and_gets_the_other_text(
    repo: GitRepo, before: str, after: str
) -> None:
    lines = diff_lines(before.encode(), after.encode(), "file")
    if before == after:
        assert lines == []
        return
    path: Path = repo.write("file", before)
    done = repo.run(
        "git", "apply", "--unsafe-paths", "-", stdin="".join(f"{line}\n" for line in lines).encode()
    )
    assert done.returncode == 0, done.stderr.decode()
    assert path.read_bytes().decode() == after


def test_texts_without_a_common_line_are_not_compared_for_long() -> None:
    before = "".join(f"a{number}\n" for number in range(60_000))
    after = "".join(f"b{number}\n" for number in range(60_000))
    assert len(diff_lines(before.encode(), after.encode(), "x")) == 3 + 120_000
