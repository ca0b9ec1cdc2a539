"""Small real repositories, drifted and healthy: what history proves of actions, blockers and listed
files.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from checkpoint_git.core.clock import DAY, read_instant, write_instant
from checkpoint_git.disk.discover import find_place
from checkpoint_git.mcp.calls import World
from checkpoint_git.mcp.tools import TOOLS
from checkpoint_git.protocols.contract import StatusQuestion
from checkpoint_git.protocols.skill.brief.session_brief import summarize_for_session
from checkpoint_git.protocols.skill.verbs import next as next_verb
from checkpoint_git.protocols.skill.verbs import resume, show
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.report import verb as report
from checkpoint_git.tools.status import verb as status
from tests.support.command import run_here
from tests.support.hints import COMMAND, follow
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import run_verb, seconds

BEGAN = (read_instant("2026-03-01T12:00:00Z") or (0, ""))[0]
PATH = ".checkpoints/build.checkpoint.json"


def on(day: float) -> str:
    return write_instant(BEGAN + int(day * DAY))


class Step(NamedTuple):
    """A commit to main; with `side` a merge of a branch, whose commits say that. files: None
    removes.
    """

    message: str
    day: float = 10
    side: tuple[str, ...] = ()
    files: Mapping[str, str | None] = MappingProxyType({})


def merge(message: str, *side: str, day: float = 10) -> Step:
    return Step(message, day, side or ("Work",))


def says(*actions: Any, day: float = 20, **changes: Any) -> str:
    """The checkpoint as it was written on a day."""
    fields = {
        "created_at": on(0),
        "updated_at": on(day),
        "project_dir": ...,
        "next_actions": list(actions),
        **changes,
    }
    return checkpoint_text(**{"context_primer": {"generated_files": []}, **fields})


def lists(*files: str) -> str:
    return says("Go on", context_primer={"generated_files": list(files)})


def asks(text: str, **more: Any) -> str:
    blocker = {"id": "b1", "description": "Slow", "needs": "code_fix", "proposed_resolution": text}
    return says("Go on", blockers=[blocker], **more)


class Row(NamedTuple):
    """text: the checkpoint. skips: `next` skips the first action. state: of the reference that the
    next one names. finds: part of the doctor's one finding about it, "" for none. remote: of
    origin.
    """

    name: str
    steps: tuple[Step, ...]
    text: str
    skips: bool = False
    state: str = ""
    finds: str = ""
    remote: str = ""


GITLAB = merge("Merge branch 'search' into 'main'\n\nSearch\n\nSee merge request group/proj!12")
GITHUB = merge("Merge pull request #12 from ada/search")
SQUASH = Step("Add search (#12)")
HERE = "git@github.com:acme/app.git"
REVERT = Step('Revert "Add search (#12)"', 12)
TICKETS = (
    "ABC-12: add the model",
    "[ABC-12] x",
    "feat(ABC-12): x",
    "fix: ABC-12 x",
    "x (ABC-12)",
    "ABC-12",
)
FILES = Step(
    "Add files",
    1,
    (),
    {f"src/api/{name}.py": f"{name}\n" * 30 for name in ("users", "posts", "tags")},
)
OLD: dict[str, str | None] = {f"src/api/{name}.py": None for name in ("users", "posts", "tags")}


def moved(folder: str, day: float = 10) -> Step:
    new = {f"{folder}/{name}.py": f"{name}\n" * 30 for name in ("users", "posts", "tags")}
    return Step(f"Move the API to {folder}", day, (), {**OLD, **new})


def skipped(name: str, action: str, *steps: Step, finds: str = "", remote: str = "") -> Row:
    return Row(name, steps, says(action), skips=True, finds=finds or "is finished", remote=remote)


# fmt: off
DRIFTED = (
    skipped("GitHub merge", "Merge PR #12", GITHUB),
    skipped("squash merge", "Land #12", SQUASH),
    skipped("GitLab merge", "Merge !12", GITLAB),
    skipped("GitLab merge, own link", "Merge https://gitlab.com/group/proj/-/merge_requests/12", GITLAB,
        remote="git@gitlab.com:group/proj.git"),
    skipped("Bitbucket merge", "Merge PR #12", merge("Merged in feature/search (pull request #12)")),
    skipped("Azure merge", "Merge PR 12", Step("Merged PR 12: Add search")),
    skipped("Azure link", "Merge https://dev.azure.com/acme/shop/_git/app/pullrequest/12",
        Step("Merged PR 12: Add search"), remote="git@ssh.dev.azure.com:v3/acme/shop/app"),
    skipped("Gerrit change", "Merge https://review.example.org/c/proj/+/12345",
        Step("Add search\n\nChange-Id: I0123\nReviewed-on: https://review.example.org/c/proj/+/12345"),
        remote="ssh://ada@review.example.org:29418/proj"),
    skipped("conventional subject", "Land #12", Step("feat(search): add it (#12)")),
    skipped("landed again", "Merge #12", SQUASH, REVERT, Step('Reapply "Add search (#12)"', 13)),
    skipped("merged again", "Merge #12", SQUASH, REVERT, Step("Add search (#12)", 13)),
    skipped("own link", "Merge https://github.com/acme/app/pull/12", SQUASH, remote=HERE),
    skipped("own name", "Merge acme/app#12", SQUASH, remote="https://github.com/Acme/app"),
    Row("stated", (SQUASH,), says({"text": "Tell Ada", "done_when_merged": ["PR 12"]}), skips=True,
        finds="#12 was merged"),
    Row("then more", (SQUASH,), says("Merge #12, then deploy"), state="merged", finds="1 (#12)"),
    Row("after it", (SQUASH,), says("After #12: deploy"), state="merged", finds="1 (#12)"),
    Row("in German", (SQUASH,), says("PR #12 zur\u00fcckrollen"), state="merged", finds="1 (#12)"),
    Row("link, origin unknown", (SQUASH,), says("Merge acme/app#12"), state="merged", finds="1 (acme/app#12)"),
    Row("issue closed", (Step("Add search\n\nFixes #12"),), says("Fix #12"), state="closed", finds="1 (#12 closed)"),
    Row("ticket closed", (Step("x\n\nFixes ABC-12"),), says("Land ABC-12"), state="closed", finds="1 (ABC-12 closed)"),
    Row("blocker", (Step("Faster (#77)"),), asks("PR #77"), finds="#77 was merged"),
    Row("blocker by link", (Step("Faster (#77)"),), asks("https://github.com/acme/app/pull/77"), finds="#77 was merged",
        remote=HERE),
    Row("dependency", (Step("Faster (#77)"),), says("Go on", depends_on="PR #77"), finds="#77 was merged"),
    Row("file renamed", (FILES, moved("src/http")), lists("src/api/users.py"), finds="src/http/users.py"),
    Row("folder renamed", (FILES, moved("src/http")), lists("src/api/"), finds="src/http/"),
    Row("pattern renamed", (FILES, moved("src/http")), lists("src/api/*.py"), finds="src/http/*.py"),
    Row(
        "renamed twice",
        (
            FILES,
            moved("src/http"),
            Step(
                "Move again",
                11,
                (),
                {
                    **{f"src/http/{name}.py": None for name in ("users", "posts", "tags")},
                    **{f"web/{name}.py": f"{name}\n" * 30 for name in ("users", "posts", "tags")},
                },
            ),
        ),
        lists("src/api/*.py (handlers)"),
        finds="web/*.py",
    ),
    Row("case alone", (FILES, moved("src/Api")), lists("src/api/users.py"), finds="src/Api/users.py"),
    Row(
        "deleted on purpose",
        (FILES, Step("Remove the old API", 10, (), OLD)),
        lists("src/api/users.py"),
        finds='"Remove the old API"',
    ),
    Row(
        "pattern deleted",
        (FILES, Step("Remove the old API", 10, (), OLD)),
        lists("src/api/*.py"),
        finds='"Remove the old API"',
    ),
)
HEALTHY = (
    Row("a count", (Step("Faster (#233)"),), says("Keep 233 rows and the PR template as they are")),
    Row("merged before the checkpoint", (SQUASH._replace(day=-5),), says("Merge #12")),
    Row("blocker noted after the merge", (SQUASH._replace(day=-5),), asks("PR #12")),
    Row("reverted by its number", (SQUASH, REVERT), says("Merge #12"), state="reverted"),
    Row("reverted by its id", (SQUASH, Step("Out again\n\nThis reverts commit {0}.", 12)), says("Merge #12"),
        state="reverted"),
    Row("merge reverted", (GITHUB, Step("Out again\n\nThis reverts commit {0}, reversing\nchanges.", 12)),
        says("Merge #12"), state="reverted"),
    Row("its revert alone is merged", (SQUASH, Step('Revert "Add search (#12)" (#13)', 12)), says("Merge #12"),
        state="reverted"),
    Row("another repository", (SQUASH,), says("Merge acme/other#12"), remote=HERE),
    Row("another owner", (SQUASH,), says("Merge https://github.com/other-owner/app/pull/12"), remote=HERE),
    Row("another owner in a blocker", (SQUASH,), asks("other-owner/app#12"), remote=HERE),
    Row("another repository's is closed", (Step("Work around it\n\nFixes other-owner/app#12"),), says("Merge #12"),
        remote=HERE),
    Row("a ticket's commits", tuple(Step(subject) for subject in TICKETS), says("Finish ABC-12"), state="named"),
    Row("a ticket's branch", (merge("Merge branch 'ABC-12'"),), says("Merge ABC-12"), state="named"),
    Row("mere mentions", (Step("Prepare\n\nrefs #12, part of ABC-12"),), says("Merge #12"), state="named"),
    Row("work in progress", (Step("WIP: search (#12)"),), says("Merge #12"), state="named"),
    Row("a fixup", (Step("fixup! Add search (#12)"),), says("Merge #12"), state="named"),
    Row("quoted in a message", (Step("Prepare\n\nThe plan was: merge #12 first"),), says("Merge #12"), state="named"),
    Row("issue, not merge request", (Step("Add search\n\nCloses #12"),), says("Merge !12")),
    Row("another branch's", (Step("Start"),), says("Merge #99")),
    Row("a longer number", (Step("Add search (#123)"), Step("ABC-121: search")), says("Merge #12", "Finish ABC-12")),
    Row("a number of the plan", (SQUASH,), says("Step #12 of the plan: measure")),
    Row("blocker resolved", (SQUASH,), says("Go on", blockers=[
        {"id": "b1", "description": "Slow", "needs": "code_fix", "proposed_resolution": "PR #12", "resolved": True}])),
    Row("dependency elsewhere", (SQUASH,), says("Go on", depends_on=["acme/other#12"]), remote=HERE),
    Row("file split", (FILES, Step("Split", 10, (), {"src/api/names.py": "names\n" * 30, "src/api/users.py": "u\n"})),
        lists("src/api/users.py", "src/api/*.py")),
    Row("files that are there", (FILES,), lists("src/api/", "src/api/*.py", "src/api/tags.py (names, new)",
        "./src/api/users.py", "src/../src/api/posts.py", "src/api/{users,tags}.py", "src/api/old.py (deleted in #3)")),
)  # fmt: skip


def build(repo: GitRepo, row: Row) -> None:
    """The repository of a row. In a message "{0}" is the id of the commit before."""
    tip = ""
    for step in (Step("Begin", -20, (), {".gitignore": "dist/\n"}), *row.steps):
        parts, heads = [], f"from {tip}\n" if tip else ""
        for mark, message in enumerate(step.side, 1):
            parts.append(_commit("side", mark, message, step.day - 1, f"from :{mark - 1}\n" if mark > 1 else heads))
        heads += f"merge :{len(step.side)}\n" if step.side else ""
        parts.append(_commit("main", 99, step.message.replace("{0}", tip), step.day, heads, step.files))
        done = repo.run("git", "fast-import", "--quiet", stdin="".join(parts).encode())
        assert done.returncode == 0, done.stderr.decode()
        tip = repo.git("rev-parse", "main")
    repo.git("reset", "-q", "--hard", "main")
    repo.write(PATH, row.text)
    if row.remote:
        repo.git("remote", "add", "origin", row.remote)


def _commit(
    branch: str, mark: int, message: str, day: float, heads: str, files: "Mapping[str, str | None] | None" = None
) -> str:
    head = f"commit refs/heads/{branch}\nmark :{mark}\ncommitter Ada <a@b.c> {BEGAN + int(day * DAY)} +0000\n"
    changes = (
        f"D {path}\n" if text is None else f"M 100644 inline {path}\ndata {len(text.encode())}\n{text}\n"
        for path, text in (files or {}).items()
    )
    return f"{head}data {len(message.encode())}\n{message}\n{heads}{''.join(changes)}"


CODES = {"drift/action-shipped", "drift/blocker-shipped", "drift/file-missing"}


def look(cwd: Path) -> tuple[bool, str, list[str]]:
    """(whether the first action is skipped, the state of what the next one names, what the doctor
    finds).
    """
    now, env = on(21), dict(os.environ)
    following = run_verb(next_verb, cwd=cwd, now=now, env=env).outcome.data
    ran = run_verb(doctor, "--check", "drift", cwd=cwd, now=now, env=env)
    found = [f"{one.message}; {one.hint}" for one in ran.outcome.findings if one.code in CODES]
    return bool(following["skipped"]), "".join(one["state"] for one in following["references"]), found


@pytest.mark.parametrize("row", [*DRIFTED, *HEALTHY], ids=lambda row: row.name.replace(" ", "-"))
def test_history_proves_what_is_so_and_nothing_else(repo: GitRepo, row: Row) -> None:
    build(repo, row)
    skips, state, found = look(repo.path)
    assert (skips, state) == (row.skips, row.state)
    assert len(found) == bool(row.finds), found
    assert row.finds in "".join(found)


@pytest.mark.parametrize("row", DRIFTED, ids=lambda row: row.name.replace(" ", "-"))
def test_the_hint_of_a_planted_drift_settles_it(repo: GitRepo, row: Row) -> None:
    build(repo, row)
    (hint,) = _find_hints(repo.path)
    command = COMMAND.fullmatch(hint)
    assert command, hint
    done = follow(repo.path, command[1], "Tell Ada" if "..." in hint else "")
    # doctor goes on to say what else it finds
    assert done.returncode < 2, f"{hint}\n{done.stdout}{done.stderr}"
    assert _find_hints(repo.path) == []


def _find_hints(cwd: Path) -> list[str]:
    ran = run_here("doctor", "--check", "drift", "--json", cwd=cwd)
    return [each["hint"] for each in json.loads(ran.stdout)["findings"] if each["code"] in CODES]


@pytest.mark.parametrize(
    "row", [row for row in (*DRIFTED, *HEALTHY) if FILES in row.steps], ids=lambda row: row.name.replace(" ", "-")
)
def test_resume_and_prime_agree_with_the_doctor_on_listed_files(repo: GitRepo, row: Row) -> None:
    build(repo, row)
    now = on(22)
    ran = run_verb(resume, "build", cwd=repo.path, now=now)
    told = [one.message for one in ran.outcome.findings if one.code == "drift/file-missing"]
    summary = summarize_for_session(StatusQuestion(find_place(str(repo.path)), seconds(now), {}, "prime"))
    gone = [line for line in summary.lines if line.startswith("  src/")]
    assert (len(told), len(gone)) == (bool(row.finds), bool(row.finds))
    assert row.finds in "".join(told)
    assert row.finds in "".join(gone)


FACT = "#12 was merged 11 days ago ("
STATED = {"text": "Tell Ada", "done_when_merged": ["#12"]}


def test_every_view_shows_the_facts_below_an_action_and_what_it_skips(repo: GitRepo, tmp_path: Path) -> None:
    build(repo, Row("", (SQUASH,), says("Merge #12, then deploy", STATED, "Land #12")))
    live = "Merge #12, then deploy\n"
    for verb, words in ((status, []), (status, ["build"]), (status, ["--merged"]), (next_verb, ["--all"])):
        ran = run_verb(verb, *words, cwd=repo.path, now=on(21), env={})
        at = ran.text.index(live) + len(live)
        assert ran.text[at:].lstrip().startswith(FACT), (verb, words)
        assert words == ["--merged"] or "next: Tell Ada" not in ran.text
    assert "2 actions were skipped" in run_verb(next_verb, cwd=repo.path, now=on(21), env={}).text
    assert "2 actions skipped as merged" in run_verb(status, cwd=repo.path, now=on(21), env={}).text
    ran = run_verb(resume, "build", cwd=repo.path, now=on(21))
    assert f"Next: {live}    {FACT}" in ran.text
    assert f"Skipped: Tell Ada\n    {FACT}" in ran.text
    (action,) = ran.outcome.data["next_actions"]
    (reference,) = action["references"]
    assert (reference["reference"], reference["state"], reference["at"]) == ("#12", "merged", on(10))
    assert reference.keys() == {"reference", "state", "at", "commit", "rule"}
    summary = summarize_for_session(StatusQuestion(find_place(str(repo.path)), seconds(on(21)), {}, "prime"))
    assert summary.lines[summary.lines.index(f"Next: {live[:-1]}") + 1].strip().startswith(FACT)
    assert any(line.startswith(f"  build: Tell Ada; {FACT}") for line in summary.lines)
    assert f"next_actions.0: {FACT}" in run_verb(show, "build", cwd=repo.path, now=on(21)).stderr
    run_verb(report, "-o", str(tmp_path / "page.html"), "--no-doctor", cwd=repo.path, now=on(21))
    assert (tmp_path / "page.html").read_text().count(FACT) >= 4


def test_a_ticket_is_live_in_every_view_whatever_its_commits_say(repo: GitRepo) -> None:
    build(repo, Row("", tuple(Step(subject) for subject in TICKETS), says("Finish ABC-12", "Write")))
    fact = f"ABC-12 is named by {len(TICKETS)} commits, last "
    for verb, words in ((status, []), (status, ["build"]), (status, ["--brief"]), (next_verb, []), (resume, ["build"])):
        text = run_verb(verb, *words, cwd=repo.path, now=on(21), env={}).text
        at = text.index("Finish ABC-12\n") + len("Finish ABC-12\n")
        assert text[at:].lstrip().startswith(fact), (verb, words)
    summary = summarize_for_session(StatusQuestion(find_place(str(repo.path)), seconds(on(21)), {}, "prime"))
    assert summary.lines[summary.lines.index("Next: Finish ABC-12") + 1].strip().startswith(fact)
    assert "no next action" in run_verb(status, "--merged", cwd=repo.path, now=on(21), env={}).text


def test_an_agent_is_told_the_same_over_mcp(repo: GitRepo) -> None:
    build(repo, Row("", (SQUASH,), says("Merge #12", "Merge #12, then deploy", "Land #99")))
    for tool in ("checkpoint_status", "checkpoint_next", "checkpoint_resume", "checkpoint_show"):
        (chosen,) = (each for each in TOOLS if each.name == tool)
        asked = {} if tool == "checkpoint_next" else {"skill": "build"}
        answer = chosen.run(asked, World(str(repo.path), "")).document
        (own,) = answer.get("skills", [answer])
        references = own["references"] if "references" in own else own["next_actions"][0]["references"]
        assert {(one["reference"], one["state"]) for one in references} == {("#12", "merged")}, tool
        skipped = own.get("skipped_actions", own.get("shipped_actions", []))
        assert [one.get("action", one.get("text")) for one in skipped] == ["Merge #12"] * (tool != "checkpoint_show")


def test_an_agent_that_adds_a_merge_gets_what_finishes_it(repo: GitRepo) -> None:
    build(repo, Row("", (), says("Go on")))
    (update,) = (each for each in TOOLS if each.name == "checkpoint_update")
    added = {"next_actions": ["Merge #12", "Merge #13, then deploy"]}
    answer = update.run({"skill": "build", "append": added}, World(str(repo.path), "")).document
    stated = {"text": "Merge #12", "done_when_merged": ["#12"]}
    assert answer["waiting_for_merges"] == [stated]
    assert json.loads(repo.read(PATH))["next_actions"] == ["Go on", stated, "Merge #13, then deploy"]


def test_without_references_no_git_is_started(repo: GitRepo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    build(repo, Row("", (SQUASH,), says("Write 12 tests", "Go on")))
    monkeypatch.setenv("PATH", str(tmp_path))
    for verb in (next_verb, status):
        ran = run_verb(verb, cwd=repo.path, now=on(21), env={})
        assert "next/no-history" not in ran.codes


@pytest.mark.parametrize("story", ["moved on another branch", "in a submodule", "split", "renamed back", "copied"])
def test_a_listed_file_is_missing_only_where_it_is(repo: GitRepo, story: str) -> None:
    build(repo, Row("", (FILES,), lists("src/api/users.py")))
    moves, finds = list[str](), ""
    if story == "moved on another branch":
        moves = ["checkout -q -b side", "mv src/api/users.py src/people.py", "commit -qm Move", "checkout -q main"]
    elif story == "split":
        repo.write("src/names.py", "users\n" * 9)
        repo.write("src/mails.py", "mails\n" * 9)
        moves, finds = ["rm -q src/api/users.py", "add src", "commit -qm Split"], '"Split"'
    elif story == "renamed back":
        moves = ["mv src/api/users.py src/a.py", "commit -qm Away", "mv src/a.py src/api/users.py", "commit -qm Back"]
    elif story == "copied":
        repo.write("src/copy.py", repo.read("src/api/users.py"))
        moves = ["add src", "commit -qm Copy"]
    else:
        part = GitRepo.create(repo.path.parent / "part")
        part.write("lib.py", "lib\n")
        part.commit("Add")
        moves = [f"-c protocol.file.allow=always submodule add -q {part.path} vendor/part", "commit -qm Vendor"]
        repo.write(PATH, lists("vendor/part/lib.py", "vendor/part/"))
    for words in moves:
        repo.git(*words.split())
    _, _, found = look(repo.path)
    ran = run_verb(resume, "build", cwd=repo.path, now=on(22))
    told = [one for one in ran.outcome.findings if one.code == "drift/file-missing"]
    summary = summarize_for_session(StatusQuestion(find_place(str(repo.path)), seconds(on(22)), {}, "prime"))
    gone = [line for line in summary.lines if line.startswith("  src/")]
    assert (len(found), len(told), len(gone)) == (bool(finds),) * 3, found
    assert finds in "".join(found)
    assert finds in "".join(gone)


def test_every_view_tells_of_a_blocker_that_what_it_proposes_is_merged(repo: GitRepo, tmp_path: Path) -> None:
    build(repo, Row("", (SQUASH,), asks("Merge #12")))
    note = f"Slow (proposed: Merge #12; {FACT}"
    for verb, words in ((status, []), (status, ["build"]), (resume, ["build"])):
        ran = run_verb(verb, *words, cwd=repo.path, now=on(21), env={})
        assert f"blocker b1: {note}" in ran.text
        (blocker,) = (ran.outcome.data.get("skills") or [ran.outcome.data])[0]["blockers"]
        assert [one["state"] for one in blocker["references"]] == ["merged"]
    summary = summarize_for_session(StatusQuestion(find_place(str(repo.path)), seconds(on(21)), {}, "prime"))
    assert any(note in line for line in [*summary.lines, *summary.details])
    run_verb(report, "-o", str(tmp_path / "page.html"), "--no-doctor", cwd=repo.path, now=on(21))
    assert (tmp_path / "page.html").read_text().count(FACT) == 1


def test_a_shallow_clone_tells_what_it_knows_and_that_it_may_lack_more(repo: GitRepo, tmp_path: Path) -> None:
    build(repo, Row("", (SQUASH, Step("Sort (#13)", 11)), says("Merge #12", "Merge #13")))
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.path}", str(tmp_path / "clone"))
    (tmp_path / "clone/.checkpoints").mkdir()
    (tmp_path / "clone" / PATH).write_text(repo.read(PATH))
    ran = run_verb(doctor, "--check", "drift", cwd=tmp_path / "clone", now=on(21), env={})
    assert sorted(one.code for one in ran.outcome.findings) == ["drift/action-shipped", "drift/history-partial"]
    assert "#13" in ran.outcome.findings[0].message
