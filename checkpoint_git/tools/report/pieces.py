"""Small pieces that several parts of a page are made of. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

from checkpoint_git.core.clock import DAY
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.protocols.skill.progress import UNREADABLE
from checkpoint_git.protocols.skill.state import State
from checkpoint_git.protocols.skill.views import waits_on_user
from checkpoint_git.tools.report.blocks import Item, Text, Tone

MOST_SKILLS = 60  # told in full
MOST_BLOCKERS = 20
TONES: dict[str, Tone] = {
    "complete": "good", "in_progress": "info", "blocked": "warn", "failed": "bad", UNREADABLE: "bad", "error": "bad",
    "warning": "warn", "damaged": "bad", "active": "good",
}  # fmt: skip


def count_of(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def make_label(skill: str, tone: Tone = "info") -> Text:
    return Text(skill, tone, is_badge=True)


def make_badges(state: State) -> Iterator[Text]:
    yield Text(shorten(state.status.replace("_", " "), 40), TONES.get(state.status, ""), is_badge=True)
    if state.stale and state.age is not None:
        yield Text(f"stale, {state.age // DAY} days", "warn", is_badge=True)
    if state.budget:
        yield Text(state.budget, "bad", is_badge=True)


def make_blocker_item(skill: str, blocker: dict[str, Any], rows: Sequence[dict[str, Any]]) -> Item:
    labels = {row["id"]: words_of(row.get("label")) for row in rows if isinstance(row.get("id"), str)}
    blocking = words_of(blocker.get("blocking"))
    needs = words_of(blocker.get("needs")).replace("_", " ")
    notes = [Text(f"Blocks: {shorten(labels.get(blocking) or blocking, 200)}")] if blocking else []
    proposed = words_of(blocker.get("proposed_resolution"))
    notes += [Text(f"Proposed: {shorten(proposed, 600)}")] if proposed else []
    notes += [Text(f"Needs: {shorten(needs, 60)}")] if needs and not waits_on_user(blocker) else []
    text = words_of(blocker.get("description")) or words_of(blocker.get("id")) or "(no description)"
    label = make_label(skill) if skill else Text(shorten(words_of(blocker.get("id")) or "?", 60), "warn", is_badge=True)
    return Item(shorten(text, 800), label, notes)


def words_of(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)[:200]
