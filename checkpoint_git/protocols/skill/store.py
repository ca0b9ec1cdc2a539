"""Read skill checkpoints from disk, and write them under the lock."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.hint import advise, blank, command, join_hints
from checkpoint_git.core.terminal_text import escape_controls, plain_path, shorten
from checkpoint_git.disk import atomic
from checkpoint_git.disk.discover import Place, check_way, find_place, relative_path
from checkpoint_git.disk.read import FileContent, open_plain, read_content
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.mismatch import quote
from checkpoint_git.protocols.skill import kept_write, layout
from checkpoint_git.protocols.skill.names import find_sibling
from checkpoint_git.protocols.validate import (
    describe_unmerged,
    find_twins,
    fold_name,
    iterate_checked,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from checkpoint_git.protocols.write import Change, Tell, Written

VERSIONS = ("1.0", "1.1")
REFUSED_IN_A_WRITE = ("skill/blocker-id-twice",)  # only warnings in a file
_MOST_SHOWN = 12  # skills named in a hint
_HEAD = 1 << 16  # bytes of a misnamed file that are read


def read_files(
    place: Place, *, only: Collection[str] | None = None
) -> Iterator[tuple[str, FileContent]]:
    """Yield each path from place.top, sorted, with the content or the error of reading it.

    Raises CheckpointError if the folder cannot be read.
    """
    paths = [os.path.join(place.directory, name) for name in _list_names(place)]
    if only is not None:
        paths = [path for path in paths if relative_path(path, place.top) in only]
    # each is read when its turn comes: ten thousand of them are never in memory together
    return ((relative_path(path, place.top), read_content(path, place.top)) for path in paths)


def list_skills(place: Place) -> list[str]:
    return [layout.find_skill(name) for name in _list_names(place)]


def list_misnamed(place: Place) -> list[str]:
    """Return the absolute paths of files that look like checkpoints and have another name."""
    try:
        names = sorted(os.listdir(place.directory))
    except OSError:
        return []
    names = [name for name in names if layout.is_nearly_a_name(name)]
    paths = [os.path.join(place.directory, name) for name in names]
    return [path for path in paths if _looks_like_checkpoint(path)]


def _looks_like_checkpoint(path: str) -> bool:
    """Return whether a file can be read and looks like a checkpoint by name or first bytes."""
    try:
        with open_plain(path) as stream:
            head = stream.read(_HEAD)
    except OSError:
        return False
    if layout.WORD in os.path.basename(path).lower():
        return True
    return b'"skill"' in head and b'"status"' in head


def _list_names(place: Place) -> list[str]:
    """Return the sorted names of the checkpoints. Raises CheckpointError for the folder."""
    try:
        names = os.listdir(place.directory)
    except OSError as error:
        message = f"{place.directory} cannot be read: {error.strerror}"
        hint = "check the folder's owner and permissions"
        raise CheckpointError(message, hint) from None
    return sorted(name for name in names if layout.find_skill(name))


def read_skill(place: Place, skill: str) -> FileContent | None:
    """Return the content of a skill's checkpoint or the error of reading it, None for no file.

    Raises CheckpointError for an invalid name.
    """
    path = layout.checkpoint_path(place, skill)
    if not os.path.lexists(path):
        return None
    return read_content(path, place.top)


def iterate_documents(place: Place, now: int) -> Iterator[Document]:
    """Yield all documents of a place by path.

    One that cannot be read has a finding with the error. Each is read when its turn comes.
    """
    return iterate_checked(read_files(place), now)


def check_files(files: Iterable[tuple[str, FileContent]], now: int) -> list[Document]:
    return list(iterate_checked(files, now))


def read_document(place: Place, skill: str, now: int) -> Document:
    """Return a skill's checkpoint. Raises CheckpointError if it has none, with those that have."""
    data = read_skill(place, skill)
    if data is None:
        raise missing_checkpoint(place, skill)
    return check_files([(layout.relative_checkpoint_path(place, skill), data)], now)[0]


def read_value(place: Place, skill: str, now: int) -> "dict[str, Any]":
    """Return the value of a skill's checkpoint. Raises CheckpointError if it cannot be read."""
    document = read_document(place, skill, now)
    if document.value is None:
        found = document.findings[0]
        raise CheckpointError(f"{document.path}:{found.line}: {found.message}", found.hint)
    return document.value


def missing_checkpoint(place: Place, skill: str) -> CheckpointError:
    """Return the error for a skill without a checkpoint, with the skills that have one."""
    from difflib import get_close_matches

    check_index(place, skill)
    known = [escape_controls(name) for name in list_skills(place)]
    if not known:
        hint = advise("start one", "checkpoint", "update", skill)
        return CheckpointError(f"{place.directory} has no checkpoints yet", hint)

    message = f"{skill} has no checkpoint in {place.directory}"
    for name in known:
        if fold_name(name) == fold_name(skill):  # a second one cannot be made beside it
            return CheckpointError(message, f"did you mean {name}?")

    advice = f"there are: {', '.join(known[:_MOST_SHOWN])}"
    if len(known) > _MOST_SHOWN:
        advice += " ..."
    near = get_close_matches(skill, known, 1, 0.8)
    if near:
        advice = f"did you mean {near[0]}? {advice}"
    hint = join_hints(advice, advise("to start it", "checkpoint", "update", skill))
    return CheckpointError(message, hint)


def check_owner(skill: str, env: Mapping[str, str]) -> None:
    """Raise CheckpointError if CHECKPOINT_SKILL names another skill as the one of this process."""
    owner = env.get("CHECKPOINT_SKILL", "")
    if owner and owner != skill:
        session = f"this session works as {owner} (CHECKPOINT_SKILL)"
        message = f"{session}, and {skill} is another skill's checkpoint"
        hint = f"write to {owner}'s own and refer to {skill} in depends_on"
        raise CheckpointError(message, hint)


def find_own_place(skill: str, cwd: str, env: Mapping[str, str]) -> Place:
    """Return the place of a skill that this process may write.

    Raises CheckpointError for an invalid name, another skill's checkpoint, or no folder.
    """
    layout.check_skill_name(skill)
    check_owner(skill, env)
    return find_place(cwd)


def check_index(place: Place, skill: str) -> None:
    """Raise CheckpointError for a checkpoint that nobody may write now.

    Its merge is not resolved, or a sparse checkout leaves it out.
    """
    from checkpoint_git.git.own_files import read_tag

    shown = layout.relative_checkpoint_path(place, skill)
    tag = read_tag(place.work_tree, place.git_dir, shown)
    if tag == "M":
        unmerged = describe_unmerged(shown)
        raise CheckpointError(f"{shown}: {unmerged.message}", unmerged.hint)

    if tag == "S" and not os.path.lexists(layout.checkpoint_path(place, skill)):
        message = f"{shown} is in git, but this sparse checkout leaves it out"
        folder = os.path.dirname(shown)
        hint = advise("bring it here", "git", "sparse-checkout", "add", folder)
        raise CheckpointError(message, hint)


def writing(
    place: Place, skill: str, on_wait: "Tell" = lambda: None
) -> "AbstractContextManager[None]":
    """Hold the place's lock, once the remains of killed writers are removed.

    Raises as check_index does.
    """
    from checkpoint_git.protocols.write import hold_place  # most commands read, and need no lock

    check_index(place, skill)
    folders = (place.directory, os.path.join(place.directory, layout.HISTORY))
    return hold_place(place, folders, on_wait)


def change_checkpoint(
    place: Place, skill: str, change: "Change", now: int, on_wait: "Tell" = lambda: None
) -> "Written":
    """Read, change and write one checkpoint under the lock; plan_write documents the change."""
    from checkpoint_git.protocols.write import plan_write

    path = layout.checkpoint_path(place, skill)
    shown = relative_path(path, place.top)

    def change_known(value: "dict[str, Any] | None") -> "dict[str, Any] | Finding":
        changed = change(value)
        if value is None or isinstance(changed, Finding):
            return changed
        return _refuse_version(changed, skill) or changed

    with writing(place, skill, on_wait):
        content = None
        before = None
        named = []
        replaced = None  # the bytes of the file that the write replaces
        if os.path.lexists(path):
            content = read_content(path, place.top)
            before = next(iterate_checked([(shown, content)], now))
        if isinstance(content, bytes):
            replaced = content

        _check_twins(place, skill, is_new=content is None)
        if content is None:
            named = _check_name(place, skill)

        written = plan_write(shown, before, change_known, now)
        written = _refuse_arisen(written)
        written = written._replace(arisen=[*written.arisen, *named])
        if not written.refused:
            data = (written.document.text or "").encode()

            atomic.replace_known(path, replaced, data)
            is_same = _has_same_value(before, written.document)
            _keep_change(place, shown, replaced, data, is_same=is_same)

    return written


def _refuse_arisen(written: "Written") -> "Written":
    """Return a write that is refused for new warnings that no write may cause."""
    refused = [*written.refused]
    for finding in written.arisen:
        if finding.code in REFUSED_IN_A_WRITE:
            refused.append(finding._replace(level="error"))
    return written._replace(refused=refused)


def _refuse_version(value: dict[str, Any], skill: str) -> Finding | None:
    """Return the refusal to write another version of the protocol, None for a known version."""
    version = value.get("protocol_version")
    if version is None or version in VERSIONS:
        return None
    known = " and ".join(VERSIONS)
    message = f"protocol_version is {quote(version)}: this release writes {known} only"
    what = "upgrade checkpoint-git; if the version is a mistake"
    hint = advise(what, "checkpoint", "update", skill, "--protocol_version=1.0")
    code = "skill/protocol-version"
    return Finding(code, "error", message, where="/protocol_version", hint=hint)


def _check_twins(place: Place, skill: str, *, is_new: bool) -> None:
    """Raise CheckpointError if another name is the skill's on macOS or Windows."""
    for twin in find_twins([skill, *list_skills(place)]):
        if fold_name(twin.path) == fold_name(skill):
            hint = twin.hint
            if is_new:
                hint = f"write to {twin.path}, or choose another name"
            raise CheckpointError(f"there is {twin.path}, and {twin.message}", hint)


def _has_same_value(before: Document | None, after: Document) -> bool:
    """Return whether two versions differ in nothing but the time of their last write."""
    old = (before and before.value) or {}
    new = after.value or {}
    return {**old, "updated_at": ""} == {**new, "updated_at": ""}


def _keep_change(
    place: Place, shown: str, replaced: bytes | None, data: bytes, *, is_same: bool
) -> None:
    """Keep for undo what a write replaced, None for no file. is_same: only the time changed."""
    kept = kept_write.read_kept(place, shown)
    if kept and kept[1] == replaced and is_same:
        # undo restores more than a time
        kept_write.keep_write(place, shown, kept[0], data, is_undone=kept[2])
    else:
        kept_write.keep_write(place, shown, replaced, data)


def is_mistyped(skill: str, known: Sequence[str]) -> bool:
    """Return whether a name is certainly a mistake.

    It is an option, a file, or two known names with a comma.
    """
    if "=" in skill or skill.endswith(".json"):
        return True
    return any(skill == f"{first},{second}" for first in known for second in known)


def _check_name(place: Place, skill: str) -> list[Finding]:
    """Return a warning if a new checkpoint's name resembles another's.

    Raises CheckpointError for a name under which no checkpoint is started.
    """
    known = list_skills(place)
    if is_mistyped(skill, known):
        message = f"no checkpoint named {quote(skill)}, and it cannot be started under that name"
        name = skill.removesuffix(".json")
        if name == skill:
            name = "build"
            if known:
                name = known[0]
        hint = advise("name one first", "checkpoint", "update", name, blank("--step=", "the step"))
        raise CheckpointError(message, hint)

    near = find_sibling(skill, [name for name in known if not layout.find_name_trouble(name)])
    if not near:
        return []
    path = layout.relative_checkpoint_path(place, skill)
    message = f"{skill} is new; {near} already exists"
    hint = advise("if you meant the old one", "checkpoint", "undo", skill)
    return [Finding("skill/near-name", "warning", message, path, hint=hint)]


def find_untracked(
    place: Place, paths: Sequence[str], env: Mapping[str, str], cwd: str = ""
) -> list[Finding]:
    """Return a finding for each file that git ignores or does not track.

    paths: from place.top. cwd: where the hint is typed, "" for place.top.
    """
    if not place.git_dir or not place.work_tree:
        return []
    from checkpoint_git.git.own_files import find_unlisted

    unlisted = find_unlisted(place.git_dir, paths)
    if not unlisted:
        return []
    from checkpoint_git.git.run import clean_env
    from checkpoint_git.git.worktree import read_untracked

    try:
        untracked = read_untracked(place.top, unlisted, clean_env(env))
    except CheckpointError:  # git is missing, or does not trust the repository: doctor reports it
        return []

    found = []
    for path, is_ignored in untracked.items():
        typed = path
        if cwd:
            full = os.path.join(os.path.realpath(place.top), path)
            typed = os.path.relpath(full, os.path.realpath(cwd))
        typed = plain_path(typed)

        if is_ignored:
            message = "git ignores the checkpoint, so no other clone will have it"
            hint = advise(_name_ignoring(place.top, path, env), "git", "add", "-f", typed)
            found.append(Finding("git/ignored", "warning", message, path, hint=hint))
        else:
            hint = command("git", "add", typed)
            found.append(Finding("git/untracked", "note", "not in git yet", path, hint=hint))

    return found


def _name_ignoring(top: str, path: str, env: Mapping[str, str]) -> str:
    """Return what to do about the line that makes git ignore a file, with its text and place."""
    from checkpoint_git.git.run import clean_env
    from checkpoint_git.git.worktree import read_ignoring

    source, number, pattern = read_ignoring(top, path, clean_env(env))
    if not source:
        return "remove its line from .gitignore, or add it anyway"
    line = f'the line "{escape_controls(shorten(pattern, 60))}"'
    return f"remove {line} from {plain_path(source)}:{number}, or add it anyway"


def write_checkpoint(place: Place, skill: str, known: bytes | None, data: bytes) -> None:
    """Write a skill's checkpoint. Raises CheckpointError if the file has changed.

    known: the file as it was read, None for no file.
    """
    atomic.replace_known(layout.checkpoint_path(place, skill), known, data)


def remove_checkpoint(place: Place, skill: str, known: bytes) -> None:
    """Remove a skill's checkpoint. Raises CheckpointError if the file has changed.

    known: the file as it was read.
    """
    atomic.remove_known(layout.checkpoint_path(place, skill), known)


def list_history(place: Place, skill: str) -> list[str]:
    """Return the absolute paths of a skill's history files.

    Raises CheckpointError for a folder that is a link or cannot be read.
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
    """Write a history file of a skill under the first mark that is free or has the same data.

    Return its absolute path. Raises CheckpointError if no mark is free.
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
