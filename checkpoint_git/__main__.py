"""`python -m checkpoint_git` is the `checkpoint` command."""

from checkpoint_git.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
