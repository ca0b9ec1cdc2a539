"""`checkpoint migrate`: move the telemetry of checkpoints into files of its own, one an entry, or back again."""

import argparse
from typing import Any, NamedTuple

from checkpoint_git.core import jsonedit, jsontext
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding, has_errors
from checkpoint_git.core.outcome import Block, Invocation, Line, Outcome
from checkpoint_git.disk.discover import Place, find_place, relative_path
from checkpoint_git.protocols.skill import eventstore, layout, store
from checkpoint_git.protocols.skill.event_layout import find_layout_troubles
from checkpoint_git.protocols.skill.events import FIELD, SHARDED
from checkpoint_git.protocols.skill.write import check_owner, say_waiting

SUMMARY = "move telemetry into one file an entry, or back into the checkpoint"
EXAMPLES = """\
  checkpoint migrate --layout sharded --dry-run
  checkpoint migrate --layout sharded build
  checkpoint migrate --layout single

In the sharded layout every entry of a list of merged pull requests, of runs or of reconciliations, and every amount
that a cost grows by, is a file of its own in .checkpoints/history/SKILL/: two branches never write one line. Nothing
else changes: all commands read both layouts as one. Run it again at any time: it finishes what was interrupted and
moves what another branch brought."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--layout sharded|single [SKILL...] [--dry-run]."""
    parser.add_argument("skills", metavar="SKILL", nargs="*", help="whose checkpoints; all where left out")
    parser.add_argument("--layout", required=True, choices=("sharded", "single"), help="where the telemetry is to live")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, and change nothing")


class MigrateResult(NamedTuple):
    """path: the checkpoint's own file, changed says whether it is. folder: of its events. written, removed: how many
    files of the folder. moved: place -> entries or amounts on their way. findings: why nothing was done.
    """

    skill: str
    path: str
    folder: str
    changed: bool
    written: int
    removed: int
    moved: dict[str, int]
    findings: list[Finding]

    @property
    def is_done(self) -> bool:
        """Whether there was nothing to do."""
        return not (self.changed or self.written or self.removed)


def migrate(
    place: Place, skill: str, wanted: str, *, dry_run: bool = False, on_wait: store.Tell = lambda: None
) -> MigrateResult:
    """Gives one checkpoint a layout, "sharded" or "single". Raises CheckpointError where there is no file.

    Files are complete on disk before the checkpoint gives up what they hold, and go only after it has it again.
    """
    layout.check_skill_name(skill)
    if dry_run:
        return _migrate(place, skill, wanted, write=False)
    with store.writing(place, on_wait):
        return _migrate(place, skill, wanted, write=True)


def _migrate(place: Place, skill: str, wanted: str, *, write: bool) -> MigrateResult:
    path = layout.relative_checkpoint_path(place, skill)
    folder = relative_path(layout.events_path(place, skill), place.top)
    nothing = MigrateResult(skill, path, folder, False, 0, 0, {}, [])
    content = store.read_skill(place, skill)
    if not isinstance(content, bytes):
        why = "it has no checkpoint" if content is None else f"its checkpoint cannot be read: {content.strerror}"
        raise CheckpointError(f"{skill} cannot be migrated: {why}", "`checkpoint list` names those that are there")
    try:
        root = jsontext.parse(jsontext.decode(content))
    except jsontext.JsonTextError as error:
        return nothing._replace(findings=[_unreadable(path, error)])
    troubles = find_layout_troubles(root.value, path)
    broken = eventstore.read_folder(place, skill).troubles
    if troubles or (wanted != SHARDED and has_errors(broken)):  # what cannot be read would be left behind
        return nothing._replace(findings=[*troubles, *broken])
    data = jsonedit.rewrite(root, with_layout(root.value, wanted)).encode()
    plan = eventstore.plan_write(place, skill, data)
    if plan is None:
        return nothing._replace(findings=[Finding("json/not-an-object", "error", "it is no checkpoint", path)])
    moved: dict[str, int] = {}
    names = frozenset(plan.split.remove)
    going = [each for each in plan.stored if each.name in names]
    for each in [*plan.split.create, *going]:
        moved[each.event.where] = moved.get(each.event.where, 0) + 1
    if write:
        store.write_checkpoint(place, skill, data)
    changed = plan.render_active() != plan.own
    return MigrateResult(skill, path, folder, changed, len(plan.texts), len(plan.split.remove), moved, broken)


def with_layout(value: dict[str, Any], wanted: str) -> dict[str, Any]:
    """A checkpoint that says which layout it has; the single one is said by saying nothing.

    The word stands below the version, where hardly any branch changes a line.
    """
    rest = {key: child for key, child in value.items() if key != FIELD}
    if wanted != SHARDED:
        return rest
    if FIELD in value:
        return value
    if "protocol_version" not in rest:
        return {FIELD: SHARDED, **rest}
    marked: dict[str, Any] = {}
    for key, child in rest.items():
        marked[key] = child
        if key == "protocol_version":
            marked[FIELD] = SHARDED
    return marked


def _unreadable(path: str, error: jsontext.JsonTextError) -> Finding:
    return Finding(error.code, "error", error.message, path, "", error.line, error.column, error.hint)


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb. With CHECKPOINT_SKILL set and no SKILL given it migrates that skill's checkpoint only."""
    place = find_place(invocation.cwd)
    skills = _choose_skills(place, args.skills, invocation)
    tell = say_waiting(invocation.stderr)
    state = _read_state(place, skills)
    results = [migrate(place, skill, args.layout, dry_run=args.dry_run, on_wait=tell) for skill in skills]
    findings = [finding for result in results for finding in result.findings]
    done = [result for result in results if not result.is_done]
    data = {
        "layout": args.layout,
        "dry_run": args.dry_run,
        "migrated": [_data(result, state) for result in done],
        "unchanged": [result.skill for result in results if result.is_done and not result.findings],
    }
    blocks = [line for result in done for line in _lines(result, args, state)]
    if not blocks and not findings:
        blocks = [Line(f"nothing to do: the layout is {args.layout} already", "dim")]
    return Outcome(data, [*blocks, *_closing_lines(done, args.dry_run)], findings)


def _choose_skills(place: Place, skills: list[str], invocation: Invocation) -> list[str]:
    owner = invocation.env.get("CHECKPOINT_SKILL", "")
    if not skills and not owner:
        return [name for name in store.list_skills(place) if not layout.find_name_trouble(name)]
    chosen = list(dict.fromkeys(skills or [owner]))
    for skill in chosen:
        layout.check_skill_name(skill)
        check_owner(skill, invocation.env)
    return chosen


def _read_state(place: Place, skills: list[str]) -> dict[str, str]:
    """Of each checkpoint that git does not have as it stands here: "untracked" or "changed"."""
    if place.work_tree is None or not skills:
        return {}
    from checkpoint_git.git.run import run_git

    folder = relative_path(place.directory, place.top)
    words = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=no", "--"]
    out = run_git([*words, f":(top,literal){folder}"], place.work_tree, check=False).out.decode("utf-8", "replace")
    states = {entry[3:]: "untracked" if entry[:2] == "??" else "changed" for entry in out.split("\0") if entry}
    paths = {skill: layout.relative_checkpoint_path(place, skill) for skill in skills}
    return {skill: states[path] for skill, path in paths.items() if path in states}


def _data(result: MigrateResult, state: dict[str, str]) -> dict[str, Any]:
    fields = {key: value for key, value in result._asdict().items() if key != "findings"}
    return {**fields, "was": state.get(result.skill, "committed")}


_WAS = {"untracked": "git does not track it yet", "changed": "it had changes that were not committed"}


def _lines(result: MigrateResult, args: argparse.Namespace, state: dict[str, str]) -> list[Block]:
    verb = "would be" if args.dry_run else "is now"
    note = f" ({_WAS[state[result.skill]]})" if result.skill in state else ""
    lines: list[Block] = [Line(f"{result.skill}: {verb} {args.layout}{note}", "good")]
    if result.written:
        lines.append(Line(f"  {_count(result.written)} written to {result.folder}"))
    if result.removed:
        lines.append(Line(f"  {_count(result.removed)} of {result.folder} taken back into {result.path}"))
    return lines + [Line(f"  {where}: {entries}", "dim") for where, entries in result.moved.items()]


def _closing_lines(done: list[MigrateResult], dry_run: bool) -> list[Block]:
    if not done or dry_run:
        return []
    return [Line("Commit the checkpoints and the history together: git add -A .checkpoints", "dim")]


def _count(files: int) -> str:
    return f"{files} {'file' if files == 1 else 'files'}"
