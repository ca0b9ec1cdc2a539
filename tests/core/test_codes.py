"""The table of finding codes has what the package reports, and nothing else."""

from checkpoint_git.cli.verbs import VERBS
from checkpoint_git.core.codes import SIDE_BY_SIDE, TABLE
from checkpoint_git.core.finding import LEVELS, Finding, make_error
from checkpoint_git.protocols.check import REPOSITORY
from checkpoint_git.tools.doctor.catalog import find_code, find_codes, list_checks, list_codes
from tests.architecture.imports import module_files
from tests.support.codes import (
    CODE,
    find_reported,
    known_codes,
    known_groups,
    read_built_groups,
    read_texts,
    watch_findings,
)

OTHERS = {"clone/nested", "memory/state"}  # spelled like a code: a note of `status`, and a path


def test_every_code_that_is_reported_is_in_the_table_and_every_row_is_reported() -> None:
    # what runs while the tests do is looked at too: see the fixture `listed_codes`
    spelled = {
        text
        for text in read_texts()
        if CODE.fullmatch(text) and text.partition("/")[0] in known_groups()
    }
    passed = {
        code for file in module_files().values() for code in find_reported(file.read_text("utf-8"))
    }
    assert sorted((spelled | passed) - known_codes() - OTHERS) == []

    def is_reported(code: str) -> bool:
        group, _, what = code.partition("/")
        return code in read_texts() or (group in read_built_groups() and what in read_texts())

    assert [row.code for row in TABLE if not is_reported(row.code)] == []


def test_what_is_reported_at_run_time_is_noticed() -> None:
    assert list(
        find_reported('Finding("new/thing", "error", "x"); make_error("other/thing", text)')
    ) == [
        "new/thing",
        "other/thing",
    ]
    space = {"__name__": "checkpoint_git.tools.new", "Finding": Finding, "make_error": make_error}
    with watch_findings() as reported:
        exec('Finding("new/" + "thing", "error", "x"); make_error("new/other", "x")', space)  # noqa: S102 (a module)
        exec('Finding("json/syntax", "error", "x")', space)  # noqa: S102 (a module)
        assert Finding("test/only", "error", "x").code == "test/only"
    assert reported - known_codes() == {"new/thing", "new/other"}


def test_each_row_says_what_a_reader_needs_once() -> None:
    checks = {check.code: check for check in list_checks()}
    assert len({row.code for row in list_codes()}) == len(list_codes()) > 250
    for row in list_codes():
        assert CODE.fullmatch(row.code), row
        assert row.text, row
        assert row.system, row
        assert row.reporter.split()[0] in (*VERBS, "mcp"), row
    for row in TABLE:
        check = checks.get(row.code)
        assert check is None or LEVELS.index(row.level) < LEVELS.index(check.level), (
            f"{row.code}: its check says it"
        )


def test_codes_that_are_about_one_fact_stand_side_by_side() -> None:
    for about, codes in SIDE_BY_SIDE.items():
        assert len(set(codes)) == len(codes) > 1, about
        assert set(codes) <= known_codes(), about


def test_a_word_finds_a_code_or_the_codes_of_a_group() -> None:
    assert [(row.reporter, fix) for row, fix in find_codes("resume/open-rows")] == [
        ("resume", "no")
    ]
    assert [fix for _, fix in find_codes("drift/file-missing")] == ["safe"]
    assert {row.group for row, _ in find_codes("sync/")} == {"sync"}
    assert [row.code for row, _ in find_codes("workflow")][:2] == [
        "workflow",
        "workflow/missing-field",
    ]
    assert find_codes("nothing") == []
    assert find_code(REPOSITORY) is None
