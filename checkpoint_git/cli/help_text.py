"""The texts of --help: the overview, its topics, and each command's own page."""

import os

from checkpoint_git.cli.verbs import VERBS

GROUPS = {
    "work": ("status", "next", "resume", "update", "done", "note", "decide"),
    "check and merge": ("validate", "doctor", "resolve"),
    "set up": ("init", "prime"),
}
TOPICS = {
    "read": ("status", "next", "resume", "show", "log", "diff", "report"),
    "write": ("update", "done", "note", "ask", "decide", "block", "unblock", "drop", "undo", "reset", "rotate"),
    "check": ("validate", "doctor", "schema"),
    "merge": ("resolve", "merge-file", "explain-merge", "audit", "sync", "ci"),
    "state": ("workflow", "pipeline", "memory", "restore-point"),
    "setup": ("init", "uninstall", "prime", "session", "mcp", "completion"),
}
_EXAMPLES = ("", " next", ' update build --next+="Write the first test"')


def overview(program: str, every: bool = False) -> str:
    shown = TOPICS if every else GROUPS
    lists = "".join(f"\n{title}:\n{_list(verbs)}" for title, verbs in shown.items())
    more = "" if every else f"More: {program} help --all, or {program} help TOPIC: {', '.join(TOPICS)}\n"
    return (
        f"usage: {program} [COMMAND] [OPTIONS]\n\n"
        "Checkpoints of long-running work in a git repository. Without a command: status.\n"
        f"{lists}\n{more}`{program} COMMAND --help` shows options and examples.\n\n"
        "examples:\n" + "".join(f"  {program}{words}\n" for words in _EXAMPLES)
    )


def show_topic(topic: str, *_: str) -> str:
    """Its commands; "" for a word that is not a topic."""
    return f"{topic}:\n{_list(TOPICS[topic])}" if topic in TOPICS else ""


def _list(verbs: tuple[str, ...]) -> str:
    return "".join(f"  {verb:13}  {VERBS[verb][1]}\n" for verb in verbs)


def read_help(verb: str) -> tuple[str, str]:
    """(what it does; its examples and exit codes): VERB.txt beside the verb's module."""
    top = os.path.dirname(os.path.dirname(__file__))
    path = os.path.join(top, *VERBS[verb][0].split(".")[1:-1], f"{verb}.txt")
    with open(path, encoding="utf-8") as stream:
        summary, head, rest = stream.read().rstrip("\n").partition("\n\nexamples:\n")
    if "\nexit codes:\n" not in rest:
        rest, _, one = rest.partition("\n\nexit 1: ")
        clean = f"0 clean; 1 {one}" if one else "0 done"
        rest += f"\n\nexit codes: {clean}; 2 could not run; 3 a bug in checkpoint-git; 130 interrupted"
    return summary, head.lstrip("\n") + rest


def wrap(text: str, width: int) -> str:
    """Prose is filled again, a list keeps its columns; a command is never broken, but its remark goes below it."""
    import re
    import textwrap

    def fill(line: str) -> str:
        columns = re.fullmatch(r"( +\S.*?  +|\S+ +)(\S.*)", line)
        if len(line) <= width or not columns:
            return line
        name, remark = columns.groups()
        fits = len(name) <= width // 2
        indent = " " * (len(name) if fits else 6)
        filled = textwrap.fill(remark, width, initial_indent=name if fits else indent, subsequent_indent=indent)
        return filled if fits else f"{name.rstrip()}\n{filled}"

    return "\n\n".join(
        "\n".join(map(fill, paragraph.split("\n")))
        if re.search(r"^ ", paragraph, re.MULTILINE)
        else textwrap.fill(paragraph, width, break_long_words=False, break_on_hyphens=False)
        for paragraph in text.split("\n\n")
    )
