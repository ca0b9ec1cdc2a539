"""Find the pull requests and tickets that people name in a text, and bring them to one spelling.

"#12" is a pull request or an issue, "!12" a merge request, "ABC-123" a ticket. If the text names a
repository, it is in front: "owner/name#12". Nothing here knows history or files.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

MAX_TEXT = 100_000  # characters looked at; nobody names a pull request behind them


class Mention(NamedTuple):
    """A place in a text: text[start:end] names `reference`, in any spelling."""

    reference: str
    start: int
    end: int


_URL = re.compile(r"https?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}]")
# Seldom needed, so texts: `re` compiles and keeps them when they are first used.
_URL_NUMBER = (
    r"https?://[^/]+/(?P<repository>[^\s?#]+?)(?:/-)?/"
    r"(?P<kind>pull|pulls|pull-requests|pullrequest|issues|merge_requests|\+)"
    r"/(?P<number>\d{1,9})(?![0-9A-Za-z])"
)
_URL_TICKET = (
    r"/(?:browse|issues?|tickets?|story)"
    r"/(?P<prefix>[A-Za-z][A-Za-z0-9]{1,9})-(?P<number>\d{1,7})(?![\w-])"
)

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
    rf"(?<![{_LETTERS}])(?<!\w_)(?<![/-])"
    r"(?P<kind>(?i:PR|pull[ -]request|pull(?=/\d)|GH|MR|merge[ -]request))"
    r"(?:[ -]|(?<=(?i:pull))/|[ ]?(?P<sign>[#!])|)(?P<number>\d{1,9})(?P<more>(?:/[#!]\d{1,9})*)"
    + _NUMBER_END
)
_TICKET = re.compile(
    rf"(?<![_{_LETTERS}])(?<![/.#-])(?P<prefix>[A-Z][A-Z0-9]{{1,9}})-(?P<number>\d{{1,7}})"
    rf"(?P<more>(?:/\d{{1,7}})*)(?![_{_LETTERS}]|-|\.\d)"
)

# Spelled like a ticket, yet a standard, a format or a weakness.
_NOT_TICKETS = frozenset([
    "AES", "BASE", "COVID", "CVE", "CWE", "ECMA", "ES", "GH", "GMT", "GPT", "HTTP", "IEC", "IEEE",
    "IPV", "ISO", "LATIN", "MD", "MP", "MR", "OAUTH", "PEP", "PKCS", "PR", "RFC", "RSA", "SHA",
    "SSL", "TLS", "TOP", "UCS", "USB", "UTC", "UTF", "WCAG", "WINDOWS",
])  # fmt: skip
# "step #2" counts steps, not pull requests.
_COUNTED = (
    "attempt", "blocker", "chapter", "column", "day", "decision", "figure", "finding", "item",
    "iteration", "line", "milestone", "option", "phase", "point", "priority", "question", "round",
    "row", "rule", "run", "section", "slide", "sprint", "step", "stage", "take", "week",
)  # fmt: skip
_WORDS_BEFORE = 12


# "PRs 17, 18 and 20-22", "#12-#15": lists and ranges.
_LISTED = (
    r"\b[PM]Rs:? (?:[#!]?\d{1,6}"
    r"(?:, (?:and )?| and | ?[&+/] ?| ?[-\u2013\u2014] ?| (?:through|thru|to) )){1,50}+"
    r"[#!]?\d{1,6}+(?![\w-]|[.,]\d)"
)
_RANGE = (
    r"(?<![\w/#!&.-])(?P<sign>[#!])(?P<first>\d{1,6}+)"
    r"(?:-(?=[#!])|[\u2013\u2014~](?=[#!\d])|\.\.\.?(?=[#!]))"
    r"[#!]?(?P<last>\d{1,6}+)(?![\w-]|[.,]\d)"
)
_LONGEST_RANGE = 30


def spell_ranges(text: str) -> str:
    """Return a text with every pull request of its lists and ranges: "PRs 17-19" becomes
    "PRs #17/18/19".
    """
    return re.sub(_RANGE, _spell_range, re.sub(_LISTED, _sign_numbers, text))


def _sign_numbers(listed: re.Match[str]) -> str:
    """Return a list with the sign of pull or merge requests before every number."""
    is_plainly_listed = re.search(r"[#!]|\d\d| thr", listed[0])
    is_counted = re.match(r"\D*\d \w+ \d of\b", listed.string[listed.start() :])
    if is_counted or not is_plainly_listed:
        return listed[0]  # "PRs 2 and 3" are steps of a plan

    sign = "!" if listed[0].startswith("M") else "#"
    with_dashes = re.sub(r" ?[-\u2013\u2014] ?| (?:through|thru|to) ", "-", listed[0])
    return re.sub(r"(?<![\d#!])(?=\d)", sign, with_dashes)


def _spell_range(ends: re.Match[str]) -> str:
    """Return a range with all its numbers: "#12-#15" becomes "#12/13/14/15"."""
    numbers = range(int(ends["first"]), int(ends["last"]) + 1)
    if not 1 < len(numbers) <= _LONGEST_RANGE:
        return ends[0]
    return f"{ends['sign']}{'/'.join(map(str, numbers))}"


def find_references(text: str) -> list[str]:
    """Return what a text names, each once, in the order of the text."""
    return list(dict.fromkeys(mention.reference for mention in find_mentions(text)))


def find_mentions(text: str) -> list[Mention]:
    """Return every place that names something, in the order of the text."""
    rest = text[:MAX_TEXT]
    mentions = list[Mention]()
    for signs, pattern, read in _READERS:
        if not any(sign in rest for sign in signs):
            continue

        pieces = list[str]()
        end = 0
        for match in pattern.finditer(rest):
            references = read(match)
            if references:
                mentions += [Mention(reference, *match.span()) for reference in references]
                # blanks in its place, so that the patterns to come do not find it again
                pieces += [rest[end : match.start()], " " * len(match[0])]
                end = match.end()
        rest = "".join([*pieces, rest[end:]])

    return sorted(mentions, key=lambda mention: mention.start)


def unqualify(reference: str, ours: frozenset[str], *, any_owner: bool = False) -> str:
    """Return a reference without the repository that it names, if that is ours.

    ours: what the remotes call this repository, see repository_path; empty if that is not known,
    and then every repository counts as ours. any_owner: only names are compared.
    """
    start = max(reference.rfind("#"), reference.rfind("!"))
    if start <= 0:
        return reference
    if not ours:
        return reference[start:]

    named = repository_path(reference[:start])
    if any_owner:
        named = named.rpartition("/")[2]
        ours = frozenset(path.rpartition("/")[2] for path in ours)
    if any(_is_same_repository(named, path) for path in ours):
        return reference[start:]
    return reference


def _is_same_repository(named: str, path: str) -> bool:
    """Whether one path is the end of the other.

    A remote may be reached below another folder, or by a name without its owner.
    """
    return f"/{path}".endswith(f"/{named}") or f"/{named}".endswith(f"/{path.lstrip('/')}")


def repository_path(path: str) -> str:
    """Return the path of an address without what some servers add: "acme/app"."""
    added = ("", "_git", "v3", "scm", "projects", "repos")
    return "/".join(part for part in path.lower().split("/") if part not in added)


def _read_url(match: re.Match[str]) -> list[str]:
    number = re.match(_URL_NUMBER, match[0])
    if number:
        sign = "!" if number["kind"] == "merge_requests" else "#"
        return [f"{number['repository'].lower()}{sign}{int(number['number'])}"]
    ticket = re.search(_URL_TICKET, match[0])
    if ticket:
        return [f"{ticket['prefix'].upper()}-{int(ticket['number'])}"]
    return []


def _read_spoken(match: re.Match[str]) -> list[str]:
    sign = match["sign"]
    if not sign:
        sign = "!" if match["kind"].lower().startswith("m") else "#"
    return [f"{sign}{number}" for number in _numbers(match)]


def _read_named(match: re.Match[str]) -> list[str]:
    repository = (match["repository"] or "").lower()
    if not repository:
        before = match.string[max(match.start() - _WORDS_BEFORE, 0) : match.start()].lower()
        word = before.removesuffix(" ").removesuffix("-").removesuffix("s")
        if word.endswith(_COUNTED):
            return []
    return [f"{repository}{match['sign']}{number}" for number in _numbers(match)]


def _read_ticket(match: re.Match[str]) -> list[str]:
    prefix = match["prefix"]
    if prefix in _NOT_TICKETS:
        return []
    return [f"{prefix}-{number}" for number in _numbers(match)]


def _numbers(match: re.Match[str]) -> list[int]:
    """Return 12 and 13 of "#12/13" and "#12/#13"."""
    further = re.findall(r"\d+", match["more"] or "")
    return [int(number) for number in (match["number"], *further)]


# Each with the signs of which one is in every match of the pattern: most texts have few of them.
_READERS: tuple[
    tuple[tuple[str, ...], re.Pattern[str], Callable[[re.Match[str]], list[str]]], ...
] = (
    (("://",), _URL, _read_url),
    (("",), _SPOKEN, _read_spoken),
    (("#", "!"), _NAMED, _read_named),
    (("-",), _TICKET, _read_ticket),
)
