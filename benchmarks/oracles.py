"""What independent readers answer: json, PyYAML and jsonschema, made to refuse what we refuse."""

import json
from functools import cache
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from checkpoint_git.core import jsontext
from checkpoint_git.protocols.contract import open_room


def differs(what: str, ours: Any, theirs: Any) -> str:
    return (
        ""
        if repr(ours) == repr(theirs)
        else f"{what}: {repr(ours)[:100]} is not {repr(theirs)[:100]}"
    )


def _refuse(token: str) -> None:
    raise ValueError(token)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level := [child for child in level if isinstance(child, dict | list)]:
        level = [
            inner
            for child in level
            for inner in (child.values() if isinstance(child, dict) else child)
        ]
        depth += 1
    return depth


def _whole(token: str) -> int | float:
    return int(token) if len(token) < 4_000 else float(token)


def oracle_json(data: bytes) -> Any:
    """... where json refuses it, or we say that we do."""
    try:
        text = data.decode().removeprefix("\ufeff")
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse, parse_int=_whole)
    except (ValueError, RecursionError):
        return ...
    return ... if _depth(value) > jsontext.MAX_DEPTH else value


def load_json(data: bytes) -> Any:
    try:
        return jsontext.load(jsontext.decode(data))
    except jsontext.JsonTextError as error:
        return ... if error.code.startswith("json/") and error.message else error


def plain(node: jsontext.Node) -> Any:
    members = node.members
    if isinstance(members, dict):
        return {key: plain(child) for key, child in members.items()}
    if isinstance(members, list):
        return [plain(child) for child in members]
    return json.loads(node.source, parse_int=_whole)


def _make_loader(base: Any) -> Any:
    """PyYAML's own, with timestamps as texts, and "=", of which it makes no value."""
    texts = (":timestamp", ":value")
    rows = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(texts)]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return type("Loader", (base,), {"yaml_implicit_resolvers": rows})


# its two parsers differ in what they refuse: tabs and question marks in plain texts
LOADERS = [
    _make_loader(base) for base in (getattr(yaml, "CSafeLoader", yaml.SafeLoader), yaml.SafeLoader)
]


def oracle_yaml(text: str, loader: Any = LOADERS[0]) -> Any:
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506 (a subclass of SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, OverflowError):
        return ...


@cache
def validator(kind: str) -> Any:
    return Draft202012Validator(open_room(kind).schema.document)


def oracle_any(data: bytes, *, strict: bool = False) -> Any:
    try:
        return json.loads(
            data.decode("utf-8", "surrogatepass"), object_pairs_hook=_pairs if strict else None
        )
    except (ValueError, RecursionError):
        return None
