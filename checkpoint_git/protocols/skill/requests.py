"""What a sentence of a checkpoint asks for, and whether that is merged. Pure.

A text is cut into words, these into clauses. A clause is a request that a merge answers, a step on the way to one, a
condition, an explanation, or else work that remains. An action is shipped when it has a request, every reference of its
requests is merged, and nothing remains. What is not understood remains: a missed request costs a look, a wrong skip the
work.
"""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
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
    """How a text uses a reference.

    asked: a merge of it answers a request. waits: something else waits for it. about: the text's heading.
    mentioned: anything else, and no reason to say anything.
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
    if roles & {"asked", "waits", "about"}:
        return True
    return any(
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
        self._is_begun = False  # the request is to begin work: the sentences behind it are its details
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
        remained, self._remains, self._is_listed = self._remains, False, False
        for clause in split_clauses(words, joint):
            self._read_clause(clause, condition)
        if self._remains:
            self._waits += self._text.references(condition)
        self._remains = self._remains or remained

    def _read_clause(self, clause: Clause, condition: Words) -> None:
        head, detail = cut_detail(soften(clause.words))
        if clause.joint == "or" and self._asked and {word.lower() for word in head[:1]} & terms.DECLINING:
            return  # "merge #12 or close it"
        if not head:
            self._waits += self._text.references(clause.gate)
            self._remains = self._remains or (bool(clause.gate) and clause.joint != "and")
            return
        references = self._text.references(head)
        if phrase_at(head, 0, terms.NOTS):
            self._remains = self._remains or bool(references)
            return
        if detail and not references:
            names = self._text.references(detail)
            if names and head[0].lower() in terms.INTRODUCTIONS:
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
            self._is_landed = self._is_landed or kind == "land"
            follows = follows or (kind == "work" and bool({word.lower() for word in detail[:1]} & terms.STEPS))
            follows = follows or _leads_on(soften(detail), clause.gate, kind) or _leads_elsewhere(clause.gate, kind)
            self._remains = self._remains or follows
            self._is_listed = bool(detail) and kind in ("address", "work")
            if kind == "land" and not references:
                self._asked += self._prepared
                self._prepared = []
            return
        said = {word.lower() for word in head}
        is_prepared = kind or head[0].lower() in terms.PREPARING
        if references and is_prepared and not _goes_beyond(head) and not said & terms.RELATIONS:
            self._prepared += references
            return
        if not references and clause.gate[:1] == ["if"] and terms.TROUBLE & {*clause.gate}:
            return
        named = [word for word in head if word not in "[]()"]
        if len(named) == 1 and references and (detail or clause.joint == "start"):  # a heading
            self._read_heading(named[0], detail, clause)
        elif not self._is_explanation(head, clause.joint):
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
        gate = {word.lower() for word in clause.gate}
        is_unmerged = (
            gate & terms.UNLESS and gate & terms.UNMERGED and kind in ("follow", "verify") and found.is_plain()
        )
        goes_on = not kind and clause.joint != "start" and self._asked and len(head) == 1
        is_linked = kind == "link" and {word.lower() for word in self._text.words} & terms.OPENING
        if found.token and (is_unmerged or goes_on or is_linked):
            self._asked += self._text.references([found.token])
            return True
        return False

    def _is_explanation(self, head: Words, joint: str) -> bool:
        words = [word.lower() for word in head]
        if self._is_begun and joint == "sentence" and not _goes_beyond(head):
            return True
        kept = words[1:4] if words[0] in ("keep", "leave") else []
        if {"draft", "open", "unmerged"} & {*kept} or (kept and kept[0].endswith("ing")):
            return True
        is_verb = phrase_at(head, 0, terms.VERBS) or words[0] in terms.OTHER_VERBS
        if phrase_at(head, 0, terms.GATES) or terms.NEEDED & {*words}:
            return False
        acts = words[1] if len(words) > 1 and words[1].endswith("s") and words[0] not in terms.ROLES else ""
        if joint == "sentence" and not is_verb and {acts[:-1], acts[:-2]} & (terms.OTHER_VERBS | terms.VERBS.keys()):
            return True  # "the host deploys it"
        if _goes_beyond(head):
            return False
        if words[0] in terms.EFFECTS:
            return True
        if joint not in ("sentence", "start"):
            return False
        if words[0].startswith(MARK) and joint == "sentence":  # "#13 reads what it writes"
            return len(words) > 2 and words[1].endswith("s") and words[1] not in terms.NOUNS and words[1] != "needs"
        clause = words[1 : next((at for at, word in enumerate(words) if word in ("that", "which")), 10)]
        states = not is_verb and terms.STATING & {*clause[:10]}
        return bool(states or words[0] in terms.LABELS | terms.STATED or words[-1] in terms.SETTLED)


class _Head:
    """The verb of a clause and its object. token: the reference that the verb governs, "" for none."""

    def __init__(self, words: Words, text: RequestText) -> None:
        self._words = [word.lower() for word in words]
        self._text = text
        verb = phrase_at(words, 0, terms.VERBS)
        self.verb, self.kind = verb, terms.VERBS.get(verb, "")
        at = next((number for number, word in enumerate(words) if word.startswith(MARK)), -1)
        self.token = words[at] if at >= 0 else ""
        start = verb.count(" ") + 1 if verb else 0
        self._title = words[at + 1 :] if at >= 0 else []
        self._between, self._behind = self._words[start : max(at, 0)], self._words[at + 1 :] if at >= 0 else []

    def is_plain(self) -> bool:
        """Whether the reference is the verb's own object, and nothing behind it makes it part of a name."""
        return bool(self.token) and self._is_light(self._between) and self._ends_well()

    def asks(self) -> bool:
        """Whether this is a request that a merge of the reference answers."""
        rule = _RULES.get(self.kind)
        return self._is_noun_phrase() or (rule is not None and rule(self))

    @staticmethod
    def _is_light(words: Words) -> bool:
        light = {word for word in words if not _VERSION.fullmatch(word)} <= terms.LIGHT | {"and"}
        return light and len(words) <= 10 and words[-1:] != ["and"]

    def _ends_well(self) -> bool:
        after = self._behind
        first = after[0] if after else ""
        if first == "'":  # "#12's new CI run"
            return bool(terms.NOUNS & {*after[2:5]}) and not terms.RELATIONS & {*after[2:5]}
        if first in terms.ANDS or first == "/":
            return self._joins_a_noun(after)
        if first == ",":
            return after[1:2] == [] or after[1] in terms.MANNER - {"codespan"} or after[1].endswith(("ing", "ed", "ly"))
        is_manner = first in terms.BEHIND or first.endswith(("ly", "mente")) or "/" in first  # a branch's name
        return is_manner or self._is_title() or not first[:1].isalnum() or self._names_its_part(after)

    def _is_title(self) -> bool:
        """Whether a title follows the reference, as its capital shows."""
        title = self._title[:1]
        return bool(title and title[0].istitle() and title[0].isalpha() and title[0].lower() not in terms.AFTERWARDS)

    @staticmethod
    def _names_its_part(after: Words) -> bool:
        """Such as #12 "remediation commit", "Windows CI": one word more before what belongs to a pull request."""
        return after[1:2] != [] and after[1] in terms.PARTS and after[0] not in terms.RELATIONS

    @staticmethod
    def _joins_a_noun(after: Words) -> bool:
        """Whether "and" joins one more thing of the same request: "the diff of #12 and all checks"."""
        rest = [word for word in after[1:] if word not in terms.LIGHT or word in terms.NOUNS]
        nouns = terms.NOUNS | terms.LANDED
        return bool(nouns & {*rest[:1]}) or (after[1:2] == ["its"] and bool(nouns & {*rest[:4]}))

    def _is_direct(self) -> bool:
        """Whether no preposition makes the reference a target: "rebase onto #12", "merge main into #12"."""
        becomes = self._behind[:2] in (["into", "a"], ["into", "one"])  # "merge #12 and #13 into one plan"
        is_target = self._between[-1:] in (["on"], ["onto"], ["into"], ["to"]) and "auto" not in self.verb
        return not is_target and not becomes and (self.is_plain() or self._has_lower_title())

    def _has_lower_title(self) -> bool:
        """Such as "land #12 timeline data model"; with an article it would be a verb and its object."""
        title = self._behind if self.verb in ("land", "merge") and self._is_light(self._between) else []
        is_verb = {*title[:1]} & (terms.OTHER_VERBS | {*terms.VERBS}) or {*title[1:2]} & terms.ARTICLES
        return title[2:] != [] and not is_verb and not {*title} & terms.NOT_OF_A_TITLE and self._names_its_work()

    def _is_verified(self) -> bool:
        settles = bool(terms.GREEN & {*self._between, *self._behind})
        return settles and {*self._between, *self._behind[:8]} <= terms.SETTLING

    def _is_watched(self) -> bool:
        aims = {two for one, two in itertools.pairwise(self._behind) if one == "to"}  # "to green", and not "to learn"
        learns = bool(aims - terms.SETTLING - terms.HURDLES)
        is_its = self._behind[:1] != ["'"] or {*self._behind[2:6]} & (terms.NOUNS | terms.REVIEWED | terms.HURDLES)
        return self._is_light(self._between) and self._behind[:1] != ["/"] and not learns and bool(is_its)

    def _is_work(self) -> bool:
        if self.verb in terms.ENDINGS and self._is_light(self._between) and self._text.is_named_pull(self.token):
            return self._ends_well() or ("-" not in self._text.references([self.token])[0] and self._names_its_work())
        return self.is_plain() and (self._text.is_named_pull(self.token) or self.verb in terms.WORK_NEEDS_NO_NOUN)

    def _is_addressed(self) -> bool:
        if {"follow-up", "next", "deferred", "later", "separate"} & {*self._behind}:
            return False
        is_whole = self.verb in ("fix", "address", "repair", "resolve", "handle") and self.is_plain()
        if is_whole and self._text.is_named_pull(self.token):
            return True
        after = [word for word in self._behind[:5] if word not in ("'", "s")]
        if self._is_light(self._between) and any(word in terms.REVIEWED for word in after[:4]):
            return True
        if terms.CAUSES & set(self._between):  # "fix the test broken by #12"
            return False
        names = terms.REVIEWED & set(self._between) and len(self._between) <= 9
        return bool(names and self._between[-1] in terms.PREPOSITIONS)

    def _is_asked_of(self) -> bool:
        """Ask somebody to merge it; ping its reviewers; get it merged or approved."""
        words = self._between
        asked = words[words.index("to") + 1 :] if "to" in words else []
        if asked and {*asked} <= terms.LIGHT | terms.LANDING:
            return bool(terms.LANDING & {*asked})
        if "that" in words:
            return False
        if terms.REVIEWERS & {*words} or self._is_approval(words) or words[-1:] in (["reviewing"], ["merging"]):
            return True
        return self.verb in ("get", "have") and self._is_light(words) and self._becomes_landed()

    def _becomes_landed(self) -> bool:
        behind = self._behind[:5]
        if (
            " ".join(behind[:3]) in ("over the line", "in", "through review", "through ci")
            or {*behind[:1]} & terms.APPROVAL
        ):
            return True
        ends = terms.LANDED | {"passing", "human-merged"}
        at = next((number for number, word in enumerate(behind) if word in ends), len(behind))
        known = all(word in terms.KNOWN or word in ("be", "and") or word.endswith("ed") for word in behind[:at])
        return at < len(behind) and (known or behind[at] in ("green", "passing"))

    @staticmethod
    def _is_approval(words: Words) -> bool:
        """Such as "approval for", "the owner's sign-off before merging"."""
        at = next((number for number, word in enumerate(words) if word in terms.APPROVAL), -1)
        behind = [word for word in words[at + 1 :] if word not in ("merging", "landing", "merge", "land", "needed")]
        return 0 <= at <= 6 and behind[:1] != [] and behind[0] in terms.PREPOSITIONS and _Head._is_light(behind[1:])

    def _names_text(self) -> bool:
        return self._is_light(self._between) and bool({"body", "description", "title"} & {*self._behind[:3]})

    def _is_awaited(self) -> bool:
        if "to" in self._between:
            return self._is_asked_of()
        aims = {two for one, two in itertools.pairwise(self._behind) if one == "to"}
        if aims & (terms.OTHER_VERBS | terms.AFTERWARDS) - {"pass", "return"}:  # "waiting on #12 to start the import"
            return False
        hurdles = terms.HURDLES | terms.REVIEWED | terms.APPROVAL
        awaits = hurdles & {*self._between[:5]} and len(self._between) <= 8 and self._between[-1] in terms.LIGHT
        has_hurdles = self._is_light(self._between) and hurdles & {*self._behind[:16]}
        return self.is_plain() or bool(has_hurdles or (awaits and self._ends_well()))

    def _is_marked(self) -> bool:
        after = [word for word in self._behind if word != "as"]
        return self._is_light(self._between) and after[:1] in (["ready"], ["reviewed"], ["approved"])

    def _is_brought(self) -> bool:
        if not self._is_light(self._between):
            return False
        behind = " ".join(self._behind)
        if behind.startswith(terms.OUT_OF_DRAFT):
            return True
        near = set(self._behind[:4])
        if {"look", "review", "pass", "read"} & near and {"a", "an", "one", "the"} & set(self._behind[:1]):
            return True  # "give #12 a final look"
        return "for" in self._behind[:2] and bool({"review", "approval", "merge"} & near)

    def _is_followed(self) -> bool:
        behind = [word for word in self._behind if word not in ("'", "s")]
        return self._is_light(self._between) and behind[:1] != [] and behind[0] in terms.NOUNS

    def _names_its_work(self) -> bool:
        """Whether the words behind the reference are none, or a title without a hint of further work."""
        title = self._behind[2 if self._behind[:1] == ["'"] else 0 :][:8]
        return self._ends_well() or (title[0].isalpha() and not {*title} & (terms.RELATIONS | terms.ANDS | terms.STEPS))

    def _is_published(self) -> bool:
        if self._is_direct() or (self._is_light(self._between) and self._names_its_work()):
            return True
        words = self._between
        to_it = (
            len(words) <= 6
            and not terms.RELATIONS & {*words}
            and "to" in words[1:]
            and self._is_light(words[words.index("to") :])
        )
        return to_it or (bool({"link", "linked", "linking"} & {*words}) and len(words) <= 10)

    def _is_noun_phrase(self) -> bool:
        """Such as "user decision on #12", "review of #12", "auto-merge enabled on #12"."""
        words = self._words
        at = next((number for number, word in enumerate(words) if word.startswith(MARK)), 0)
        if words[0] in ("auto-merge", "automerge") and {"enabled", "armed", "set", "on"} & set(words[1:at]):
            return self._is_light([word for word in words[1:at] if word not in ("enabled", "armed", "set", "is")])
        first = next((number for number, word in enumerate(words[:4]) if word in terms.APPROVAL), -1)
        if first < 0 or first >= at or self.kind or words[0] in terms.OTHER_VERBS or words[0] in terms.RELATIONS:
            return False
        return self._is_approval(words[first:at]) and (len(self._behind) < 2 or self._ends_well())


_RULES: dict[str, Callable[[_Head], bool]] = {
    "land": _Head._is_direct,
    "review": lambda head: head._is_direct() and not terms.TO_LEARN & set(head._behind[:5]),
    "renew": lambda head: not {"onto", "on"} & {*head._between} and (head._is_direct() or head._names_text()),
    "publish": _Head._is_published,
    "verify": _Head._is_verified,
    "watch": _Head._is_watched,
    "work": _Head._is_work,
    "address": _Head._is_addressed,
    "ask": lambda head: head._is_asked_of() or head._is_brought(),
    "obtain": lambda head: head._is_approval(head._between) or bool(terms.HURDLES & {*head._between}),
    "wait": _Head._is_awaited,
    "mark": _Head._is_marked,
    "bring": _Head._is_brought,
    "follow": _Head._is_followed,
    "decide": lambda head: (
        head._ends_well() and head._is_light([word for word in head._between if word not in terms.LANDING])
    ),
}


def _is_label(head: Words) -> bool:
    """Whether these words only head what stands behind their colon or dash: "Next steps:", "P0 -"."""
    words = [word.lower() for word in head]
    begins = phrase_at(head, 0, terms.VERBS) or phrase_at(head, 0, terms.GATES) or words[0] in terms.OTHER_VERBS
    return len(head) <= 6 and not begins and not _goes_beyond(head) and not {*words} & terms.NOTS


def _goes_beyond(words: Words) -> bool:
    """Whether a clause leads behind the merge: to production, a release, customers."""
    lowered = [word.lower() for word in words]
    lowered = [*itertools.takewhile(lambda word: word not in ("triggering", "which"), lowered)]  # its effect
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
        return bool({"review", "approval", "merge", "merging", "sign-off", "rebase", "rebasing"} & set(behind[1:6]))
    last, before = behind[-1] if behind else "", {*behind[:-1]}
    if terms.VERBS.get(last) in ("land", "review", "address") and before <= terms.LIGHT | terms.BEHIND:
        return len(behind) <= 4  # German and Dutch end so
    if last in terms.APPROVAL and before <= terms.NOUNS | terms.ANDS:
        return True  # "#12 merge decision"
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
    is_name = any(word[0].isupper() and not word.istitle() for word in detail[:1])  # "HTML partials"
    work = terms.AFTERWARDS | terms.NEEDED | (terms.OTHER_VERBS if kind == "wait" else frozenset())
    begins = {"once", "after", "when"} & {*gate[:1]} and first - terms.KNOWN - terms.EFFECTS
    return bool(first & work or (begins and not is_name))


def _hides_work(words: Words, kind: str) -> bool:
    """Whether "and", or a comma in a request to merge, is followed by what may be a verb that no table knows."""
    for at, (joint, after) in enumerate(itertools.pairwise(words)):
        joins = joint.lower() in terms.ANDS - {"or"} or (joint == "," and kind == "land")
        has_object = {*words[at + 2 : at + 3]} <= terms.LIGHT
        is_name = after.isupper() or (after.istitle() and not has_object and joint.lower() in ("and", ",", "&", "+"))
        if not at or not joins or is_name or not after.replace("-", "").isalpha():
            continue
        # what "for" and the like begin goes on with nouns; a verb has an object there, as a rule with an article
        is_list = kind in ("wait", "watch") or {"for", "with", "of", "against"} & {*words[:at]}
        if is_list and joint in ("and", ",", "&", "+") and not has_object:
            continue
        if after.lower() not in terms.KNOWN and not after.endswith(terms.OF_NOUNS):
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
    said = {word for word in rest if word[0].isalnum()}
    if kind in ("publish", "renew") and phrase in ("push", "open"):
        return said <= terms.PUBLISHED or ({"on", "from"} & said and len(rest) <= 6) or not said
    if words[0] == "commit" or phrase == "link":
        return said <= terms.PUBLISHED
    if phrase == "update" and {"pr", "pull"} & said:
        return len(rest) <= 6
    if kind == "address":
        return bool(terms.REVIEWED & said) and len(rest) <= 10
    if words[:3] == ["decide", "whether", "to"]:
        return words[3:4] == ["merge"]
    if kind == "obtain" or (kind == "publish" and phrase == "submit"):
        return bool(said & (terms.APPROVAL | terms.HURDLES))
    if kind == "renew" and phrase != "update":
        return bool(said & terms.HURDLES)
    if kind in ("wait", "verify", "watch"):
        return bool(said & terms.HURDLES) or (rest[:1] == ["for"] and kind == "watch")
    if kind in ("land", "review", "mark"):
        before = itertools.takewhile(lambda word: word not in ("using", "with", "via", "by", "per", "triggering"), rest)
        return all(word in terms.OF_A_MERGE or word.endswith("ly") for word in before if word[0].isalnum())
    if kind == "ask":
        return "review" in said or ("to" in said and words[-1] in ("merge", "review", "approve", "land"))
    if words[:2] == ["cut", "branch"] or (words[0] in ("delete", "remove") and words[-1] in ("branch", "branches")):
        return len(words) <= 6 or words[0] == "cut"
    return " ".join(words[:3]) in ("decide", "close", "close or merge", "request changes", "squash", "check for merge")
