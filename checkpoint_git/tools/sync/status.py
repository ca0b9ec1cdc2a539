"""`checkpoint sync --status`: what waits in this clone to be sent, and where it last met its branch."""

import os
from collections.abc import Mapping
from typing import Any

from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.core.outcome import Block, Line, Outcome
from checkpoint_git.disk.discover import Place
from checkpoint_git.git.run import clean_env, run_git
from checkpoint_git.tools.sync.context import Wish, find_target
from checkpoint_git.tools.sync.files import is_wanted
from checkpoint_git.tools.sync.settings import read_sync_settings
from checkpoint_git.tools.sync.state import name_refs, read_local, read_memory


def read_standing(place: Place, wish: Wish, env: Mapping[str, str]) -> Outcome:
    """Exit code 1 where something waits."""
    if place.work_tree is None:
        raise CheckpointError("this is not a git repository", "git init, or git clone")
    top, own = place.work_tree, {**clean_env(env), "LC_ALL": "C"}
    local = read_local(top, own)
    target = find_target(read_sync_settings(top, own), local, wish)
    memory = read_memory(top, name_refs(target.remote, target.branch), local, own)
    data: dict[str, Any] = {
        "remote": target.remote,
        "branch": target.branch,
        "met": memory.met or None,
        "follows": target.follows,
        "waiting": [],
        "waiting_since": None,
    }
    met = f"last met at {memory.met[:12]}" if memory.met else "never met from this work tree"
    blocks: list[Block] = [Line(f"{target.remote}/{target.branch}: {met}", "strong")]
    if memory.queue is None:
        return Outcome(data, [*blocks, Line("nothing waits from an earlier sync", "dim")])
    body = os.fsdecode(run_git(["log", "-1", "--format=%b", memory.queue.record], top, env=own).out).split("\n")
    data["waiting"] = [path for path in body if path and is_wanted(path)]
    data["waiting_since"] = write_instant(memory.queue.since)
    blocks += [Line(f"  waits: {path}", "warn") for path in data["waiting"]]
    count = len(data["waiting"])
    what = "1 checkpoint file waits" if count == 1 else f"{count} checkpoint files wait"
    message = f"{what} to be sent since {data['waiting_since']}"
    return Outcome(data, blocks, [Finding("sync/queued", "error", message, hint="checkpoint sync")])
