"""Two commits merged in memory, beside what the real `git merge` with the installed driver makes of
them.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.git.driver_settings import Choices
from checkpoint_git.git.merges.merges import read_files_at
from checkpoint_git.git.merges.trees import merge_by_lines, open_plain
from checkpoint_git.merge.conflicts import Clash
from checkpoint_git.tools.merges.tree_merge import MergedTree, UnrelatedError, merge_commits
from tests.scenarios.driven import PATH, drive
from tests.support.beside import compare_merges, merge_plainly
from tests.support.histories import write_history
from tests.support.repos import NEEDS_MERGE_TREE, GitRepo, copy_built, environ_in
from tests.support.samples import checkpoint_text
from tests.support.streams import Stream

pytestmark = NEEDS_MERGE_TREE

OTHER = "sub/.checkpoints/audit.checkpoint.json"
PHASE = "memory/state/phase.json"
RECORD = "runs/ABC-1/0b8f7a52-3c1d-4e5f-8a6b-7c8d9e0f1a2b/phase_1_implement_a1.yaml"
DECISIONS = [f"decision {number}" for number in range(9)]


def decided(*extra: str, first: str = "", **fields: Any) -> str:
    """A checkpoint with a long list of decisions, some added in front and at the end."""
    listed = [*([first] if first else []), *DECISIONS, *extra]
    return checkpoint_text(context_primer={"key_decisions": listed}, **fields)


def branch(
    repo: GitRepo,
    name: str,
    start_at: str,
    files: Mapping[str, str | bytes | None],
    message: str = "",
) -> str:
    """A branch with one commit that writes files, or takes them away; its id."""
    repo.git("checkout", "-q", "-B", name, start_at)
    for path, content in files.items():
        if content is None:
            (repo.path / path).unlink()
        else:
            repo.write(path, content)
    return repo.commit(message or name)


def diverge(
    repo: GitRepo,
    base: Mapping[str, str | bytes | None],
    ours: Mapping[str, str | bytes | None],
    theirs: Mapping[str, str | bytes | None],
) -> None:
    """Branches "ours", which is checked out, and "theirs" from one base."""
    branch(
        repo,
        "base",
        "HEAD" if repo.git("rev-parse", "-q", "--verify", "HEAD", check=False) else "base",
        base,
    )
    branch(repo, "theirs", "base", theirs)
    branch(repo, "ours", "base", ours)


def merge(repo: GitRepo, **options: Any) -> MergedTree:
    return merge_commits(str(repo.path), "ours", "theirs", **options)


def show(repo: GitRepo, tree: str, path: str) -> str:
    return repo.run("git", "cat-file", "blob", f"{tree}:{path}").stdout.decode()


def decisions_in(text: str) -> list[str]:
    found: list[str] = json.loads(text)["context_primer"]["key_decisions"]
    return found


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    """A repository with one empty commit."""
    copy_built(build_started, tmp_path / "repo")
    return GitRepo(tmp_path / "repo")


def build_started(folder: Path) -> None:
    GitRepo.create(folder / "0").commit("start")


# what becomes of checkpoints


def test_a_checkpoint_that_one_side_removed_and_the_other_left_alone_is_gone(repo: GitRepo) -> None:
    diverge(repo, {PATH: decided()}, {PATH: None}, {"code.py": "x\n"})
    merged = merge(repo)
    assert (merged.is_clean, merged.remaining) == (True, ())
    assert repo.git("ls-tree", "-r", "--name-only", merged.tree) == "code.py"


def test_a_conflict_of_text_is_merged_by_meaning(repo: GitRepo) -> None:
    diverge(repo, {PATH: decided()}, {PATH: decided("ours")}, {PATH: decided("theirs")})
    merged = merge(repo)
    assert merged.is_clean
    assert decisions_in(show(repo, merged.tree, PATH)) == [*DECISIONS, "ours", "theirs"]
    assert not merge_plainly(repo, "ours", "theirs").clean


def test_a_true_conflict_is_told_with_its_place_and_both_sides(repo: GitRepo) -> None:
    diverge(
        repo, {PATH: decided()}, {PATH: decided(project="left")}, {PATH: decided(project="right")}
    )
    (remaining,) = merge(repo).remaining
    assert (remaining.path, remaining.kind) == (PATH, "checkpoint")
    assert remaining.clashes == (Clash("/project", '"left"', '"right"'),)


def test_what_git_would_blend_line_by_line_is_given_to_our_merge(repo: GitRepo) -> None:
    rows = [
        {"id": f"row-{n}", "label": "x", "status": "not_started", "a": 1, "b": 1, "c": 1, "d": 1}
        for n in range(2)
    ]
    ours, theirs = (
        [{**rows[0], "status": "blocked"}, rows[1]],
        [{**rows[0], "d": 2, "status": "complete"}, rows[1]],
    )
    fields = [
        {"progress_table": some, "step": step}
        for some, step in ((rows, "1"), (ours, "1"), (theirs, "1"))
    ]
    diverge(repo, *({PATH: checkpoint_text(**some)} for some in fields))
    assert [one.kind for one in merge(repo).remaining] == ["checkpoint"]


def test_a_clean_text_merge_that_is_no_merge_of_meaning_is_not_taken(repo: GitRepo) -> None:
    """Both append the same new key at different places: as text that is clean, and a duplicate
    key.
    """
    lines = ["{", '"a": 1,', '"b": 2,', '"c": 3,', '"d": 4,', '"e": 5', "}"]
    base, ours, theirs = ("\n".join(some) + "\n" for some in (
        lines, [lines[0], '"new": "x",', *lines[1:]], [*lines[:5], '"new": "x",', *lines[5:]]
    ))  # fmt: skip
    diverge(repo, {PATH: base}, {PATH: ours}, {PATH: theirs})
    with open_plain(str(repo.path)) as plain:
        by_lines = merge_by_lines(
            plain, repo.git("rev-parse", "ours"), repo.git("rev-parse", "theirs")
        )
        text = read_files_at(plain.cwd, [PATH], plain.env, by_lines.tree)[PATH] or b""
    assert by_lines.clean
    assert text.count(b'"new"') == 2
    merged = merge(repo)
    assert merged.is_clean
    assert show(repo, merged.tree, PATH).count('"new"') == 1


def test_a_record_that_both_sides_have_differently_is_never_blended(repo: GitRepo) -> None:
    lines = [f"key_{number}: {number}" for number in range(9)]
    base, ours, theirs = (
        "\n".join(some) + "\n" for some in (lines, ["x: 1", *lines], [*lines, "y: 1"])
    )
    diverge(repo, {RECORD: base}, {RECORD: ours}, {RECORD: theirs})
    assert merge_plainly(repo, "ours", "theirs").clean
    assert [(one.path, one.kind) for one in merge(repo).remaining] == [(RECORD, "record")]


def test_a_file_that_is_only_named_like_a_record_merges_by_lines(repo: GitRepo) -> None:
    path, lines = "notes/phase_one_abc.yaml", [f"key_{number}: {number}" for number in range(9)]
    base, ours, theirs = (
        "\n".join(some) + "\n" for some in (lines, ["x: 1", *lines], [*lines, "y: 1"])
    )
    diverge(repo, {path: base}, {path: ours}, {path: theirs})
    assert merge(repo).is_clean


def test_a_workflow_file_merges_by_its_own_schema(repo: GitRepo) -> None:
    phases = {name: {"status": "pending", "attempts": 0} for name in ("plan", "build")}
    state = {"workflow_id": "w", "phases": phases, "last_updated": "2026-01-01T00:00:00Z"}
    texts = [
        json.dumps({**state, "last_updated": f"2026-01-0{day}T00:00:00Z"}, indent=2)
        for day in (1, 3, 2)
    ]
    diverge(repo, *({PHASE: text} for text in texts))
    merged = merge(repo)
    assert merged.is_clean
    assert json.loads(show(repo, merged.tree, PHASE))["last_updated"] == "2026-01-03T00:00:00Z"


REMAINS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "an ordinary file": ({"f": "1\n"}, {"f": "2\n"}, {"f": "3\n"}, "file"),
    "a binary file": ({"f": b"\0001"}, {"f": b"\0002"}, {"f": b"\0003"}, "binary"),
    "a file removed here": ({PATH: decided()}, {PATH: None}, {PATH: decided("x")}, "removed"),
    "a file removed there": ({PATH: decided()}, {PATH: decided("x")}, {PATH: None}, "removed"),
    "no JSON": ({PATH: "{\n"}, {PATH: "{1\n"}, {PATH: "{2\n"}, "text"),
    "binary content": ({PATH: b"\0001"}, {PATH: b"\0002"}, {PATH: b"\0003"}, "text"),
    "duplicate keys": ({PATH: "{}"}, {PATH: '{"a": 1, "a": 2}'}, {PATH: '{"a": 3}'}, "text"),
    "a folder against a file": ({"a": "1"}, {"b": "1"}, {"b/c": "2"}, "type"),
}


@pytest.mark.parametrize("case", REMAINS)
def test_what_nobody_can_merge_remains(repo: GitRepo, case: str) -> None:
    base, ours, theirs, kind = REMAINS[case]
    diverge(repo, base, ours, theirs)
    assert {one.kind for one in merge(repo).remaining} == {kind}


def test_what_is_too_large_remains(repo: GitRepo) -> None:
    large = '{"a": "' + "x" * MAX_BYTES + '"}'
    diverge(repo, {PATH: "{}"}, {PATH: large}, {PATH: '{"b": 1}'})
    assert {one.kind for one in merge(repo).remaining} == {"too-large"}


def test_both_added_with_other_modes_remains(repo: GitRepo) -> None:
    diverge(repo, {"x": "x"}, {PATH: decided("ours")}, {PATH: decided("theirs")})
    repo.git("update-index", "--chmod=+x", PATH)
    repo.git("commit", "-q", "-m", "executable")
    (remaining,) = merge(repo).remaining
    assert (remaining.path, remaining.kind) == (PATH, "mode")


def test_a_link_against_a_checkpoint_remains(repo: GitRepo) -> None:
    diverge(repo, {PATH: decided()}, {"x": "x"}, {PATH: decided("theirs")})
    (repo.path / PATH).unlink()
    (repo.path / PATH).symlink_to("/etc/passwd")
    repo.commit("a link")
    assert {one.kind for one in merge(repo).remaining} <= {"type", "removed"}
    assert merge(repo).remaining


# who has no say


@pytest.mark.parametrize(
    "line",
    [
        "*.json merge=union",
        "* merge=ours",
        "* -merge",
        "* binary",
        "[attr]ours merge=union\n* ours",
    ],
)
def test_attributes_of_neither_branch_nor_the_work_tree_count(repo: GitRepo, line: str) -> None:
    files = [{PATH: decided(project=name), "f": f"{name}\n"} for name in ("base", "left", "right")]
    repo.git("config", "merge.ours.driver", "true")
    for files_of_side in files[1:]:
        files_of_side[".gitattributes"] = f"{line}\n"
        files_of_side["sub/.gitattributes"] = f"{line}\n"
    diverge(repo, *(dict(some) for some in files))
    repo.write(".git/info/attributes", f"{line}\n")
    assert [(one.path, one.kind) for one in merge(repo).remaining] == [
        (PATH, "checkpoint"),
        ("f", "file"),
    ]
    assert not merge_plainly(repo, "ours", "theirs").clean


def test_attributes_and_settings_of_the_user_do_not_count(repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "attributes").write_text("* merge=union\n")
    repo.git("config", "--global", "core.attributesFile", str(tmp_path / "attributes"))
    repo.git("config", "--global", "merge.default", "union")
    repo.git("config", "--global", "merge.conflictStyle", "diff3")
    diverge(repo, {PATH: decided(), "f": "1\n"}, {PATH: decided(step="1"), "f": "2\n"},
            {PATH: decided(step="2"), "f": "3\n"})  # fmt: skip
    merged = merge(repo)
    assert [one.kind for one in merged.remaining] == ["checkpoint", "file"]
    assert show(repo, merged.tree, "f") == "<<<<<<< ours\n2\n=======\n3\n>>>>>>> theirs\n"


def test_no_driver_of_the_clones_configuration_runs(repo: GitRepo, tmp_path: Path) -> None:
    repo.git("config", "merge.checkpoint.driver", f"touch {tmp_path}/ran; exit 0")
    repo.git("config", "merge.default", "checkpoint")
    diverge(repo, {PATH: decided()}, {PATH: decided("ours")}, {PATH: decided("theirs")})
    assert merge(repo).is_clean
    assert not (tmp_path / "ran").exists()


def test_the_clones_narrative_is_respected(repo: GitRepo) -> None:
    drive(repo, choices=Choices("newest"))
    sides = [{PATH: decided(step=step, updated_at=f"2026-04-0{step}T00:00:00Z")} for step in "123"]
    diverge(repo, sides[0], sides[1], sides[2])
    merged = merge(repo)
    assert merged.is_clean
    assert json.loads(show(repo, merged.tree, PATH))["step"] == "3"
    drive(repo, choices=Choices("conflict"))
    assert not merge(repo).is_clean


# where it works


def test_neither_index_nor_work_tree_nor_a_ref_is_touched(repo: GitRepo) -> None:
    diverge(repo, {PATH: decided()}, {PATH: decided("ours")}, {PATH: decided("theirs")})
    repo.write(PATH, "what nobody committed")
    index, refs = (repo.path / ".git/index").read_bytes(), repo.git("for-each-ref")
    assert merge(repo).is_clean
    assert (repo.path / ".git/index").read_bytes() == index
    assert repo.git("for-each-ref") == refs
    assert repo.read(PATH) == "what nobody committed"


def test_it_works_in_a_bare_repository_and_in_a_linked_work_tree(
    repo: GitRepo, tmp_path: Path
) -> None:
    diverge(repo, {PATH: decided()}, {PATH: decided("ours")}, {PATH: decided("theirs")})
    bare, linked = tmp_path / "it's bare.git", tmp_path / "a linked one"
    repo.git("clone", "-q", "--bare", ".", str(bare))
    repo.git("worktree", "add", "-q", str(linked), "base")
    places = (repo.path, bare, linked)
    found = [
        merge_commits(str(place), "ours", "theirs", env=environ_in(place)).tree for place in places
    ]
    assert len(set(found)) == 1


def test_it_works_with_longer_object_names(tmp_path: Path) -> None:
    repo = GitRepo.create(tmp_path / "long", "--object-format=sha256")
    repo.commit("start")
    diverge(repo, {PATH: decided()}, {PATH: decided("ours")}, {PATH: decided("theirs")})
    assert merge(repo).is_clean


def test_a_quarantine_is_read_and_new_objects_go_there(repo: GitRepo, tmp_path: Path) -> None:
    diverge(repo, {PATH: decided()}, {PATH: decided("ours")}, {PATH: decided("theirs")})
    new = tmp_path / "incoming"
    new.mkdir()
    objects = f"{repo.path}/.git/objects"
    env = {
        **os.environ,
        "GIT_OBJECT_DIRECTORY": str(new),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": objects,
    }
    merged = merge(repo, env=env)
    assert merged.is_clean
    assert repo.exit_code("git", "cat-file", "-e", merged.tree) != 0
    assert repo.run("git", "cat-file", "-e", merged.tree, env=env).returncode == 0


def test_histories_with_nothing_in_common_are_refused(repo: GitRepo) -> None:
    branch(repo, "ours", "HEAD", {PATH: decided()})
    repo.git("checkout", "-q", "--orphan", "theirs")
    repo.commit("another beginning")
    with pytest.raises(UnrelatedError, match="no common ancestor"):
        merge(repo)


@pytest.mark.parametrize("name", ["no-such", "--help", "", "ours:x", "a..b"])
def test_a_revision_that_names_no_commit_is_refused(repo: GitRepo, name: str) -> None:
    branch(repo, "ours", "HEAD", {"x": "x"})
    with pytest.raises(CheckpointError, match="names no commit"):
        merge_commits(str(repo.path), "ours", name)


# what `git merge` makes


def test_the_tree_is_the_one_that_git_makes_with_the_driver(repo: GitRepo) -> None:
    """Sessions, renames, removals, broken JSON, criss-crosses; many more in
    benchmarks/merged_commits.py.
    """
    drive(repo)
    seeds = (57, 80, 125, *range(100, 106))  # renames that collide, and whatever comes
    stream = Stream()
    crossed = [write_history(stream, f"s{seed}", seed) for seed in seeds]
    stream.write(repo)
    found = [compare_merges(repo, f"s{seed}/ours", f"s{seed}/theirs") for seed in seeds]
    assert [
        (seed, one.differences) for seed, one in zip(seeds, found, strict=True) if one.differences
    ] == []
    assert any(crossed)
    assert any(one.is_clean for one in found)
