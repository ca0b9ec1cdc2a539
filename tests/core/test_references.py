"""References as people write them, and what only looks like one."""

import pytest

from checkpoint_git.core.references import find_mentions, find_references, spell_ranges, unqualify
from tests.support.growth import assert_linear_time
from tests.support.rows import rows


@rows(
    ("text", "references"),
    [
        ("Merge #12", ["#12"]),
        ("Merge PR 12, then PR #13", ["#12", "#13"]),
        ("pull request #7 and Pull Request 8", ["#7", "#8"]),
        ("land GH-9", ["#9"]),
        ("merge !31 or MR 32 or merge request !33", ["!31", "!32", "!33"]),
        ("feat: search (#12)", ["#12"]),
        ("Finish ABC-123.", ["ABC-123"]),
        ("ADEV-347/348 are twins", ["ADEV-347", "ADEV-348"]),
        ("#12/13", ["#12", "#13"]),
        ("#12/#13", ["#12", "#13"]),
        ("see https://github.com/Acme/App/pull/77/files.", ["acme/app#77"]),
        ("(https://gitlab.com/g/sub/app/-/merge_requests/5)", ["g/sub/app!5"]),
        ("https://acme.atlassian.net/browse/ABC-9", ["ABC-9"]),
        ("https://acme.atlassian.net/browse/abc-009", ["ABC-9"]),
        ("https://linear.app/acme/issue/ENG-42/some-title-12", ["ENG-42"]),
        ("acme/app#4 waits", ["acme/app#4"]),
        ("#12 again #12", ["#12"]),
        ("#007", ["#7"]),
        ("PR #12\u306e\u30ec\u30d3\u30e5\u30fc\u3001\u5408\u5e76#13\u540e", ["#12", "#13"]),
        (
            "\u0e43\u0e2b\u0e49#12\u0e01\u0e48\u0e2d\u0e19, \u05dc\u05e4\u05e0\u05d9#13",
            ["#12", "#13"],
        ),  # Thai, Hebrew
        ("\u0436#12, \u00e9#13, #14\u0431", []),
        ("PR #12\ub97c \uba38\uc9c0, ABC-12\u3092\u5b9f\u88c5", ["#12", "ABC-12"]),
    ],
)
def test_a_reference_is_found_in_every_spelling(text: str, references: list[str]) -> None:
    assert find_references(text) == references


@rows(
    ("text", "references"),
    [
        ("Merge #12-#15", ["#12", "#13", "#14", "#15"]),
        ("Merge #12\u201315 and #20", ["#12", "#13", "#14", "#15", "#20"]),
        ("Merge PRs 17 through 19 once green", ["#17", "#18", "#19"]),
        ("Merge PRs 7 through 9 once green", ["#7", "#8", "#9"]),
        ("PRs 1 through 3 of the plan", []),
        ("Merge PRs 17, 18 and #20", ["#17", "#18", "#20"]),
        ("Merge MRs 17 & 18", ["!17", "!18"]),
        ("Merge #12\u2013#900", ["#12", "#900"]),
        ("Merge #15\u2013#12", ["#15", "#12"]),
        ("Build #12-#15-rc1", ["#12"]),
        ("PRs 2 and 3 of the plan", []),
    ],
)
def test_what_a_list_or_a_range_leaves_out_is_spelled(text: str, references: list[str]) -> None:
    assert find_references(spell_ranges(text)) == references


@rows(
    "text",
    [
        "step #2 of sprint #3",
        "the row #4",
        "colour #12ab34 and &#39;",
        "UTF-8, SHA-256, ISO-8601, RFC-3339, CVE-2024-1234",
        "F-005 and x-12",
        "PR 6.5 and PRs 2-7",
        "version #1.5",
        "branch claude/ADEV-335-bulk",
        "ADEV-339-342",
        "abc#12",
        "#",
        "",
        "https://example.org/a/b",
        "https://example.org/a/b/pull/12c-1",
    ],
)
def test_what_only_looks_like_a_reference_is_none(text: str) -> None:
    assert find_references(text) == []


def test_a_mention_says_where_it_stands() -> None:
    text = "Merge PR #12 and ABC-3"
    assert [(text[one.start : one.end], one.reference) for one in find_mentions(text)] == [
        ("PR #12", "#12"),
        ("ABC-3", "ABC-3"),
    ]


HOSTILE = [("#", ""), ("#1 ", ""), ("a/", "#"), ("ABC-1/2", "")]


def test_a_hostile_text_names_a_bounded_number() -> None:
    assert [
        piece for piece, end in HOSTILE if len(find_mentions(piece * 300_000 + end)) >= 100_000
    ] == []


@pytest.mark.deep
@pytest.mark.parametrize(("piece", "end"), HOSTILE)
def test_a_hostile_text_is_read_in_linear_time(piece: str, end: str) -> None:
    assert_linear_time(lambda size: find_mentions(piece * (size // len(piece)) + end), 20_000)


def test_a_repository_with_a_name_of_a_remote_is_ours_and_another_is_not() -> None:
    own = frozenset({"acme/app"})
    assert unqualify("acme/app#12", own) == "#12"
    assert unqualify("gitlab/acme/app!12", own) == "!12"  # below a folder of the server
    assert unqualify("projects/acme/repos/app#12", own) == "#12"
    assert unqualify("fork/app#12", own) == "fork/app#12"
    assert unqualify("fork/app#12", own, any_owner=True) == "#12"
    assert unqualify("acme/other#12", own) == "acme/other#12"
    assert unqualify("acme/other#12", own, any_owner=True) == "acme/other#12"
    assert unqualify("acme/other!12", frozenset()) == "!12"
    assert unqualify("ABC-1", own) == "ABC-1"
    assert unqualify("ABC-1", frozenset(), any_owner=True) == "ABC-1"
