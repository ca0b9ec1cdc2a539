"""Read the paths in an entry of generated_files: with notes, several, patterns, or none. Pure."""

import re
from collections.abc import Callable, Collection, Sequence

# Blanks are looked at from their first one only: a thousand of them would else be gone through a
# thousand times.
_BLANKS = r"(?<!\s)\s+"
_NOTE = r"(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])"
_NOTES = re.compile(_BLANKS + _NOTE + r"(?:\s+" + _NOTE + r")*\s*$")
_JOINTS = re.compile(_BLANKS + r"(?:\+|&|and)\s+|" + _BLANKS + r"[,;]\s+|[,;]\s+")
_COMMENT = re.compile(_BLANKS + r"(?:[\u2014\u2013#|]|--?|//|->|=>|\u2192)\s+|:\s")
_LOOKS_LIKE_PATH = re.compile(r"^(?![A-Za-z][\w+.-]*://)[^\s]+$")
_HAS_ENDING = re.compile(r"\.[A-Za-z0-9]{1,10}$")
_NAMED_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}$")  # "v2.0" is not a file
_PLAIN_WORD = re.compile(r"[\w./&+-]+")
_MOST_WORDS = 5
_BRACES = re.compile(r"\{([^{},]*,[^{}]*)\}")
_PLACE = re.compile(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$")  # a line in the file
# "(deleted)", "[removed in #12]", "- local only"; "(removed dead code)" is not such a note
_GONE = re.compile(
    r"(?:[(\[]|[:,;]\s|(?<!\s)\s+(?:[\u2014\u2013]|--?)\s)(?:now |since |was )?(?:"
    r"(?:deleted|removed|retired)(?:[)\].:,;]|$|\s+(?:in|by|with|at|on|since|after)\b)|"
    r"(?:git-?ignored|local only|untracked|not (?:committed|tracked|in git))(?=[)\].:,;]|$))|^~~",
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[[^\[\]]*\]\(([^()\s]+)\)")  # of Markdown
_MOVED = re.compile(r"(?:->|=>|\u2192|\b(?:moved|renamed) to|\bnow)\s+`?([^\s()\[\]`,;]+)")
# nothing, or an address
_NO_FILE = re.compile(r"n/?a\.?|none|-+|tbd|[a-z][\w+.-]*://.*", re.IGNORECASE)
_MAX_EXPANDED = 64
_MAX_ENTRY = 1_000  # characters


def find_readings(entry: str) -> list[list[str]]:
    """Return the ways to read an entry as paths, the most literal first; [] if it names none.

    A reading is right if all its paths exist: "src/x.ts (new)" may be a file of that name, else it
    is src/x.ts. An entry with a note that its file is gone is read as it is, so nobody misses it.
    """
    entry = entry.strip()
    if not entry or len(entry) > _MAX_ENTRY or "\n" in entry or _NO_FILE.fullmatch(entry):
        return []
    if _GONE.search(entry):
        return [[entry]] if entry[0] != "~" else []
    bare = _LINK.sub(r"\1", _PLACE.sub("", _NOTES.sub("", entry).replace("`", "")), count=1)
    readings = [
        [entry],
        [bare],
        _split_joints(bare),
        _cut_comment(bare),
        _first_word(bare),
        _MOVED.findall(entry)[-1:],
    ]
    readings += [[bare.replace("\\", "/")]] if "\\" in bare else []
    if not bare.isascii():
        from unicodedata import normalize

        # macOS writes names in its own way
        readings += [[normalize(form, bare)] for form in ("NFC", "NFD")]

    readings = [
        [path for part in reading for path in expand_braces(part)]
        for reading in readings
        if reading
    ]
    return [reading for index, reading in enumerate(readings) if reading not in readings[:index]]


def choose_reading(readings: list[list[str]], is_there: Callable[[str], bool]) -> list[str]:
    """Return the reading whose paths all exist, else the most likely one, [] if it is prose."""
    for reading in readings:
        if all(is_there(path) for path in reading):
            return reading

    spaced = next(
        (reading for reading in readings if len(reading) == 1 and _is_spaced_path(reading[0])), None
    )
    if spaced is not None:
        return spaced
    likely = [reading for reading in readings if all(is_path_like(path) for path in reading)]
    return min(
        likely,
        key=lambda reading: any(_PLACE.search(path) or {*"`\\"} & {*path} for path in reading),
        default=[],
    )


def is_path_like(path: str) -> bool:
    """Whether a text looks like a path: it has no spaces, and a slash or an ending."""
    return bool(_LOOKS_LIKE_PATH.match(path)) and (
        "/" in path or bool(_HAS_ENDING.search(path)) or path[:1] == "."
    )


def _is_spaced_path(text: str) -> bool:
    # a folder in front, an ending at the very end, few words
    words = text.split(" ")
    if not 1 < len(words) <= _MOST_WORDS or not all(_PLAIN_WORD.fullmatch(word) for word in words):
        return False
    return (
        "/" in words[0]
        and not _HAS_ENDING.search(words[0])
        and bool(_NAMED_ENDING.search(words[-1]))
    )


def expand_braces(path: str) -> list[str]:
    """Return "a/{b,c}.ts" as a/b.ts and a/c.ts; the text itself if there would be too many."""
    expanded = []
    waiting = [path]
    while waiting:
        text = waiting.pop()
        braces = _BRACES.search(text)
        if braces is None:
            expanded.append(text)
            continue
        before = text[: braces.start()]
        after = text[braces.end() :]
        for part in reversed(braces[1].split(",")):
            waiting.append(before + part.strip() + after)
        if len(expanded) + len(waiting) > _MAX_EXPANDED:
            return [path]

    return expanded


def find_move(old: str, new: str) -> tuple[str, str]:
    """Return the folders that differ if the rest of two paths is equal, else the paths.

    Such as ("lib/", "src/lib/").
    """
    before, after = old.split("/"), new.split("/")
    if before[-1] != after[-1]:
        return old, new
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return "/".join([*before, ""]), "/".join([*after, ""])


def follow_moves(entry: str, moves: Sequence[tuple[str, str]], others: Collection[str]) -> str:
    """Return the entry with new names and its notes, "" for none.

    moves: of each path, its old and its new name. others: the other entries' paths.
    """
    moved = [(old, new) for old, new in moves if old != new]
    if any(new in others or _has_new_sign(old, new) for old, new in moved):
        return ""

    is_plain = all(entry.count(old) == 1 for old, _ in moved)
    if is_plain:
        changed = entry
        for old, new in moved:
            changed = changed.replace(old, new)
    else:
        changed = _replace_folder(entry, *find_move(*moved[0]))

    if {*choose_reading(find_readings(changed), lambda path: False)} == {new for _, new in moves}:
        return changed
    return changed if is_plain and all(is_path_like(new) for _, new in moved) else ""


def _has_new_sign(old: str, new: str) -> bool:
    """Return whether the new name has a sign that means something in an entry, and the old one had
    not.
    """
    return any(sign in new and sign not in old for sign in "{},;*?[")


def _replace_folder(entry: str, before: str, after: str) -> str:
    """Return the entry with another folder in front, "" where that folder is not named once, in
    front.
    """
    if not entry.startswith(before) or (before and entry.count(before) != 1):
        return ""
    return after + entry.removeprefix(before)


def _split_joints(bare: str) -> list[str]:
    # such as "a.ts + b.ts (new)"; not where a part is not a path
    # commas inside braces separate no paths
    hidden = _BRACES.sub(lambda match: match[0].replace(",", "\0"), bare)
    parts = [
        _NOTES.sub("", part.strip()).replace("\0", ",")
        for part in _JOINTS.split(hidden)
        if part.strip()
    ]
    return parts if len(parts) > 1 and all(is_path_like(part) for part in parts) else []


def _cut_comment(bare: str) -> list[str]:
    # such as "a.ts - the parser"
    start = _NOTES.sub("", _COMMENT.split(bare, maxsplit=1)[0].strip())
    return [start] if start != bare and is_path_like(start) else []


def _first_word(bare: str) -> list[str]:
    # such as "a/b.ts updated with x"; "Branch refs/x" is prose
    word = (bare.split(None, 1) or [""])[0].rstrip(",;:")
    return [word] if word != bare and "/" in word and is_path_like(word) else []
