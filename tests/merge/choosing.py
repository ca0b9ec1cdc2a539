"""Resolving a conflicted text as a person does in an editor: keep one side everywhere."""

OURS, BASE, THEIRS = 0, 1, 2


def keep_side(text: str, side: int, size: int = 7) -> str:
    """The text with only one side of every conflict, and no marker lines."""
    kept: list[str] = []
    part: int | None = None
    for line in text.splitlines(keepends=True):
        if line.startswith("<" * size + " "):
            part = OURS
        elif line.startswith("|" * size + " "):
            part = BASE
        elif line.rstrip("\r\n") == "=" * size:
            part = THEIRS
        elif line.startswith(">" * size + " "):
            part = None
        elif part is None or part == side:
            kept.append(line)
    return "".join(kept)


def conflict_lines(text: str) -> list[str]:
    """The lines inside conflict markers, ours and theirs together."""
    both = keep_side(text, OURS).splitlines() + keep_side(text, THEIRS).splitlines()
    shared = [
        line
        for line in keep_side(text, OURS).splitlines()
        if line in keep_side(text, THEIRS).splitlines()
    ]
    return [line for line in both if line not in shared]
