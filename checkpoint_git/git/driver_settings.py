"""Plan what git's configuration must say for our drivers to run. Pure."""

import re
import shlex
from collections.abc import Mapping
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

Narrative = Literal["auto", "newest", "conflict"]

DRIVER = "merge.checkpoint.driver"
RECURSIVE = "merge.checkpoint.recursive"
BASE_DRIVER = "merge.checkpoint-base.driver"
MERGETOOL = "mergetool.checkpoint.cmd"
# as git prints it: a setting's name has no capitals
MERGETOOL_TRUST = "mergetool.checkpoint.trustexitcode"
PYTHON = "checkpoint.install.python"
PACKAGE = "checkpoint.install.package"
COMMANDS = (DRIVER, BASE_DRIVER, MERGETOOL)
HOOKS = "checkpoint.install.hooks"  # "none" after init --hooks none
# and a hook's name: git 2.54 and later run what is configured there
HOOK_SECTION = "hook.checkpoint-git-"
_OWN_NAME = "checkpoint-git:"
# with the digest of a schema: the driver of files that merge by it
JSON_DRIVER = "checkpoint-json-"

# What `checkpoint merge-driver` exits with for a conflict. Not 3, which is a command's answer when
# it fails.
CONFLICT_ON_PATH = 10

# Where no driver ran, git's own text merge leaves markers; an exit with %A untouched would look
# like a resolved file that has lost theirs. It writes beside %A, because a full disk would leave a
# part of the file in it.
_FALLBACK = (
    "echo 'checkpoint-git: the merge driver did not run, so this is a text merge. "
    "Set it up again with: checkpoint init' >&2; "
    "git merge-file -p --marker-size=%L -L ours -L base -L theirs %A %O %B >%A.tmp; code=$?; "
    "if test $code -lt 128 && mv -f %A.tmp %A; then test $code -eq 0 || exit 1; "
    "else rm -f %A.tmp; "
    "echo 'checkpoint-git: not merged: the file holds ours alone, theirs is in the index' >&2; "
    "exit 1; fi"
)


class Choices(NamedTuple):
    narrative: Narrative = "auto"
    schema: str = ""  # absolute path of a schema for private fields
    whole_schema: str = ""  # of one for whole files that are not checkpoints


class Installed(NamedTuple):
    python: str
    driver: str  # its file
    choices: Choices


def plan_settings(
    python: str, package: str, choices: Choices, schemas: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the settings that init writes.

    schemas: of other JSON files, by the name of their driver, the schema's absolute path.
    """
    found = {
        "merge.checkpoint.name": f"{_OWN_NAME} merges checkpoints by what their fields mean",
        DRIVER: driver_command(python, package, choices),
        RECURSIVE: "checkpoint-base",
        "merge.checkpoint-base.name": f"{_OWN_NAME} merges the bases of a criss-cross merge",
        BASE_DRIVER: driver_command(python, package, choices, base=True),
        MERGETOOL: mergetool_command(python, package),
        MERGETOOL_TRUST: "true",
        PYTHON: python,
        PACKAGE: package,
    }
    for name, path in (schemas or {}).items():
        mine = Choices(whole_schema=path)
        for driver, is_base in ((name, False), (f"{name}-base", True)):
            found[f"merge.{driver}.name"] = f"{_OWN_NAME} merges JSON by a schema"
            found[f"merge.{driver}.driver"] = driver_command(python, package, mine, base=is_base)
        found[f"merge.{name}.recursive"] = f"{name}-base"

    return found


def find_schemas(settings: Mapping[str, str]) -> dict[str, str]:
    """Return driver -> schema of the other JSON files that an earlier init was given."""
    keys = re.compile(rf"merge\.({JSON_DRIVER}[0-9a-f]+)\.driver")
    schemas = {}
    for key, command in settings.items():
        named = keys.fullmatch(key)
        installed = read_driver_command(command) if named else None
        if named and installed:
            schemas[named[1]] = installed.choices.whole_schema
    return schemas


def plan_hook(name: str, shim: bytes) -> dict[str, str]:
    """Return the settings with which git runs a hook that is configured, and no file.

    git adds "$@" to the command's last line, and stops at an event without a command, so that the
    command comes first.
    """
    section = f"{HOOK_SECTION}{name}"
    return {
        f"{section}.command": f"{shim.decode()}:",
        f"{section}.event": name,
        f"{section}.enabled": "true",
    }


def driver_command(python: str, package: str, choices: Choices, *, base: bool = False) -> str:
    """Return the command of a merge driver. Git replaces %O %A %B %L %P, and sh runs the rest."""
    options = list[str]()
    if base:
        options.append("--base")
    if choices.narrative != "auto":
        options += ["--narrative", choices.narrative]
    if choices.schema:
        options += ["--merge-schema", _quoted(choices.schema)]
    if choices.whole_schema:
        options += ["--schema", _quoted(choices.whole_schema)]

    driver = _quoted(f"{package}/driver.py").replace("%", "%%")
    start = _quoted(python).replace("%", "%%")
    chosen = " ".join([*options, ""]).replace("%", "%%")
    return (
        f"test -x {start} && test -f {driver} && {{ {start} -I -S {driver} {chosen}%O %A %B %L %P; "
        "case $? in 0) exit 0;; 3) exit 1;; esac; }; "
        "command -v checkpoint >/dev/null 2>&1 && "
        f"{{ checkpoint merge-driver {chosen}-- %O %A %B %L %P; "
        f"case $? in 0) exit 0;; {CONFLICT_ON_PATH}) exit 1;; esac; }}; {_FALLBACK}"
    )


# `git mergetool` names the conflicted file in $MERGED. The index has all versions, so BASE, LOCAL
# and REMOTE are not asked for; -E and -P keep modules that lie in the work tree from being
# imported, whatever PYTHONPATH holds. An exit code that is none of ours says that the package did
# not start.
_MERGETOOL_END = 'checkpoint resolve -- "$MERGED"'
_FORMER_MERGETOOL_END = ' -P -m checkpoint_git resolve -- "$MERGED"'


def mergetool_command(python: str, package: str) -> str:
    start = f"{_quoted(python)} -E -P {_quoted(f'{package}/__main__.py')}"
    ours = "0 | 11 | 12 | 13 | 130) exit $?;;"
    return f'{start} resolve -- "$MERGED"; case $? in {ours} esac; {_MERGETOOL_END}'


def read_driver_command(command: str) -> Installed | None:
    """Return what a driver's command starts; None if driver_command did not write it."""
    start, separator, _ = command.partition("; case $? in ")
    if not separator:
        return None
    try:
        words = shlex.split(start.replace("%%", "%"))
    except ValueError:
        return None

    if "{" in words:
        words = words[words.index("{") + 1 :]
    match words:
        case [python, "-I", "-S", driver, *rest] if driver.endswith("/driver.py"):
            options = dict(pairwise(rest))
        case _:
            return None

    narrative: Narrative = next(
        (rule for rule in get_args(Narrative) if rule == options.get("--narrative")), "auto"
    )
    schemas = (options.get(name, "") for name in ("--merge-schema", "--schema"))
    return Installed(python, driver, Choices(narrative, *schemas))


def foreign_sections(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sections under our names that others wrote, each with a dot at its end."""
    taken = []
    for section in ("merge.checkpoint.", "merge.checkpoint-base."):
        command = settings.get(f"{section}driver")
        name = settings.get(f"{section}name") or _OWN_NAME
        if command:
            is_ours = read_driver_command(command) is not None
        else:
            is_ours = name.startswith(_OWN_NAME)
        if not is_ours:
            taken.append(section)

    if not _is_own_mergetool(settings):
        taken.append("mergetool.checkpoint.")
    return tuple(taken)


def _is_own_mergetool(settings: Mapping[str, str]) -> bool:
    """Whether the merge tool under our name is ours, of any version, or is not there."""
    command = settings.get(MERGETOOL)
    if not command:
        return MERGETOOL_TRUST not in settings
    return command.endswith((f"esac; {_MERGETOOL_END}", _FORMER_MERGETOOL_END))


def find_own_settings(settings: Mapping[str, str]) -> list[str]:
    """Return the keys that an init wrote."""
    foreign = foreign_sections(settings)
    former = "checkpoint.install.unended"  # no init writes it now
    keys = []
    for key in (*plan_settings("", "", Choices()), HOOKS, former):
        if key in settings and not key.startswith(foreign):
            keys.append(key)
    for key in settings:
        if key.startswith((f"merge.{JSON_DRIVER}", HOOK_SECTION)):
            keys.append(key)
    return keys


def _quoted(path: str) -> str:
    """Return a path in quotes, which it has even if it needs none."""
    quoted = shlex.quote(path)
    if quoted.startswith(("'", '"')):
        return quoted
    return f"'{quoted}'"
