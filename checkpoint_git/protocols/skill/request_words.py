"""The words of requests, which request_words.txt lists. Data for requests.py.

English first; then French, Spanish, Portuguese, German, Dutch, Italian, Polish, Russian; Chinese and Japanese are
brought to English words.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:

    def __getattr__(name: str) -> frozenset[str]: ...


def _read_rows() -> dict[str, frozenset[str]]:
    rows: dict[str, frozenset[str]] = {}
    with open(f"{__file__.removesuffix('.py')}.txt", encoding="utf-8") as stream:
        lines = stream.read().replace("\n    ", " ").split("\n")
    for name, _, text in (line.partition(": ") for line in lines if line and line[0] != "#"):
        words = text.split()
        if name == "CJK":
            CJK.update((key, word) for key, _, word in (pair.replace("_", " ").partition("=") for pair in words))
            continue
        row = frozenset(word.replace("_", " ") for word in words if word[0] != "@")
        rows[name] = row.union(*(rows[word[1:]] for word in words if word[0] == "@"))
    return rows


def find_fields(prefix: str) -> dict[str, dict[str, frozenset[str]]]:
    """What rows such as RULES.land.about hold, by the kind of verb and the field."""
    found: dict[str, dict[str, frozenset[str]]] = {}
    for start, kind, field in (name.split(".") for name in _ROWS if name.count(".") == 2):
        if start == prefix:
            found.setdefault(kind, {})[field] = _ROWS[f"{prefix}.{kind}.{field}"]
    return found


CJK: dict[str, str] = {}  # text -> the English words for it
_ROWS = _read_rows()
VERBS = {phrase: name[6:] for name, row in _ROWS.items() if name.startswith("VERBS.") for phrase in row}
LONGEST_PHRASE = max(phrase.count(" ") for phrase in VERBS) + 1
DEEDS = _ROWS["AFTERWARDS"] | _ROWS["OTHER_VERBS"] | frozenset(VERBS)
_ROWS["MORE_VERBS"] |= DEEDS
ACTS = frozenset(f"{verb}s" for verb in DEEDS)  # what somebody does
OF_NOUNS, OF_INFINITIVES = (tuple(_ROWS.pop(name)) for name in ("OF_NOUNS", "OF_INFINITIVES"))
globals().update(_ROWS)
