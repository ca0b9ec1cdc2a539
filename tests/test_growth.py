"""No regular expression of the package takes more steps than its text is long, whatever the text."""

import re
import time
from collections import deque
from typing import Any

import pytest

from checkpoint_git.git.history import claims, reference_scan
from checkpoint_git.protocols.restore import shell_command
from checkpoint_git.protocols.skill import generated_files
from checkpoint_git.tools.doctor import deployed
from tests.support.patterns import Use, find_uses, make_hostile

_NUMBERED = [*reference_scan._NUMBERS, *(pattern for pattern, _ in reference_scan._CODED), reference_scan._REVERTS]
# what stands in a local name: expression -> the patterns
LOCAL: dict[str, list[Any]] = {
    "pattern": [claims._SCOPE, claims._LEADING, claims._TAGGED, *_NUMBERED],
    "never": [],  # these three are bounded
    "look": [],
    "loss": [],
    "joint": [claims._BEFORE_FIRST, claims._BETWEEN],
    "translate(head)": [],  # the standard library's, one part of a path at a time
    "translate(part)": [],
    "'|'.join(values)": ["@POINT@|@FOLDER@"],
    "re.escape(ending.encode()) + b'\\x00'": [b"abc\0"],
    "f'^([<|>])\\\\1{{{size - 1}}} (ours|base|theirs)(?=:)'": [r"^([<|>])\1{6} (ours|base|theirs)(?=:)"],
    "f'[@/.]{forge}\\\\.[a-z]+[:/]'": [r"[@/.]github\.[a-z]+[:/]"],
}
# pattern -> the most characters that its callers give it
BOUNDED = {claims._SUFFIXES: 400, generated_files._NOTES.pattern: 1_000, deployed._ID_IN_NAME.pattern: 100}
BOUNDED |= {r"( +\S.*?  +|\S+ +)(\S.*)": 120}  # a line of our own help texts
_COMMANDS = [*shell_command._TABLE["never"], *shell_command._TABLE["looks"], *(one for one, _ in shell_command._LOSSES)]
BOUNDED |= dict.fromkeys(_COMMANDS, shell_command._LONGEST)

_SIZES = (30, 4_000)  # characters; at 30 what grows exponentially is seen before it never ends
_SUSPECT = 0.001  # seconds: quadratic work on 4,000 characters takes longer, linear work a hundredth of it
_FACTOR = 4
_LIMIT = 2 * _FACTOR  # quadratic work takes _FACTOR times _FACTOR
_ENDLESS = 0.5  # seconds
_MEASURED = 6  # times that a text must be seen to grow: on a busy machine a single ratio doubles by chance

USES = [use for use in dict.fromkeys(find_uses(LOCAL)) if use.pattern not in BOUNDED]


def _run(use: Use, compiled: re.Pattern[Any], text: str) -> float:
    given = text.encode("utf-8") if isinstance(use.pattern, bytes) else text
    scan = getattr(compiled, use.how) if use.how in ("match", "fullmatch", "search") else compiled.finditer
    began = time.process_time()
    found = scan(given)
    deque(found if scan == compiled.finditer else (), 0)
    return time.process_time() - began


def _grows(use: Use, before: str, pump: str, behind: str) -> bool:
    compiled = re.compile(use.pattern, use.flags)

    def measure(size: int, times: int) -> float:
        text = before + pump * (size // len(pump) + 1) + behind
        return min(_run(use, compiled, text) for _ in range(times))

    for size in _SIZES:
        if measure(size, 1) > _SUSPECT and (small := measure(size, 3)) > _SUSPECT:
            if size < _SIZES[-1] or small > _ENDLESS:
                return True
            return all(measure(_FACTOR * size, 2) > _LIMIT * measure(size, 3) for _ in range(_MEASURED))
    return False


@pytest.mark.parametrize("use", USES, ids=[f"{use.where}-{use.how}-{at}" for at, use in enumerate(USES)])
def test_a_pattern_takes_no_more_than_linear_time(use: Use) -> None:
    growing = [case for case in make_hostile(use) if _grows(use, *case)]
    assert not growing, f"{use.pattern!r}: {growing[0]}"


@pytest.mark.parametrize("pattern", [r"\s+into", r"(a|aa)+$", r"<[^>]*>", r"x*y*x*z"])
def test_a_pattern_that_grows_is_found(pattern: str) -> None:
    use = Use("here:1", pattern, 0, "finditer")
    assert any(_grows(use, *case) for case in make_hostile(use))


@pytest.mark.parametrize("pattern", BOUNDED)
def test_a_pattern_with_bounded_callers_does_not_grow_beyond_the_bound(pattern: str) -> None:
    use = Use("here:1", pattern, 0, "search")
    compiled, most = re.compile(pattern), BOUNDED[pattern]
    spent = [
        _run(use, compiled, before + pump * (most // len(pump)) + behind) for before, pump, behind in make_hostile(use)
    ]
    assert max(spent) < _ENDLESS
