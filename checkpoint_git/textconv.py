"""What git shows for a checkpoint in diff, log -p and blame: `PYTHON -I -S textconv.py FILE`, one line a leaf.

What is not JSON is printed as it is. git runs this file as a script, so it is kept short; the lines are made elsewhere.
"""

import sys


def main(path: str) -> None:
    """Print the leaves of the file at path to standard output, as UTF-8."""
    from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens
    from checkpoint_git.core.leaflines import list_leaves

    with open(path, "rb") as file:
        data = file.read()
    try:
        lines = list_leaves(scan_tokens(decode(data)))
        data = "".join([line + "\n" for line in lines]).encode("utf-8", "backslashreplace")
    except (JsonTextError, RecursionError):
        pass
    sys.stdout.buffer.write(data)


if __name__ == "__main__":
    sys.path.append(__file__[: -len("/checkpoint_git/textconv.py")])
    main(sys.argv[1])
