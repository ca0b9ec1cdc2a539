"""`checkpoint ci premerge`: conflicts in checkpoints settled before anybody presses a forge's merge button."""

import argparse

from checkpoint_git.core.outcome import Invocation, Outcome
from checkpoint_git.git.remotes import quiet_env
from checkpoint_git.tools.merges.premerge_outcome import tell_premerge
from checkpoint_git.tools.merges.premerge_run import MovedError, premerge
from checkpoint_git.tools.merges.pull_request import follow, read_request


def run(args: argparse.Namespace, invocation: Invocation) -> Outcome:
    """The verb: exit code 1 where something is left to a person."""
    env = quiet_env(invocation.env)
    request = read_request(args, invocation.cwd, env)
    for _ in range(args.retries or 0):
        try:
            return tell_premerge(request, premerge(request, invocation.now, env))
        except MovedError:
            request = follow(request, env)
    return tell_premerge(request, premerge(request, invocation.now, env))
