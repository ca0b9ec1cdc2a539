"""The texts of --help: the overview, its topics, and each command's own page."""

import shutil
from collections.abc import Iterator, Sequence
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
    topic: tuple([verb for verb, row in VERBS.items() if row.topic == topic])
    for topic in _TOPIC_NAMES
}
WIDTH = 100  # columns of a help at most, and if there is no terminal
_REMARK = " " * 6  # in front of a remark that is below its command
_EXAMPLES = ("", " next", ' add build "Write the first test"')


def overview(program: str, every: bool = False) -> str:
    """Return the page of the program: the commands used most, or every command by its topic."""
    lists = ""
    groups = TOPICS if every else GROUPS
    for title, verbs in groups.items():
        lists += f"\n{title}:\n{_list(verbs)}"

    other_lists = ""
    if not every:
        topics = ", ".join(TOPICS)
        other_lists = f"More: {program} help --all, or {program} help TOPIC: {topics}\n"

    examples = "".join(f"  {program}{words}\n" for words in _EXAMPLES)
    text = (
        f"usage: {program} [COMMAND] [OPTIONS]\n\n"
        "Checkpoints of long-running work in a git repository. Without a command: status.\n"
        f"{lists}\n{other_lists}`{program} COMMAND --help` shows options and examples.\n\n"
        f"examples:\n{examples}"
    )
    return wrap(text, read_width())


def read_width() -> int:
    return max(40, min(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH))


def show_topic(topic: str) -> str:
    """Return the list of a topic's commands; "" for a word that is not a topic."""
    if topic not in TOPICS:
        return ""
    return wrap(f"{topic}:\n{_list(TOPICS[topic])}", read_width())


def _list(verbs: tuple[str, ...]) -> str:
    return "".join(f"  {verb:13}  {VERBS[verb].summary}\n" for verb in verbs)


class Page(NamedTuple):
    head: str  # a sub-verb and its operands, "" for the command's own page
    summary: str
    rest: str  # examples and exit codes


def read_page(verb: str, sub_verb: str = "") -> Page:
    return next(page for page in read_pages(verb) if page.head.partition(" ")[0] == sub_verb)


def read_pages(verb: str) -> list[Page]:
    """Return the page of the command, made of HELP in its module, and the pages of its sub-verbs.

    Those are made of SUB_HELP, and the command's page lists them.
    """
    module = load_verb(verb)
    page = _split_page("", module.HELP)
    sub_pages = [_split_page(head, text) for head, text in getattr(module, "SUB_HELP", {}).items()]
    if not sub_pages:
        return [page]

    rows = ""
    for sub_page in sub_pages:
        rows += f"  {sub_page.head:20}  {sub_page.summary.splitlines()[0]}\n"
    first = sub_pages[0].head.split()[0]
    advice = f"`checkpoint {verb} {first} --help` shows the options of {first}, with examples."
    summary, gap, rest = page.summary.partition("\n\n")
    page = page._replace(summary=f"{summary}\n\n{rows}\n{advice}{gap}{rest}")
    return [page, *sub_pages]


def _split_page(head: str, text: str) -> Page:
    text = text.rstrip("\n")
    summary, title, rest = text.partition("\n\nexamples:\n")
    if "\n\nexit codes: " not in rest:
        rest, _, meaning_of_1 = rest.partition("\n\nexit 1: ")
        codes = f"0 clean; 1 {meaning_of_1}" if meaning_of_1 else "0 done"
        rest += (
            f"\n\nexit codes: {codes}; 2 could not run; 3 a bug in checkpoint-git; 130 interrupted"
        )
    return Page(head, summary, title.lstrip("\n") + rest)


def wrap(text: str, width: int) -> str:
    """Return the text with its prose filled, and its lists in columns.

    No command is broken: if one remark of a list does not fit beside it, all of them go below.
    """
    import textwrap

    paragraphs = list[str]()
    for paragraph in text.split("\n\n"):
        if any(line.startswith(" ") for line in paragraph.split("\n")):
            paragraphs.append("\n".join(_wrap_list(paragraph.split("\n"), width)))
        else:
            paragraphs.append(
                textwrap.fill(paragraph, width, break_long_words=False, break_on_hyphens=False)
            )
    return "\n\n".join(paragraphs)


def _wrap_list(lines: Sequence[str], width: int) -> Iterator[str]:
    """Yield the lines of a list: an indented name, two blanks or more, and a remark."""
    import re
    import textwrap

    entry = re.compile(r"( ++\S(?:\S| (?! ))*+ {2,}+)(\S.*)")
    entries = [entry.fullmatch(line) for line in lines]
    is_narrow = any(
        len(found[0]) > width and len(found[1]) > width // 2 for found in entries if found
    )
    for line, found in zip(lines, entries, strict=True):
        if found is None or (len(line) <= width and not is_narrow):
            yield line
        elif is_narrow:
            yield found[1].rstrip()
            yield textwrap.fill(found[2], width, initial_indent=_REMARK, subsequent_indent=_REMARK)
        else:
            hang = " " * len(found[1])
            yield textwrap.fill(found[2], width, initial_indent=found[1], subsequent_indent=hang)
