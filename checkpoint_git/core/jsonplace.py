"""Where a value is in a JSON text that jsontext has accepted."""

from checkpoint_git.core.jsontext import find_node, parse


def locate_all(text: str, places: list[str]) -> list[tuple[int, int]]:
    """Line and column (from 1) of each pointer's value, or of its nearest parent that exists."""
    root = parse(text)
    offsets = [find_node(root, where).key_start for where in places]
    # each line is counted once
    found: dict[int, tuple[int, int]] = {}
    line, begins, last = 1, 0, 0
    for offset in sorted(set(offsets)):
        line += text.count("\n", last, offset)
        begins = text.rfind("\n", last, offset) + 1 or begins
        found[offset] = line, offset - begins + 1
        last = offset
    return [found[offset] for offset in offsets]
