"""Look at the next merge with the upstream before it happens; nothing is written and no server is
asked.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import Place
from checkpoint_git.git import upstream
from checkpoint_git.git.attributes import DRIVER, read_attribute
from checkpoint_git.git.run import offline_env

if TYPE_CHECKING:
    from checkpoint_git.tools.merges.preview import FilePreview


class Upstream(NamedTuple):
    """name: such as "origin/main". tracked: it is the branch's upstream, not only the remote's
    default branch.
    state: "gone" (configured, and not in this clone), "cut" (this clone lacks objects that a merge
    would need; detail says which), "unrelated" (no common ancestor).
    ahead: the number of commits that only this branch has. rebases: a pull rebases here.
    """

    name: str
    tracked: bool = True
    state: Literal["there", "gone", "cut", "unrelated"] = "there"
    ahead: int = 0
    behind: int = 0
    rebases: bool = False
    previews: tuple["FilePreview", ...] = ()  # of checkpoints, sorted by path
    detail: str = ""


def read_upstream(
    place: Place,
    now: int,
    env: Mapping[str, str],
    is_asked: Callable[[str], bool] = lambda path: True,
) -> Upstream | None:
    """Return what the next merge with the upstream would do to the checkpoints; None for no
    upstream.

    now: seconds since 1970, to validate the results. is_asked: whether a path is to be looked at.
    """
    top = place.top
    git_env = offline_env(env)
    tracking = upstream.read_tracking(top, place.git_dir or "", git_env)
    if tracking is None:
        return None
    found = Upstream(tracking.name, tracking.tracked, "there", tracking.ahead, tracking.behind)
    if not tracking.commit:
        return found._replace(state="gone")
    if not tracking.behind:
        return found
    try:
        touched = upstream.read_diverged_files(top, tracking, git_env)
    except CheckpointError as error:
        return found._replace(state="cut", detail=error.message)

    if not touched.bases:
        return found._replace(state="unrelated")
    files = [file for file in touched.files if is_asked(file.path) or is_asked(file.old_path)]
    if not files:
        return found

    # imported only now: most clones are up to date, and need nothing that merging imports
    from checkpoint_git.tools.merges.preview import preview_files

    settings = upstream.read_settings(top, tracking.branch, git_env)
    paths = [file.path for file in files] if settings.installed else []
    attributes = read_attribute("merge", top, paths, git_env)
    previews = []
    for file, preview in zip(files, preview_files(top, files, settings.choices, now), strict=True):
        name = file.old_path or file.path
        is_new = file.first is None
        blocked = upstream.is_in_the_way(top, name, tracking, settings, is_new)
        driven = attributes.get(file.path) == DRIVER
        previews.append(preview._replace(in_the_way=blocked, driven=driven))

    return found._replace(rebases=settings.rebases, previews=tuple(previews))
