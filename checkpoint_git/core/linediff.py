"""The difference of two texts as a unified diff. It knows no file."""

from collections.abc import Iterable

from checkpoint_git.core.outcome import Line, Style

_UNENDED = "\\ No newline at end of file"
_STYLES: dict[str, Style] = {"+": "good", "-": "bad", "@": "strong"}


def diff_lines(before: bytes, after: bytes, path: str) -> list[str]:
    """Lines of a diff for `git apply`, without line ends. before: b"" for a new file. path: as in
    the header.
    """
    if before == after:
        return []
    from difflib import unified_diff

    names = f"a/{path}" if before else "/dev/null", f"b/{path}"
    diff = unified_diff(_split(before), _split(after), *names, lineterm="")
    return [line for each in diff for line in each.split("\n")]


def show_diff(lines: Iterable[str]) -> list[Line]:
    return [Line(line, _STYLES.get(line[:1], ""), hang=-1) for line in lines]


def _split(data: bytes) -> list[str]:
    # what is behind the last line end is a line only where it is not empty; git's mark then belongs
    # to it
    *lines, rest = data.decode("utf-8", "replace").split("\n")
    return [*lines, f"{rest}\n{_UNENDED}"] if rest else lines
