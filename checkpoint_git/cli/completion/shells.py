"""`checkpoint completion`: the scripts that make a shell complete our commands, by asking `checkpoint complete`."""

import argparse
import os

from checkpoint_git.core.outcome import Answer, Invocation

SHELLS = ("bash", "fish", "zsh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def answer(args: argparse.Namespace, invocation: Invocation) -> Answer:
    return Answer([read_script(args.shell)], 0)


def read_script(shell: str) -> str:
    with open(os.path.join(os.path.dirname(__file__), f"checkpoint.{shell}"), encoding="utf-8") as stream:
        return stream.read()
