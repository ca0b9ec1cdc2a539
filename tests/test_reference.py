"""The second implementation of the merge, conformance/reference, answers the vectors as well."""

import base64
import json
import shutil
import subprocess
from typing import Any

import pytest

from conformance.__main__ import HERE, read_profiles, read_vectors
from conformance.judge import Answer, Vector, both_ways, judge

# What it does not have, as its README says: a requirement, and two profiles
STEPS = "steps"
LEFT_OUT = ("law", "lines")

needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="the second implementation needs Node.js"
)


@needs_node
def test_the_second_implementation_answers_every_vector_as_expected() -> None:
    assert find_faults([vector for profile in answered() for vector in read_vectors(profile)]) == {}


@needs_node
@pytest.mark.deep
def test_the_second_implementation_answers_every_vector_as_expected_both_ways() -> None:
    assert (
        find_faults(
            [vector for profile in answered() for vector in both_ways(read_vectors(profile))]
        )
        == {}
    )


def test_its_readme_names_what_it_does_not_have() -> None:
    page = (HERE / "reference" / "README.md").read_text("utf-8")
    missing = page.partition("What it does not do:")[2]
    assert f"the requirement `{STEPS}`" in missing
    assert [name for name in LEFT_OUT if f"profile `{name}`" not in missing] == []


def answered() -> list[str]:
    """Return the profiles that it has."""
    return [profile for profile in read_profiles() if profile not in LEFT_OUT]


def find_faults(vectors: list[Vector]) -> dict[str, str]:
    """Return what is wrong with the answers, by the vector's id."""
    known = [vector for vector in vectors if not requires_steps(vector)]
    answers = merge_with_reference(known)

    faults = {vector["id"]: judge(vector, answers[vector["id"]]) for vector in known}
    return {name: fault for name, fault in faults.items() if fault}


def requires_steps(vector: Vector) -> bool:
    conditions = vector.get("schema", {}).get("x-merge-require", [])
    return any(STEPS in condition for condition in conditions)


def merge_with_reference(vectors: list[Vector]) -> dict[str, Answer]:
    """Return the answer for each vector's id, from one process."""
    script = str(HERE / "reference" / "vectors.js")
    done = subprocess.run(
        ["node", script],
        input=json.dumps(vectors).encode(),
        capture_output=True,
        timeout=120,
        check=True,
    )

    lines: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    return {line["id"]: Answer(line["code"], base64.b64decode(line["data"])) for line in lines}
