"""What recent merges did to checkpoints and nobody has mended since. Pure: the merges were read by somebody else."""

import shlex

from checkpoint_git.core.finding import Finding
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.tools.doctor.context import World
from checkpoint_git.tools.merges.facts import Damage, Harm
from checkpoint_git.tools.setup.checks import REPOSITORY

_MOST_NAMED = 3
_LONGEST_SUBJECT = 60


def find_lost_entries(world: World) -> list[Finding]:
    """Entries that a parent of a merge had, that the merge lost and that nobody has brought back."""
    return [_tell(damage, "merge/lost-entry", "lost") for damage in _damages(world, "lost")]


def find_doubled_entries(world: World) -> list[Finding]:
    """Rows that a merge made stand twice, and that still do."""
    return [_tell(damage, "merge/duplicated", "doubled") for damage in _damages(world, "doubled")]


def find_blended_records(world: World) -> list[Finding]:
    """Records, or whole files, that a merge glued together out of two, and that nobody has touched since."""
    return [_tell(damage, "merge/blended", "glued together") for damage in _damages(world, "blended")]


def find_unaudited_merges(world: World) -> list[Finding]:
    """Merges of which nothing can be told in this clone, and those beyond the bound of what was asked for."""
    audit = world.audit
    found = []
    if audit.cut:
        count = f"{audit.cut} recent merge{'' if audit.cut == 1 else 's'}"
        message = f"{count} could not be audited: not all that was merged is in this clone"
        hint = "of a shallow clone fetch the rest: git fetch --unshallow; of a partial one: checkpoint explain-merge"
        found.append(Finding("merge/not-audited", "note", message, REPOSITORY, hint=hint))
    if audit.waiting:
        count = f"{audit.waiting} merge{'' if audit.waiting == 1 else 's'}"
        message = f"{count} were not audited this time: what was found of the newer ones is kept"
        hint = "run it again, and the next ones come"
        found.append(Finding("merge/not-audited", "note", message, REPOSITORY, hint=hint))
    if audit.left_out and world.since:
        message = f"there are more merges since then: only the newest {audit.merges} were audited"
        hint = "checkpoint explain-merge --range tells of any"
        found.append(Finding("merge/not-audited", "note", message, REPOSITORY, hint=hint))
    return found


def _damages(world: World, harm: Harm) -> list[Damage]:
    return [damage for damage in world.audit.damages if damage.harm == harm]


def _tell(damage: Damage, code: str, done: str) -> Finding:
    first, second = (parent[:8] for parent in damage.parents)
    count = len(damage.entries)
    told = "; ".join(entry.said for entry in damage.entries[:_MOST_NAMED])
    rest = f"; and {count - _MOST_NAMED} more" if count > _MOST_NAMED else ""
    subject = shorten(damage.subject, _LONGEST_SUBJECT)
    entries = "an entry" if count == 1 else f"{count} entries"
    message = f'merge {damage.commit[:12]} of {first} and {second} ("{subject}") {done} {entries}: {told}{rest}'
    path = shlex.quote(damage.path)
    hint = f"checkpoint explain-merge {damage.commit[:12]} -- {path} tells all that it did"
    if damage.keeper:
        hint += f"; git show {shlex.quote(f'{damage.keeper[:12]}:{damage.path}')} still has it"
    return Finding(code, "warning", message, damage.path, damage.entries[0].where, hint=hint)
