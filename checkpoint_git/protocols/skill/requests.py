"""What a sentence of a checkpoint asks for, and whether that is merged. Pure.

A text is cut into words, these into clauses. A clause is a request that a merge answers, a step on the way to one, a
condition, an explanation, or else work that remains. An action is shipped when it has a request, every reference of its
requests is merged, and nothing remains. What is not understood remains: a missed request costs a look, a wrong skip the
work.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from checkpoint_git.core.references import Mention, find_mentions, spell_ranges
from checkpoint_git.protocols.skill import request_words as terms
from checkpoint_git.protocols.skill.request_clauses import (
    Head,
    goes_beyond,
    hides_work,
    is_on_its_way,
    is_on_the_pull,
    is_step,
    leads_on,
    states_something,
)
from checkpoint_git.protocols.skill.request_text import (
    BRACKETED,
    MARK,
    PATTERNS,
    Clause,
    RequestText,
    Words,
    cut_detail,
    find_own_mentions,
    find_segments,
    move_last_verb,
    phrase_at,
    soften,
    split_clauses,
)

Evidence = TypeVar("Evidence")
Role = Literal["asked", "waits", "about", "mentioned"]

MAX_TEXT = 4_000  # characters that are taken apart; real actions have some hundreds
_MOST_MENTIONS = 200


class Use(NamedTuple):
    """asked: a merge answers a request. waits: something waits for it. about: the heading. mentioned: all else."""

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


def find_uses(text: str, closed: Collection[str] = ()) -> list[Use]:
    """Every reference of a text with its strongest use, in the order named. closed: issues that a commit closed."""
    text = spell_ranges(text)
    request = read_request(text, closed)
    roles: dict[str, Role] = dict.fromkeys(request.about, "about")
    roles.update(dict.fromkeys(request.waits, "waits"))
    roles.update(dict.fromkeys(request.asked, "asked"))
    named = dict.fromkeys(mention.reference for mention in find_own_mentions(text))
    return [Use(reference, roles.get(reference, "mentioned")) for reference in named]


def find_shipped(action_text: str, merged: Mapping[str, Evidence], closed: Collection[str] = ()) -> Evidence | None:
    """The evidence that an action is done: all it asks for is merged, and it asks for nothing else. Else None."""
    request = read_request(action_text, closed)
    if request.remains or not request.asked or any(reference not in merged for reference in request.asked):
        return None
    return merged[request.asked[0]]


def asks_only_to_merge(text: str) -> bool:
    """Whether an action that a merge answers says merge, ship, review or the like, and no verb of other work."""
    words = RequestText(text, find_own_mentions(text)).words
    kinds = {terms.VERBS[phrase] for at in range(len(words)) if (phrase := phrase_at(words, at, terms.VERBS))}
    is_merge = kinds & {"land", "review"} or terms.LANDED & {*map(str.lower, words)}
    return bool(is_merge) and not kinds & terms.WORKING


def find_supports(resolution: str) -> list[str]:
    """What a blocker's proposed resolution rests on: it asks for it, waits for it, or is fixed by it."""
    resolution = spell_ranges(resolution)
    roles = {use.reference: use.role for use in find_uses(resolution)}
    found = (
        reference
        for reference, start, end in find_mentions(resolution)
        if roles.get(reference, "mentioned") != "mentioned"
        or PATTERNS["RESOLVED_BY"].search(resolution[max(start - _NEAR, 0) : start])
        or PATTERNS["RESOLVES"].match(resolution[end : end + _NEAR])
    )
    return [*dict.fromkeys(found)]


def find_resolution(resolution: str, merged: Mapping[str, object]) -> str | None:
    """The first reference that answers a blocker's proposal, once all it rests on is merged; of "#12 or #13", any."""
    resolution = spell_ranges(resolution)
    supports = find_supports(resolution)
    found = [one for one in supports if one in merged]
    others = [start for named, start, _ in find_mentions(resolution) if named in supports[1:]]
    is_choice = any(PATTERNS["OR"].search(resolution[:start]) for start in others)
    return found[0] if found and (found == supports or is_choice) else None


def read_request(text: str, closed: Collection[str] = ()) -> Request:
    """What a text asks for; of a text that is too long to be an action, only that something remains."""
    mentions = find_own_mentions(text := spell_ranges(text[: MAX_TEXT + 1]))
    if not mentions or len(text) > MAX_TEXT or len(mentions) > _MOST_MENTIONS or text.lstrip(" -*").startswith("[x]"):
        return Request()
    request = _Reader(text, mentions, closed).read()
    is_part = bool(PATTERNS["PART"].search(text)) and not any({*"#!"} & {*one} for one in request.asked)
    return request._replace(remains=request.remains or is_part or bool(re.search(r"\?(?![^\s*_`)])", text)))


_NEAR = 160  # characters around a reference in which words decide about it


class _Reader:
    """Reads one text; collects references by what becomes of them."""

    def __init__(self, text: str, mentions: Sequence[Mention], closed: Collection[str]) -> None:
        self._text = RequestText(text, mentions, closed)
        self._asked: list[str] = []
        self._awaited: list[str] = []  # waited for at the head of a clause: asked for, unless more follows
        self._waits: list[str] = []
        self._about: list[str] = []
        self._remains = False
        self._is_owed = False  # something remained before the first request
        self._is_due = False  # something remained before this sentence, or leads behind the merge
        self._is_ordered = False  # what this sentence has before a merge is done before it
        self._is_begun = False  # the request is to begin work: the sentences behind it are its details
        self._is_sentence = False  # a sentence is read that is not the first
        self._is_doubtful = False  # a request may ask for more than a merge
        self._is_listed = False  # what reviewers asked for is being listed
        self._is_landed = False  # what is checked from here on is checked after the merge
        self._prepared: list[str] = []  # worked on, and asked for once "merge it" follows

    def read(self) -> Request:
        words = self._text.words
        if self._names_its_work(words):
            return Request(self._text.references(words), remains=False)
        segments = find_segments([word for word in words if word != BRACKETED])
        said = [each for each in segments if any(word[0] == MARK or word[0].isalnum() for word in each[0])]
        for at, (segment, joint) in enumerate(said):
            self._read_segment(segment, joint if at else "start")
        self._remains = self._remains or self._is_doubtful or bool(self._prepared)
        (self._waits if self._remains else self._asked).extend(self._awaited)
        asked, waits, about = (tuple(dict.fromkeys(found)) for found in (self._asked, self._waits, self._about))
        return Request(asked, waits, about, self._remains)

    def _names_its_work(self, words: Words) -> bool:
        """Such as "Add retries (#12)", "Land retries, PR #12": the reference at the end says which work is meant."""
        words = soften([*words])
        words = words[:-1] if words[-1:] == ["."] else words
        if len(words) < 4 or sum(word.startswith(MARK) for word in words) != 1 or words[-1][0] != MARK:
            return False
        named, said = words[:-2], {word.lower() for word in words[:-2]}
        kind = terms.VERBS.get(phrase_at(named, 0, terms.VERBS), "")
        is_pull = words[-2] == "," and self._text.is_named_pull(words[-1])
        lands = kind == "land" or (kind == "ask" and terms.LANDED & said and terms.PULLS & said)
        if lands and (words[-2] == BRACKETED or is_pull):
            is_more = said & (terms.OF_THE_MERGE | terms.MORE_THAN_A_NAME) or goes_beyond(named)
            return not is_more and not hides_work(named, "land")
        is_last = terms.VERBS.get(named[-1].lower()) == "land" and not said & terms.JOINTS  # "X in main mergen"
        is_name = is_last or (named[0].lower() in terms.BUILDS and not said & terms.MORE_THAN_A_NAME)
        return words[-2] == BRACKETED and is_name

    def _read_segment(self, words: list[str], joint: str) -> None:
        """Words between strong joints: perhaps a condition, then coordinate clauses."""
        words = soften(words)
        condition: list[str] = []
        if phrase_at(words, 0, terms.GATES):
            end = next((at for at, word in enumerate(words) if word in ",:"), len(words))
            condition, words = words[:end], words[end + 1 :]
            said = {word.lower() for word in condition}
            is_otherwise = self._asked and "otherwise" in said and terms.DEEDS & said
            if terms.TROUBLE & said or is_otherwise:  # "if a check fails, ...": moot once merged
                return
            self._is_landed = self._is_landed or said <= terms.AFTER_THE_MERGE
            self._remains |= not words
        self._is_sentence, self._is_listed = joint == "sentence", False
        is_forbidden, clauses = False, [*split_clauses(words, joint)]
        self._is_due = self._is_due if joint == "then" else self._remains
        first = terms.VERBS.get(phrase_at(clauses[0].words, 0, terms.VERBS))
        self._is_ordered = joint == "then" or len(clauses) > 2 or first in ("renew", "publish")
        for at, clause in enumerate(clauses):  # "never review, approve or merge #12"
            is_forbidden = is_forbidden and "or" in {each.joint for each in clauses[at:]}
            is_forbidden = is_forbidden or phrase_at(clause.words, 0, terms.NOTS) != ""
            if not is_forbidden:
                self._read_clause(clause, condition)
        if self._remains:
            self._waits += self._text.references(condition)

    def _read_clause(self, clause: Clause, condition: Words) -> None:
        clause = move_last_verb(clause)
        lasts = terms.UNTIL & {*clause.gate[:1]} and not self._text.references(clause.words)
        if lasts and clause.words and is_step(clause.words):  # "watch the queue until #12 is through"
            clause = clause._replace(words=["wait", "for", *clause.gate[1:]], gate=[])
        head, detail = cut_detail(soften(clause.words))
        first = {part for word in head[:1] for part in (word.lower(), word.lower().rpartition("-")[2])}
        is_other = self._asked and clause.joint == "or" and first & terms.DECLINING  # "merge #12 or close it"
        all_said = {*map(str.lower, [*head, *detail])}
        is_forbidden = phrase_at(head, 0, terms.NOTS) != "" or not terms.NEVER.isdisjoint(all_said)
        is_read = first == {"read"} and not self._asked and not self._text.references(clause.words)
        if is_other or is_forbidden or is_read:
            return
        if not head:
            self._waits += self._text.references(clause.gate)
            return
        references = self._text.references(head)
        if detail and not references and (not first & terms.OTHER_VERBS or (first == {"plan"} and len(head) == 1)):
            said, names = cut_detail(soften(detail))[0], self._text.references(detail)
            is_bare = {word.lower() for word in said if word[0].isalnum()} <= terms.LIGHT - {*terms.VERBS}
            if names and is_bare and {word.lower() for word in head[:4]} & terms.INTRODUCTIONS:
                self._asked += self._text.references(said)  # "held for review: #12"
                return
            kind = terms.VERBS.get(phrase_at(soften(detail), 0, terms.VERBS), "")
            is_blocked = kind == "obtain" or detail[:1] == ["waits"]  # "the parity gate - needs #12 merged"
            is_open = ":" in clause.words or states_something(head, "start")
            self._remains |= is_blocked and not (is_open or first & terms.INTRODUCTIONS)
            if names or kind:
                self._read_clause(clause._replace(words=detail), condition)
                return
        kind = terms.VERBS.get(phrase_at(head, 0, terms.VERBS), "")
        is_moot = kind == "renew" and clause.joint == "and" and not self._is_landed  # "retarget #12 and rebase"
        is_moot = is_moot or (kind in ("renew", "address") and not terms.TROUBLE.isdisjoint(clause.gate))
        if is_moot and self._asked and len(head) == 1:
            return  # "merge #12, rebase if needed"
        if self._is_request(head, clause, condition) or (not references and is_step(head)):
            self._take_request(clause, head, detail, kind)
            return
        if references and (kind or first & terms.PREPARING):
            is_before = clause.gate[:1] == ["before"] and "merg" in "".join(clause.gate[1:2]) and kind != "renew"
            (self._asked if is_before else self._prepared).extend(references)
            return
        is_first = clause.joint == "start"
        if references and ((len(head) == 1 and (detail or is_first)) or (detail and is_first)):
            self._read_heading(next(word for word in head if word.startswith(MARK)), detail, clause)
        elif self._asked and not self._is_landed and not references and is_on_the_pull(head):
            return
        elif any(states_something(said, clause.joint) for said in (head, detail) if said):
            is_checked = terms.HURDLES & {*map(str.lower, head)}  # "CI runs on #12; merge it"
            self._about += self._text.references(head if is_checked else head[:1]) if is_first else ()
        else:
            is_detail = (self._is_listed or (self._is_begun and self._is_sentence)) and terms.LEFT.isdisjoint(head[-1:])
            is_beyond = goes_beyond(head) or bool(first & terms.AFTERWARDS)
            is_for_more = first & (terms.BUILDS | terms.OUTWARD)  # built for something else
            self._is_due |= goes_beyond(head) or bool(is_for_more)
            self._remains |= not is_detail or is_beyond

    def _take_request(self, clause: Clause, head: list[str], detail: list[str], kind: str) -> None:
        """What a request that a merge answers, or a step on the way to it, leaves to do."""
        is_after = self._is_landed or ({*clause.gate[:1]} & terms.UPON and {*clause.gate} & terms.PAST_MERGE)
        follows = bool(is_after) and not self._text.references(head) and kind in terms.PURSUED
        follows = follows and (kind != "verify" or len(head) > 1)  # "merge and confirm"
        follows = follows and terms.UNMERGED.isdisjoint(map(str.lower, head))  # "recheck that it is mergeable"
        was_landed, self._is_landed = self._is_landed, self._is_landed or kind == "land"
        is_before = not terms.BEFORE.isdisjoint(clause.gate[:1]) and not any("merg" in word for word in clause.gate)
        is_before = is_before and (kind == "wait" or (kind == "land" and "".join(clause.gate[1:2]).endswith("ing")))
        is_for = kind in terms.OF_AIMS and not terms.PURPOSES.isdisjoint(clause.gate[:1])
        is_for = is_for or (clause.gate[:1] == ["so"] and goes_beyond(clause.gate))  # "so we can deploy"
        is_for = is_for or (kind == "review" and {"merge"} < {*clause.gate, "merge"} <= terms.AFTER_THE_MERGE)
        is_late = kind in terms.TO_SEE and {*clause.gate[:1]} & terms.UPON and (is_after or goes_beyond(clause.gate))
        follows = follows or is_before or is_for or bool(is_late)
        self._is_listed = bool(detail) and kind in terms.LISTED
        if kind == "land" or (kind == "ask" and {"merged", "landed"} & {*head[1:]}):  # "get it merged"
            self._asked += self._prepared or ([] if self._asked else self._about)
            self._prepared = []
            if not was_landed:  # what was to be done on the way is over with the merge
                is_other = self._is_due and clause.joint == "sentence" and self._text.references(head)
                self._remains = self._is_owed or bool(is_other)  # "Rebase #13. Tell Ada. Merge #12."
        self._remains = self._remains or follows or leads_on(detail or cut_detail(clause.gate)[1], clause, kind)

    def _read_heading(self, token: str, detail: list[str], clause: Clause) -> None:
        """What stands behind a heading: how it is, a request about it, or the description of the work."""
        first, *more = split_clauses(detail, "and") if detail else [Clause([], [], "and")]
        if is_on_its_way([token, *soften(first.words)]):
            self._asked += self._text.references([token])
        else:
            self._about += self._text.references([token])
            self._read_clause(first, [])
            said = soften(first.words)
            if said and is_step(said) and not (self._asked or self._remains or terms.POINTERS & {*said}):
                self._asked += self._text.references([token])  # "#12: resolve the conflicts"
        for each in more:
            self._read_clause(each, [])

    def _is_request(self, head: Words, clause: Clause, condition: Words) -> bool:
        """Whether a merge answers the clause; notes its references."""
        if goes_beyond(head):
            return False
        is_led = head[1:2] == ["to"] and head[0][0] != MARK and not phrase_at(head, 0, terms.VERBS)  # "Ada to merge"
        is_led = is_led and head[0].lower() not in terms.OTHER_VERBS | terms.CATENATIVE
        found = Head(head[2:] if is_led else head, self._text)
        kind = found.kind
        if clause.gate[:1] == ["before"] and not found.token:  # "get approval before merging #12"
            found = Head([*head, *clause.gate], self._text)
        if found.token and (found.asks(is_gated=bool(clause.gate or condition)) or is_on_its_way(head)):
            if not self._asked:
                self._is_owed = self._is_due if kind == "land" and self._is_ordered else self._remains
            asked = self._awaited if kind == "wait" else self._asked
            asked += self._text.references([found.token])
            self._is_doubtful |= found.is_doubtful or hides_work(head, kind)
            self._is_begun = kind == "work" and found.verb not in terms.ENDINGS
            return True
        if head[0].lower() in ("blocked", "depends") and found.token:
            on_review = clause.joint == "start" and terms.APPROVAL - {"merge", "landing"} & {*map(str.lower, head)}
            if on_review and Head(["wait", "for", *head[2:]], self._text).asks(is_gated=False):
                self._awaited += self._text.references(head)
                return True
            self._waits += self._text.references(head)
            self._remains = True
            return True
        if condition and kind in ("land", "review") and is_step(head):
            self._asked += self._text.references(condition)
            return True
        is_unmerged = {word.lower() for word in clause.gate} & terms.UNLESS and kind in ("follow", "verify", "bring")
        goes_on = self._asked and {*map(str.lower, head[1:])} <= terms.LIGHT | terms.BEHIND
        if is_asked := bool(found.token and (is_unmerged or goes_on)):
            self._asked += self._text.references([found.token])
        return is_asked
