"""Count restore points, for uninstall."""

import os
from collections.abc import Mapping

from checkpoint_git.disk.discover import find_repository
from checkpoint_git.git import private_objects
from checkpoint_git.protocols.restore import layout


def count_untracked(work_tree: str, env: Mapping[str, str]) -> int:
    """Return the number of restore points; one that is only a ref counts too."""
    points = set(private_objects.read_refs(work_tree, layout.REF_PREFIX, env))
    points.update(layout.list_ids(os.path.join(work_tree, layout.FOLDER)))
    repository = find_repository(work_tree)
    if repository is not None:
        points.update(layout.list_ids(layout.find_base(work_tree, repository[1])))
    return len(points)
