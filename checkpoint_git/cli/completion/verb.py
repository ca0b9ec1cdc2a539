"""`checkpoint completion`: the script that makes a shell complete our commands."""

import argparse

from checkpoint_git.cli.completion.shells import SCRIPTS
from checkpoint_git.core.outcome import Answer, Invocation

SUMMARY = """\
print the script that makes a shell complete checkpoint, git checkpoint and checkpoint-doctor

It completes commands, options, skills, fields of a checkpoint, conflicts, commits and ids."""
EXAMPLES = """\
  eval "$(checkpoint completion bash)"                                   this shell; in ~/.bashrc: every shell
  checkpoint completion zsh > "${fpath[1]}/_checkpoint"                  zsh, once
  checkpoint completion fish > ~/.config/fish/completions/checkpoint.fish"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SHELL."""
    parser.add_argument("shell", metavar="SHELL", choices=sorted(SCRIPTS), help=", ".join(sorted(SCRIPTS)))


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    """The verb: the script itself, whatever the format, for a shell to read."""
    return Answer([SCRIPTS[args.shell]], 0)
