"""The next merge with the upstream, looked at before it happens; nothing is written and no server
is asked.
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
    name: str  # such as "origin/main"
    tracked: bool = True  # it is the branch's own upstream, else the remote's default branch
    # "gone": configured, and not in this clone. "cut": this clone lacks what a merge would need;
    # detail says what. "unrelated": nothing in common.
    state: Literal["there", "gone", "cut", "unrelated"] = "there"
    ahead: int = 0  # commits that only this branch has
    behind: int = 0
    rebases: bool = False  # a pull does, here
    previews: tuple["FilePreview", ...] = ()  # of checkpoints, sorted by path
    detail: str = ""


def read_upstream(
    place: Place,
    now: int,
    env: Mapping[str, str],
    is_asked: Callable[[str], bool] = lambda path: True,
) -> Upstream | None:
    """What the next merge with the upstream would do to the checkpoints; None if there is nothing
    to merge with. now: seconds since 1970, for validating what would come out. is_asked: whether a
    path is to be looked at.
    """
    top, own = place.top, offline_env(env)
    tracking = upstream.read_tracking(top, place.git_dir or "", own)
    if tracking is None:
        return None
    found = Upstream(tracking.name, tracking.tracked, "there", tracking.ahead, tracking.behind)
    if not tracking.commit:
        return found._replace(state="gone")
    if not tracking.behind:
        return found
    try:
        touched = upstream.read_diverged_files(top, tracking, own)
    except CheckpointError as error:
        return found._replace(state="cut", detail=error.message)

    if not touched.bases:
        return found._replace(state="unrelated")
    files = [file for file in touched.files if is_asked(file.path) or is_asked(file.old_path)]
    if not files:
        return found

    # Only now is there something to merge: most clones are up to date, and do without all that
    # merging imports.
    from checkpoint_git.tools.merges.preview import preview_files

    settings = upstream.read_settings(top, tracking.branch, own)
    paths = [file.path for file in files] if settings.installed else []
    attributes = read_attribute("merge", top, paths, own)
    previews = tuple(
        preview._replace(
            in_the_way=upstream.is_in_the_way(
                top, file.old_path or file.path, tracking, settings, file.first is None
            ),
            driven=attributes.get(file.path) == DRIVER,
        )
        for file, preview in zip(
            files, preview_files(top, files, settings.choices, now), strict=True
        )
    )
    return found._replace(rebases=settings.rebases, previews=previews)
