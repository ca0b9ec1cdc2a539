"""Every checkpoint read once into a sheet; those without a finding are remembered by what stands in the file.

The memory is a cache in the git directory: without it, or with another version of this package, all is read anew.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

try:
    from _blake2 import blake2b  # hashlib brings OpenSSL along, a tenth of all the memory that the doctor takes
except ImportError:
    from hashlib import blake2b

import checkpoint_git
from checkpoint_git.core.progress import Tell, draw_bar
from checkpoint_git.disk.cache import load_cache, write_cache
from checkpoint_git.disk.discover import Place
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.skill.document_summary import Passage, Recorded, Sheet, make_sheet
from checkpoint_git.protocols.skill.read import check_files, read_document

_PACE = 100  # checkpoints between two words to a person who waits
_FEWEST = 200  # checkpoints for which remembering is worth a file
_ROOMS = ("core", "checks", "protocols")  # what decides what a sheet says

Row = str  # JSON, taken apart when its file turns up: ten thousand texts are smaller than what they say


def read_sheets(place: Place, now: int, skill: str | None = None, tell: Tell = lambda what: None) -> list[Sheet]:
    """What the checks look at of every checkpoint, or of one skill's; no document is held longer than it is read.

    now: seconds since 1970. tell: called with how many were read, for a person who waits.
    """
    if skill:
        return [make_sheet(read_document(place, skill, now))]
    total = len(store.list_skills(place))
    is_many = total >= _FEWEST
    known = _load_rows(place, now) if is_many else {}
    sheets, keys, fresh = list[Sheet](), list[str](), 0
    for name, content in store.read_files(place):
        keys.append(_key(name, content) if is_many and isinstance(content, bytes) else "")
        row = known.pop(keys[-1], None)
        fresh += row is None
        sheets.append(make_sheet(check_files([(name, content)], now)[0]) if row is None else _from_row(name, row))
        if len(sheets) % _PACE == 0:
            tell(f"checkpoints {draw_bar(len(sheets), total)}")
    if is_many and fresh * 20 > len(sheets):
        _write_rows(place, keys, sheets, now)
    return sheets


def _key(name: str, content: bytes) -> str:
    return blake2b(content, digest_size=12, key=os.fsencode(name)[-64:]).hexdigest()


def _cache_path(place: Place) -> str:
    return os.path.join(place.git_dir, "checkpoint", "sheets.json") if place.git_dir else ""


def _load_rows(place: Place, now: int) -> dict[str, Row]:
    """What was remembered. A clock that was put back makes it worthless: what lies in the future depends on it."""
    path = _cache_path(place)
    if not path or not os.path.exists(path):
        return {}
    found = load_cache(path, _rules())
    return found["rows"] if isinstance(found, dict) and found.get("now", now + 1) <= now else {}


def _write_rows(place: Place, keys: Sequence[str], sheets: Sequence[Sheet], now: int) -> None:
    path = _cache_path(place)
    if path:
        pairs = zip(keys, sheets, strict=True)
        rows = {key: _to_row(sheet) for key, sheet in pairs if key and not sheet.findings}
        write_cache(path, _rules(), {"now": now, "rows": rows})


def _to_row(sheet: Sheet) -> Row:
    return json.dumps([sheet.size, *sheet[4:]], separators=(",", ":"))


def _from_row(name: str, row: Row) -> Sheet:
    fields: Any = json.loads(row)
    size, status, updated_at, project_dir, listed, actions, resolutions, recorded, unreviewed, merged, rotates = fields
    return Sheet(
        name,
        layout.find_skill(name),
        size,
        (),
        sys.intern(status) if status is not None else None,
        updated_at,
        sys.intern(project_dir) if project_dir is not None else None,
        tuple(listed),
        tuple([Passage(where, text, tuple(references)) for where, text, references in actions]),
        tuple([Passage(where, text, tuple(references)) for where, text, references in resolutions]),
        tuple([Recorded(*one) for one in recorded]),
        unreviewed,
        tuple([(where, length) for where, length in merged]),
        rotates,
    )


def _rules() -> str:
    """One word for what decides what a sheet says: this package as it is installed, file by file."""
    folder = os.path.dirname(os.path.abspath(checkpoint_git.__file__))
    words = [f"{name} {status.st_mtime_ns} {status.st_size}" for name, status in _list_rules(folder)]
    return blake2b("\n".join([checkpoint_git.__version__, *words]).encode(), digest_size=12).hexdigest()


def _list_rules(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    for room in _ROOMS:
        for above, _, files in os.walk(os.path.join(folder, room)):
            for name in sorted(files):
                if name.endswith((".py", ".json")):
                    path = os.path.join(above, name)
                    yield path, os.stat(path)
