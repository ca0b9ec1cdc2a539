"""Whether what a merge answered is what a vector expects."""

import base64
import itertools
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

Vector = dict[str, Any]
SIZE = 7  # of conflict markers


class Answer(NamedTuple):
    """code: the exit code. data: what the merge left in the file of ours. beside: other files that
    it wrote. last_line: of what it wrote to stderr.
    """

    code: int
    data: bytes
    beside: bytes = b""
    last_line: str = ""


def data_of(text: Any) -> bytes:
    return (
        base64.b64decode(text["base64"])
        if isinstance(text, dict)
        else text.encode("utf-8", "surrogatepass")
    )


def judge(vector: Vector, answer: Answer) -> str:
    """What is wrong with the answer, "" for nothing."""
    ((kind, expected),) = vector["expect"].items()
    if kind == "one_of":
        faults = [judge({**vector, "expect": lawful}, answer) for lawful in expected]
        return "" if "" in faults else "; or: ".join(faults)
    if kind == "kept":
        return _judge_kept(vector, answer, expected)
    if kind == "refused":
        return _judge_refused(vector, answer)
    if kind == "conflict":
        return _judge_conflict(answer, expected)
    if kind == "texts":
        return _judge_texts(answer, expected)
    if kind == "lines":
        return _judge_lines(answer, expected)
    if answer.code != 0:
        return "a conflict, or no answer, where everything merges"
    if kind == "bytes":
        return "" if answer.data == data_of(expected) else "bytes that nobody changed were changed"
    try:
        value = read(answer.data.decode())
    except ValueError as error:
        return f"the result is no JSON: {error}"
    if kind == "clean":
        return (
            ""
            if is_equal(value, expected)
            else f"the result is {json.dumps(value, default=str)[:200]}"
        )
    found = _find(value, expected["at"])
    if kind == "number":
        return (
            ""
            if isinstance(found, Decimal | int) and found == Decimal(expected["is"])
            else f"it is {found}"
        )
    return _judge_list(found, expected)


def read(text: str) -> Any:
    """Raises ValueError for what is no JSON, and for a name that an object has twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a name twice in one object")
        return dict(pairs)

    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    text = text.removeprefix("\ufeff")
    return json.loads(text, parse_float=Decimal, parse_constant=refuse, object_pairs_hook=unique)


def is_equal(one: Any, other: Any) -> bool:
    """As JSON: true is not 1, and 1.0 is 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_equal, one, other))
    numbers = [
        isinstance(each, int | float | Decimal) and not isinstance(each, bool)
        for each in (one, other)
    ]
    if all(numbers):
        return Decimal(str(one)) == Decimal(str(other))
    return type(one) is type(other) and bool(one == other)


def _find(value: Any, pointer: str) -> Any:
    for name in pointer.split("/")[1:]:
        if isinstance(value, dict):
            value = value.get(name)
        else:
            value = value[int(name)] if isinstance(value, list) and int(name) < len(value) else None
    return value


def _judge_refused(vector: Vector, answer: Answer) -> str:
    if answer.code < 128:
        return "it merged by a schema that it should refuse"
    return (
        ""
        if answer.data == data_of(vector["ours"])
        else "it refused the schema, and changed the file"
    )


def _judge_list(found: Any, expected: dict[str, Any]) -> str:
    if not isinstance(found, list):
        return "there is no list"
    if sorted(map(json.dumps, found)) != sorted(map(json.dumps, expected["items"])):
        return f"it holds {json.dumps(found)}"
    wrong = [pair for pair in expected["before"] if found.index(pair[0]) > found.index(pair[1])]
    return f"{json.dumps(found)} puts {wrong[0][1]} before {wrong[0][0]}" if wrong else ""


def _judge_conflict(answer: Answer, expected: dict[str, Any]) -> str:
    if answer.code == 0:
        return "clean, where the sides contradict each other"
    if answer.code > 127:
        return "it gave up"
    for side, document in expected.items():
        try:
            kept = read(keep_side(answer.data.decode(), side))
        except ValueError as error:
            return f"with {side} kept in an editor it is no JSON: {error}"
        if not is_equal(kept, document):
            return f"with {side} kept it is {json.dumps(kept, default=str)[:200]}"
    return ""


def _judge_texts(answer: Answer, expected: dict[str, str]) -> str:
    """Whether it is a conflict, and each choice leaves just this text."""
    if not 0 < answer.code < 128:
        return "clean, or no answer, where the sides contradict each other"
    for side, text in expected.items():
        kept = keep_side(answer.data.decode(), side)
        if kept != text:
            return f"with {side} kept it is {kept[:200]!r}"
    return ""


def _judge_lines(answer: Answer, most: int) -> str:
    """Whether a conflict marks no more of both sides' lines than it must."""
    if not 0 < answer.code < 128:
        return "clean, or no answer, where the sides contradict each other"
    text = answer.data.decode()
    both, shared = [keep_side(text, side).count("\n") for side in ("ours", "")]
    marked = both + keep_side(text, "theirs").count("\n") - 2 * shared
    return f"{marked} lines are marked, and {most} are enough" if marked > most else ""


def _judge_kept(vector: Vector, answer: Answer, words: list[str]) -> str:
    """Input that is no JSON: giving up leaves the file alone; else nothing of a side goes, and
    clean is JSON.
    """
    if answer.code > 127:
        return "" if answer.data == data_of(vector["ours"]) else "it gave up, and changed the file"
    lost = [word for word in words if word.encode() not in answer.data + answer.beside]
    if lost:
        return f"{', '.join(lost)} is gone"
    if answer.code == 0:
        try:
            read(answer.data.decode())
        except ValueError as error:
            return f"it is called clean, and is no JSON: {error}"
    return ""


def keep_side(text: str, side: str) -> str:
    """A text with one side of every conflict, in git's styles merge, diff3 and zdiff3."""
    kept, part = [], ""
    turns: list[tuple[str, Callable[[str], bool]]] = [
        ("ours", lambda line: line.startswith("<" * SIZE + " ")),
        ("base", lambda line: line == "|" * SIZE or line.startswith("|" * SIZE + " ")),
        ("theirs", lambda line: line == "=" * SIZE),
        ("", lambda line: line.startswith(">" * SIZE + " ")),
    ]
    for line in text.split("\n"):
        turn = next((name for name, is_turn in turns if is_turn(line.rstrip("\r"))), None)
        if turn is not None and (part or turn == "ours"):
            part = turn
        elif part in ("", side):
            kept.append(line)
    return "\n".join(kept)


def swapped(vector: Vector) -> Vector:
    """The same with the sides exchanged, which must not matter."""
    ours, theirs = vector["theirs"], vector["ours"]
    expect = _swap_expected(vector["expect"])
    return vector | {
        "id": f"{vector['id']}/swapped",
        "ours": ours,
        "theirs": theirs,
        "expect": expect,
    }


def _swap_expected(expect: dict[str, Any]) -> dict[str, Any]:
    ((kind, expected),) = expect.items()
    if kind in ("conflict", "texts"):
        return {kind: {"ours": expected["theirs"], "theirs": expected["ours"]}}
    if kind == "one_of":
        return {kind: [_swap_expected(lawful) for lawful in expected]}
    return expect


def both_ways(vectors: list[Vector]) -> list[Vector]:
    return list(itertools.chain.from_iterable((one, swapped(one)) for one in vectors))
