import io
import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from checkpoint_git.cli import render as report
from checkpoint_git.cli.render.json import make_error
from checkpoint_git.cli.render.narrow import fit, wrap
from checkpoint_git.cli.render.screen import THEMES, Screen, cut, encode_text, measure, read_screen
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import Blank, advise
from checkpoint_git.core.outcome import Cause, Digest, Line, Outcome, Table
from tests.support.rows import rows

PLAIN = Screen()
RICH = Screen(width=80, colour=True, glyphs=True)
BAD = Finding(
    "skill/timestamp",
    "error",
    "created_at is wrong",
    ".checkpoints/build.checkpoint.json",
    "/created_at",
    6,
    3,
    "mend it",
)


def render(
    *blocks: Line | Table,
    findings: tuple[Finding, ...] = (),
    screen: Screen = PLAIN,
    form: str = "text",
) -> str:
    return report.render("status", Outcome({"a": 1}, blocks, findings), form, screen)


def load(text: str) -> Any:
    return json.loads(text)


# text


def test_a_finding_is_one_line_with_its_place_and_its_hint_below() -> None:
    said = render(findings=(BAD,))
    assert said == (
        ".checkpoints/build.checkpoint.json:6:3: error: created_at is wrong [skill/timestamp]\n  mend it\n"
    )


def test_a_finding_without_a_place_begins_with_its_level() -> None:
    assert render(findings=(Finding("a/b", "note", "so it is"),)) == "note: so it is [a/b]\n"


def digest(*entries: tuple[Finding, int], left: int = 0, screen: Screen = PLAIN) -> list[str]:
    count = left + sum(number for _, number in entries)
    outcome = Outcome(
        {},
        (),
        [BAD] * count,
        summary=[Line("1 checkpoint")],
        digest=Digest(entries, ("checkpoint", "doctor", "--full")),
    )
    return report.render("doctor", outcome, "text", screen).splitlines()


def test_a_digest_has_the_hint_at_the_end_of_the_line() -> None:
    shown = ".checkpoints/build.checkpoint.json:6:3: error: created_at is wrong [skill/timestamp]; mend it"
    assert digest((BAD, 1)) == [shown, "1 checkpoint"]
    assert digest() == ["1 checkpoint"]


def test_a_digest_says_how_many_findings_it_stands_for() -> None:
    many = Finding(
        "a/b",
        "warning",
        "4 files moved: a/ -> b/",
        hint=advise("fix", "checkpoint", "doctor", "--fix"),
    )
    assert digest((many, 4)) == [
        "warning: 4 files moved: a/ -> b/ [a/b]; fix: checkpoint doctor --fix",
        "1 checkpoint",
        "4 findings in all; each of them: checkpoint doctor --full",
    ]
    said = digest(*[(Finding("a/b", "note", str(at)), 1) for at in range(40)], left=2)
    assert len(said) == 23
    assert said[-1] == "21 findings not shown; each of them: checkpoint doctor --full"


def test_on_a_narrow_terminal_the_command_stays_whole_on_a_line_of_its_own() -> None:
    word = f"--next_actions-={'a: checkpoint or git ' * 4}"
    hint = advise("say what is left, and remove it", "checkpoint", "update", "build", word)
    command = str(hint).partition(": ")[2]
    long = Finding("a/b", "warning", "words " * 20 + "end", hint=hint)
    said = digest((long, 1), screen=RICH._replace(width=40))
    assert said[0].startswith("\x1b[33mwarning\x1b[0m: words")
    plain = [re.sub("\x1b\\[[0-9]*m", "", line) for line in said]
    assert all(len(line) <= 40 for line in plain[:-2])
    assert plain[-3:] == ["  say what is left, and remove it:", f"    {command}", "1 checkpoint"]
    short = Finding("a/b", "note", "so it is " * 5, hint=advise("fix", "git", "add", "a"))
    assert digest((short, 1), screen=Screen(width=40))[-2] == "  fix: git add a"


def test_a_digest_fills_one_screen_of_a_narrow_terminal_and_shows_something_at_least() -> None:
    entries = [(Finding("a/b", "note", "word " * 20 + "end"), 1)] * 30
    said = digest(*entries, screen=Screen(width=40))
    assert len(said) == 23
    assert said[0] == "note: word word word word word word w..."
    assert said[-3:] == ["11 findings not shown", "  each of them:", "    checkpoint doctor --full"]


WORDS = "checkpoints wait for somebody who has an answer to the question"


def causes(number: int, *, words: str = WORDS, width: int = 80, colour: bool = False) -> list[str]:
    """What a screen shows of so many causes, each of several findings, with words that fit on no
    line.
    """
    files = ("api", "billing", "data-export", "web")
    shown = list[Cause]()
    for at in range(number):
        hint = advise("ask again", "checkpoint", "doctor", f"--fix=drift/kind-{at}")
        shown.append(
            Cause(Finding(f"drift/kind-{at}", "warning", f"4 {words}", hint=hint), 4, files)
        )
    entries = [(cause.finding, 4) for cause in shown]
    outcome = Outcome(
        {},
        findings=[BAD] * 4 * number,
        summary=[Line("4 checkpoints")],
        digest=Digest(entries, ("checkpoint", "doctor", "--full"), shown, Line("8 can be fixed")),
    )
    return report.render("doctor", outcome, "text", Screen(width=width, colour=colour)).splitlines()


def test_nine_causes_fit_on_one_screen_each_with_the_command_that_fixes_it() -> None:
    said = causes(9)
    assert len(said) == 23
    assert [line for line in said if len(line) > 80] == []
    assert said[:2] == [
        "warning: 4 checkpoints wait for somebody who has an answer to the question (api,",
        "  billing, data-export and 1 more) [drift/kind-0]",
    ]
    for at in range(9):
        assert [
            line for line in said if line.endswith(f": checkpoint doctor --fix=drift/kind-{at}")
        ]
    assert said[-3:] == [
        "4 checkpoints",
        "8 can be fixed",
        "36 findings in all; each of them: checkpoint doctor --full",
    ]


def test_more_causes_keep_their_headings_and_the_first_ones_their_commands() -> None:
    said = causes(14)
    assert len(said) == 23
    assert len([line for line in said if line.startswith("warning: 4 checkpoints wait")]) == 14
    commands = [line.rpartition("=")[2] for line in said if "--fix=" in line]
    assert commands == [f"drift/kind-{at}" for at in range(6)]


def test_colours_take_no_room() -> None:
    painted = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in causes(9, colour=True)]
    assert painted == causes(9)


def test_a_heading_names_as_many_files_as_fit_and_is_cut_before_them() -> None:
    assert (
        causes(20, words="waits")[0]
        == "warning: 4 waits (api, billing, data-export and 1 more) [drift/kind-0]"
    )
    assert causes(20, words="w" * 35)[0] == f"warning: 4 {'w' * 35} (api and 3 more) [drift/kind-0]"
    assert causes(20, words="w" * 50)[0] == f"warning: 4 {'w' * 50} (api and 3 more)"
    assert causes(20, words="w" * 60)[0] == f"warning: 4 {'w' * 49}... (api and 3 more)"


def test_a_finding_keeps_its_place_where_its_message_fits_behind_it() -> None:
    fits = BAD._replace(message="is wrong", hint="mend it " * 20)
    long = BAD._replace(message="is wrong " * 9, hint="mend it " * 20)
    entries = [(fits, 1), (long, 1)]
    shown = [Cause(finding, 1, ("build",)) for finding, _ in entries] * 10
    outcome = Outcome({}, findings=[BAD] * 20, digest=Digest(entries * 10, ("checkpoint",), shown))
    lines = report.render("doctor", outcome, "text", Screen(width=80)).splitlines()
    assert lines[-3] == ".checkpoints/build.checkpoint.json:6:3: error: is wrong [skill/timestamp]"
    assert lines[-2].startswith("error: is wrong is wrong")
    assert lines[-2].endswith("... (build)")
    assert lines[-1] == "20 findings in all; each of them: checkpoint"


def test_signs_and_colours_are_shown_on_a_terminal_only() -> None:
    line = Line("2 decisions waiting on you", "bad", "decision")
    assert render(line) == "2 decisions waiting on you\n"
    assert render(line, screen=RICH) == "\x1b[31m⛔ 2 decisions waiting on you\x1b[0m\n"


def test_a_sign_stands_behind_the_indentation() -> None:
    assert render(Line("  b1", glyph="blocked"), screen=Screen(glyphs=True)) == "  🚫 b1\n"


@rows(
    ("text", "shown"),
    [
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x9b31mred", "\\x9b31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("two\nlines", "two\\nlines"),
        ("half \ud800", "half \\ud800"),
    ],
)
def test_what_could_steer_a_terminal_is_shown_as_an_escape(text: str, shown: str) -> None:
    said = render(
        Line(text),
        Table(("head",), [(text,)]),
        findings=(Finding("a/b", "error", text, text, hint=text),),
    )
    assert said.count(shown) == 5
    assert not any(letter in said for letter in ("\x1b", "\x9b", "\u202e", "\ud800"))


def test_a_table_has_even_columns_and_no_blanks_at_line_ends() -> None:
    table = Table(
        ("skill", "status", "notes"),
        [("build", "blocked", ""), ("release", "complete", "over budget")],
    )
    assert render(table).splitlines() == [
        "skill    status    notes",
        "build    blocked",
        "release  complete  over budget",
    ]


def test_wide_letters_count_as_two_columns() -> None:
    said = render(Table(("a", "b"), [("日本", "x"), ("abcd", "y")])).splitlines()
    assert said == ["a     b", "日本  x", "abcd  y"]
    assert measure("e\u0301") == 1


def test_a_table_is_cut_to_the_width_of_the_terminal_its_widest_column_first() -> None:
    table = Table(("skill", "step"), [("build", "x" * 200)])
    lines = render(table, screen=Screen(width=40)).splitlines()
    assert [len(line) for line in lines] == [11, 40]
    assert lines[1].startswith("build  xxx")
    assert lines[1].endswith("...")
    assert len(render(table).splitlines()[1]) == 207


def test_a_cut_text_keeps_within_its_columns() -> None:
    assert cut("日本語の文", 8) == "日本..."
    assert cut("short", 8) == "short"


# on a narrow terminal

STANDING = Table(
    ("skill", "step", "status", "notes"),
    [
        (
            "build",
            Line("sprint-2-evaluation-round-1"),
            Line("in_progress", "", "in_progress"),
            "PM: T-1 (source)",
        )
    ],
    firm=(0, 2),
    has_tail=True,
)


def narrow(block: Line | Table, width: int) -> list[str]:
    return render(block, screen=Screen(width=width)).splitlines()


def test_a_long_line_goes_on_below_itself_on_a_terminal_where_it_may() -> None:
    line = Line("  next: write the notes API and its tests", hang=8)
    assert narrow(line, 30) == ["  next: write the notes API", "        and its tests"]
    assert narrow(line._replace(hang=-1), 30) == [line.text]
    assert render(line) == f"{line.text}\n"


def test_every_line_of_a_long_one_is_painted() -> None:
    said = render(Line("one two", "bad", hang=2), screen=Screen(width=5, colour=True))
    assert said == "\x1b[31mone\x1b[0m\n\x1b[31m  two\x1b[0m\n"


def test_a_word_that_is_too_long_stays_whole_but_letters_without_blanks_are_broken() -> None:
    assert wrap("see https://example.org/a/long/address now", 20, 2) == [
        "see",
        "  https://example.org/a/long/address",
        "  now",
    ]
    assert wrap("日本語の文章です", 6, 2) == ["日本", "  語の", "  文章", "  です"]
    assert wrap("a-long-identifier", 8, 0, breaks=True) == ["a-long-i", "dentifie", "r"]


@given(st.text("ab 日-", max_size=60), st.integers(5, 30), st.integers(0, 8))
@example("     a", 5, 0)
def test_a_wrapped_text_loses_no_letter_and_keeps_within_its_width(
    text: str, width: int, hang: int
) -> None:
    lines = wrap(text, width, hang, breaks=True)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(measure(line) <= width for line in lines if line.strip(" "))


def test_firm_columns_are_never_cut_and_the_last_one_goes_below_before_the_others_become_unreadable() -> (
    None
):
    assert narrow(STANDING, 60) == [
        "skill  step                    status       notes",
        "build  sprint-2-evaluation...  in_progress  PM: T-1 (source)",
    ]
    assert narrow(STANDING, 47) == [
        "skill  step                         status",
        "build  sprint-2-evaluation-round-1  in_progress",
        "    PM: T-1 (source)",
    ]


def test_a_terminal_too_narrow_for_columns_gets_a_line_for_each_cell() -> None:
    assert narrow(STANDING, 24) == [
        "build",
        "  step    sprint-2-evalu",
        "          ation-round-1",
        "  status  in_progress",
        "  notes   PM: T-1",
        "          (source)",
    ]


def test_a_column_of_sentences_is_broken_at_blanks_before_anything_is_cut() -> None:
    table = Table(
        ("check", "looks at"), [("schema", "everything that validate says of it")], firm=(0,)
    )
    assert narrow(table, 30) == [
        "check   looks at",
        "schema  everything that",
        "        validate says of it",
    ]


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=6),
    st.integers(20, 120),
    st.sets(st.integers(0, 5)),
)
def test_columns_fit_or_cannot(widths: list[int], limit: int, firm: set[int]) -> None:
    fitted = fit(widths, limit, firm, 8)
    spare = limit - 2 * (len(widths) - 1)
    if fitted is None:
        assert (
            sum(width if at in firm else min(width, 8) for at, width in enumerate(widths)) > spare
        )
    else:
        assert sum(fitted) <= spare
        assert all(
            new == old or (at not in firm and 8 <= new < old)
            for at, (new, old) in enumerate(zip(fitted, widths, strict=True))
        )


def test_marks_and_joiners_take_no_column() -> None:
    assert measure("e\u0301") == 1
    assert measure("\u0e01\u0e31") == 1
    assert measure("a\u200d") == 1


def test_quiet_leaves_the_findings_alone() -> None:
    said = render(Line("a table"), findings=(BAD,), screen=Screen(quiet=True))
    assert "a table" not in said
    assert "created_at is wrong" in said


def test_a_summary_stands_behind_the_findings() -> None:
    outcome = Outcome({}, [Line("first")], [BAD], summary=[Line("last")])
    lines = report.render("validate", outcome, "text", PLAIN).splitlines()
    assert lines[0] == "first"
    assert lines[-1] == "last"


# JSON


def test_json_is_one_document_with_the_data_and_the_findings() -> None:
    document = load(render(findings=(BAD,), form="json"))
    assert document["schema_version"] == 1
    assert document["command"] == "status"
    assert document["a"] == 1
    assert document["findings"] == [
        {key: value for key, value in BAD._asdict().items() if key != "cause"}
    ]
    document = load(render(findings=(BAD._replace(cause="files moved"),), form="json"))
    assert document["findings"][0]["cause"] == "files moved"


def test_json_has_the_commands_of_a_hint_as_words_beside_its_text() -> None:
    hint = advise("name it", "checkpoint", "note", "a b", Blank("the decision"))
    (finding,) = load(render(findings=(BAD._replace(hint=hint),), form="json"))["findings"]
    assert finding["hint"] == "name it: checkpoint note 'a b' \"...\""
    assert finding["commands"] == [["checkpoint", "note", "a b", "..."]]
    error = make_error("note", "no such checkpoint", hint)["error"]
    assert error["commands"] == finding["commands"]
    assert "commands" not in make_error("note", "no such checkpoint", "look again")["error"]


def test_json_is_ascii_whatever_is_in_it() -> None:
    said = report.render("show", Outcome({"text": "é\x1b\ud800"}), "json", PLAIN)
    assert said.isascii()
    assert load(said)["text"] == "é\x1b\ud800"


def test_json_has_no_infinity_in_it() -> None:
    said = report.render("show", Outcome({"n": [1e999, {"m": -1e999}], "k": 1.5}), "json", PLAIN)
    assert load(said)["n"] == [None, {"m": None}]
    assert load(said)["k"] == 1.5


# github


def test_an_annotation_names_file_line_and_column() -> None:
    said = render(findings=(BAD,), form="github")
    assert said == (
        "::error file=.checkpoints/build.checkpoint.json,line=6,col=3,title=skill/timestamp"
        "::created_at is wrong (mend it)\n"
    )


def test_an_annotation_cannot_be_left_by_what_is_in_it() -> None:
    nasty = Finding("a/b", "note", "100%\r\n::set-env name=X::y", "a,b:c%.json", line=1)
    said = render(Line("::error::no"), findings=(nasty,), form="github")
    assert (
        said
        == "::notice file=a%2Cb%3Ac%25.json,line=1,title=a/b::100%25\\r\\n::set-env name=X::y\n"
    )


# SARIF


def test_sarif_names_the_rules_and_the_places() -> None:
    nameless = Finding("a/b", "warning", "somewhere")
    spaced = BAD._replace(path="my files/ä.json", column=0)
    log = load(render(findings=(BAD, nameless, spaced), form="sarif"))
    run = log["runs"][0]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["a/b", "skill/timestamp"]
    first, second, third = run["results"]
    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 6, "startColumn": 3}
    assert first["level"] == "error"
    assert "locations" not in second
    place = third["locations"][0]["physicalLocation"]
    address = {"uri": "my%20files/%C3%A4.json", "uriBaseId": "%SRCROOT%"}
    assert place == {"artifactLocation": address, "region": {"startLine": 6}}


def test_sarif_without_findings_is_still_a_run() -> None:
    assert load(render(form="sarif"))["runs"][0]["results"] == []


# Markdown


def test_markdown_is_a_table_of_findings() -> None:
    lines = render(findings=(BAD,), form="md").splitlines()
    assert lines[0] == "| level | place | message | hint | code |"
    assert lines[1] == "| --- | --- | --- | --- | --- |"
    assert "created\\_at is wrong" in lines[2]


def test_a_strangers_text_becomes_no_markup() -> None:
    said = render(Table(("a",), [("x | <img src=y> [z](w) `c`",)]), form="md")
    assert said.splitlines()[2] == "| x \\| &lt;img src=y&gt; \\[z\\](w) \\`c\\` |"


def test_nobody_is_notified_by_a_name_in_a_strangers_text() -> None:
    assert render(Line("ask @ada or @acme/team, not a@ b"), form="md") == (
        "ask @&#8203;ada or @&#8203;acme/team, not a@ b\n"
    )


@rows(
    ("text", "shown"),
    [("- x", "\\- x"), ("1. x", "1\\. x"), ("2) x", "2\\) x"), ("---", "\\---"), ("===", "\\==="), ("+", "\\+"),
     ("# x", "\\# x"), ("-x", "-x"), ("1.5", "1.5"), ("> x", "&gt; x")],
)  # fmt: skip
def test_a_line_that_begins_like_a_list_a_rule_or_a_heading_is_none(text: str, shown: str) -> None:
    assert render(Line(text), form="md") == f"{shown}\n"


def test_a_files_own_lines_stand_between_fences_that_they_cannot_close() -> None:
    blocks = [Line("a_b.json", "strong"), Line("{"), Line('  "x": "```` </pre> @ada"'), Line("}")]
    assert report.render("show", Outcome({}, blocks), "md", PLAIN) == (
        '**a\\_b.json**\n\n`````json\n{\n  "x": "```` </pre> @ada"\n}\n`````\n'
    )


def test_what_is_indented_is_a_list_in_markdown() -> None:
    blocks: list[Line | Table] = [
        Line("build", "strong"),
        Line("  next: a"),
        Line("        done when: b", "dim"),
        Line("  - then: c"),
        Line(""),
        Line("deploy", "strong"),
        Table(("row",), [("x",)]),
        Line("  blocker: d", glyph="blocked"),
    ]
    assert render(*blocks, form="md") == (
        "**build**\n\n"
        "- next: a\n  - done when: b\n- then: c\n\n"
        "**deploy**\n\n"
        "| row |\n| --- |\n| x |\n\n"
        "- 🚫 blocker: d\n"
    )


# the stream


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_colours_signs_and_its_width() -> None:
    assert read_screen(Terminal(), {"COLUMNS": "100", "TERM": "xterm"}) == Screen(
        100, colour=True, glyphs=True
    )


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}])
def test_no_color_takes_the_colours_and_leaves_the_signs(env: dict[str, str]) -> None:
    screen = read_screen(Terminal(), env)
    assert (screen.colour, screen.glyphs) == (False, True)
    assert not read_screen(Terminal(), {}, colour=False).colour


@rows(("wished", "code"), [("", "32"), ("colorblind", "34"), ("dark", "32"), ("nonsense", "32")])
def test_colours_follow_the_theme_that_is_wished_for(wished: str, code: str) -> None:
    assert read_screen(Terminal(), {"CHECKPOINT_COLORS": wished}).theme["good"] == code


def test_every_theme_has_every_style() -> None:
    assert {frozenset(theme) for theme in THEMES.values()} == {frozenset(THEMES["dark"])}


def test_a_dumb_terminal_gets_plain_text() -> None:
    screen = read_screen(Terminal(), {"TERM": "dumb"})
    assert (screen.colour, screen.glyphs) == (False, False)


def test_anything_else_gets_plain_text_as_wide_as_it_is() -> None:
    assert read_screen(io.StringIO(), {"TERM": "xterm", "COLUMNS": "20"}) == PLAIN
    assert read_screen(io.StringIO(), {"FORCE_COLOR": "1"}).colour


def test_no_signs_where_the_encoding_has_none() -> None:
    terminal = Terminal()
    terminal.encoding = "ascii"
    screen = read_screen(terminal, {})
    assert (screen.colour, screen.glyphs) == (True, False)


def test_what_an_encoding_lacks_is_spelled_plainly_or_escaped() -> None:
    assert encode_text("a → b — “c” ☃", "ascii") == b'a -> b - "c" \\u2603'
    assert encode_text("é", "latin-1") == b"\xe9"
    assert encode_text("half \ud800", "utf-8") == b"half \\ud800"


def test_what_is_written_in_pieces_is_the_whole() -> None:
    outcome = Outcome(
        {"rows": [{"n": at, "x": "é"} for at in range(9_000)]},
        [Line(f"{at}") for at in range(5_001)],
        [BAD],
    )
    for form in report.FORMATS:
        pieces = list(report.render_pieces("status", outcome, form, PLAIN))
        assert "".join(pieces) == report.render("status", outcome, form, PLAIN)
        assert all(pieces)
    assert [
        text.count("\n") for text in report.render_pieces("status", outcome, "text", PLAIN)
    ] == [
        2_000,
        2_000,
        1_003,
    ]
    document = json.loads("".join(report.render_pieces("status", outcome, "json", PLAIN)))
    assert document["rows"] == outcome.data["rows"]


def test_a_number_that_json_cannot_spell_is_null_and_nothing_is_written_twice() -> None:
    outcome = Outcome({"rows": [*range(30_000), float("inf")]})
    assert load("".join(report.render_pieces("status", outcome, "json", PLAIN)))["rows"] == [
        *range(30_000),
        None,
    ]
