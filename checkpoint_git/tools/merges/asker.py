"""The user at a terminal, who is asked what the request does not decide."""

from collections.abc import Sequence
from typing import Literal, TextIO

from checkpoint_git.core.leaflines import list_leaves
from checkpoint_git.core.terminal_text import escape_controls, shorten
from checkpoint_git.merge.conflicts import Conflict, Held, NextAnswer, find_closing
from checkpoint_git.merge.items import canonical_text
from checkpoint_git.merge.result import BASE, OURS, THEIRS
from checkpoint_git.tools.merges.unmerged import NAMES, Case, describe_sides, find_newest

Take = Literal["ours", "theirs", "newest", "base"]
_WIDTH = 100  # characters of a line that is shown
_MOST_LINES = 12  # of one side's value


class Asker:
    """Asks about one conflict at a time. Values come from untrusted files, so they are escaped.

    preface: what the user has to know before the first question, printed once, above it.
    has_quit: the user answered "quit", and every further answer is "leave it".
    """

    def __init__(self, stdin: TextIO, stderr: TextIO) -> None:
        self.stdin = stdin
        self.stderr = stderr
        self.preface = ""
        self.has_quit = False

    def ask_side(self, case: Case, conflict: Conflict) -> int | None:
        """Return the side that the user takes; None to leave the conflict open."""
        if self.has_quit:
            return None

        self._show_conflict(case, conflict)
        takes = list_takes(case, conflict)
        offers = []
        for take, side in takes.items():
            offer = f"[{take[0]}]{take[1:]}"
            if take == "newest":
                offer = f"{offer} ({NAMES[side]})"
            offers.append(offer)

        sides = {take[0]: side for take, side in takes.items()}
        return sides.get(self._ask(" ".join(offers), [*sides, "e", "q"]))

    def _show_conflict(self, case: Case, conflict: Conflict) -> None:
        subject = ", ".join(conflict.places) if conflict.where else "the whole file"
        self._print("", f"{case.path}: {subject}")
        if case.merged is None:
            self._print(f"  {describe_sides(case)}")
            return

        for side in (BASE, OURS, THEIRS):
            first, *rest = _show_value(conflict.sides[side])
            self._print(f"  {NAMES[side]:6}  {first}", *(f"          {line}" for line in rest))

    def ask_next(self, case: Case, conflict: Conflict) -> NextAnswer | None:
        """Return what the user says is next; None to leave it open."""
        if self.has_quit:
            return None

        self._print("", f"{case.path}: {conflict.where}: nothing is left to do, so what is next?")
        can_complete = is_completable(case, conflict)
        offers = "a text, or"
        if can_complete:
            offers = "a text, or [c]omplete"

        while True:
            answer = self._read_line(offers)
            if answer in ("e", "q"):
                return None
            if answer == "c" and can_complete:
                return NextAnswer(None)
            if len(answer) > 1:
                return NextAnswer(answer)
            self._print("please answer with a text of more than one letter, or one of the letters")

    def ask_edited(self, case: Case, state: str, can_stage: bool) -> str:
        """Return what becomes of an edited file: "s" to stage it, "m" to merge it again, "e" or
        "q" to leave it. state: the end of a sentence about the file.
        """
        if self.has_quit:
            return "q"

        self._print("", f"{case.path}: edited since the merge, {state}.")
        offers = "[m]erge again, keeping a copy"
        keys = ["m", "e", "q"]
        if can_stage:
            offers = f"[s]tage it as it is {offers}"
            keys = ["s", *keys]
        return self._ask(offers, keys)

    def _ask(self, offers: str, keys: Sequence[str]) -> str:
        """Ask until the first letter of the answer is one of the keys, and return that letter;
        "q" at the end of the input.
        """
        while True:
            key = self._read_line(offers).lower()[:1]
            if key == "q":
                self.has_quit = True
            if key in keys:
                return key
            self._print(f"please answer with one of: {', '.join(keys)}")

    def _read_line(self, offers: str) -> str:
        """Return what the user typed; "q" at the end of the input."""
        self.stderr.write(f"{offers} [e]dit later [q]uit? ")
        self.stderr.flush()
        line = self.stdin.readline()
        if not line:
            self._print("")
            self.has_quit = True
            return "q"

        answer = line.strip()
        if answer.lower() == "q":
            self.has_quit = True
        return answer

    def _print(self, *lines: str) -> None:
        if self.preface:
            lines = (self.preface, *lines)
            self.preface = ""
        for line in lines:
            self.stderr.write(f"{escape_controls(line)}\n")


def is_completable(case: Case, conflict: Conflict) -> bool:
    """Whether "nothing is next" can be an answer: the checkpoint can be marked as complete."""
    return case.merged is not None and bool(find_closing(case.merged, conflict.where))


def list_takes(case: Case, conflict: Conflict) -> dict[Take, int]:
    """Return the side that each way to decide a conflict takes."""
    takes: dict[Take, int] = {"ours": OURS, "theirs": THEIRS}
    newest = find_newest(case)
    if newest is not None:
        takes["newest"] = newest
    if case.unmerged.sides[BASE] is not None and conflict.sides[BASE] is not None:
        takes["base"] = BASE
    return takes


def _show_value(side: Held | None) -> list[str]:
    """Return the lines that show one side of a conflict."""
    if side is None:
        return ["(nothing)"]
    if not isinstance(side.value, dict | list) or not side.value:
        return [shorten(canonical_text(side.value), _WIDTH)]

    lines = [shorten(line, _WIDTH) for line in list_leaves(side.value)]
    hidden = len(lines) - _MOST_LINES
    if hidden > 0:
        return [*lines[:_MOST_LINES], f"... and {hidden} more"]
    return lines
