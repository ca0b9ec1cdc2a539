"""Which next actions are finished by merges, and what is said of references, as values."""

from checkpoint_git.core.clock import DAY, HOUR
from checkpoint_git.git.history.reference_facts import Fact
from checkpoint_git.protocols.skill.drift import merged_work

NOW = 1_000 * DAY


def known(**states: str) -> dict[str, Fact]:
    """Facts by reference; n12 stands for #12."""
    found = {}
    for name, state in states.items():
        reference = f"#{name[1:]}" if name.startswith("n") else name.replace("_", "-")
        found[reference] = Fact(reference, state, NOW - 3 * DAY, "abc1234" * 6, "a rule", 1)  # type: ignore[arg-type]
    return found


def test_an_action_is_finished_once_all_are_merged_for_sure_and_nothing_else() -> None:
    both = {"text": "x", "done_when_merged": ["#12", "#13"]}
    assert merged_work.is_finished(both, known(n12="merged", n13="merged"))
    for state in ("reverted", "lost", "closed", "named"):
        assert not merged_work.is_finished(both, known(n12="merged", n13=state)), state
        assert not merged_work.is_finished("Merge #12", known(n12=state)), state
    assert not merged_work.is_finished(both, known(n12="merged"))
    assert not merged_work.is_finished("Finish ABC-12", known(ABC_12="closed"))
    assert not merged_work.is_finished({"text": "x", "done_when_merged": []}, known(n12="merged"))
    unsure = {"#12": known(n12="merged")["#12"]._replace(sure=False)}
    assert not merged_work.is_finished("Merge #12", unsure)


def test_the_sentence_is_true_of_each_state() -> None:
    facts = known(n1="merged", n2="reverted", n3="lost", n4="closed", n5="named")
    said = [merged_work.describe_fact(fact, NOW) for fact in facts.values()]
    assert said == [
        "#1 was merged 3 days ago (abc1234)",
        "#2 was reverted 3 days ago (abc1234)",
        "#3 was merged 3 days ago (abc1234), but its changes are not in HEAD",
        "#4 was closed 3 days ago (abc1234)",
        "#5 is named by 1 commit, abc1234",
    ]
    assert (
        merged_work.describe_fact(facts["#5"]._replace(commits=3), NOW)
        == "#5 is named by 3 commits, last abc1234"
    )


def test_the_time_is_an_age_or_the_day_where_a_clock_is_wrong() -> None:
    (fact,) = known(n1="merged").values()
    rows = {
        NOW - DAY: "1 day ago",
        NOW - 2 * HOUR: "2 hours ago",
        NOW - 60: "1 minute ago",
        NOW: "just now",
    }
    rows |= {
        0: "1000 days ago",
        NOW + 1: "on 1972-09-27",
        4_080_000_000: "on 2099-04-16",
        10**15: "on 9999-12-31",
    }
    said = {at: merged_work.describe_fact(fact._replace(at=at), NOW) for at in rows}
    assert said == {at: f"#1 was merged {when} (abc1234)" for at, when in rows.items()}
    assert "on 1972-09-24" in merged_work.describe_fact(fact, None)


def test_of_many_facts_the_rest_is_counted() -> None:
    facts = list(known(**{f"n{number}": "merged" for number in range(1, 8)}).values())
    assert merged_work.describe_facts(facts, NOW)[4:] == ["and 3 more references"]


def test_json_has_the_five_members_of_a_reference() -> None:
    (data,) = merged_work.facts_data(known(n1="merged").values())
    assert data == {
        "reference": "#1",
        "state": "merged",
        "at": "1972-09-24T00:00:00Z",
        "commit": "abc1234" * 6,
        "rule": "a rule",
    }


def test_a_checkpoint_began_when_it_was_created_else_when_it_was_written() -> None:
    created, updated = (
        {"created_at": "1970-01-01T00:00:01Z"},
        {"updated_at": "1970-01-01T00:00:02Z"},
    )
    assert merged_work.find_start({**created, **updated}) == 1
    assert merged_work.find_start({"created_at": "soon", **updated}) == 2
    assert merged_work.find_start({"created_at": 7}) is None
