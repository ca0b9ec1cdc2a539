"""A pipeline's records for Python: the commands of `checkpoint pipeline` as methods. It prints
nothing.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.git.gitpython import find_folder
from checkpoint_git.git.settings import PIPELINE_PHASES
from checkpoint_git.protocols.contract import fix_clock
from checkpoint_git.protocols.pipeline import records, store
from checkpoint_git.protocols.pipeline.store import Skipped

if TYPE_CHECKING:
    from checkpoint_git.git.gitpython import Commit, Folder

Findings = list[Finding]


class Pipeline:
    """The append-only records of one run of a pipeline.

    run_id: a UUID, a short name for one, or "latest". base: the folder of all records. For a
    git.Repo it is what checkpoint.pipelineDir names there, for None what it names in the current
    folder; without that setting, ~/.claude/checkpoints. now: as for Checkpoints.
    """

    def __init__(
        self, ticket_id: str, run_id: str, base: "Folder | None" = None, now: int | None = None
    ) -> None:
        cwd, named = os.getcwd(), None
        if isinstance(base, str | os.PathLike):
            named = find_folder(base)
        elif base is not None:
            cwd = find_folder(base)
        found = store.find_base(named, cwd, os.environ)

        self._now = fix_clock(now)
        phases = store.read_setting(cwd, os.environ, PIPELINE_PHASES)
        self._run = records.open_run(found, ticket_id, run_id, self._now(), phases)

    def write(
        self,
        phase: str,
        payload: Mapping[str, Any],
        *,
        commits: "Mapping[str, str | Commit] | None" = None,
        artifacts: Iterable[str] = (),
        timestamp: str = "",
        attempt: int | None = None,
    ) -> records.WrittenRecord:
        """Writes a record: its path below the base, its value, warnings. attempt None: the next
        free one. commits: repository -> the id of a commit, or a git.Commit.

        Raises CheckpointError, nothing written, for contents that are not a record, and for an
        existing attempt.
        """
        ids = {}
        for repository, commit in (commits or {}).items():
            ids[repository] = getattr(commit, "hexsha", commit)
        draft = records.RecordDraft(phase, payload, ids, list(artifacts), timestamp)
        return records.write_record(self._run, draft, attempt, self._now())

    def read(
        self, phase: str, *, attempt: int | None = None, fallback: bool = False
    ) -> dict[str, Any]:
        """The newest record of a phase, or one attempt. Raises CheckpointError if there is none, or
        it is broken.

        fallback: takes the newest good one instead of a broken one.
        """
        found = records.read_newest(
            self._run, phase, self._now(), attempt=attempt, fallback=fallback
        ).record
        if not found.is_valid:
            raise CheckpointError(
                f"{found.path}: {'; '.join(found.messages('error'))}", "restore it, or use fallback"
            )

        assert found.value is not None
        return found.value

    def validate(self, phase: str, *, attempt: int | None = None) -> Findings:
        """What is wrong with the newest record of a phase, or with one attempt; [] if nothing
        is.
        """
        return records.read_newest(self._run, phase, self._now(), attempt=attempt).record.findings

    def list(self, skipped: list[Skipped] | None = None) -> Iterator[dict[str, Any]]:
        """The run's good records by ordinal and attempt, one at a time. skipped: takes (path,
        reason) of the others.
        """
        run, passed = self._run, [] if skipped is None else skipped
        for record in records.read_records(
            run.base, run.ticket_id, run.run_id, self._now(), passed
        ):
            yield record.value or {}

    def resume(self, phase: str = "", *, fallback: bool = False) -> records.Resumption:
        """Return whether the run can continue at a phase ("": is over): is_possible, run_from, the
        states before it.
        """
        wanted = phase and records.check_phase(phase)
        return records.plan_resume(self._run, wanted, self._now(), fallback=fallback)

    def next_attempt(self, phase: str) -> int:
        return records.next_attempt(self._run, records.check_phase(phase))
