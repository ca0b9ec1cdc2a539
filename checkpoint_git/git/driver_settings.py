"""What git's configuration must say for our drivers to run: commands made from paths and choices. Pure."""

import re
import shlex
from collections.abc import Mapping
from typing import Literal, NamedTuple

Narrative = Literal["conflict", "newest"]

DRIVER = "merge.checkpoint.driver"
RECURSIVE = "merge.checkpoint.recursive"
BASE_DRIVER = "merge.checkpoint-base.driver"
# init wrote it once. A patch of what a text converter shows cannot be applied, and neither can the rest of that patch.
TEXTCONV = "diff.checkpoint.textconv"
MERGETOOL = "mergetool.checkpoint.cmd"
MERGETOOL_TRUST = "mergetool.checkpoint.trustexitcode"  # as git prints it: a setting's name has no capitals
PYTHON = "checkpoint.install.python"
PACKAGE = "checkpoint.install.package"
COMMANDS = (DRIVER, BASE_DRIVER, MERGETOOL)
HOOKS = "checkpoint.install.hooks"  # "none" where init was told that this clone wants no hooks
_OWN_NAME = "checkpoint-git:"
# The length of a configuration file whose last line had no end before we wrote to it: git ends such a line.
UNENDED_SIZE = "checkpoint.install.unended"

KEYS = (
    "merge.checkpoint.name",
    DRIVER,
    RECURSIVE,
    "merge.checkpoint-base.name",
    BASE_DRIVER,
    TEXTCONV,
    MERGETOOL,
    MERGETOOL_TRUST,
    PYTHON,
    PACKAGE,
    HOOKS,
    UNENDED_SIZE,
)

# Where the driver did not even start, git's own text merge leaves markers; an exit with %A untouched would look like
# a resolved file that has lost theirs.
_FALLBACK = (
    "case $? in 0) exit 0;; 3) exit 1;; esac; "
    "echo 'checkpoint-git: the merge driver did not run; merging as text' >&2; "
    "git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B || exit 1"
)


class Choices(NamedTuple):
    """What a person decided for this clone. schema: absolute path of a schema for private fields, or ""."""

    narrative: Narrative = "conflict"
    schema: str = ""


class Installed(NamedTuple):
    """A driver command taken apart: the interpreter, the driver's file and the choices written into it."""

    python: str
    driver: str
    choices: Choices


def plan_settings(python: str, package: str, choices: Choices) -> dict[str, str]:
    """Every setting by its key. python: absolute path of an interpreter; package: absolute folder of this package."""
    return {
        "merge.checkpoint.name": f"{_OWN_NAME} merges checkpoints by what their fields mean",
        DRIVER: driver_command(python, package, choices),
        RECURSIVE: "checkpoint-base",
        "merge.checkpoint-base.name": f"{_OWN_NAME} merges the bases of a criss-cross merge",
        BASE_DRIVER: driver_command(python, package, choices, base=True),
        MERGETOOL: mergetool_command(python),
        MERGETOOL_TRUST: "true",
        PYTHON: python,
        PACKAGE: package,
    }


def driver_command(python: str, package: str, choices: Choices, *, base: bool = False) -> str:
    """The command git runs for one file; git replaces %O %A %B %L %P and hands the rest to sh."""
    options = ["--base"] if base else []
    options += ["--narrative", "newest"] if choices.narrative == "newest" else []
    options += ["--merge-schema", _quoted(choices.schema)] if choices.schema else []
    start = [_quoted(python), "-I", "-S", _quoted(f"{package}/driver.py"), *options, "%O %A %B %L %P"]
    return f"{' '.join(start)}; {_FALLBACK}"


# `git mergetool` names the conflicted file in $MERGED. The index has all versions, so BASE, LOCAL and REMOTE are not
# asked for; -P keeps modules that lie in the work tree from being imported.
_MERGETOOL_WORDS = ' -P -m checkpoint_git resolve -- "$MERGED"'


def mergetool_command(python: str) -> str:
    return f"{_always_quoted(python)}{_MERGETOOL_WORDS}"


def read_driver_command(command: str) -> Installed | None:
    """The parts of a command that driver_command wrote; None for anybody else's."""
    start, separator, _ = command.partition("; case $? in ")
    try:
        words = shlex.split(start.replace("%%", "%")) if separator else []
    except ValueError:
        return None
    if words[1:3] != ["-I", "-S"] or len(words) < 4 or not words[3].endswith("/driver.py"):
        return None
    narrative: Narrative = "newest" if _word_after(words, "--narrative") == "newest" else "conflict"
    return Installed(words[0], words[3], Choices(narrative, _word_after(words, "--merge-schema")))


def is_foreign_driver(settings: Mapping[str, str], key: str = DRIVER) -> bool:
    command = settings.get(key, "")
    name = settings.get(key.replace(".driver", ".name"), "")
    if not command:
        return bool(name) and not name.startswith(_OWN_NAME)
    return read_driver_command(command) is None


def is_own_textconv(command: str) -> bool:
    return command.startswith("show() {") and "/textconv.py" in command


def is_foreign_mergetool(settings: Mapping[str, str]) -> bool:
    command = settings.get(MERGETOOL, "")
    return MERGETOOL_TRUST in settings if not command else not command.endswith(_MERGETOOL_WORDS)


def foreign_sections(settings: Mapping[str, str]) -> tuple[str, ...]:
    taken = {
        "merge.checkpoint.": is_foreign_driver(settings),
        "merge.checkpoint-base.": is_foreign_driver(settings, BASE_DRIVER),
        "diff.checkpoint.": TEXTCONV in settings and not is_own_textconv(settings[TEXTCONV]),
        "mergetool.checkpoint.": is_foreign_mergetool(settings),
    }
    return tuple(section for section, foreign in taken.items() if foreign)


def find_own_settings(settings: Mapping[str, str]) -> list[str]:
    foreign = foreign_sections(settings)
    return [key for key in KEYS if key in settings and not key.startswith(foreign or "\0")]


def _word_after(words: list[str], option: str) -> str:
    return words[words.index(option) + 1] if option in words[:-1] else ""


def _quoted(path: str) -> str:
    return _always_quoted(path).replace("%", "%%")


def _always_quoted(path: str) -> str:
    quoted = shlex.quote(path)
    return quoted if re.match("['\"]", quoted) else f"'{quoted}'"
