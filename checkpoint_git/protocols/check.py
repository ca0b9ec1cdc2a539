"""Doctor checks: each is one decorated function in the checks.py of the subject that it is
about.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeVar, cast

from checkpoint_git.core import jsonplace
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, Level
from checkpoint_git.core.progress import Tell
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.limits import Limits, read_limits

REPOSITORY = ".checkpoints"  # the path of findings about the repository rather than about one file
NOT_LOOKED_AT = "doctor/not-looked-at"

Fix = Literal["safe", "by name", "no"]
When = Literal["always", "named", "online"]
T = TypeVar("T")


class Context:
    """env: what git is asked in. skill: the only one asked for, "" for all. codes: of the checks
    that run. is_complete: all checks run that always do. troubles: what was not looked at.
    """

    def __init__(
        self,
        place: Place,
        now: int,
        env: Mapping[str, str],
        *,
        skill: str = "",
        codes: Iterable[str] = (),
        is_complete: bool = False,
        tell: Tell = lambda what: None,
    ) -> None:
        self.place, self.now, self.env = place, now, env
        self.skill, self.codes = skill, frozenset(codes)
        self.is_complete, self.tell = is_complete, tell
        self.troubles: list[Finding] = []
        self._facts: dict[object, object] = {Context: self}

    @cached_property
    def limits(self) -> Limits:
        """Return after how many days a checkpoint counts as old. Raises CheckpointError."""
        return read_limits(self.place, self.env)

    def facts(self, kind: "Callable[[Context], T]") -> T:
        if kind not in self._facts:
            self._facts[kind] = kind(self)
        return cast(T, self._facts[kind])


# A check takes facts and answers with findings. Facts are classes of cached properties, in the
# folder of the subject as well; they are made once a context and read on first use, so that a check
# which does not run reads nothing.
def fact(
    what: str, default: Any, *, needs_git: bool = True
) -> Callable[[Callable[[Any], T]], "cached_property[T]"]:
    """A method of a facts class as a property that is read once. what: for progress and for the
    finding where it cannot be read; the checks then see the default, as they do for what needs git
    outside a repository.
    """

    def decorate(read: Callable[[Any], T]) -> "cached_property[T]":
        def read_or_default(facts: Any) -> T:
            context: Context = facts.context
            if needs_git and context.place.work_tree is None:
                message = (
                    "this is not a git repository: history, merge driver and hooks were not checked"
                )
                outside = Finding(NOT_LOOKED_AT, "note", message)
                context.troubles += [] if outside in context.troubles else [outside]
                return cast(T, default)

            context.tell(f"looking at {what}")
            try:
                return read(facts)
            except CheckpointError as error:
                message = f"{what} could not be checked: {error.message}"
                cause = f"things could not be checked: {error.message}"
                context.troubles.append(
                    Finding(NOT_LOOKED_AT, "warning", message, hint=error.hint, cause=cause)
                )
                return cast(T, default)

        return cached_property(read_or_default)

    return decorate


Find = TypeVar("Find", bound=Callable[..., Iterable[Finding]])


class Check(NamedTuple):
    """code: of its findings, or their part before the slash. level: at worst. looks_at: one line;
    details: more, in Markdown. remedy: what a user does about a finding. fix: whether `doctor
    --fix` does it ("safe"), only `doctor --fix=CODE` ("by name"), or neither. when: "named" ones
    take long and "online" ones ask a server, so they run only where they are asked for. in_bare:
    also in a bare repository. kind: of the facts that find takes.
    """

    code: str
    level: Level
    looks_at: str
    details: str
    remedy: str
    fix: Fix
    when: When
    in_bare: bool
    kind: Callable[[Context], Any]
    find: Callable[..., Iterable[Finding]]

    @property
    def group(self) -> str:
        return self.code.partition("/")[0]

    def matches(self, code: str) -> bool:
        return self.code == code or self.code.startswith(code.rstrip("/") + "/")


_checks: dict[str, list[Check]] = {}  # by the module that they are defined in


def check(
    code: str,
    level: Level,
    *,
    remedy: str,
    fix: Fix = "no",
    when: When = "always",
    in_bare: bool = False,
) -> Callable[[Find], Find]:
    """Its docstring is what people read of the check, its annotation names the facts."""

    def register(find: Find) -> Find:
        looks_at, _, details = (find.__doc__ or "").partition("\n\n")
        text = (" ".join(looks_at.split()).rstrip("."), " ".join(details.split()))
        kind: Any = next(
            (kind for name, kind in find.__annotations__.items() if name != "return"), Context
        )
        one = Check(code, level, *text, remedy, fix, when, in_bare, kind, find)
        _checks.setdefault(find.__module__, []).append(one)
        return find

    return register


def collect_checks(module: ModuleType) -> tuple[Check, ...]:
    return tuple(_checks.get(module.__name__, ()))


def run_checks(checks: Sequence[Check], context: Context) -> list[Finding]:
    """Each thing once. Findings in documents may lack their line, see locate_all."""
    findings: list[Finding] = []
    facts = {kind: context.facts(kind) for kind in dict.fromkeys(check.kind for check in checks)}
    for one in checks:
        try:
            findings.extend(one.find(facts[one.kind]))
        except CheckpointError as error:
            message = f"{one.code} could not be checked: {error.message}"
            context.troubles.append(Finding(NOT_LOOKED_AT, "warning", message, hint=error.hint))
    return list(dict.fromkeys(findings))


def locate_all(
    findings: Sequence[Finding], read_text: Callable[[str], str | None]
) -> list[Finding]:
    """By file and place, with the lines and columns that they lack. read_text: None for what is not
    JSON.
    """
    lacking: dict[str, list[int]] = {}
    for at, finding in enumerate(findings):
        if finding.path and not finding.line:
            lacking.setdefault(finding.path, []).append(at)

    located = list(findings)
    for path, places in lacking.items():
        text = read_text(path)
        if text is not None:
            lines = jsonplace.locate_all(text, [findings[at].where for at in places])
            for at, (line, column) in zip(places, lines, strict=True):
                located[at] = findings[at]._replace(line=line, column=column)

    return sorted(
        located, key=lambda one: (one.path in ("", REPOSITORY), one.path, one.line, one.column)
    )
