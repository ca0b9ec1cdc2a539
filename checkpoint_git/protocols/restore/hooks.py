"""What tools call of restore points: whether any is left, for uninstall."""

from collections.abc import Mapping

from checkpoint_git.git import private_objects
from checkpoint_git.protocols.restore import layout


def count_untracked(work_tree: str, env: Mapping[str, str]) -> int:
    # Those that are only a ref count too
    refs = private_objects.read_refs(work_tree, layout.REF_PREFIX, env)
    return len({*layout.list_ids(work_tree), *refs})
