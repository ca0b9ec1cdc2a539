"""Skill checkpoints on disk: reading them all, and the writes that happen under the lock."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise, blank, command, join_hints
from checkpoint_git.core.platform import CLOSE_ON_EXEC, NO_FOLLOW, NO_WAIT
from checkpoint_git.core.terminal_text import escape_controls, plain_path
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import Place, check_way, find_place, relative_path
from checkpoint_git.disk.read import FileContent, open_plain, read_content, read_plain
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.skill import layout
from checkpoint_git.protocols.skill.names import find_sibling
from checkpoint_git.protocols.validate import describe_unmerged, find_twins, iterate_checked

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from checkpoint_git.protocols.write import Change, Tell, Written

VERSIONS = ("1.0", "1.1")
REFUSED_IN_A_WRITE = ("skill/blocker-id-twice",)  # warnings of a file; nobody means to write one
_MOST_SHOWN = 12  # skills named in a hint
_HEAD = 1 << 16  # bytes of a misnamed file that are looked at


def read_files(
    place: Place, *, only: Collection[str] | None = None
) -> Iterator[tuple[str, FileContent]]:
    """(path from place.top, content or the error of reading it), sorted. Raises CheckpointError for
    the folder.
    """
    paths = [os.path.join(place.directory, name) for name in _list_names(place)]
    if only is not None:
        paths = [path for path in paths if relative_path(path, place.top) in only]
    # each is read when its turn comes: ten thousand of them are never in memory together
    return ((relative_path(path, place.top), read_content(path, place.top)) for path in paths)


def list_skills(place: Place) -> list[str]:
    return [layout.find_skill(name) for name in _list_names(place)]


def list_misnamed(place: Place) -> list[str]:
    """The absolute paths of files that look like checkpoints and are not named like any."""
    try:
        names = sorted(
            name for name in os.listdir(place.directory) if layout.is_nearly_a_name(name)
        )
    except OSError:
        return []

    return [
        path
        for path in [os.path.join(place.directory, name) for name in names]
        if _looks_like_one(path)
    ]


def _looks_like_one(path: str) -> bool:
    try:
        with open_plain(path) as stream:
            head = stream.read(_HEAD)
    except OSError:
        return False
    return layout.WORD in os.path.basename(path).lower() or (
        b'"skill"' in head and b'"status"' in head
    )


def _list_names(place: Place) -> list[str]:
    try:
        names = os.listdir(place.directory)
    except OSError as error:
        hint = "check the folder's owner and permissions"
        raise CheckpointError(f"{place.directory} cannot be read: {error.strerror}", hint) from None
    return sorted(name for name in names if layout.find_skill(name))


def read_skill(place: Place, skill: str) -> FileContent | None:
    """None if the skill has no checkpoint. Raises CheckpointError for an invalid name."""
    path = layout.checkpoint_path(place, skill)
    return read_content(path, place.top) if os.path.lexists(path) else None


def iterate_documents(place: Place, now: int) -> Iterator[Document]:
    """All of a place, by path, each read when its turn comes; what cannot be read has a finding
    that says why.
    """
    return iterate_checked(read_files(place), now)


def check_files(files: Iterable[tuple[str, FileContent]], now: int) -> list[Document]:
    return list(iterate_checked(files, now))


def read_document(place: Place, skill: str, now: int) -> Document:
    """One skill's checkpoint. Raises CheckpointError if the skill has none, naming those that are
    there.
    """
    layout.check_skill_name(skill)
    data = read_skill(place, skill)
    if data is None:
        raise missing_checkpoint(place, skill)
    return check_files([(layout.relative_checkpoint_path(place, skill), data)], now)[0]


def read_value(place: Place, skill: str, now: int) -> "dict[str, Any]":
    """Raises CheckpointError for a checkpoint that is not there, or cannot be read."""
    document = read_document(place, skill, now)
    if document.value is None:
        found = document.findings[0]
        raise CheckpointError(f"{document.path}:{found.line}: {found.message}", found.hint)
    return document.value


def missing_checkpoint(place: Place, skill: str) -> CheckpointError:
    from difflib import get_close_matches

    check_index(place, skill)
    known = [escape_controls(name) for name in list_skills(place)]
    if not known:
        hint = advise("start one", "checkpoint", "update", skill)
        return CheckpointError(f"{place.directory} has no checkpoints yet", hint)

    twin = next((name for name in known if name.casefold() == skill.casefold()), "")
    if twin:  # a second one could not be made beside it
        return CheckpointError(
            f"{skill} has no checkpoint in {place.directory}", f"did you mean {twin}?"
        )

    shown = ", ".join(known[:_MOST_SHOWN]) + (" ..." if len(known) > _MOST_SHOWN else "")
    near = get_close_matches(skill, known, 1, 0.8)
    meant = f"did you mean {near[0]}? " if near else ""
    hint = join_hints(
        f"{meant}there are: {shown}", advise("to start it", "checkpoint", "update", skill)
    )
    return CheckpointError(f"{skill} has no checkpoint in {place.directory}", hint)


def check_owner(skill: str, env: Mapping[str, str]) -> None:
    """Raises CheckpointError if CHECKPOINT_SKILL says that this process works for another skill."""
    owner = env.get("CHECKPOINT_SKILL", "")
    if owner and owner != skill:
        message = f"this session works as {owner} (CHECKPOINT_SKILL), and {skill} is another skill's checkpoint"
        raise CheckpointError(message, f"write to {owner}'s own and refer to {skill} in depends_on")


def find_own_place(skill: str, cwd: str, env: Mapping[str, str]) -> Place:
    """Where a write goes. Raises CheckpointError for an invalid name, another skill's checkpoint,
    or no folder.
    """
    layout.check_skill_name(skill)
    check_owner(skill, env)
    return find_place(cwd)


def check_index(place: Place, skill: str) -> None:
    """Raises CheckpointError for a checkpoint whose merge is not resolved, or that a sparse
    checkout leaves out.
    """
    from checkpoint_git.git.own_files import read_tag

    shown = layout.relative_checkpoint_path(place, skill)
    tag = read_tag(place.work_tree, place.git_dir, shown)
    if tag == "M":
        raise CheckpointError(
            f"{shown}: {describe_unmerged(shown).message}", describe_unmerged(shown).hint
        )

    if tag == "S" and not os.path.lexists(layout.checkpoint_path(place, skill)):
        message = f"{shown} is in git, but this sparse checkout leaves it out"
        raise CheckpointError(
            message,
            advise("bring it here", "git", "sparse-checkout", "add", os.path.dirname(shown)),
        )


def writing(
    place: Place, skill: str, on_wait: "Tell" = lambda: None
) -> "AbstractContextManager[None]":
    """Holds the place's lock; what killed writers left behind is cleared first. Raises as
    check_index does.
    """
    from checkpoint_git.protocols.write import hold_place  # readers, who are many, need no lock

    check_index(place, skill)
    return hold_place(
        place, (place.directory, os.path.join(place.directory, layout.HISTORY)), on_wait
    )


def change_checkpoint(
    place: Place, skill: str, change: "Change", now: int, on_wait: "Tell" = lambda: None
) -> "Written":
    """Read, change and write one checkpoint under the lock; see plan_write for what a change gets
    and returns.
    """
    from checkpoint_git.protocols.write import plan_write

    path = layout.checkpoint_path(place, skill)
    shown = relative_path(path, place.top)

    def change_known(value: "dict[str, Any] | None") -> "dict[str, Any] | Finding":
        changed = change(value)
        if value is None or isinstance(changed, Finding):
            return changed
        return _refuse_version(changed, skill) or changed

    with writing(place, skill, on_wait):
        content = read_content(path, place.top) if os.path.lexists(path) else None
        _check_twins(place, skill, is_new=content is None)
        arisen = _check_name(place, skill) if content is None else []
        before = None if content is None else next(iterate_checked([(shown, content)], now))
        written = plan_write(shown, before, change_known, now)
        refused = [
            finding._replace(level="error")
            for finding in written.arisen
            if finding.code in REFUSED_IN_A_WRITE
        ]
        written = written._replace(
            refused=[*written.refused, *refused], arisen=[*written.arisen, *arisen]
        )
        if not written.refused:
            data = (written.document.text or "").encode()
            replaced = content if isinstance(content, bytes) else None
            atomic.replace_known(path, replaced, data)
            is_same = _has_same_value(before, written.document)
            _keep_change(place, shown, replaced, data, is_same=is_same)

    return written


def _refuse_version(value: dict[str, Any], skill: str) -> Finding | None:
    """Return why a checkpoint of another version of the protocol is not written, None for a known
    one.
    """
    version = value.get("protocol_version")
    if version is None or version in VERSIONS:
        return None
    message = (
        f"protocol_version is {quote(version)}: this release writes {' and '.join(VERSIONS)} only"
    )
    what = "upgrade checkpoint-git; if the version is a mistake"
    hint = advise(what, "checkpoint", "update", skill, "--protocol_version=1.0")
    return Finding("skill/protocol-version", "error", message, where="/protocol_version", hint=hint)


def _check_twins(place: Place, skill: str, *, is_new: bool) -> None:
    """Raise CheckpointError where another name differs from the skill's by capital letters only."""
    for twin in find_twins([skill, *list_skills(place)]):
        if twin.path.casefold() == skill.casefold():
            hint = f"write to {twin.path}, or choose another name" if is_new else twin.hint
            raise CheckpointError(f"there is {twin.path}, and {twin.message}", hint)


def _has_same_value(before: Document | None, after: Document) -> bool:
    """Return whether two versions differ in nothing but the time of their last write."""
    was = (before and before.value) or {}
    return {**was, "updated_at": ""} == {**(after.value or {}), "updated_at": ""}


def _keep_change(
    place: Place, shown: str, replaced: bytes | None, data: bytes, *, is_same: bool
) -> None:
    """Keep for undo what a write replaced, None for no file. is_same: only the time changed."""
    kept = read_kept(place, shown)
    if kept and kept[1] == replaced and is_same:
        # undo takes back more than a time
        keep_write(place, shown, kept[0], data, is_undone=kept[2])
    else:
        keep_write(place, shown, replaced, data)


def is_mistyped(skill: str, known: Sequence[str]) -> bool:
    """Return whether a name is surely a slip: an option, a file, or two of the known names with a
    comma.
    """
    return (
        "=" in skill
        or skill.endswith(".json")
        or any(skill == f"{one},{two}" for one in known for two in known)
    )


def _check_name(place: Place, skill: str) -> list[Finding]:
    """What to say of a new checkpoint's name. Raises CheckpointError for one under which none is
    started.
    """
    known, stem = list_skills(place), skill.removesuffix(".json")
    if is_mistyped(skill, known):
        name = stem if stem != skill else (known or ["build"])[0]
        hint = advise("name one first", "checkpoint", "update", name, blank("--step=", "the step"))
        raise CheckpointError(
            f"no checkpoint named {quote(skill)}, and it cannot be started under that name", hint
        )

    near = find_sibling(skill, [name for name in known if not layout.find_name_trouble(name)])
    if not near:
        return []
    path = layout.relative_checkpoint_path(place, skill)
    hint = advise("if you meant the old one", "checkpoint", "undo", skill)
    return [
        Finding(
            "skill/near-name", "warning", f"{skill} is new; {near} already exists", path, hint=hint
        )
    ]


def find_untracked(
    place: Place, paths: Sequence[str], env: Mapping[str, str], cwd: str = ""
) -> list[Finding]:
    """What the next clone will not have. paths: from place.top. cwd: where the hint is typed, ""
    for place.top.
    """
    from checkpoint_git.git.own_files import find_unlisted

    unsure = find_unlisted(place.git_dir, paths) if place.git_dir and place.work_tree else []
    if not unsure:
        return []
    from checkpoint_git.git.run import clean_env
    from checkpoint_git.git.worktree import read_untracked

    found = []
    try:
        untracked = read_untracked(place.top, unsure, clean_env(env))
    except CheckpointError:  # git is missing, or does not trust the repository: the doctor says so
        return []

    for path, is_ignored in untracked.items():
        full = os.path.join(os.path.realpath(place.top), path)
        typed = plain_path(os.path.relpath(full, os.path.realpath(cwd)) if cwd else path)
        message, hint = "not in git yet", command("git", "add", typed)
        if is_ignored:
            message = "git ignores the checkpoint, so no other clone will have it"
            hint = advise(_name_ignoring(place.top, path, env), "git", "add", "-f", typed)
        code = "git/ignored" if is_ignored else "git/untracked"
        found.append(Finding(code, "warning" if is_ignored else "note", message, path, hint=hint))

    return found


def _name_ignoring(top: str, path: str, env: Mapping[str, str]) -> str:
    """Return what to do about the line that makes git ignore a file, as it is there."""
    from checkpoint_git.git.run import clean_env
    from checkpoint_git.git.worktree import read_ignoring

    source, number, pattern = read_ignoring(top, path, clean_env(env))
    if not source:
        return "remove its line from .gitignore, or add it anyway"
    return f'remove the line "{pattern}" from {source}:{number}, or add it anyway'


def _kept_path(place: Place, shown: str, which: str) -> str:
    name = shown.replace("%", "%25").replace("/", "%2F")
    return os.path.join(place.git_dir or "", "checkpoint", "undo", f"{name}.{which}")


def keep_write(
    place: Place, shown: str, before: bytes | None, after: bytes | None, *, is_undone: bool = False
) -> None:
    """Keeps for undo what the last write replaced and wrote, None for no file. is_undone: it took
    another one back.
    """
    if place.git_dir:
        with suppress(OSError):  # the write itself is done
            os.makedirs(os.path.dirname(_kept_path(place, shown, "")), exist_ok=True)
            mark = b"yes" if is_undone else None
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | CLOSE_ON_EXEC | NO_FOLLOW | NO_WAIT
            for which, data in (("before", before), ("after", after), ("undone", mark)):
                with open(os.open(_kept_path(place, shown, which), flags, 0o666), "wb") as stream:
                    stream.write(data or b"")
                    stream.flush()
                    # after a power failure undo must not find half of what it puts back
                    os.fsync(stream.fileno())


def read_kept(place: Place, shown: str) -> tuple[bytes | None, bytes | None, bool] | None:
    """(what the last write replaced, what it wrote, whether it took another one back), None if
    nothing is kept.
    """
    with suppress(OSError):
        before, after, mark = (
            read_plain(_kept_path(place, shown, one)) for one in ("before", "after", "undone")
        )
        return before or None, after or None, bool(mark)
    return None


def forget_write(place: Place, shown: str) -> None:
    """Remove what is kept for undo."""
    for which in ("before", "after", "undone"):
        with suppress(OSError):
            os.unlink(_kept_path(place, shown, which))


def write_checkpoint(place: Place, skill: str, known: bytes | None, data: bytes) -> None:
    """known: as it was read, None if there was no file. Raises CheckpointError if it is another one
    by now.
    """
    atomic.replace_known(layout.checkpoint_path(place, skill), known, data)


def remove_checkpoint(place: Place, skill: str, known: bytes) -> None:
    """known: as it was read. Raises CheckpointError if it is another one by now."""
    atomic.remove_known(layout.checkpoint_path(place, skill), known)


def list_history(place: Place, skill: str) -> list[str]:
    """Return the absolute paths of the files of a skill's past. Raises CheckpointError for a folder
    that is a link.
    """
    folder = os.path.join(place.directory, layout.HISTORY)
    check_way(folder, place.top)
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        hint = "check the folder's owner and permissions"
        raise CheckpointError(f"{folder} cannot be read: {error.strerror}", hint) from None

    return [os.path.join(folder, name) for name in names if layout.is_history_of(name, skill)]


def write_history(place: Place, skill: str, marks: list[str], data: bytes) -> str:
    """Writes a file of the skill's past under the first mark that is free or already holds the
    data; its path.
    """
    folder = os.path.join(place.directory, layout.HISTORY)
    check_way(folder, place.top)
    atomic.make_folder(folder)
    for mark in marks:
        path = layout.history_path(place, skill, mark)
        if atomic.create_file(path, data) or read_content(path, place.top) == data:
            return path

    message = f"all history names of {skill} are taken: {', '.join(marks[:3])} ..."
    raise CheckpointError(message, "try again in a second")
