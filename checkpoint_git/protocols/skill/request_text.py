"""A text that may ask for something, taken apart: words, references as tokens, clauses and conditions. Pure."""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby, pairwise, takewhile
from operator import itemgetter
from typing import NamedTuple

from checkpoint_git.core.references import Mention, find_mentions
from checkpoint_git.protocols.skill import request_words as terms

Words = Sequence[str]

# A reference among the words: a control character, which no word begins with, and a letter for its number.
MARK = "\x01"
_FIRST = 0xA000  # the letters of the Yi: no table has one
BRACKETED = "\x02"  # before references that stood alone in brackets
_PIECE = re.compile(rf"{BRACKETED}|{MARK}.|\d\+(?!\S)|[^\W_](?:[\w'./@-]*\w)?|->|=>|--|[^\w\s]")


def find_own_mentions(text: str) -> list[Mention]:
    """The mentions of a text without those that count the steps of a plan: "PR 2: write the parser", "v1.4 PR 2"."""
    return [mention for mention in find_mentions(text) if not _is_step_of_a_plan(text, mention)]


def _is_step_of_a_plan(text: str, mention: Mention) -> bool:
    spelled = re.fullmatch(r"[A-Za-z -]+?(\d+)", text[mention.start : mention.end])
    if spelled is None or mention.reference[0].isalpha():
        return False
    before, after = text[max(mention.start - 20, 0) : mention.start], text[mention.end : mention.end + 40]
    heads = not before.strip(" -*[") and re.match(r"\s*[:—]", after)
    numbered = re.match(r"\s*\(\s*[A-Z][A-Z0-9]+-\d|\s+of\s+v?\d", after) or re.search(r"\d\.\d+\s+$", before)
    return bool(len(spelled[1]) == 1 or heads or numbered)


def _last_verb(slashed: "re.Match[str]") -> str:
    """The one of "rebase/merge" that says it."""
    verbs = slashed[0].lower().split("/")
    is_one = terms.DEEDS.issuperset(verbs) and terms.BEYOND.isdisjoint(verbs)
    return next((verb for verb in verbs if terms.VERBS.get(verb) == "land"), verbs[0]) if is_one else slashed[0]


def _infinitive(participle: "re.Match[str]") -> str:
    """`merge #12, update the docs` of "merge #12, updating the docs", which asks for as much."""
    stem = participle[2].lower()
    verbs = [verb for verb in (stem, f"{stem}e", stem[:-1]) if not {verb, f"{verb}s"} & terms.HOW_IT_LANDS]
    return next((f"{participle[1]}{verb}" for verb in verbs if verb in terms.DEEDS), participle[0])


PATTERNS: dict[str, re.Pattern[str]] = {}  # those of request_rewrites.txt that have a name


def _read_rewrites() -> Iterator[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]]:
    functions = {"last_verb": _last_verb, "infinitive": _infinitive}
    with open(f"{os.path.dirname(__file__)}/request_rewrites.txt", encoding="utf-8") as stream:
        rules = [line.rstrip("\n").partition(" ==>") for line in stream if line[0] != "#"]
    for rule, _, spelled in rules:
        pattern = re.sub(r"%([A-Z_]+)", lambda row: "|".join(getattr(terms, row[1])), rule)
        if spelled.isupper():
            PATTERNS[spelled.strip()] = re.compile(pattern)
        else:
            yield re.compile(pattern), functions.get(spelled[1:], spelled[1:].replace("␠", " "))


_REWRITTEN = [*_read_rewrites()]


class RequestText:
    """A text as words; references are tokens, and a list of references is one."""

    def __init__(self, text: str, mentions: Sequence[Mention], closed: Collection[str] = ()) -> None:
        self.closed = {*closed}  # issues that commits closed
        self._references: list[tuple[str, ...]] = []
        self._spelled: list[str] = []
        text = text.replace(MARK, " ").replace(BRACKETED, " ")
        pieces, last = [], 0
        for (start, end), named in groupby(mentions, itemgetter(1, 2)):  # "#12/13" is two
            if start >= last:
                token = self._add(tuple(mention.reference for mention in named), text[start:end])
                pieces += [text[last:start], f" {token} "]
                last = end
        plain = "".join([*pieces, text[last:]])
        for signs, words in terms.CJK.items() if not plain.isascii() else ():
            plain = plain.replace(signs, words)
        if self._references and self._references[0][0][0].isalpha():
            plain = PATTERNS["BEGUN"].sub("begin ", plain)
        for pattern, spelled in _REWRITTEN:
            plain = pattern.sub(spelled, plain.strip())
        for _ in range(3):  # what stands in brackets explains, but for references alone
            plain = re.sub(r"(?<!\s)\s*+\(([^()]{0,800})\)", self._open_brackets, plain)
        self.words = self._join_lists(_PIECE.findall(plain))

    def _add(self, references: tuple[str, ...], spelled: str) -> str:
        self._references.append(references)
        self._spelled.append(spelled)
        return MARK + chr(_FIRST + len(self._references) - 1)

    def _open_brackets(self, found: "re.Match[str]") -> str:
        before = found.string[max(found.start() - 60, 0) : found.start()].rpartition(". ")[2]
        bare = re.sub(f"{MARK}.", "", found[1])
        said = bare.lower().split()
        is_title = re.match(r"\w++ (?:\d|was\b|is\b)|Tag [A-Z]\w*(?:tion|ment|ing)\Z", bare)  # a noun
        is_more = {*said} & terms.THEN or ({*said[:1]} & terms.OPENING and not is_title)
        if is_more or {*said[-1:]} & terms.ALSO or owes(_PIECE.findall(found[1])):
            return f" ; {found[1]}"
        if {*said[-1:]} & terms.OF_A_TICKET and before[-2:-1] == MARK and self.is_ticket(before[-2:]):
            return f" {found[1]}"  # "ABC-12 (backend only)"
        return f" {BRACKETED}{found[1]}" if bare != found[1] and not bare.strip(" ,/&+-") else " "

    def _join_lists(self, words: list[str]) -> list[str]:
        """`#12, #13 and #14` as one token; `PRs #12` as `#12`."""
        joined: list[str] = []
        between: list[str] = []
        for word in words:
            if not word.startswith(MARK):
                between.append(word)
                continue
            last = joined[-1] if joined else ""
            if last.startswith(MARK) and all(each == BRACKETED or each.lower() in terms.JOINS for each in between):
                joined[-1] = self._add(self.references([last, word]), self._spelled[ord(last[1]) - _FIRST])
            else:
                joined += [*between, word]
            between = []
        return [*joined, *between]

    def references(self, words: Words) -> tuple[str, ...]:
        """The references among some words."""
        numbers = [ord(word[1]) - _FIRST for word in words if word.startswith(MARK)]
        return tuple(reference for number in numbers for reference in self._references[number])

    def is_named_pull(self, token: str) -> bool:
        """Whether a reference is surely a pull request or a ticket: a bare #2 may number an issue or a list's item."""
        return not self._spelled[ord(token[1]) - _FIRST].startswith("#")

    def is_ticket(self, token: str) -> bool:
        return self.references([token])[0][0].isalpha()


class Clause(NamedTuple):
    """words: without the condition behind them, which is `gate`. joint: "start", "sentence", "then", "and" or "or"."""

    words: list[str]
    gate: list[str]
    joint: str


def find_segments(words: Sequence[str]) -> Iterator[tuple[list[str], str]]:
    """(words, joint) between strong joints: the ends of sentences, arrows, "then"."""
    segment: list[str] = []
    joint = "start"
    at = 0
    while at < len(words):
        word = words[at]
        is_gate = words[at - 1] == "only" or " " in phrase_at(words, at, terms.GATES)  # "después de aprobar"
        then = "" if is_gate else phrase_at(words, at, terms.THEN)
        after = at + then.count(" ") + 1
        is_last = then in terms.AFTER and {*words[after : after + 1]} <= terms.SENTENCE_ENDS
        if is_last and (terms.DASHES & {*segment} or not any(each[0] == MARK for each in segment)):
            then, word = "", "afterwards"  # "Ada ports it after that"
        is_picture = word[0] >= "\u2190" and not word[0].isalnum() and word not in terms.KEPT_SIGNS
        if word in terms.SENTENCE_ENDS or word in terms.ARROWS or then or is_picture:
            yield segment, joint
            is_sign = is_picture and not then and word not in terms.ARROWS and any(each[0] == MARK for each in segment)
            segment, joint = [], "sentence" if word in terms.SENTENCE_ENDS or is_sign else "then"
        else:
            segment.append(word)
        at = after
    yield segment, joint


def split_clauses(words: list[str], joint: str) -> Iterator[Clause]:
    """Coordinate clauses, parted where a verb or reference follows; a condition takes in what is joined to it."""
    clause, gate = list[str](), list[str]()
    in_gate = False
    for at, word in enumerate(words):
        in_gate = in_gate or bool(at and phrase_at(words, at, terms.GATES))
        if at and _parts(words, at, in_gate=in_gate):
            if any(each not in terms.JOINTS for each in clause):
                yield Clause(clause, gate, joint)
                joint = "and"
            joint = "or" if joint == "and" and word.lower() in ("or", "ou", "oder") else joint
            clause, gate, in_gate = [], [], False
        elif in_gate:
            gate.append(word)
        else:
            clause.append(word)
    yield Clause(clause, gate, joint)


def _parts(words: Words, at: int, *, in_gate: bool) -> bool:
    """Whether a word only parts two clauses."""
    if words[at].lower() not in terms.JOINTS:
        return False
    after = next((each for each in range(at + 1, len(words)) if words[each].lower() not in terms.JOINTS), len(words))
    if after == len(words):
        return True
    after += words[after].lower() in terms.CLITICS and phrase_at(words, after + 1, terms.VERBS) != ""  # "et la merger"
    after += words[after].endswith("ly") and phrase_at(words, after + 1, terms.VERBS) != ""  # "and manually merge it"
    if words[after].startswith(MARK):
        return not in_gate
    if in_gate and (words[after] == "needs" or {*map(str.lower, words[after + 1 : after + 4])} & terms.PREDICATES):
        return False  # "once checks are green and review blockers are resolved", "until it merges or needs me"
    if in_gate and words[after] in ("lint", "build", "check") and words[after + 1 : after + 2] == [","]:
        return False  # "after tests, lint, and review"
    ends = after + 1 == len(words) or words[after + 1] in terms.JOINTS
    is_state = words[after].rpartition("-")[2] in terms.ADJECTIVES and terms.LINKING & {*words[max(at - 3, 0) : at]}
    if ends and is_state:
        return False  # "it is green and clean"
    is_noun = in_gate and {*map(str.lower, words[after + 1 : after + 2])} & terms.KNOWN  # "last-push approval"
    verb = words[after].lower() if is_noun else words[after].lower().rpartition("-")[2]  # "hardware-validate"
    if phrase_at(words, after, terms.VERBS) or {verb, words[after].lower()} & terms.DEEDS:
        return True
    return in_gate and not _goes_on(words[after:]) and acts(words, after)


def _goes_on(words: Words) -> bool:
    """Whether a condition goes on behind "and": with a known word, a noun, or what is said of it: "and X pass"."""
    first = words[0].lower()
    is_noun = words[0] != first or not first.isalpha() or first in terms.KNOWN | terms.ROLES
    is_noun = is_noun or (first.endswith(terms.OF_NOUNS) and first not in terms.MORE_VERBS)
    return is_noun or bool({*map(str.lower, words[1:5])} & (terms.PREDICATES | terms.COPULAS))


def acts(words: Words, at: int) -> bool:
    """Whether a word may be a verb that no table of requests has: it is seldom a noun, or has an object as verbs do."""
    word, behind = words[at], words[at + 1 : at + 4]
    is_verb = not word.isascii() or word.endswith(terms.OF_INFINITIVES) or word.lower() in terms.MORE_VERBS
    acts_on = {*behind[:1]} & terms.ARTICLES and not word.endswith(("ing", "ed", "ly"))  # "page the owner"
    names = "".join(behind[:1]).istitle() and not word.istitle()  # "mail Ada"
    foreign = {*behind[:1]} & terms.FOREIGN or any(
        one.islower() and one.endswith(terms.OF_INFINITIVES) for one in behind
    )
    return bool(is_verb or acts_on or names or foreign)


def phrase_at(words: Words, at: int, phrases: "frozenset[str] | Mapping[str, str]") -> str:
    """The longest phrase of a table that begins at a word, "" where none does."""
    for size in range(min(terms.LONGEST_PHRASE, len(words) - at), 0, -1):
        phrase = " ".join(words[at : at + size]).lower()
        if phrase in phrases:
            return phrase
    return ""


def soften(words: list[str]) -> list[str]:
    """The words without those that only lead up to a verb: "please", "the user should"."""
    at = 0
    while at < len(words):
        start = at + (words[at].lower() == "the")
        who, acts, of = [*words[start : start + 3], "", "", ""][:3]
        named = [*takewhile(lambda word: word[0] != MARK, words[at : at + 7])]
        duty = next((each for each, word in enumerate(named) if word.lower() in terms.DUTIES), 0)
        is_sign = not words[at][0].isalnum() and words[at][0] != MARK and words[at] not in terms.KEPT_SIGNS
        kind = terms.VERBS.get(phrase_at(words, at + 1, terms.VERBS), "")
        is_manner = kind and words[at].endswith("ly")  # "manually merge"
        is_manner = is_manner or (kind == "land" and "-" in words[at] and words[at].lower() not in terms.DEEDS)
        if is_sign or is_manner:  # a dash; "bottom-up merge"
            at += 1
        elif phrase := phrase_at(words, at, terms.SOFTENERS):
            at += phrase.count(" ") + 1
        elif _is_shared(words[at : at + 12]):
            at += 2
        elif duty and terms.ROLES & {*map(str.lower, words[at : at + duty])} and not phrase_at(words, at, terms.VERBS):
            at += duty + 1  # "the human owner must"
        elif duty == 1 and acts != "to" and any(_may_do(who, word) for word in words[at + 2 : at + 4]):
            at += 2  # "Ada will review #12"
        elif acts in terms.ACTS and _may_do(who, acts[:-1]) and of != "of":  # but not "team reviews of #12"
            return [acts[:-1], *words[start + 2 :]]  # "the owner merges #12"
        else:
            break
    return words[at:]


def owes(words: Words) -> bool:
    """Whether words say that more is to be done: "docs to follow", "the rollout is next", "Ada will port it"."""
    said = [word.lower() for word in words if word[0] == MARK or word[0].isalnum()]
    duty = next((at for at, word in enumerate(said) if word in terms.WILL), 0)
    duty = duty or int(said[1:2] == ["to"] and said[0] not in terms.MORE_VERBS)  # "Ada to port it"
    is_deed = duty and {*said[duty + 1 : duty + 2]} & (terms.MORE_VERBS | {"be"})
    is_due = is_deed or any(one in terms.COPULAS and two in terms.TO_DO for one, two in pairwise(said))
    is_left = len(said) > 1 and ({*said[1:]} & terms.NEEDS or {*said[-1:]} & terms.LEFT)
    return bool((is_due and said[0] not in terms.POINTING) or is_left) and terms.ON_THE_WAY.isdisjoint(said)


def _may_do(who: str, verb: str) -> bool:
    """Whether a word names somebody whose deed is asked for: "the owner", and "Ada" where it is a merge or a review."""
    is_name = who.isalpha() and who.istitle() and who.lower() not in terms.NO_NAMES | terms.MORE_VERBS
    return who.lower() in terms.ROLES or (is_name and terms.VERBS.get(verb.lower()) in terms.ASSIGNED)


def _is_shared(words: Words) -> bool:
    """Whether words begin with a bare verb that has the object of the next: "retitle and merge #12"."""
    verb, joint = words[0], {*words[1:2]}
    is_verb = verb.isalpha() and verb.lower() not in terms.BEYOND | terms.AFTERWARDS | terms.NOTS | terms.OPENING
    joins = joint & (terms.JOINTS if verb.lower() in terms.DEEDS else terms.ANDS) - {"or"}
    return is_verb and bool(joins and phrase_at(words, 2, terms.VERBS)) and any(word[0] == MARK for word in words)


def move_last_verb(clause: Clause) -> Clause:
    """The clause with its verb in front, where German or Dutch has it at the end: "Review von #12 abwarten"."""
    *words, last = [*clause.words, *clause.gate] or [""]
    before = {*map(str.lower, clause.words if clause.gate else words)}
    known = {word for word in before if word[0].isalnum()} <= terms.KNOWN | terms.TRUNKS
    if last.lower() not in terms.FINAL_VERBS or not words or not known or phrase_at(words, 0, terms.VERBS):
        return clause
    return Clause([last, *clause.words[: None if clause.gate else -1]], clause.gate[:-1], clause.joint)


def cut_detail(words: list[str]) -> tuple[list[str], list[str]]:
    """(what is said, what explains it behind a dash or a colon)."""
    for at, word in enumerate(words):
        if word in terms.DASHES and at:
            return words[:at], [each for each in words[at + 1 :] if each != BRACKETED]
    return [word for word in words if word != BRACKETED], []
