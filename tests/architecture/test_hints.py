"""A command that a user is shown is a value (core/hint.py), and not a part of a sentence."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from checkpoint_git.cli.verbs import SHORT_VERBS, VERBS

PACKAGE = Path(__file__).parents[2] / "checkpoint_git"
HOLE = "{}"  # how a value in an f-string is spelled
_OURS = "|".join(sorted([*VERBS, *SHORT_VERBS, "-C", re.escape(HOLE)], key=len, reverse=True))
_GIT = r"-C |[a-z][a-z-]+(?: |$|`|\))"
# at the start of a hint, or where a sentence goes over to a command
COMMAND = re.compile(rf"(?:^|[:;,] |`)(?:checkpoint (?:{_OURS})|git (?:{_GIT}))(?![\w.])")
_PLAIN_GIT = (
    "-C |(?:add|checkout|clone|commit|config|diff|fetch|gc|init|log|ls-files|merge|mergetool|mv|pull"
    "|push|rebase|reset|restore|rm|show|stash|status|switch|update-ref)(?!\\w| failed)"
)
IN_TEXT = re.compile(
    rf"(?<![\w./-])(?<!the )checkpoint (?:{_OURS})(?![\w.])"
    rf"|(?:[:;,] |[`(]|&& |\b(?:run|with|then|or) )git (?:{_PLAIN_GIT})"
)
_MAKERS = {
    "make_error": 3,
    "make_warning": 3,
    "CheckpointError": 1,
    "UsageError": 1,
    "UnreachableError": 1,
}
_HELPS = {"HELP", "SUB_HELP"}
# Keywords whose texts are pages: arguments of --help, and what the tables of codes say of any file.
_PAGES = {"help", "description", "remedy"}

# file -> what its texts with commands are. Each is a document, or a program for others to run.
DOCUMENTS = {
    "cli/app.py": "the line of --version, the head of a report, and the name of a verb",
    "cli/completion/complete.py": "the name of the program",
    "cli/help_text.py": "help",
    "cli/parser.py": "the name of the program, for --version",
    "cli/render/github.py": "the title of an annotation",
    "core/codes.py": "the remedies in the reference, which know no file",
    "git/driver_settings.py": "the commands in git's configuration",
    "git/merges/new_commits.py": "a line of the reflog",
    "mcp/calls.py": "the name of the program",
    "mcp/server.py": "the name of the program, in a log",
    "merge/markers.py": "written into the conflict, by the merge driver",
    "mergefile.py": "the merge driver's: core/hint.py would double its processor time",
    "protocols/restore/output.py": "an evidence anchor, tool:git:...",
    "protocols/restore/snapshot.py": "agents' hooks start it alone: it imports nothing of ours",
    "tools/agents/hook_settings.py": "the hooks in agents' settings",
    "tools/merges/premerge.py": "the message of a commit",
    "tools/report/page.py": "the HTML page",
    "tools/session/agent_hooks.py": "the name of the program, before an error",
    "tools/session/prime.py": "the page that an agent's session begins with",
    "tools/setup/forge_files.py": "the head of a generated file",
    "tools/setup/hook_files.py": "lines for another tool's configuration",
    "tools/setup/schema.py": "the head of a generated file",
    "tools/setup/survey.py": "a line of a hook, which is searched for",
    "tools/sync/commits.py": "a line of the reflog",
    "tools/sync/state.py": "a line of the reflog",
}
# files that put a hint into a text: no program reads what they make
PRINTERS = (
    "cli/render/blocks.py",  # the terminal
    "cli/render/github.py",  # an annotation
    "cli/render/sarif.py",  # a result of code scanning
    "core/outcome.py",  # a line of a page
    "protocols/skill/brief/session_brief.py",  # a line of `prime`
    "tools/merges/merge_file.py",  # stderr of `merge-file`, whose stdout is the result
    "tools/sync/files.py",  # the reason why a file was not written, from the file system
)


def find_hints(tree: ast.AST) -> Iterator[ast.expr]:
    """The hints that are written as texts where a finding or an error is made, or in a name that is
    called so.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "hint")
            yield from node.args[_MAKERS[name] : _MAKERS[name] + 1] if name in _MAKERS else ()
        elif isinstance(node, ast.Assign) and any(
            getattr(name, "id", "") == "hint" for name in node.targets
        ):
            yield node.value


def find_texts(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield every text of a module but docstrings, help and remedies."""
    if _is_page(tree):
        return
    if isinstance(tree, ast.JoinedStr | ast.Constant):
        yield tree
        return
    for node in ast.iter_child_nodes(tree):
        yield from find_texts(node)


def _is_page(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):  # a docstring
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.keyword):
        return node.arg in _PAGES
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(getattr(name, "id", "") in _HELPS for name in targets)
    return False


def spell(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values
        )
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def find_commands(source: str) -> list[str]:
    """The texts of a module that have a command in them, with their lines."""
    return [
        f"{node.lineno}: {spell(node)}"
        for node in find_texts(ast.parse(source))
        if IN_TEXT.search(spell(node))
    ]


def find_spelled(source: str) -> list[int]:
    """The lines of f-strings that a hint is put into, where its commands are lost to programs."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FormattedValue)
        and getattr(node.value, "attr", getattr(node.value, "id", "")) == "hint"
    ]


def read_sources() -> dict[str, str]:
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8")
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def test_a_hint_that_is_a_text_has_no_command() -> None:
    found = []
    for name, source in read_sources().items():
        for node in find_hints(ast.parse(source)):
            if COMMAND.search(spell(node)):
                found.append(f"{name}:{node.lineno}: {spell(node)}")
    assert found == []


def test_no_text_has_a_command_unless_it_is_a_document() -> None:
    found = {name: find_commands(source) for name, source in read_sources().items()}
    assert {name: texts for name, texts in found.items() if texts and name not in DOCUMENTS} == {}
    assert [name for name in DOCUMENTS if not found.get(name)] == []


def test_a_hint_becomes_a_text_only_where_it_is_printed() -> None:
    found = [name for name, source in read_sources().items() if find_spelled(source)]
    assert found == sorted(PRINTERS)
    assert find_spelled('x = f"{error.message}; {error.hint}"\ny = f"{hint}"\nz = f"{hints}"') == [
        1,
        2,
    ]


def test_a_command_in_a_text_is_found() -> None:
    made = 'Finding("a", "error", "b", hint=f"do it: checkpoint update {name}")'
    assert [COMMAND.search(spell(node)) is None for node in find_hints(ast.parse(made))] == [False]

    source = '''
"""run checkpoint init"""
HELP = "checkpoint status"
parser.add_argument("--x", help="as for `checkpoint init`")
a = f"sent back (checkpoint workflow task retry {name})"
b = [Line(f"and {count} more: checkpoint {verb}")]
c = "check what is staged (git diff --cached)"
d = "the checkpoint is checkpoint.memoryFile, git log failed, git config failed"
e = f"{path}: run git init, or"
'''
    assert [found.partition(":")[0] for found in find_commands(source)] == ["5", "6", "7", "9"]
