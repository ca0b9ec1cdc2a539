"""Find what a shell command loses for good, if its plain words show that.

Of the shell, only words are understood, as shlex splits them, and what separates simple commands.
A command can hide what it does: this is a seat belt, not a sandbox.
"""

import os
import re
import shlex
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from checkpoint_git.disk.discover import LONGEST_PATH, is_git_name

_INSIDE = "{.git, or what is in it}"  # means any word, in a row of the table
_AROUND = "{a folder with .git in it}"


class LossRow(NamedTuple):
    """A kind of command that is stopped."""

    programs: str  # its first word, for git with the subcommand; several are separated by "|"
    # patterns, if any: one of its other words fits one; "-f" is a letter among short options
    words: tuple[str, ...]
    why: str
    also: tuple[str, ...] = ()  # patterns, if any: another word fits one


_REMOVERS = "rm|rmdir|unlink|shred|mv|remove-item|move-item"
_HAS_ALL = ".git has all restore points"
_DROPS = LossRow("*", ("drop database", "drop schema", "drop table"), "it deletes from a database")
TABLE = (
    LossRow(_REMOVERS, (_INSIDE, _AROUND), f"it removes or moves .git, and {_HAS_ALL}"),
    LossRow("chmod|chown|chgrp", (_INSIDE,), f"it changes .git, and {_HAS_ALL}"),
    LossRow(
        "chmod|chown|chgrp", (_AROUND,), f"it changes .git, and {_HAS_ALL}", ("-R", "--recursive")
    ),
    LossRow(
        "find",
        (_INSIDE, _AROUND),
        f"it removes what is in .git, and {_HAS_ALL}",
        ("-delete", *_REMOVERS.split("|")),
    ),
    LossRow(
        "cp|dd|install|ln|rsync|tee|truncate",
        (_INSIDE,),
        f"it overwrites what is in .git, and {_HAS_ALL}",
    ),
    LossRow(
        "perl|sed",
        (_INSIDE,),
        f"it overwrites what is in .git, and {_HAS_ALL}",
        ("-i", "--in-place*"),
    ),
    LossRow(
        "git push",
        ("--force*", "-f", "--delete", "-d", "--mirror", "--prune", "+*", ":?*"),
        "it removes commits or branches from the remote",
    ),
    LossRow("git gc", ("--prune=now", "--prune=all"), "it removes what only git's reflogs hold"),
    LossRow("git reflog expire|git reflog delete", (), "it removes what only git's reflogs hold"),
    LossRow("git filter-repo", (), "it removes what only git's reflogs hold"),
    LossRow("git update-ref", ("-d", "--delete", "--stdin"), "it deletes a ref"),
    LossRow("git stash drop|git stash clear", (), "it deletes a stash"),
    LossRow("git branch", ("-D",), "it deletes a branch, merged or not"),
    LossRow(
        "git branch", ("-d", "--delete"), "it deletes a branch, merged or not", ("-f", "--force")
    ),
    LossRow("git tag", ("-d", "--delete"), "it deletes a tag"),
    LossRow(
        "git worktree remove",
        ("-f", "--force"),
        "it deletes a work tree with what is not committed in it",
    ),
    LossRow("git clean", ("-x", "-X"), "it deletes what git ignores"),
    LossRow("dropdb", (), "it deletes a database"),
    _DROPS,
)

_LONGEST = 50_000  # characters that shlex takes; it needs seconds for a megabyte
_SEPARATORS = ";&|()\n"
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_PREFIXES = frozenset(
    (
        "!",
        "builtin",
        "command",
        "do",
        "elif",
        "else",
        "if",
        "nohup",
        "setsid",
        "then",
        "time",
        "until",
        "while",
        "{",
    )
)
_PREFIXES_WITH_OPTIONS = frozenset(
    (
        "doas",
        "env",
        "exec",
        "ionice",
        "nice",
        "stdbuf",
        "strace",
        "sudo",
        "timeout",
        "watch",
        "xargs",
    )
)
# words behind such a prefix among which its options are; commands of a pipeline that are looked at
_NEAR = 5
_OPTIONS_WITH_VALUE = (
    "-C",
    "-c",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--config-env",
    "--exec-path",
)
# They search, or keep as a text, what they are given; the latter pass it on through a pipe.
_SEARCHING = frozenset(
    (
        "ack",
        "ag",
        "awk",
        "checkpoint",
        "diff",
        "egrep",
        "fgrep",
        "gh",
        "git",
        "grep",
        "head",
        "jq",
        "less",
        "ls",
        "man",
        "rg",
        "sed",
        "tail",
        "wc",
    )
)
_SPEAKING = frozenset(("cat", "echo", "printf"))
_CLIENTS = frozenset(("cockroach", "mariadb", "mysql", "psql", "sqlcmd", "sqlite3", "sqlplus"))
# Words of find, and of a remover that it starts, that leave no file out
_FIND_TAKES_ALL = frozenset((
    "-0", "-delete", "-depth", "-exec", "-execdir", "-f", "-fr", "-maxdepth", "-mindepth",
    "-mount", "-ok", "-okdir", "-print", "-print0", "-r", "-rf", "-type", "-v", "-xdev",
))  # fmt: skip


_ROWS: dict[str, list[LossRow]] = {}  # by the first word
for _row in TABLE:
    for _name in _row.programs.split("|"):
        _ROWS.setdefault(_name.split(" ")[0], []).append(_row)
_KNOWN = _SEARCHING.union(_SPEAKING, _ROWS)


class Simple(NamedTuple):
    """A simple command."""

    name: str  # of the program, for git with its subcommand
    words: list[str]
    targets: list[str]  # of its redirections
    is_piped: bool  # its output goes to the next one


def find_loss(command: str, cwd: str, top: str) -> str:
    """Return why no restore point could bring back what a command loses.

    "" if its words do not show that.
    cwd: where it starts, absolute. top: of the work tree, "" outside git.
    """
    simples = split_command(command)
    programs = {simple.name for simple in simples}
    for index, simple in enumerate(simples):
        if simple.name == "cd" and simple.words:
            folder = os.path.join(cwd, os.path.expanduser(simple.words[0]))
            if len(folder) <= LONGEST_PATH:  # else cd fails, and the rest runs where it was
                cwd = os.path.normpath(folder)
        if any(_is_inside(target) for target in simple.targets):
            return f"it overwrites what is in .git, and {_HAS_ALL}"

        pipeline = _find_pipeline(simples, index)
        for row in _ROWS.get(simple.name.partition(" ")[0], ()):
            if _fits(row, pipeline, cwd, top):
                return row.why
        if _drops_tables(pipeline, programs):
            return _DROPS.why

    return ""


def _find_pipeline(simples: Sequence[Simple], index: int) -> list[Simple]:
    """Return a simple command with those to which it is piped."""
    pipeline = [simples[index]]
    while pipeline[-1].is_piped and index + len(pipeline) < len(simples) and len(pipeline) < _NEAR:
        pipeline.append(simples[index + len(pipeline)])
    return pipeline


def split_command(command: str) -> list[Simple]:
    """Return the simple commands of a command line."""
    tokens = _split_words(command.replace("\\\n", " "))
    found: list[Simple] = []
    words: list[str] = []
    targets: list[str] = []
    redirects = False
    for token in [*tokens, ";"]:
        if token and not token.strip("<>&|") and token.strip("&|"):  # such as > and 2>&1
            redirects = ">" in token
        elif token and not token.strip(_SEPARATORS):
            if words or targets:
                name, rest = _find_program(words)
                found.append(Simple(name, rest, targets, is_piped=token.strip("\n&") == "|"))
            words = []
            targets = []
            redirects = False
        elif redirects:
            targets.append(token)
            redirects = False
        else:
            words.append(token)

    return found


def _split_words(command: str) -> list[str]:
    if len(command) <= _LONGEST:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=f"{_SEPARATORS}<>")
        lexer.whitespace = " \t\r"
        lexer.whitespace_split = True
        lexer.commenters = ""
        try:
            return list(lexer)
        except ValueError:  # a quote that is not closed, as in "it's"
            pass

    spaced = re.sub(r"([;&|()<>\n]+)", r" \1 ", command)
    return [word.strip("'\"") or word for word in re.split(r"[ \t\r]+", spaced) if word]


def _find_program(words: list[str]) -> tuple[str, list[str]]:
    """Return the program that runs, for git with its subcommand, and the words behind it."""
    start = 0
    has_options = False
    while start < len(words) and _is_before_program(words[start], has_options=has_options):
        has_options = has_options or words[start] in _PREFIXES_WITH_OPTIONS
        start += 1

    if start == len(words):
        return "", []

    if has_options:  # the first word may belong to an option: sudo -u somebody
        near = range(start, min(start + _NEAR, len(words)))
        start = next((index for index in near if _base_name(words[index]) in _KNOWN), start)

    name = _base_name(words[start])
    rest = words[start + 1 :]
    if name != "git":
        return name, rest

    while rest and rest[0].startswith("-"):
        has_value = rest[0] in _OPTIONS_WITH_VALUE
        rest = rest[1:]
        if has_value:
            rest = rest[1:]
    return " ".join([name, *rest[:2]]), rest


def _is_before_program(word: str, *, has_options: bool) -> bool:
    if word in _PREFIXES or word in _PREFIXES_WITH_OPTIONS or _ASSIGNMENT.match(word):
        return True
    return has_options and word.startswith("-")


def _base_name(word: str) -> str:
    return word.rpartition("/")[2].lower()


def _fits(row: LossRow, pipeline: Sequence[Simple], cwd: str, top: str) -> bool:
    simple = pipeline[0]
    if not any(f"{simple.name} ".startswith(f"{name} ") for name in row.programs.split("|")):
        return False

    words = simple.words
    if "--help" in words:
        return False
    is_trial = any(_fits_word("-n", word) or word == "--dry-run" for word in words)
    if is_trial and simple.name.startswith("git "):
        return False

    if simple.name == "find":
        words = _find_words(pipeline)
    elif simple.name in ("cp", "install", "ln", "rsync"):  # what comes before is only read
        words = words[-1:]

    return _has(words, row.words, cwd, top) and _has(words, row.also, cwd, top)


def _has(words: Sequence[str], patterns: Sequence[str], cwd: str, top: str) -> bool:
    """Return whether there are no patterns, or a word that fits one of them."""
    if not patterns:
        return True
    for word in words:
        path = word.removeprefix("of=")
        if _INSIDE in patterns and _is_inside(path):
            return True
        if _AROUND in patterns and top and _is_around(path, cwd, top):
            return True
        if any(_fits_word(pattern, word) for pattern in patterns):
            return True

    return False


def _fits_word(pattern: str, word: str) -> bool:
    is_letter = len(pattern) == 2 and pattern[0] == "-"
    if is_letter:
        return word[:1] == "-" and word[1:2] != "-" and pattern[1] in word
    return fnmatchcase(word, pattern)


def _is_inside(word: str) -> bool:
    return any(is_git_name(part) for part in word.split("/"))


def _is_around(word: str, cwd: str, top: str) -> bool:
    """Return whether a word names, maybe by a pattern, .git of the work tree or a folder around
    it.
    """
    if not word or word.startswith("-"):
        return False
    path = os.path.normpath(os.path.join(cwd, os.path.expanduser(word.replace("$PWD", cwd))))
    place = os.path.join(top, ".git")

    while True:
        is_hidden = os.path.basename(place).startswith(".") and not os.path.basename(
            path
        ).startswith(".")
        if path.count("/") == place.count("/") and fnmatchcase(place, path) and not is_hidden:
            return True
        if place == "/":
            return False
        place = os.path.dirname(place)


def _find_words(pipeline: Sequence[Simple]) -> list[str]:
    """Return the words of find that matter: where it starts, and what it does.

    Where it starts does not matter if a test narrows it. `find . -name .git -delete` names .git;
    `find . -name '*.pyc' -delete` and `find . -not -path './.git/*' -delete` do not touch it.
    """
    words = pipeline[0].words
    start = 0
    while start < len(words) and not words[start].startswith(("-", "!", "(")):
        start += 1
    places = words[:start] or ["."]
    tests = words[start:]
    for simple in pipeline[1:]:  # find ... | xargs rm
        tests = [*tests, simple.name, *simple.words]

    has_exception = "-not" in tests or "!" in tests or "-prune" in tests
    if has_exception and any(_is_inside(word) for word in tests):  # .git is what it leaves out
        return [word for word in tests if not _is_inside(word)]
    if _is_narrow(tests):
        places = [place for place in places if _is_inside(place)]
    return [*places, *tests]


def _is_narrow(tests: Sequence[str]) -> bool:
    """Return whether a test of find, such as -name '*.pyc', leaves most files alone."""
    for before, word, value in zip(["", *tests], tests, [*tests[1:], ""], strict=False):
        is_test = word.startswith("-") and word not in (*_FIND_TAKES_ALL, "-o", "-a", "-not")
        if is_test and before not in ("!", "-not") and value != "*":
            return True
    return False


def _drops_tables(pipeline: Sequence[Simple], programs: Collection[str]) -> bool:
    """Return whether such statements get to a program that may run them. programs: of all
    commands.
    """
    simple = pipeline[0]
    program = simple.name.partition(" ")[0]
    text = re.sub(r"\s+", " ", " ".join([program, *simple.words]).lower())
    if program in _SEARCHING or not any(statement in text for statement in _DROPS.words):
        return False
    if program == "drop":  # a line of a text that some program is given
        return not _CLIENTS.isdisjoint(programs)
    if program in _SPEAKING:
        return any(later.name.partition(" ")[0] not in _SEARCHING for later in pipeline[1:])
    return True
