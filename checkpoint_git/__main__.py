"""`python -m checkpoint_git` is the `checkpoint` command; git's hooks and its mergetool start this
file by its path.
"""

import sys


def add_package_folder(parent: str, path: list[str]) -> None:
    """Put the folder that holds the package on `path`, before what is installed for this Python."""
    if parent in path:
        return
    installed = [at for at, folder in enumerate(path) if folder.endswith("-packages")]
    path.insert(installed[0] if installed else len(path), parent)


if __name__ == "__main__":
    is_by_path = not __package__
    if is_by_path:
        # An installation with `--target` or by shiv is on no path of this Python's own
        add_package_folder(__file__.removesuffix("/checkpoint_git/__main__.py"), sys.path)

    # `checkpoint init` asks before it relies on it
    if is_by_path and sys.argv[1:] == ["--can-start"]:
        from checkpoint_git.disk.installation import import_all

        import_all()
    else:
        from checkpoint_git.cli import main

        raise SystemExit(main(is_by_path=is_by_path))
