"""What a shell command does, by its words alone: it only reads, or it loses what no restore point brings back."""

import os
import re
import shlex
from collections.abc import Iterator, Sequence

from checkpoint_git.protocols.restore.rules import read_table

# patterns of whole simple commands, their words separated by one blank; "never" wins over "looks"
_TABLE = read_table("commands.json")
_LOSSES: list[tuple[str, str]] = [(str(one["pattern"]), str(one["why"])) for one in _TABLE["losses"]]
_LONGEST = 4_000  # characters of a simple command that are looked at
_ENDS = frozenset((";", "&&", "||", "|", "|&", "&"))
_GIT_OPTIONS = re.compile(r"git(?: -C \S+| --no-pager| -P| --no-optional-locks| --literal-pathspecs)+ ")

_PREFIXES = re.compile(
    r"\A(?:(?:!|do|else|if|then|time|while|nice(?: -n [0-9]+)?|timeout [0-9.]+[smh]?"
    r"|(?:COLUMNS|LANG|LC_[A-Z]+|NO_COLOR|TZ)=\S*|(?:GIT_)?PAGER=cat) )+"
)


def _split(command: str) -> Iterator[list[str]]:
    """The words of each simple command, what ends it last. Quotes are gone. Raises ValueError."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    words = list[str]()
    for word in lexer:
        words.append((word.strip("\n") or ";") if set(word) <= set(";&|\n") else word)
        if words[-1] in _ENDS:
            yield words
            words = []
    yield [*words, ";"]


def _join(words: Sequence[str]) -> str:
    # a blank inside of a word would make it look like several
    return " ".join(re.sub(r"\s", "_", word) for word in words)


def is_looking(command: str) -> bool:
    """Known programs that only read, joined by pipes, `&&` and the like; nothing is written but to /dev/null."""
    if "`" in command or re.search(r"[$<>]\(|\$[{'\"]", command):
        return False
    try:
        found = [words for words in _split(command) if len(words) > 1]
    except ValueError:
        return False
    return bool(found) and all(words[-1] != "&" and _looks(words[:-1]) for words in found)


def _looks(words: Sequence[str]) -> bool:
    plain = _drop_redirections(words)
    # braces make options of what holds a dash; those of a program's own text mostly hold a blank
    if not plain or any("{" in word and "-" in word and word.split() == [word] for word in plain):
        return False
    text = _GIT_OPTIONS.sub("git ", _PREFIXES.sub("", _join(plain))).replace("git checkpoint ", "checkpoint ")
    if len(text) > _LONGEST or any(re.fullmatch(never, text) for never in _TABLE["never"]):
        return False
    return any(re.fullmatch(look, text) for look in _TABLE["looks"])


def _drop_redirections(words: Sequence[str]) -> list[str] | None:
    plain, waiting = list[str](), ""
    for word in words:
        if waiting:
            if waiting not in ("<", "<<<") and word != "/dev/null" and not (waiting == ">&" and word in ("1", "2")):
                return None
            waiting = ""
        elif set(word) <= set("<>&()"):
            if word not in (">", ">>", "<", "<<<", ">&", "&>"):
                return None
            waiting = word
            if plain and plain[-1] in ("1", "2"):
                plain.pop()
        else:
            plain.append(word)
    return None if waiting else plain


def find_loss(command: str, depth: int = 3) -> str:
    """What it does that no restore point can undo, "" for nothing that is known to."""
    try:
        found = [words[:-1] for words in _split(command)]
    except ValueError:
        found = [command.split()]
    return next((loss for words in found if (loss := _find_loss(words, depth))), "")


def _find_loss(words: Sequence[str], depth: int) -> str:
    rest = list(words)
    while rest and (rest[0] in _TABLE["prefixes"] or "=" in rest[0] or rest[0] in "({!" or rest[0].startswith("-")):
        del rest[0]
    if rest and os.path.basename(rest[0]) in _TABLE["shells"] and depth:
        return next((loss for word in rest[1:] if (loss := find_loss(word, depth - 1))), "")
    text = _join([os.path.basename(rest[0]), *rest[1:]])[:_LONGEST] if rest else ""
    return next((why for loss, why in _LOSSES if re.fullmatch(loss, text)), "")
