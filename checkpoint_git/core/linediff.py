"""The difference of two texts as a unified diff; bounded in time whatever the texts are. It knows no file."""

from collections.abc import Iterator

_CONTEXT = 3  # lines
_MOST_COMPARED = 4_000_000  # pairs of lines; beyond, what differs is shown as replaced whole
_UNENDED = "\\ No newline at end of file"

Change = tuple[int, int, int, int]  # old[a:b] becomes new[c:d]


def diff_lines(before: str, after: str, path: str) -> list[str]:
    """The lines of a diff that `git apply` takes, without line ends; [] where nothing differs. before: "" for a file
    that is not there yet. path: relative, as it stands in the header.
    """
    if before == after:
        return []
    old, new = before.split("\n"), after.split("\n")
    lines = [f"--- a/{path}" if before else "--- /dev/null", f"+++ b/{path}"]
    groups: list[list[Change]] = []  # those that lie close together share a hunk
    for change in _compare(_ended(old), _ended(new)):
        if groups and change[0] - groups[-1][-1][1] <= 2 * _CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    for group in groups:
        lines += _hunk(group, old, new)
    return lines


def _ended(lines: list[str]) -> list[str]:
    # what is behind the last line end is a line only where it is not empty
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], f"{lines[-1]}\0"]


def _compare(old: list[str], new: list[str]) -> list[Change]:
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    tail = next((at for at in range(shorter - head) if old[-1 - at] != new[-1 - at]), shorter - head)
    left, right = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(left) * len(right) > _MOST_COMPARED:
        return [(head, len(old) - tail, head, len(new) - tail)]
    from difflib import SequenceMatcher

    opcodes = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    return [(a + head, b + head, c + head, d + head) for tag, a, b, c, d in opcodes if tag != "equal"]


def _hunk(group: list[Change], old: list[str], new: list[str]) -> Iterator[str]:
    before = min(_CONTEXT, group[0][0])
    after = min(_CONTEXT, len(_ended(old)) - group[-1][1])
    begin, end = group[0][0] - before, group[-1][1] + after
    yield f"@@ -{_range(begin, end)} +{_range(group[0][2] - before, group[-1][3] + after)} @@"
    at = begin
    for a, b, c, d in group:
        yield from _shown(" ", old, at, a)
        yield from _shown("-", old, a, b)
        yield from _shown("+", new, c, d)
        at = b
    yield from _shown(" ", old, at, end)


def _range(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}"


def _shown(sign: str, lines: list[str], start: int, end: int) -> Iterator[str]:
    for at in range(start, end):
        yield sign + lines[at]
        if at == len(lines) - 1:
            yield _UNENDED
