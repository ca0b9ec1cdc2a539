"""The command line: argv comes in, an exit code goes out, and every error leaves through here."""

import gc

_MANY_OBJECTS = 200_000  # allocations between two runs of the garbage collector


def main(*, is_by_path: bool = False) -> int:
    """Run the `checkpoint` command, which has the process for itself.

    is_by_path: a hook started it, see app.main.
    """
    # It lives for 50 ms, and needs no garbage collector: while modules are imported that takes 3 %
    # of a run.
    gc.set_threshold(_MANY_OBJECTS)
    if type(__spec__.loader).__module__ == "zipimport":
        _refuse_zip()
    from checkpoint_git.cli import app

    return app.main(is_by_path=is_by_path)


def _refuse_zip() -> None:
    """Exit, because schemas, templates and hooks are read as files, and git starts the driver as
    one.
    """
    import sys

    way = "install it from its folder or address with `uv tool install` or `pipx install`"
    sys.stderr.write(f"checkpoint: checkpoint-git does not run from a zip file: {way}\n")
    raise SystemExit(2)  # what starts a zip file throws an exit code away that is returned
