"""Write and read a pipeline's records from Python, as `checkpoint pipeline` does.

It prints nothing.
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
        cwd = os.getcwd()
        named = None
        if isinstance(base, str | os.PathLike):
            named = find_folder(base)
        elif base is not None:
            cwd = find_folder(base)

        folder = store.find_base(named, cwd, os.environ)
        phases = store.read_setting(cwd, os.environ, PIPELINE_PHASES)
        self._now = fix_clock(now)
        self._run = records.open_run(folder, ticket_id, run_id, self._now(), phases)

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
        """Write a record, and return its path below the base, its value and warnings.

        attempt: None for the next free one. commits: repository -> the id of a commit, or a
        git.Commit. Raises CheckpointError for contents that are not a record, and for an existing
        attempt; nothing is written then.
        """
        ids = {}
        for repository, commit in (commits or {}).items():
            ids[repository] = getattr(commit, "hexsha", commit)
        draft = records.RecordDraft(phase, payload, ids, list(artifacts), timestamp)
        return records.write_record(self._run, draft, attempt, self._now())

    def read(
        self, phase: str, *, attempt: int | None = None, fallback: bool = False
    ) -> dict[str, Any]:
        """Return the newest record of a phase, or one attempt.

        fallback: take the newest good one instead of a broken one. Raises CheckpointError if there
        is no record, or it is broken.
        """
        found = records.read_newest(
            self._run, phase, self._now(), attempt=attempt, fallback=fallback
        )
        record = found.record
        if not record.is_valid:
            message = f"{record.path}: {'; '.join(record.messages('error'))}"
            raise CheckpointError(message, "restore it, or use fallback")

        assert record.value is not None
        return record.value

    def validate(self, phase: str, *, attempt: int | None = None) -> Findings:
        """Return what is wrong with the newest record of a phase, or with one attempt.

        [] if it is valid.
        """
        return records.read_newest(self._run, phase, self._now(), attempt=attempt).record.findings

    def list(self, skipped: list[Skipped] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the run's good records by ordinal and attempt, one at a time.

        skipped: gets (path, reason) of the others.
        """
        if skipped is None:
            skipped = []
        run = self._run
        found = records.read_records(run.base, run.ticket_id, run.run_id, self._now(), skipped)
        for record in found:
            yield record.value or {}

    def resume(self, phase: str = "", *, fallback: bool = False) -> records.Resumption:
        """Return whether the run can continue at a phase: is_possible, run_from, phases before it.

        phase: "" asks whether the run is over.
        """
        wanted = phase and records.check_phase(phase)
        return records.plan_resume(self._run, wanted, self._now(), fallback=fallback)

    def next_attempt(self, phase: str) -> int:
        return records.next_attempt(self._run, records.check_phase(phase))
