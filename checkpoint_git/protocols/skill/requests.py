"""What a sentence of a checkpoint asks for, and whether that is merged. Pure.

A text is cut into words, these into clauses. A clause is a request that a merge answers, a step on the way to one, a
condition, an explanation, or else work that remains. An action is shipped when it has a request, every reference of its
requests is merged, and nothing remains. What is not understood remains: a missed request costs a look, a wrong skip the
work.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from checkpoint_git.core.references import Mention, find_mentions
from checkpoint_git.protocols.skill import request_words as terms
from checkpoint_git.protocols.skill.request_text import (
    ARROWS,
    BRACKETED,
    DASHES,
    MARK,
    SENTENCE_ENDS,
    Clause,
    RequestText,
    Words,
    cut_detail,
    find_own_mentions,
    find_segments,
    phrase_at,
    soften,
    split_clauses,
)

Evidence = TypeVar("Evidence")
Role = Literal["asked", "waits", "about", "mentioned"]

MAX_TEXT = 4_000  # characters that are taken apart; real actions have some hundreds
_MOST_MENTIONS = 200
_VERSION = re.compile(r"v?\d+(?:\.\d+)+")


class Use(NamedTuple):
    """How a text uses a reference. asked: a merge of it answers a request. waits: something else waits for it. about:
    the text's heading. mentioned: anything else, and no reason to say anything.
    """

    reference: str
    role: Role


class Request(NamedTuple):
    """What a text asks for. asked: references whose merge answers it, in order. remains: it asks for more than that.
    waits, about: references that it waits for, that it has as its heading.
    """

    asked: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    remains: bool = True


def find_uses(text: str) -> list[Use]:
    """Every reference of a text with its strongest use, in the order named."""
    request = read_request(text)
    roles: dict[str, Role] = dict.fromkeys(request.about, "about")
    roles.update(dict.fromkeys(request.waits, "waits"))
    roles.update(dict.fromkeys(request.asked, "asked"))
    named = dict.fromkeys(mention.reference for mention in find_own_mentions(text))
    return [Use(reference, roles.get(reference, "mentioned")) for reference in named]


def find_shipped(action_text: str, merged: Mapping[str, Evidence]) -> Evidence | None:
    """The evidence that an action is done: all it asks for is merged, and it asks for nothing else. Else None."""
    request = read_request(action_text)
    if request.remains or not request.asked or any(reference not in merged for reference in request.asked):
        return None
    return merged[request.asked[0]]


def asks_only_to_merge(text: str) -> bool:
    """Whether an action that a merge answers says merge, ship, review or the like, and no verb of other work."""
    words = RequestText(text, find_own_mentions(text)).words
    kinds = {terms.VERBS[phrase] for at in range(len(words)) if (phrase := phrase_at(words, at, terms.VERBS))}
    return bool(kinds & {"land", "review"} or terms.LANDED & {word.lower() for word in words}) and not kinds & _WORKING


_WORKING = frozenset(["work", "publish", "address", "renew", "bring", "follow", "link", "decide"])


def is_resolved_by(resolution: str, reference: str) -> bool:
    """Whether a blocker's proposed resolution rests on this reference: asks for it, waits for it, is fixed by it."""
    roles = {use.role for use in find_uses(resolution) if use.reference == reference}
    return bool(roles & {"asked", "waits", "about"}) or any(
        _RESOLVED_BY.search(resolution[max(start - _NEAR, 0) : start]) or _RESOLVES.match(resolution[end : end + _NEAR])
        for named, start, end in find_mentions(resolution)
        if named == reference
    )


def find_resolution(resolution: str, merged: Mapping[str, object]) -> str | None:
    """The evidence that what a blocker proposes is merged, None where nothing it rests on is."""
    references = dict.fromkeys(mention.reference for mention in find_mentions(resolution))
    found = (f"{one} by {merged[one]}" for one in references if one in merged and is_resolved_by(resolution, one))
    return next(found, None)


def read_request(text: str) -> Request:
    """What a text asks for; of a text that is too long to be an action, only that something remains."""
    mentions = find_own_mentions(text)
    if not mentions or len(text) > MAX_TEXT or len(mentions) > _MOST_MENTIONS or text.lstrip(" -*").startswith("[x]"):
        return Request()
    return _Reader(text, mentions).read()


_RESOLVED_BY = re.compile(
    r"\b(?:fix(?:ed|es)?|resolv(?:ed|es)|address(?:ed|es)|handl(?:ed|es)|cover(?:ed|s)|solv(?:ed|es)|deliver(?:ed|s)|"
    r"land(?:s|ed)?|ship(?:s|ped)?|unblock(?:ed|s)|cleared|done|included|comes|arrives)"
    r"\s+(?:by|in|with|via|through|once|when|as part of)\s+(?:[\w-]+\s+){0,3}$",
    re.IGNORECASE,
)
_RESOLVES = re.compile(
    r"^\s+(?:will\s+|should\s+)?(?:fix|resolv|address|handl|cover|solv|unblock|clear)(?:es?|ed|s)?\b", re.IGNORECASE
)
_NEAR = 160  # characters around a reference in which words decide about it


class _Reader:
    """Reads one text; collects references by what becomes of them."""

    def __init__(self, text: str, mentions: Sequence[Mention]) -> None:
        self._text = RequestText(text, mentions)
        self._asked: list[str] = []
        self._awaited: list[str] = []  # waited for at the head of a clause: asked for, unless more follows
        self._waits: list[str] = []
        self._about: list[str] = []
        self._remains = False
        self._remained = False  # of the sentences before this one
        self._is_owed = False  # something remained before the first request
        self._is_begun = False  # the request is to begin work: the sentences behind it are its details
        self._is_sentence = False  # a sentence is read that is not the first
        self._is_listed = False  # what reviewers asked for is being listed
        self._is_landed = False  # what is checked from here on is checked after the merge
        self._prepared: list[str] = []  # worked on, and asked for once "merge it" follows

    def read(self) -> Request:
        words = self._text.words
        if self._names_its_work(words):
            return Request(self._text.references(words), remains=False)
        for segment, joint in find_segments([word for word in words if word != BRACKETED]):
            if any(word.isalnum() or word.startswith(MARK) or word[0].isalnum() for word in segment):
                self._read_segment(segment, joint)
        self._remains = self._remains or bool(self._prepared)
        (self._waits if self._remains else self._asked).extend(self._awaited)
        asked, waits, about = (tuple(dict.fromkeys(found)) for found in (self._asked, self._waits, self._about))
        return Request(asked, waits, about, self._remains)

    def _names_its_work(self, words: Words) -> bool:
        """Such as "Add retries (#12)": the reference in brackets at the end says which work is meant."""
        words = soften([*words])
        words = words[:-1] if words[-1:] == ["."] else words
        if len(words) < 4 or words[-2] != BRACKETED or sum(word.startswith(MARK) for word in words) != 1:
            return False
        said = {word.lower() for word in words[:-2]}
        return words[0].lower() in terms.BUILDS and not said & (terms.RELATIONS | SENTENCE_ENDS | ARROWS | DASHES)

    def _read_segment(self, words: list[str], joint: str) -> None:
        """Words between strong joints: perhaps a condition, then coordinate clauses."""
        words = soften(words)
        condition: list[str] = []
        if phrase_at(words, 0, terms.GATES):
            end = next((at for at, word in enumerate(words) if word in ",:"), len(words))
            condition, words = words[:end], words[end + 1 :]
            if not words:
                self._waits += self._text.references(condition)
                self._remains = True
                return
            if terms.TROUBLE & {word.lower() for word in condition}:  # "if a check fails, ...": moot once merged
                return
        self._remained, self._remains, self._is_listed = self._remains, False, False
        self._is_sentence = joint == "sentence"
        for clause in split_clauses(words, joint):
            self._read_clause(clause, condition)
        if self._remains:
            self._waits += self._text.references(condition)
        self._remains = self._remains or self._remained

    def _read_clause(self, clause: Clause, condition: Words) -> None:
        head, detail = cut_detail(soften(clause.words))
        first, second = ({word.lower() for word in head[at : at + 1]} for at in (0, 1))
        is_otherwise = first == {"otherwise"} and second & terms.DEEDS
        if self._asked and (is_otherwise or (clause.joint == "or" and first & terms.DECLINING)):
            return  # "merge #12 or close it"
        if not head:
            self._waits += self._text.references(clause.gate)
            self._remains = self._remains or (bool(clause.gate) and clause.joint != "and")
            return
        references = self._text.references(head)
        if phrase_at(head, 0, terms.NOTS) or "circumstances" in head:  # "under no circumstances"
            self._remains = self._remains or "forget" in head
            return
        if detail and not references:
            names = self._text.references(detail)
            introduces = {word.lower() for word in (head[:4] if _is_label(head) else head[:1])} & terms.INTRODUCTIONS
            if names and introduces:
                self._read_introduced(detail, clause, condition)
                return
            is_verb = phrase_at(soften(detail), 0, terms.VERBS)
            if (_is_label(head) and (names or is_verb)) or (names and is_verb and _is_step(head)):
                self._read_clause(clause._replace(words=detail), condition)
                return
        is_afterwards = bool(condition) and {word.lower() for word in condition} <= terms.AFTER_THE_MERGE
        kind = terms.VERBS.get(phrase_at(head, 0, terms.VERBS), "")
        if not is_afterwards and (self._is_request(head, clause, condition) or (not references and _is_step(head))):
            follows = self._is_landed and not references and kind in ("verify", "watch", "wait", "renew")
            was_landed, self._is_landed = self._is_landed, self._is_landed or kind == "land"
            follows = follows or (kind == "work" and bool({word.lower() for word in detail[:1]} & terms.STEPS))
            follows = follows or _leads_on(soften(detail), clause.gate, kind) or _leads_elsewhere(clause.gate, kind)
            self._is_listed = bool(detail) and kind in ("address", "work")
            if kind == "land" and {*references} <= {*self._asked}:
                self._asked += self._prepared or ([] if self._asked else self._about)
                self._prepared = []
                if not was_landed:  # what was to be done on the way is over with the merge
                    self._remains = self._remained = self._is_owed
            self._remains = self._remains or follows
            return
        if references and (kind or head[0].lower() in terms.PREPARING):
            self._prepared += references
            return
        if not references and clause.gate[:1] == ["if"] and terms.TROUBLE & {*clause.gate}:
            return
        is_labelled, is_first = bool(detail) and _is_label(head), clause.joint == "start"
        is_alone = len([word for word in head if word not in "[]()"]) == 1
        if references and ((is_alone and (detail or is_first)) or (is_labelled and is_first)):
            self._read_heading(next(word for word in head if word.startswith(MARK)), detail, clause)
        elif not any(self._is_explanation(said, clause.joint) for said in ([head, detail] if is_labelled else [head])):
            self._remains |= not self._is_listed or _goes_beyond(head) or head[0].lower() in terms.AFTERWARDS

    def _read_introduced(self, words: list[str], clause: Clause, condition: Words) -> None:
        """What stands behind "Held for review:" and the like: a reference alone, or a request."""
        head, _ = cut_detail(soften(words))
        if all(word.startswith(MARK) or word.lower() in terms.LIGHT or not word[0].isalnum() for word in head):
            self._asked += self._text.references(head)
        else:
            self._read_clause(clause._replace(words=words), condition)

    def _read_heading(self, token: str, detail: list[str], clause: Clause) -> None:
        """What stands behind a heading: how it is, a request about it, or the description of the work."""
        first, *more = split_clauses(detail, "and") if detail else [Clause([], [], "and")]
        if _is_on_its_way([token, *soften(first.words)]):
            self._asked += self._text.references([token])
        else:
            self._about += self._text.references([token])
            asked = len(self._asked)
            self._read_clause(first, [])
            self._remains = self._remains or len(self._asked) == asked
        for each in more:
            self._read_clause(each, [])

    def _is_request(self, head: Words, clause: Clause, condition: Words) -> bool:
        """Whether a merge answers the clause; notes its references."""
        if _goes_beyond(head):
            return False
        found = _Head(head, self._text)
        kind = found.kind
        if clause.gate[:1] == ["before"] and not found.token:  # "get approval before merging #12"
            found = _Head([*head, *clause.gate], self._text)
        asks = found.token and (found.asks() or _is_on_its_way(head)) and not _was_landed(head)
        if asks and not _hides_work(head, kind):
            if not self._asked:
                self._is_owed = self._remains or self._remained
            asked = self._awaited if kind == "wait" else self._asked
            asked += self._text.references([found.token])
            self._is_begun = self._is_begun or (kind == "work" and found.verb not in terms.ENDINGS)
            return True
        if head[0].lower() in ("blocked", "depends") and found.token:
            self._waits += self._text.references(head)
            self._remains = True
            return True
        if condition and kind in ("land", "review") and not found.token and _is_step(head):
            self._asked += self._text.references(condition)
            return True
        is_unmerged = {word.lower() for word in clause.gate} & terms.UNLESS and kind in ("follow", "verify", "bring")
        goes_on = not kind and clause.joint != "start" and self._asked and len(head) == 1
        is_linked = kind == "link" and {word.lower() for word in self._text.words} & terms.OPENING
        if found.token and ((is_unmerged and found.is_plain()) or goes_on or is_linked):
            self._asked += self._text.references([found.token])
            return True
        return False

    def _is_explanation(self, head: Words, joint: str) -> bool:
        words = [word.lower() for word in head]
        if self._is_begun and self._is_sentence and not _goes_beyond(head):
            return True
        if words[0] in ("keep", "leave") and (terms.KEPT & {*words[1:]} or "".join(words[1:2]).endswith("ing")):
            return True
        is_verb = phrase_at(head, 0, terms.VERBS) or words[0] in terms.OTHER_VERBS
        if phrase_at(head, 0, terms.GATES) or terms.NEEDED & {*words}:
            return False
        acts = "".join(words[1:2]) if words[0] not in terms.ROLES | terms.ARTICLES and words[1:] else ""
        if acts.endswith("s") and joint == "sentence" and not is_verb and {acts[:-1], acts[:-2]} & terms.DEEDS:
            return True  # "Vercel deploys it"
        if _goes_beyond(head):
            return False
        if words[0] in terms.EFFECTS:
            return True
        if joint not in ("sentence", "start"):
            return False
        acting = [before for before, word in itertools.pairwise(words[1:6]) if word.endswith("s") and before.isalpha()]
        leads = words[0] in terms.ARTICLES or (joint == "sentence" and not {*words[1:2]} & terms.ARTICLES)
        is_subject = leads and not is_verb and not {*words[:2]} & terms.ROLES
        if is_subject and {*acting} - terms.ANDS - terms.PREPOSITIONS - terms.ARTICLES:
            return True  # "the parser rejects empty input"
        clause = words[1 : next((at for at, word in enumerate(words) if word in ("that", "which")), 10)]
        states = not is_verb and terms.STATING & {*clause[:10]}
        return bool(states or words[0] in terms.LABELS | terms.STATED or words[-1] in terms.SETTLED)


class _Rule(NamedTuple):
    """When a verb with a reference for its object is a request that a merge answers."""

    about: frozenset[str] = frozenset()  # nouns that may stand between them: "address the comments on #12"
    needs: frozenset[str] = frozenset()  # else one of these must stand near: "mark #12 ready"
    forbids: frozenset[str] = frozenset()  # none of these may: "review #12 to learn"
    only: frozenset[str] = frozenset()  # nothing else may stand near


_CHECKED = terms.HURDLES | terms.REVIEWED | terms.APPROVAL
_RULES: dict[str, _Rule] = {
    "land": _Rule(about=terms.LANDING),
    "review": _Rule(about=terms.LANDING, forbids=terms.TO_LEARN),
    "renew": _Rule(about=_CHECKED),
    "publish": _Rule(about=frozenset(["to", "link", "linked", "linking"]), forbids=terms.LATER),
    "verify": _Rule(needs=terms.GREEN, only=terms.SETTLING),
    "watch": _Rule(about=terms.APPROVAL, forbids=terms.TO_LEARN),
    "work": _Rule(about=_CHECKED),
    "address": _Rule(about=terms.REVIEWED, needs=terms.REVIEWED, forbids=terms.LATER),
    "ask": _Rule(about=terms.REVIEWERS | terms.APPROVAL | terms.LANDING, needs=terms.ASKED_FOR, forbids=terms.LATER),
    "obtain": _Rule(about=terms.APPROVAL | terms.HURDLES, needs=terms.APPROVAL | terms.HURDLES | terms.LANDED),
    "wait": _Rule(about=_CHECKED),
    "mark": _Rule(needs=frozenset(["ready", "reviewed", "approved"])),
    "bring": _Rule(needs=terms.BROUGHT_TO),
    "follow": _Rule(needs=terms.NOUNS | terms.REVIEWED),
    "decide": _Rule(about=terms.LANDING),
}


class _Head:
    """The verb of a clause and its object. token: the reference that the verb governs, "" for none."""

    def __init__(self, words: Words, text: RequestText) -> None:
        self._words = [word.lower() for word in words]
        self._text = text
        self.verb = phrase_at(words, 0, terms.VERBS)
        self.kind = terms.VERBS.get(self.verb, "")
        at = next((number for number, word in enumerate(words) if word.startswith(MARK)), -1)
        self.token = words[at] if at >= 0 else ""
        start = self.verb.count(" ") + 1 if self.verb else 0
        self._title = words[at + 1 :]
        self._between, self._behind = (self._words[start:at], self._words[at + 1 :]) if at >= 0 else ([], [])

    def asks(self) -> bool:
        """Whether this is a request that a merge of the reference answers."""
        rule = _RULES.get(self.kind)
        if rule is None or self._is_noun_phrase():
            return self._is_noun_phrase()
        between, behind = self._between, [word for word in self._behind if word not in ("'", "s", "as")]
        near = {*between, *behind[:8]}
        is_named = self._text.is_named_pull(self.token)
        if self.kind == "work" and not is_named and self.verb not in terms.WORK_NEEDS_NO_NOUN:
            return False
        if rule.only:
            return bool(rule.needs & near) and near <= rule.only
        needed = rule.needs if not rule.about & {*between} and not (is_named and self.verb in terms.WHOLE) else None
        aims = {two for one, two in itertools.pairwise(behind) if one == "to"} if self.kind in terms.OF_AIMS else set()
        if rule.forbids & near or (needed and not needed & near) or aims & terms.DEEDS - terms.AIMS:
            return False
        is_closed = bool(needed and needed & {*behind[:5]}) or self._ends_well()
        is_pull = is_named and "-" not in self._text.references([self.token])[0]
        may_be_titled = self.kind != "work" or is_pull
        return self._governs(rule) and (is_closed or (may_be_titled and self._is_titled()))

    def is_plain(self) -> bool:
        """Whether the reference is the verb's own object, and nothing behind it makes it part of a name."""
        return bool(self.token) and self._is_light(self._between) and self._ends_well()

    @staticmethod
    def _is_light(words: Words) -> bool:
        light = {word for word in words if not _VERSION.fullmatch(word)}
        light -= {word for word in light if word.endswith("ed")} - terms.LANDED
        return light <= terms.LIGHT | {"and"} and len(words) <= 10 and words[-1:] != ["and"]

    def _governs(self, rule: _Rule) -> bool:
        """Whether nothing but known words stands between the verb and the reference, and none that makes it a target:
        "rebase onto #12", "merge main into #12".
        """
        words = self._between
        if not rule.about & {*words}:
            if self._behind[:2] in (["into", "a"], ["into", "one"]):  # "merge #12 and #13 into one plan"
                return False
            is_target = words[-1:] in (["on"], ["onto"], ["into"], ["to"]) and self.kind in ("land", "renew", "review")
            names_it = self._text.is_named_pull(self.token) and not {*words} & terms.OF_ANOTHER and len(words) <= 5
            return (names_it or self._is_light(words)) and (not is_target or "auto" in self.verb)
        at = max(number for number, word in enumerate(words) if word in rule.about)
        behind = [word for word in words[at + 1 :] if word not in terms.LANDING]
        joins = not behind or (behind[0] in terms.PREPOSITIONS and self._is_light(behind[1:]))
        asks_other = "to" in words and {*words[words.index("to") :]} & terms.OTHER_VERBS
        return at <= 8 and (self._is_light(words) or joins) and not asks_other

    def _ends_well(self) -> bool:
        after = self._behind
        first = after[0] if after else ""
        if first == "'":  # "#12's new CI run"
            is_own = self.kind == "land" or not (terms.NOUNS | terms.PARTS).isdisjoint(after[2:6])
            return is_own and not terms.RELATIONS & {*after[2:5]}
        if first in terms.ANDS or first == "/":
            return self._joins_a_noun(after)
        if first == ",":
            return after[1:2] == [] or after[1] in terms.MANNER - {"codespan"} or after[1].endswith(("ing", "ed", "ly"))
        is_manner = first in terms.BEHIND or first.endswith(("ly", "mente")) or "/" in first  # a branch's name
        is_part = {*after[1:3]} & terms.PARTS and not {*after[:2]} & terms.RELATIONS  # "#12 Windows CI"
        return is_manner or not first[:1].isalnum() or first in terms.HURDLES or bool(is_part)

    def _is_titled(self) -> bool:
        """Whether a title follows the reference: "land #12 timeline data model", and not "merge #12 slack the team"."""
        at = 2 if self._behind[:2] == ["'", "s"] and self.kind == "publish" else 0
        title = self._behind[at:]
        if not title or not title[0][0].isalpha() or title[0] in terms.ANDS or {*title[:8]} & terms.NOT_OF_A_TITLE:
            return False
        is_name = self._title[at].istitle() or title[0] not in terms.DEEDS
        return is_name and title[0] not in terms.AFTERWARDS and not {*title[1:2]} & terms.ARTICLES

    @staticmethod
    def _joins_a_noun(after: Words) -> bool:
        """Whether "and" joins one more thing of the same request: "the diff of #12 and all checks"."""
        rest = [word for word in after[1:] if word not in terms.LIGHT or word in terms.NOUNS]
        nouns = terms.NOUNS | terms.LANDED | terms.REVIEWED | terms.FORGES
        return bool(nouns & {*rest[:1]}) or (after[1:2] == ["its"] and bool(nouns & {*rest[:4]}))

    def _is_noun_phrase(self) -> bool:
        """Such as "user decision on #12", "review of #12", "auto-merge enabled on #12"."""
        words = self._words
        at = next((number for number, word in enumerate(words) if word.startswith(MARK)), 0)
        if words[0] in ("auto-merge", "automerge"):
            return self._is_light([word for word in words[1:at] if word not in ("armed", "set", "is")])
        found = [number for number, word in enumerate(words[:at]) if word in terms.APPROVAL and number < 5]
        if not found or self.kind or words[0] in terms.OTHER_VERBS or {*words[:at]} & terms.RELATIONS:
            return False
        behind = [word for word in words[found[-1] + 1 : at] if word not in terms.LANDING | terms.NEEDED]
        is_joined = behind[:1] != [] and behind[0] in terms.PREPOSITIONS and self._is_light(behind[1:])
        return is_joined and (len(self._behind) < 2 or self._ends_well())


def _is_label(head: Words) -> bool:
    """Whether these words only head what stands behind their colon or dash: "Next steps:", "P0 -"."""
    words = [word.lower() for word in head]
    begins = phrase_at(head, 0, terms.VERBS) or phrase_at(head, 0, terms.GATES) or words[0] in terms.OTHER_VERBS
    return len(head) <= 9 and not begins and not _goes_beyond(head) and not {*words} & terms.NOTS


def _goes_beyond(words: Words) -> bool:
    """Whether a clause leads behind the merge: to production, a release, customers."""
    lowered = [*itertools.takewhile(lambda word: word not in ("triggering", "which"), map(str.lower, words))]
    return bool(terms.BEYOND & set(lowered)) or any(phrase in f" {' '.join(lowered)} " for phrase in _BEYOND_SPACED)


_BEYOND_SPACED = tuple(f" {phrase} " for phrase in terms.BEYOND_PHRASES)


def _is_on_its_way(head: Words) -> bool:
    """Whether a clause says that a reference is about to land: "#12 is green", "#12 needs review", "#12: merge"."""
    words = [word.lower() for word in head]
    at = next((number for number, word in enumerate(words) if word.startswith(MARK)), len(words))
    if at == len(words) or not all(word in terms.LIGHT for word in words[:at]):
        return False
    behind = words[at + 1 :]
    while behind and behind[0] in terms.COPULAS:
        behind = behind[1:]
    if behind[:1] in (["needs"], ["need"]):
        return bool((terms.APPROVAL | {"merging", "rebase", "rebasing"}) & {*behind[1:6]})
    last, before = behind[-1] if behind else "", {*behind[:-1]}
    if terms.VERBS.get(last) in ("land", "review", "address") and before <= terms.LIGHT | terms.BEHIND:
        return len(behind) <= 4  # German and Dutch end so
    if last in terms.APPROVAL and before <= terms.NOUNS | terms.ANDS:
        return True  # "#12 merge decision"
    comma = behind.index(",") + 1 if "," in behind else len(behind)
    if {*behind[:1]} & {*terms.VERBS} and not {*behind[comma : comma + 1]} <= terms.KNOWN:
        return False  # "#12 mergen, Server einrichten"
    if behind[:1] in (["merge"], ["review"], ["squash"]) and not {*behind[1:2]} <= terms.KNOWN:
        return False  # "#12 review notes"
    phrases = (["in", "review"], ["up", "for"], ["on", "branch"], ["in", "flight"])
    return behind[:2] in phrases or (behind[:1] != [] and behind[0] in terms.STATES and behind[0] != "landed")


def _was_landed(head: Words) -> bool:
    """Whether a clause only says that a reference is merged."""
    words = [word.lower() for word in head]
    states = {"merged", "landed", "shipped", "closed", "done", "deployed", "live"} & {*words[1:5]}
    return words[0].startswith(MARK) and bool(states) and words[1] in terms.COPULAS


def _leads_on(detail: Words, gate: Words, kind: str) -> bool:
    """Whether what stands behind a dash begins the work that follows, and is not a title."""
    first = {word.lower() for word in detail[:1]}
    is_name = any(word[0].isupper() for word in detail[:1]) and not {*detail[1:2]} & terms.ARTICLES  # "HTML partials"
    work = terms.AFTERWARDS | terms.NEEDED | (terms.OTHER_VERBS if kind == "wait" else frozenset())
    is_gated = bool({"once", "after", "when"} & {*gate[:1]})
    begins = is_gated and first - (terms.KNOWN - terms.RELATIONS) - terms.EFFECTS
    return bool(first & work or (begins and (not is_name or first & (terms.AFTERWARDS | terms.OTHER_VERBS))))


def _hides_work(words: Words, kind: str) -> bool:
    """Whether "and", or a comma in a request to merge, is followed by what may be a verb that no table knows."""
    for at, (joint, after) in enumerate(itertools.pairwise(words)):
        joins = joint.lower() in terms.ANDS - {"or"} or (joint == "," and kind == "land")
        has_object = {*words[at + 2 : at + 3]} <= terms.LIGHT - terms.PREPOSITIONS
        is_name = after.isupper() or (after.istitle() and not has_object and joint.lower() in ("and", ",", "&", "+"))
        if not at or not joins or is_name or not after.replace("-", "").isalpha():
            continue
        # what "for" and the like begin goes on with nouns; a verb has an object there, as a rule with an article
        is_list = kind in ("wait", "watch") or {"for", "with", "of", "against"} & {*words[:at]}
        if is_list and joint in ("and", ",", "&", "+") and not has_object:
            continue
        acts_on = {*words[at + 2 : at + 3]} & terms.ARTICLES and not after.endswith(("ing", "ed"))  # "page the owner"
        is_noun = after.endswith(terms.OF_NOUNS) and not acts_on
        if after.lower() not in terms.KNOWN and not is_noun:
            return True
    return False


def _leads_elsewhere(gate: Words, kind: str) -> bool:
    """Whether a condition names the work that follows: "before starting the import"."""
    if gate[:1] != ["before"] or any("merg" in word for word in gate):
        return False
    return kind == "wait" or (len(gate) > 1 and gate[1].endswith("ing"))


def _is_step(head: Words) -> bool:
    """Whether a clause without a reference is a step on the way to a merge: "push the branch", "wait for CI"."""
    words = [word.lower() for word in head]
    phrase = phrase_at(words, 0, terms.VERBS)
    kind, rest = terms.VERBS.get(phrase, ""), words[phrase.count(" ") + 1 if phrase else 0 :]
    rest = [*itertools.takewhile(lambda word: word not in ("using", "with", "via", "by", "per", "triggering"), rest)]
    said = {word for word in rest if word[0].isalnum()}
    if kind in ("address", "review", "verify") and not rest:  # "fix and merge #12"
        return True
    if words[0] == "commit" or phrase in ("link", "push", "open"):
        return said <= terms.PUBLISHED or bool({"on", "from"} & said and len(rest) <= 6)
    if kind == "address":
        return bool(terms.REVIEWED & said or {*rest[:1]} & terms.POINTERS) and len(rest) <= 10
    if kind == "obtain" or (kind == "publish" and phrase == "submit"):
        return bool(said & (terms.APPROVAL | terms.HURDLES | terms.ROLES))
    if kind == "renew" and phrase != "update":
        return bool(said & terms.HURDLES)
    if kind in ("wait", "verify", "watch"):
        return bool(said & terms.HURDLES) or (rest[:1] == ["for"] and kind == "watch")
    if kind in ("land", "review", "mark"):
        return all(word in terms.OF_A_MERGE or word.endswith("ly") for word in said)
    if kind == "ask":
        return "review" in said or ("to" in said and words[-1] in ("merge", "review", "approve", "land"))
    names_branch = words[-1] in ("branch", "branches") or "/" in words[-1]
    if words[:2] == ["cut", "branch"] or (words[0] in ("delete", "remove") and names_branch and len(words) <= 6):
        return True
    return words[:4] == ["decide", "whether", "to", "merge"] or " ".join(words[:3]) in terms.ALONE
