import io
import json
import os
import re
import shlex
import sqlite3
import sys

import pytest

from checkpoint_git.cli import help_text
from checkpoint_git.cli.app import main
from checkpoint_git.cli.verbs import VERBS, load_verb
from tests.support.repos import GitRepo
from tests.support.rows import rows

FAMILIES = [verb for verb in VERBS if getattr(load_verb(verb), "TAKERS", None)]
PAGES = [
    (verb, page.head.split()[0]) for verb in FAMILIES for page in help_text.read_pages(verb)[1:]
]
# a word of a line that bash, zsh and fish read alike: quoted, or without a letter that one of them
# expands
PLAIN = re.compile(r"""(?:[\w.,:/@%+=-]|(?<=.)~|'[^'\\]*'|"[^"\\$`!]*")+""")


def read_lines(verb: str, sub_verb: str = "") -> list[str]:
    """The examples of a page, continued lines joined, without the remarks."""
    text = help_text.read_page(verb, sub_verb).rest.partition("\n\n")[0].replace("\\\n", " ")
    lines = [re.split(r"(?<=\S) {2,}(?=[a-z`])", line.strip())[0] for line in text.split("\n")[1:]]
    return [line for line in lines if line.startswith("checkpoint ")]


def test_every_sub_verb_has_a_page_and_every_page_a_sub_verb() -> None:
    assert FAMILIES == ["ci", "workflow", "pipeline", "memory", "restore-point", "session"]
    for verb in FAMILIES:
        module = load_verb(verb)
        known = getattr(module, "VERBS", None) or getattr(module, "ACTIONS", None)
        expected = (
            known
            or {"ci": ["merge", "verify"], "session": ["start", "stop", "precompact", "end"]}[verb]
        )
        assert [name for family, name in PAGES if family == verb] == list(expected)


@rows(("verb", "sub_verb"), PAGES)
@rows("columns", [50, 80])
def test_a_sub_verb_has_a_help_of_its_own(
    verb: str,
    sub_verb: str,
    columns: int,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(os.environ, "COLUMNS", str(columns))
    assert main([verb, sub_verb, "--help"]) == 0
    shown = capsys.readouterr().out
    assert main(["help", verb, sub_verb]) == 0
    assert capsys.readouterr().out == shown
    assert shown.startswith(f"usage: checkpoint {verb} {sub_verb}")
    long = [line for line in shown.split("\n") if len(line) > columns]
    assert [line for line in long if not re.match("  (checkpoint|    --)", line)] == []
    takers = load_verb(verb).TAKERS
    for name, verbs in takers.items():
        if verb != "memory":  # whose options have other names in Python
            assert bool(
                re.search(f"^  (-., )?--{name.replace('_', '-')}(?![\\w-])", shown, re.MULTILINE)
            ) == (sub_verb in verbs)
    assert shown.count("\nexit codes: ") == 1
    assert read_lines(verb, sub_verb)


@rows("verb", [verb for verb in VERBS if verb != "completion"])  # a line for each shell
def test_examples_are_read_alike_by_bash_zsh_and_fish(verb: str) -> None:
    for page in help_text.read_pages(verb):
        for line in read_lines(verb, page.head.split(" ")[0]):
            words = re.findall(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""", line)
            assert [word for word in words if word != "<" and not PLAIN.fullmatch(word)] == [], line


@pytest.fixture
def prepared(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> GitRepo:
    """A repository in which every example has what it is about."""
    for path in ("src/foo.py", "src/web.py", "tests/test_foo.py", "docs/WORKFLOW-STATUS.yaml"):
        repo.write(path, "")
    repo.write("state.json", "{}")
    repo.write(
        "payload.json",
        json.dumps({"branch_name": "x", "commit_sha": "a1b2c3d", "files_changed": []}),
    )
    repo.write(
        "tool-call.json", json.dumps({"tool_name": "Read", "tool_input": {}, "cwd": str(repo.path)})
    )
    sqlite3.connect(repo.path / "app.db").execute("create table t (x)").connection.close()
    repo.git("add", "-A")
    repo.commit("first")
    repo.git("branch", "topic")
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repo.git("update-ref", "refs/remotes/origin/topic", "HEAD")
    repo.git("config", "checkpoint.pipelineDir", str(repo.path.parent / "records"))
    repo.git("config", "checkpoint.memoryCommand", "false")
    monkeypatch.chdir(repo.path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return repo


def run_line(line: str) -> int:
    words = shlex.split(line.partition(" < ")[0])
    return main(words[1:])


# words of a line -> what must have been run before it
BEFORE = {
    "workflow": ["checkpoint workflow start login-2026 --approvals none"],
    "pipeline": [
        "checkpoint pipeline write --ticket-id PROJ-42 --run-id a1b2c3d4 --phase implement --payload @payload.json"
    ],
    "restore-point": ["checkpoint restore-point create src"],
    "ci": [],
    "session": [],
    "memory": [],
}


REFUSED = re.compile(r"--help|usage:|unrecognized|invalid|takes |write it as|a bug in")


@pytest.mark.parametrize("verb", FAMILIES)
def test_every_example_runs_or_lacks_only_what_it_names(
    verb: str, prepared: GitRepo, capsys: pytest.CaptureFixture[str]
) -> None:
    for line in BEFORE[verb]:
        assert run_line(line) == 0, capsys.readouterr()
    codes, refused = [], {}
    # which would download
    for name in (name for family, name in PAGES if family == verb and name != "setup"):
        for line in read_lines(verb, name):
            capsys.readouterr()
            codes.append(run_line(line))
            said = "".join(capsys.readouterr())
            if codes[-1] and REFUSED.search(said):
                refused[line] = said
    assert refused == {}
    assert codes.count(0) * 2 >= len(codes)


@pytest.mark.parametrize(
    "words",
    [
        ["pipeline", "--ticket-id", "read", "list"],
        ["-C", "write", "pipeline", "list"],
        ["pipeline", "-C", "write", "list"],
    ],
)
def test_the_value_of_an_option_is_not_taken_for_the_sub_verb(
    words: list[str],
    repo: GitRepo,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (repo.path / "write").mkdir()
    monkeypatch.chdir(repo.path)
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["count"] == 0


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "--json", "explain"],
        ["-C", ".", "audit", "explain", "--json"],
        ["explain-merge", "--json"],
    ],
)
def test_a_former_spelling_is_found_behind_global_options(
    words: list[str],
    repo: GitRepo,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repo.commit()
    monkeypatch.chdir(repo.path)
    assert main(words) == 2
    said = json.loads(capsys.readouterr().out)
    assert (said["command"], said["error"]["message"]) == (
        "audit",
        "HEAD is not a merge: it has no parent",
    )


@pytest.mark.parametrize("option", [["--retries", "0"], ["--no-push"]])
def test_an_option_of_another_sub_verb_is_refused_whatever_its_value(
    option: list[str],
    repo: GitRepo,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(repo.path)
    assert main(["ci", "verify", "--base", "main", *option]) == 2
    assert "ci verify takes no --" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "explain", "--range", "HEAD"],
        ["explain-merge", "--range", "HEAD"],
        ["ci", "premerge", "--base", "HEAD"],
        ["ci", "--json", "premerge", "--base=HEAD", "--head", "HEAD", "--no-push"],
    ],
)
def test_former_spellings_do_what_the_new_ones_do(
    words: list[str],
    repo: GitRepo,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    repo.commit()
    monkeypatch.chdir(repo.path)
    assert main([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (
        said["merges"] == []
        if words[0] != "ci"
        else (said["action"], said["state"]) == ("premerge", "contained")
    )
