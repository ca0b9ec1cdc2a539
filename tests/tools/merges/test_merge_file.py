"""`checkpoint merge-file`: any three JSON files, with git merge-file's way of answering."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.merge.choosing import OURS, THEIRS, keep_side
from tests.support.command import BIN, run_here
from tests.support.hostile import ODD_FILES, put_odd

BASE = '{"name": "x", "deps": {"a": "1", "b": "2"}, "n": 1}\n'
CLEAN = '{"name": "x", "deps": {"a": "1", "b": "3"}, "n": 1, "new": [1.0]}\n'
CLASH = '{"name": "x", "deps": {"a": "1", "b": "4"}, "n": 3}\n'
OURS_TEXT = '{"name": "x", "deps": {"a": "2", "b": "2"}, "n": 2}\n'


def merge(
    folder: Path, *options: str, base: str = BASE, ours: str = OURS_TEXT, theirs: str = CLEAN
) -> subprocess.CompletedProcess[str]:
    for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
        (folder / name).write_text(text)
    return run_here("merge-file", *options, "ours", "base", "theirs", cwd=folder)


def test_a_clean_merge_is_written_into_ours(tmp_path: Path) -> None:
    ran = merge(tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert (
        tmp_path / "ours"
    ).read_text() == '{"name": "x", "deps": {"a": "2", "b": "3"}, "n": 2, "new": [1.0]}\n'


def test_the_exit_code_counts_the_conflicts_and_each_is_told(tmp_path: Path) -> None:
    base, ours, theirs = (
        json.dumps({"a": n, "b": {"c": n}, "same": 0}, indent=1) for n in range(3)
    )
    ran = merge(tmp_path, base=base, ours=ours, theirs=theirs)
    assert ran.returncode == 2
    assert ran.stderr == "".join(
        f"checkpoint: conflict in ours at {where}: ours 1, theirs 2\n" for where in ("/a", "/b/c")
    )
    written = (tmp_path / "ours").read_text()
    assert keep_side(written, OURS, 7) == ours
    assert keep_side(written, THEIRS, 7) == theirs


def test_no_more_than_127_conflicts_are_counted(tmp_path: Path) -> None:
    base, ours, theirs = (
        json.dumps({f"k{at}": n for at in range(300)}, indent=1) for n in range(3)
    )
    assert merge(tmp_path, "-q", base=base, ours=ours, theirs=theirs).returncode == 127


@pytest.mark.parametrize(("side", "number"), [("--ours", 2), ("--theirs", 3)])
def test_a_side_decides_conflicts_and_nothing_else(tmp_path: Path, side: str, number: int) -> None:
    ran = merge(tmp_path, "-p", side, theirs=CLASH)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout) == {"name": "x", "deps": {"a": "2", "b": "4"}, "n": number}
    assert (tmp_path / "ours").read_text() == OURS_TEXT


def test_labels_and_marker_size_are_those_that_are_given(tmp_path: Path) -> None:
    words = ["-p", "-q", "--marker-size", "9", "-L", "mine", "-L", "the \\1 old", "-L", "a\nb"]
    text = '{\n "n": %s,\n "t": "<<<<<<<<< ours: x"\n}\n'
    ran = merge(tmp_path, *words, base=text % 1, ours=text % 2, theirs=text % 3)
    sides = ' "n": 2,\n||||||||| the \\1 old: /n\n "n": 1,\n=========\n "n": 3,\n'
    assert ran.stdout == text.replace(
        ' "n": %s,\n', f"<<<<<<<<< mine: /n\n{sides}>>>>>>>>> a\\nb: /n\n"
    )


def test_a_schema_says_how_places_merge_and_may_refer_to_others(tmp_path: Path) -> None:
    rule = {"strategy": "rows", "key": "/title"}
    properties = {
        "tasks": {"x-merge": rule},
        "n": {"x-merge": {"strategy": "sum"}},
        "z": {"$ref": "other.json"},
    }
    (tmp_path / "a schema").write_text(json.dumps({"properties": properties}))
    tasks = [{"title": "A", "done": False}, {"title": "B", "done": False}]
    ours = [{"title": "A", "done": True}, tasks[1]]
    theirs = [tasks[1], tasks[0], {"title": "C", "done": False}]
    texts = [
        json.dumps({"tasks": each, "n": n}) for each, n in ((tasks, 5), (ours, 7), (theirs, 6))
    ]
    ran = merge(
        tmp_path, "-p", "--schema", "a schema", base=texts[0], ours=texts[1], theirs=texts[2]
    )
    assert (ran.returncode, json.loads(ran.stdout)) == (
        0,
        {"tasks": [tasks[1], ours[0], theirs[2]], "n": 8},
    )


@pytest.mark.parametrize(
    ("options", "texts", "said"),
    [
        ([], {"theirs": "{\n"}, "theirs: line 2: "),
        ([], {"base": "[1,]"}, "base: line 1: "),
        (["--schema", "gone"], {}, "gone cannot be read"),
        (
            ["--schema", "ours"],
            {"ours": '{"x-merge": {"strategy": "rowz"}}'},
            "unknown strategy 'rowz'",
        ),
        (["--marker-size", "0"], {}, "--marker-size"),
        (["--marker-size", "x"], {}, "--marker-size"),
        (["-L", "a"] * 4, {}, "-L"),
        (["--bogus"], {}, "--bogus"),
        (["more"], {}, "more"),
    ],
)
def test_what_cannot_be_done_exits_255_and_leaves_the_file(
    tmp_path: Path, options: list[str], texts: dict[str, str], said: str
) -> None:
    ran = merge(tmp_path, *options, **texts)
    assert (ran.returncode, ran.stdout) == (255, "")
    assert said in ran.stderr
    assert (tmp_path / "ours").read_text() == texts.get("ours", OURS_TEXT)


@pytest.mark.parametrize("kind", ODD_FILES)
@pytest.mark.parametrize(
    "words", ["odd base theirs", "ours odd theirs", "ours base odd", "--schema odd ours base base"]
)
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, words: str, kind: str) -> None:
    merge(tmp_path)
    put_odd(tmp_path / "there", kind if kind != "link" else "folder")
    (tmp_path / "odd").symlink_to("there")
    done = run_here("merge-file", *words.split(), cwd=tmp_path)
    assert done.returncode == 255
    assert f"{tmp_path}/there" in done.stderr
    assert "checkpoint: :" not in done.stderr


def test_a_device_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    merge(tmp_path)
    assert (
        "not a regular file"
        in run_here("merge-file", "ours", "base", "/dev/zero", cwd=tmp_path).stderr
    )


def test_what_a_shell_hands_over_is_read(tmp_path: Path) -> None:
    merge(tmp_path)
    words = f"{BIN}/checkpoint merge-file -p ours <(cat base) <(cat theirs)"
    done = subprocess.run(
        ["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout)["new"] == [1.0]


def test_a_new_file_has_an_empty_base_and_a_checkpoint_is_known_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / ".checkpoints"
    folder.mkdir()
    old, new = ({"updated_at": f"2026-01-0{day}T00:00:00Z", "n": 1} for day in (1, 2))
    for name, text in (
        ("x.checkpoint.json", json.dumps(old)),
        ("base", ""),
        ("theirs", json.dumps(new)),
    ):
        (folder / name).write_text(text)
    ran = run_here("merge-file", "-p", "x.checkpoint.json", "base", "theirs", cwd=folder)
    assert (ran.returncode, json.loads(ran.stdout)) == (0, new)
