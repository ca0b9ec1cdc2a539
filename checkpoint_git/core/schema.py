"""JSON Schema: a quick answer for what is surely valid, and jsonschema's own words for the rest."""

from collections.abc import Callable
from typing import Any, NamedTuple

from checkpoint_git.core import jsontext

Check = Callable[[Any], bool]


class Schema:
    """A schema (draft 2020-12) and its quick check, each made when first asked for: most who need one need it alone."""

    def __init__(self, load_document: Callable[[], Any], check: Check | None = None) -> None:
        self._load_document = load_document
        self._document: Any = None
        self._check = check

    @property
    def document(self) -> Any:
        if self._document is None:
            self._document = self._load_document()
        return self._document

    @property
    def check(self) -> Check:
        if self._check is None:
            self._check = _make_check(self.document)
        return self._check


class Mismatch(NamedTuple):
    """One place where a value breaks its schema. message: jsonschema's words. where: JSON Pointer of the value, or of
    the member that is missing. expected: what the keyword asks for.
    """

    where: str
    keyword: str
    expected: Any
    value: Any
    message: str


def load_schema(text: str) -> Schema:
    document = jsontext.load(text)
    return Schema(lambda: document)


def _make_check(document: Any) -> Check:
    from checkpoint_git.core.schemacode import NotSureError, write_check

    try:
        source = compile(write_check(document), "<schema>", "exec")
    except (NotSureError, SyntaxError, RecursionError, MemoryError):  # unknown, or nested deeper than Python's own code
        return lambda value: False
    names: dict[str, Any] = {}
    exec(source, names)  # noqa: S102 (our own text: of the schema's it holds literals alone, spelled by repr)
    check: Check = names["check"]
    return check


def is_surely_valid(schema: Schema, value: Any) -> bool:
    """As jsonschema, format checks off, would accept it. False says nothing: ask explain."""
    return schema.check(value)


# The only owner of jsonschema, which costs ten times an interpreter's start and is imported only to explain a failure.
# It knows no protocol. What schemacode.py does not know makes it answer "not surely".
def explain(schema: Schema, value: Any) -> list[Mismatch]:
    """In jsonschema's view (format checks off); [] where the value is valid."""
    from jsonschema import Draft202012Validator

    found: list[Mismatch] = []
    for error in Draft202012Validator(schema.document).iter_errors(value):
        where = ""
        for key in error.absolute_path:
            where = jsontext.join_pointer(where, key)
        if error.validator == "required":
            for name in error.validator_value:
                if name not in error.instance:
                    missing = jsontext.join_pointer(where, name)
                    found.append(Mismatch(missing, "required", name, None, error.message))
        else:
            found.append(Mismatch(where, str(error.validator), error.validator_value, error.instance, error.message))
    return list({(mismatch.where, mismatch.keyword): mismatch for mismatch in found}.values())
