"""What publishes a release, tried without publishing: metadata, workflows, the document for the MCP
registry.
"""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from datetime import UTC, date, datetime
from types import ModuleType
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from checkpoint_git.version import __version__
from tests.architecture.imports import ROOT
from tests.support.rows import rows

SOURCE = "https://github.com/owner/name"
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("loaded_for_a_test", ROOT / path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def build() -> ModuleType:
    return load("hatch_build.py")


def test_links_and_pictures_of_the_readme_lead_to_the_tag(build: ModuleType) -> None:
    text = "![a](docs/a.svg) [b](docs/b.md)\n[c](https://c.example) [d](#d) [MIT](LICENSE)"
    made = build.write_readme(text, SOURCE, "1.2.3")
    assert made.splitlines() == [
        f"![a]({SOURCE}/raw/v1.2.3/docs/a.svg) [b]({SOURCE}/blob/v1.2.3/docs/b.md)",
        f"[c](https://c.example) [d](#d) [MIT]({SOURCE}/blob/v1.2.3/LICENSE)",
        "<!-- mcp-name: io.github.owner/checkpoint-git -->",
    ]


def test_without_an_address_the_readme_is_as_it_is_and_there_are_no_urls(build: ModuleType) -> None:
    assert build.write_readme("[b](docs/b.md)", "", "1.2.3") == "[b](docs/b.md)"
    assert build.find_urls("") == {}


def test_every_link_of_our_readme_is_whole(build: ModuleType) -> None:
    made = build.write_readme((ROOT / "README.md").read_text(), SOURCE, "1.2.3")
    links = re.findall(r"\]\(([^)\s]+)\)", made)
    assert links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_a_forge_that_the_registry_does_not_know_gives_no_name(build: ModuleType) -> None:
    assert build.server_name("https://forge.example/owner/name") == ""
    assert build.write_readme("x", "https://forge.example/owner/name", "1") == "x"


def test_the_registrys_document_keeps_its_limits(build: ModuleType) -> None:
    made: dict[str, Any] = load(".ci/server_json.py").make_document(SOURCE)
    assert f"<!-- mcp-name: {made['name']} -->" in build.write_readme("x", SOURCE, made["version"])
    assert made["version"] == __version__
    assert made.keys() == {"$schema", "name", "description", "repository", "version", "packages"}
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", made["name"])
    assert len(made["description"]) <= 100
    [package] = made["packages"]
    assert package["version"] == made["version"]
    assert package.keys() <= {
        "registryType", "identifier", "version", "runtimeHint", "runtimeArguments", "packageArguments", "transport",
    }  # fmt: skip
    assert "pypi" in json.dumps(package)
    [argument] = package["runtimeArguments"]
    assert (argument["name"], argument["value"]) == (
        "--with",
        f"checkpoint-git[mcp]=={package['version']}",
    )


def test_without_an_address_there_is_no_document_for_the_registry() -> None:
    with pytest.raises(SystemExit, match="SOURCE_URL"):
        load(".ci/server_json.py").make_document("")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_is_one_and_every_action_is_named_by_its_commit(path: Any) -> None:
    words = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.github-workflows",
        str(path),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    used = re.findall(r"uses: (\S+)", path.read_text())
    assert used
    assert [name for name in used if not re.search(r"@[0-9a-f]{40}$", name)] == []


def steps() -> list[str]:
    found = []
    for path in WORKFLOWS:
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            found += [step["run"] for step in job["steps"] if "run" in step]
    return found


@rows("script", steps())
def test_a_step_is_a_script_and_its_targets_are_there(script: str) -> None:
    assert subprocess.run(["bash", "-n"], input=script, text=True, timeout=60).returncode == 0
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"\bmake ([a-z-]+)", script)
    assert [name for name in targets if f"\n{name}:" not in makefile] == []
    assert "${{" not in script, "a value of the event must come through the environment"


def test_only_the_job_that_publishes_gets_an_identity_and_it_builds_nothing() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    with_identity = [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})]
    assert with_identity == ["publish", "rehearse"]
    for name, event, environment in (
        ("publish", "push", "pypi"),
        ("rehearse", "workflow_dispatch", "testpypi"),
    ):
        assert [step for step in jobs[name]["steps"] if "run" in step] == []
        assert jobs[name]["environment"] == environment
        assert jobs[name]["if"] == f"github.event_name == '{event}'"
    assert (
        jobs["rehearse"]["steps"][-1]["with"]["repository-url"] == "https://test.pypi.org/legacy/"
    )


PINNED = [*WORKFLOWS, ROOT / "action.yml", ROOT / "checkpoint_git/tools/setup/forge_files.py"]


def test_an_action_has_one_pin_everywhere_with_its_version_and_a_date_of_this_year() -> None:
    pins = dict[str, set[tuple[str, str]]]()
    for path in PINNED:
        text = path.read_text()
        found = re.findall(
            r"([\w-]+/[\w-]+)@([0-9a-f]{40}) # (v[\d.]+)\"? +#? ?\((\d{4}-\d\d-\d\d)\)", text
        )
        assert len(found) == len(re.findall(r"[\w-]+/[\w-]+@[0-9a-f]{40}", text)), path
        for name, commit, version, day in found:
            pins.setdefault(name, set()).add((commit, version))
            age = datetime.now(UTC).date() - date.fromisoformat(day)
            assert age.days <= 365, (
                f"{path}: look for a newer {name}, and write today's date beside it"
            )
    assert {name: sorted(found) for name, found in pins.items() if len(found) != 1} == {}


def test_the_release_is_judged_by_the_tools_of_the_action_that_publishes() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    commits = set(re.findall(r"gh-action-pypi-publish@(\w{12})\w* # (v[\d.]+)", workflow))
    assert set(re.findall(r"gh-action-pypi-publish at (\w{12}) \((v[\d.]+)\)", text)) == commits
    pins = {
        Requirement(one).name: str(Requirement(one).specifier)
        for one in tomllib.loads(text)["dependency-groups"]["release"]
    }
    assert {
        name: pins[name][:2] for name in ("build", "hatchling", "packaging", "twine")
    } == dict.fromkeys(("build", "hatchling", "packaging", "twine"), "==")


def test_the_wheels_components_are_what_it_asks_for(build: ModuleType) -> None:
    made = build.describe_components("checkpoint-git", "1.2.3", ["GitPython>=3.1.41", "Jinja2>=3"])
    assert made["metadata"]["component"]["purl"] == "pkg:pypi/checkpoint-git@1.2.3"
    assert [component["purl"] for component in made["components"]] == [
        "pkg:pypi/gitpython",
        "pkg:pypi/jinja2",
    ]
    assert made["dependencies"] == [
        {
            "ref": "pkg:pypi/checkpoint-git@1.2.3",
            "dependsOn": ["pkg:pypi/gitpython", "pkg:pypi/jinja2"],
        }
    ]


def test_what_the_action_installs_has_hashes_and_is_what_the_project_asks_for() -> None:
    text = (ROOT / ".github/requirements.txt").read_text().replace("\\\n", "")
    listed = [line.split() for line in text.splitlines() if not line.startswith("#")]
    assert all("==" in words[0] and words[-1].startswith("--hash=sha256:") for words in listed)
    pinned = {Requirement(words[0]).name.lower(): words[0].split("==")[1] for words in listed}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for text in project["project"]["dependencies"] + project["build-system"]["requires"]:
        asked = Requirement(text)
        assert pinned[asked.name.lower()] in asked.specifier, "run .ci/write-requirements"


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_a_form_for_issues_has_what_a_forge_asks_for(path: Any) -> None:
    form = yaml.safe_load(path.read_text())
    if path.name != "config.yml":
        assert form.keys() >= {"name", "description", "body"}
        assert all({"type", "attributes"} <= field.keys() for field in form["body"])


def test_each_extra_lists_what_its_code_imports() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {
        name: {re.split(r"[<>=\[]", one)[0] for one in lists}
        for name, lists in project["optional-dependencies"].items()
    }
    folders = {
        "mcp": ROOT / "checkpoint_git/mcp",
        "memory": ROOT / "checkpoint_git/protocols/memory",
    }
    assert extras.keys() == folders.keys()
    for name, folder in folders.items():
        text = "\n".join(path.read_text() for path in folder.rglob("*.py"))
        imported = {
            module.replace("_", "-")
            for module in re.findall(r"(?m)^\s*(?:from|import) (anyio|mcp_types|mcp)\b", text)
        }
        assert extras[name] == imported, name
