"""What a result is worth on each side, before it is text."""

from checkpoint_git.core.jsontext import parse
from checkpoint_git.merge.result import (
    BASE,
    OURS,
    SIDES,
    THEIRS,
    Built,
    Choice,
    Entry,
    Fresh,
    value_of,
)


def test_a_value_that_is_written_anew_holds_nodes_and_conflicts() -> None:
    node = parse("[1]")
    choice = Choice("/a", Fresh("mine"), None, node)
    fresh = Fresh({"node": node, "list": [Fresh("deep"), node], "text": "x"})
    value = node.value
    wanted = {"node": value, "list": ["deep", value], "text": "x"}
    assert [value_of(fresh, side) for side in SIDES] == [wanted, wanted, wanted]

    built = Built(parse("{}"), [Entry("a", choice, None), Entry("b", fresh, None)])
    assert value_of(built, OURS) == {"a": "mine", "b": wanted}
    assert value_of(built, BASE) == {"b": wanted}
    assert value_of(built, THEIRS) == {"a": value, "b": wanted}
