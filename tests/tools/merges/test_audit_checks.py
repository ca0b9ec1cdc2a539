"""What the doctor says about past merges, as values."""

import pytest

from checkpoint_git.core.finding import Finding
from checkpoint_git.tools.doctor.context import World
from checkpoint_git.tools.doctor.table import choose_checks, find_all
from checkpoint_git.tools.merges.audit_checks import find_unaudited_merges
from checkpoint_git.tools.merges.facts import Audit, Damage, Harm, Hurt

PATH = ".checkpoints/build.checkpoint.json"
FIRST, SECOND = "1" * 40, "2" * 40
LOST = Damage("c" * 40, (FIRST, SECOND), "Merge main", PATH, "lost", (Hurt("/blockers", "blockers[b]: gone"),), SECOND)
CHECKS = choose_checks(["merge/lost-entry", "merge/duplicated", "merge/blended"])


def told(*damages: Damage) -> list[Finding]:
    return find_all(CHECKS, World(audit=Audit(1, damages=damages)))


def test_without_damage_there_is_nothing_to_say() -> None:
    assert find_all(CHECKS, World()) == []
    assert find_unaudited_merges(World()) == []


@pytest.mark.parametrize(
    ("harm", "code"), [("lost", "merge/lost-entry"), ("doubled", "merge/duplicated"), ("blended", "merge/blended")]
)
def test_every_kind_of_harm_has_its_code(harm: Harm, code: str) -> None:
    (found,) = told(LOST._replace(harm=harm))
    assert (found.code, found.level, found.path, found.where) == (code, "warning", PATH, "/blockers")


def test_a_loss_names_the_merge_its_parents_the_entry_and_who_has_it() -> None:
    (found,) = told(LOST)
    assert found.message == (
        'merge cccccccccccc of 11111111 and 22222222 ("Merge main") lost an entry: blockers[b]: gone'
    )
    assert f"checkpoint explain-merge {'c' * 12} -- {PATH} tells" in found.hint
    assert found.hint.endswith(f"git show {'2' * 12}:{PATH} still has it")


def test_many_losses_in_one_file_are_one_finding() -> None:
    (found,) = told(LOST._replace(entries=tuple(Hurt(f"/{number}", f"entry {number}") for number in range(5))))
    assert " lost 5 entries: entry 0; entry 1; entry 2; and 2 more" in found.message
    assert found.where == "/0"


def test_a_strangers_path_is_one_word_of_the_command() -> None:
    (found,) = told(LOST._replace(path=".checkpoints/$(touch x).checkpoint.json", subject="s" * 500))
    assert f"git show '{'2' * 12}:.checkpoints/$(touch x).checkpoint.json'" in found.hint
    assert len(found.message) < 200


def test_a_shallow_clone_says_how_many_merges_it_cannot_judge() -> None:
    (found,) = find_unaudited_merges(World(audit=Audit(3, cut=2)))
    assert (found.code, found.level) == ("merge/not-audited", "note")
    assert found.message.startswith("2 recent merges could not be audited")


def test_merges_that_have_to_wait_for_the_next_time_are_said() -> None:
    (found,) = find_unaudited_merges(World(audit=Audit(40, waiting=10)))
    assert found.message.startswith("10 merges were not audited this time")


def test_a_bound_that_cuts_what_was_asked_for_is_said() -> None:
    audit = Audit(1_000, left_out=True)
    assert find_unaudited_merges(World(audit=audit)) == []
    (found,) = find_unaudited_merges(World(audit=audit, since="v1"))
    assert "only the newest 1000 were audited" in found.message
