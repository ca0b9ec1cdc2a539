"""Find which hits of a merge a later version of the file still shows."""

from collections.abc import Callable, Sequence
from typing import Any

from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens, split_pointer
from checkpoint_git.tools.merges.audited_file import AuditedFile, Hit, Key, key_of, make_hit
from checkpoint_git.tools.merges.judge import Judged
from checkpoint_git.tools.merges.walk import ONE_OF_SEVERAL, EntryVersions
from checkpoint_git.tools.merges.wording import Parents


def find_lasting(
    audited: AuditedFile,
    later: bytes | None,
    parents: Parents,
    read_between: Callable[[], Sequence[bytes]],
) -> Sequence[Hit]:
    """Return the hits that a later version of the file still shows.

    Damage that was repaired once does not count, whatever happened to the file after that.
    read_between: returns the versions between the merge and the later one.
    """
    if later is None:
        was_back = audited.file.result is not None or bool(read_between())
        return [] if was_back else audited.hits

    if audited.is_readable:
        entries = _find_lasting_entries(audited, later, read_between)
        keys = {key_of(entry) for entry in entries}
        return [hit for hit in audited.hits if _is_lasting(audited, hit, keys, later)]

    found = audited.judge.judge(later)
    if any(version == "result" for version, _ in found.unreadable):
        return audited.hits
    # the repair itself lost what is missing now
    lasting = _find_lasting_entries(audited, later, read_between)
    return [make_hit(audited, entry, parents) for entry in lasting]


def _is_lasting(audited: AuditedFile, hit: Hit, keys: set[Key], later: bytes) -> bool:
    """Whether a later version still shows a hit. keys: of the entries whose damage lasts."""
    if hit.entry:
        return key_of(hit.entry) in keys
    return _is_still(audited.file.result, later, hit.where)


def _find_lasting_entries(
    audited: AuditedFile, later: bytes, read_between: Callable[[], Sequence[bytes]]
) -> list[EntryVersions]:
    damage = _list_visible(audited.judge.judge(later))
    if audited.is_readable:
        known = {key_of(entry) for entry in audited.found.damage}
        damage = [entry for entry in damage if key_of(entry) in known]

    if not any(entry.verdict == "lost" for entry in damage):
        return damage

    for version in read_between():
        found = audited.judge.judge(version)
        if not found.unreadable:
            keys = {key_of(entry) for entry in found.entries}
            damage = [e for e in damage if e.verdict != "lost" or key_of(e) in keys]

    return damage


def _list_visible(found: Judged) -> list[EntryVersions]:
    if any(version == "result" for version, _ in found.unreadable):
        return []
    return [entry for entry in found.damage if entry.note != ONE_OF_SEVERAL]


def _is_still(result: bytes | None, later: bytes, where: str) -> bool:
    """Whether a later version has the same value at a place."""
    if result is None:
        return False
    if later == result:
        return True
    before = _find_value(result, where)
    return before is not None and before == _find_value(later, where)


def _find_value(data: bytes, where: str) -> tuple[Any] | None:
    # in a tuple, since the value may be None
    try:
        value = scan_tokens(decode(data))
        for key in split_pointer(where):
            if isinstance(value, list):
                value = value[int(key)]
            else:
                value = value[key]
    except (JsonTextError, LookupError, TypeError, ValueError):
        return None
    return (value,)
