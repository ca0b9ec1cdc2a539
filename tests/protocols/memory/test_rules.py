import json
from pathlib import Path

import checkpoint_git.protocols.memory.rules as rules
from checkpoint_git.core.clock import DAY, read_instant
from checkpoint_git.protocols.memory.entity import KEYS, Entity
from tests.support.rows import rows

STAMP = "2026-01-09T12:00:00Z"
NOW = (read_instant(STAMP) or (0, ""))[0]


def codes(*observations: str, now: int = NOW, entity_type: str = "checkpoint") -> list[str]:
    return [finding.code for finding in rules.check(Entity("e", entity_type, observations), now, 7)]


@rows(
    ("observations", "found"),
    [
        (("initiative:i", f"timestamp:{STAMP}"), []),
        (("initiative:i",), ["memory/no-timestamp"]),
        ((f"timestamp:{STAMP}",), ["memory/no-initiative"]),
        (("initiative:i", "phase:a", "phase:b", f"timestamp:{STAMP}"), ["memory/several-values"]),
        (("Initiative: i", "TIMESTAMP:2026-01-09"), ["memory/key-case"]),
        (("initiative:i", "timestamp:2026-01-09"), []),
        (("initiative:i", "timestamp:2026-01-09T12:00:00+0000"), []),
        (("initiative:i", "timestamp:2026-01-09 11:00:00"), []),
        (("initiative:i", "timestamp:yesterday"), ["memory/no-timestamp"]),
        (
            ("initiative:i", "timestamp:2026-01-08T12:00:00Z", f"timestamp:{STAMP}"),
            ["memory/interrupted"],
        ),
    ],
)
def test_what_is_wrong_has_a_code(observations: tuple[str, ...], found: list[str]) -> None:
    assert codes(*observations) == found


@rows(
    ("later", "found"),
    [(7 * DAY, []), (7 * DAY + 1, ["memory/outdated"]), (-DAY, ["memory/ahead"]), (-60, [])],
)
def test_a_checkpoint_is_outdated_after_seven_days(later: int, found: list[str]) -> None:
    assert codes("initiative:i", f"timestamp:{STAMP}", now=NOW + later) == found


def test_of_anothers_entity_nothing_else_is_said() -> None:
    assert codes("phase:a", entity_type="person") == ["memory/foreign-entity"]


def test_the_schema_names_every_known_key() -> None:
    schema = json.loads((Path(rules.__file__).parent / "schema.json").read_text("utf-8"))
    assert set(KEYS) <= set(schema["properties"])
