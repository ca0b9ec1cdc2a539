import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from checkpoint_git.cli import help_text, render
from checkpoint_git.cli.app import find_request
from checkpoint_git.cli.parser import list_formats, parse
from checkpoint_git.cli.verbs import VERBS, load_verb
from checkpoint_git.core.errors import CheckpointError
from docs import console
from docs.reference import GENERATED, list_codes
from tests.architecture.imports import ROOT
from tests.support.codes import known_codes
from tests.support.command import run_checkpoint
from tests.support.repos import GitRepo
from tests.support.rows import rows

PYTHON_EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELL_EXAMPLE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONTINUED = re.compile(r"\\\n *")
# what the codes of these begin with
ON_THE_SITE = {
    "workflow",
    "pipeline",
    "yaml",
    "memory",
    "restore",
    "schema",
}
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def read_pages() -> dict[Path, str]:
    """The project's pages for people."""
    files = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/internals").glob("*.md"),
    ]
    return {file: file.read_text("utf-8") for file in files}


def test_every_finding_code_is_explained_in_the_docs() -> None:
    docs = "".join(read_pages().values())
    codes = {code for code in known_codes() if code.partition("/")[0] not in ON_THE_SITE}
    assert len(codes) > 150
    assert sorted(code for code in codes if f"`{code}`" not in docs) == []


def test_the_other_finding_codes_are_on_the_site_s_page_of_codes() -> None:
    page = "\n".join(list_codes())
    codes = {code for code in known_codes() if code.partition("/")[0] in ON_THE_SITE}
    assert len(codes) > 50
    assert sorted(code for code in codes if f"| `{code}` |" not in page) == []


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = [
        f"{page.name}: {target}#{anchor}"
        for page, text in read_pages().items()
        for target, anchor in LINK.findall(text)
        if not is_there(page.parent / target if target else page, anchor)
    ]
    assert broken == []


def is_there(file: Path, anchor: str) -> bool:
    """Whether a file exists, and has a heading with the anchor that forges make of it."""
    if not anchor or not file.exists():
        return file.exists()
    headings = HEADING.findall(FENCED.sub("", file.read_text("utf-8")))
    return anchor in {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings
    }


def read_examples() -> Iterator[tuple[str, str]]:
    """(where it stands, the line) of every example for a shell: on the pages, and below --help."""
    for page, text in read_pages().items():
        blocks = [CONTINUED.sub(" ", block) for block in SHELL_EXAMPLE.findall(text)]
        lines = [line for block in blocks for line in block.splitlines()]
        lines += [example.command for example in console.find_examples(text)]
        yield from ((page.name, line) for line in lines)
    for verb in VERBS:
        examples = CONTINUED.sub("", "\n".join(page.rest for page in help_text.read_pages(verb)))
        shown = [line.strip() for line in examples.splitlines() if line.startswith("  ")]
        yield from ((f"{verb} --help", re.split(r" {2,}", line)[0]) for line in shown)


def find_commands(line: str) -> Iterator[list[str]]:
    """The words of each command of ours in a line for a shell, without the program's name."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in reader:
        if set(word) <= set("();<>|&"):
            commands.append([])
        else:
            commands[-1].append(word)
    for words in commands:
        if words[:2] == ["git", "checkpoint"] or words[:1] == ["checkpoint"]:
            yield words[words.index("checkpoint") + 1 :]


@rows(
    ("line", "commands"),
    [
        ("checkpoint next   # a comment", [["next"]]),
        ("cd x && git checkpoint update a --b='c d' > file", [["update", "a", "--b=c d"]]),
        ("eval it | checkpoint restore-point guard; checkpoint", [["restore-point", "guard"], []]),
        ("pip install checkpoint", []),
    ],
)
def test_commands_are_found_in_a_line(line: str, commands: list[list[str]]) -> None:
    assert list(find_commands(line)) == commands


def test_every_command_that_is_shown_can_be_given() -> None:
    shown = [(where, words) for where, line in read_examples() for words in find_commands(line)]
    assert len(shown) > 150
    faults = [f"{where}: {words}: {why}" for where, words in shown if (why := find_fault(words))]
    assert faults == []


def find_fault(words: list[str]) -> str:
    """What the command line would say against some words, "" where it takes them."""
    try:
        request = find_request(words)
        module = load_verb(request.verb)
        parse(request, module, list_formats(request.verb, module, tuple(render.FORMATS)))
    except CheckpointError as error:
        return error.message
    return ""


def test_every_python_example_runs(repo: GitRepo) -> None:
    examples = [
        example for text in read_pages().values() for example in PYTHON_EXAMPLE.findall(text)
    ]
    assert len(examples) >= 3
    run_checkpoint("init", cwd=repo.path)
    for example in examples:
        done = repo.run(sys.executable, "-c", example)
        assert done.returncode == 0, f"{example}\n{done.stderr.decode()}"


@rows("name", GENERATED)
def test_what_is_made_from_the_code_is_up_to_date(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert GENERATED[name](text) == text, "run .ci/write-pages"
