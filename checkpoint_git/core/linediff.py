"""Write the difference of two texts as a unified diff. Nothing here reads a file."""

from collections.abc import Iterable

from checkpoint_git.core.outcome import Line, Style

_UNENDED = "\\ No newline at end of file"
_STYLES: dict[str, Style] = {"+": "good", "-": "bad", "@": "strong"}


def diff_lines(before: bytes, after: bytes, path: str) -> list[str]:
    """Return the lines of a diff for `git apply`, without line ends.

    before: b"" for a new file. path: as in the header.
    """
    if before == after:
        return []
    from difflib import unified_diff

    old_path = "/dev/null"
    if before:
        old_path = f"a/{path}"
    diff = unified_diff(_split(before), _split(after), old_path, f"b/{path}", lineterm="")
    lines = []
    for line in diff:
        lines += line.split("\n")  # git's mark is a line of its own
    return lines


def show_diff(lines: Iterable[str]) -> list[Line]:
    return [Line(line, _STYLES.get(line[:1], ""), hang=-1) for line in lines]


def _split(data: bytes) -> list[str]:
    # what is behind the last line end is a line only where it is not empty; git's mark then
    # belongs to it
    *lines, rest = data.decode("utf-8", "replace").split("\n")
    if rest:
        lines.append(f"{rest}\n{_UNENDED}")
    return lines
