"""checkpoint_git.Pipeline: the records of a run, for Python."""

from pathlib import Path

import pytest

from checkpoint_git import CheckpointError, Pipeline
from checkpoint_git.protocols.pipeline.store import Skipped
from tests.support.records import PAYLOADS, RUN, SHORT_RUN, TICKET, put_text
from tests.support.verbs import NOON, seconds


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    """The sample run, at noon, without records."""
    return Pipeline(TICKET, SHORT_RUN, tmp_path, now=seconds(NOON))


def test_records_are_written_read_listed_and_counted(pipeline: Pipeline) -> None:
    written = pipeline.write(
        "implement", PAYLOADS["implement"], commits={"web": "a1b2c3d"}, artifacts=["src/foo.py"]
    )
    assert written.path == f"{TICKET}/{RUN}/phase_1_implement_a1.yaml"
    assert pipeline.read("implement") == written.value
    assert list(pipeline.list()) == [written.value]
    assert pipeline.next_attempt("implement") == 2
    assert pipeline.validate("implement") == []


def test_an_attempt_that_is_there_is_never_overwritten(pipeline: Pipeline) -> None:
    pipeline.write("implement", PAYLOADS["implement"], attempt=1)
    with pytest.raises(CheckpointError, match="already exists"):
        pipeline.write("implement", PAYLOADS["implement"], attempt=1)


def test_what_is_broken_is_raised_found_or_passed_over(pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline.write("implement", PAYLOADS["implement"])
    put_text(tmp_path, "phase_1_implement_a2.yaml", "a: [")
    with pytest.raises(CheckpointError, match="implement_a2"):
        pipeline.read("implement")
    assert pipeline.read("implement", fallback=True)["attempt_number"] == 1
    assert [finding.code for finding in pipeline.validate("implement")] == ["yaml/syntax"]
    skipped: list[Skipped] = []
    assert len(list(pipeline.list(skipped))) == 1
    assert len(skipped) == 1


def test_a_run_goes_on_where_the_earlier_phases_are_over(pipeline: Pipeline) -> None:
    pipeline.write("implement", PAYLOADS["implement"])
    assert pipeline.resume("local_review").is_possible
    plan = pipeline.resume("create_pr")
    assert (plan.is_possible, plan.run_from) == (False, "local_review")
