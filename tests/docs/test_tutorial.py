"""docs/tutorial.md, followed word by word: every command is run, and prints what the page shows."""

import importlib
from pathlib import Path

from docs import console
from tests.architecture.imports import ROOT
from tests.support.rows import rows

PAGE = (ROOT / "docs/tutorial.md").read_text("utf-8")


def test_a_newcomer_who_follows_the_tutorial_sees_what_it_shows(tmp_path: Path) -> None:
    examples = console.find_examples(PAGE)
    printed = console.run_examples(examples, tmp_path, console.make_env(tmp_path))
    assert len(printed) == len(examples) > 20
    for example, said in zip(examples, printed, strict=True):
        assert console.is_as_shown(example.shown, said), f"$ {example.command}\n{said}"


@rows(
    ("shown", "printed", "same"),
    [
        ("saved at 2026-01-01T10:00:00Z\n", "saved at 2026-11-21T17:38:06Z\n", True),
        ("1 checkpoint, 35 checks: 1 warning\n", "1 checkpoint, 36 checks: 1 warning\n", True),
        ("1 checkpoint, 35 checks: 1 warning\n", "1 checkpoint, 35 checks: clean\n", False),
        ("by d9d4d9a62 now\n", "by 8850727a8 now\n", True),
        ("first\n...\nlast\n", "first\nmore\nand more\nlast\n", True),
        ("first\n...\nlast\n", "first\nlast, but not least\n", False),
        ("progress 0/2\n", "progress 1/2\n", False),
        ("", "an error\n", False),
    ],
)
def test_only_what_changes_from_run_to_run_may_differ(shown: str, printed: str, same: bool) -> None:
    assert console.is_as_shown(shown, printed) is same


def test_outputs_are_written_below_their_commands_and_nothing_else_changes() -> None:
    page = "text\n```console\n$ one\nold\n$ two \\\n> more\n```\n$ not an example\n"
    written = console.write_outputs(page, ["new\n", ""])
    assert written == "text\n```console\n$ one\nnew\n$ two \\\n> more\n```\n$ not an example\n"


def test_the_pages_of_the_reference_are_made_from_the_code(tmp_path: Path) -> None:
    reference = importlib.import_module("docs.reference")
    reference.write_reference(tmp_path)
    expected = {
        "commands": "## resume\n",
        "checks": "`drift/action-shipped`",
        "codes": "`json/syntax`",
        "limits": "`MAX_BYTES`",
        "schemas": "`progress_summary`",
    }
    assert {path.stem for path in tmp_path.iterdir()} >= expected.keys()
    for name, words in expected.items():
        text = (tmp_path / f"{name}.md").read_text("utf-8")
        assert words in text, name
        assert "\t" not in text, name
