import json
from pathlib import Path

import checkpoint_git.protocols.memory.rules as rules
from checkpoint_git.core.clock import DAY, MINUTE, read_instant
from checkpoint_git.core.finding import Finding
from checkpoint_git.protocols.memory.entity import KEYS, Entity
from tests.support.rows import rows

STAMP = "2026-01-09T12:00:00Z"
NOW = (read_instant(STAMP) or (0, ""))[0]


def check(*observations: str, now: int = NOW, entity_type: str = "checkpoint") -> list[Finding]:
    return rules.check(Entity("e", entity_type, observations), now, 7)


def codes(*observations: str, now: int = NOW) -> list[str]:
    return [finding.code for finding in check(*observations, now=now)]


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
    [
        (7 * DAY, []),
        (7 * DAY + 1, ["memory/outdated"]),
        (-5 * MINUTE, []),
        (-5 * MINUTE - 1, ["memory/ahead"]),
    ],
)
def test_a_checkpoint_is_outdated_after_seven_days(later: int, found: list[str]) -> None:
    assert codes("initiative:i", f"timestamp:{STAMP}", now=NOW + later) == found


@rows(
    ("observations", "later", "level", "message", "hint"),
    [
        (
            (f"timestamp:{STAMP}",),
            0,
            "error",
            "the checkpoint names no initiative",
            (
                "checkpoint memory update initiative=NAME; "
                "or start a new one: checkpoint memory save --initiative NAME"
            ),
        ),
        (
            ("initiative:i", "Phase:a", "NEXT_ACTION:b", f"timestamp:{STAMP}"),
            0,
            "warning",
            "keys with capitals are read in lower case: Phase, NEXT_ACTION",
            "checkpoint memory load --continue writes them so, as every save does",
        ),
        (
            ("initiative:i", "phase:a", "phase:b", f"timestamp:{STAMP}"),
            0,
            "warning",
            'phase has several values: a | b; "b" was added last and counts',
            (
                "a server does not record an older one that was set again; then: "
                "checkpoint memory update phase=VALUE"
            ),
        ),
        (
            ("initiative:i", f"timestamp:{STAMP}", "timestamp:2026-01-08T12:00:00Z"),
            0,
            "warning",
            (
                "an update was interrupted, or the client never deletes old values: "
                f'the newest timestamp counts, "{STAMP}"'
            ),
            "to keep one value of each field: checkpoint memory load --continue",
        ),
        (
            ("initiative:i", "timestamp:soon"),
            0,
            "warning",
            "the checkpoint has no valid timestamp, so its age is unknown",
            "to stamp it: checkpoint memory load --continue",
        ),
        (
            ("initiative:i", f"timestamp:{STAMP}"),
            9 * DAY - 1,
            "warning",
            "the checkpoint is 8 days old",
            "a fresh start may be better: checkpoint memory load --fresh",
        ),
        (
            ("initiative:i", f"timestamp:{STAMP}"),
            -DAY,
            "warning",
            f"the checkpoint's time is ahead of this machine's clock: {STAMP}",
            "check the clock of this machine",
        ),
    ],
)
def test_a_finding_names_the_entity_and_says_what_to_do(
    observations: tuple[str, ...], later: int, level: str, message: str, hint: str
) -> None:
    (found,) = check(*observations, now=NOW + later)
    assert (found.level, found.path, found.message) == (level, "e", message)
    assert str(found.hint) == hint


def test_the_content_is_checked_without_its_age() -> None:
    assert rules.check_content(Entity("e", "checkpoint", ("initiative:i", "timestamp:soon"))) == []
    found = rules.check_content(Entity("e", "checkpoint", ("timestamp:soon",)))
    assert [finding.code for finding in found] == ["memory/no-initiative"]


def test_of_anothers_entity_nothing_else_is_said() -> None:
    (found,) = check("phase:a", "phase:b", entity_type="person")
    assert (found.code, found.level, found.path) == ("memory/foreign-entity", "error", "e")
    assert found.message == 'the entity "e" is another client\'s: its type is "person"'
    assert str(found.hint) == "choose another name: git config checkpoint.memoryEntity NAME"


def test_the_schema_names_every_known_key() -> None:
    schema = json.loads((Path(rules.__file__).parent / "schema.json").read_text("utf-8"))
    assert set(KEYS) <= set(schema["properties"])
