"""What tools call of restore points: whether any is left, for uninstall."""

import os
from collections.abc import Mapping

from checkpoint_git.disk.discover import find_repository
from checkpoint_git.git import private_objects
from checkpoint_git.protocols.restore import layout


def count_untracked(work_tree: str, env: Mapping[str, str]) -> int:
    # Those that are only a ref count too
    refs = private_objects.read_refs(work_tree, layout.REF_PREFIX, env)
    found = find_repository(work_tree)
    bases = {
        os.path.join(work_tree, layout.FOLDER),
        layout.find_base(work_tree, found[1] if found else None),
    }
    return len({*refs, *(point for base in bases for point in layout.list_ids(base))})
