"""Contents of git's objects, one at a time through one `git cat-file --batch`; it knows nothing of what they say."""

import subprocess
from types import TracebackType
from typing import Self

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.repo.git import start_git
from checkpoint_git.repo.past.log import environment

_PIECE = 1 << 20  # bytes
# git before 2.44 does not know the variable that keeps it from fetching what a partial clone lacks
_OFFLINE = {"GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}


class Blobs:
    """Reads blobs by their ids; the process lives as long as the `with` block. limit: bytes of one that are read."""

    def __init__(self, work_tree: str, limit: int) -> None:
        self._limit = limit
        env = {**environment(), **_OFFLINE}
        self._process = start_git(["cat-file", "--batch"], work_tree, env=env, stderr=subprocess.DEVNULL)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def read(self, blob: str) -> bytes | int | None:
        """An object's content; its size in bytes where that is beyond the limit; None where this clone lacks it.

        Raises CheckpointError where git does not answer.
        """
        questions, answers = self._process.stdin, self._process.stdout
        assert questions
        assert answers
        try:
            questions.write(f"{blob}\n".encode())
            questions.flush()
            header = answers.readline().split()
        except OSError:
            header = []
        if not header:
            raise CheckpointError("git cat-file ended before it answered", "the repository may be damaged: git fsck")
        if len(header) != 3 or not header[2].isdigit():
            return None
        left = int(header[2]) + 1
        if left <= self._limit:
            return answers.read(left)[:-1]
        while left > 0 and (piece := answers.read(min(left, _PIECE))):
            left -= len(piece)
        return int(header[2])
