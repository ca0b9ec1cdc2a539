"""What git's index says of unmerged checkpoints, and the way between the work tree's bytes and
stored ones.
"""

import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.clone import find_gaps, read_operation
from checkpoint_git.git.driver_settings import Choices, driver_command
from checkpoint_git.git.merges.conflicts import (
    FileVersion,
    TextMerge,
    Top,
    Unmerged,
    find_top,
    is_as_committed,
    list_marked,
    make_unmerged,
    merge_as_text,
    merge_lines,
    read_as_checked_out,
    read_as_stored,
    read_choices,
    read_conflicts,
    read_drivers,
    read_line_merges,
    read_marker_sizes,
    read_past_conflicts,
    read_stages,
    read_top,
    stage_path,
)
from tests.scenarios.driven import drive
from tests.support.repos import BARE_MUST_BE_NAMED, GitRepo, copy_built
from tests.support.rows import rows
from tests.support.streams import Stream

PATH = ".checkpoints/build.checkpoint.json"


@pytest.fixture
def unmerged(tmp_path: Path) -> GitRepo:
    """A merge that stopped at a checkpoint and at notes.txt."""
    copy_built(build_unmerged, tmp_path / "repo", tmp_path / "sha256")
    return GitRepo(tmp_path / "repo")


def build_unmerged(folder: Path) -> None:
    """Build it in a repository of either object format."""
    for number, object_format in enumerate(("sha1", "sha256")):
        repo = GitRepo.create(folder / str(number), f"--object-format={object_format}")
        sides = {"left": "ours\n", "right": "theirs\n"}
        files = {name: {PATH: text, "notes.txt": text} for name, text in sides.items()}
        repo.diverge({PATH: "base\n", "notes.txt": "base\n"}, **files)
        repo.git("merge", "-q", "right", check=False)


@rows("name", ["repo", "sha256"])
def test_every_version_is_read(unmerged: GitRepo, tmp_path: Path, name: str) -> None:
    top = str(tmp_path / name)
    found = read_conflicts(top)
    assert found.others == ["notes.txt"]
    (file,) = found.files
    assert file.path == PATH
    assert [side and side.data for side in file.sides] == [b"ours\n", b"base\n", b"theirs\n"]
    assert file.stages == read_stages(top)[PATH]


def contents_of(file: Unmerged) -> list[bytes | None]:
    return [side and side.data for side in file.sides]


def test_a_bare_repository_and_a_git_directory_have_no_work_tree(
    repo: GitRepo, tmp_path: Path
) -> None:
    git_dir = str(repo.path / ".git")
    repo.write("deep/er/file", "")
    assert find_top(str(repo.path / "deep/er")) == Top(str(repo.path), git_dir)
    assert read_top(str(repo.path / "deep/er")) == Top(str(repo.path), git_dir)
    broken = GitRepo.create(tmp_path / "a\nb").path
    assert find_top(str(broken)) == Top(str(broken), str(broken / ".git"))
    bare = GitRepo.create(tmp_path / "bare", "--bare")
    environ = {**os.environ, "GIT_DIR": str(bare.path)}
    assert find_top(str(bare.path), environ) == Top("", str(bare.path))
    if BARE_MUST_BE_NAMED:  # git itself refuses it
        return
    assert find_top(git_dir) == Top("", git_dir)
    with pytest.raises(CheckpointError, match="no files are checked out here") as raised:
        read_top(git_dir)
    assert str(raised.value.hint) == "run it in a clone or a work tree"


def test_the_files_of_our_drivers_are_read_and_others_are_named(repo: GitRepo) -> None:
    """Stages as a merge leaves them: a submodule at a checkpoint's path, and JSON that init was
    given.
    """
    lines = ["z.json merge=checkpoint-json-ab12", "a.json merge=checkpoint", "b.json merge=union"]
    repo.write(".gitattributes", "\n".join(lines))
    commit = repo.commit("base")
    blob = repo.run("git", "hash-object", "-w", "--stdin", stdin=b"text\n").stdout.decode().strip()
    records = [f"160000 {commit} 2\t{PATH}", f"100755 {blob} 3\t{PATH}"]
    records += [f"100644 {blob} 1\t{name}.json" for name in ("z", "b", "a", "c")]
    stdin = "".join(f"{record}\n" for record in records).encode()
    assert repo.run("git", "update-index", "--index-info", stdin=stdin).returncode == 0

    files, others = read_conflicts(str(repo.path))
    assert ([file.path for file in files], others) == (
        [PATH, "a.json", "z.json"],
        ["b.json", "c.json"],
    )
    assert files[0].sides == (
        FileVersion("160000", commit, b""),
        None,
        FileVersion("100755", blob, b"text\n"),
    )
    assert files[0].stages == (("160000", commit, 2), ("100755", blob, 3))
    assert files[1].sides == (None, FileVersion("100644", blob, b"text\n"), None)
    names = ["a.json", "b.json", "c.json", "z.json"]
    assert read_drivers(str(repo.path), names) == {
        "a.json": "checkpoint",
        "z.json": "checkpoint-json-ab12",
    }


MARKED = "<<<<<<< left\nleft\n=======\nright\n>>>>>>> right\n"


def test_markers_that_were_committed_are_found_in_checkpoints_that_git_takes_for_merged(
    unmerged: GitRepo,
) -> None:
    top = str(unmerged.path)
    assert list_marked(top) == [], "one is unmerged, and notes.txt is no checkpoint"
    unmerged.git("merge", "--abort")
    assert list_marked(top) == []
    unmerged.write("sub/.checkpoints/b.checkpoint.json", f"first\n{MARKED}")
    unmerged.write("sub/.checkpoints/a.checkpoint.json", MARKED)
    unmerged.write(".checkpoints/quoted.checkpoint.json", f"- {MARKED}")
    unmerged.write("notes.txt", MARKED)
    unmerged.commit("markers")
    unmerged.write(".checkpoints/untracked.checkpoint.json", MARKED)
    unmerged.configure({"color.ui": "always", "grep.patternType": "fixed"})
    assert list_marked(f"{top}/sub") == list_marked(top)
    assert list_marked(top) == [
        "sub/.checkpoints/a.checkpoint.json",
        "sub/.checkpoints/b.checkpoint.json",
    ]


def test_a_conflict_that_was_staged_with_its_markers_has_the_versions_that_it_had(
    unmerged: GitRepo,
) -> None:
    before = read_stages(str(unmerged.path))[PATH]
    unmerged.git("add", "-A")
    (file,) = read_past_conflicts(str(unmerged.path), PATH)
    assert contents_of(file) == [b"ours\n", b"base\n", b"theirs\n"]
    assert [side and side.blob for side in file.sides] == [
        blob for stage in (2, 1, 3) for _, blob, number in before if number == stage
    ]
    assert (file.path, file.stages) == (PATH, ()), "the index has none now"


def test_the_parents_of_merges_that_brought_markers_are_what_was_merged(repo: GitRepo) -> None:
    odd = ":x/.checkpoints/build.checkpoint.json"
    stream = Stream()
    stream.commit("base", [], {odd: "base\n", "readme": "1\n"})
    stream.commit("left", ["base"], {odd: "left\n"})
    stream.commit("right", ["base"], {odd: "right\n"})
    stream.commit("marked", ["left", "right"], {odd: MARKED})
    stream.commit("fixed", ["marked"], {odd: "fixed\n"})
    stream.commit("octopus", ["fixed", "left", "right"], {odd: MARKED})
    stream.commit("again", ["octopus"], {odd: "again\n"})
    stream.commit("root", [], {"readme": "2\n"})
    stream.commit("unrelated", ["again", "root"], {odd: MARKED})
    stream.commit("clean", ["unrelated"], {odd: "clean\n"})
    stream.commit("aside", ["clean"], {"readme": "3\n"})
    stream.commit("last", ["clean", "aside"], {odd: "last\n"})
    stream.write(repo)
    repo.git("checkout", "-q", "last")
    found = list(read_past_conflicts(str(repo.path), odd))
    assert [contents_of(file) for file in found] == [
        [b"again\n", None, None],
        [b"left\n", b"base\n", b"right\n"],
    ]
    assert [(file.path, file.stages) for file in found] == [(odd, ())] * 2
    assert list(read_past_conflicts(str(repo.path), "readme")) == []


def test_whether_anything_is_staged_is_seen(repo: GitRepo) -> None:
    repo.write("readme", "1\n")
    repo.commit("base")
    repo.write("readme", "2\n")
    assert is_as_committed(str(repo.path))
    repo.git("add", "-A")
    assert not is_as_committed(str(repo.path))


def test_nothing_is_unmerged_in_a_new_repository(repo: GitRepo) -> None:
    assert read_conflicts(str(repo.path)) == ([], [])
    assert list(read_past_conflicts(str(repo.path), PATH)) == []


def test_a_link_is_no_file() -> None:
    modes = ("100644", "100755", "120000", "160000")
    assert [mode for mode in modes if FileVersion(mode, "", b"").is_file] == ["100644", "100755"]


def test_staging_ends_the_conflict_of_one_file_and_git_keeps_its_stages(
    unmerged: GitRepo,
) -> None:
    top = str(unmerged.path)
    before = read_stages(top)
    unmerged.write(PATH, "decided\n")
    stage_path(top, PATH)
    assert list(read_stages(top)) == ["notes.txt"]
    assert unmerged.git("show", f":{PATH}") == "decided"
    unmerged.git("checkout", "-q", "--merge", "--", PATH)
    assert read_stages(top) == before

    # a file that is there all the same
    stage_path(top, PATH, removed=True)
    assert list(read_stages(top)) == ["notes.txt"]
    assert unmerged.git("ls-files", "--", PATH) == ""
    assert len(unmerged.git("ls-files", "--resolve-undo", "--", PATH).splitlines()) == 3


def test_the_operation_is_the_one_that_waits(unmerged: GitRepo) -> None:
    git_dir = read_top(str(unmerged.path)).git_dir
    assert read_operation(git_dir) == "merge"
    unmerged.git("merge", "--abort")
    assert read_operation(git_dir) == ""
    unmerged.git("rebase", "--apply", "right", check=False)
    assert read_operation(git_dir) == "rebase"
    messages = [
        gap.message
        for gap in find_gaps(str(unmerged.path), git_dir, os.environ)
        if gap.code.startswith("merge")
    ]
    assert messages == ["git is in the middle of a rebase, with 1 checkpoint to resolve"]


def test_a_mailed_patch_is_an_operation_of_its_own(unmerged: GitRepo) -> None:
    unmerged.git("merge", "--abort")
    patch = unmerged.run("git", "format-patch", "--stdout", "main..right").stdout
    unmerged.run("git", "am", "-3", stdin=patch)
    assert read_operation(read_top(str(unmerged.path)).git_dir) == "am"


def test_the_size_of_markers_comes_from_the_attributes(repo: GitRepo) -> None:
    # a branch of anybody may bring attributes: no size stops the merge or fills the memory
    given = {"a": "12", "b": "x", "c": "0", "e": "1", "f": "99999", "g": "100000", "h": "²"}
    lines = [f"{path} conflict-marker-size={size}\n" for path, size in given.items()]
    repo.write(".gitattributes", "".join(lines))
    assert read_marker_sizes(str(repo.path), [*given, "d e"]) == {
        "a": 12,
        "b": 7,
        "c": 7,
        "d e": 7,
        "e": 1,
        "f": 99_999,
        "g": 7,
        "h": 7,
    }
    assert read_marker_sizes(str(repo.path), []) == {}


def test_the_choices_are_those_of_the_configured_driver(repo: GitRepo) -> None:
    assert read_choices(str(repo.path)) == Choices()
    drive(repo, choices=Choices("newest"))
    assert read_choices(str(repo.path)) == Choices("newest")
    chosen = Choices(whole_schema="/a schema.json")
    repo.git("config", "merge.checkpoint-json-ab12.driver", driver_command("py", "pkg", chosen))
    assert read_choices(str(repo.path), "checkpoint-json-ab12") == chosen
    repo.git("config", "merge.checkpoint.driver", "another %A")
    assert read_choices(str(repo.path)) == Choices()


@rows("name", ["repo", "sha256"])
def test_line_ends_and_filters_are_undone_and_done(
    unmerged: GitRepo, tmp_path: Path, name: str
) -> None:
    top = str(tmp_path / name)
    unmerged = GitRepo(tmp_path / name)
    unmerged.git("config", "filter.up.clean", "tr A-Z a-z")
    unmerged.git("config", "filter.up.smudge", "tr a-z A-Z")
    unmerged.write(".gitattributes", "crlf text eol=crlf\nup filter=up\n")
    for path, checked_out in (("plain", b"a\nb\n"), ("crlf", b"a\r\nb\r\n"), ("up", b"A\nB\n")):
        assert read_as_checked_out(top, path, b"a\nb\n") == checked_out
        assert read_as_stored(top, path, checked_out) == b"a\nb\n"
    assert read_as_stored(top, "plain", b"a\r\nb\r\n") == b"a\r\nb\r\n"

    # git has not stored it yet
    assert read_as_stored(top, "up", b"C\n") == b"c\n"
    # nothing is lost by a filter that never says the same
    unmerged.git("config", "filter.up.clean", "cat; echo >>count; cat count")
    assert read_as_stored(top, "up", b"A\n") == b"A\n"


def test_a_line_merge_is_decided_for_either_side(repo: GitRepo) -> None:
    merged = read_line_merges(str(repo.path), b"a\nb\nc\nd\n", b"x\nb\nc\nd\n", b"y\nb\nc\nz\n")
    assert merged == (b"x\nb\nc\nz\n", b"y\nb\nc\nz\n")
    assert read_line_merges(str(repo.path), b"\0", b"\0a", b"\0b") is None


def test_a_text_merge_is_clean_only_if_a_document_results(repo: GitRepo) -> None:
    top = str(repo.path)
    base = b'{\n"a": 1,\n\n\n"b": 1\n}\n'
    ours, theirs = base.replace(b'"a": 1', b'"a": 2'), base.replace(b'"b": 1', b'"b": 2')
    both = ours.replace(b'"b": 1', b'"b": 2')
    assert merge_as_text(top, base, ours, theirs) == TextMerge(both, is_clean=True)
    # two sides that are right by themselves, and a comma too many between them
    base, ours, theirs = b"[\n\n1\n\n]\n", b"[2,\n\n1\n\n]\n", b"[\n\n1\n\n2]\n"
    broken = TextMerge(b"[2,\n\n1\n\n2]\n", is_clean=False)
    assert merge_as_text(top, base, ours, theirs) == broken
    assert merge_as_text(top, None, b"{}", b"{}") == TextMerge(b"{}", is_clean=True)
    conflict = merge_as_text(top, None, b"1\n", b"2\n")
    assert (conflict.data and conflict.data[:8], conflict.is_clean) == (b"<<<<<<< ", False)
    assert merge_as_text(top, b"\0", b"\0a", b"\0b") == TextMerge(None, is_clean=False)


def test_as_many_conflicts_as_there_may_be_are_a_merge_with_markers(repo: GitRepo) -> None:
    """The exit code of git is the number of conflicts, up to 127; beyond, it has not merged."""
    base, ours, theirs = (
        b"".join(b"%d%c\n1\n2\n3\n4\n" % (line, end) for line in range(140)) for end in b"bot"
    )
    merged = merge_lines(str(repo.path), base, ours, theirs)
    assert merged.data is not None
    assert (merged.data.count(b"<<<<<<< ours\n") > 127, merged.is_clean) == (True, False)
    repo.write(".git/config", "[no setting")
    assert merge_lines(str(repo.path), base, ours, theirs) == TextMerge(None, is_clean=False)


def test_a_side_without_the_file_has_no_version_of_it() -> None:
    file = make_unmerged(PATH, (b"ours", None, b""))
    assert file.sides == (
        FileVersion("100644", "", b"ours"),
        None,
        FileVersion("100644", "", b""),
    )
    assert (file.path, file.stages) == (PATH, ())
