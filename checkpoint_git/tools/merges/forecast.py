"""The next merge with the upstream, looked at before it happens; nothing is written and no server is asked."""

from collections.abc import Callable, Mapping

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.disk.discover import Place
from checkpoint_git.git import upstream
from checkpoint_git.git.merges.merges import Versions
from checkpoint_git.git.run import offline_env
from checkpoint_git.tools.merges.facts import Meeting, Upstream


def read_upstream(
    place: Place, now: int, env: Mapping[str, str], is_asked: Callable[[str], bool] = lambda path: True
) -> Upstream | None:
    """What the next merge with the upstream would do to the checkpoints; None where there is nothing to merge with.

    now: seconds since 1970, for validating what would come out. is_asked: whether a path is to be looked at.
    """
    own = offline_env(env)
    tracking = upstream.read_tracking(place.top, place.git_dir or "", own)
    if tracking is None:
        return None
    found = Upstream(tracking.name, tracking.tracked, "there", tracking.ahead, tracking.behind)
    if not tracking.commit:
        return found._replace(state="gone")
    if not tracking.behind:
        return found
    try:
        touched = upstream.read_meeting_files(place.top, tracking, own)
    except CheckpointError as error:
        return found._replace(state="cut", detail=error.message)
    if not touched.bases:
        return found._replace(state="unrelated")
    files = [file for file in touched.files if is_asked(file.path) or is_asked(file.old_path)]
    if not files:
        return found
    settings = upstream.read_settings(place.top, tracking.branch, own)
    return found._replace(rebases=settings.rebases, meetings=_meet(place.top, tracking, settings, files, now, own))


def _meet(
    top: str,
    tracking: upstream.Tracking,
    settings: upstream.Settings,
    files: list[Versions],
    now: int,
    env: Mapping[str, str],
) -> tuple[Meeting, ...]:
    """What becomes of each file, and what of this clone has a say in it."""
    from checkpoint_git.tools.merges.preview import meet_all

    driven = upstream.read_driven(top, [file.path for file in files], env) if settings.installed else frozenset[str]()
    return tuple(
        meeting._replace(
            in_the_way=upstream.is_in_the_way(top, file.old_path or file.path, tracking, settings, file.first is None),
            driven=file.path in driven,
        )
        for file, meeting in zip(files, meet_all(top, files, settings.choices, now), strict=True)
    )
