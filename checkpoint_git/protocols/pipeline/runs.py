"""The runs of the pipeline records that a project keeps, and what is wrong with them."""

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from checkpoint_git.disk.discover import Place, relative_path
from checkpoint_git.protocols.pipeline import layout, store
from checkpoint_git.protocols.pipeline.records import read_records, read_setting
from checkpoint_git.protocols.pipeline.store import Skipped
from checkpoint_git.protocols.pipeline.summary import is_present
from checkpoint_git.protocols.registry import append_only_patterns

RECORDS = append_only_patterns()[0]  # as git spells their paths


class RunState(NamedTuple):
    """One run by the names of its files. phases: those that have a record, in order. attempts: all records.

    folder: relative to the project where it is inside, else absolute.
    """

    ticket_id: str
    run_id: str
    phases: list[str]
    attempts: int
    folder: str


def find_bases(place: Place, env: Mapping[str, str]) -> list[str]:
    """The folders of records that belong to a project: its own, and what its setting names; [] for none."""
    if not is_present(place):
        return []
    named = [os.path.join(place.top, layout.BASE), read_setting(place.top, env)]
    return list(dict.fromkeys(base for base in named if base and os.path.isdir(base)))


def read_runs(place: Place, env: Mapping[str, str]) -> list[RunState]:
    """Every run of a project's records, by ticket and run; no record is opened."""
    runs = []
    for base in find_bases(place, env):
        for ticket in store.list_tickets(base):
            for run in store.list_runs(base, ticket, []):
                names = store.list_names(base, ticket, run, [])
                phases = list(dict.fromkeys(name.phase for name in names))
                folder = relative_path(os.path.join(base, ticket, run), place.top)
                runs.append(RunState(ticket, run, phases, len(names), folder))
    return runs


def read_broken(place: Place, env: Mapping[str, str], now: int) -> Iterator[Skipped]:
    """Files among a project's records that are not valid records, with a path as RunState.folder has it."""
    for base in find_bases(place, env):
        for ticket in store.list_tickets(base):
            skipped: list[Skipped] = []
            for _ in read_records(base, ticket, "", now, skipped):
                pass
            for each in skipped:
                yield Skipped(relative_path(os.path.join(base, each.path), place.top), each.reason)
