"""What the project prints is in the words of its field: a search for habits that read as
translated.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache

from tests.architecture.imports import ROOT, module_files

ODD = re.compile(
    r"\b(is no|are no)\b(?! longer)|\bmend|\bstranger|\bby lines\b|\btak(?:e|es|en) (?:(?:it|them) )?away\b"
    r"|\bin the way\b|\bbecame of\b"
    r"|\bleft out\b|\bheld against\b|\bno instant\b|\bby whose\b|\b(nobody|somebody)\b|\bstands\b|\blies\b"
    r"|\banew\b|\bto a person\b|\ba person has\b|\bin no git\b|\b(comes?|came) to nothing\b|\ball is well\b"
    r"|\btaken? out\b|\bpassed over\b|\bwritten down\b|\bis meant\b|\bgoes? on with\b|\bblended\b"
    r"|\bglue[ds]\b|\bafresh\b|\btells\b|\bas far as\b|\bholds\b(?! ours)|\bunasked\b"
    r"|\bis there (twice|again)\b|\bsay what\b|\bnonsense\b|\bsaid nothing\b|\bso it does\b|\bnor does\b"
    r"|\b(is|are|was|were) (told|said)\b|\bsays so\b|\bso do(es)? (it|the|a)\b|\bmade good\b|\bcame of\b"
    r"|\bone after the other\b|\bexclude one another\b|\bdo not fit\b|\binstall \S+ to stay\b"
    r"|\bis over with\b|\bthe same, but\b|\bwhere left\b|\bhinder|\btook \S+ for\b"
)
# beside the modules
PRINTED = (
    "*.1",
    "*.txt",
    "*.html",
    "*.json",
    "*.md",
    "*.toml",
    "*.yml",
    "*.sh",
    "*.js",
)


def read_texts(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every string with a blank in it that is not a docstring."""
    docstrings = set[int]()
    # which comes to a module, class or function before its docstring
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr):
                docstrings.add(id(first.value))
        elif isinstance(node, ast.Constant):
            text = node.value
            if isinstance(text, str) and " " in text and id(node) not in docstrings:
                yield node.lineno, text


@cache
def read_package_texts() -> dict[str, list[tuple[int, str]]]:
    """Return read_texts of each module of the package. Who asks for it is in the group "texts": one
    worker reads.
    """
    return {
        str(file.relative_to(ROOT)): list(read_texts(file.read_text("utf-8")))
        for file in module_files().values()
    }


def find_odd_words(texts: Iterable[tuple[int, str]]) -> list[str]:
    return [f"{line}: {found.group()}" for line, text in texts if (found := ODD.search(text))]


def test_odd_words_are_found() -> None:
    source = '"""A page that is no help."""\ndef f(): return f"{1} is no folder"\nx = "it stands there"\ny = "stands"\n'
    assert sorted(find_odd_words(read_texts(source))) == ["2: is no", "3: stands"]


def test_helps_pages_templates_and_schemas_are_in_the_words_of_the_field() -> None:
    files = [file for pattern in PRINTED for file in (ROOT / "checkpoint_git").rglob(pattern)]
    files += (ROOT / "README.md", *(ROOT / "plugins").rglob("*.md"), *(ROOT / "demo").rglob("*.sh"))
    assert len(files) > 30
    assert [
        f"{file.name}: {found.group()}"
        for file in files
        if (found := ODD.search(file.read_text("utf-8")))
    ] == []


def find_odd_lines(page: str) -> list[str]:
    """Return the lines of a page with odd words, except in code and in "there is no"."""
    plain = re.sub(r"`[^`]*`|\bthere (is|are) no\b|\bnobody\b", "", page, flags=re.IGNORECASE)
    return [line for line in plain.splitlines() if ODD.search(line)]


def test_the_documentation_is_in_the_words_of_the_field() -> None:
    assert find_odd_lines(
        "it is no page\nthere is no `holds`\nnobody reads it\nit stands there"
    ) == [
        "it is no page",
        "it stands there",
    ]
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/internals").glob("*.md"),
    ]
    assert [
        f"{page.name}: {line}" for page in pages for line in find_odd_lines(page.read_text("utf-8"))
    ] == []


def test_what_is_printed_is_in_the_words_of_the_field() -> None:
    texts_of = read_package_texts()
    assert len(texts_of) > 200
    odd = [f"{name}:{one}" for name, texts in texts_of.items() for one in find_odd_words(texts)]
    assert odd == []
