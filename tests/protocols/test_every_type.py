"""Any JSON type at any place of any file: a finding or a conflict, never an exception."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from checkpoint_git.merge.file import merge_file
from checkpoint_git.protocols.contract import open_room
from checkpoint_git.protocols.registry import is_merged, protocol_of
from checkpoint_git.protocols.validate import check_document, check_together
from checkpoint_git.tools.merges.judge import judge_merge
from tests.support.command import run_here
from tests.support.odd_types import (
    ODD_VALUES,
    Place,
    full_checkpoint,
    full_documents,
    list_places,
    put,
)
from tests.support.repos import GitRepo

NOW = 1_780_000_000
# one of each type
USUAL_VALUES = (
    "null",
    "text",
    "huge number",
    "empty list",
    "object of twenty",
    "mixed list",
)
READERS = (
    "validate",
    "status",
    "status --merged",
    "next",
    "prime",
    "doctor",
    "report",
    "log",
    "diff",
    "session show",
)
FORMATS = ("status --json", "log --json", "next --json")


def iterate_odd(full: Any, kinds: Iterable[str] = ODD_VALUES) -> Iterator[tuple[str, Place, Any]]:
    """Yield (what, where, the document) for each odd value at each place."""
    for kind in kinds:
        for place in list_places(full):
            yield kind, place, put(full, place, ODD_VALUES[kind])


@pytest.mark.parametrize("path", list(full_documents()))
def test_a_check_ends_with_findings(path: str) -> None:
    findings = check_document(path, json.dumps(full_documents()[path]).encode(), now=NOW).findings
    assert [finding for finding in findings if finding.level == "error"] == []
    assert list_check_failures(path, USUAL_VALUES) == []


@pytest.mark.deep
@pytest.mark.parametrize("path", list(full_documents()))
def test_a_check_of_any_odd_value_ends_with_findings(path: str) -> None:
    assert list_check_failures(path, ODD_VALUES) == []


def list_check_failures(path: str, kinds: Iterable[str]) -> list[tuple[str, Place, str]]:
    failures = []
    for kind, place, value in iterate_odd(full_documents()[path], kinds):
        try:
            document = check_document(path, json.dumps(value).encode(), now=NOW)
            check_together([document], is_all=True)
        except Exception as error:
            failures.append((kind, place, repr(error)))
    return failures


MERGED = [path for path in full_documents() if is_merged(path)]


@pytest.mark.parametrize("path", MERGED)
def test_a_merge_and_its_judge_end(path: str) -> None:
    assert list_merge_failures(path, ["null", "object of twenty"]) == []


@pytest.mark.deep
@pytest.mark.parametrize("path", MERGED)
def test_a_merge_of_any_odd_value_and_its_judge_end(path: str) -> None:
    assert list_merge_failures(path, ["text", "mixed list"]) == []


def list_merge_failures(path: str, kinds: Iterable[str]) -> list[tuple[str, Place, str]]:
    """One side has the odd value, the other has changed what stands beside it."""
    full = full_documents()[path]
    schema = open_room(protocol_of(path) or "").schema.document
    base = json.dumps(full).encode()
    changed = json.dumps(put(full, ("added",), 1)).encode()

    failures = []
    for kind, place, value in iterate_odd(full, kinds):
        odd = json.dumps(value).encode()
        try:
            for ours, theirs in ((odd, changed), (changed, odd)):
                merged = merge_file(base, ours, theirs, schema)
                judge_merge(base, ours, theirs, merged.data, schema)
        except Exception as error:
            failures.append((kind, place, repr(error)))
    return failures


def plant(repo: GitRepo, kind: str) -> list[str]:
    """Commit a checkpoint for each place with the odd value there; their skills."""
    skills = []
    for number, place in enumerate(list_places(full_checkpoint())):
        value = put(full_checkpoint(), place, ODD_VALUES[kind])
        skill = f"s{number}"
        if isinstance(value, dict) and place != ("skill",):
            value["skill"] = skill
        repo.write(f".checkpoints/{skill}.checkpoint.json", json.dumps(value))
        skills.append(skill)
    repo.commit("Add checkpoints")
    return skills


def list_crashes(repo: GitRepo, commands: Iterable[str]) -> list[tuple[str, str]]:
    crashes = []
    for command in commands:
        done = run_here(*command.split(), cwd=repo.path)
        if done.returncode not in (0, 1, 2):
            crashes.append((command, done.stderr[-500:]))
    return crashes


def test_readers_end_with_findings(repo: GitRepo) -> None:
    plant(repo, "object of twenty")

    assert list_crashes(repo, READERS) == []


@pytest.mark.deep
@pytest.mark.parametrize("kind", list(ODD_VALUES))
def test_every_reader_ends_with_findings(repo: GitRepo, kind: str) -> None:
    plant(repo, kind)

    assert list_crashes(repo, (*READERS, *FORMATS)) == []


@pytest.mark.deep
def test_every_resume_ends_with_findings(repo: GitRepo) -> None:
    skills = plant(repo, "mixed list")

    assert list_crashes(repo, [f"resume {skill}" for skill in skills]) == []
