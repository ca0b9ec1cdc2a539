"""What the project prints is in the words of its field: a search for habits that read as translated."""

import ast
import re
from collections.abc import Iterator

from tests.architecture.imports import ROOT, module_files

ODD = re.compile(
    r"\b(is no|are no)\b(?! longer)|\bmend|\bstranger|\bby lines\b|\btakes? away\b|\bin the way\b|\bbecame of\b"
    r"|\bleft out\b|\bheld against\b|\bno instant\b|\bby whose\b|\b(nobody|somebody)\b|\bstands\b|\blies\b"
    r"|\banew\b|\bto a person\b|\ba person has\b|\bin no git\b|\b(comes?|came) to nothing\b|\ball is well\b"
    r"|\btaken? out\b|\bpassed over\b|\bwritten down\b|\bis meant\b|\bgoes? on with\b|\bblended\b"
    r"|\bglue[ds]\b|\bafresh\b|\btells\b|\bas far as\b"
)
PRINTED = ("*.1", "*.txt", "*.html", "*.json", "*.md", "*.toml", "*.yml", "*.sh", "*.js")  # beside the modules


def read_texts(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every string with a blank in it that is not a docstring."""
    tree = ast.parse(source)
    owners = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    first = [node.body[0] for node in owners if node.body]
    docstrings = {id(one.value) for one in first if isinstance(one, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if " " in text and id(node) not in docstrings:
                yield node.lineno, text


def find_odd_words(source: str) -> list[str]:
    return [f"{line}: {found.group()}" for line, text in read_texts(source) if (found := ODD.search(text))]


def test_odd_words_are_found() -> None:
    source = '"""A page that is no help."""\ndef f(): return f"{1} is no folder"\nx = "it stands there"\ny = "stands"\n'
    assert sorted(find_odd_words(source)) == ["2: is no", "3: stands"]


def test_helps_pages_templates_and_schemas_are_in_the_words_of_the_field() -> None:
    files = [file for pattern in PRINTED for file in (ROOT / "checkpoint_git").rglob(pattern)]
    files += (ROOT / "README.md", *(ROOT / "plugins").rglob("*.md"), *(ROOT / "demo").rglob("*.sh"))
    assert len(files) > 30
    assert [f"{file.name}: {found.group()}" for file in files if (found := ODD.search(file.read_text("utf-8")))] == []


def test_what_is_printed_is_in_the_words_of_the_field() -> None:
    sources = {str(file.relative_to(ROOT)): file.read_text("utf-8") for file in module_files().values()}
    assert len(sources) > 200
    odd = [f"{name}:{one}" for name, text in sources.items() for one in find_odd_words(text)]
    assert odd == []
