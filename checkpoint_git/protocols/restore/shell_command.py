"""What a shell command does, by its words alone: it only reads, or it loses what no restore point brings back."""

import os
import re
from collections.abc import Iterator, Sequence

from checkpoint_git.protocols.restore.rules import read_table

# patterns of whole simple commands, their words separated by one blank; "never" wins over "looks"
_TABLE = read_table("commands.json")
_LOSSES: list[tuple[str, str]] = [(str(one["pattern"]), str(one["why"])) for one in _TABLE["losses"]]
_LONGEST = 4_000  # characters of a simple command that are looked at
_NEAR = 50  # words behind sudo and the like among which the command itself is looked for
_JOINTS = (";", "\n", "&&", "||", "|", "|&")
_GIT_OPTIONS = re.compile(r"git(?: -C \S+| --no-pager| -P| --no-optional-locks| --literal-pathspecs)+ ")
_ANY_OPTIONS = re.compile(r"\Agit((?: (?>(?:-[Cc]|--(?:git-dir|work-tree|namespace|config-env)) \S+|-\S+))+) (.*)")
_PREFIXES = re.compile(
    r"\A(?:(?:!|do|else|if|then|time|while|nice(?: -n [0-9]+)?|timeout [0-9.]+[smh]?"
    r"|(?:COLUMNS|LANG|LC_[A-Z]+|NO_COLOR|TZ)=\S*|(?:GIT_)?PAGER=cat) )+"
)
_QUOTED = re.compile(r"\\(.)|'([^']*)'|\"([^\"\\]*(?:\\.[^\"\\]*)*)\"", re.DOTALL)
# not every shell knows comments: where one may be more, and where a quote stays open, nothing is read any further
_TOKEN = re.compile(
    r"(?P<blank>(?:[ \t]|\\\n)+|#[^\n'\"\\;&|<>()`]*(?![^\n]))|(?P<end>&&|&(?!>)|\|[|&]?|[;()\n])"
    r"|(?P<word>[0-9]*(?:<<<|<[<>&]?|>[>|&]?)|&>>?|(?!#)(?:[^ \t\n;&|<>()'\"\\]+|" + _QUOTED.pattern + ")+)|.+",
    re.DOTALL,
)


def _split(command: str) -> Iterator[list[str]]:
    """The words of each simple command, in their quotes, and what ends it: "" where nothing is read any further."""
    words = list[str]()
    for token in _TOKEN.finditer(command):
        if token["word"]:
            words.append(token[0])
        elif not token["blank"]:
            yield [*words, token["end"] or ""]
            words = []
    yield [*words, ";"]


def _unquote(word: str) -> str:
    return _QUOTED.sub(r"\1\2\3", word.replace("\\\n", ""))


def _may_be_several(word: str) -> bool:
    """The shell may make other words of it: a variable or braces outside of quotes."""
    bare = _QUOTED.sub("", word)
    inner = bare.rpartition("}")[0].partition("{")[2]
    return "," in inner or ".." in inner or re.search(r"\$[\w@*]", bare) is not None


def _join(words: Sequence[str]) -> str:
    # a blank inside of a word would make it look like several
    return " ".join(re.sub(r"\s", "_", word) for word in words)


def is_looking(command: str) -> bool:
    """Known programs that only read, joined by pipes, `&&` and the like; nothing is written but to /dev/null."""
    if not command.strip() or re.search(r"`|[$<>](?:\\\n)*\(|\$(?:\\\n)*(?:[{'\"]|_(?!\w))", command):
        return False
    return all(words[-1] in _JOINTS and (not words[:-1] or _looks(words[:-1])) for words in _split(command))


def _looks(words: Sequence[str]) -> bool:
    plain = _drop_redirections(words)
    if not plain:
        return False
    text = _PREFIXES.sub("", _join([_unquote(word) for word in plain]))
    text = _GIT_OPTIONS.sub("git ", text).replace("git checkpoint ", "checkpoint ")
    if len(text) > _LONGEST or any(re.fullmatch(never, text) for never in _TABLE["never"]):
        return False
    # the first is for programs that write with no option at all
    looks = _TABLE["looks"][: 1 if any(map(_may_be_several, plain)) else None]
    return any(re.fullmatch(look, text) for look in looks)


def _drop_redirections(words: Sequence[str]) -> list[str] | None:
    plain, waiting = list[str](), ""
    for word in words:
        sign = word.lstrip("0123456789")
        if waiting:
            target = _unquote(word)
            if waiting not in ("<", "<<<") and target != "/dev/null" and not (waiting == ">&" and target in ("1", "2")):
                return None
            waiting = ""
        elif sign and set(sign) <= set("<>&|"):
            if sign not in (">", ">>", "<", "<<<", ">&", "&>"):
                return None
            waiting = sign
        else:
            plain.append(word)
    return None if waiting else plain


def find_loss(command: str, depth: int = 3) -> str:
    """What it does that no restore point can undo, "" for nothing that is known to."""
    found = list(_split(command))
    # what cannot be read, and what may run from within quotes, is read once more as if it had no quotes
    if not all(words[-1] for words in found) or re.search(r"<<|`|\$['(]", command):
        bare = re.sub(r"\\\n|['\"\\]", "", command)
        found += [[*piece.split(), ";"] for piece in re.split(r"[;&|\n(){}`]", bare)]
    return next((loss for words in found if words[:-1] and (loss := _find_loss(words[:-1], depth))), "")


def _find_loss(words: Sequence[str], depth: int) -> str:
    rest, shells = [_unquote(word).strip() for word in words[:_LONGEST]], _TABLE["shells"]
    is_prefix = re.match(r"\w+\+?=|[0-9&]*[<>]", rest[0]) or os.path.basename(rest[0]) in [*_TABLE["prefixes"], *shells]
    for at in range(min(len(rest), _NEAR if is_prefix else 1)):
        name = os.path.basename(rest[at])
        if name in shells and depth:
            if loss := find_loss("\n".join(rest[at + 1 :]), depth - 1):
                return loss
            depth = 0
        text = _ANY_OPTIONS.sub(r"git \2\1", _join([name, *rest[at + 1 :]])[:_LONGEST])
        if why := next((why for loss, why in _LOSSES if re.fullmatch(loss, text)), ""):
            return why
    return ""
