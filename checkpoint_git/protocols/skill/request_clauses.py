"""What one clause of a text says: its verb and the reference that this governs, a step, a state, a fact. Pure."""

from itertools import dropwhile, pairwise, takewhile
from typing import NamedTuple

from checkpoint_git.protocols.skill import request_words as terms
from checkpoint_git.protocols.skill.request_text import MARK, Clause, RequestText, Words, acts, owes, phrase_at, soften


class _Rule(NamedTuple):
    """When a verb is a request that a merge of its object answers or, without a reference, a step on the way to one:
    "push the branch", "wait for CI".
    """

    about: frozenset[str] = frozenset()  # nouns that may stand between them: "address the comments on #12"
    needs: frozenset[str] = frozenset()  # else one of these must stand near: "mark #12 ready"
    forbids: frozenset[str] = frozenset()  # none of these may: "review #12 to learn"
    only: frozenset[str] = frozenset()  # nothing else may stand near


_RULES = {kind: _Rule(**fields) for kind, fields in terms.find_fields("RULES").items()}
_STEPS = {kind: _Rule(**fields) for kind, fields in terms.find_fields("STEPS").items()}
_NOT_IN_A_NAME = terms.DEEDS | terms.OF_ANOTHER | terms.NOTS | terms.EFFECTS
_AWAITED = terms.HURDLED | terms.LANDED | terms.GREEN
# what is no further thing to merge: how it is merged, what it consists of
_NO_MORE = terms.KNOWN - terms.LIGHT - terms.TRUNKS | terms.NOUNS | terms.BRANCHES | terms.PARTS
_APART = terms.RELATIONS - terms.REVIEWED
_AFTER_NOUNS = (terms.PREPOSITIONS | terms.ANDS | terms.BEHIND) - terms.NOUNS - terms.FORGES


class Head:
    """A verb and its object. token: the reference it governs, or "". is_doubtful: it may ask for more than a merge."""

    is_doubtful = False

    def __init__(self, words: Words, text: RequestText) -> None:
        self._words = [word.lower() for word in words]
        self._names = {word.lower() for word in words[1:] if word.removesuffix("'s").istitle()}  # whom one asks
        self._text = text
        self.verb = phrase_at(words, 0, terms.VERBS)
        self.kind = terms.VERBS.get(self.verb, "")
        at = next((number for number, word in enumerate(words) if word.startswith(MARK)), -1)
        self.token = words[at] if at >= 0 else ""
        start = self.verb.count(" ") + 1 if self.verb else 0
        self._between, self._behind = (self._words[start:at], self._words[at + 1 :]) if at >= 0 else ([], [])

    def asks(self, *, is_gated: bool) -> bool:
        """Whether this is a request that a merge of the reference answers. is_gated: it stands under a condition."""
        is_closed = self._text.closed.issuperset(self._text.references([self.token]))
        is_closed = is_closed and self._words[0] in terms.CLOSING and not self._behind
        if is_closed and self._is_light(self._words[1:-1]):
            self.is_doubtful = is_gated and not self._text.is_named_pull(self.token)
            return True
        if self.kind == "add":  # "add tests to PR #12"
            is_part = self._between[-1:] == ["to"] and terms.LINKS.isdisjoint(self._between)
            return is_part and self._text.is_named_pull(self.token) and not self._behind
        rule = _RULES.get(self.kind)
        if rule is None or self.verb.startswith("auto"):
            return self._is_noun_phrase()
        behind = [word for word in self._behind if word not in ("'", "s", "as")]
        near = {part for word in (*self._between, *behind[:8]) for part in (word, word.removeprefix("re-"))}
        is_named = self._text.is_named_pull(self.token)
        if self.kind == "work" and not is_named and self.verb not in terms.WORK_NEEDS_NO_NOUN:
            return False
        if rule.only:
            near = {*self._between, *takewhile(lambda word: word not in terms.ORS, behind)}  # "merged or coordinated"
            # "#12 backend CI by hand"
            is_checked = terms.CHECKED & {*behind[:3]} and not goes_beyond(behind)
            is_open = bool(terms.UNMERGED & {*behind} or is_checked) and not rule.forbids & near
            return bool(rule.needs & near) and (near <= rule.only or is_open)
        needed = frozenset() if is_named and self.verb in terms.WHOLE else rule.needs
        aims, is_run = {two for one, two in pairwise(behind) if one == "to"}, terms.HURDLES & {*self._between}
        beyond = terms.DEEDS - terms.AIMS if is_run or behind[-1:] == ["run"] else terms.DEEDS - terms.AIMS | {"run"}
        unknown = aims & beyond or (self.kind == "wait" and aims - terms.AIMS - terms.KNOWN)
        is_beyond = self.kind in terms.OF_AIMS and (unknown or terms.PURPOSES & {*behind})
        if rule.forbids & near or (needed and not needed & near) or is_beyond:
            return False
        is_closed = bool(needed & {*behind[:5]} and not _APART & {*behind[:1]}) or self._ends_well()
        is_vague = "for" in behind and not _AWAITED & near  # "monitor #12 for any fix"
        is_vague = is_vague or ("merge" in behind[:1] and not {*behind[2:]}.isdisjoint({"rebase", *terms.APPROVAL}))
        is_vague = is_vague and self.kind in terms.OF_AIMS
        is_vague = is_vague or (self.kind == "address" and not is_closed and not (rule.needs | terms.FLAWS) & near)
        is_vague = is_vague or bool(terms.AGAINST & {*behind}) or (self.kind == "land" and behind[:1] == ["again"])
        is_vague = is_vague or (self.kind == "update" and {"with", ","} <= {*behind})
        is_ticket = self._text.is_ticket(self.token) and not {*self._between} & {"pr", "mr", "pull"}  # "create ABC-12"
        is_vague = is_vague or bool(is_ticket and terms.OF_A_TICKET & {self.kind, *self._between, *behind[-1:]})
        is_vague = is_vague or (self.kind in ("address", "work") and behind[:2] in (["in", "a"], ["in", "another"]))
        is_vague = is_vague or any(word == "," and owes(behind[at + 1 :]) for at, word in enumerate(behind))
        is_vague = is_vague or self._names_more() or bool({*behind[-1:]} & terms.ALSO)
        is_titled = self.kind != "update" and self._is_titled()
        is_surely = is_closed or (self.kind == "work" and is_titled) or (is_named and self.kind not in terms.OF_AIMS)
        self.is_doubtful = is_vague or not is_surely
        return self._governs(rule) and (is_closed or is_titled)

    def _names_more(self) -> bool:
        """Whether more is named that has no number: "and the docs PR", "plus its companion", "as well as the wiki"."""
        words = self._behind
        for at, word in enumerate(words):
            is_pair = " ".join(words[at : at + 2]) in terms.WITH_MORE
            if not (is_pair or word in terms.JOINTS):
                continue
            named = [*takewhile(lambda each: each not in terms.NOT_NAMED, words[at + 1 + is_pair :])]
            aim = words[at + 2 : at + 4] if {*words[at + 1 : at + 2]} & terms.TARGETS else []  # "and to the old branch"
            is_other = {*named[:1]} & (terms.DETERMINERS | terms.OTHERS) and {*named} & terms.OTHERS
            if is_other or (aim and not any(each[0] == MARK or each in terms.DEEDS for each in aim)):
                return True
            # "ABC-12 search and filter"; "on evidence and fixtures", "to make the parser and the docs visible"
            is_title = self._text.is_ticket(self.token) and words[0] not in terms.BEHIND | terms.RELATIONS
            behind = [*dropwhile(lambda each: each not in terms.LISTING, words[:at])]
            is_part = not {*behind[1:]} <= terms.KNOWN | terms.TRUNKS
            ends = {*named[:1], *(named[-1:] if self.kind != "work" else ())}  # "CI and accessibility checks" is more
            is_part = is_part or not named or bool(ends & (_NO_MORE | terms.GREEN)) or word in terms.ORS
            is_part = is_part or any(each[0] == MARK for each in named) or (word, *named) == (",", "codespan")
            is_participle = word == "," and named[:1] and named[0].endswith(("ing", "ed", "ly", "ée", "é"))
            if not (is_title or is_part or is_participle):
                return True
        return False

    @staticmethod
    def _is_light(words: Words) -> bool:
        return {word for word in words if not word.endswith("ed") or word in terms.LANDED} <= terms.LIGHT | {"and"}

    def _governs(self, rule: _Rule) -> bool:
        """Whether only known words are between verb and reference, and none makes it a target: "rebase onto #1"."""
        words = self._between
        is_pull = self._text.is_named_pull(self.token) or not terms.PULLS.isdisjoint(words[-1:])
        others = terms.OF_ANOTHER - (terms.OF_TITLES if self.kind == "land" else frozenset())  # "merge the docs PR #12"
        names_it = is_pull and others.isdisjoint(words)
        if not rule.about & {*words}:
            if self.kind == "wait":
                words = [word for word in words if word not in self._names]  # "wait for Ada on #12"
            targets = {*terms.TARGETS, *(("with",) if self.kind == "renew" else ())}
            is_target = targets & {*words[-1:]} and "auto" not in self.verb and self.kind != "wait"
            is_target = is_target or self._behind[:2] in (["into", "a"], ["into", "one"])  # "merge #12 into one plan"
            return (names_it or self._is_light(words)) and not is_target
        at = max(number for number, word in enumerate(words) if word in rule.about)
        names = self._names if self.kind in ("ask", "obtain", "wait", "address") else set()
        behind = [word for word in words[at + 1 :] if word not in terms.LANDING | terms.ENDING | names]
        return not behind or (behind[0] in terms.PREPOSITIONS and self._is_light(behind[1:])) or self._is_light(words)

    def _ends_well(self) -> bool:
        after = self._behind
        first = after[0] if after else ""
        if first == "'":  # "#12's new CI run"
            of_it = [*dropwhile(lambda word: word in terms.LIGHT - terms.NOUNS, after[2:])]
            named = [*takewhile(lambda word: word[0].isalnum() and word not in _AFTER_NOUNS, of_it)]
            ends = {*named[-1:], *(named[:1] if self.kind == "review" else ())}  # "#12's cache design" is read to learn
            is_own = self.kind == "land" or (self.kind == "work" and not self._text.is_ticket(self.token))
            is_fixed = self.kind == "address" and not ends & terms.NOT_OF_A_TITLE
            is_own = is_own or (bool(ends) and (is_fixed or ends <= terms.NOUNS | terms.PARTS))
            more = of_it[len(named) :]
            return is_own and (not {*more[:1]} & terms.ANDS or self._joins_a_noun(more)) and not _APART & {*after[2:5]}
        if first in terms.ANDS or first == "/":
            return self._joins_a_noun(after)
        if first == ",":
            word = "".join(after[1:2])
            return not word or word in terms.MANNER - terms.MORE - {"codespan"} or word.endswith(("ing", "ed", "ly"))
        phrase = [*takewhile(lambda word: word[0].isalnum() and word not in _AFTER_NOUNS, after[:6])]
        if self.kind == "update" and len(phrase) > 1 and phrase[-1] not in terms.KNOWN:
            return False  # "#12 merge log"
        is_manner = first in terms.BEHIND | terms.HURDLES or first.endswith(("ly", "mente")) or "/" in first  # a branch
        is_manner = is_manner or (self.kind == "renew" and "onto" in after[1:3])  # "#12 features onto main"
        is_part = {*after[:3]} & terms.PARTS or {*phrase[-1:]} & terms.OF_ITS_STATE  # "#12 Windows CI"
        return is_manner or not first[:1].isalnum() or (bool(is_part) and not {*after[:2]} & _APART)

    def _is_titled(self) -> bool:
        """Whether a title follows the reference: "land #12 timeline data model", and not "merge #12 slack the team"."""
        title = self._behind
        begins = bool(title) and title[0][0].isalpha() and title[0] not in terms.ANDS | terms.AFTERWARDS
        is_own = self.kind == "work" and self._text.is_named_pull(self.token) and not self._text.is_ticket(self.token)
        kept = terms.OF_PARTS if self.kind == "review" else terms.WITHIN if is_own else frozenset[str]()
        return begins and not {*title[1:2]} & terms.ARTICLES and not {*title[:8]} & (terms.NOT_OF_A_TITLE - kept)

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
        is_checked = words[0] in ("ci", "checks", "green", "passing") and {*words} - {words[at]} <= terms.SETTLING
        if is_checked or words[0] in ("auto-merge", "automerge"):  # "CI green on #12"
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
    said = [*takewhile(lambda word: word not in ends, (word.lower().removesuffix("'s") for word in words))]
    aims = (at for at, pair in enumerate(pairwise(said)) if is_landing and pair[0] == "to" and pair[1] in terms.DEEDS)
    said = said[: next(aims, None)]
    parts = {part for word in said if "-" in word for part in word.split("-")}
    is_beyond = bool(terms.BEYOND & parts) and not parts & (terms.TRUNKS | {"please"})  # release-please, a tool
    return is_beyond or any(phrase_at(said, at, terms.BEYOND) for at in range(len(said)))


def is_on_its_way(head: Words) -> bool:
    """Whether a clause says that a reference is about to land: "#12 is green", "#12 needs review", "#12: merge"."""
    words = [word.lower() for word in head]
    at = next((number for number, word in enumerate(words) if word.startswith(MARK)), len(words))
    named = words[2 * (words[0] in terms.ARTICLES) : at]  # "the search PR #12", "ACME-APP #12"
    is_named = _NOT_IN_A_NAME.isdisjoint(named) and all(word[0] < "\u3000" for word in words[:at])
    if at == len(words) or not (is_named or all(word in terms.LIGHT for word in words[:at])):
        return False
    behind = words[at + 1 :]
    if {*behind[:1]} & terms.PAST or (terms.PAST & {*behind[:4]} and terms.PASSIVE.isdisjoint(behind[:4])):
        return False
    is_status = terms.SAID & {*behind} and {*behind} <= terms.STATUS | terms.TRUNKS  # "#12 has conflicts with main"
    behind = [*dropwhile((terms.COPULAS | terms.PASSIVE).__contains__, behind)]  # "#12 needs to be merged"
    last, before = behind[-1] if behind else "", {*behind[:-1]}
    if terms.VERBS.get(last) in ("land", "review", "address") and before <= terms.LIGHT | terms.BEHIND:
        return True  # German and Dutch end so
    if (last in terms.APPROVAL and "," not in behind) or is_status:
        return True  # "#12 merge decision"
    joined = {*[*dropwhile(lambda word: word not in terms.ANDS, behind)][1:]}
    if terms.VERBS.get("".join(behind[:1])) and not joined <= terms.KNOWN | terms.TRUNKS | {*terms.VERBS}:
        return False  # "#12 mergen und die Doku aktualisieren"
    comma = behind.index(",") + 1 if "," in behind else len(behind)
    if {"merge", "review", "squash"} & {*behind[:1]} or not {*behind[comma : comma + 1]} <= terms.KNOWN | terms.STATES:
        return False  # "#12 mergen, Server einrichten", "#12 review notes"
    return phrase_at(behind, 0, terms.STATES) != ""


def leads_on(detail: Words, clause: Clause, kind: str) -> bool:
    """Whether what stands behind a dash begins the work that follows, and is not a title."""
    # Chinese and Japanese words tell no verb by its end
    is_verb = bool(detail) and (_has_infinitive(detail) or (detail[0][0] >= "\u3000" and ":" not in clause.words))
    if phrase_at(detail, 0, terms.MORE) or is_verb or "instead" in detail:
        return True
    detail = soften([*detail])
    first = {word.lower() for word in detail[:1]}
    work = terms.OUTWARD if kind in terms.LISTED else terms.AFTERWARDS  # "fix the lint of #12: run the formatter"
    work = work | terms.NEEDED | (terms.OTHER_VERBS | {"revisit"} if kind in terms.OF_AIMS else frozenset())
    is_gated = {"once", "after", "when"} & {*clause.gate[:1]} and first == {*detail[:1]}  # and not "HTML partials"
    is_same = detail[1:2] in (["on"], ["onto"]) or detail[:1] == ["resolve"]  # "rebase on #13", "resolve #13"
    names = first & terms.DEEDS and not is_same and MARK in {word[0] for word in detail}  # "wait for #12 - rebase #13"
    meanwhile = {*clause.gate} - terms.KNOWN - terms.STATES if clause.gate[:1] == ["while"] else ()
    names = names or any(word[0] == MARK or word in terms.DEEDS or word.endswith("ing") for word in meanwhile)
    said = {word.lower() for word in detail}
    leaves = said & (terms.NEEDED | terms.UNDONE) and not said & (terms.HURDLES | terms.REVIEWED | terms.APPROVAL)
    is_late = terms.VERBS.get("".join(first)) in terms.TO_SEE and goes_beyond(detail)  # "verify production"
    follows = first & work or (is_gated and first - (terms.KNOWN - terms.RELATIONS) - terms.EFFECTS)
    return bool(names or leaves or follows or is_late or owes(detail))


def _has_infinitive(words: Words) -> bool:
    """Whether a Romance or Russian infinitive begins words, or a German or Dutch one ends them: "Docs bijwerken"."""
    *before, last = [word for word in words if word[0].isalpha()] or [""]
    first = [*before, last][0].lower()
    is_romance = first.endswith(("er", "ir", "re", "ar")) and bool({*words[1:2]} & terms.FOREIGN)
    is_last = bool(before) and last.islower() and last not in terms.KNOWN and last.endswith(("en", "ern", "eln"))
    return (is_last and before[0].istitle()) or is_romance or first.endswith(("ть", "ти"))


def hides_work(words: Words, kind: str) -> bool:
    """Whether "and", a comma or what only says when is followed by what may be a verb that no table knows."""
    known = terms.KNOWN | terms.ROLES | terms.ANDS
    named = next((at for at, word in enumerate(words) if word.startswith(MARK)), len(words))
    for at, (joint, after) in enumerate(pairwise(words[1:]), 1):
        before, behind = {*words[at - 1 : at]}, {*words[at + 2 : at + 3]}
        is_branch = joint in terms.TRUNKS and before <= terms.TARGETS
        is_when = (joint.lower() in terms.WHEN or joint.endswith("ly")) and not before & terms.DETERMINERS
        ends = at > named and (is_branch or is_when)
        joins = joint.lower() in terms.ANDS - {"or"} or joint == ","
        is_word = after.replace("-", "").isalpha() and not after.isupper() and after.lower() not in known
        if not (is_word and (joins or ends)):
            continue
        # what "for" and the like begin goes on with nouns; a verb has an object there, as a rule
        is_list = kind in ("wait", "watch") or bool(terms.OF_LISTS & {*words[:at]})
        is_list = is_list and after.isascii() and after not in terms.MORE_VERBS
        is_listed = after.istitle() or (is_list and behind <= terms.ANDS | terms.PREPOSITIONS | {","})
        is_english = joint in ("and", ",", "&", "+")
        is_noun = (is_listed and is_english) or (after.endswith(terms.OF_NOUNS) and after not in terms.MORE_VERBS)
        is_plain = ends or (is_english and terms.FOREIGN.isdisjoint(words))
        if not is_noun and not (is_plain and not acts(words, at + 1)):
            return True
    return False


def states_something(head: Words, joint: str) -> bool:
    """Whether a clause only says how something is, or what it does."""
    words = [word.lower() for word in head]
    requires = {"require", "requires", "required"} & {*words[1:]} and not (terms.HURDLES | terms.LANDED) & {*words}
    if ((requires or owes(words)) and not any(word[0] == MARK for word in words)) or terms.NEEDED & {*words}:
        return words[0] in terms.EFFECTS  # "unblocks the remaining tests"
    is_work = words[0] in terms.KEPT and (joint == "then" or not terms.MADE.isdisjoint(words[1:2] + words[-1:]))
    if words[0] in terms.EFFECTS and not is_work:  # "preserve a backup first" is work
        return True
    if joint not in ("sentence", "start"):
        return False
    is_verb = words[0] in terms.MORE_VERBS and not "".join(words[1:2]).isdigit()  # "stage 3 is done"
    is_verb = is_verb or words[0].endswith(terms.OF_INFINITIVES)
    following = zip(words[1:9], words[2:10], words[3:11], strict=False)
    acting = {before for before, word, _ in following if word.endswith("s") and word not in terms.BEHIND}
    if joint == "sentence" and not is_verb and acting - terms.ANDS - terms.LIGHT:
        return True  # "the parser rejects empty input"
    clause = words[1 : next((at for at, word in enumerate(words) if word in ("that", "which")), 10)]
    states = not is_verb and terms.STATING & {*clause[:10]}
    is_past = not is_verb and any(word.endswith("ed") and word[:2] != "un" and len(word) > 4 for word in words[:5])
    is_settled = words[-1].rpartition("-")[2] in terms.SETTLED
    return bool(states or is_past or is_settled or words[0] in terms.LABELS | terms.STATED)


def is_on_the_pull(head: Words) -> bool:
    """Whether a clause works on parts of a pull request: "inspect the final diff", "remove the extra commit"."""
    words = [word.lower() for word in head]
    thing = [*takewhile(lambda word: word not in terms.PREPOSITIONS | terms.OF_MEANS | terms.GATES, words)]
    is_plain = not {*"-".join(words).split("-")} & (terms.ELSEWHERE | terms.AFTERWARDS) and not goes_beyond(head)
    is_it = words[1:2] == ["it"] and words[0] in terms.RESHAPING  # "reduce it to one commit"
    is_part = words[0] not in terms.ARRANGING and len(thing) > 1 and thing[-1] in terms.OF_THE_PULL
    return is_plain and (is_part or is_it)


def is_step(head: Words) -> bool:
    words = [word.lower() for word in head]
    phrase = phrase_at(words, 0, terms.VERBS)
    kind, rest = terms.VERBS.get(phrase, ""), words[phrase.count(" ") + 1 :]
    step = _STEPS.get(kind)
    if step is None or goes_beyond(head) or hides_work(head, kind) or terms.ELSEWHERE & {*"-".join(rest).split("-")}:
        is_approval = words[-1] in terms.APPROVAL - terms.LANDING and {*words} <= terms.LIGHT | terms.APPROVAL
        is_decision = "decide" in (kind, words[0]) and "land" in {*map(terms.VERBS.get, rest[:3])}
        return is_decision or is_approval or " ".join(words) in terms.ALONE
    rest = [*takewhile(lambda word: word not in terms.OF_MEANS, rest)]
    said = {part for word in rest if word[0].isalnum() for part in word.split("/") if not part.endswith("ly")}
    if kind == "publish" and phrase != "push" and "codespan" in said and not {"pr", "mr", "pull"} & said:
        return False  # "create `develop`"
    return bool(step.needs & said) or (bool(step.only) and said <= step.only) or (kind == "wait" and not rest)
