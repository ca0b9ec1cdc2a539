"""`checkpoint init PATTERN [--schema FILE]`: other JSON files merge too, by a schema of this clone
or without one.
"""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.snapshot import take_snapshot

PATTERN, FILE = "data/**/*.json", "data/a b/t.json"
SCHEMA = {
    "properties": {
        "tasks": {"x-merge": {"strategy": "rows", "key": "/title"}},
        "n": {"x-merge": {"strategy": "sum"}},
    }
}
BASE = {"tasks": [{"title": "A", "done": False}], "n": 1}
LEFT = {"tasks": [{"title": "C"}, {"title": "A", "done": False, "who": "me"}], "n": 2}
RIGHT = {"tasks": [{"title": "A", "done": True}, {"title": "B"}], "n": 3}
MERGED = {
    "tasks": [{"title": "C"}, {"title": "A", "done": True, "who": "me"}, {"title": "B"}],
    "n": 4,
}


def init(repo: GitRepo, *words: str) -> "subprocess.CompletedProcess[str]":
    return run_here("init", "--hooks", "none", *words, cwd=repo.path)


def sides(*documents: Any) -> list[dict[str, str]]:
    return [{FILE: json.dumps(document)} for document in documents]


def merge(repo: GitRepo) -> Any:
    """What `git merge right` leaves; None for a conflict."""
    done = repo.run("git", "merge", "-q", "-m", "merged", "right")
    return json.loads(repo.read(FILE)) if done.returncode == 0 else None


@pytest.fixture
def schema(tmp_path: Path) -> str:
    path = tmp_path / "a schema.json"
    path.write_text(json.dumps(SCHEMA))
    return str(path)


def test_files_merge_by_the_schema_whatever_branches_say(repo: GitRepo, schema: str) -> None:
    assert init(repo, PATTERN, "--schema", schema).returncode == 0
    repo.diverge(*sides(BASE, LEFT, RIGHT))
    repo.write(".gitattributes", f"{PATTERN} -merge\n")
    repo.commit("a branch that wants another merge")
    Path(schema).write_text("{}")  # it was copied
    assert merge(repo) == MERGED


def test_another_clone_merges_them_by_their_structure(
    repo: GitRepo, schema: str, tmp_path: Path
) -> None:
    init(repo, PATTERN, "--schema", schema)
    documents = (
        {"a": {"x": 1, "y": 1}, "l": [1]},
        {"a": {"x": 2, "y": 1}, "l": [1, 2]},
        {"a": {"x": 1, "y": 2}, "l": [0, 1]},
    )
    repo.diverge(*sides(*documents))
    other = GitRepo(tmp_path / "other")
    repo.git("clone", "-q", ".", str(other.path))
    other.git("branch", "right", "origin/right")
    assert merge(other) is None  # all on one line: git's own merge stops
    other.git("merge", "--abort")
    assert init(other).returncode == 0
    assert merge(other) == {"a": {"x": 2, "y": 2}, "l": [0, 1, 2]}


def test_a_criss_cross_adds_up_what_was_added_and_nothing_twice(repo: GitRepo, schema: str) -> None:
    init(repo, PATTERN, "--schema", schema)
    repo.diverge(*sides({"n": 0, "tasks": []}, {"n": 1, "tasks": []}, {"n": 2, "tasks": []}))
    repo.git("branch", "old-left")
    assert merge(repo) == {"n": 3, "tasks": []}
    repo.git("checkout", "-q", "right")
    repo.git("merge", "-q", "-m", "the other way", "old-left")
    repo.write(FILE, json.dumps({"n": 13, "tasks": []}))
    repo.commit()
    repo.git("checkout", "-q", "left")
    repo.write(FILE, json.dumps({"n": 103, "tasks": []}))
    repo.commit()
    assert merge(repo) == {"n": 113, "tasks": []}


def test_a_copy_that_was_changed_is_not_used_and_that_is_told(repo: GitRepo, schema: str) -> None:
    init(repo, PATTERN, "--schema", schema)
    repo.diverge(*sides({"n": 1}, {"n": 2}, {"n": 3}))
    (copy,) = (repo.path / ".git/checkpoint/schemas").iterdir()
    copy.write_text('{"properties": {"n": {"x-merge": {"strategy": "max-number"}}}}')
    done = repo.run("git", "merge", "right")
    assert b"its content has changed; data/a b/t.json is merged without it" in done.stderr
    assert done.returncode == 1


def test_a_plain_init_keeps_what_an_earlier_one_was_told(repo: GitRepo, schema: str) -> None:
    init(repo, PATTERN, "--schema", schema)
    init(repo, "i18n/*.json")
    before = take_snapshot(repo.path)
    assert init(repo).returncode == 0
    assert take_snapshot(repo.path) == before
    info = repo.read(".git/info/attributes")
    assert f"{PATTERN} merge=checkpoint-json-" in info
    assert "i18n/*.json merge=checkpoint\n" in info
    assert f"{PATTERN} merge=checkpoint\n" in repo.read(".gitattributes")


def test_uninstall_leaves_nothing_of_it(repo: GitRepo, schema: str) -> None:
    repo.write("a.txt", "a\n")
    repo.commit()
    before = take_snapshot(repo.path)
    init(repo, PATTERN, "with space/*.json", "--schema", schema)
    assert '"with space/*.json" merge=checkpoint\n' in repo.read(".gitattributes")
    run_here("uninstall", cwd=repo.path)
    assert take_snapshot(repo.path) == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--schema", "x.json"], "--schema needs a PATTERN"),
        (["data"], '"data" is not a pattern of JSON files'),
        (["!a/*.json"], '"!a/*.json" is not a pattern of JSON files'),
        (["a.json\nb merge=x"], "is not a pattern of JSON files"),
        ([PATTERN, "--schema", "nowhere.json"], "nowhere.json cannot be read"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    repo: GitRepo, words: list[str], said: str
) -> None:
    before = take_snapshot(repo.path)
    ran = init(repo, *words)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert take_snapshot(repo.path) == before


@pytest.mark.parametrize("with_schema", [True, False])
def test_resolve_decides_conflicts_in_such_files(
    repo: GitRepo, schema: str, with_schema: bool
) -> None:
    init(repo, PATTERN, *(["--schema", schema] if with_schema else []))
    repo.diverge(
        *sides({"n": 1, "x": 0, "y": 0}, {"n": 2, "x": 1, "y": 1}, {"n": 3, "x": 2, "y": 2})
    )
    assert merge(repo) is None
    ran = run_here("resolve", "--where", "/x", "--take", "theirs", FILE, cwd=repo.path)
    assert ran.returncode == 1
    assert "/y: ours 1, theirs 2" in ran.stdout
    ran = run_here("resolve", "--take", "ours", cwd=repo.path)
    assert ran.returncode == 0
    assert json.loads(repo.read(FILE)) == {"n": 4 if with_schema else 2, "x": 2, "y": 1}
    assert repo.git("diff", "--name-only", "--diff-filter=U") == ""


def test_json_lines_merge_and_are_resolved_by_record(repo: GitRepo) -> None:
    init(repo, "log/*.jsonl")
    record = '{"id": 1, "x": %d, "y": 0}\n{"id": 2}\n'
    names = ["log/a.jsonl", "log/b.jsonl"]
    left, right = record % 2, record % 3 + '{"id": 3}\n'
    repo.diverge(
        *(
            {names[0]: text, names[1]: text.replace("3,", "1,")}
            for text in (record % 1, left, right)
        )
    )
    assert repo.run("git", "merge", "-q", "-m", "merged", "right").returncode == 1
    assert repo.read(names[1]) == left + '{"id": 3}\n'
    assert repo.read(names[0]).endswith('>>>>>>> theirs: /0/x\n{"id": 2}\n{"id": 3}\n')
    ran = run_here("resolve", "--where", "/0/x", "--take", "ours", names[0], cwd=repo.path)
    assert ran.returncode == 0
    assert repo.read(names[0]) == left + '{"id": 3}\n'
    assert repo.git("diff", "--name-only", "--diff-filter=U") == ""


def test_init_and_the_doctor_name_what_the_driver_cannot_read_and_why(repo: GitRepo) -> None:
    unreadable = {
        "s/comment.json": '{\n  // no\n  "a": 1\n}',
        "s/block.json": '/* no */ {"a": 1}',
        "s/twice.json": '{"a": 1, "a": 2}',
        "s/large.json": '"' + "x" * (8 << 20) + '"',
        "s/cut.json": '{"a": ',
    }
    readable = {
        "s/lines.json": '{"a": 1}\n{"a": 2}\n',
        "s/good.json": "{}",
        "s/open.json": "<<<<<<< a\n",
    }
    for path, text in {**unreadable, **readable, "other/comment.json": "// no"}.items():
        repo.write(path, text)
    (repo.path / "s/link.json").symlink_to("comment.json")
    (repo.path / "s/latin.json").write_bytes(b'"\xe9"')
    repo.commit()
    found = "git merges 6 files as text, because the driver cannot read them (comments: s/block.json, s/comment.json; "
    found += "not JSON: s/cut.json; more than 8 MB: s/large.json; not UTF-8: s/latin.json;"
    found += " a repeated key: s/twice.json)"
    assert "cannot read" not in init(repo).stdout
    assert "cannot read" not in run_here("doctor", cwd=repo.path).stdout
    ran = init(repo, "s/*.json")
    assert ran.returncode == 0
    doctor = json.loads(
        run_here("doctor", "--json", "--check", "driver/unreadable", cwd=repo.path).stdout
    )
    assert [one["message"] for one in doctor["findings"] if one["code"] == "driver/unreadable"] == [
        found
    ]
    assert "driver/unreadable" in ran.stdout
    assert len(ran.stdout.splitlines()) < 24


def test_a_merge_that_the_schema_refuses_is_a_conflict_of_the_driver_and_of_resolve(
    repo: GitRepo, tmp_path: Path
) -> None:
    path = tmp_path / "few.json"
    path.write_text('{"properties": {"l": {"maxItems": 2, "uniqueItems": true}}}')
    init(repo, PATTERN, "--schema", str(path))
    repo.diverge(*sides({"l": [1]}, {"l": [1, 2]}, {"l": [1, 3]}))
    done = repo.run("git", "merge", "right")
    assert done.returncode == 1
    assert b"conflict in data/a b/t.json at /l: ours [1,2], theirs [1,3]" in done.stderr
    ran = run_here("resolve", "--where", "/l", "--take", "theirs", cwd=repo.path)
    assert ran.returncode == 0
    assert json.loads(repo.read(FILE)) == {"l": [1, 3]}


def test_resolve_stages_nothing_that_the_schema_refuses(repo: GitRepo, tmp_path: Path) -> None:
    path = tmp_path / "same.json"
    when = {"if": {"properties": {"a": {"const": 1}}}, "then": {"properties": {"b": {"const": 1}}}}
    path.write_text(json.dumps({**when, "properties": {"c": {"type": "string"}}}))
    init(repo, PATTERN, "--schema", str(path))
    repo.diverge(
        *sides({"a": 0, "b": 0, "c": 0}, {"a": 1, "b": 1, "c": 0}, {"a": 2, "b": 2, "c": 0})
    )
    assert merge(repo) is None

    # answers that break it together; what a side has wrong already is not held against them
    run_here("resolve", "--where", "/a", "--take", "ours", cwd=repo.path)
    ran = run_here("resolve", "--where", "/b", "--take", "theirs", "--json", cwd=repo.path)
    found = json.loads(ran.stdout)["findings"]
    assert ran.returncode == 1
    assert [(one["code"], one["where"]) for one in found] == [
        ("resolve/schema", "/b"),
        ("resolve/not-valid", ""),
    ]
    assert found[0]["message"] == "b: 1 was expected"
    assert "the result is not valid by its schema" in found[1]["message"]

    # an edit by hand that breaks it
    repo.write(FILE, json.dumps({"a": 1, "b": 9, "c": 0}))
    ran = run_here("resolve", cwd=repo.path)
    assert (
        ran.returncode,
        "edited since the merge, and is not valid by its schema yet" in ran.stdout,
    ) == (1, True)
    assert repo.git("diff", "--name-only", "--diff-filter=U") != ""
    repo.write(FILE, json.dumps({"a": 5, "b": 1, "c": 0}))
    assert "and is valid by its schema now" in run_here("resolve", cwd=repo.path).stdout

    # one that is as the schema says
    assert run_here("resolve", "--take", "theirs", cwd=repo.path).returncode == 0
    assert json.loads(repo.read(FILE)) == {"a": 2, "b": 2, "c": 0}
    assert repo.git("diff", "--name-only", "--diff-filter=U") == ""


def test_a_schema_that_cannot_be_applied_leaves_the_file_to_text_and_that_is_told(
    repo: GitRepo, tmp_path: Path
) -> None:
    path = tmp_path / "circle.json"
    path.write_text('{"$ref": "#"}')
    init(repo, PATTERN, "--schema", str(path))
    repo.diverge(
        *({FILE: f'{{\n"a": {a},\n"k": 0,\n"l": 0,\n"b": {b}\n}}\n'} for a, b in ("11", "21", "12"))
    )
    done = repo.run("git", "merge", "-m", "merged", "right")
    assert done.returncode == 0
    assert b"the schema cannot be applied to it (RecursionError)" in done.stderr
    assert json.loads(repo.read(FILE)) == {"a": 2, "k": 0, "l": 0, "b": 2}


def find_schema_trouble(repo: GitRepo) -> list[tuple[str, str]]:
    """The message and the command of each finding of the doctor about the team's schema."""
    doctor = json.loads(
        run_here("doctor", "--json", "--check", "driver/schema", cwd=repo.path).stdout
    )
    found = [one for one in doctor["findings"] if one["code"] == "driver/schema"]
    return [(one["message"], one["hint"].partition("accept it: checkpoint ")[2]) for one in found]


def test_a_schema_in_the_repository_is_accepted_by_each_clone_and_no_branch_changes_it(
    repo: GitRepo, tmp_path: Path
) -> None:
    repo.write("s/t.json", json.dumps(SCHEMA))
    init(repo, PATTERN, "--schema", "s/t.json")
    assert f"{PATTERN} merge=checkpoint checkpoint-schema=" in repo.read(".gitattributes")
    assert find_schema_trouble(repo) == []
    repo.diverge(*sides(BASE, LEFT, RIGHT))
    other = GitRepo(tmp_path / "other")
    repo.git("clone", "-q", ".", str(other.path))
    other.git("branch", "right", "origin/right")

    # a clone that has not accepted it merges by structure, and is told how to accept it
    said = init(other).stdout
    assert "the team merges data/**/*.json by s/t.json, which this clone has not accepted" in said
    assert merge(other) is None
    other.git("merge", "--abort")
    command = f"init '{PATTERN}' --schema s/t.json"
    message = "the team merges data/**/*.json by s/t.json, which this clone has not accepted:"
    message += " it merges by their structure"
    assert find_schema_trouble(other) == [(message, command)]
    before = other.read(".gitattributes")
    assert init(other, PATTERN, "--schema", "s/t.json").returncode == 0
    assert other.read(".gitattributes") == before
    assert find_schema_trouble(other) == []
    assert merge(other) == MERGED

    # a branch that changes the schema changes nothing until it is accepted again
    other.git("reset", "-q", "--hard", "HEAD~")
    other.write("s/t.json", "{}")
    other.commit()
    changed = "s/t.json has changed since the team agreed on it: this clone merges data/**/*.json by the schema that it"
    assert find_schema_trouble(other) == [(f"{changed} accepted", command)]
    assert merge(other) == MERGED
    init(other, PATTERN)  # without a schema, what the team agreed on stays
    assert other.read(".gitattributes") == before
    init(other, PATTERN, "--schema", "s/t.json")
    assert other.read(".gitattributes") != before
    assert find_schema_trouble(other) == []


def test_a_schema_with_spaces_in_its_path_is_recorded_and_accepted(
    repo: GitRepo, tmp_path: Path
) -> None:
    name = 'a team/my "own" 100%20 schéma.json'
    repo.write(name, json.dumps(SCHEMA))
    init(repo, PATTERN, "--schema", name)
    assert ":a%20team/my%20%22own%22%20100%2520%20schéma.json\n" in repo.read(".gitattributes")
    assert find_schema_trouble(repo) == []
    repo.diverge(*sides(BASE, LEFT, RIGHT))
    other = GitRepo(tmp_path / "other")
    repo.git("clone", "-q", ".", str(other.path))
    other.git("branch", "right", "origin/right")
    ((_, command),) = find_schema_trouble(other)
    assert run_here(*shlex.split(command), "--hooks", "none", cwd=other.path).returncode == 0
    assert find_schema_trouble(other) == []
    assert merge(other) == MERGED

    # what no line of .gitattributes can hold is refused, and changes nothing
    repo.write("s\n.json", "{}")
    before = take_snapshot(repo.path)
    refused = init(repo, PATTERN, "--schema", "s\n.json")
    assert (
        refused.returncode,
        "the path of the schema has control characters" in refused.stderr,
    ) == (2, True)
    assert take_snapshot(repo.path) == before


@rows("path, digest, pattern, found", [
    ("%2e%2e/t.json", "0" * 64, "d/*.json", []),
    ("%2fetc/passwd", "0" * 64, "d/*.json", []),
    ("s/%00.json", "0" * 64, "d/*.json", []),
    ("s/t.json", "0" * 64, "d/*.json", ["s/t.json is missing: this clone merges d/*.json by their structure"]),
    ("../t.json", "0" * 64, "d/*.json", []),
    ("/etc/passwd", "0" * 64, "d/*.json", []),
    ("s/t.json", "0" * 63, "d/*.json", []),
    ("s/t.json", "0" * 64, "--adopt/x.json", []),
])  # fmt: skip
def test_an_agreement_that_a_branch_made_up_reads_nothing_else_and_names_no_option(
    repo: GitRepo, path: str, digest: str, pattern: str, found: list[str]
) -> None:
    init(repo, "d/*.json")
    text = repo.read(".gitattributes")
    (line,) = [
        line
        for line in text.splitlines()
        if line.endswith(".json merge=checkpoint") and line[0] != "*"
    ]
    repo.write(
        ".gitattributes",
        text.replace(line, f"{pattern} merge=checkpoint checkpoint-schema={digest}:{path}"),
    )
    assert [message for message, _ in find_schema_trouble(repo)] == found
    repo.write(".gitattributes", text)


def test_a_schema_from_elsewhere_is_private_to_the_clone(repo: GitRepo, schema: str) -> None:
    init(repo, PATTERN, "--schema", schema)
    assert "checkpoint-schema" not in repo.read(".gitattributes")


def test_audit_names_the_files_that_it_does_not_look_at(repo: GitRepo) -> None:
    repo.write("a.txt", "a\n")
    repo.commit()
    assert json.loads(run_here("audit", "--json", cwd=repo.path).stdout)["findings"] == []
    init(repo, PATTERN, "i18n/*.json")
    ran = run_here("audit", "--json", cwd=repo.path)
    (found,) = json.loads(ran.stdout)["findings"]
    assert (ran.returncode, found["code"], found["level"]) == (0, "merge/not-audited", "note")
    assert found["message"].endswith(f"the driver merges: {PATTERN}, i18n/*.json")
