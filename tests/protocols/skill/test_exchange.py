from checkpoint_git.protocols.skill.exchange import fields_of_skill, plan_edits


def test_private_fields_of_a_skill_stay_private() -> None:
    value = {
        "project": "p",
        "skill_state": {"secret": 1},
        "recently_done": [{"text": "did"}],
        "next_actions": ["n"],
    }
    fields = fields_of_skill(value)
    assert fields == {"initiative": "p", "last_action": "did", "next_action": "n"}


def test_the_next_action_is_moved_to_the_head_and_not_doubled() -> None:
    edits = plan_edits({"next_action": "b"}, {"next_actions": ["a", "b"]})
    assert [edit.field for edit in edits] == ["next_actions"]
    assert plan_edits({"next_action": "a"}, {"next_actions": ["a", "b"]}) == []
