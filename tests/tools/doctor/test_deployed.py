"""Which of a server's words name a version, and what is said about where it stands."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.finding import Finding
from checkpoint_git.git.refs import Standing
from checkpoint_git.protocols.check import run_checks
from checkpoint_git.tools.doctor import checks
from checkpoint_git.tools.doctor.catalog import choose_checks
from checkpoint_git.tools.doctor.checks import DeployedFacts
from checkpoint_git.tools.doctor.deployed import (
    FIELDS,
    Deployed,
    VersionClaim,
    describe_answer,
    find_claims,
)
from tests.support.contexts import give, make_context
from tests.support.rows import rows

HEAD = "a" * 40
OTHER = "b" * 40
URL = "https://app.example/api/health"


def found(
    trouble: str = "", detail: str = "", version: str = "1.2.0", dirty: bool = False, **facts: Any
) -> list[Finding]:
    """What all checks together say of one answer."""
    claim, standing = (
        VersionClaim("version", version, "", (), dirty),
        Standing(HEAD)._replace(**facts),
    )
    answer = (
        Deployed(URL, trouble, detail) if trouble else Deployed(URL, claim=claim, standing=standing)
    )
    return run_checks(
        choose_checks(["online"]), give(make_context(), DeployedFacts, deployed=answer)
    )


@pytest.fixture(autouse=True)
def complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone with all of its history."""
    monkeypatch.setattr(checks, "is_shallow", lambda top: False)


@rows(
    ("text", "start", "tags"),
    [
        ("abc1234", "abc1234", ("abc1234", "vabc1234")),
        ("ABC1234", "abc1234", ("ABC1234", "vABC1234")),
        (HEAD, HEAD, (HEAD, f"v{HEAD}")),
        (" 1.2.0\n", "", ("1.2.0", "v1.2.0")),
        ("v1.2.0", "", ("v1.2.0",)),
        ("release/1.2", "", ("release/1.2", "vrelease/1.2")),
        ("v1.2.0-5-gabc1234", "abc1234", ("v1.2.0-5-gabc1234",)),
        ("1.2.0+abc1234", "abc1234", ("1.2.0+abc1234", "v1.2.0+abc1234")),
        ("1.2.dev5+gabc1234.d20260301", "abc1234", ("1.2.dev5+gabc1234.d20260301", "v1.2.dev5+gabc1234.d20260301")),
        ("2026.03.01+build.7.abc1234", "abc1234", ("2026.03.01+build.7.abc1234", "v2026.03.01+build.7.abc1234")),
        ("abc12", "", ("abc12", "vabc12")),
    ],
)  # fmt: skip
def test_a_version_names_a_commit_or_a_tag(text: str, start: str, tags: tuple[str, ...]) -> None:
    assert find_claims({"version": text}) == [VersionClaim("version", text.strip(), start, tags)]


@rows(
    "value",
    [
        "", " ", "-x", "--all", "HEAD^", "HEAD~1", "a..b", "main@{1}", "a:b", "x y", "../x", "a//b", "a/", "a/.b",
        "x.lock", "$(touch x)", "\x1b[2J", "v1\n2", "\u00e9", "x" * 200, "*", "v1.", 7, 1.2, True, None, [],
        {"id": "abc1234"},
    ],
)  # fmt: skip
def test_what_git_should_not_see_is_no_version(value: object) -> None:
    assert find_claims({"version": value}) == []
    assert "neither a commit nor the name of a tag" in describe_answer({"version": value})


def test_a_build_with_changes_is_known_by_its_name() -> None:
    assert find_claims({"version": "v1.2.0-5-gabc1234-dirty"}) == [
        VersionClaim("version", "v1.2.0-5-gabc1234-dirty", "abc1234", ("v1.2.0-5-gabc1234",), True)
    ]
    assert find_claims({"sha": "abc1234-dirty"})[0].id == "abc1234"


def test_a_field_for_the_commit_goes_before_the_version() -> None:
    answer = {"version": "1.2.0", "status": "ok", "sha": None, "commit": "abc1234"}
    assert [claim.field for claim in find_claims(answer)] == ["commit", "version"]
    assert [claim.field for claim in find_claims(dict.fromkeys(FIELDS, "abc1234"))] == list(FIELDS)


def test_an_answer_without_any_field_says_which_there_could_be() -> None:
    assert find_claims({"data": {"version": "1.2.0"}, "Version": "1"}) == []
    assert "none of the fields commit, sha," in describe_answer({"data": {}})


@given(
    st.dictionaries(
        st.sampled_from(FIELDS),
        st.text(max_size=40) | st.from_regex(r"[\w.+/-]{1,30}", fullmatch=True),
    )
)
def test_no_word_of_the_servers_reaches_git_as_more_than_a_name(answer: dict[str, str]) -> None:
    for claim in find_claims(answer):
        assert re.fullmatch(r"|[0-9a-f]{7,64}", claim.id)
        for tag in claim.tags:
            assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+/-]*", tag)
            assert ".." not in tag


def test_nothing_is_said_where_head_is_deployed() -> None:
    assert found(id=HEAD) == []


@rows(
    ("facts", "code", "level", "words"),
    [
        ({"trouble": "not-configured"}, "online/not-configured", "note", "no health URL"),
        (
            {"trouble": "bad-url", "detail": "it is a file"},
            "online/bad-url",
            "warning",
            "it is a file",
        ),
        (
            {"trouble": "unreachable", "detail": "refused"},
            "online/unreachable",
            "warning",
            "api/health: refused",
        ),
        (
            {"trouble": "bad-answer", "detail": "it answers 500"},
            "online/bad-answer",
            "warning",
            "it answers 500",
        ),
        (
            {"id": OTHER, "behind": 5},
            "online/behind",
            "warning",
            "5 commits behind HEAD (aaaaaaaaaaaa)",
        ),
        (
            {"id": OTHER, "behind": 1},
            "online/behind",
            "warning",
            "version 1.2.0 (bbbbbbbbbbbb), is 1 commit behind",
        ),
        ({"id": OTHER, "ahead": 2}, "online/elsewhere", "note", "2 commits ahead of HEAD"),
        (
            {"id": OTHER, "ahead": 2, "behind": 3},
            "online/elsewhere",
            "warning",
            "2 commits ahead, 3 behind",
        ),
        ({"id": ""}, "online/elsewhere", "warning", "is not a commit or tag of this clone"),
        ({"ambiguous": True}, "online/elsewhere", "warning", "several commits"),
        (
            {"id": HEAD, "dirty": True},
            "online/elsewhere",
            "warning",
            "built with uncommitted changes",
        ),
    ],
)
def test_each_standing_is_told_once_with_what_to_do(
    facts: dict[str, Any], code: str, level: str, words: str
) -> None:
    (finding,) = found(**facts)
    assert (finding.code, finding.level) == (code, level)
    assert words in finding.message
    assert str(finding.hint)


def test_a_shallow_clone_is_told_to_fetch_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--unshallow" not in str(found(id="")[0].hint)
    monkeypatch.setattr(checks, "is_shallow", lambda top: True)
    assert "--unshallow" in str(found(id="")[0].hint)


def test_a_repository_without_commits_has_nothing_to_compare() -> None:
    assert found(head="") == []


def test_the_servers_words_are_cut_short() -> None:
    assert len(found(id="", version="x" * 100)[0].message) < 300
    assert len(describe_answer({"version": "x" * 10_000})) < 300
