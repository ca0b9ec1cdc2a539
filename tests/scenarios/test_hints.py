"""Every hint of a checkpoint's findings, followed to the letter in a shell: afterwards the finding
is gone.
"""

import inspect
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from checkpoint_git.protocols.check import collect_checks
from checkpoint_git.protocols.skill import rules, shape
from checkpoint_git.protocols.skill.drift import checks
from tests.support.command import run_here
from tests.support.hints import COMMAND, follow
from tests.support.records import put_record
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint

SKILL = "bob's build"
PATH = f".checkpoints/{SKILL}.checkpoint.json"
ROW = {"id": "a", "label": "A", "status": "complete"}
BLOCKER = {"id": "b1", "description": "Which region?", "needs": "user_decision"}
TICKET = {"provider": "jira", "id": "A-1"}
DECISIONS = [f"decision {number}" for number in range(25)]


class Hint(NamedTuple):
    """make: fields of the checkpoint that bring the finding, or a function that does. where: of the
    finding, "" for any. answer: what the user writes for "..." in the command, or in place of an
    answer on a terminal (--take ours); None: it works as it is printed; WORDS: there is no command.
    """

    code: str
    make: dict[str, Any] | Callable[[GitRepo], None]
    answer: str | None = None
    where: str = ""


WORDS = ""  # the answer where only the file itself can be edited


def write(repo: GitRepo, **changes: Any) -> None:
    value = checkpoint(**{"skill": SKILL, "project_dir": str(repo.path), **changes})
    repo.write(PATH, json.dumps(value, indent=2))


def commit(repo: GitRepo, **changes: Any) -> None:
    """The checkpoint written by now, with everything else committed before."""
    repo.write("docs/plan.md", "the plan\n")
    repo.write("lib/it's.py", "pass\n" * 30)
    repo.commit("Add the notes (#340)")
    write(repo, **changes)
    repo.commit("write")


def primer(*files: str) -> dict[str, Any]:
    return {
        "context_primer": {
            "key_decisions": ["x"],
            "generated_files": list(files),
            "user_preferences": [],
        }
    }


def committed(**changes: Any) -> Callable[[GitRepo], None]:
    return lambda repo: commit(repo, **changes)


def blocked(**changes: Any) -> dict[str, Any]:
    """Work that a merged pull request unblocks."""
    return {
        "status": "blocked",
        "blockers": [{**BLOCKER, "proposed_resolution": "PR #340", **changes}],
    }


def then(*words: str, **changes: Any) -> Callable[[GitRepo], None]:
    """The committed checkpoint, and a shell line of git's after it."""

    def make(repo: GitRepo) -> None:
        commit(repo, **changes)
        for line in words:
            done = repo.run("sh", "-c", line)
            assert done.returncode == 0, done.stderr

    return make


def raw(name: str, text: str) -> Callable[[GitRepo], None]:
    def make(repo: GitRepo) -> None:
        commit(repo)
        repo.write(name, text)

    return make


def marked(repo: GitRepo) -> None:
    write(repo)
    repo.write(PATH, "\ufeff" + repo.read(PATH))


def conflict(repo: GitRepo) -> None:
    commit(repo)
    repo.git("checkout", "-q", "-b", "other")
    write(repo, project="theirs")
    repo.commit("theirs")
    repo.git("checkout", "-q", "main")
    write(repo, project="ours")
    repo.commit("ours")
    repo.git("merge", "-q", "other", check=False)


def markers(repo: GitRepo) -> None:
    commit(repo)
    line = '  "project": "tidepool",\n'
    both = f"<<<<<<< ours\n{line}=======\n{line.replace('tide', 'rock')}>>>>>>> theirs\n"
    repo.write(PATH, repo.read(PATH).replace(line, both))


def stash(repo: GitRepo) -> None:
    commit(repo)
    for project, words in (
        ("theirs", "stash -q"),
        ("ours", "commit -qam ours"),
        ("", "stash pop -q"),
    ):
        if project:
            write(repo, project=project)
        repo.git(*words.split(), check=False)


def removed(repo: GitRepo) -> None:
    """By one side, while the other changed it: there are no markers."""
    commit(repo)
    repo.git("checkout", "-q", "-b", "other")
    repo.git("rm", "-q", PATH)
    repo.commit("theirs")
    repo.git("checkout", "-q", "main")
    write(repo, project="ours")
    repo.commit("ours")
    repo.git("merge", "-q", "other", check=False)


def harmed(**changes: Any) -> Callable[[GitRepo], None]:
    """By a merge in which somebody wrote this by hand."""

    def make(repo: GitRepo) -> None:
        commit(repo)
        for name in ("other", "main"):
            repo.git("checkout", "-q", *(("-b",) if name == "other" else ()), name)
            write(repo, next_actions=["Write", name])
            repo.commit(name)
        repo.git("merge", "-q", "other", check=False)
        write(repo, **changes)
        repo.commit("merge")

    return make


def pulling(ours: str = "", *, is_committed: bool = True) -> Callable[[GitRepo], None]:
    """Where the upstream has moved on, and ours changed the project, if at all."""

    def make(repo: GitRepo) -> None:
        commit(repo)
        origin = repo.path.parent / "origin"
        repo.git("clone", "-q", "--bare", str(repo.path), str(origin))
        repo.git("remote", "add", "origin", str(origin))
        write(repo, project="theirs")
        repo.commit("theirs")
        repo.git("push", "-q", "-u", "origin", "main")
        repo.git("reset", "-q", "--hard", "HEAD~1")
        if ours:
            write(repo, project=ours, next_actions=["Write", "Mine"])
        if ours and is_committed:
            repo.commit("ours")

    return make


def records(line: str) -> Callable[[GitRepo], None]:
    def make(repo: GitRepo) -> None:
        commit(repo)
        put_record(repo.path / ".claude/checkpoints")
        repo.commit("record")
        done = repo.run("sh", "-c", f"cd .claude/checkpoints/*/*; {line}")
        assert done.returncode == 0, done.stderr

    return make


def merging(repo: GitRepo) -> None:
    """All is resolved, and git waits for the commit."""
    conflict(repo)
    write(repo)
    repo.git("add", "-A")


def shallow(repo: GitRepo) -> None:
    commit(repo, next_actions=["Merge #340"])
    repo.write("docs/plan.md", "newer\n")
    repo.commit("more")
    origin = repo.path.parent / "origin"
    repo.git("clone", "-q", "--bare", str(repo.path), str(origin))
    repo.git("clone", "-q", "--depth=1", f"file://{origin}", str(repo.path.parent / "clone"))
    for name in (".git", ".checkpoints", "docs", "lib"):
        repo.run("rm", "-rf", name)
        repo.run("mv", str(repo.path.parent / "clone" / name), name)


ISO = "2026-03-31T14:00:00Z"
HINTS = [
    # rules.py
    Hint("skill/file-name", {"skill": "other"}),
    Hint("skill/updated-before-created", {"updated_at": "2026-02-01T00:00:00Z"}),
    Hint("skill/updated-in-future", {"updated_at": "2099-01-01T00:00:00Z"}),
    Hint(
        "skill/updated-in-future",
        {"created_at": "2098-01-01T00:00:00Z", "updated_at": "2099-01-01T00:00:00Z"},
    ),
    Hint("skill/timestamp", {"created_at": "2026-03-01"}),
    Hint("skill/timestamp", {"created_at": "2026-03-01T08:00:00"}),
    Hint("skill/timestamp", {"created_at": "2026-02-29T00:00:00Z"}, "2026-02-28T00:00:00Z"),
    Hint("skill/timestamp", {"created_at": 7}, "2026-02-28T00:00:00Z"),
    Hint("skill/timestamp", {"updated_at": 7}),
    Hint("skill/unclear-timestamp", {"verified_at": "soon"}, ISO),
    Hint("skill/unclear-timestamp", {"recently_done": [{"text": "x", "at": "2026-03-01"}]}),
    Hint("skill/offset-timestamp", {"created_at": "2026-03-01T10:00:00.25+02:00"}),
    Hint(
        "skill/offset-timestamp",
        {"blockers": [{**BLOCKER, "resolved_at": "2026-03-02T09:30:00+02:00"}]},
    ),
    Hint("skill/relative-project-dir", {"project_dir": "app"}),
    Hint(
        "skill/file-too-big",
        {"skill_state": {"merged_prs": [{"number": at, "title": "x" * 99} for at in range(400)]}},
    ),
    Hint("skill/file-too-big", {"skill_state": {"notes": ["x" * 99] * 400}}, WORDS),
    Hint("skill/summary-too-long", {"progress_summary": "x " * 900}, "short"),
    Hint("skill/too-many-decisions", {"context_primer": {"key_decisions": DECISIONS}}),
    Hint("skill/over-budget", {"cost": {"total_usd": 3, "budget_usd": 2}}, "4"),
    Hint("skill/telemetry-handle", {"telemetry_handle": "  "}),
    Hint("skill/telemetry-handle", {"telemetry_handle": []}),
    Hint("skill/row-id-twice", {"progress_table": [ROW, ROW]}, "b"),
    Hint("skill/next-actions-empty", {"next_actions": []}, "Write it's page"),
    Hint("skill/next-actions-empty", {"next_actions": ...}, "Write"),
    Hint(
        "skill/no-progress-table",
        {"progress_table": [], "recently_done": [{"text": "x", "at": ISO}]},
        "one",
    ),
    Hint("skill/no-context-primer", {"context_primer": {}}, "SQLite"),
    Hint("skill/action-shape", {"next_actions": [" "]}, "Write"),
    Hint("skill/action-shape", {"next_actions": ["a", {"text": " "}]}, "Write"),
    Hint("skill/blocked-by-nothing", {"status": "blocked"}, "No key"),
    Hint("skill/complete-but-undecided", {"status": "complete", "blockers": [BLOCKER]}),
    Hint("skill/pm-ref-body", {"pm_refs": [{**TICKET, "body": "x"}]}),
    Hint("skill/pm-ref-body", {"pm_refs": [{**TICKET, "id": "x" * 600}]}, "A-1"),
    Hint("skill/score-above-max", {"eval_scores": [{"rubric": "a", "score": 6, "max": 5}]}, "5"),
    Hint("skill/blocker-id-twice", {"blockers": [BLOCKER, BLOCKER]}, "b2"),
    Hint("skill/blocks-unknown-row", {"blockers": [{**BLOCKER, "blocking": "none"}]}),
    Hint("skill/misplaced-operator", {"merged_prs+": []}),
    Hint("skill/misplaced-operator", {"skill_state": {"a b:json": 1}}),
    Hint("skill/misplaced-operator", {"a=b": 1}, WORDS),
    Hint("skill/unknown-field", {"nextActions": []}),
    Hint("skill/unknown-field", {"progress_table": [{**ROW, "lable": "x"}]}),
    # shape.py
    Hint("skill/missing-field", {"phase": ...}, "build"),
    Hint("skill/missing-field", {"skill": ...}),
    Hint("skill/missing-field", {"updated_at": ...}),
    Hint("skill/missing-field", {"created_at": ...}, "2026-03-01T08:00:00Z"),
    Hint("skill/missing-field", {"status": ...}, "in_progress"),
    Hint("skill/empty-field", {"step": ""}, "two"),
    Hint("skill/empty-field", {"step": "  "}, "two"),
    Hint("skill/protocol-version", {"protocol_version": "0.9"}),
    Hint("skill/protocol-version", {"protocol_version": "2.0"}),
    Hint("skill/unknown-status", {"status": "done"}),
    Hint("skill/unknown-status", {"status": "almost"}),
    Hint("skill/unknown-row-status", {"progress_table": [{**ROW, "status": "wip"}]}),
    Hint("skill/unknown-need", {"blockers": [{**BLOCKER, "needs": "luck"}]}),
    Hint("skill/unknown-role", {"pm_refs": [{**TICKET, "role": "x"}]}),
    Hint("skill/row-incomplete", {"progress_table": [{"id": "a", "status": "complete"}]}, "A"),
    Hint("skill/row-incomplete", {"progress_table": [{"id": "a", "label": "A"}]}, "complete"),
    Hint("skill/wrong-type", {"progress_table": ["x"]}, "a"),
    Hint("skill/blocker-incomplete", {"blockers": [{"id": "b"}]}, "No key"),
    Hint("skill/pm-ref-incomplete", {"pm_refs": [{"id": "A-1"}]}, "jira"),
    Hint("skill/eval-score-incomplete", {"eval_scores": [{"rubric": "a"}]}, "5"),
    Hint("skill/action-shape", {"next_actions": [7]}, "Write"),
    Hint("skill/action-shape", {"next_actions": [{}]}, "Write"),
    Hint("skill/action-shape", {"next_actions": [{"text": "a", "done_when": 7}]}),
    Hint("skill/action-shape", {"next_actions": [{"text": "a", "done_when_merged": "#12"}]}),
    Hint(
        "skill/action-shape",
        {"next_actions": [{"text": "a", "done_when_merged": ["#12", 7]}]},
        "#13",
    ),
    Hint(
        "drift/action-done",
        {
            "next_actions": ["A", "B"],
            "recently_done": [{"text": "A", "at": "2026-03-01T09:00:00Z"}],
        },
    ),
    Hint("skill/action-never-done", {"next_actions": [{"text": "a", "done_when_merged": []}]}),
    Hint(
        "skill/action-never-done",
        {"next_actions": [{"text": "a", "done_when_merged": ["ABC-12"]}]},
        "#13",
    ),
    Hint("skill/wrong-type", {"step": 7}, "two"),
    Hint("skill/wrong-type", {"next_actions": "Write"}),
    Hint("skill/wrong-type", {"blockers": "none"}, "b1"),
    Hint("skill/wrong-type", {"skill_state": []}, "x"),
    Hint("skill/wrong-type", {"cost": {"total_usd": "5"}}, "5"),
    Hint("skill/negative-amount", {"cost": {"total_usd": -5}}, "5"),
    # checks.py
    Hint("json/byte-order-mark", marked),
    Hint("git/ignored", then("echo .checkpoints > .gitignore; git rm -rq --cached .checkpoints")),
    Hint("git/untracked", then("git rm -rq --cached .checkpoints")),
    Hint("drift/project-dir", committed(project_dir="/nowhere/at all")),
    Hint("drift/stale-in-progress", committed(), "Half of it works."),
    Hint("drift/stale-blocked", committed(status="blocked", blockers=[BLOCKER]), answer="yes"),
    Hint("drift/stale-blocked", committed(status="blocked", blockers=[])),
    Hint(
        "drift/complete-but-moving",
        then("echo x >> docs/plan.md; git commit -qam more", status="complete"),
    ),
    Hint(
        "drift/file-missing",
        then('git mv "lib/it\'s.py" lib/new.py; git commit -qm mv', **primer("lib/it's.py (new)")),
    ),
    Hint(
        "drift/file-missing",
        then(
            "cp lib/* lib/b.py; git add .; git commit -qm b; git mv lib src; git commit -qm mv",
            **primer("lib/{it's,b}.py (new)"),
        ),
    ),
    Hint(
        "drift/file-missing",
        then("mkdir src; git mv lib/* src/new.py; git commit -qm mv", **primer("lib/{it's,no}.py")),
        "src/new.py",
    ),
    Hint(
        "drift/file-missing",
        then("git mv lib src && git commit -qm mv", **primer("lib/it's.py", "src/it's.py")),
    ),
    Hint(
        "drift/file-missing",
        then(
            'mkdir -p "docs/old plans"; git mv docs/plan.md "docs/old plans"; git commit -qm mv',
            **primer("docs/plan.md (v1)"),
        ),
    ),
    Hint(
        "drift/file-missing",
        then('git mv docs/plan.md "the plan"; git commit -qm mv', **primer("docs/plan.md")),
    ),
    Hint(
        "drift/file-missing",
        then("git rm -q lib/*; git commit -qm rm", **primer("docs/plan.md", "lib/it's.py")),
    ),
    Hint("drift/file-missing", then("rm lib/*", **primer("lib/it's.py"))),
    Hint("drift/file-missing", then("echo dist > .gitignore", **primer("dist/$(touch x).js"))),
    Hint("drift/file-missing", committed(**primer("docs/{a,b}.md"))),
    Hint("drift/file-missing", committed(**primer("plan.md (v1)"))),
    Hint("drift/file-missing", committed(**primer("/etc/x"))),
    Hint("drift/file-uncommitted", then('touch "lib/a b.py"', **primer("lib/a b.py"))),
    Hint(
        "drift/file-changed",
        then("echo x >> docs/plan.md; git commit -qam more", **primer("docs/plan.md")),
    ),
    Hint("drift/action-shipped", committed(next_actions=["Merge #340", "Write"])),
    Hint("drift/action-shipped", committed(next_actions=["Merge #340"]), "Write"),
    Hint(
        "drift/action-shipped",
        committed(next_actions=["Write", {"text": "Go", "done_when_merged": ["#340"]}]),
    ),
    Hint(
        "drift/action-shipped",
        committed(next_actions=["After #340 lands, tell Ada's team", "Write"]),
    ),
    Hint(
        "drift/action-shipped",
        committed(next_actions=["After #340 lands, tell Ada's team"]),
        "Tell Ada",
    ),
    Hint("drift/action-shipped", committed(next_actions=["Write", 'Do #340 \u2014 "$(touch x)"'])),
    Hint(
        "drift/blocker-shipped",
        committed(blockers=[{**BLOCKER, "proposed_resolution": "Fixed by #340"}]),
        "Yes",
    ),
    Hint(
        "drift/blocker-shipped",
        committed(blockers=[{**BLOCKER, "proposed_resolution": "#340 or #1"}]),
        "Yes",
    ),
    Hint("drift/blocker-shipped", committed(**blocked(needs="external_dep"))),
    Hint("drift/blocker-shipped", committed(depends_on="#340")),
    Hint("drift/history-partial", shallow),
    Hint("drift/commit-unknown", committed(verified_for_sha="deadbeef" * 5), "HEAD"),
    Hint("content/unreviewed", committed(superseded=[{"step": "x"}])),
    Hint(
        "content/rotation-due",
        committed(skill_state={"merged_prs": [{"number": at} for at in range(60)]}),
    ),
    Hint("content/not-read", raw(".checkpoints/My notes.Checkpoint.JSON", "{}")),
    Hint("merge/unresolved", conflict, "--take ours"),
    Hint("merge/unresolved", markers, "--take ours"),
    Hint("merge/unresolved", merging),
    # protocols/validate.py
    Hint("json/syntax", then(f': > "{PATH}"')),
    Hint("json/syntax", then(f'printf "%s" "{{" > "{PATH}"')),
    Hint("json/not-an-object", then(f'echo "[]" > "{PATH}"')),
    Hint("json/conflict-markers", markers, "--take ours"),
    Hint("file/missing", then(f'rm "{PATH}"; ln -s nowhere "{PATH}"')),
    Hint("json/conflict-markers", stash, "--take ours"),
    Hint("git/unmerged", removed, "--take ours"),
    # tools/merges/checks.py
    Hint("merge/lost-entry", harmed(next_actions=["Write", "main"])),
    Hint(
        "merge/duplicated",
        harmed(next_actions=["Write", "main", "other"], progress_table=[ROW, ROW]),
    ),
    Hint("upstream/behind", pulling()),
    Hint("upstream/diverged", pulling("tidepool")),
    Hint("upstream/uncommitted", pulling("ours", is_committed=False), "mine"),
    # pipeline
    Hint("pipeline/changed", records("perl -ni -e 'print if $. > 1; close ARGV if eof' *.yaml")),
    Hint("pipeline/changed", records("git rm -q *.yaml")),
    Hint("pipeline/changed", records("cd ../../../..; rm -r .claude")),
    Hint("pipeline/broken", records("perl -pi -e s/^/x/ *.yaml")),
]
"""Code by code; several rows for one where its hint differs."""


def name(hint: Hint) -> str:
    made = json.dumps(hint.make, default=str)[:50] if isinstance(hint.make, dict) else ""
    return f"{hint.code} {made}"


def test_every_finding_of_a_checkpoint_has_a_row() -> None:
    codes = {each.code for each in collect_checks(checks)} - {"schema"}
    codes |= {
        code
        for room in (rules, shape)
        for code in re.findall(r'"((?:skill/|layout)[a-z-]*)"', inspect.getsource(room))
    }
    # no rule of the schema brings that today
    assert codes - {hint.code for hint in HINTS} == {"skill/shape"}


@pytest.mark.parametrize("hint", HINTS, ids=map(name, HINTS))
def test_a_hint_settles_its_finding(repo: GitRepo, hint: Hint) -> None:
    if isinstance(hint.make, dict):
        write(repo, **hint.make)
    else:
        hint.make(repo)
    found = find(repo, hint)
    assert found, "the row brings no such finding"
    text = found[0]["hint"]
    command = COMMAND.fullmatch(text)
    assert " NAME" not in text
    if hint.answer == WORDS:
        assert text
        return
    assert command, text
    line = command[1]
    assert ("..." in line) == (not (hint.answer or "--").startswith("--")), line
    done = follow(repo.path, line, hint.answer or "")
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    remaining = find(repo, hint)
    assert found[0] not in remaining, f"{line}\n{done.stdout}"
    assert len(remaining) < len(found), f"{line}\n{done.stdout}"


@pytest.mark.parametrize("needs", ["external_dep", "user_decision"])
def test_work_goes_on_once_its_merged_blocker_is_settled(repo: GitRepo, needs: str) -> None:
    commit(repo, **blocked(needs=needs))
    (before,) = [each for each in list_findings(repo) if each["code"] == "drift/blocker-shipped"]
    command = COMMAND.fullmatch(before["hint"])
    assert command
    assert follow(repo.path, command[1], "Yes" * (needs == "user_decision")).returncode == 0
    assert not any(each["code"] == "drift/blocker-shipped" for each in list_findings(repo))
    assert json.loads(repo.read(PATH))["status"] == "in_progress"


def list_findings(repo: GitRepo) -> list[dict[str, Any]]:
    """What the doctor says."""
    found: list[dict[str, Any]] = json.loads(run_here("doctor", "--json", cwd=repo.path).stdout)[
        "findings"
    ]
    return found


def find(repo: GitRepo, hint: Hint) -> list[dict[str, Any]]:
    """The findings of that code, without the numbers of lines."""
    is_rule = (
        isinstance(hint.make, dict)
        or hint.code.split("/")[0] in ("file", "json")
        or hint.code == "git/unmerged"
    )
    ran = run_here(
        *(("validate",) if is_rule else ("doctor", "--check", hint.code)), "--json", cwd=repo.path
    )
    every = [{**each, "line": 0, "column": 0} for each in json.loads(ran.stdout)["findings"]]
    return [each for each in every if each["code"] == hint.code]
