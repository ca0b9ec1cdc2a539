"""The command line: argv in, exit code out; the one place that errors leave through."""

import gc

_MANY_OBJECTS = 200_000  # allocations between two runs of the garbage collector


def main() -> int:
    """The `checkpoint` command, as a process of its own."""
    # It lives for 50 ms, and needs no garbage collector: while modules are imported that takes 3 % of a run.
    gc.set_threshold(_MANY_OBJECTS)
    from checkpoint_git.cli import app

    return app.main()
