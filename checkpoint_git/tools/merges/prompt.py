"""The user at a terminal, asked about one conflict at a time. What is shown is untrusted text, so it is escaped."""

from typing import TextIO

from checkpoint_git.core.jsonwrite import BASE, OURS, THEIRS
from checkpoint_git.core.leaflines import list_leaves
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.merge.conflicts import Conflict, Held
from checkpoint_git.merge.items import canonical_text
from checkpoint_git.tools.merges.unmerged import LEAVE, MERGE, NAMES, STAGE, Case, describe_sides, find_newest

_SIDES = {"o": OURS, "t": THEIRS, "b": BASE}
_WIDTH = 100  # characters of a line that is shown
_MOST_LINES = 12  # of one side's value


class Asker:
    """Asks, and remembers that the user has had enough: from then on every answer is "leave it".

    preface: what has to be known before the first question; it is said with that, once.
    """

    def __init__(self, stdin: TextIO, stderr: TextIO) -> None:
        self.stdin = stdin
        self.stderr = stderr
        self.preface = ""
        self.has_quit = False

    def ask_side(self, case: Case, conflict: Conflict) -> int | None:
        """The side to take, None to leave the conflict open."""
        if self.has_quit:
            return None
        self._say("", *show_conflict(case, conflict))
        newest = find_newest(case)
        can_base = bool(conflict.where) or conflict.sides[BASE] is not None
        offers = ["[o]urs", "[t]heirs", *(["[b]ase"] if can_base else [])]
        offers += [f"[n]ewest ({NAMES[newest]})"] if newest is not None else []
        sides = {key: side for key, side in _SIDES.items() if side != BASE or can_base}
        if newest is not None:
            sides["n"] = newest
        answer = self._ask(f"{' '.join(offers)} [e]dit later [q]uit? ", (*sides, "e", "q"))
        self.has_quit = answer == "q"
        return sides.get(answer)

    def ask_edited(self, case: Case, valid: bool) -> str:
        """What to do with a file that was edited since the merge: STAGE, MERGE or LEAVE."""
        if self.has_quit:
            return LEAVE
        state = "and is a valid checkpoint now" if valid else "and is not a valid checkpoint yet"
        self._say("", f"{case.path}: it was edited since the merge, {state}.")
        offers = "[s]tage it as it is " if valid else ""
        keys = ("s", "m", "e", "q") if valid else ("m", "e", "q")
        answer = self._ask(f"{offers}[m]erge anew, keeping a copy of it [e]dit later [q]uit? ", keys)
        self.has_quit = answer == "q"
        return {"s": STAGE, "m": MERGE}.get(answer, LEAVE)

    def _ask(self, question: str, keys: tuple[str, ...]) -> str:
        # the first letter of an answer that is one of the keys; "q" at the end of the input
        while True:
            self.stderr.write(question)
            self.stderr.flush()
            answer = self.stdin.readline()
            if not answer:
                self._say("")
                return "q"
            key = answer.strip().lower()[:1]
            if key in keys:
                return key
            self._say(f"please answer with one of: {', '.join(keys)}")

    def _say(self, *lines: str) -> None:
        preface, self.preface = self.preface, ""
        for line in (preface, *lines) if preface else lines:
            self.stderr.write(f"{escape_controls(line)}\n")


def show_conflict(case: Case, conflict: Conflict) -> list[str]:
    """The conflict in lines: where, and what each side has. Not escaped."""
    lines = [f"{case.path}: {', '.join(conflict.places) if conflict.where else 'the whole file'}"]
    if case.merged is None:
        return [*lines, f"  {describe_sides(case)}"]
    for side in (BASE, OURS, THEIRS):
        first, *rest = show_value(conflict.sides[side])
        lines += [f"  {NAMES[side]:6}  {first}", *(f"          {line}" for line in rest)]
    return lines


def show_value(held: Held | None) -> list[str]:
    """A value in a few lines: one a leaf for what has parts. Not escaped where it is a text of one line."""
    if held is None:
        return ["(nothing)"]
    if not isinstance(held.value, dict | list) or not held.value:
        return [shorten(canonical_text(held.value), _WIDTH)]
    lines = [shorten(line, _WIDTH) for line in list_leaves(held.value)]
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"... and {more} more"] if more > 0 else lines
