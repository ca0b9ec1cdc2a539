"""Pull requests and tickets as people name them in text, brought to one spelling; it knows no
history and no files.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

MAX_TEXT = 100_000  # characters looked at; nobody names a pull request behind them


# The spellings: "#12" a pull request or an issue, "!12" a merge request, "ABC-123" a ticket; with a
# repository in front, "owner/name#12", where the text named one.
class Mention(NamedTuple):
    """text[start:end] is `reference`, in its spelling there."""

    reference: str
    start: int
    end: int


_URL = re.compile(r"https?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}]")
# Seldom needed, so texts: `re` compiles and keeps them when they are first used.
_URL_NUMBER = (
    r"https?://[^/]+/(?P<repository>[^\s?#]+?)(?:/-)?/"
    r"(?P<kind>pull|pulls|pull-requests|pullrequest|issues|merge_requests|\+)/(?P<number>\d{1,9})(?![0-9A-Za-z])"
)
_URL_TICKET = r"/(?:browse|issues?|tickets?|story)/(?P<prefix>[A-Za-z][A-Za-z0-9]{1,9})-(?P<number>\d{1,7})(?![\w-])"

# Letters of languages that part words by blanks: beside others, such as Chinese, a reference begins
# and ends. Ranges are short, and only words of either case, since long ones take `re` milliseconds.
# "_" ends emphasis, too.
_LETTERS = r"0-9A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u058f"
_NUMBER_END = rf"(?!_*[{_LETTERS}]|[.,]\d|-\d)"
_NAMED = re.compile(
    rf"(?<![_{_LETTERS}])(?<![/#!&.-])(?:(?<!\w)(?P<repository>[\w.-]+(?:/[\w.-]+)+))?"
    r"(?P<sign>[#!])(?P<number>\d{1,9})(?P<more>(?:/[#!]?\d{1,9})*)" + _NUMBER_END
)
_SPOKEN = re.compile(
    rf"(?<![{_LETTERS}])(?<!\w_)(?<![/-])(?P<kind>(?i:PR|pull[ -]request|pull(?=/\d)|GH|MR|merge[ -]request))"
    r"(?:[ -]|(?<=(?i:pull))/|[ ]?(?P<sign>[#!])|)(?P<number>\d{1,9})(?P<more>(?:/[#!]\d{1,9})*)"
    + _NUMBER_END
)
_TICKET = re.compile(
    rf"(?<![_{_LETTERS}])(?<![/.#-])(?P<prefix>[A-Z][A-Z0-9]{{1,9}})-(?P<number>\d{{1,7}})"
    rf"(?P<more>(?:/\d{{1,7}})*)(?![_{_LETTERS}]|-|\.\d)"
)

# Spelled like a ticket, yet a standard, a format or a weakness.
_NOT_TICKETS = frozenset([
    "AES", "BASE", "COVID", "CVE", "CWE", "ECMA", "ES", "GH", "GMT", "GPT", "HTTP", "IEC", "IEEE", "IPV", "ISO",
    "LATIN", "MD", "MP", "MR", "OAUTH", "PEP", "PKCS", "PR", "RFC", "RSA", "SHA", "SSL", "TLS", "TOP", "UCS", "USB",
    "UTC", "UTF", "WCAG", "WINDOWS",
])  # fmt: skip
# "step #2" counts steps, not pull requests.
_COUNTED = (
    "attempt", "blocker", "chapter", "column", "day", "decision", "figure", "finding", "item", "iteration", "line",
    "milestone", "option", "phase", "point", "priority", "question", "round", "row", "rule", "run", "section", "slide",
    "sprint", "step", "stage", "take", "week",
)  # fmt: skip
_WORDS_BEFORE = 12


# "PRs 17, 18 and 20-22", "#12-#15": what a list leaves out is written between its ends.
_LISTED = (
    r"\b[PM]Rs:? (?:[#!]?\d{1,6}(?:, (?:and )?| and | ?[&+/] ?| ?[-\u2013\u2014] ?| (?:through|thru|to) )){1,50}+"
    r"[#!]?\d{1,6}+(?![\w-]|[.,]\d)"
)
_RANGE = (
    r"(?<![\w/#!&.-])(?P<sign>[#!])(?P<first>\d{1,6}+)(?:-(?=[#!])|[\u2013\u2014~](?=[#!\d])|\.\.\.?(?=[#!]))"
    r"[#!]?(?P<last>\d{1,6}+)(?![\w-]|[.,]\d)"
)
_LONGEST_RANGE = 30


def spell_ranges(text: str) -> str:
    """A text of a checkpoint with every pull request of its lists and ranges: "PRs 17-19" is "PRs
    #17/18/19".
    """
    return re.sub(_RANGE, _spell_range, re.sub(_LISTED, _sign_numbers, text))


def _sign_numbers(listed: re.Match[str]) -> str:
    sign = "#!"[listed[0][0] == "M"]
    if not re.search(r"[#!]|\d\d| thr", listed[0]) or re.match(
        r"\D*\d \w+ \d of\b", listed.string[listed.start() :]
    ):
        return listed[0]  # "PRs 2 and 3" are steps of a plan
    return re.sub(
        r"(?<![\d#!])(?=\d)",
        sign,
        re.sub(r" ?[-\u2013\u2014] ?| (?:through|thru|to) ", "-", listed[0]),
    )


def _spell_range(ends: re.Match[str]) -> str:
    between = range(int(ends["first"]), int(ends["last"]) + 1)
    return (
        f"{ends['sign']}{'/'.join(map(str, between))}"
        if 1 < len(between) <= _LONGEST_RANGE
        else ends[0]
    )


def find_references(text: str) -> list[str]:
    return list(dict.fromkeys(mention.reference for mention in find_mentions(text)))


def find_mentions(text: str) -> list[Mention]:
    rest, found = text[:MAX_TEXT], list[Mention]()
    for signs, pattern, read in _READERS:
        if not any(sign in rest for sign in signs):
            continue
        rest = pattern.sub(lambda match, read=read: _take(match, read(match), found), rest)  # type: ignore[misc]  # a default binds
    return sorted(found, key=lambda mention: mention.start)


def _take(match: re.Match[str], references: list[str], found: list[Mention]) -> str:
    # blanks of the same length stay in the text for the patterns to come
    found += [Mention(reference, *match.span()) for reference in references]
    return " " * len(match[0]) if references else match[0]


def unqualify(reference: str, own: frozenset[str], *, any_owner: bool = False) -> str:
    """A reference without the repository it names, where that is ours. own: what the remotes call
    this repository, see repository_path; empty when unknown, and then every repository counts as
    ours. any_owner: only names are compared.
    """
    at = max(reference.rfind("#"), reference.rfind("!"))
    named = f"/{repository_path(reference[:at])}" if at > 0 else ""
    if named and any_owner:
        named, own = (
            f"/{named.rpartition('/')[2]}",
            frozenset(f"/{one.rpartition('/')[2]}" for one in own),
        )

    # a remote may be reached below another folder, or by a name without its owner
    is_own = any(f"/{one}".endswith(named) or named.endswith(f"/{one.lstrip('/')}") for one in own)
    return reference[at:] if named and (not own or is_own) else reference


def repository_path(path: str) -> str:
    """A repository as its address has it, without what some servers add: "acme/app"."""
    added = ("", "_git", "v3", "scm", "projects", "repos")
    return "/".join(part for part in path.lower().split("/") if part not in added)


def _read_url(match: re.Match[str]) -> list[str]:
    number = re.match(_URL_NUMBER, match[0])
    if number:
        sign = "!" if number["kind"] == "merge_requests" else "#"
        return [f"{number['repository'].lower()}{sign}{int(number['number'])}"]
    ticket = re.search(_URL_TICKET, match[0])
    return [f"{ticket['prefix'].upper()}-{int(ticket['number'])}"] if ticket else []


def _read_spoken(match: re.Match[str]) -> list[str]:
    sign = match["sign"] or ("!" if match["kind"].lower().startswith("m") else "#")
    return [f"{sign}{int(number)}" for number in _numbers(match)]


def _read_named(match: re.Match[str]) -> list[str]:
    repository = (match["repository"] or "").lower()
    before = match.string[max(match.start() - _WORDS_BEFORE, 0) : match.start()]
    if not repository and before.lower().removesuffix(" ").removesuffix("-").removesuffix(
        "s"
    ).endswith(_COUNTED):
        return []
    return [f"{repository}{match['sign']}{int(number)}" for number in _numbers(match)]


def _read_ticket(match: re.Match[str]) -> list[str]:
    prefix = match["prefix"]
    return (
        [] if prefix in _NOT_TICKETS else [f"{prefix}-{int(number)}" for number in _numbers(match)]
    )


def _numbers(match: re.Match[str]) -> list[str]:
    # 12 and 13 of "#12/13" and "#12/#13"
    return (
        [match["number"], *re.findall(r"\d+", match["more"])]
        if match["more"]
        else [match["number"]]
    )


# with signs, one of which is in every match of a pattern: most texts have few of them
_READERS: tuple[
    tuple[tuple[str, ...], re.Pattern[str], Callable[[re.Match[str]], list[str]]], ...
] = (
    (("://",), _URL, _read_url),
    (("",), _SPOKEN, _read_spoken),
    (("#", "!"), _NAMED, _read_named),
    (("-",), _TICKET, _read_ticket),
)
