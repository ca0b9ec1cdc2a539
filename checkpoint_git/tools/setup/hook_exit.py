"""Whether a shell script surely ends before some place in it: by its lines alone, nothing is run. Pure.

Where a line cannot be told for certain, as in what a here-document holds, the answer is no.
"""

import re

_QUOTED = re.compile(rb"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.")
_COMMENT = re.compile(rb"(?:^|(?<=[\s;]))#.*")
_ENDS = re.compile(rb"\s*(?:exit(?:\s+[\w$?{}-]+)?\s*(?:;|$)|exec\s+(?!\d*[<>]|\{\w+\}[<>]|-)[^\s;&|])")
_BETWEEN = re.compile(rb"[;&|]+")
_OPENING = frozenset((b"if", b"case", b"do", b"{", b"("))
_CLOSING = frozenset((b"fi", b"esac", b"done", b"}", b")"))
_LEADING = frozenset((b"then", b"else", b"elif", b"!", b"while", b"until"))  # a command may follow on the line
_GOES_ON = (b"&&", b"||", b"|")


def ends_before(script: bytes) -> bool:
    """Whether these lines end with `exit` or `exec`, whatever happens: no condition, loop or function around it."""
    depth, conditional = 0, False
    for line in script.replace(b"\r\n", b"\n").replace(b"\\\n", b" ").splitlines():
        plain = _COMMENT.sub(b"", _QUOTED.sub(b"q", line)).rstrip()
        if b"<<" in plain or b"'" in plain or b'"' in plain or plain.count(b"(") < plain.count(b"$("):
            return False
        if b"$(" in plain and plain.count(b"(") != plain.count(b")"):
            return False
        if not depth and not conditional and _ENDS.match(plain):
            return True
        depth = max(0, depth + sum(_find_depth(command) for command in _BETWEEN.split(plain)))
        conditional = plain.endswith(_GOES_ON) if plain else conditional
    return False


def _find_depth(command: bytes) -> int:
    """How many levels one command opens, less those that it closes."""
    words, depth = command.split(), 0
    for at, word in enumerate(words):
        if word in _OPENING or word in _CLOSING:
            depth += 1 if word in _OPENING else -1
        elif word not in _LEADING and not word.endswith(b"()"):
            return depth + (words[-1] in (b"{", b"(") and at < len(words) - 1)
    return depth
