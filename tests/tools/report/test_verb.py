"""checkpoint report: the page of real projects, read by a parser and by a browser."""

import json
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.tools.report import verb
from checkpoint_git.tools.report.page import make_policy
from tests.support.browser import needs_browser, show
from tests.support.html import Reader
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.verbs import Ran, run_verb

ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "a", "header", "main", "footer", "div", "p", "h1", "h2",
    "h3", "h4", "ul", "ol", "li", "span", "code", "button", "nav", "section", "table", "caption", "thead", "tbody",
    "tr", "th", "td", "progress", "details", "summary", "figure", "figcaption", "svg", "desc", "line", "text",
    "path", "script", "g", "input", "strong", "time", "rect",
}  # fmt: skip
EVIL = (
    "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"
    "<svg onload=document.title='pwned'></svg>\"'><iframe src=javascript:top.document.title='pwned'></iframe>"
    "</style></script></title></textarea>--><!--<b id=evil>]]><![CDATA[ &lt;i&gt; {{7*7}} ${7*7}"
    "\x1b[31mred\x1b[0m\x1b]0;t\x07\u202eright\u2066\x00\u200b\ud800\u2028"
)
LONG = "w" * 400 + " https://example.org/" + "p" * 300


def write_evil(repo: GitRepo, skill: str, status: str = "in_progress") -> None:
    """A checkpoint with a hostile text in every field that may be one."""
    rows = [
        {"id": EVIL, "label": EVIL, "status": EVIL},
        {"id": "r", "label": LONG, "status": "complete"},
    ]
    question = {"id": EVIL, "description": EVIL, "blocking": EVIL, "proposed_resolution": EVIL}
    options = [EVIL, LONG, "<img src=x onerror=\"document.title='pwned'\">", "'; touch pwned; '"]
    address = f"https://example.org/{EVIL}"
    value: dict[str, Any] = {
        **dict.fromkeys(
            ("project", "project_dir", "created_at", "phase", "step", "depends_on"), EVIL
        ),
        "protocol_version": "1.0",
        "skill": skill,
        "updated_at": "2026-03-02T09:30:00Z",
        "status": status,
        "progress_summary": EVIL + LONG,
        "progress_table": rows,
        "context_primer": {"key_decisions": [EVIL, {"text": EVIL}], "generated_files": [EVIL]},
        "blockers": [
            {**question, "needs": "user_decision", "options": options},
            {"id": "b2", "description": LONG, "needs": EVIL},
        ],
        "next_actions": [EVIL, {"text": EVIL, "done_when": EVIL}],
        "recently_done": [{"text": EVIL, "at": EVIL}],
        "pm_refs": [
            {
                "provider": EVIL,
                "id": EVIL,
                "url": "javascript:document.title='pwned'",
                "role": EVIL,
            },
            {"provider": "x", "id": "AB-1", "url": address, "role": "source"},
            {
                "provider": "x",
                "id": "AB-2",
                "url": "https://example.org/AB-2",
                "first_seen_at": EVIL,
            },
        ],
        "cost": {"total_usd": 5, "budget_usd": 1},
        "skill_state": {"private": "never shown"},
    }
    repo.write(f".checkpoints/{skill}.checkpoint.json", json.dumps(value))


@pytest.fixture
def evil(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """A repository in which every text that the page can show is hostile."""
    monkeypatch.setenv("GIT_AUTHOR_NAME", "<script>document.title='pwned'</script>\x1b[31m")
    repo.git("checkout", "-q", "-b", "<b>onerror=x</b>")
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.commit("<img src=x onerror=document.title='pwned'>\x1b[2J")
    write_evil(repo, "build")
    write_evil(repo, "<b id=evil>&amp;", "blocked")
    repo.write(".checkpoints/broken.checkpoint.json", f"{{ {EVIL[:200]}")
    repo.commit("Grow evil")
    return repo


def report(repo: GitRepo, *words: str) -> Ran:
    return run_verb(verb, "-o", "status.html", *words, cwd=repo.path)


def read_page(repo: GitRepo) -> str:
    return (repo.path / "status.html").read_text("utf-8")


def parse(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def test_the_page_tells_what_status_next_log_and_doctor_know(repo: GitRepo) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.commit("Start")
    blocker = {"id": "b1", "description": "Which host?", "needs": "user_decision"}
    ticket = {
        "provider": "linear",
        "id": "AB-1",
        "role": "source",
        "url": "https://example.org/AB-1",
    }
    repo.write(
        ".checkpoints/build.checkpoint.json", checkpoint_text(blockers=[blocker], pm_refs=[ticket])
    )
    repo.commit("Ask")
    ran = report(repo)
    texts = [text.strip() for text in parse(read_page(repo)).texts]
    for said in ("tidepool: status of all work", "Which host?", "Write the notes API", "Sprint 2: notes", "AB-1",
                 "1 decision waiting on you", "drift/project-dir"):  # fmt: skip
        assert said in texts, said
    assert any("blocker opened: Which host?" in text for text in texts)
    assert ran.outcome.data["sections"] == [
        "decisions",
        "next",
        "board",
        "timeline",
        "changes",
        "drift",
        "skills",
        "tickets",
    ]
    assert ran.outcome.code == 0


def test_without_the_doctor_the_page_says_so(repo: GitRepo) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    ran = report(repo, "--no-doctor")
    assert ran.outcome.data["findings_told"] is None
    assert "the doctor did not run" in read_page(repo)


def test_private_state_is_not_on_the_page_and_secrets_are_taken_out(repo: GitRepo) -> None:
    token = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ2rS4tU6"
    text = checkpoint_text(skill_state={"x": "very private"}, next_actions=[f"push with {token}"])
    repo.write(".checkpoints/build.checkpoint.json", text)
    repo.commit(f"use {token}")
    report(repo, "--no-doctor")
    page = read_page(repo)
    assert "very private" not in page
    assert token not in page
    assert "push with [redacted]" in page


def test_an_empty_folder_makes_a_page_too(repo: GitRepo) -> None:
    repo.write(".checkpoints/README.md", "")
    report(repo, "--no-doctor")
    assert "No checkpoints yet" in read_page(repo)


def test_outside_git_the_page_lacks_the_history_and_says_so(tmp_path: Path) -> None:
    folder = tmp_path / ".checkpoints"
    folder.mkdir()
    (folder / "build.checkpoint.json").write_text(checkpoint_text(), "utf-8")
    ran = run_verb(verb, cwd=tmp_path)
    assert ran.outcome.data["path"] == str(tmp_path / "checkpoint-report.html")
    assert "not a git repository" in (tmp_path / "checkpoint-report.html").read_text("utf-8")


def test_a_file_that_is_no_report_is_kept(repo: GitRepo) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.write("status.html", "mine")
    with pytest.raises(CheckpointError):
        report(repo, "--no-doctor")
    assert repo.read("status.html") == "mine"


def test_a_checkpoint_of_five_megabytes_is_cut_with_a_note(repo: GitRepo) -> None:
    rows = [
        {"id": f"r{at}", "label": f"Row {at} " + "x" * 200, "status": "complete"}
        for at in range(10_000)
    ]
    big = checkpoint_text(
        progress_table=rows,
        progress_summary="s" * 1_000_000,
        next_actions=["a" * 100_000] * 10,
        context_primer={"key_decisions": ["d" * 1_000] * 500},
        phase="p" * 50_000,
    )
    repo.write(".checkpoints/build.checkpoint.json", big)
    repo.commit("Grow")
    report(repo, "--no-doctor")
    page = read_page(repo)
    assert len(big) > 4_900_000
    assert len(page) < 150_000
    assert "what is shown of it is cut" in page
    assert "9940 more not shown" in page


def test_many_checkpoints_make_no_endless_page(repo: GitRepo) -> None:
    for at in range(300):
        repo.write(
            f".checkpoints/s{at}.checkpoint.json",
            checkpoint_text(skill=f"s{at}", progress_summary="x" * 3_000),
        )
    report(repo, "--no-doctor")
    assert len(read_page(repo)) < 1_000_000
    assert "240 more checkpoints not shown" in read_page(repo)


def test_of_hostile_texts_a_parser_sees_no_element_and_no_handler(evil: GitRepo) -> None:
    report(evil)
    page = read_page(evil)
    reader = parse(page)
    assert {name for name, _ in reader.elements} <= ELEMENTS
    assert [name for name, _ in reader.elements].count("script") == 1
    attributes = [(key, value or "") for _, found in reader.elements for key, value in found]
    assert not [
        key
        for key, _ in attributes
        if key.startswith("on") or key in ("style", "src", "srcdoc", "action")
    ]
    links = {value for key, value in attributes if key == "href"}
    assert {link for link in links if not re.fullmatch(r"#[a-z0-9-]+", link)} == {
        "https://example.org/AB-2"
    }
    assert ("id", "evil") not in attributes
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e\u2066\u2028]", page)
    assert "never shown" not in page
    assert "&amp;lt;i&amp;gt;" in page, "what was escaped already stays what it was"


def test_the_policy_allows_the_pages_own_style_and_script_alone(evil: GitRepo) -> None:
    report(evil, "--no-doctor")
    page = read_page(evil)
    style, script = (
        page.partition(f"<{name}>")[2].partition(f"</{name}>")[0] for name in ("style", "script")
    )
    policies = [dict(found).get("content") for name, found in parse(page).elements
                if name == "meta" and ("http-equiv", "Content-Security-Policy") in found]  # fmt: skip
    assert policies == [make_policy(style, script)]
    assert "default-src 'none'" in str(policies[0])
    assert "unsafe" not in str(policies[0])
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert not re.search(r"url\(|@import", style)


def test_headings_tables_and_landmarks_are_in_order(evil: GitRepo) -> None:
    report(evil)
    elements = parse(read_page(evil)).elements
    names = [name for name, _ in elements]
    assert (
        names.count("h1"),
        names.count("main"),
        names.count("header"),
        names.count("footer"),
    ) == (1, 1, 1, 1)
    levels = [int(name[1]) for name in names if re.fullmatch("h[1-6]", name)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert names.count("caption") == names.count("table") > 2
    assert all("scope" in dict(found) for name, found in elements if name == "th")
    identifiers = [value for _, found in elements for key, value in found if key == "id"]
    assert len(identifiers) == len(set(identifiers))
    targets = [
        str(value)[1:]
        for _, found in elements
        for key, value in found
        if key == "href" and str(value)[0] == "#"
    ]
    assert set(targets) <= set(identifiers)


def test_the_page_goes_to_stdout_as_it_is(repo: GitRepo) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text(progress_summary="two\nlines"))
    ran = run_verb(verb, "-o", "-", "--no-doctor", cwd=repo.path)
    assert ran.text + "\n" == ran.outcome.data["html"]
    assert ran.text.startswith("<!DOCTYPE html>")


# in a real browser


@needs_browser
def test_in_a_browser_nothing_hostile_runs_and_only_the_own_script_does(evil: GitRepo) -> None:
    report(evil, "--no-doctor")
    shown = show(evil.path / "status.html")
    assert "pwned" not in shown.dom.partition("<title>")[2].partition("</title>")[0].replace(
        "'pwned'", ""
    )
    assert not re.search(r"<(img|iframe|b|i)\b|id=\"evil\"", shown.dom)
    assert 'id="theme"' in shown.dom
    assert not re.search(r'<button id="theme"[^>]* hidden', shown.dom), (
        "the page's own script did not run"
    )
    assert shown.console == []


@needs_browser
def test_in_a_browser_a_page_with_another_script_runs_none(repo: GitRepo) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    report(repo, "--no-doctor")
    page = read_page(repo).replace(
        "</body>", "<img src=x onerror=\"document.title='pwned'\"></body>"
    )
    (repo.path / "status.html").write_text(page.replace('"use strict";', '"use  strict";'), "utf-8")
    shown = show(repo.path / "status.html")
    assert re.search(r'<button id="theme"[^>]* hidden', shown.dom)
    assert "<title>pwned" not in shown.dom
    assert any("Content Security Policy" in line for line in shown.console)


PROBE = """<script>
const isWide = (one) => one.getBoundingClientRect().right > innerWidth + 1;
const wide = [...document.querySelectorAll("body *")].filter(isWide).map((one) => one.outerHTML.slice(0, 80));
parent.postMessage(JSON.stringify([innerWidth, document.documentElement.scrollWidth, wide]), "*");
</script></body>"""
FRAME = """<!DOCTYPE html><output></output><script>
onmessage = (told) => { document.querySelector("output").textContent = told.data; };
</script><iframe src="status.html" width="WIDTH" height="900" frameborder="0"></iframe>"""


@needs_browser
@pytest.mark.parametrize("width", [360, 800])
def test_in_a_browser_nothing_is_wider_than_the_window(evil: GitRepo, width: int) -> None:
    report(evil, "--no-doctor")
    page = (
        read_page(evil).replace("Content-Security-Policy", "nothing", 1).replace("</body>", PROBE)
    )
    evil.write("status.html", page.replace("<details", "<details open"))
    evil.write("frame.html", FRAME.replace("WIDTH", str(width)))
    dom = show(evil.path / "frame.html").dom
    found = json.loads(
        dom.partition("<output>")[2]
        .partition("</output>")[0]
        .replace("&lt;", "<")
        .replace("&gt;", ">")
    )
    assert found[0] == width
    assert found[1] <= width, found[2]


def test_a_skill_whose_name_begins_like_another_has_a_lane_of_its_own(repo: GitRepo) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.commit("One")
    repo.write(
        ".checkpoints/build.two.checkpoint.json", checkpoint_text(skill="build.two", step="x")
    )
    repo.commit("Two")
    report(repo, "--no-doctor")
    table = read_page(repo).partition("Changes, newest first</caption>")[2].partition("</table>")[0]
    skills = re.findall(r'<td class="short" data-head="Checkpoint">([^<]*)</td>', table)
    assert sorted(skills) == ["build", "build.two"]


STORY: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("2026-02-01T12:00:00Z", "Ada", {}),
    ("2026-02-27T12:00:00Z", "Ben &", {"step": "sprint-3"}),
)


def write_story(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> str:
    """Two commits of one checkpoint, a month apart; the id of the second."""
    for at, who, changes in STORY:
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            monkeypatch.setenv(name, at)
        monkeypatch.setenv("GIT_AUTHOR_NAME", who)
        repo.write(".checkpoints/build.checkpoint.json", checkpoint_text(**changes))
        commit = repo.commit("Write")
    return commit


@pytest.mark.parametrize(
    ("since", "recent", "news"),
    [
        ((), ["Ben &"], "yesterday: no changes"),
        (
            ("--since", "60d"),
            ["Ben &", "Ada"],
            "2026-01-01: 2 changes by 2 people, 2 new decisions",
        ),
        (("--since", "2026-03-01"), [], "2026-03-01: no changes"),
    ],
)
def test_what_changed_since_a_time_and_by_whom(
    repo: GitRepo,
    monkeypatch: pytest.MonkeyPatch,
    since: tuple[str, ...],
    recent: list[str],
    news: str,
) -> None:
    write_story(repo, monkeypatch)
    report(repo, "--no-doctor", *since)
    page = read_page(repo)
    assert re.findall(r"<p class=.lead.>Since ([^<]*)</p>", page) == [news]
    section = page.partition('<section id="changes"')[2].partition("</section>")[0]
    assert [text for name, text in re.findall(r"<(strong)>([^<]*)", section)] == [
        one.replace("&", "&amp;") for one in recent
    ]
    assert section.count("1 commit: build") == len(recent)
    assert ("Older changes: " in section) == (len(recent) < 2)
    assert section.count("<tr><th") == 2 + (1 if recent else 0) + (1 if len(recent) < 2 else 0)


def test_since_is_a_time(repo: GitRepo) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    with pytest.raises(CheckpointError, match="cannot parse"):
        report(repo, "--no-doctor", "--since", "someday")


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/acme/app.git", "https://github.com/acme/app/commit/"),
        (
            "https://ada:secret@gitlab.acme.org:8443/a/b/app",
            "https://gitlab.acme.org:8443/a/b/app/-/commit/",
        ),
        ("git@bitbucket.org:acme/app.git", "https://bitbucket.org/acme/app/commits/"),
        ("ssh://git@codeberg.org:2222/acme/app.git/", "https://codeberg.org/acme/app/commit/"),
        ("https://example.org/acme/app.git", ""),
        ("/srv/git/github.com/app.git", ""),
        ('https://github.com/a"><script>/x', 'https://github.com/a"><script>/x/commit/'),
    ],
)
def test_commits_link_to_the_forge_of_the_remote(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, remote: str, address: str
) -> None:
    commit = write_story(repo, monkeypatch)
    repo.git("remote", "add", "origin", remote)
    report(repo, "--no-doctor")
    links = [
        dict(found).get("href") or ""
        for name, found in parse(read_page(repo)).elements
        if name == "a"
    ]
    assert [link for link in links if commit in link] == ([address + commit] if address else [])


SCRIPTED = """<script>
const filter = document.getElementById("filter");
filter.value = "which"; filter.dispatchEvent(new Event("input"));
const units = [...document.querySelectorAll("#skills details[id^='skill-'], .card, #decisions li")];
const seen = units.filter((one) => !one.hidden);
const found = [
  filter.hidden, seen.map((one) => one.className || one.tagName), document.querySelectorAll(".copy").length,
  document.querySelector(".card time").textContent,
];
const folded = document.getElementById("skills-complete");
folded.open = false;
filter.value = "api"; filter.dispatchEvent(new Event("input"));
parent.postMessage(JSON.stringify([...found, folded.open, folded.querySelector("details").hidden]), "*");
</script></body>"""


@needs_browser
def test_in_a_browser_times_are_ages_commands_can_be_copied_and_a_filter_unfolds_or_hides(
    repo: GitRepo,
) -> None:
    question = {"id": "b1", "description": "Which host?", "needs": "user_decision"}
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3 * 86_400 - 60))
    repo.write(
        ".checkpoints/build.checkpoint.json", checkpoint_text(blockers=[question], updated_at=at)
    )
    complete = checkpoint_text(skill="api", status="complete", next_actions=[])
    repo.write(".checkpoints/api.checkpoint.json", complete)
    report(repo, "--no-doctor")
    assert f">{at[:10]} {at[11:16]}</time>" in read_page(repo), (
        "without the script the time is that of the file"
    )
    page = (
        read_page(repo)
        .replace("Content-Security-Policy", "nothing", 1)
        .replace("</body>", SCRIPTED)
    )
    repo.write("status.html", page)
    repo.write("frame.html", FRAME.replace("WIDTH", "800"))
    found = json.loads(
        show(repo.path / "frame.html").dom.partition("<output>")[2].partition("</output>")[0]
    )
    commands = page.count('<code class="command">')
    assert found == [False, ["LI"], commands, "3 days ago", True, False]
