"""Define, collect and run doctor checks: decorated functions in the checks.py of each subject."""

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
    """The place that checks run on.

    env: the environment for git. skill: the requested one, "" for all. codes: of the checks that
    run. is_complete: all checks run that run by default. troubles: findings about what was not
    checked.
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
    """Return a decorator that makes a method of a facts class a property that is read once.

    what: names the fact in progress, and in the finding if it cannot be read. The checks then get
    the default, as outside a repository for a fact that needs git.
    """

    def decorate(read: Callable[[Any], T]) -> "cached_property[T]":
        def read_or_default(facts: Any) -> T:
            context: Context = facts.context
            if needs_git and context.place.work_tree is None:
                lacking = "history, merge driver and hooks were not checked"
                message = f"this is not a git repository: {lacking}"
                outside = Finding(NOT_LOOKED_AT, "note", message)
                if outside not in context.troubles:
                    context.troubles.append(outside)
                return cast(T, default)

            context.tell(f"looking at {what}")
            try:
                return read(facts)
            except CheckpointError as error:
                message = f"{what} could not be checked: {error.message}"
                cause = f"things could not be checked: {error.message}"
                finding = Finding(NOT_LOOKED_AT, "warning", message, hint=error.hint, cause=cause)
                context.troubles.append(finding)
                return cast(T, default)

        return cached_property(read_or_default)

    return decorate


Find = TypeVar("Find", bound=Callable[..., Iterable[Finding]])


class Check(NamedTuple):
    """One check.

    code: of its findings, or their part before the slash. level: the worst. looks_at: one line;
    details: Markdown below it. remedy: what a user does about a finding. fix: whether `doctor
    --fix` does it ("safe"), only `doctor --fix=CODE` ("by name"), or neither. when: "named" ones
    take long and "online" ones connect to a server, so they run only on request. in_bare: also in a
    bare repository. kind: of the facts that find takes.
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
    """Return a decorator that registers a check.

    The docs show the check's docstring. The annotation of its parameter names its facts.
    """

    def register(find: Find) -> Find:
        looks_at, _, details = (find.__doc__ or "").partition("\n\n")
        text = (" ".join(looks_at.split()).rstrip("."), " ".join(details.split()))
        kinds = [kind for name, kind in find.__annotations__.items() if name != "return"]
        kind: Any = next(iter(kinds), Context)
        made = Check(code, level, *text, remedy, fix, when, in_bare, kind, find)
        _checks.setdefault(find.__module__, []).append(made)
        return find

    return register


def collect_checks(module: ModuleType) -> tuple[Check, ...]:
    return tuple(_checks.get(module.__name__, ()))


def run_checks(checks: Sequence[Check], context: Context) -> list[Finding]:
    """Return the findings of checks, each once. Those in documents may lack their line."""
    findings: list[Finding] = []
    facts = {kind: context.facts(kind) for kind in dict.fromkeys(check.kind for check in checks)}
    for to_run in checks:
        try:
            findings.extend(to_run.find(facts[to_run.kind]))
        except CheckpointError as error:
            message = f"{to_run.code} could not be checked: {error.message}"
            context.troubles.append(Finding(NOT_LOOKED_AT, "warning", message, hint=error.hint))
    return list(dict.fromkeys(findings))


def locate_all(
    findings: Sequence[Finding], read_text: Callable[[str], str | None]
) -> list[Finding]:
    """Return findings with their lines and columns, by file and place.

    read_text: path -> text, None for what is not JSON.
    """
    lacking: dict[str, list[int]] = {}
    for index, finding in enumerate(findings):
        if finding.path and not finding.line:
            lacking.setdefault(finding.path, []).append(index)

    located = list(findings)
    for path, indexes in lacking.items():
        text = read_text(path)
        if text is not None:
            lines = jsonplace.locate_all(text, [findings[index].where for index in indexes])
            for index, (line, column) in zip(indexes, lines, strict=True):
                located[index] = findings[index]._replace(line=line, column=column)

    return sorted(located, key=_place_of)


def _place_of(finding: Finding) -> tuple[bool, str, int, int]:
    """Return the sort key of a finding: those about the repository are last."""
    is_general = finding.path in ("", REPOSITORY)
    return is_general, finding.path, finding.line, finding.column
