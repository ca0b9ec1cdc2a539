"""`doctor --fix` from its start to what is told of it: plan, show or apply, look again."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.linediff import diff_lines
from checkpoint_git.core.outcome import Block, Invocation, Line, Style
from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.disk.read import read_if_there
from checkpoint_git.protocols.skill.store import check_owner
from checkpoint_git.protocols.write import say_waiting
from checkpoint_git.tools.doctor.examine import Diagnosis
from checkpoint_git.tools.doctor.fixes import Applied, FileMend, Plan, apply_plan, find_fixable, plan_mends
from checkpoint_git.tools.setup.steps import (
    RemoveFile,
    RemoveSettings,
    Step,
    WriteFile,
    WriteSetting,
    describe_steps,
    steps_data,
)

_MOST_ROUNDS = 3  # one mend can bring out what another hid


class Fixes(NamedTuple):
    """What was mended, or would be: for programs, for people, and what could not be."""

    data: dict[str, Any]
    blocks: list[Block]
    findings: list[Finding]


def choose_codes(words: Sequence[str], skill: str | None, env: Mapping[str, str]) -> set[str]:
    """The codes that are to be mended. Raises CheckpointError for what has no mend, and where a session that works for
    one skill is told to mend another's checkpoint.
    """
    if skill:
        check_owner(skill, env)
    return find_fixable(words)


def show(place: Place, found: Diagnosis, codes: set[str], invocation: Invocation) -> Fixes:
    """The changes as diffs and commands; nothing is written."""
    plan = _plan(place, found, codes, invocation)
    changes = [_show_file(mend) for mend in plan.files] + [
        change for step in plan.steps if (change := _show_step(step, place))
    ]
    data = {"dry_run": True, "mended": _mended_data(plan.files), "steps": steps_data(plan.steps), "changes": changes}
    blocks: list[Block] = [
        Line(f"{mend.path}: would mend: {one.text}", "good") for mend in plan.files for one in mend.done
    ]
    blocks += [*describe_steps(plan.steps, dry_run=True), *_left_lines(plan)]
    blocks += [Line(line, _DIFF_STYLES.get(line[:1], "")) for change in changes for line in change.get("diff", ())]
    blocks += [Line(str(change["command"]), "strong") for change in changes if "command" in change]
    return Fixes(data, blocks or [Line("there is nothing to mend", "dim")], plan.refused)


_DIFF_STYLES: dict[str, Style] = {"+": "good", "-": "bad", "@": "strong"}


def fix(
    place: Place, found: Diagnosis, codes: set[str], invocation: Invocation, look: Callable[[], Diagnosis]
) -> tuple[Fixes, Diagnosis]:
    """Mends until nothing is left that can be; what was done, and what a look at the end finds.

    look: runs the checks again.
    """
    rounds: list[Applied] = []
    plan = _plan(place, found, codes, invocation)
    while not plan.is_empty and len(rounds) < _MOST_ROUNDS:
        rounds.append(apply_plan(place, plan, invocation.now, say_waiting(invocation.stderr)))
        found = look()
        plan = _plan(place, found, codes, invocation)
    files = [mend for applied in rounds for mend in applied.files]
    steps = [step for applied in rounds for step in applied.steps]
    backups = [relative_path(applied.backup, place.top) for applied in rounds if applied.backup]
    changed = sorted({path for applied in rounds for path in applied.changed})
    data = {
        "dry_run": False,
        "mended": _mended_data(files),
        "steps": steps_data(steps),
        "history": [path for applied in rounds for path in applied.history],
        "backups": backups,
        "changed_meanwhile": changed,
    }
    blocks: list[Block] = [Line(f"{mend.path}: {one.text}", "good") for mend in files for one in mend.done]
    blocks += [*describe_steps(steps, dry_run=False), *_left_lines(plan)]
    blocks += [
        Line(f"{path}: somebody wrote to it meanwhile, so it was left alone; run it again", "warn") for path in changed
    ]
    blocks += [Line(f"as it was before: {path}", "dim") for path in backups]
    return Fixes(data, blocks or [Line("there is nothing to mend", "dim")], plan.refused), found


def _plan(place: Place, found: Diagnosis, codes: set[str], invocation: Invocation) -> Plan:
    owner = invocation.env.get("CHECKPOINT_SKILL", "")
    return plan_mends(place, found.world, found.findings, codes, owner, invocation.env)


def _left_lines(plan: Plan) -> list[Line]:
    if not plan.left:
        return []
    return [
        Line(
            f"left to the sessions of {', '.join(plan.left)}: CHECKPOINT_SKILL says whose files this one writes", "warn"
        )
    ]


def _mended_data(files: Sequence[FileMend]) -> list[dict[str, Any]]:
    return [{"path": mend.path, "done": [one._asdict() for one in mend.done]} for mend in files]


# what a dry run shows


def _show_file(mend: FileMend) -> dict[str, Any]:
    return {"path": mend.path, "diff": _diff(mend.before, mend.after, mend.path)}


def _show_step(step: Step, place: Place) -> dict[str, Any] | None:
    """The exact change of one step of init: a diff, or a command that does the same."""
    match step.change:
        case WriteFile(path, data, _):
            return {
                "path": path,
                "diff": _diff(read_if_there(path) or b"", data, relative_path(path, place.top).lstrip("/")),
            }
        case RemoveFile(path, _):
            return {"command": shlex.join(["rm", path])}
        case WriteSetting(key, value):
            return {"command": shlex.join(["git", "config", "--local", "--replace-all", key, value])}
        case RemoveSettings(keys):
            return {"command": "; ".join(shlex.join(["git", "config", "--local", "--unset-all", key]) for key in keys)}
        case _:
            return None


def _diff(before: bytes, after: bytes, path: str) -> list[str]:
    return diff_lines(before.decode("utf-8", "replace"), after.decode("utf-8", "replace"), path)
