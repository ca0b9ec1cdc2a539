"""Where a commit's message may name a pull request, a ticket or a reverted commit; it knows no rule of evidence."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate, islice, repeat

MAX_MESSAGE = 1 << 17  # bytes of one commit that are looked at
MAX_KEYS = 1_000  # different names of one very long message; what it names beyond them is not looked up
ID_DIGITS = 7  # hexadecimal digits of a commit's id, the fewest that a message shortens it to
_LONG = 1 << 16  # bytes of a message from which on it is read by itself and MAX_KEYS holds

_IDS = r"[0-9a-fA-F]{7,64}(?:(?:\s*,\s*(?:and\s+)?|\s+(?:and\s+)?)[0-9a-fA-F]{7,64})*"
REVERTED_IDS = r"s?:?\s+(?:commits?:?\s+)?(?P<ids>" + _IDS + r")\b"
_REVERTS = rb"vert(?<=[Rr]evert)" + REVERTED_IDS.encode()  # begins with fixed bytes: `re` finds them fast

# Every name ends in its number, so one pass over a text that is turned round, in capitals, stops at digits alone and
# finds all spellings: a name is its digits and what stands before them, both turned round. "#12" is "21#", "ABC-12" is
# "21-CB" (two characters tell most tickets apart), "issues/12" is "21/S", the 13 of "#12/13" is "31/", and of "PR 12"
# only "21" is kept. Digits that end another name are left there: of "#12-13", "31-" is kept and then "21#".
_WORDS = rb"[-\s]*+S?(?:RP|RM|HG|TSEUQ)"
_NAMES = rb"\d(?<!\d\d)\d*+(?:[#\0\1]|/(?:[SLRHT+]|(?=\d))|-(?:[A-Z][A-Z0-9]|%b(?:%b|))|(?=%b))" % (
    rb"(?!(?:\d\d)?\d\d[^A-Z0-9])(?=\d[A-Z0-9])",  # not a date's month or day
    rb"(?!\d++(?:[#/-]|%b)).." % _WORDS,
    _WORDS,
)
_CAPITALS = bytes.maketrans(b"abcdefghijklmnopqrstuvwxyz!", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ#")
_END = b"\n\x000\n"  # of a message; it is found as a name, "0" and a NUL
_PATHS = (b"/S", b"/L", b"/R", b"/H", b"/T", b"/+")
_BRANCHES = (b"-LL", b"-RP", b"-HG", b"-RM", b"-SR", b"-SH", b"-TS", b"-ST")  # of "pull-12", "prs-12" and the like
_OF_NUMBERS = frozenset((b"#", b"", b"/", *_PATHS, *_BRANCHES))


# One place for two readers: what an index is made of, and what is looked up in it. More is found here than the rules of
# evidence accept.
def find_names(messages: Sequence[bytes]) -> bytes:
    """The names in each, between blanks, up to the NUL of the message's end. Long messages are read within bounds."""
    if max(map(len, messages), default=0) > _LONG:
        return b"".join(find_names([one]) if len(one) <= _LONG else _find_bounded(one) for one in messages)
    return b" %b " % b" ".join(_find_tokens(_END.join((*messages, b""))))


def _find_bounded(message: bytes) -> bytes:
    return b" %b 0\0 " % b" ".join(islice(dict.fromkeys(_find_tokens(message[:MAX_MESSAGE])), MAX_KEYS))


def _find_tokens(text: bytes) -> list[bytes]:
    text = re.sub(_REVERTS, _spell_ids, text)
    return re.findall(_NAMES, text.translate(_CAPITALS)[::-1])[::-1]


def _spell_ids(revert: re.Match[bytes]) -> bytes:
    # Before it, as names: the commits that it reverts. What follows it may go on with a ticket's number
    ids = re.findall(r"[0-9a-fA-F]{7,}", revert["ids"].decode())
    return b"".join([*(b"\n\1%b\n" % find_revert_key(one).encode() for one in ids), revert[0]])


def find_revert_key(commit: str) -> str:
    return str(int(commit[:ID_DIGITS], 16))


def prepare_search(references: Collection[str]) -> Callable[[bytes], dict[str, list[int]]]:
    """A search of what find_names gave: in which messages each reference is named."""
    asked: dict[bytes, list[tuple[frozenset[bytes], str]]] = {}
    for reference in references:
        at = max(reference.rfind(sign) for sign in "#!-")
        before = reference[max(at - 2, 0) : at][::-1].encode()
        of_ticket = frozenset((b"/", b"-" + before, b"-" if before[:1].isdigit() else b"/"))
        kinds = of_ticket if reference[at] == "-" else _OF_NUMBERS
        asked.setdefault(reference[:at:-1].encode(), []).append((kinds, reference))
    kinds = frozenset().union(*(kinds for named in asked.values() for kinds, _ in named))
    spelling = rb" (%b0*+(?:%b))(?= )" % (_find_any(asked), b"|".join(map(re.escape, sorted(kinds))))

    def search(names: bytes) -> dict[str, list[int]]:
        pieces = re.split(spelling, names)
        spelled: dict[bytes, list[int]] = {}
        for token, at in zip(pieces[1::2], _count_ends(pieces[0::2]), strict=False):
            spelled.setdefault(token, []).append(at)
        found: dict[str, list[int]] = {}
        for token, places in spelled.items():
            digits, kind = _split(token)
            for reference in [one for kinds, one in asked[digits] if kind in kinds]:
                found.setdefault(reference, []).extend(places)
        return found

    return search


def _split(token: bytes) -> tuple[bytes, bytes]:
    kind = token.lstrip(b"0123456789")
    return token.removesuffix(kind).rstrip(b"0") or b"0", kind


def _count_ends(pieces: Sequence[bytes]) -> Iterator[int]:
    return accumulate(map(bytes.count, pieces, repeat(b"\0")))


def find_reverts(names: bytes) -> dict[str, list[int]]:
    """What find_revert_key gives for a commit -> which messages revert it."""
    found: dict[str, list[int]] = {}
    pieces = names.split(b"\1")
    for before, at in zip(pieces[:-1], _count_ends(pieces), strict=False):
        found.setdefault(before.rpartition(b" ")[2][::-1].decode(), []).append(at)
    return found


def _find_any(words: Iterable[bytes]) -> bytes:
    """A pattern of any of some numbers, which is tried digit by digit."""
    rests: dict[bytes, list[bytes]] = {}
    for word in words:
        rests.setdefault(word[:1], []).append(word[1:])
    return b"(?:%b)" % b"|".join(digit + _find_any(rest) if digit else b"" for digit, rest in rests.items())
