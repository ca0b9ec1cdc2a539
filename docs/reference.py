"""The reference as Markdown, read off the code: commands from their parsers, checks and schemas
from their tables.
"""

import argparse
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import checkpoint_git
from checkpoint_git.cli import render
from checkpoint_git.cli.effects import EFFECTS, Effects
from checkpoint_git.cli.help_text import TOPICS, Page, read_page, read_pages
from checkpoint_git.cli.parser import CommandLine, build_parser, list_formats
from checkpoint_git.cli.verbs import NESTED, VERBS, load_verb
from checkpoint_git.core.codes import SIDE_BY_SIDE
from checkpoint_git.git.settings import SETTINGS
from checkpoint_git.protocols.workflow.layout import PHASES
from checkpoint_git.protocols.workflow.layout import TABLE as PHASES_TABLE
from checkpoint_git.protocols.workflow.transitions import MOVES, TRANSITIONS
from checkpoint_git.tools.doctor.catalog import list_checks as list_doctor_checks
from checkpoint_git.tools.doctor.catalog import list_codes as list_all_codes
from checkpoint_git.tools.setup.schema import list_schemas

_GLOBAL = "options of every command"
_MADE = "% Made from the code at every build of the site; nothing written here lasts.\n\n"


def write_reference(folder: Path) -> None:
    """Writes the generated pages; one that would not change is left alone, so that builds stay
    short.
    """
    folder.mkdir(exist_ok=True)
    pages = {
        "commands": list_commands(),
        "checks": list_checks(),
        "codes": list_codes(),
        "limits": list_limits(),
        "schemas": describe_schemas(),
    }
    for name, lines in pages.items():
        text = _MADE + "\n".join(lines) + "\n"
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


# commands


def list_commands() -> Iterator[str]:
    """A page with a section for every command that is listed."""
    yield "# Commands\n"
    yield "`checkpoint` and `git checkpoint` are one program; `checkpoint` alone is `checkpoint status`.\n"
    shown = [verb for verb, row in VERBS.items() if row.summary]
    for verb in shown:
        yield from _describe_command(verb)
    yield "## Options of every command\n"
    parser = _open_parser(shown[0])
    yield from _list_options(group for group in parser._action_groups if group.title == _GLOBAL)
    yield "## Exit codes\n\nAt the end of each command's help; [in short](../commands.md#exit-codes).\n"


def _open_parser(verb: str, sub_verb: str = "") -> argparse.ArgumentParser:
    module = load_verb(verb)
    formats = list_formats(verb, module, tuple(render.FORMATS))
    return build_parser(
        CommandLine(f"checkpoint {verb}", verb, [sub_verb] if sub_verb else []), module, formats
    )


def _describe_command(verb: str) -> Iterator[str]:
    for page in read_pages(verb):
        yield from _describe_page(verb, page)
    for name, nested in NESTED.items():
        if name.startswith(f"{verb} "):
            yield from _describe_page(nested, read_page(nested), name)


def _describe_page(verb: str, page: Page, name: str = "") -> Iterator[str]:
    """name: as it is typed, of a sub-verb that has a module of its own."""
    sub_verb = page.head.partition(" ")[0]
    parser = _open_parser(verb, sub_verb)
    parser.prog = f"checkpoint {name}" if name else parser.prog
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    summary, _, rest = page.summary.partition("\n")
    title = f"### {name or f'{verb} {sub_verb}'}" if name or sub_verb else f"## {verb}"
    yield f"{title}\n\n{_sentence(summary)}\n\n```text\n{usage}\n```\n"
    if rest.strip():
        yield f"```text\n{_outdent(rest)}\n```\n"
    yield from _list_options(group for group in parser._action_groups if group.title != _GLOBAL)
    examples = page.rest.removeprefix("examples:\n")
    yield f"```text\n{_outdent(examples)}\n```\n"


def _sentence(text: str) -> str:
    text = " ".join(text.split()).replace("<", "&lt;")
    return f"{text[:1].upper()}{text[1:]}."


def _outdent(text: str) -> str:
    lines = text.strip("\n").split("\n")
    return "\n".join(line.removeprefix("  ") for line in lines)


def _list_options(groups: Iterator[Any]) -> Iterator[str]:
    actions = [action for group in groups for action in group._group_actions]
    rows = [_option_row(action) for action in actions if action.help != argparse.SUPPRESS]
    if rows:
        yield "| argument | what it does |\n|---|---|\n" + "\n".join(dict.fromkeys(rows)) + "\n"


def _option_row(action: argparse.Action) -> str:
    names = ", ".join(f"`{name}`" for name in action.option_strings)
    value = (
        action.metavar
        if isinstance(action.metavar, str)
        else ", ".join(map(str, action.choices or ()))
    )
    value = f"`{value}`" if value and action.nargs != 0 else ""
    text = (
        " ".join((action.help or "").replace("%%", "%").split())
        .replace("|", "\\|")
        .replace("<", "&lt;")
    )
    return f"| {' '.join(part for part in (names, value) if part)} | {text} |"


# commands, on hand-written pages


_COMMAND_HEAD = "| command | what it does |"
_EFFECTS_HEAD = "| commands | start | connect to | write |"


def replace_command_tables(text: str) -> str:
    """docs/commands.md with a table of every topic, as the verbs and their parsers say it."""
    for topic in TOPICS:
        text = _replace_table(
            text,
            _COMMAND_HEAD,
            make_command_table(topic),
            text.index(f"\n## {topic.capitalize()}\n"),
        )
    return text


def make_command_table(topic: str) -> str:
    rows = [_COMMAND_HEAD, "|---|---|"]
    for verb in TOPICS[topic]:
        usage = _cell(f"{verb} {_find_operands(verb)}".strip())
        rows.append(f"| `{usage}` | {_cell(VERBS[verb].summary)} |")
    return "\n".join(rows) + "\n"


def _find_operands(verb: str) -> str:
    """The arguments of a command that are not optional, as its usage shows them."""
    usage = " ".join(_open_parser(verb).format_usage().split())
    return usage.removeprefix(f"usage: checkpoint {verb}").replace(" [OPTIONS]", "").strip()


def replace_effects_table(text: str) -> str:
    """docs/promises.md with the table of what the commands start, connect to and write: alike ones
    share a row.
    """
    commands: dict[Effects, list[str]] = {}
    for command, effects in EFFECTS.items():
        commands.setdefault(effects, []).append(f"`{command}`")

    rows = [_EFFECTS_HEAD, "|---|---|---|---|"]
    for effects, names in commands.items():
        cells = " | ".join(words or "nothing" for words in effects)
        rows.append(f"| {', '.join(names)} | {cells} |")
    return _replace_table(text, _EFFECTS_HEAD, "\n".join(rows) + "\n")


_SETTINGS_HEAD = "| setting | default | meaning |"


def replace_settings_table(text: str) -> str:
    """docs/settings.md with the table of settings."""
    rows = [_SETTINGS_HEAD, "|---|---|---|"]
    for name, setting in SETTINGS.items():
        default = setting.shown or f"`{setting.default}`"
        rows.append(f"| `{name}` | {_cell(default)} | {_cell(setting.meaning)} |")
    return _replace_table(text, _SETTINGS_HEAD, "\n".join(rows) + "\n")


# limits


_CONSTANTS = re.compile(r"^(_?[A-Z][A-Z0-9_]*(?:, _?[A-Z][A-Z0-9_]*)*) = ", re.MULTILINE)
_LIMIT = re.compile(
    r"MAX|MOST|LONGEST|LARGEST|DEEPEST|LIMIT|SECONDS|TIMEOUT|PATIENCE|DEPTH|GRACE|TRIES|ATTEMPTS|KEPT"
)


def list_limits() -> Iterator[str]:
    """Yield the lines of the page of limits: every number by its module and name."""
    yield "# Every limit by number\n\nSizes are in bytes or characters, times in seconds.\n"
    yield "| module | limits |\n|---|---|"
    for module, limits in read_limits().items():
        cells = ", ".join(f"`{name}` {write_number(value)}" for name, value in limits.items())
        yield f"| `{module}` | {cells} |"


def read_limits() -> dict[str, dict[str, int | float]]:
    """Return, by module, the numbers whose names say that they bound something."""
    root = Path(checkpoint_git.__file__).parent
    found = {}
    for path in sorted(root.rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        limits = {}
        for name in _list_constants(path.read_text("utf-8")):
            if not _LIMIT.search(name):
                continue
            value = getattr(importlib.import_module(f"checkpoint_git.{module}"), name)
            if type(value) in (int, float):
                limits[name] = value
        if limits:
            found[module] = limits
    return found


def _list_constants(source: str) -> Iterator[str]:
    for names in _CONSTANTS.findall(source):
        yield from names.split(", ")


def write_number(value: float) -> str:
    return f"{value:,.15g}" if isinstance(value, float) else f"{value:,}"


_STEPS_HEAD = "| phase | what there is | action | next state |"
_MOVES_HEAD = "| verb | what must hold | status before | status after | of |"
_PHASES_HEAD = "| phase | its result | who makes it |"


def replace_workflow_tables(text: str) -> str:
    """docs/workflow.md with its tables of phases, of what comes next, and of what the verbs do."""
    text = _replace_table(text, _PHASES_HEAD, make_phases_table())
    text = _replace_table(text, _STEPS_HEAD, make_steps_table())
    return _replace_table(text, _MOVES_HEAD, make_moves_table())


def make_phases_table() -> str:
    rows = [_PHASES_HEAD, "|---|---|---|"]
    for name, phase in PHASES_TABLE.items():
        results = " or ".join(f"`{path}`" for path in phase.outputs)
        agent = phase.agent
        if phase.drafts:
            agent += f", from the designs of {phase.drafter} in `{phase.drafts}`"
        rows.append(f"| {name} | {results} | {agent} |")
    return "\n".join(rows) + "\n"


def make_steps_table() -> str:
    rows = [_STEPS_HEAD, "|---|---|---|---|"]
    for transition in TRANSITIONS:
        action = (
            f"{transition.action}, once approved"
            if transition.needs_approval
            else transition.action
        )
        phases = _name_phases(transition.phases)
        rows.append(f"| {phases} | {_cell(transition.when)} | {action} | {transition.following} |")
    return "\n".join(rows) + "\n"


def _name_phases(phases: tuple[str, ...]) -> str:
    """The phases of a transition, in few words."""
    missing = [phase for phase in PHASES if phase not in phases]
    if not missing:
        return "every phase"
    if len(missing) < len(phases):
        return f"all but {', '.join(missing)}"
    return ", ".join(phases)


def make_moves_table() -> str:
    rows = [_MOVES_HEAD, "|---|---|---|---|---|"]
    for verb, move in MOVES.items():
        before = ", ".join(move.before) or "any"
        rows.append(
            f"| {verb} | {_cell(move.must_hold)} | {before} | {move.after} | {move.where} |"
        )
    return "\n".join(rows) + "\n"


_MANUAL_TITLES = {"state": "Other state", "setup": "Setup and agents"}


def replace_manual_commands(text: str) -> str:
    """The manual page git-checkpoint.1 with its commands, as the verbs and their parsers say
    them.
    """
    lines = list[str]()
    for topic, verbs in TOPICS.items():
        lines.append(f".SS {_MANUAL_TITLES.get(topic, topic.capitalize())}")
        for verb in verbs:
            operands = _find_operands(verb)
            name = f'.BI {verb} " {_roff(operands)}"' if operands else f".B {verb}"
            lines += [".TP", name, _roff(VERBS[verb].summary) + "."]
    start = text.index(".SS ")
    return text[:start] + "\n".join(lines) + "\n" + text[text.index(".SH OPTIONS") :]


def _roff(text: str) -> str:
    return text.replace("-", "\\-").replace("'", "\\(aq")


def _replace_table(text: str, head: str, table: str, after: int = 0) -> str:
    """The text with another table in the place of the first one below a position that begins with
    this head.
    """
    start = text.index(head, after)
    return text[:start] + table + text[text.index("\n\n", start) + 1 :]


# checks


_CHECK_HEAD = "| code | at worst | finds |"
_FIXES = {"no": "", "safe": " (`--fix`)", "by name": " (`--fix` by name)"}


def list_checks() -> Iterator[str]:
    """The page of the doctor's checks, each with what to do about a finding."""
    yield "# Checks of the doctor\n"
    yield "| code | at worst | finds | fixed by |\n|---|---|---|---|"
    for check in list_doctor_checks():
        finds = f"{_cell(check.looks_at)}{_FIXES[check.fix]}"
        yield f"| `{check.code}` | {check.level} | {finds} | {_cell(check.remedy)} |"


def list_codes() -> Iterator[str]:
    """Yield the lines of the page of finding codes, by what they are about, and those that are
    about one fact.
    """
    yield "# Finding codes\n"
    codes = list_all_codes()
    for system in dict.fromkeys(row.system for row in codes):
        yield f"## {system.capitalize()}\n\n| code | at worst | from | says | fixed by |\n|---|---|---|---|---|"
        for row in codes:
            if row.system == system:
                yield f"| `{row.code}` | {row.level} | {row.reporter} | {_cell(row.text)} | {_cell(row.remedy)} |"
        yield ""
    yield "## About one fact\n\n| fact | codes |\n|---|---|"
    for about, names in SIDE_BY_SIDE.items():
        yield f"| {about} | {', '.join(f'`{name}`' for name in names)} |"


def replace_check_table(text: str) -> str:
    """docs/doctor.md with its table as the checks say it."""
    rows = [_CHECK_HEAD, "|---|---|---|"]
    for check in list_doctor_checks():
        finds = check.looks_at
        if check.details:
            finds += (" " if check.details[0] == "(" else ". ") + check.details.removesuffix(".")
        rows.append(f"| `{check.code}` | {check.level} | {_cell(finds)}{_FIXES[check.fix]} |")
    return _replace_table(text, _CHECK_HEAD, "\n".join(rows) + "\n")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


# schemas


def describe_schemas() -> Iterator[str]:
    """The fields of every kind of file, and the whole schemas."""
    yield "# Schemas\n\n`checkpoint schema NAME` prints each; `checkpoint init --schemas` writes them for editors.\n"
    for one in list_schemas():
        document = one.document
        yield f"## {one.name}\n\nFiles: `{one.files}`. `$id`: `{document.get('$id', '')}`.\n"
        yield f"{_cell(str(document.get('description', document.get('title', ''))))}\n"
        yield "| field | type | required | meaning |\n|---|---|---|---|"
        required = document.get("required", [])
        for name, rules in document.get("properties", {}).items():
            said = (
                rules.get("description") or rules.get("title", "")
                if isinstance(rules, Mapping)
                else ""
            )
            yield f"| `{name}` | {_name_type(rules)} | {'yes' if name in required else ''} | {_cell(str(said))} |"
        yield ""


def _name_type(rules: Any) -> str:
    if not isinstance(rules, Mapping):
        return "anything"
    if "enum" in rules:
        return ", ".join(f"`{value}`" for value in rules["enum"])
    if "$ref" in rules:
        return str(rules["$ref"]).rpartition("/")[2]
    found = rules.get("type", "anything" if "const" not in rules else f"`{rules['const']}`")
    return " or ".join(found) if isinstance(found, list) else str(found)


# pages of which a part is made from the code -> what replaces that part
GENERATED: dict[str, Callable[[str], str]] = {
    "docs/commands.md": replace_command_tables,
    "docs/doctor.md": replace_check_table,
    "docs/promises.md": replace_effects_table,
    "docs/settings.md": replace_settings_table,
    "docs/workflow.md": replace_workflow_tables,
    "checkpoint_git/man/git-checkpoint.1": replace_manual_commands,
}
