"""`checkpoint completion`: print the script that makes a shell complete our commands.

It calls `checkpoint complete`.
"""

import argparse

from checkpoint_git.core.outcome import Answer, Invocation
from checkpoint_git.disk.read import read_own

HELP = """\
print a shell completion script for checkpoint, git checkpoint and checkpoint-doctor

It completes commands, options, checkpoint names, fields, conflicts, commits and ids.

examples:
  eval "$(checkpoint completion bash)"                                   this shell only; add it to ~/.bashrc for all
  checkpoint completion zsh > "${fpath[1]}/_checkpoint"                  once
  checkpoint completion fish > ~/.config/fish/completions/checkpoint.fish
"""

SHELLS = ("bash", "fish", "zsh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    return Answer([read_own(__file__, f"checkpoint.{args.shell}")], 0)
