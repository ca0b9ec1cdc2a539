"""What git shows for a checkpoint in diff, log -p and blame: `PYTHON -I -S textconv.py FILE`, one line a leaf.

What is not JSON is printed as it is. git runs this file as a script, so it is kept short; the lines are made elsewhere.
"""

import sys


def main(path: str) -> None:
    """Print the leaves of the file at path to standard output, as UTF-8."""
    from checkpoint_git.core.jsontext import JsonTextError, decode, scan_tokens
    from checkpoint_git.core.leaflines import list_leaves
    from checkpoint_git.protocols.registry import schema_of_name

    with open(path, "rb") as file:
        data = file.read()
    try:
        value = scan_tokens(decode(data))
        lines = list_leaves(value, known_keys(schema_of_name(path)))
        data = "".join([line + "\n" for line in lines]).encode("utf-8", "backslashreplace")
    except (JsonTextError, RecursionError):
        pass
    sys.stdout.buffer.write(data)


def known_keys(schema: "str | None") -> "list[str]":
    """The members that a schema file describes, in its order: the order in which people expect to read them."""
    from checkpoint_git.core.jsontext import decode, scan_tokens

    if schema is None:
        return []
    with open(schema, "rb") as file:
        return list(scan_tokens(decode(file.read()))["properties"])


if __name__ == "__main__":
    sys.path.append(__file__[: -len("/checkpoint_git/textconv.py")])
    main(sys.argv[1])
