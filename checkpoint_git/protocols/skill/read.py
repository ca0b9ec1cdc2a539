"""What the verbs share to read checkpoints: from files to checked documents. It writes nothing."""

from collections.abc import Iterable, Iterator

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.terminal_text import escape_controls, quote_word
from checkpoint_git.disk.discover import Place
from checkpoint_git.disk.read import FileContent
from checkpoint_git.protocols.document import Document
from checkpoint_git.protocols.skill import layout, store
from checkpoint_git.protocols.validate import iterate_checked

Files = Iterable[tuple[str, FileContent]]

_MOST_SHOWN = 12  # skills named in a hint


def iterate_documents(place: Place, now: int) -> Iterator[Document]:
    """All of a place, by path, each read when its turn comes; what cannot be read has a finding that says why."""
    return iterate_checked(store.read_files(place), now)


def check_files(files: Files, now: int) -> list[Document]:
    return list(iterate_checked(files, now))


def read_document(place: Place, skill: str, now: int) -> Document:
    """One skill's checkpoint. Raises CheckpointError where the skill has none, naming those that are there."""
    layout.check_skill_name(skill)
    data = store.read_skill(place, skill)
    if data is None:
        raise missing_checkpoint(place, skill)
    path = layout.relative_checkpoint_path(place, skill)
    return check_files([(path, data)], now)[0]


def missing_checkpoint(place: Place, skill: str) -> CheckpointError:
    from difflib import get_close_matches

    known = [escape_controls(name) for name in store.list_skills(place)]
    if not known:
        return CheckpointError(
            f"{place.directory} holds no checkpoints yet", f"run `checkpoint update {quote_word(skill)}`"
        )
    twin = next((name for name in known if name.casefold() == skill.casefold()), "")
    if twin:  # a second one could not be made beside it
        return CheckpointError(f"{skill} has no checkpoint in {place.directory}", f"did you mean {twin}?")
    shown = ", ".join(known[:_MOST_SHOWN]) + (" ..." if len(known) > _MOST_SHOWN else "")
    near = get_close_matches(skill, known, 1, 0.8)
    meant = f"did you mean {near[0]}? " if near else ""
    hint = f"{meant}there are: {shown}; `checkpoint update {quote_word(skill)}` makes a new one"
    return CheckpointError(f"{skill} has no checkpoint in {place.directory}", hint)
