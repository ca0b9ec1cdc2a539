import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.yamledit import set_values
from checkpoint_git.core.yamltext import load
from tests.support.rows import rows

TEXT = """\
# status, kept by hand
version: '1.0'
active:   # what is going on
  initiative: login   # the name
  milestone: "M1"
  phase:

sessions:
- date: 2026-01-01
  completed: >-
    the first
    and more
- date: 2026-01-02   # the last
  completed: second

resume:
    next_action: go on
    context_files:   # paths
      - a.py   # why a
      - b.py
flow: {a: 1, b: []}
# the end
"""


@rows(
    ("path", "value", "before", "after"),
    [
        (("active", "initiative"), "pass keys", "login   # the name", "pass keys   # the name"),
        (("active", "milestone"), "M2", '"M1"', '"M2"'),
        (("active", "milestone"), 'a "b": c', '"M1"', '"a \\"b\\": c"'),
        (("active", "phase"), "design", "  phase:\n", "  phase: design\n"),
        (("active", "initiative"), "yes", "login ", '"yes" '),
        (("active", "owner"), "Ada", "  phase:\n", "  phase:\n  owner: Ada\n"),
        (("sessions", 1, "completed"), "third", "second", "third"),
        (("sessions", 0, "completed"), "x: y", ">-\n    the first\n    and more\n", '"x: y"\n'),
        (("sessions", 2, "completed"), "new", "second\n", "second\n- completed: new\n"),
        (("resume", "context_files"), ["a.py", "c.py"], "- b.py", "- c.py"),
        (("resume", "context_files"), ["a.py"], "      - b.py\n", ""),
        (
            ("resume", "context_files"),
            ["a.py", "b.py", "d.py"],
            "- b.py\n",
            "- b.py\n      - d.py\n",
        ),
        (("flow", "c"), "x", "b: []}", 'b: [], c: "x"}'),
        (("flow", "b"), ["x"], "b: []", 'b: ["x"]'),
        (("fresh", "deep"), "x", "b: []}\n", "b: []}\nfresh:\n  deep: x\n"),
    ],
)
def test_one_value_changes_and_every_other_byte_stays(
    path: tuple[str | int, ...], value: str | list[str], before: str, after: str
) -> None:
    assert set_values(TEXT, {path: value}) == TEXT.replace(before, after, 1)


@rows(
    "text",
    [
        "",
        "# only a remark\n",
        "a: 1",
        "active: {}\n",
        "active:\n",
        "active: null\n",
        "sessions: []\n",
    ],
)
def test_what_is_missing_is_made(text: str) -> None:
    changes: dict[tuple[str | int, ...], str | list[str]] = {
        ("active", "phase"): "p",
        ("sessions", 0, "completed"): "c",
        ("resume", "context_files"): ["x", "y"],
    }
    value = load(set_values(text, changes))
    assert (value["active"]["phase"], value["sessions"][0]["completed"]) == ("p", "c")
    assert value["resume"]["context_files"] == ["x", "y"]


@pytest.mark.parametrize("path", [("active",), ("version", "x"), ("active", "initiative", "x")])
def test_a_place_of_another_form_is_refused(path: tuple[str | int, ...]) -> None:
    with pytest.raises(CheckpointError):
        set_values(TEXT, {path: "x"})


@given(
    st.text(),
    st.sampled_from(
        [("active", "initiative"), ("active", "milestone"), ("active", "phase"), ("n", "m")]
    ),
)
def test_any_text_is_written_so_that_it_is_read_or_refused(
    value: str, path: tuple[str | int, ...]
) -> None:
    try:
        changed = load(set_values(TEXT, {path: value}))
    except CheckpointError:
        return
    assert changed[path[0]][path[1]] == value
    assert changed["sessions"] == load(TEXT)["sessions"]
