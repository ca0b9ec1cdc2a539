"""Contents of git's objects, one at a time through one `git cat-file --batch`; it knows nothing of what they say."""

import subprocess
from types import TracebackType
from typing import Self

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.history.log import OFFLINE, environment
from checkpoint_git.git.run import start_git

_PIECE = 1 << 20  # bytes
_MOST_ENDS = 20  # times that git may end over an object that a partial clone lacks


class Blobs:
    """Reads blobs by their ids; the process lives as long as the `with` block. limit: bytes of one that are read."""

    def __init__(self, work_tree: str, limit: int) -> None:
        self._work_tree = work_tree
        self._limit = limit
        self._ends = 0
        self._process = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _start(self) -> "subprocess.Popen[bytes]":
        env = {**environment(), **OFFLINE}
        return start_git(["cat-file", "--batch"], self._work_tree, env=env, stderr=subprocess.DEVNULL)

    def _end(self) -> None:
        try:
            self._process.communicate()
        except OSError:  # it is gone already
            self._process.wait()

    def read(self, blob: str) -> bytes | int | None:
        """An object's content; its size in bytes where that is beyond the limit; None where this clone lacks it.

        Raises CheckpointError where git does not answer.
        """
        header = self._ask(blob)
        if not header:  # git before 2.44 ends over an object that it may not fetch
            self._end()
            self._ends += 1
            if self._ends > _MOST_ENDS:
                hint = "the repository may be damaged, or lack too much: git fsck, git fetch --refetch"
                raise CheckpointError("git cat-file ended again and again before it answered", hint)
            self._process = self._start()
        if len(header) != 3 or not header[2].isdigit():
            return None
        answers = self._process.stdout
        assert answers
        left = int(header[2]) + 1
        if left <= self._limit:
            return answers.read(left)[:-1]
        while left > 0 and (piece := answers.read(min(left, _PIECE))):
            left -= len(piece)
        return int(header[2])

    def _ask(self, blob: str) -> list[bytes]:
        questions, answers = self._process.stdin, self._process.stdout
        assert questions
        assert answers
        try:
            questions.write(f"{blob}\n".encode())
            questions.flush()
            return answers.readline().split()
        except OSError:
            return []
