"""The vectors of conformance/: our merge keeps them all, worse merges do not, and the files are
those that are made.
"""

import hashlib
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.merge.file import merge_file
from conformance import make
from conformance.__main__ import HERE, answer, main, read_profiles, read_vectors, run
from conformance.judge import Answer, both_ways, data_of, judge
from conformance.mutants import kill, kill_each, read_mutants
from conformance.ours import find_faults
from tests.support.rows import rows

PROFILES = list(read_profiles())


@rows("profile", PROFILES)
def test_our_merge_answers_every_vector_as_expected_both_ways(profile: str) -> None:
    assert dict(find_faults(profile)) == {}


@rows("profile", PROFILES)
def test_the_files_are_those_that_are_made(profile: str) -> None:
    entry, data = read_profiles()[profile], (HERE / "vectors" / f"{profile}.json").read_bytes()
    assert (len(read_vectors(profile)), hashlib.sha256(data).hexdigest()) == (
        entry["vectors"],
        entry["sha256"],
    )
    assert read_vectors(profile) == json.loads(json.dumps(list(make.PROFILES[profile][1]())))


@rows("profile", PROFILES)
def test_to_take_a_side_whole_passes_no_profile(profile: str) -> None:
    vectors = both_ways(read_vectors(profile))
    for code in (0, 1):
        assert any(judge(vector, Answer(code, data_of(vector["ours"]))) for vector in vectors)


def test_to_give_up_is_right_only_for_what_is_no_json_and_for_bad_schemas() -> None:
    for vector in itertools.chain.from_iterable(map(read_vectors, PROFILES)):
        is_lawful = judge(vector, Answer(255, data_of(vector["ours"]))) == ""
        expected = [vector["expect"], *vector["expect"].get("one_of", ())]
        assert is_lawful == any(lawful.keys() <= {"kept", "refused"} for lawful in expected), (
            vector["id"]
        )


def test_the_numbers_of_vectors_in_the_readme_are_right() -> None:
    page = (HERE / "README.md").read_text("utf-8")
    counts = {name: profile["vectors"] for name, profile in read_profiles().items()}
    assert f"Here are {sum(counts.values()):,} answers as data" in page
    assert {
        name: int(count) for name, count in re.findall(r"^\| `(\w+)` \((\d+)\)", page, re.MULTILINE)
    } == counts


def test_the_examples_on_the_page_of_the_algorithm_are_true() -> None:
    examples = read_examples((HERE / "ORDER.md").read_text("utf-8"))
    assert len(examples) == 13
    for schema, versions, expected in examples:
        base, ours, theirs = [json.dumps(version).encode() for version in versions]
        result = merge_file(base, ours, theirs, schema)
        swapped = merge_file(base, theirs, ours, schema)
        assert [conflict.where for conflict in result.conflicts] == [
            conflict.where for conflict in swapped.conflicts
        ]
        if expected.startswith("conflict"):
            index = re.findall(r"index (\d)", expected)
            assert [conflict.where for conflict in result.conflicts] == [
                "/".join(["/l", *index])
            ], versions
        else:
            assert (
                result.text == swapped.text == json.dumps(to_document(expected.partition(",")[0]))
            ), versions


def read_examples(page: str) -> list[tuple[dict[str, Any], list[dict[str, Any]], str]]:
    keyed = {"properties": {"l": {"x-merge": {"strategy": "rows", "key": "/id"}}}}
    found = []
    schema: dict[str, Any] = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[:4] == ["base", "ours", "theirs", "result"]:
            schema = keyed if "why" in cells else {}
        elif line.startswith("| ") and len(cells) in (4, 5):
            found.append((schema, [to_document(cell) for cell in cells[:3]], cells[3]))
    return found


def to_document(items: str) -> dict[str, Any]:
    if items == "-":
        return {}
    return {"l": [int(item) if item.isdigit() else item for item in items.split()]}


def test_each_mutant_applies_to_the_code_and_one_of_them_dies() -> None:
    mutants = read_mutants()
    assert len({mutant.name for mutant in mutants}) == len(mutants) >= 42
    assert {mutant.profile for mutant in mutants} <= set(PROFILES)
    assert kill(mutants[0]).startswith("schema/")


@pytest.mark.deep
def test_every_mutant_fails_a_vector() -> None:
    alive = [mutant.name for mutant, fault in kill_each(read_mutants(), processes=2) if not fault]
    assert alive == []


def test_any_command_can_be_judged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    vector = read_vectors("core")[1]
    command = [sys.executable, "-m", "checkpoint_git", "merge-file", "-q", "%A", "%O", "%B"]
    assert judge(vector, answer(vector, command)) == ""
    words = ["--one-way", "--profile", "text", "--", "git", "merge-file", "-q", "%A", "%O", "%B"]
    monkeypatch.setattr(sys, "argv", ["conformance", *words])
    assert main() == 0
    assert capsys.readouterr().out.endswith("33 of 33 as expected, 0 skipped\n")
    monkeypatch.setattr(sys, "argv", ["conformance", *words[:2], "choices", "--", "true"])
    assert main() == 1
    assert "clean, where the sides contradict each other" in capsys.readouterr().out


def test_a_driver_that_fails_is_named_with_its_exit_code_and_its_last_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "driver.py").write_text("import sys; sys.exit('first\\nno \\x1b such option')")
    monkeypatch.chdir(tmp_path)
    vector = read_vectors("core")[1]
    ((_, fault),) = run([vector], [sys.executable, "driver.py", "%A"], 1)
    assert fault.endswith("(exit code 1: no  such option)")


def test_it_runs_without_this_package(tmp_path: Path) -> None:
    (tmp_path / "conformance").symlink_to(HERE)
    words = [
        sys.executable,
        "-S",
        "-m",
        "conformance",
        "--one-way",
        "--profile",
        "text",
        "--",
        "true",
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "")
    assert "THEIRS is gone" in done.stdout
