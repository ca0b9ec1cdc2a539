"""Where a commit's message may name a pull request, a ticket or a reverted commit; it knows no rule of evidence."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, repeat

MAX_MESSAGE = 1 << 17  # bytes of one commit that are looked at
MAX_KEYS = 1_000  # different names of one very long message; what it names beyond them is not looked up
NUMBER_BITS = 17  # of a posting: which commit of its run
MAX_RUN = 1 << NUMBER_BITS  # commits, more than a run ever holds

# A key is 46 bits: its kind above, what is named below.
_KIND_BITS = 44
_TICKET, _LISTED, _REVERTED = (kind << _KIND_BITS for kind in (1, 2, 3))
REVERTS = range(_REVERTED, 4 << _KIND_BITS)  # the keys of commits that are reverted
_ID_DIGITS = 7  # hexadecimal digits of a commit's id, the fewest that a message shortens it to
_LONG = 1 << 16  # bytes of a message from which on it is read by itself and MAX_KEYS holds
# what stands before the dash of "pull-12", "pr-12" and "gh-12", as branches are called
_NUMBERED_BRANCHES = (b"LL", b"PR", b"GH")

# Every pattern begins with fixed bytes, which the scanner of `re` finds at the speed of memchr. They are texts here:
# `re` compiles and keeps them when they are first used, and most processes use none.
_DIGITS = rb"0*(\d{1,9})(?!\d)"
_NUMBERS = (
    rb"#" + _DIGITS,
    rb"!" + _DIGITS,
    *(word + rb"[Ss]?[-\s]*" + _DIGITS for word in (b"P[Rr]", b"pr", b"M[Rr]", b"G[Hh]", b"quest")),
)
# pull/12, issues/12, pr/12, gh/12, pullrequest/12, +/12; 13 of "#12/13"
_PATH_NUMBER = rb"/(?<=([slrhtSLRHT0-9+])/)" + _DIGITS
# the two characters before the dash tell most tickets apart; a date's month and day are none
_TICKET_NUMBER = rb"-(?=\d)(?<=([A-Za-z0-9]{2})-)(?<![^A-Za-z0-9]\d\d-)(?<![^A-Za-z0-9]\d{4}-)0*(\d{1,7})(?!\d)"
_IDS = r"[0-9a-fA-F]{7,64}(?:(?:\s*,\s*(?:and\s+)?|\s+(?:and\s+)?)[0-9a-fA-F]{7,64})*"
REVERTED_IDS = r"s?:?\s+(?:commits?:?\s+)?(?P<ids>" + _IDS + r")\b"
_REVERTS = rb"vert(?<=[Rr]evert)" + REVERTED_IDS.encode()


def find_keys(reference: str) -> list[int]:
    at = max(reference.rfind(sign) for sign in "#!-")
    number = int(reference[at + 1 :])
    if reference[at] == "-":
        return [_ticket_key(reference[max(at - 2, 0) : at].encode(), number), _LISTED | number]
    branches = [_ticket_key(name, number) for name in _NUMBERED_BRANCHES] if number < 10**7 else []
    return [number, _LISTED | number, *branches]


def find_revert_key(commit: str) -> int:
    return _REVERTED | int(commit[:_ID_DIGITS], 16)


# One place for two readers: what an index is made of, and what is looked up in it. More is found here than the rules of
# evidence accept, and less only where capitals are odd ("mr 12", "PULL REQUEST 12"): those cost a pass each.
def find_postings(block: bytes, messages: Sequence[bytes], first: int) -> list[list[int]]:
    """A number for every name in some messages: its key, and below that which message it is, counted from `first`.
    block: the messages, each ended by a NUL. Long ones are read by themselves and within bounds. The numbers come in
    KINDS lists, one for each way to spell a name: those of many blocks are sorted faster when they are kept apart.
    """
    half = _LONG // 2
    if all(block.find(b"\0", at, at + half) >= 0 for at in range(0, len(block) - half, half)):  # none is long
        return _find_short(block, first)
    postings: list[list[int]] = [[] for _ in range(KINDS)]
    done = 0
    for at in (*(at for at, message in enumerate(messages) if len(message) > _LONG), len(messages)):
        if at > done:
            short = _find_short(b"\0".join((*messages[done:at], b"")), first + done)
            for kept, found in zip(postings, short, strict=True):
                kept += found
        if at < len(messages):
            postings[-1] += [key << NUMBER_BITS | (first + at) for key in find_bounded(messages[at][:MAX_MESSAGE])]
        done = at + 1
    return postings


def _find_short(block: bytes, first: int) -> list[list[int]]:
    found: list[list[int]] = []
    for pattern in _NUMBERS:
        between, numbers = _split(pattern, block, 2)
        places = _places(between, first)
        found.append([int(number) << NUMBER_BITS | at for number, at in zip(numbers, places, strict=True)])
    for pattern, encode in _CODED:
        between, before, numbers = _split(pattern, block, 3)
        codes = {text: encode(text, 0) for text in set(before)}
        coded = zip(before, numbers, _places(between, first), strict=True)
        found.append([(codes[text] | int(number)) << NUMBER_BITS | at for text, number, at in coded])
    return [*found, [key << NUMBER_BITS | (first + block.count(b"\0", 0, at)) for at, key in _find_reverts(block)]]


def _split(pattern: bytes, block: bytes, parts: int) -> list[list[bytes]]:
    # What stands before each match, and the match's groups: lists of one length. No loop in Python is as fast
    pieces = re.split(pattern, block) if re.search(pattern, block) else [block]
    return [pieces[part:-1:parts] for part in range(parts)]


def _places(between: Sequence[bytes], first: int) -> Iterator[int]:
    # Which message each match is in, from the texts before each: messages are counted by the NULs that end them
    return islice(accumulate(map(bytes.count, between, repeat(b"\0")), initial=first), 1, None)


def _find_reverts(block: bytes) -> Iterator[tuple[int, int]]:
    for spot in re.finditer(_REVERTS, block):
        for commit in re.finditer(rb"[0-9a-fA-F]{7,}", spot["ids"]):
            yield spot.start(), _REVERTED | int(commit[0][:_ID_DIGITS], 16)


def find_bounded(message: bytes) -> list[int]:
    """The keys of one message, whatever it holds: what it reverts, then what it names first."""
    reverted = dict.fromkeys(key for _, key in _find_reverts(message))
    named = dict.fromkeys(key for _, key in sorted(_find_named(message)))
    return [*islice(reverted, MAX_KEYS), *islice(named, MAX_KEYS)]


def _find_named(message: bytes) -> Iterator[tuple[int, int]]:
    for pattern in _NUMBERS:
        for spot in re.finditer(pattern, message):
            yield spot.start(), int(spot[1])
    for pattern, encode in _CODED:
        for spot in re.finditer(pattern, message):
            yield spot.start(), encode(spot[1], int(spot[2]))


def _ticket_key(ending: bytes, number: int) -> int:
    return _TICKET | int.from_bytes(ending.upper(), "big") << 24 | number


_CODED = (
    (_PATH_NUMBER, lambda before, number: _LISTED | number if before.isdigit() else number),
    (_TICKET_NUMBER, _ticket_key),
)
KINDS = len(_NUMBERS) + len(_CODED) + 1
