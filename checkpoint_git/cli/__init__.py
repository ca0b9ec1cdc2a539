"""The command line: argv in, exit code out; the one place that errors leave through."""

from checkpoint_git.cli.app import main, main_doctor

__all__ = ["main", "main_doctor"]
