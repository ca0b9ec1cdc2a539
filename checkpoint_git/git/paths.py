"""Find out what happened to paths that a checkpoint names.

Are they there, and if not, what does git know about them?

Paths are untrusted text: nothing outside the repository is looked at, and no symbolic link is
followed out of it.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from stat import S_ISDIR, S_ISLNK
from typing import Literal, NamedTuple

from checkpoint_git.git.history import history
from checkpoint_git.git.history.history import fits, fixed_part, folders_of, is_shallow
from checkpoint_git.git.history.log import has_commits
from checkpoint_git.git.objects import diff_index, read_tree
from checkpoint_git.git.run import clean_env, read_names
from checkpoint_git.git.worktree import read_ignored

State = Literal["there", "missing", "outside"]
Kind = Literal["renamed", "deleted", "uncommitted", "ignored", "longer", "cut", "unknown", ""]

_GLOB = re.compile(r"[*?\[]")
_PLAIN_PATH = re.compile(r"[\w.-][\w./ -]*[\w-]", re.ASCII).fullmatch
_ODD_PART = re.compile(r"(?:^|/)\.{0,2}(?:/|$)").search  # "", "." or ".." between two slashes
# folder entries that are looked at for all patterns; what is behind them counts as there
_MAX_WALK = 1_000_000
_MOST_PATTERNS = 100  # that are looked for; the rest counts as there
_MAX_FOLLOWED = 5  # renames in a row
_DEEPEST = 100  # folders of a path that are looked at one by one
# paths that git itself looks for; more of them it compares one by one with every name it has
_FEW = 100


class Fate(NamedTuple):
    """What happened to a path that is not there.

    uncommitted: HEAD has it. cut: a shallow clone does not know it, older history may. unknown: no
    commit that was read removed it. longer: as unknown, and it is the end of one tracked path.
    "": it is in a submodule.
    """

    kind: Kind
    detail: str = ""  # renamed, longer: the new path, which exists. deleted: the commit, shortened
    citation: str = ""  # the commit that did it, with its subject and its day


def find_state(path: str, root: str, top: str, budget: Iterator[int] | None = None) -> State:
    """Return whether a path or pattern is there.

    It is relative to root (which contains .checkpoints) or top. budget: has an item for each
    folder entry that may be looked at.
    """
    if budget is None:
        budget = iter(range(_MAX_WALK))
    states = {_find_state_from(base, path, top, budget) for base in {root, top}}
    if "there" in states:
        return "there"
    if "missing" in states:
        return "missing"
    return "outside"


def _find_state_from(base: str, path: str, top: str, budget: Iterator[int]) -> State:
    full = _inside(base, path, top)
    if full is None:
        return "outside"
    # before it is asked whether it exists: through a link, that would tell what is outside
    real, wall = os.path.realpath(full), os.path.realpath(top)
    if real != wall and not real.startswith(wall.rstrip(os.sep) + os.sep):
        return "outside"
    if os.path.lexists(full):
        if os.path.exists(real):
            return "there"
        return "missing"
    if not _GLOB.search(path):
        return "missing"
    pattern = os.path.relpath(full, top).replace(os.sep, "/")
    parts = re.sub(r"(?:\*\*/)+", "**/", pattern).split("/")
    return next(_walk(top, parts, budget), "missing")


def _walk(folder: str, parts: list[str], budget: Iterator[int]) -> Iterator[State]:
    if not parts:
        yield "there"
        return

    head, rest = parts[0], parts[1:]
    if head == "**":
        yield from _walk(folder, rest, budget)
    fits = re.compile(translate(head)).match
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return

    for entry in entries:
        if next(budget, None) is None:
            yield "there"
            return
        if entry.name == ".git" and head != ".git":
            continue  # no pattern means git's own folder
        is_folder = entry.is_dir(follow_symlinks=False)
        if head == "**" and is_folder:
            yield from _walk(entry.path, parts, budget)
        elif fits(entry.name) and (is_folder or not rest):
            yield from _walk(entry.path, rest, budget)


def _inside(base: str, path: str, top: str) -> str | None:
    try:
        os.fsencode(path)  # JSON can spell halves of characters, which no file system holds
    except UnicodeEncodeError:
        return None
    full = os.path.normpath(os.path.join(base, path))
    if "\0" in path or path.startswith("~"):
        return None
    if full == top or full.startswith(top.rstrip(os.sep) + os.sep):
        return full
    return None


def relative_to_top(path: str, root: str, top: str) -> list[str]:
    """Return what a path may be called in git: relative to top, with "/" between its parts.

    [] if it is outside.
    """
    names = dict[str, None]()
    for base in (root, top):
        full = _inside(base, path, top)
        if full:
            names[os.path.relpath(full, top).replace(os.sep, "/")] = None
    return list(names)


class Lookup:
    """Answers questions about many paths, each of them once."""

    def __init__(self, root: str, top: str) -> None:
        self._root, self._top = root, top
        self._states: dict[str, State] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._budget, self._patterns = iter(range(_MAX_WALK)), 0
        # folder -> whether it is one, reached through no symbolic link
        self._plain: dict[str, bool] = {top: True}

    def find_state(self, path: str) -> State:
        if path not in self._states:
            is_known = self._is_plainly_there(path)
            if not is_known and _GLOB.search(path):
                self._patterns += 1
                is_known = self._patterns > _MOST_PATTERNS
            if is_known:
                self._states[path] = "there"
            else:
                self._states[path] = find_state(path, self._root, self._top, self._budget)
        return self._states[path]

    def find_names(self, path: str) -> tuple[str, ...]:
        if path not in self._names:
            if self._root == self._top and _PLAIN_PATH(path) and not _ODD_PART(path):
                self._names[path] = (path,)
            else:
                self._names[path] = tuple(relative_to_top(path, self._root, self._top))
        return self._names[path]

    def _is_plainly_there(self, path: str) -> bool:
        """Whether it is a file of the project by an ordinary name, reached through no link."""
        if not _PLAIN_PATH(path) or _ODD_PART(path) or path.count("/") > _DEEPEST:
            return False
        full = os.path.join(self._root, path)
        try:
            return self._is_plain_folder(os.path.dirname(full)) and not S_ISLNK(
                os.lstat(full).st_mode
            )
        except OSError:
            return False

    def _is_plain_folder(self, folder: str) -> bool:
        if folder not in self._plain:
            above = os.path.dirname(folder)
            if above == folder:
                return False  # the root folder, and it is not top
            is_plain = self._is_plain_folder(above) and S_ISDIR(os.lstat(folder).st_mode)
            self._plain[folder] = is_plain
        return self._plain[folder]


def read_fates(top: str, paths: Sequence[str], since: int) -> dict[str, Fate]:
    """Return what happened to paths that are gone; what is only not checked out is left out.

    paths: relative to top. since: seconds since 1970; what removed a path is looked for in commits
    from then on.
    """
    if not paths:
        return {}
    env = clean_env(os.environ)
    homes = _find_submodules(top, paths, env)
    fates = {}
    for path, home in homes.items():  # another repository has their history
        if os.path.lexists(f"{top}/{home}/.git"):
            fates[path] = Fate("")

    paths = [path for path in paths if path not in homes]
    if not paths:
        return fates

    is_born = has_commits(top)
    fates.update(dict.fromkeys(paths, Fate("unknown")))
    fates.update(dict.fromkeys(read_ignored(top, paths, env), Fate("ignored")))
    if not is_born:
        return fates

    fates.update(_read_removed(top, paths, since))
    places = [fixed_part(path) for path in paths]
    if len(paths) > _FEW or not all(places):
        places = []  # git is asked about all paths
    sparse = _read_sparse(top, places, env)
    fates.update(_read_uncommitted(top, paths, places, sparse, env))
    unknown = [path for path, fate in fates.items() if fate.kind == "unknown"]
    if unknown and is_shallow(top):
        fates.update(dict.fromkeys(unknown, Fate("cut")))
    else:
        fates.update(_find_longer(top, unknown, env))

    return {path: fate for path, fate in fates.items() if not _is_among(path, sparse)}


def _find_longer(top: str, paths: Sequence[str], env: Mapping[str, str]) -> dict[str, Fate]:
    """Return the fates of paths that are the end of exactly one tracked file's path."""
    if not paths:
        return {}
    found: dict[str, list[str]] = {path: [] for path in paths}
    for name in read_names(["ls-files", "-z", "--full-name"], top, env=env, check=False):
        end = name
        while "/" in end:
            end = end.partition("/")[2]
            if end in found:
                found[end].append(name)

    only = {path: names[0] for path, names in found.items() if len(names) == 1}
    return {
        path: Fate("longer", name)
        for path, name in only.items()
        if os.path.lexists(f"{top}/{name}")
    }


def _find_submodules(top: str, paths: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """Return the submodules in which paths are, by path."""
    if not os.path.lexists(f"{top}/.gitmodules"):
        return {}
    words = ["config", "-z", "--file", ".gitmodules", "--get-regexp", r"\.path$"]
    records = read_names(words, top, env=env, check=False)
    submodules = {record.partition("\n")[2] for record in records}
    homes = {}
    for path in paths:
        for folder in folders_of(path):
            if folder in submodules:
                homes[path] = folder

    return homes


def _read_sparse(top: str, places: Sequence[str], env: Mapping[str, str]) -> set[str]:
    """Return the paths that a sparse checkout leaves out, with their folders. places: [] for
    all.
    """
    words = ["--literal-pathspecs", "ls-files", "-t", "-z", "--", *places]
    listed = read_names(words, top, env=env, check=False)
    return _with_folders(name[2:] for name in listed if name.startswith("S "))


def _with_folders(files: Iterable[str]) -> set[str]:
    paths = set[str]()
    for file in files:
        paths.add(file)
        paths.update(folders_of(file))
    return paths


def _read_uncommitted(
    top: str,
    paths: Sequence[str],
    places: Sequence[str],
    sparse: set[str],
    env: Mapping[str, str],
) -> dict[str, Fate]:
    """Return the fates of paths that HEAD still has. places: of the paths, [] for all."""
    in_head = _with_folders(read_tree(top, "HEAD", env, places))
    gone = [path for path in paths if _is_among(path, in_head) and not _is_among(path, sparse)]
    if not gone:
        return {}
    renames = {}
    for change in diff_index(top, "HEAD", env=env, renames=True):
        if change.came_from:
            renames["", change.came_from] = change.path
    searched = {("", path.rstrip("/")) for path in gone} - renames.keys()
    renames |= history.find_renamed_folders(renames, searched)

    fates = {}
    for path in gone:
        new = renames.get(("", path.rstrip("/")), "")
        if not new:
            fates[path] = Fate("uncommitted")
            continue
        if path.endswith("/"):
            new += "/"
        fates[path] = Fate("renamed", new, "a rename that is not committed")

    return fates


def _is_among(path: str, names: set[str]) -> bool:
    return path.rstrip("/") in names or (
        fixed_part(path) != path and any(fits(name, path) for name in names)
    )


def _read_removed(top: str, paths: Sequence[str], since: int) -> dict[str, Fate]:
    """Return how git lost the paths.

    A rename is followed as long as the new name is gone, too.
    """
    fates: dict[str, Fate] = {}
    names = {path: path for path in paths}
    for _ in range(_MAX_FOLLOWED):
        removals = history.read_removals(top, sorted(set(names.values())), since)
        following: dict[str, str] = {}
        for path, name in names.items():
            removal = removals.get(name.rstrip("/"))
            if removal is None:
                continue
            fates[path] = Fate("deleted", removal.commit[:9], removal.citation)
            if removal.new_name and find_state(removal.new_name, top, top) == "there":
                new_name = removal.new_name
                if path.endswith("/"):
                    new_name += "/"
                fates[path] = Fate("renamed", new_name, removal.citation)
            elif removal.new_name:
                following[path] = removal.new_name
        names = following

    return fates
