"""The messages that docs/troubleshooting.md explains are messages that the package prints."""

import re
from functools import cache

from tests.architecture.imports import ROOT
from tests.architecture.test_words import read_package_texts
from tests.support.rows import rows

PAGE = (ROOT / "docs/troubleshooting.md").read_text("utf-8")
MESSAGES = re.findall(r"^### `(.*)`$", PAGE, re.MULTILINE)
SHORTEST = 3  # what stands between two names may be a word such as "at"
# What varies: "...", and names and verbs that the code puts into a message.
VARYING = re.compile(
    r"\.\.\.|\.checkpoints|\bupdate(?= refused)|\b(status|protocol_version)\b"
    r"|(?<=expected )(in_progress.*|1\.0.*)|: git add|\b(asks for|could not be started)\b"
)


@cache
def read_printed() -> list[str]:
    printed = [text for texts in read_package_texts().values() for _, text in texts]
    printed += [file.read_text("utf-8") for file in (ROOT / "checkpoint_git").rglob("*.json")]
    return printed + [
        file.read_text("utf-8") for file in (ROOT / "hooks").iterdir() if file.is_file()
    ]


def find_unknown(message: str, printed: list[str]) -> list[str]:
    """The fixed words of a message that no text has."""
    fixed = [words.strip(' "') for words in VARYING.sub("\0", message).split("\0")]
    return [
        words
        for words in fixed
        if len(words) > SHORTEST and not any(words in text for text in printed)
    ]


def test_words_that_are_not_printed_are_found() -> None:
    assert find_unknown(
        "git does not run ... of our hooks, ever", ["git does not run ", " of our hooks"]
    ) == ["of our hooks, ever"]


def test_the_page_explains_many_messages() -> None:
    assert len(MESSAGES) > 25
    assert len(set(MESSAGES)) == len(MESSAGES)


@rows("message", MESSAGES)
def test_a_message_that_is_explained_is_one_that_is_printed(message: str) -> None:
    assert find_unknown(message, read_printed()) == []
