"""The driver as git starts it: a process of its own, three files, an exit code, nothing on
stdout.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import checkpoint_git
from tests.merge.choosing import OURS, THEIRS, keep_side
from tests.support.rows import rows
from tests.support.samples import checkpoint_text

DRIVER = Path(checkpoint_git.__file__).parent / "driver.py"
CLEAN, CONFLICT = 0, 3
PATH = ".checkpoints/build.checkpoint.json"


class Ran(NamedTuple):
    code: int
    stdout: bytes
    stderr: str
    merged: bytes


def drive(
    folder: Path,
    base: bytes,
    ours: bytes,
    theirs: bytes,
    *options: str,
    size: int = 7,
    path: str = PATH,
) -> Ran:
    """The driver on three files in the folder, with the environment that git gives it."""
    for name, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        (folder / name).write_bytes(data)
    words = [
        sys.executable,
        "-I",
        "-S",
        str(DRIVER),
        *options,
        "base",
        "ours",
        "theirs",
        str(size),
        path,
    ]
    done = subprocess.run(words, cwd=folder, capture_output=True, timeout=60)
    return Ran(done.returncode, done.stdout, done.stderr.decode(), (folder / "ours").read_bytes())


def text(**changes: object) -> bytes:
    return checkpoint_text(**changes).encode()


def test_a_clean_merge_exits_0_and_says_nothing(tmp_path: Path) -> None:
    ran = drive(tmp_path, text(), text(step="sprint-3"), text(progress_summary="New."))
    assert (ran.code, ran.stdout, ran.stderr) == (CLEAN, b"", "")
    assert ran.merged == text(step="sprint-3", progress_summary="New.")


def test_a_conflict_exits_3_with_markers_and_one_line_each_on_stderr(tmp_path: Path) -> None:
    ran = drive(tmp_path, text(), text(step="ours-step"), text(step="theirs-step"), size=9)
    assert (ran.code, ran.stdout) == (CONFLICT, b"")
    said = f'checkpoint: conflict in {PATH} at /step: ours "ours-step", theirs "theirs-step"; to decide'
    assert (
        ran.stderr
        == f"{said} (ours or theirs): checkpoint resolve {PATH} --where /step --take ours\n"
    )
    merged = ran.merged.decode()
    assert merged.count("<<<<<<<<< ours: /step\n") == 1
    assert keep_side(merged, OURS, 9).encode() == text(step="ours-step")
    assert keep_side(merged, THEIRS, 9).encode() == text(step="theirs-step")


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("a b/.checkpoints/x.checkpoint.json", "a/b c"),
        ("it's/x.json", "it's"),
        ("-x;y/z", "$(z)"),
        ("größe/x", "~"),
    ],
)
def test_the_command_on_stderr_survives_a_shell(tmp_path: Path, path: str, key: str) -> None:
    base, ours, theirs = (json.dumps({key: number}).encode() for number in range(3))
    said = drive(tmp_path, base, ours, theirs, path=path).stderr
    command = said.partition("to decide (ours or theirs): checkpoint ")[2]
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    assert shlex.split(command) == [
        "resolve",
        f"./{path}" if path[0] == "-" else path,
        "--where",
        pointer,
        "--take",
        "ours",
    ]


FULL = pytest.param(
    "2>/dev/full", marks=pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
)


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-", FULL])
@pytest.mark.parametrize(
    ("theirs", "code"), [({"progress_summary": "New."}, CLEAN), ({"step": "theirs"}, CONFLICT)]
)
def test_a_stream_that_takes_nothing_changes_neither_code_nor_merge(
    tmp_path: Path, closed: str, theirs: dict[str, str], code: int
) -> None:
    usual = drive(tmp_path, text(), text(step="ours"), text(**theirs))
    (tmp_path / "ours").write_bytes(text(step="ours"))
    words = [sys.executable, "-I", "-S", str(DRIVER), "base", "ours", "theirs", "7", PATH]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *words], cwd=tmp_path, timeout=60
    )
    assert done.returncode == usual.code == code
    assert (tmp_path / "ours").read_bytes() == usual.merged


def test_a_file_new_on_both_sides_is_merged(tmp_path: Path) -> None:
    ran = drive(tmp_path, b"", text(blockers=[]), text(pm_refs=[]))
    assert ran.code == CLEAN
    assert json.loads(ran.merged)["pm_refs"] == []


def test_an_inner_merge_stays_valid_json(tmp_path: Path) -> None:
    ran = drive(tmp_path, text(), text(step="one"), text(step="two"), "--base")
    assert ran.code == CLEAN
    assert ran.merged == text()


def test_the_newest_narrative_is_an_option_of_the_command(tmp_path: Path) -> None:
    ours = text(step="one", updated_at="2026-04-01T00:00:00Z")
    theirs = text(step="two", updated_at="2026-04-02T00:00:00Z")
    ran = drive(tmp_path, text(), ours, theirs, "--narrative", "newest")
    assert ran.code == CLEAN
    assert json.loads(ran.merged)["step"] == "two"
    assert json.loads(ran.merged)["superseded"][0]["step"] == "one"


UNREADABLE = {
    "truncated": b'{"a": 1,\n "b": [',
    "duplicate key": b'{"a": 1,\n "a": 2}\n',
    "markers": b'{\n<<<<<<< x\n"a": 1\n=======\n"a": 2\n>>>>>>> y\n}\n',
    "not a number": b'{"a": NaN}\n',
    "too deep": b"[" * 1000 + b"]" * 1000,
    "bare word": b"hello\n",
    "invalid utf-8": b'{"a": "\xff"}\n',
}


@rows("side", ["base", "ours", "theirs"])
@rows("kind", UNREADABLE)
def test_what_is_not_json_goes_to_gits_text_merge_and_both_sides_stay_on_disk(
    tmp_path: Path, kind: str, side: str
) -> None:
    files = {
        "base": b'{\n  "base": 1\n}\n',
        "ours": b'{\n  "ours": 2\n}\n',
        "theirs": b'{\n  "theirs": 3\n}\n',
    }
    files[side] = UNREADABLE[kind]
    ran = drive(tmp_path, files["base"], files["ours"], files["theirs"])
    assert ran.code == CONFLICT
    assert "not merged by its structure" in ran.stderr
    for line in files["ours"].splitlines() + files["theirs"].splitlines():
        assert line in ran.merged


def test_binary_content_keeps_theirs_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / ".checkpoints").mkdir()
    theirs = text().decode().encode("utf-16")
    ran = drive(tmp_path, text(), text(step="ours"), theirs)
    assert ran.code == CONFLICT
    assert ran.merged == text(step="ours")
    assert (tmp_path / f"{PATH}.theirs").read_bytes() == theirs
    assert f"{PATH}.theirs" in ran.stderr


def test_a_second_binary_conflict_does_not_overwrite_the_first(tmp_path: Path) -> None:
    (tmp_path / ".checkpoints").mkdir()
    for content in (b"\x00one", b"\x00two"):
        drive(tmp_path, text(), text(step="ours"), content)
    assert [(tmp_path / f"{PATH}.theirs{end}").read_bytes() for end in ("", "-2")] == [
        b"\x00one",
        b"\x00two",
    ]


def test_a_text_merge_that_is_clean_but_no_json_is_a_conflict(tmp_path: Path) -> None:
    base = b'{\n  "a": NaN,\n  "b": 1,\n  "c": 2,\n  "d": 3\n}\n'
    ours = base.replace(b'  "b"', b'  "new": 1,\n  "b"')
    theirs = base.replace(b'  "d"', b'  "new": 2,\n  "d"')
    ran = drive(tmp_path, base, ours, theirs)
    assert ran.code == CONFLICT
    assert "not valid JSON" in ran.stderr
    assert ran.merged.count(b'"new"') == 2


def test_a_hostile_path_and_value_are_shown_escaped(tmp_path: Path) -> None:
    ran = drive(
        tmp_path,
        text(),
        text(step="\x1b[31m"),
        text(step="b\nc"),
        path="a\x1b[2Jb/.checkpoints/x.checkpoint.json",
    )
    assert "\x1b" not in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [[], ["a", "b"], ["base", "ours", "theirs", "x", "p"], ["--what", "b", "o", "t", "7", "p"]],
)
def test_a_wrong_call_is_left_to_the_fallback(tmp_path: Path, words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(DRIVER), *words],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode not in (CLEAN, CONFLICT)
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr


def test_a_file_that_cannot_be_written_leaves_ours_as_it_was(tmp_path: Path) -> None:
    limited = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh"]
    for name, data in (
        ("base", text()),
        ("ours", text(step="x")),
        ("theirs", text(progress_summary="y")),
    ):
        (tmp_path / name).write_bytes(data)
    words = [*limited, sys.executable, "-I", "-S", str(DRIVER), "base", "ours", "theirs", "7", PATH]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode not in (CLEAN, CONFLICT)
    assert (tmp_path / "ours").read_bytes() == text(step="x")


def test_a_full_disk_leaves_a_file_that_is_merged_as_text_as_it_was(tmp_path: Path) -> None:
    filler = "x" * 20_000
    base, ours, theirs = (
        f'// {a}\n{{\n"x": "{filler}",\n"y": {b}\n}}\n'.encode() for a, b in ("aa", "ba", "ab")
    )
    for name, data in (("base", base), ("ours", ours), ("theirs", theirs)):
        (tmp_path / name).write_bytes(data)
    driver = [sys.executable, "-I", "-S", str(DRIVER), "base", "ours", "theirs", "7", "x.json"]
    # a limit on file sizes stands for a full disk
    words = [
        "sh",
        "-c",
        'ulimit -f 8; exec "$@"',
        "sh",
        *driver,
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=60)
    assert done.returncode != CLEAN
    assert (tmp_path / "ours").read_bytes() == ours
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")]


@rows("path, code", [("settings.json", CLEAN), (PATH, CONFLICT)])
def test_a_clean_text_merge_of_what_was_never_json_is_clean_but_for_a_checkpoint(
    tmp_path: Path, path: str, code: int
) -> None:
    base, ours, theirs = (
        f'// comment\n{{\n"a": {a},\n"k": 0,\n"l": 0,\n"b": {b}\n}}\n'
        for a, b in ("11", "21", "12")
    )
    ran = drive(tmp_path, base.encode(), ours.encode(), theirs.encode(), path=path)
    assert ran.code == code
    assert b'"a": 2' in ran.merged
    assert b'"b": 2' in ran.merged
    assert "using git's text merge" in ran.stderr


def test_the_driver_runs_from_a_place_with_spaces_and_quotes(tmp_path: Path) -> None:
    package = tmp_path / "it's a % place" / "checkpoint_git"
    shutil.copytree(DRIVER.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, data in (
        ("base", text()),
        ("ours", text(step="x")),
        ("theirs", text(progress_summary="y")),
    ):
        (tmp_path / name).write_bytes(data)
    words = [
        sys.executable,
        "-I",
        "-S",
        str(package / "driver.py"),
        "base",
        "ours",
        "theirs",
        "7",
        PATH,
    ]
    assert subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=60).returncode == CLEAN


def test_a_file_of_no_protocol_is_merged_by_its_structure(tmp_path: Path) -> None:
    ran = drive(tmp_path, b'{"a": 1}', b'{"a": 1, "b": 2}', b'{"a": 1, "c": 3}', path="other.json")
    assert (ran.code, json.loads(ran.merged)) == (CLEAN, {"a": 1, "b": 2, "c": 3})


def test_a_named_schema_says_how_private_state_merges(tmp_path: Path) -> None:
    schema = {"properties": {"spent": {"x-merge": {"strategy": "sum"}}}}
    (tmp_path / "private.json").write_text(json.dumps(schema))
    base, ours, theirs = (text(skill_state={"spent": spent}) for spent in (1, 3, 5))
    ran = drive(tmp_path, base, ours, theirs, "--merge-schema", f"{tmp_path}/private.json")
    assert (ran.code, json.loads(ran.merged)["skill_state"]) == (CLEAN, {"spent": 7})


def test_a_private_schema_that_is_gone_costs_its_rules_only(tmp_path: Path) -> None:
    ran = drive(
        tmp_path,
        text(),
        text(step="x"),
        text(progress_summary="y"),
        "--merge-schema",
        "/nowhere/schema.json",
    )
    assert (ran.code, json.loads(ran.merged)["step"]) == (CLEAN, "x")
    assert "/nowhere/schema.json" in ran.stderr
