"""The doctor's settings: what may be silenced, what never, and what is wrong with the settings
themselves.
"""

from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.tools.doctor.catalog import is_code
from checkpoint_git.tools.doctor.settings import (
    Settings,
    find_unused,
    read_settings_text,
    split_findings,
)
from tests.support.rows import rows

PATH = ".checkpoints/doctor.toml"
FOUND = Finding(
    "drift/file-missing",
    "warning",
    "a/b.ts is missing",
    ".checkpoints/x.checkpoint.json",
    "/a/0",
    3,
    1,
)
START = read_instant("2026-06-30T00:00:00Z")
assert START is not None
JUNE_30 = START[0]


def read(text: str) -> Settings:
    return read_settings_text(text, PATH, is_code)


def told(text: str, finding: Finding = FOUND, now: int = JUNE_30) -> bool:
    settings = read(text)
    assert settings.findings == []
    return bool(split_findings([finding], settings.suppressions, now)[0])


def entry(**fields: str) -> str:
    given_ = {"code": "drift/file-missing", "reason": "built in CI", **fields}
    return "[[suppress]]\n" + "".join(f'{key} = "{text}"\n' for key, text in given_.items())


def test_an_empty_file_says_nothing() -> None:
    assert read("# nothing\n") == Settings([], [])


def test_a_finding_is_silenced_with_its_reason() -> None:
    settings = read(entry())
    rest, silent, used = split_findings([FOUND], settings.suppressions, JUNE_30)
    assert (rest, used) == ([], {0})
    assert (silent[0].finding, silent[0].reason) == (FOUND, "built in CI")


@rows(
    ("fields", "expected"),
    [
        ({"code": "drift"}, False),
        ({"code": "drift/"}, False),
        ({"code": "driver"}, True),
        ({"path": ".checkpoints/*.checkpoint.json"}, False),
        ({"path": "other/*"}, True),
        ({"where": "/a"}, False),
        ({"where": "/a/0"}, False),
        ({"where": "/a/"}, False),
        ({"where": "/a/00"}, True),
        ({"where": "/"}, False),
        ({"contains": "b.ts"}, False),
        ({"contains": "c.ts"}, True),
        ({"until": "2026-06-30"}, False),
        ({"until": "2026-06-29"}, True),
    ],
)
def test_every_part_of_an_entry_has_to_fit(fields: dict[str, str], expected: bool) -> None:
    assert told(entry(**fields)) is expected


def test_until_may_be_a_date_of_toml() -> None:
    text = entry() + "until = 2026-06-30\n"
    assert not told(text, now=JUNE_30 + DAY - 1)
    assert told(text, now=JUNE_30 + DAY)


@rows(
    "finding",
    [
        Finding("merge/unresolved", "error", "x", "p"),
        Finding("skill/missing-field", "error", "x", "p"),
        Finding("json/conflict-markers", "error", "x", "p"),
        Finding("file/link-outside", "error", "x", "p"),
        Finding("content/secret", "error", "x", "p"),
    ],
)
def test_an_unusable_checkpoint_is_told_whatever_the_settings_say(finding: Finding) -> None:
    for code in ("merge", "schema", finding.code, finding.code.partition("/")[0]):
        assert told(entry(code=code), finding)


def test_a_warning_about_content_may_be_silenced_by_its_own_code_or_by_schema() -> None:
    finding = Finding("skill/file-too-big", "warning", "x", "p")
    assert not told(entry(code="skill/file-too-big"), finding)
    assert not told(entry(code="schema"), finding)


def test_an_error_of_the_installation_may_be_silenced() -> None:
    assert not told(entry(code="driver/inert"), Finding("driver/inert", "error", "x", "p"))


@rows(
    ("text", "line", "says"),
    [
        ("x = \n", 1, "not TOML"),
        ("\n\n[tresholds]\n", 3, 'unknown key "tresholds": did you mean thresholds?'),
        ("thresholds = 3\n", 1, "thresholds must be an object, and is 3"),
        ("[thresholds]\n\nin_progress_dayz = 3\n", 3, "in_progress_dayz"),
        (
            "[thresholds]\nblocked_days = 0\n",
            2,
            "thresholds.blocked_days is 0, and cannot be below 1",
        ),
        ("[thresholds]\nblocked_days = true\n", 2, "whole number"),
        ("suppress = 3\n", 1, "suppress must be a list, and is 3"),
        ("suppress = [3]\n", 1, "suppress.0 must be an object"),
        ('[[suppress]]\ncode = "drift"\n', 1, "suppress.0.reason is missing"),
        ('[[suppress]]\ncode = "drift"\nreason = " "\n', 1, "suppress.0.reason is empty"),
        ('[[suppress]]\nreason = "x"\n', 1, "suppress.0.code is missing"),
        (entry() + "\n" + entry(code="drift/nothing"), 5, "drift/nothing"),
        (entry() + "\n" + entry(codes="x"), 5, "codes"),
        (entry(until="soon"), 1, "until"),
        ('[[suppress]]\ncode = 3\nreason = "x"\n', 1, "suppress.0.code must be a text, and is 3"),
    ],
)
def test_what_is_wrong_with_the_settings_is_told_with_its_line(
    text: str, line: int, says: str
) -> None:
    (finding,) = read(text).findings
    assert (finding.code, finding.level, finding.path, finding.line) == (
        "doctor/bad-settings",
        "warning",
        PATH,
        line,
    )
    assert says in finding.message


def test_one_bad_entry_leaves_the_others_in_force() -> None:
    settings = read(f'[thresholds]\nblocked_days = 9\n{entry()}[[suppress]]\ncode = "drift"\n')
    assert len(settings.suppressions) == 1
    assert len(settings.findings) == 1


def test_a_suppression_that_is_over_or_does_nothing_is_a_note() -> None:
    settings = read(entry(until="2026-06-01") + entry(code="drift") + entry(code="driver"))
    _, _, used = split_findings([FOUND], settings.suppressions, JUNE_30)
    notes = find_unused(settings.suppressions, used, JUNE_30, PATH)
    assert [(one.level, one.line, "has expired" in one.message) for one in notes] == [
        ("note", 1, True),
        ("note", 8, False),
    ]


def test_deep_nesting_is_a_finding() -> None:
    assert read("x = " + "[" * 5_000 + "]" * 5_000).findings


@given(st.text(alphabet="[]{}=\"'\n.#ab1 -:\\u", max_size=200))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    read(text)


def test_what_a_check_or_a_room_says_may_be_named_and_nothing_else() -> None:
    known = (
        "drift",
        "drift/file-missing",
        "online/behind",
        "workflow/stale",
        "skill/row-id-twice",
        "merge/",
        "schema",
    )
    assert all(is_code(code) for code in known)
    assert not any(
        is_code(code)
        for code in ("drift/nothing", "drif", "nothing/at-all", "skill/nothing", "sync/conflict")
    )
