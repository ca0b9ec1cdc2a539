"""Pull requests in a bare repository that stands in for a forge: which premerge merges, and what it
says of the others.

Of every merge the content is looked at: all that a side wrote is there, all that a side took away
is gone, and the forge's button, which merges by lines, then makes the same.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from checkpoint_git.cli.render import FORMATS, render
from checkpoint_git.cli.render.screen import Screen
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.outcome import Line
from checkpoint_git.tools.merges.premerge import Premerge, premerge
from checkpoint_git.tools.merges.premerge_report import describe_premerge
from checkpoint_git.tools.merges.pull_request import PullRequest
from tests.scenarios.driven import PATH
from tests.support.beside import merge_plainly
from tests.support.repos import NEEDS_MERGE_TREE, GitRepo
from tests.support.samples import checkpoint, checkpoint_text
from tests.support.streams import Entry, Files, Stream
from tests.support.verbs import NOON, seconds

pytestmark = NEEDS_MERGE_TREE

R1, R2, R3 = ({"at": f"2026-03-0{day}T00:00:00Z", "verdict": "PASS"} for day in (1, 2, 3))
ROWS = [{"id": f"row-{n}", "label": f"Row {n}", "status": "not_started"} for n in range(5)]
DECISIONS = [f"decision {n}" for n in range(6)]
OTHER = "sub/project/.checkpoints/audit.checkpoint.json"
PHASE = "memory/state/phase.json"
RECORD = "runs/ABC-1/0b8f7a52-3c1d-4e5f-8a6b-7c8d9e0f1a2b/phase_1_implement_a1.yaml"


class Case(NamedTuple):
    """A pull request. base, main, head: files. state: what premerge finds. left: kinds of what
    remains.

    mixed_up: the checkpoints that a merge by lines would make something else of, without a
    conflict.
    """

    base: Files
    main: Files
    head: Files
    state: str
    left: tuple[str, ...] = ()
    mixed_up: tuple[str, ...] = ()


def at(status: str, number: int, **more: Any) -> list[dict[str, Any]]:
    """The rows, one of them in another status."""
    return [
        {**row, "status": status, **more} if place == number else row
        for place, row in enumerate(ROWS)
    ]


def one(**fields: Any) -> dict[str, str]:
    """The checkpoint with these fields."""
    return {PATH: checkpoint_text(**{"progress_table": ROWS, **fields})}


def decided(*more: str, first: tuple[str, ...] = (), **fields: Any) -> dict[str, str]:
    """The checkpoint with more decisions."""
    return one(context_primer={"key_decisions": [*first, *DECISIONS, *more]}, **fields)


def ran(*runs: Any, **fields: Any) -> dict[str, str]:
    return one(skill_state={"run_history": list(runs)}, **fields)


def raw(*lines: str) -> dict[str, str]:
    return {PATH: "\n".join(lines) + "\n"}


def pair(name: str, text: str) -> dict[str, str]:
    return {name: text}


KEYS = ["{", '"a": 1,', '"b": 2,', '"c": 3,', '"d": 4,', '"e": 5', "}"]
FILES = {"a.txt": "1\n", "b.txt": "1\n"}
STATE = {
    "workflow_id": "w",
    "current_phase": "plan",
    "phases": {"plan": {"status": "in_progress", "attempts": 1}},
}
YAML = [f"key_{number}: {number}" for number in range(9)]
PLAIN_ACTIONS = ["one", "two", "three"]

CASES: dict[str, Case] = {
    # ours, clean
    "both decided something": Case(decided(), decided("main's"), decided("head's"), "merged"),
    "both worked at another time": Case(
        one(), one(updated_at="2026-03-03T00:00:00Z"), one(updated_at="2026-03-04T00:00:00Z"), "merged"
    ),
    "both logged a run": Case(ran(R1), ran(R1, R2), ran(R1, R3), "merged"),
    "both logged the same run": Case(ran(R1), ran(R1, R2), ran(R1, R2), "mergeable"),
    "one popped an action, one appended": Case(
        one(next_actions=PLAIN_ACTIONS),
        one(next_actions=[*PLAIN_ACTIONS, "four"]),
        one(next_actions=PLAIN_ACTIONS[1:], recently_done=[{"text": "one", "at": "2026-03-03T00:00:00Z"}]),
        "mergeable",
    ),
    "both popped and appended": Case(
        one(next_actions=PLAIN_ACTIONS),
        one(next_actions=["two", "three", "main's"]),
        one(next_actions=["two", "three", "head's"]),
        "merged",
    ),
    "both advanced the same row": Case(
        one(), one(progress_table=at("in_progress", 1)), one(progress_table=at("complete", 1)), "merged"
    ),
    "rows side by side": Case(
        one(), one(progress_table=at("complete", 1)), one(progress_table=at("complete", 2)), "mergeable"
    ),
    "both spent money": Case(
        one(cost={"total_usd": 1.0}), one(cost={"total_usd": 1.5}), one(cost={"total_usd": 1.25}), "merged"
    ),
    "a blocker resolved, a blocker met": Case(
        one(blockers=[{"id": "b1", "description": "x"}]),
        one(blockers=[]),
        one(blockers=[{"id": "b1", "description": "x"}, {"id": "b2", "description": "y"}]),
        "merged",
    ),
    "a number that no float holds": Case(
        one(skill_state={"big": 1}), one(skill_state={"big": 1, "m": 9007199254740993}),
        one(skill_state={"big": 1, "h": 1.0}), "merged",
    ),
    "both added the same new checkpoint differently": Case(FILES, decided("main's"), decided("head's"), "merged"),
    "both added the same new checkpoint": Case(FILES, decided("x"), decided("x"), "mergeable"),
    "a checkpoint of a nested project": Case(
        pair(OTHER, checkpoint_text(skill="audit", next_actions=PLAIN_ACTIONS)),
        pair(OTHER, checkpoint_text(skill="audit", next_actions=[*PLAIN_ACTIONS, "main's"])),
        pair(OTHER, checkpoint_text(skill="audit", next_actions=[*PLAIN_ACTIONS, "head's"])),
        "merged",
    ),
    "two checkpoints at once": Case(
        {**decided(), OTHER: checkpoint_text(skill="audit", updated_at="2026-03-03T00:00:00Z")},
        {**decided("main's"), OTHER: checkpoint_text(skill="audit", updated_at="2026-03-05T00:00:00Z")},
        {**decided("head's"), OTHER: checkpoint_text(skill="audit", updated_at="2026-03-04T00:00:00Z")},
        "merged",
    ),
    "other files merge beside it": Case(
        {**decided(), **FILES}, {**decided("main's"), "a.txt": "2\n"}, {**decided("head's"), "b.txt": "2\n"}, "merged"
    ),
    "a workflow's state": Case(
        pair(PHASE, json.dumps({**STATE, "last_updated": "2026-03-01T00:00:00Z"}, indent=2)),
        pair(PHASE, json.dumps({**STATE, "last_updated": "2026-03-02T00:00:00Z"}, indent=2)),
        pair(PHASE, json.dumps({**STATE, "last_updated": "2026-03-03T00:00:00Z"}, indent=2)),
        "merged",
    ),
    "moved here, changed there": Case(
        decided(), {PATH: None, OTHER: decided("main's")[PATH]}, decided("head's"), "merged"
    ),
    "made executable here, changed on both sides": Case(
        decided(), decided("main's"), {PATH: Entry("100755", decided("head's")[PATH].encode())}, "merged"
    ),
    "a name that looks like an option": Case(
        pair("-x/.checkpoints/--all.checkpoint.json", decided()[PATH]),
        pair("-x/.checkpoints/--all.checkpoint.json", decided("main's")[PATH]),
        pair("-x/.checkpoints/--all.checkpoint.json", decided("head's")[PATH]),
        "merged",
    ),
    "a name with quotes, blanks and a line break": Case(
        pair('it\'s "é"\n/.checkpoints/a b.checkpoint.json', decided()[PATH]),
        pair('it\'s "é"\n/.checkpoints/a b.checkpoint.json', decided("main's")[PATH]),
        pair('it\'s "é"\n/.checkpoints/a b.checkpoint.json', decided("head's")[PATH]),
        "merged",
    ),
    "a name that is no text": Case(
        pair("\udcff/.checkpoints/x.checkpoint.json", decided()[PATH]),
        pair("\udcff/.checkpoints/x.checkpoint.json", decided("main's")[PATH]),
        pair("\udcff/.checkpoints/x.checkpoint.json", decided("head's")[PATH]),
        "merged",
    ),
    "a conflict in a name full of control characters": Case(
        pair("\x1b[31m\n::error::x\udcff/.checkpoints/x.checkpoint.json", one()[PATH]),
        pair("\x1b[31m\n::error::x\udcff/.checkpoints/x.checkpoint.json", one(step="1")[PATH]),
        pair("\x1b[31m\n::error::x\udcff/.checkpoints/x.checkpoint.json", one(step="2")[PATH]),
        "conflicts", ("checkpoint",),
    ),
    # what the forge would merge by itself
    "only the pull request changed it": Case({**decided(), **FILES}, {"a.txt": "2\n"}, decided("head's"), "mergeable"),
    "only the base changed it": Case({**decided(), **FILES}, decided("main's"), {"a.txt": "2\n"}, "mergeable"),
    "places far apart": Case(decided(), decided(phase="ship"), decided(skill_state={"x": 1}), "mergeable"),
    "no checkpoint at all": Case(FILES, {"a.txt": "2\n"}, {"b.txt": "2\n"}, "mergeable"),
    "a new checkpoint": Case(FILES, {"a.txt": "2\n"}, decided(), "mergeable"),
    # silent blends
    "the same new key twice": Case(
        raw(*KEYS), raw(KEYS[0], '"new": "x",', *KEYS[1:]), raw(*KEYS[:5], '"new": "x",', *KEYS[5:]), "merged",
        mixed_up=(PATH,),
    ),
    "the same key twice, with two values": Case(
        raw(*KEYS), raw(KEYS[0], '"new": "x",', *KEYS[1:]), raw(*KEYS[:5], '"new": "y",', *KEYS[5:]), "conflicts",
        ("checkpoint",), mixed_up=(PATH,),
    ),
    "the same decision noted twice": Case(
        decided(), decided(first=("both",)), decided("x", "both", "y"), "merged", mixed_up=(PATH,)
    ),
    "a record that lines would blend": Case(
        pair(RECORD, "\n".join(YAML) + "\n"), pair(RECORD, "\n".join(["x: 1", *YAML]) + "\n"),
        pair(RECORD, "\n".join([*YAML, "y: 1"]) + "\n"), "conflicts", ("record",),
    ),
    # true conflicts
    "two names of the project": Case(one(), one(project="main's"), one(project="head's"), "conflicts", ("checkpoint",)),
    "two steps": Case(one(), one(step="main's"), one(step="head's"), "conflicts", ("checkpoint",)),
    "complete here, blocked there": Case(
        one(), one(progress_table=at("complete", 1)), one(progress_table=at("blocked", 1)), "conflicts", ("checkpoint",)
    ),
    "popped here, edited there": Case(
        one(next_actions=["one", "two"]), one(next_actions=["two"]),
        one(next_actions=[{"text": "one", "done_when": "make"}, "two"]), "conflicts", ("checkpoint",),
    ),
    "a conflict full of control characters": Case(
        one(), one(project="\x1b[31m\u202emain\n::error::x"), one(project="`<b>@all|head`"), "conflicts",
        ("checkpoint",),
    ),
    "one conflict beside much that merges": Case(
        decided(), decided("main's", step="1"), decided("head's", step="2"), "conflicts", ("checkpoint",)
    ),
    # what is no merge of checkpoints
    "another file in conflict": Case(FILES, {"a.txt": "2\n"}, {"a.txt": "3\n"}, "conflicts", ("file",)),
    "another file in conflict beside a clean checkpoint": Case(
        {**decided(), **FILES}, {**decided("main's"), "a.txt": "2\n"}, {**decided("head's"), "a.txt": "3\n"},
        "conflicts", ("file",),
    ),
    "another file and a checkpoint in conflict": Case(
        {**one(), **FILES}, {**one(step="1"), "a.txt": "2\n"}, {**one(step="2"), "a.txt": "3\n"},
        "conflicts", ("checkpoint", "file"),
    ),
    "removed in the base": Case({**decided(), **FILES}, {PATH: None}, decided("head's"), "conflicts", ("removed",)),
    "removed in the pull request": Case(
        {**decided(), **FILES}, decided("main's"), {PATH: None}, "conflicts", ("removed",)
    ),
    "removed in both": Case(
        {**decided(), **FILES}, {PATH: None, "a.txt": "2\n"}, {PATH: None, "b.txt": "2\n"}, "mergeable"
    ),
    "moved to two places": Case(
        decided(), {PATH: None, OTHER: decided()[PATH]},
        {PATH: None, "x/.checkpoints/build.checkpoint.json": decided()[PATH]}, "conflicts", ("renamed",) * 3,
    ),
    "no JSON in the base": Case(raw(*KEYS), raw("{", "main"), raw("{", "head"), "conflicts", ("text",)),
    "markers left in the pull request": Case(
        decided(), decided("main's"), pair(PATH, "<<<<<<< ours\n" + decided("head's")[PATH]), "conflicts", ("text",)
    ),
    "a key twice in the pull request": Case(
        raw(*KEYS), raw(*KEYS[:5], '"e": 6', "}"), raw(*KEYS[:5], '"e": 7,', '"e": 8', "}"), "conflicts", ("text",)
    ),
    "a link in its place": Case(
        decided(), decided("main's"), {PATH: Entry("120000", b"/etc/passwd")}, "conflicts", ("type",)
    ),
    "a folder in its place": Case(
        FILES, {"x": "a file\n"}, {"x/.checkpoints/build.checkpoint.json": decided()[PATH]}, "conflicts", ("type",)
    ),
    "a binary file": Case({"b": b"\0001"}, {"b": b"\0002"}, {"b": b"\0003"}, "conflicts", ("binary",)),
    # who has no say
    "attributes of the pull request ask for a union": Case(
        one(), one(step="1"), {**one(step="2"), ".gitattributes": "* merge=union\n"}, "conflicts", ("checkpoint",)
    ),
    "attributes of both ask for a union": Case(
        {**one(), ".gitattributes": "* merge=union\n", "a.txt": "1\n"},
        {**one(step="1"), "a.txt": "2\n"}, {**one(step="2"), "a.txt": "3\n"}, "conflicts", ("checkpoint", "file"),
    ),
    "attributes in the folder itself": Case(
        {**decided(), ".checkpoints/.gitattributes": "*.json -merge\n"}, decided("main's"), decided("head's"), "merged"
    ),
    "attributes forbid merging": Case(
        {**decided(), ".gitattributes": "* -merge -text\n"}, decided("main's"), decided("head's"), "merged"
    ),
    "a schema, a package and hooks of its own": Case(
        one(), one(step="1"),
        {**one(step="2"), "checkpoint_git/__init__.py": "raise SystemExit(9)\n", "json.py": "raise SystemExit(9)\n",
         ".checkpoints/schema.json": '{"x-merge": {"strategy": "max"}}', ".githooks/pre-push": "exit 1\n"},
        "conflicts", ("checkpoint",),
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def unnamed_bare_repositories() -> None:
    """Lets git use the forge by its folder alone: these tests call functions, for which no job
    names it.
    """
    Path(os.environ["HOME"], ".config/git/config").unlink(missing_ok=True)


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    """A bare repository with a base branch and a pull request for each case."""
    repo = GitRepo(tmp_path_factory.mktemp("forge") / "forge.git")
    repo.path.mkdir()
    repo.git("init", "-q", "--bare", "-b", "main")
    stream = Stream()
    for number, case in enumerate(CASES.values()):
        stream.commit(f"{number}/base", [], case.base)
        stream.commit(f"{number}/main", [f"{number}/base"], case.main)
        stream.commit(f"{number}/head", [f"{number}/base"], case.head)
    _add_shapes(stream)
    stream.write(repo)
    return repo


def _add_shapes(stream: Stream) -> None:
    """Histories of other shapes."""
    commit = stream.commit
    commit("shape/base", [], decided())
    for side in ("main", "head"):
        commit(f"cross/{side}1", ["shape/base"], decided(f"{side}1"))
    both = decided("head1", "main1")
    commit("cross/main2", ["cross/main1", "cross/head1"], both)
    commit("cross/head2", ["cross/head1", "cross/main1"], both)
    for side in ("main", "head"):
        commit(f"cross/{side}", [f"cross/{side}2"], decided("head1", "main1", f"{side}'s"))
        commit(f"cross/{side}-step", [f"cross/{side}2"], decided("head1", "main1", step=side))
    commit("octopus/a", ["shape/base"], {"a.txt": "a\n"})
    commit("octopus/b", ["shape/base"], {"b.txt": "b\n"})
    commit(
        "octopus/head1", ["shape/base", "octopus/a", "octopus/b"], {"a.txt": "a\n", "b.txt": "b\n"}
    )
    commit("octopus/head", ["octopus/head1"], decided("head's"))
    commit("octopus/main", ["shape/base"], decided("main's"))
    commit("stranger", [], decided("another beginning"))


def request(forge: GitRepo, base: str, head: str) -> PullRequest:
    ids = [forge.git("rev-parse", name) for name in (base, head)]
    return PullRequest(
        str(forge.path),
        "origin",
        "main",
        "topic",
        ids[0],
        ids[1],
        f"refs/heads/{head}",
        False,
        False,
    )


def run(forge: GitRepo, base: str, head: str) -> tuple[PullRequest, Premerge]:
    asked = request(forge, base, head)
    return asked, premerge(asked, seconds(NOON), dict(os.environ))


def read(forge: GitRepo, commit: str, path: str) -> str | None:
    """A file of a commit, None where it has none."""
    done = forge.run("git", "cat-file", "blob", f"{commit}:{path}")
    return done.stdout.decode() if done.returncode == 0 else None


def leaves(text: str | None) -> Counter[str]:
    """What a document says, place by place but for the numbers of lists; what is no JSON: its
    lines.
    """
    if text is None:
        return Counter()
    try:
        value = json.loads(text, parse_int=str, parse_float=str)
    except ValueError:
        return Counter(text.splitlines())
    found: Counter[str] = Counter()
    stack = [("", value)]
    while stack:
        where, part = stack.pop()
        if isinstance(part, dict):
            stack += [(f"{where}/{key}", each) for key, each in part.items()]
        elif isinstance(part, list):
            stack += [(f"{where}/-", each) for each in part]
        else:
            found[f"{where} {part}"] += 1
    return found


# places of which one side's value stands for both, or a sum
DECIDED = ("/updated_at ", "/last_updated ", "/cost/", "/progress_table/-/status ")


def is_kept_whole(leaf: str) -> bool:
    return not leaf.startswith(DECIDED)


@pytest.mark.parametrize("name", CASES)
def test_a_pull_request_is_merged_or_explained(forge: GitRepo, name: str) -> None:
    number, case = list(CASES).index(name), CASES[name]
    asked, done = run(forge, f"{number}/main", f"{number}/head")
    assert done.state == case.state
    assert done.merged is not None
    assert tuple(remaining.kind for remaining in done.merged.remaining) == case.left
    assert done.mixed_up == case.mixed_up
    outcome = describe_premerge(asked, done)
    assert outcome.code == int(case.state == "conflicts")
    if case.state == "conflicts":
        assert not done.commit
        assert {finding.path for finding in outcome.findings} == {
            one.path for one in done.merged.remaining
        }
        button = any(
            line.text.endswith("do not press it")
            for line in outcome.blocks
            if isinstance(line, Line)
        )
        assert button == merge_plainly(forge, asked.base, asked.head).clean
    if case.state == "merged":
        check_merge(forge, asked, done)


def check_merge(forge: GitRepo, asked: PullRequest, done: Premerge) -> None:
    """Everything that either side wrote is in the merge, all that it took away is gone, and the
    button works.
    """
    parents = forge.git("rev-list", "--parents", "-1", done.commit).split()[1:]
    assert parents == [asked.head, asked.base]
    base = forge.git("merge-base", asked.head, asked.base)
    for file in done.merged.files if done.merged else ():
        before, ours, theirs, made = (leaves(text) for text in (
            (file.sides[1] or b"").decode() or None, (file.sides[0] or b"").decode(), (file.sides[2] or b"").decode(),
            read(forge, done.commit, file.path),
        ))  # fmt: skip
        assert made, file.path
        written, taken = (ours - before) | (theirs - before), (before - ours) | (before - theirs)
        assert not [leaf for leaf in written - made if is_kept_whole(leaf)]
        assert not [leaf for leaf in taken if made[leaf] > before[leaf] - 1 and is_kept_whole(leaf)]
        known = before + (ours - before) + (theirs - before)
        assert not [leaf for leaf in made - known if is_kept_whole(leaf)], "from neither side"
    for side in (asked.head, asked.base):
        for path in list_written(forge, base, side):
            assert read(forge, done.commit, path) is not None or is_moved(forge, base, asked, path)
    button = merge_plainly(forge, asked.base, done.commit)
    assert (button.clean, button.tree) == (True, forge.git("rev-parse", f"{done.commit}^{{tree}}"))


def list_written(forge: GitRepo, base: str, side: str) -> list[str]:
    """The paths that a side added or changed."""
    done = forge.run("git", "diff", "-z", "--name-only", "--diff-filter=AM", base, side)
    return [path for path in os.fsdecode(done.stdout).split("\0") if path]


def is_moved(forge: GitRepo, base: str, asked: PullRequest, path: str) -> bool:
    """Whether one of the sides gave a file another name."""
    said = [
        forge.git("diff", "-M", "--name-status", "--diff-filter=R", base, side)
        for side in (asked.head, asked.base)
    ]
    return any(f"\t{path}\t" in text for text in said)


def test_a_running_total_is_the_sum_of_what_both_spent(forge: GitRepo) -> None:
    number = list(CASES).index("both spent money")
    _, done = run(forge, f"{number}/main", f"{number}/head")
    made = json.loads(read(forge, done.commit, PATH) or "", parse_float=str)
    assert made["cost"]["total_usd"] == "1.75"


def test_the_later_time_and_the_further_status_stand(forge: GitRepo) -> None:
    for name, where in (
        ("both worked at another time", "updated_at"),
        ("both advanced the same row", "progress_table"),
    ):
        number = list(CASES).index(name)
        _, done = run(forge, f"{number}/main", f"{number}/head")
        assert (
            json.loads(read(forge, done.commit, PATH) or "")[where]
            == json.loads(
                CASES[name].head[PATH]  # type: ignore[arg-type]  # a text
            )[where]
        )


def test_a_criss_cross_is_merged_with_the_merge_of_its_bases(forge: GitRepo) -> None:
    asked, done = run(forge, "cross/main", "cross/head")
    assert done.merged is not None
    assert len(done.merged.bases) == 2
    assert done.state == "merged"
    made = json.loads(read(forge, done.commit, PATH) or "")["context_primer"]["key_decisions"]
    assert sorted(made) == sorted([*DECISIONS, "head1", "main1", "head's", "main's"])
    assert describe_premerge(asked, done).code == 0


def test_a_criss_cross_with_a_true_conflict_remains(forge: GitRepo) -> None:
    _, done = run(forge, "cross/main-step", "cross/head-step")
    assert done.merged is not None
    assert [clash.where for remaining in done.merged.remaining for clash in remaining.clashes] == [
        "/step"
    ]


def test_an_octopus_in_the_pull_request_is_history_like_any_other(forge: GitRepo) -> None:
    asked, done = run(forge, "octopus/main", "octopus/head")
    assert done.state == "merged"
    check_merge(forge, asked, done)


@pytest.mark.parametrize(
    ("base", "head", "state"),
    [
        ("shape/base", "shape/base", "contained"),
        ("cross/main1", "shape/base", "contained"),
        ("cross/main2", "cross/head1", "contained"),
        ("shape/base", "cross/head1", "up-to-date"),
    ],
)
def test_where_one_has_all_of_the_other_nothing_is_done(
    forge: GitRepo, base: str, head: str, state: str
) -> None:
    asked, done = run(forge, base, head)
    assert (done.state, done.commit) == (state, "")
    assert describe_premerge(asked, done).code == 0


def test_unrelated_histories_are_refused(forge: GitRepo) -> None:
    with pytest.raises(CheckpointError, match="no common ancestor"):
        run(forge, "shape/base", "stranger")


@pytest.mark.parametrize("name", [".git", "..", ".GIT"])
def test_a_path_that_git_checks_out_nowhere_is_refused(forge: GitRepo, name: str) -> None:
    number = list(CASES).index("both decided something")
    blob = forge.run(
        "git", "hash-object", "-w", "--stdin", stdin=b"[core]\n\tfsmonitor = touch /tmp/x\n"
    ).stdout
    inner = (
        forge.run("git", "mktree", stdin=b"100644 blob %s\tconfig\n" % blob.strip())
        .stdout.decode()
        .strip()
    )
    listed = forge.git("ls-tree", f"{number}/head") + f"\n040000 tree {inner}\t{name}\n"
    tree = forge.run("git", "mktree", stdin=listed.encode()).stdout.decode().strip()
    evil = forge.git("commit-tree", tree, "-p", f"{number}/head", "-m", "evil")
    with pytest.raises(CheckpointError, match="invalid path") as caught:
        run(forge, f"{number}/main", evil)
    assert "made by hand" in str(caught.value.hint)


def test_a_merged_pull_request_is_done(forge: GitRepo) -> None:
    number = list(CASES).index("both decided something")
    asked, done = run(forge, f"{number}/main", f"{number}/head")
    again = premerge(asked._replace(head=done.commit), seconds(NOON), dict(os.environ))
    assert again.state == "up-to-date"


@pytest.mark.parametrize(
    "case",
    ["a conflict full of control characters", "a conflict in a name full of control characters"],
)
@pytest.mark.parametrize("format_name", FORMATS)
def test_a_strangers_text_reaches_no_terminal_page_or_log(
    forge: GitRepo, format_name: str, case: str
) -> None:
    number = list(CASES).index(case)
    outcome = describe_premerge(*run(forge, f"{number}/main", f"{number}/head"))
    said = render("ci", outcome, format_name, Screen())
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert not [line for line in said.splitlines() if line.startswith("::error::x")]
    if format_name == "md":
        assert "<b>" not in said
        assert "@all" not in said


def test_there_are_enough_pull_requests() -> None:
    assert len(CASES) >= 40
    assert checkpoint()["skill"] in PATH
