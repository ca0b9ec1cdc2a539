import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from checkpoint_git.core import jsontext
from checkpoint_git.protocols.registry import KINDS
from checkpoint_git.tools.setup import schema
from checkpoint_git.tools.setup.schema import is_own_text, list_schemas, write_text
from tests.support.command import run_here
from tests.support.repos import GitRepo

CHECKERS = Path(sys.executable).parent


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".checkpoints").mkdir()
    assert run_here("update", "build", "--step=one", cwd=tmp_path).returncode == 0
    return tmp_path


def test_every_kind_of_file_has_a_sound_schema_with_a_name_of_its_own() -> None:
    found = list_schemas()
    assert [one.name for one in found] == [kind.name for kind in KINDS]
    assert len({one.document["$id"] for one in found}) == len(found)
    for one in found:
        Draft202012Validator.check_schema(one.document)
        assert not re.search(r'"x-[a-z]', json.dumps(one.document))


@pytest.mark.parametrize("name", [kind.name for kind in KINDS])
def test_a_schema_is_printed_as_it_stands(name: str, project: Path) -> None:
    done = run_here("schema", name, cwd=project)
    assert json.loads(done.stdout) == next(
        one.document for one in list_schemas() if one.name == name
    )


def test_the_list_names_every_schema(project: Path) -> None:
    listed = json.loads(run_here("schema", "--json", cwd=project).stdout)
    assert [one["name"] for one in listed["schemas"]] == [kind.name for kind in KINDS]
    assert all(kind.name in run_here("schema", cwd=project).stdout for kind in KINDS)


def test_an_unknown_name_is_answered_with_those_there_are(project: Path) -> None:
    done = run_here("schema", "skil", cwd=project)
    assert done.returncode == 2
    assert "skill" in done.stderr


def read_settings() -> tuple[Any, Any]:
    text = Path(schema.__file__).parents[3].joinpath("docs/editors.md").read_text("utf-8")
    settings, tasks = (json.loads(part.partition("```")[0]) for part in text.split("```json\n")[1:])
    return settings, tasks


def test_the_matcher_in_the_docs_reads_what_validate_prints(project: Path) -> None:
    (project / ".checkpoints/build.checkpoint.json").write_text(
        '{"skill": "build", "status": "odd"}'
    )
    printed = run_here("validate", cwd=project).stdout
    pattern = read_settings()[1]["tasks"][0]["problemMatcher"]["pattern"]
    found = [match for line in printed.splitlines() if (match := re.match(pattern["regexp"], line))]
    odd = next(match for match in found if match[pattern["code"]] == "skill/unknown-status")
    assert odd[pattern["file"]] == ".checkpoints/build.checkpoint.json"
    assert odd[pattern["severity"]] == "error"
    assert odd[pattern["line"]] == "1"


def test_the_settings_in_the_docs_name_the_files_that_init_writes() -> None:
    settings, _ = read_settings()
    urls = {one["url"] for one in settings["json.schemas"]} | set(settings["yaml.schemas"])
    assert urls == {
        f"./.checkpoints/schemas/{one.file}" for one in list_schemas() if one.name != "skill"
    }


def test_a_written_schema_is_known_again_until_somebody_changes_it() -> None:
    text = write_text(list_schemas()[0].document)
    changed = text.replace('"type": "object"', '"type": "array"', 1)
    assert is_own_text(text.encode())
    assert changed != text
    assert not is_own_text(changed.encode())
    assert not is_own_text(b"{")
    assert jsontext.load(text)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


# init --schemas

CHECKER = Path(sys.executable).parent / "check-jsonschema"
SCHEMA = ".checkpoints/schemas/skill.schema.json"


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    repo = GitRepo.create(tmp_path / "repo")
    run(repo, "init", "--hooks", "none")
    run(repo, "update", "build", "--step=one")
    return repo


def run(repo: GitRepo, *words: str) -> str:
    done = run_here(*words, cwd=repo.path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_checkpoint(repo: GitRepo, skill: str = "build") -> str:
    return repo.read(f".checkpoints/{skill}.checkpoint.json")


def test_schemas_come_and_go_and_leave_every_byte_as_it_was(repo: GitRepo) -> None:
    before = read_checkpoint(repo)
    assert SCHEMA in run(repo, "init", "--hooks", "none", "--schemas")
    assert json.loads(read_checkpoint(repo))["$schema"] == "./schemas/skill.schema.json"
    assert json.loads(read_checkpoint(repo))["updated_at"] == json.loads(before)["updated_at"]
    run(repo, "validate")
    run(repo, "uninstall")
    assert read_checkpoint(repo) == before
    assert not (repo.path / ".checkpoints/schemas").exists()


def test_a_second_time_there_is_nothing_to_do(repo: GitRepo) -> None:
    run(repo, "init", "--hooks", "none", "--schemas")
    first = read_checkpoint(repo), repo.read(SCHEMA)
    told = json.loads(run(repo, "init", "--hooks", "none", "--schemas", "--json"))["steps"]
    assert {step["deed"] for step in told} == {"keep"}
    assert (read_checkpoint(repo), repo.read(SCHEMA)) == first


def test_a_dry_run_writes_nothing(repo: GitRepo) -> None:
    before = read_checkpoint(repo)
    assert "would add" in run(repo, "init", "--hooks", "none", "--schemas", "--dry-run")
    assert read_checkpoint(repo) == before
    assert not (repo.path / ".checkpoints/schemas").exists()


def test_a_new_checkpoint_names_the_schema_that_is_there(repo: GitRepo) -> None:
    run(repo, "init", "--hooks", "none", "--schemas")
    run(repo, "update", "other", "--step=one")
    assert json.loads(read_checkpoint(repo, "other"))["$schema"] == "./schemas/skill.schema.json"


def test_what_somebody_wrote_stays(repo: GitRepo) -> None:
    repo.write(SCHEMA, "{}\n")
    run(repo, "update", "build", "--$schema=https://example.org/mine.json")
    assert "left alone" in run(repo, "init", "--hooks", "none", "--schemas")
    run(repo, "uninstall")
    assert repo.read(SCHEMA) == "{}\n"
    assert json.loads(read_checkpoint(repo))["$schema"] == "https://example.org/mine.json"


def test_a_broken_checkpoint_stays_as_it_is(repo: GitRepo) -> None:
    repo.write(".checkpoints/broken.checkpoint.json", "{")
    run(repo, "init", "--hooks", "none", "--schemas")
    assert read_checkpoint(repo, "broken") == "{"


@pytest.mark.skipif(not CHECKER.exists(), reason="check-jsonschema is not installed")
def test_another_checker_takes_the_schemas_and_finds_the_same_fault(repo: GitRepo) -> None:
    run(repo, "init", "--hooks", "none", "--schemas")
    words = [str(CHECKER), "--schemafile", SCHEMA, ".checkpoints/build.checkpoint.json"]
    assert subprocess.run(words, cwd=repo.path, capture_output=True, check=False).returncode == 0
    repo.write(
        ".checkpoints/build.checkpoint.json", read_checkpoint(repo).replace("in_progress", "odd")
    )
    done = subprocess.run(words, cwd=repo.path, capture_output=True, check=False, text=True)
    assert done.returncode == 1
    assert "$.status" in done.stdout
