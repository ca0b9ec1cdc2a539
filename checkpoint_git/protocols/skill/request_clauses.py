"""What one clause of a text says: its verb and the reference that this governs, a step, a state, a fact. Pure."""

from itertools import pairwise, takewhile
from typing import NamedTuple

from checkpoint_git.protocols.skill import request_words as terms
from checkpoint_git.protocols.skill.request_text import MARK, RequestText, Words, phrase_at


class _Rule(NamedTuple):
    """When a verb with a reference for its object is a request that a merge answers."""

    about: frozenset[str] = frozenset()  # nouns that may stand between them: "address the comments on #12"
    needs: frozenset[str] = frozenset()  # else one of these must stand near: "mark #12 ready"
    forbids: frozenset[str] = frozenset()  # none of these may: "review #12 to learn"
    only: frozenset[str] = frozenset()  # nothing else may stand near


_CHECKED = terms.HURDLES | terms.REVIEWED | terms.APPROVAL
_AWAITED = _CHECKED | terms.LANDED | terms.GREEN
_APART = terms.RELATIONS - terms.REVIEWED
_RULES: dict[str, _Rule] = {
    "land": _Rule(about=terms.LANDING),
    "review": _Rule(about=terms.LANDING, forbids=terms.TO_LEARN),
    "renew": _Rule(about=_CHECKED),
    "update": _Rule(about=_CHECKED),
    "publish": _Rule(about=frozenset(["to", "link", "linked", "linking"]), forbids=terms.LATER),
    "verify": _Rule(needs=terms.GREEN, only=terms.SETTLING, forbids=frozenset(["remains", "unmerged"])),
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


class Head:
    """The verb of a clause and its object. token: the reference that the verb governs, "" for none. is_doubtful: what
    is asked of it may be more than its merge.
    """

    is_doubtful = False

    def __init__(self, words: Words, text: RequestText) -> None:
        self._words = [word.lower() for word in words]
        self._text = text
        self.verb = phrase_at(words, 0, terms.VERBS)
        self.kind = terms.VERBS.get(self.verb, "")
        at = next((number for number, word in enumerate(words) if word.startswith(MARK)), -1)
        self.token = words[at] if at >= 0 else ""
        start = self.verb.count(" ") + 1 if self.verb else 0
        self._between, self._behind = (self._words[start:at], self._words[at + 1 :]) if at >= 0 else ([], [])

    def asks(self) -> bool:
        """Whether this is a request that a merge of the reference answers."""
        rule = _RULES.get(self.kind)
        if rule is None or self.verb.startswith("auto"):
            return self._is_noun_phrase()
        behind = [word for word in self._behind if word not in ("'", "s", "as")]
        near = {part for word in (*self._between, *behind[:8]) for part in (word, word.removeprefix("re-"))}
        is_named = self._text.is_named_pull(self.token)
        if self.kind == "work" and not is_named and self.verb not in terms.WORK_NEEDS_NO_NOUN:
            return False
        if rule.only:
            is_open = bool(terms.UNMERGED & {*behind}) and not rule.forbids & near
            return bool(rule.needs & near) and (near <= rule.only or is_open)
        needed = frozenset() if is_named and self.verb in terms.WHOLE else rule.needs
        aims = {two for one, two in pairwise(behind) if one == "to"} if self.kind in terms.OF_AIMS else set()
        if rule.forbids & near or (needed and not needed & near) or aims & terms.DEEDS - terms.AIMS:
            return False
        is_closed = bool(needed & {*behind[:5]} and not _APART & {*behind[:1]}) or self._ends_well()
        is_vague = "for" in behind and not _AWAITED & near  # "monitor #12 for any fix"
        is_vague = self.kind in terms.OF_AIMS and (is_vague or {"merge", "rebase"} <= {*behind})
        self.is_doubtful = is_vague or not (is_closed or (is_named and self.kind not in terms.OF_AIMS))
        return self._governs(rule) and (is_closed or self._is_titled())

    @staticmethod
    def _is_light(words: Words) -> bool:
        return {word for word in words if not word.endswith("ed") or word in terms.LANDED} <= terms.LIGHT | {"and"}

    def _governs(self, rule: _Rule) -> bool:
        """Whether nothing but known words stands between the verb and the reference, and none that makes it a target:
        "rebase onto #12", "merge main into #12".
        """
        words = self._between
        names_it = (self._text.is_named_pull(self.token) or words[-1:] == ["prs"]) and not {*words} & terms.OF_ANOTHER
        if not rule.about & {*words}:
            if self._behind[:2] in (["into", "a"], ["into", "one"]):  # "merge #12 and #13 into one plan"
                return False
            is_target = words[-1:] in (["on"], ["onto"], ["into"], ["to"]) and "auto" not in self.verb
            return (names_it or self._is_light(words)) and not is_target
        at = max(number for number, word in enumerate(words) if word in rule.about)
        behind = [word for word in words[at + 1 :] if word not in terms.LANDING]
        return not behind or (behind[0] in terms.PREPOSITIONS and self._is_light(behind[1:])) or self._is_light(words)

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
        is_manner = first in terms.BEHIND | terms.HURDLES or first.endswith(("ly", "mente")) or "/" in first  # a branch
        is_part = {*after[:3]} & terms.PARTS and not {*after[:2]} & _APART  # "#12 Windows CI"
        return is_manner or not first[:1].isalnum() or bool(is_part)

    def _is_titled(self) -> bool:
        """Whether a title follows the reference: "land #12 timeline data model", and not "merge #12 slack the team"."""
        at = 2 if self._behind[:2] == ["'", "s"] and self.kind == "publish" else 0
        title = self._behind[at:]
        begins = bool(title) and title[0][0].isalpha() and title[0] not in terms.ANDS | terms.AFTERWARDS
        return begins and not {*title[1:2]} & terms.ARTICLES and not {*title[:8]} & terms.NOT_OF_A_TITLE

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
            return True
        found = [number for number, word in enumerate(words[:at]) if word in terms.APPROVAL]
        if not found or words[0] in terms.OTHER_VERBS or {*words[:at]} & terms.RELATIONS:
            return False
        behind = [word for word in words[found[-1] + 1 : at] if word not in terms.LANDING | terms.NEEDED]
        return bool(behind) and behind[0] in terms.PREPOSITIONS and self._is_light(behind[1:])


def goes_beyond(words: Words) -> bool:
    """Whether a clause leads behind the merge: to production, a release, customers."""
    is_read = terms.VERBS.get(words[0].lower()) in ("review", "address")  # for what it is read is none of the work
    ends = {"triggering", "which", *(("for", "by") if is_read else ())}
    is_landing = terms.VERBS.get(words[0].lower()) == "land"  # "merge #12 to deploy the parser" says what for
    said = [*takewhile(lambda word: word not in ends, map(str.lower, words))]
    aims = (at for at, pair in enumerate(pairwise(said)) if is_landing and pair[0] == "to" and pair[1] in terms.DEEDS)
    said = said[: next(aims, None)]
    return any(phrase_at(said, at, terms.BEYOND) for at in range(len(said)))


def is_on_its_way(head: Words) -> bool:
    """Whether a clause says that a reference is about to land: "#12 is green", "#12 needs review", "#12: merge"."""
    words = [word.lower() for word in head]
    at = next((number for number, word in enumerate(words) if word.startswith(MARK)), len(words))
    if at == len(words) or not all(word in terms.LIGHT for word in words[:at]):
        return False
    behind = words[at + 1 :]
    is_past = {*behind[:1]} & terms.PAST and {*behind[1:2]} & terms.BEHIND  # "merged at"
    if is_past or ({*behind[:1]} & terms.COPULAS and terms.PAST & {*behind[:4]}):
        return False
    while behind and behind[0] in terms.COPULAS:
        behind = behind[1:]
    if behind[:1] in (["needs"], ["need"]):
        return bool((terms.APPROVAL | {"merging", "rebase", "rebasing"}) & {*behind[1:6]})
    last, before = behind[-1] if behind else "", {*behind[:-1]}
    if terms.VERBS.get(last) in ("land", "review", "address") and before <= terms.LIGHT | terms.BEHIND:
        return True  # German and Dutch end so
    if last in terms.APPROVAL:
        return True  # "#12 merge decision"
    comma = behind.index(",") + 1 if "," in behind else len(behind)
    if not {*behind[comma : comma + 1]} <= terms.KNOWN or behind[:1] in (["merge"], ["review"], ["squash"]):
        return False  # "#12 mergen, Server einrichten", "#12 review notes"
    phrases = (["in", "review"], ["up", "for"], ["on", "branch"], ["in", "flight"])
    return behind[:2] in phrases or bool({*behind[:1]} & terms.STATES)


def leads_on(detail: Words, gate: Words, kind: str) -> bool:
    """Whether what stands behind a dash begins the work that follows, and is not a title."""
    first = {word.lower() for word in detail[:1]}
    is_name = any(word[0].isupper() for word in detail[:1])  # "HTML partials"
    work = terms.AFTERWARDS | terms.NEEDED | (terms.OTHER_VERBS | {"revisit"} if kind in terms.OF_AIMS else frozenset())
    is_gated = not is_name and bool({"once", "after", "when"} & {*gate[:1]})
    names = first & terms.DEEDS and any(word.startswith(MARK) for word in detail)  # "wait for #12 - rebase #13"
    names = names or (gate[:1] == ["while"] and any(word.startswith(MARK) for word in gate))
    return bool(names or first & work or (is_gated and first - (terms.KNOWN - terms.RELATIONS) - terms.EFFECTS))


def hides_work(words: Words, kind: str) -> bool:
    """Whether "and", or a comma in a request to merge, is followed by what may be a verb that no table knows."""
    for at, (joint, after) in enumerate(pairwise(words)):
        joins = joint.lower() in terms.ANDS - {"or"} or (joint == "," and kind == "land")
        is_word = after.replace("-", "").isalpha() and not after.isupper() and after.lower() not in terms.KNOWN
        behind = {*words[at + 2 : at + 3]}
        # what "for" and the like begin goes on with nouns; a verb has an object there, as a rule with an article
        is_list = after.istitle() or kind in ("wait", "watch") or terms.OF_LISTS & {*words[:at]}
        is_listed = is_list and joint in ("and", ",", "&", "+") and not behind <= terms.LIGHT - terms.PREPOSITIONS
        acts_on = behind & terms.ARTICLES and not after.endswith(("ing", "ed"))  # "page the owner"
        if at and joins and is_word and not is_listed and (acts_on or not after.endswith(terms.OF_NOUNS)):
            return True
    return False


def states_something(head: Words, joint: str) -> bool:
    """Whether a clause only says how something is, or what it does."""
    words = [word.lower() for word in head]
    if terms.NEEDED & {*words}:
        return words[0] in terms.EFFECTS  # "unblocks the remaining tests"
    is_verb = words[0] in terms.DEEDS
    subject = joint == "sentence" and not is_verb and words[0] not in terms.ROLES | terms.ARTICLES
    is_effect = words[0] in terms.EFFECTS and not (joint == "then" and words[0] in ("keep", "leave"))
    if is_effect or (subject and {*words[1:2]} & terms.ACTS):
        return True  # "Vercel deploys it"
    if joint not in ("sentence", "start"):
        return False
    acting = {before for before, word in pairwise(words[1:9]) if word.endswith("s")}
    if joint == "sentence" and not is_verb and acting - terms.ANDS - terms.PREPOSITIONS - terms.ARTICLES:
        return True  # "the parser rejects empty input"
    clause = words[1 : next((at for at, word in enumerate(words) if word in ("that", "which")), 10)]
    states = not is_verb and terms.STATING & {*clause[:10]}
    is_past = not is_verb and any(word.endswith("ed") and word[:2] != "un" for word in words[:5])
    return bool(states or is_past or words[0] in terms.LABELS | terms.STATED or words[-1] in terms.SETTLED)


class _Step(NamedTuple):
    """When a verb without a reference is a step on the way to a merge: "push the branch", "wait for CI"."""

    needs: frozenset[str] = frozenset()  # one of these must be said
    only: frozenset[str] = frozenset()  # nothing else may be


_MERGING = _Step(only=terms.OF_A_MERGE)
_CHECKING = _Step(needs=terms.HURDLES)
_STEPS = {
    "land": _MERGING,
    "review": _MERGING,
    "mark": _MERGING,
    "publish": _Step(only=terms.PUBLISHED),
    "link": _Step(only=terms.PUBLISHED),
    "address": _Step(needs=terms.REVIEWED | terms.POINTERS, only=terms.POINTERS),
    "update": _Step(needs=frozenset(["its", "body", "description"])),
    "work": _Step(needs=terms.APPROVAL | frozenset(["ci", "checks", "gates", "self-review"])),
    "obtain": _Step(needs=terms.APPROVAL | terms.HURDLES | terms.ROLES),
    "renew": _CHECKING,
    "wait": _CHECKING,
    "watch": _CHECKING,
    "verify": _Step(needs=terms.HURDLES | terms.UNMERGED, only=terms.POINTERS),
    "run": _Step(needs=terms.HURDLES | terms.REVIEWED),
    "ask": _Step(needs=frozenset(["review", "merge", "approve", "land"])),
    "bring": _Step(needs=frozenset(["green"])),
    "tidy": _Step(needs=frozenset(["branch", "branches"])),
}


def is_step(head: Words) -> bool:
    words = [word.lower() for word in head]
    phrase = phrase_at(words, 0, terms.VERBS)
    kind, rest = terms.VERBS.get(phrase, ""), words[phrase.count(" ") + 1 :]
    step = _STEPS.get(kind)
    if step is None or goes_beyond(head):
        return (words[0] == "decide" and "merge" in words[1:4]) or " ".join(words[:3]) in terms.ALONE
    rest = [*takewhile(lambda word: word not in terms.OF_MEANS, rest)]
    said = {part for word in rest if word[0].isalnum() for part in word.split("/") if not part.endswith("ly")}
    names_branch = kind == "tidy" and "/" in words[-1] and words[0] != "cut"
    return bool(step.needs & said) or (bool(step.only) and said <= step.only) or names_branch
