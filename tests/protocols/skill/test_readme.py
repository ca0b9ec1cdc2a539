"""The room's README names every finding, and its example is valid."""

import re
from pathlib import Path

import checkpoint_git.protocols.skill as room
import checkpoint_git.protocols.validate as validate
from checkpoint_git.protocols.validate import check_document
from tests.support.verbs import NOON, seconds

FOLDER = Path(room.__file__).parent
README = (FOLDER / "README.md").read_text("utf-8")


def test_the_example_is_valid() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    assert (
        check_document("build.checkpoint.json", example.encode(), now=seconds(NOON)).findings == []
    )


def test_every_code_is_in_the_table_and_every_code_in_the_table_exists() -> None:
    sources = [
        path.read_text("utf-8") for path in [*FOLDER.rglob("*.py"), Path(str(validate.__file__))]
    ]
    used = {code for text in sources for code in re.findall(r'"((?:skill|file)/[a-z0-9-]+)"', text)}
    assert used == set(re.findall(r"`((?:skill|file)/[a-z0-9-]+)`", README))
