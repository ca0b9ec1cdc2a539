"""The difference of two texts as a unified diff; bounded in time whatever the texts are. It knows no file."""

from collections.abc import Iterator

_CONTEXT = 3  # lines
_MOST_COMPARED = 4_000_000  # pairs of lines; beyond, what differs is shown as replaced whole
_UNENDED = "\\ No newline at end of file"

Opcode = tuple[str, int, int, int, int]


def diff_lines(before: str, after: str, path: str) -> list[str]:
    """The lines of a diff that `git apply` takes, without line ends; [] where nothing differs.

    before: "" for a file that is not there yet. path: relative, as it stands in the header.
    """
    if before == after:
        return []
    old, new = before.split("\n"), after.split("\n")
    lines = [f"--- a/{path}" if before else "--- /dev/null", f"+++ b/{path}"]
    for group in _group(_compare(_ended(old), _ended(new))):
        lines += _hunk(group, old, new)
    return lines


def _ended(lines: list[str]) -> list[str]:
    """The lines a text has: what stands behind its last line end is one only where it is not empty."""
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], f"{lines[-1]}\0"]


def _compare(old: list[str], new: list[str]) -> list[Opcode]:
    """What is equal, replaced, deleted, inserted; the common head and tail are not compared again."""
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    tail = next((at for at in range(shorter - head) if old[-1 - at] != new[-1 - at]), shorter - head)
    middle = (old[head : len(old) - tail], new[head : len(new) - tail])
    opcodes: list[Opcode] = [("equal", 0, head, 0, head)]
    opcodes += [(tag, a + head, b + head, c + head, d + head) for tag, a, b, c, d in _match(*middle)]
    return [*opcodes, ("equal", len(old) - tail, len(old), len(new) - tail, len(new))]


def _match(old: list[str], new: list[str]) -> list[Opcode]:
    if len(old) * len(new) > _MOST_COMPARED:
        return [("replace", 0, len(old), 0, len(new))]
    from difflib import SequenceMatcher

    return [(str(opcode[0]), *opcode[1:]) for opcode in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()]


def _group(opcodes: list[Opcode]) -> Iterator[list[Opcode]]:
    """The changes with a few equal lines around them; those that lie close together share a group."""
    group: list[Opcode] = []
    for tag, a, b, c, d in opcodes:
        if tag != "equal":
            group.append((tag, a, b, c, d))
        elif b - a > 2 * _CONTEXT:
            if group:
                yield [*group, (tag, a, a + _CONTEXT, c, c + _CONTEXT)]
            group = [(tag, b - _CONTEXT, b, d - _CONTEXT, d)]
        elif b > a:
            group.append((tag, a, b, c, d) if group else (tag, max(a, b - _CONTEXT), b, max(c, d - _CONTEXT), d))
    if any(opcode[0] != "equal" for opcode in group):
        tag, a, b, c, d = group[-1]
        yield [
            *group[:-1],
            (tag, a, a + _CONTEXT, c, c + _CONTEXT) if tag == "equal" and b - a > _CONTEXT else group[-1],
        ]


def _hunk(group: list[Opcode], old: list[str], new: list[str]) -> Iterator[str]:
    first, last = group[0], group[-1]
    yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"
    for tag, a, b, c, d in group:
        if tag == "equal":
            yield from _shown(" ", old, a, b)
            continue
        yield from _shown("-", old, a, b)
        yield from _shown("+", new, c, d)


def _range(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}"


def _shown(sign: str, lines: list[str], start: int, end: int) -> Iterator[str]:
    for at in range(start, end):
        yield sign + lines[at]
        if at == len(lines) - 1:
            yield _UNENDED
