"""The texts of --help: the overview, its topics, and each command's own page."""

import shutil
from collections.abc import Iterator
from typing import NamedTuple

from checkpoint_git.cli.verbs import VERBS, load_verb

GROUPS = {
    "work": ("status", "next", "resume", "update", "add", "done", "note", "decide"),
    "check and merge": ("validate", "doctor", "resolve"),
    "set up": ("init",),
}
_TOPIC_NAMES = ("read", "write", "check", "merge", "state", "setup")
# topic -> its commands
TOPICS = {
    name: tuple([verb for verb, row in VERBS.items() if row.topic == name]) for name in _TOPIC_NAMES
}
WIDTH = 100  # columns of a help at most, and if there is no terminal
_EXAMPLES = ("", " next", ' add build "Write the first test"')


def overview(program: str, every: bool = False) -> str:
    lists = "".join(
        f"\n{title}:\n{_list(verbs)}" for title, verbs in (TOPICS if every else GROUPS).items()
    )
    more = (
        ""
        if every
        else f"More: {program} help --all, or {program} help TOPIC: {', '.join(TOPICS)}\n"
    )
    text = (
        f"usage: {program} [COMMAND] [OPTIONS]\n\n"
        "Checkpoints of long-running work in a git repository. Without a command: status.\n"
        f"{lists}\n{more}`{program} COMMAND --help` shows options and examples.\n\n"
        "examples:\n" + "".join(f"  {program}{words}\n" for words in _EXAMPLES)
    )
    return wrap(text, read_width())


def read_width() -> int:
    return max(40, min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH))


def show_topic(topic: str, *_: str) -> str:
    """Its commands; "" for a word that is not a topic."""
    return wrap(f"{topic}:\n{_list(TOPICS[topic])}", read_width()) if topic in TOPICS else ""


def _list(verbs: tuple[str, ...]) -> str:
    return "".join(f"  {verb:13}  {VERBS[verb].summary}\n" for verb in verbs)


class Page(NamedTuple):
    head: str  # a sub-verb and its operands, "" for the command's own page
    summary: str
    rest: str  # examples and exit codes


def read_page(verb: str, sub_verb: str = "") -> Page:
    return next(page for page in read_pages(verb) if page.head.partition(" ")[0] == sub_verb)


def read_pages(verb: str) -> list[Page]:
    """Return the command's own page, made of HELP in its module, then those of its sub-verbs, from
    SUB_HELP.
    """
    module = load_verb(verb)
    own = _split_page("", module.HELP)
    pages = [_split_page(head, text) for head, text in getattr(module, "SUB_HELP", {}).items()]
    if pages:
        summary, gap, rest = own.summary.partition("\n\n")
        rows = "".join(f"  {page.head:20}  {page.summary.splitlines()[0]}\n" for page in pages)
        first = pages[0].head.split()[0]
        listed = f"{rows}\n`checkpoint {verb} {first} --help` shows the options of {first}, with examples."
        own = own._replace(summary=f"{summary}\n\n{listed}{gap}{rest}")

    return [own, *pages]


def _split_page(head: str, text: str) -> Page:
    text = text.rstrip("\n")
    summary, title, rest = text.partition("\n\nexamples:\n")
    if "\n\nexit codes: " not in rest:
        rest, _, one = rest.partition("\n\nexit 1: ")
        clean = f"0 clean; 1 {one}" if one else "0 done"
        rest += (
            f"\n\nexit codes: {clean}; 2 could not run; 3 a bug in checkpoint-git; 130 interrupted"
        )
    return Page(head, summary, title.lstrip("\n") + rest)


def wrap(text: str, width: int) -> str:
    """Fill prose, keep lists in columns. No command is broken: if a remark does not fit, all go
    below.
    """
    import re
    import textwrap

    def fill(paragraph: str) -> Iterator[str]:
        rows = [
            re.fullmatch(r"( ++\S(?:\S| (?! ))*+ {2,}+)(\S.*)", line) or line
            for line in paragraph.split("\n")
        ]
        found = [row for row in rows if not isinstance(row, str)]
        is_narrow = any(len(row[0]) > width and len(row[1]) > width // 2 for row in found)
        for row in rows:
            if isinstance(row, str) or (len(row[0]) <= width and not is_narrow):
                yield row if isinstance(row, str) else row[0]
                continue
            name, remark = ("      ", row[2]) if is_narrow else row.groups()
            yield from [row[1].rstrip()] * is_narrow
            yield textwrap.fill(
                remark, width, initial_indent=name, subsequent_indent=" " * len(name)
            )

    return "\n\n".join(
        "\n".join(fill(paragraph))
        if re.search(r"^ ", paragraph, re.MULTILINE)
        else textwrap.fill(paragraph, width, break_long_words=False, break_on_hyphens=False)
        for paragraph in text.split("\n\n")
    )
