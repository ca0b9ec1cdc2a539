"""The gitattributes lines: which, where, and how the other driver's lines become ours and theirs
again.
"""

import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.attributes import (
    add_attributes,
    adopt_lines,
    attribute_lines,
    find_other_driver,
    find_others,
    has_attributes,
    read_attribute,
    read_shared_merge_attributes,
    remove_attributes,
    restore_lines,
)
from checkpoint_git.git.run import clean_env
from tests.support.repos import GitRepo
from tests.support.rows import rows

OTHER = b".checkpoints/*.json merge=opchain-checkpoint text\n"


def test_the_lines_come_from_the_table_of_protocols() -> None:
    assert attribute_lines() == [
        "**/.checkpoints/*.checkpoint.json merge=checkpoint",
        "**/memory/state/phase.json merge=checkpoint",
        "**/memory/state/execution.json merge=checkpoint",
    ]


def test_lines_written_by_hand_count() -> None:
    by_hand = "".join(line.replace(" ", "\t  ") + "\n" for line in attribute_lines()).encode()
    assert has_attributes(by_hand)
    assert not has_attributes(b"# " + by_hand)


def test_the_other_driver_is_found_by_line_and_comments_are_none() -> None:
    found = find_other_driver(
        b"*.c text\n# x merge=opchain-checkpoint\n" + OTHER + b"y merge=opchain-checkpoint-2\n"
    )
    assert found == [3]


@rows(
    "data",
    [
        OTHER,
        OTHER.rstrip(),
        b"a b\n" + OTHER + b"c d\n",
        OTHER + OTHER,
        OTHER.replace(b"\n", b"\r\n"),
        b"",
        b"a b",
    ],
)
def test_adopted_lines_are_given_back_to_the_byte(data: bytes) -> None:
    adopted = adopt_lines(data)
    assert not find_other_driver(adopted)
    assert restore_lines(adopted) == data
    assert remove_attributes(add_attributes(adopted)) == data


def test_an_adopted_line_keeps_its_other_attributes() -> None:
    assert adopt_lines(OTHER).splitlines()[1] == b".checkpoints/*.json merge=checkpoint text"


def test_a_line_that_was_edited_since_it_was_adopted_stays_as_it_is() -> None:
    adopted = adopt_lines(OTHER)
    edited = adopted.replace(b"merge=checkpoint text", b"merge=checkpoint -text")
    assert restore_lines(edited) == b".checkpoints/*.json merge=checkpoint -text\n"
    both = OTHER + OTHER.replace(b"opchain-", b"")
    assert restore_lines(both) == both


def test_a_file_that_was_made_for_us_is_gone_when_nothing_was_added() -> None:
    made = add_attributes(None)
    assert remove_attributes(made) is None
    assert remove_attributes(made + b"*.c text\n") == b"*.c text\n"


def test_an_attribute_is_read_for_each_path_and_without_a_repository_only_on_request(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write(".gitattributes", "*.a merge=one\nsub/ü* merge=two\n")
    sub = str(repo.path / "sub")
    repo.write("sub/x", "")
    found = read_attribute("merge", sub, ["x.a", "üb\nc", "y"])
    assert found == {"x.a": "one", "üb\nc": "two", "y": "unspecified"}
    options = ["-c", f"core.attributesFile={repo.write('more', 'y merge=three')}"]
    assert read_attribute("merge", sub, ["y"], dict(os.environ), options) == {"y": "three"}

    with pytest.raises(CheckpointError, match="check-attr failed"):
        read_attribute("merge", str(tmp_path), ["x"])
    assert read_attribute("merge", str(tmp_path), ["x"], check=False) == {}
    other = {**os.environ, "GIT_DIR": str(repo.path / ".git"), "GIT_WORK_TREE": str(repo.path)}
    assert read_attribute("merge", str(tmp_path), ["x"], other) == {"x": "unspecified"}
    monkeypatch.setattr("subprocess.Popen", None)
    assert read_attribute("merge", sub, []) == {}


# what .gitattributes gives to clones that have no settings of their own

PATH = ".checkpoints/build.checkpoint.json"


def read_shared(repo: GitRepo) -> dict[str, str]:
    return read_shared_merge_attributes(str(repo.path), [PATH], clean_env(os.environ))


def test_what_only_this_clone_has_does_not_count(repo: GitRepo) -> None:
    repo.write(".git/info/attributes", "*.json merge=mine\n")
    repo.git("config", "core.attributesFile", str(repo.write("mine", "*.json merge=mine\n")))
    assert read_shared(repo) == {PATH: "unspecified"}
    env = clean_env(os.environ)
    assert read_shared_merge_attributes(str(repo.path), ["../outside"], env) == {}


@pytest.mark.parametrize("file", [".gitattributes", ".checkpoints/.gitattributes"])
def test_the_files_of_the_work_tree_count(repo: GitRepo, file: str) -> None:
    repo.write(".git/info/attributes", "*.json merge=mine\n")
    repo.write(file, "*.json merge=union\n")
    assert read_shared(repo) == {PATH: "union"}


def test_without_room_nothing_is_known(repo: GitRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(repo.path / "gone"))
    assert read_shared(repo) == {}


def test_a_pattern_with_a_blank_is_quoted_and_read_back() -> None:
    others = {"my files/*.json": "checkpoint-json-1a2b", "data/*.json": "checkpoint-json-1a2b"}
    written = add_attributes(None, others=others)
    assert b'\n"my files/*.json" merge=checkpoint-json-1a2b\n' in written
    assert b"\ndata/*.json merge=checkpoint-json-1a2b\n" in written
    assert find_others(written) == others
