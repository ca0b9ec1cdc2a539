"""The settings of this tool in git's configuration: one table, which docs/settings.md shows, and
how they are read.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Setting(NamedTuple):
    """default: "" if nothing is set. shown: the default in words, if it is not a fixed value."""

    meaning: str
    default: str = ""
    shown: str = ""


AGENT_COMMAND = "checkpoint.agentCommand"
DRIFT_BLOCKS = "checkpoint.driftBlocks"
HEALTH_URL = "checkpoint.healthUrl"
MEMORY_COMMAND = "checkpoint.memoryCommand"
MEMORY_ENTITY = "checkpoint.memoryEntity"
MEMORY_FILE = "checkpoint.memoryFile"
MEMORY_ON_COMMIT = "checkpoint.memoryOnCommit"
MEMORY_ON_IDLE = "checkpoint.memoryOnIdle"
MEMORY_TIMEOUT = "checkpoint.memoryTimeout"
PIPELINE_DIR = "checkpoint.pipelineDir"
PIPELINE_PHASES = "checkpoint.pipelinePhases"
POINTS_BUDGET = "checkpoint.pointsBudget"
SESSION_BLOCKS = "checkpoint.sessionBlocks"
STALE_DAYS = "checkpoint.staleDays"
SYNC_BRANCH = "checkpoint.syncBranch"
SYNC_REMOTE = "checkpoint.syncRemote"
WORKFLOW_APPROVALS = "checkpoint.workflowApprovals"

# a test compares the names with those in the package
SETTINGS = {
    AGENT_COMMAND: Setting(
        "name of the agents' slash command: `checkpoints` or `checkpoint`", "checkpoints"
    ),
    DRIFT_BLOCKS: Setting("`true`: drift in what is pushed stops the push", "false"),
    HEALTH_URL: Setting("address that `doctor --online` compares with HEAD", shown="none"),
    MEMORY_COMMAND: Setting("command that starts the memory server", shown="none"),
    MEMORY_ENTITY: Setting(
        "name of the checkpoint in the memory graph", shown="from the repository"
    ),
    MEMORY_FILE: Setting("file of the memory graph, an absolute path", shown="the server's own"),
    MEMORY_ON_COMMIT: Setting(
        "`true`: save to the memory server after each commit and merge", "false"
    ),
    MEMORY_ON_IDLE: Setting(
        "`true`: save to the memory server when an agent's turn ends after work", "false"
    ),
    MEMORY_TIMEOUT: Setting("seconds to wait for each answer of the memory server, 1 to 600", "20"),
    PIPELINE_DIR: Setting("folder of the pipeline records", shown="`~/.claude/checkpoints`"),
    PIPELINE_PHASES: Setting(
        "phases of a pipeline in their order, comma-separated", shown="the usual ones"
    ),
    POINTS_BUDGET: Setting(
        "size that automatic restore points may add: bytes, or `512k`, `512m`, `2g`", "512m"
    ),
    SESSION_BLOCKS: Setting(
        "`true`: make an agent record progress before it stops; `false`: only remind",
        shown="`--block`",
    ),
    STALE_DAYS: Setting(
        "days after which unfinished work counts as stale, in every view: "
        "a checkpoint in progress, a workflow, an initiative",
        "7",
    ),
    SYNC_BRANCH: Setting(
        "branch that `sync` exchanges checkpoints with", shown="the upstream branch"
    ),
    SYNC_REMOTE: Setting(
        "remote of `sync`, `claim` and `release`", shown="the upstream's, else `origin`"
    ),
    WORKFLOW_APPROVALS: Setting(
        "phases of a workflow that need approval, comma-separated, or `none`",
        "REQUIREMENTS,ARCHITECTURE",
    ),
}


def find_setting(found: Mapping[str, str], name: str) -> str:
    """Return a setting among all that git lists, whose names have no capitals, or its default."""
    return found.get(name.lower(), SETTINGS[name].default)


def read_flag(name: str, cwd: str, env: Mapping[str, str] | None = None) -> bool | None:
    """Return a setting that git reads as a boolean, None if there is none."""
    # late: the names are read by commands that start no git
    from checkpoint_git.git.run import (
        run_git,
    )

    done = run_git(["config", "--type=bool", name], cwd, env=env, check=False)
    return done.out.strip() == b"true" if done.code == 0 else None
