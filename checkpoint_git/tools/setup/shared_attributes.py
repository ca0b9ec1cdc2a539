"""What a work tree's .gitattributes files give other clones; it knows nothing of what only this clone has."""

import os
import tempfile
from collections.abc import Mapping, Sequence

from checkpoint_git.git.run import run_git


def read_shared_merge_attributes(top: str, names: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """Path -> the merge attribute that a clone without settings of its own gives it, in git's words.

    names: relative to top. env: a clean one. {} where there is no room for the empty git directory that is asked: it
    has no info/attributes, which would overrule every file.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="checkpoint-attributes-") as folder:
            _make_git_directory(folder)
            words = [f"--git-dir={folder}", f"--work-tree={top}", "-c", f"core.attributesFile={os.devnull}"]
            words += ["check-attr", "-z", "--stdin", "merge"]
            stdin = b"".join(os.fsencode(name) + b"\0" for name in names)
            own = {**env, "GIT_ATTR_NOSYSTEM": "1", "GIT_FLUSH": "0"}  # or git writes each answer by itself
            result = run_git(words, top, stdin=stdin, env=own, check=False)
    except OSError:
        return {}
    fields = result.out.split(b"\0")
    return {os.fsdecode(fields[at]): os.fsdecode(fields[at + 2]) for at in range(0, len(fields) - 2, 3)}


def _make_git_directory(folder: str) -> None:
    for name in ("objects", "refs"):
        os.mkdir(os.path.join(folder, name))
    with open(os.path.join(folder, "HEAD"), "w", encoding="ascii") as stream:
        stream.write("ref: refs/heads/none\n")
