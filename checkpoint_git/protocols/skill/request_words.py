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
        row = frozenset(word.replace("_", " ") for word in words if word[0] != "@")
        rows[name] = row.union(*(rows[word[1:]] for word in words if word[0] == "@"))
    return rows


_ROWS = _read_rows()
VERBS = {phrase: name[6:] for name, row in _ROWS.items() if name.startswith("VERBS.") for phrase in row}
LONGEST_PHRASE = max(phrase.count(" ") for phrase in VERBS) + 1
ACTS = frozenset(f"{verb}s" for verb in VERBS)  # what somebody does
DEEDS = _ROWS["AFTERWARDS"] | _ROWS["OTHER_VERBS"] | frozenset(VERBS)
OF_NOUNS = tuple(_ROWS.pop("OF_NOUNS"))
# Chinese and Japanese have no blanks between words; Korean endings are left as they are.
# ruff: noqa: RUF001 (full-width punctuation is what these languages use)
CJK = {
    "先に": "",
    "，让": " so ", "，由": " so ", "到": " to ", "待ち": "", "머지": " merge ", "병합": " merge ", "리뷰": " review ",
    "然后": "; ", "之后再": "; ", "最后": "", "后": " post-merge ", "後": " post-merge ", " 후 ": " post-merge ",
    "合并": " merge ", "合併": " merge ", "マージ": " merge ", "审查": " review ",
    "审核": " review ", "评审": " review ", "审阅": " review ", "レビュー": " review ", "等待": " wait for ",
    "部署": " deploy ", "发布": " release ", "デプロイ": " deploy ", "并": " and ", "する": "", "を": " ", "の": " ",
    "的": " ", "（": "(", "）": ")", "，": ", ", "；": "; ", "：": ": ", "。": ". ",
}  # fmt: skip
globals().update(_ROWS)
