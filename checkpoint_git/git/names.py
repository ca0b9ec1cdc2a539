"""What a repository is called by the hosts of its remotes; it asks none of them."""

import re

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.history.log import environment
from checkpoint_git.git.run import stream_git

_REMOTE = r"^(?:\w[\w+.-]*://(?!/)[^/]+/|[^/\s]+@?[^/\s]*:(?!//)).*?(?P<name>[^/]+?)(?:\.git)?/*$"


def read_own_names(work_tree: str) -> frozenset[str]:
    """What the remotes call this repository, without the owner, lower case: {"app"} for github.com/acme/app.git."""
    words = ["config", "--get-regexp", "-z", r"^remote\..*\.url$"]
    try:
        out = b"".join(stream_git(words, work_tree, env=environment()))
    except CheckpointError:  # there is no such setting
        return frozenset()
    urls = (record.partition(b"\n")[2].decode("utf-8", "replace") for record in out.split(b"\0") if record)
    matches = (re.match(_REMOTE, url) for url in urls)
    return frozenset(match["name"].lower() for match in matches if match)
