"""What init and uninstall find in a repository before they decide anything: files, settings, answers of git."""

import os
from collections.abc import Mapping
from typing import Literal, NamedTuple

from checkpoint_git.repo.git import clean_env, run_git
from checkpoint_git.repo.setup import attributes, framework
from checkpoint_git.repo.setup.hookfiles import HOOKS, HookFile
from checkpoint_git.repo.setup.repository import Repository, config_path

HooksPlace = Literal["repository", "work tree", "outside", "nowhere"]

_EXAMPLE = ".checkpoints/example.checkpoint.json"
_HUSKY, _HUSKY_STUBS = ".husky", "_"


class FileState(NamedTuple):
    """A file as it was read. data: None when there is none. blocked: why it must not be written, "" when it may.

    has_folder: the folder it belongs to is there.
    """

    path: str
    data: bytes | None
    blocked: str = ""
    has_folder: bool = True


class HooksFolder(NamedTuple):
    """Where hooks go. path: the folder to write to. place: whose it is. exists: whether it is there."""

    path: str
    place: HooksPlace
    exists: bool


class Survey(NamedTuple):
    """Everything the plans are made from.

    attributes, info, framework, git_config: the files .gitattributes, info/attributes, .pre-commit-config.yaml and
    config. hooks: in the folder git looks into; left_hooks: in the repository's own, where that is another one.
    ignored: the rule that hides checkpoints from git, as "file:line: pattern", or "". merge_attribute: what git
    answers for a checkpoint today.
    """

    place: Repository
    settings: Mapping[str, str]
    attributes: FileState
    info: FileState
    framework: FileState
    git_config: FileState
    folder: HooksFolder
    hooks: tuple[HookFile, ...]
    left_hooks: tuple[HookFile, ...]
    ignored: str
    merge_attribute: str


def read_survey(place: Repository, settings: Mapping[str, str], env: Mapping[str, str], root: str) -> Survey:
    """Looks at the repository. root: the folder that holds, or will hold, .checkpoints. env: the caller's."""
    folder = read_hooks_folder(place)
    own = clean_env(env)
    return Survey(
        place=place,
        settings=settings,
        attributes=_read_attributes_file(place, own),
        info=read_file(os.path.join(place.common_dir, "info", "attributes")),
        framework=read_file(os.path.join(place.work_tree, framework.FILE)),
        git_config=read_file(config_path(place)),
        folder=folder,
        hooks=read_hooks(folder),
        left_hooks=_read_left_hooks(place, folder),
        ignored=_read_ignore_rule(root, own),
        merge_attribute=read_merge_attribute(root, own),
    )


def read_file(path: str) -> FileState:
    """A file's bytes; a symbolic link or something that is no file is not followed, and says so."""
    if os.path.islink(path):
        return FileState(path, None, "it is a symbolic link")
    try:
        with open(path, "rb") as stream:
            return FileState(path, stream.read())
    except (FileNotFoundError, NotADirectoryError):
        return FileState(path, None, has_folder=os.path.isdir(os.path.dirname(path)))
    except OSError as error:
        return FileState(path, None, f"it cannot be read: {error.strerror}")


def read_hooks_folder(place: Repository) -> HooksFolder:
    """The folder in which git looks for hooks, and whose it is.

    husky 9 keeps generated stubs in .husky/_ and runs the scripts above it: those are what may be changed.
    """
    path = place.hooks
    if not path:
        return HooksFolder("", "nowhere", False)
    above, name = os.path.split(os.path.normpath(path))
    if name == _HUSKY_STUBS and os.path.basename(above) == _HUSKY:
        path = above
    return HooksFolder(path, _find_place(place, os.path.realpath(path)), os.path.isdir(path))


def read_hooks(folder: HooksFolder) -> tuple[HookFile, ...]:
    """The files of our hooks' names in a hooks folder."""
    stubs = os.path.basename(folder.path) == _HUSKY and os.path.isdir(os.path.join(folder.path, _HUSKY_STUBS, ""))
    started_by_stub = stubs and os.path.exists(os.path.join(folder.path, _HUSKY_STUBS, "h"))
    return tuple(_read_hook(folder.path, name, started_by_stub) for name in HOOKS if folder.path)


def _read_left_hooks(place: Repository, folder: HooksFolder) -> tuple[HookFile, ...]:
    own = os.path.join(place.common_dir, "hooks")
    same = folder.path and os.path.realpath(own) == os.path.realpath(folder.path)
    return () if same else read_hooks(HooksFolder(own, "repository", os.path.isdir(own)))


def read_merge_attribute(root: str, env: Mapping[str, str]) -> str:
    """The merge attribute that git gives a checkpoint in root/.checkpoints: "checkpoint", "unspecified", "set"..."""
    result = run_git(["check-attr", "-z", "merge", "--", _EXAMPLE], root, env=env)
    return os.fsdecode(result.out.split(b"\0")[2])


def _find_place(place: Repository, real: str) -> HooksPlace:
    for folder, answer in ((place.common_dir, "repository"), (place.work_tree, "work tree")):
        wall = os.path.realpath(folder)
        if real == wall or real.startswith(wall + os.sep):
            return "repository" if answer == "repository" else "work tree"
    return "outside"


def _read_hook(folder: str, name: str, started_by_stub: bool) -> HookFile:
    path = os.path.join(folder, name)
    file = read_file(path)
    link = os.path.islink(path)
    return HookFile(
        name,
        path,
        file.data,
        present=link or os.path.lexists(path),
        link=link,
        runs=started_by_stub or os.access(path, os.X_OK),
        legacy=read_file(f"{path}.legacy").data,
    )


def _read_attributes_file(place: Repository, env: Mapping[str, str]) -> FileState:
    state = read_file(os.path.join(place.work_tree, attributes.FILE))
    if state.data is None and not state.blocked:
        tracked = run_git(["ls-files", "--error-unmatch", "--", attributes.FILE], place.work_tree, env=env, check=False)
        if tracked.code == 0:
            return state._replace(blocked="git tracks it, but it is not checked out")
    return state


def _read_ignore_rule(root: str, env: Mapping[str, str]) -> str:
    words = ["check-ignore", "-v", "-z", "--no-index", "--stdin"]
    result = run_git(words, root, env=env, stdin=f"{_EXAMPLE}\0".encode(), check=False)
    fields = [os.fsdecode(field) for field in result.out.split(b"\0")]
    ignored = result.code == 0 and len(fields) > 3 and not fields[2].startswith("!")
    return f"{fields[0]}:{fields[1]}: {fields[2]}" if ignored else ""
