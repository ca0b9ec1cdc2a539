"""When the commits were made that evidence names: one question to git for all of them."""

import os
import re
from collections.abc import Iterable

from checkpoint_git.git.run import clean_env, run_git

_ID = re.compile(r"[0-9a-f]{7,64}(?![\w])")


def read_evidence_times(work_tree: str, sentences: Iterable[str]) -> dict[str, int]:
    """Seconds since 1970 for each sentence of evidence (see repo.evidence) whose commit this clone has."""
    ids = {sentence: match[0] for sentence in sentences if (match := _ID.match(sentence))}
    if not ids:
        return {}
    words = ["log", "--no-walk=unsorted", "--no-show-signature", "--no-color", "--format=%H %ct", "--ignore-missing"]
    result = run_git([*words, "--stdin"], work_tree, stdin="\n".join(ids.values()).encode(), env=clean_env(os.environ))
    lines = (line.split() for line in result.out.decode("ascii", "replace").splitlines())
    times = {commit: int(when) for commit, when in lines}
    found = {
        short: next((when for commit, when in times.items() if commit.startswith(short)), None)
        for short in ids.values()
    }
    return {sentence: when for sentence, short in ids.items() if (when := found[short]) is not None}
