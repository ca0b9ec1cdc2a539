"""The forges' jobs, run step by step as they are written, against bare repositories that stand in
for the forge.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from checkpoint_git.tools.setup.forge_files import forge_files
from tests.architecture.imports import ROOT
from tests.net.servers import Server, reply, serving
from tests.support.repos import NEEDS_MERGE_TREE, GitRepo, copy_built
from tests.support.samples import checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
HOSTILE = "x;$(touch${IFS}pwned)`touch${IFS}pwned`'\"&|é"
TOKEN = "no-token\"of'anybody"  # noqa: S105 # nobody's
MINE, THEIRS = (
    {"updated_at": "2026-03-03T08:00:00Z", "next_actions": ["Write the notes API", "Ship"]},
    {
        "updated_at": "2026-03-03T09:00:00Z",
        "context_primer": {"key_decisions": ["SQLite for storage", "Passkeys only", "One binary"]},
    },
)


@pytest.fixture
def forge(tmp_path: Path) -> GitRepo:
    """The repository on the forge: main, and the branches topic and HOSTILE, whose lines conflict
    with main's.
    """
    copy_built(build_forge, tmp_path / "forge.git", tmp_path / "work")
    return GitRepo(tmp_path / "forge.git")


def build_forge(folder: Path) -> None:
    """0: the forge; 1: the work tree whose branches were pushed to it."""
    bare = GitRepo.create(folder / "0", "--bare")
    work = GitRepo.create(folder / "1")
    work.write(PATH, checkpoint_text())
    work.commit("first")
    for name in ("topic", HOSTILE):
        work.git("checkout", "-q", "-b", name, "main")
        work.write(PATH, checkpoint_text(**MINE))
        work.commit(name)
    work.git("checkout", "-q", "main")
    work.write(PATH, checkpoint_text(**THEIRS))
    work.commit("the base moves")
    work.git("push", "-q", str(bare.path), "--all")


@pytest.fixture
def api() -> Iterator[Server]:
    """The forge's own answers, on the loopback."""
    if shutil.which("curl") is None:
        pytest.skip("no curl on PATH, which the jobs ask the forge with")
    with serving() as server:
        yield server


def job(forge: GitRepo, branch: str, tmp_path: Path) -> GitRepo:
    """What a checkout leaves a job with: every branch fetched, one commit checked out."""
    clone = tmp_path / "job"
    forge.git("clone", "-q", str(forge.path), str(clone))
    repo = GitRepo(clone)
    repo.git("checkout", "-q", f"origin/{branch}")
    return repo


def surroundings(tmp_path: Path, more: Mapping[str, str]) -> dict[str, str]:
    """A runner's environment: our commands on PATH, a folder for temporary files, a page for the
    summary.
    """
    (tmp_path / "runner").mkdir(parents=True, exist_ok=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {
        "PATH": path,
        "RUNNER_TEMP": str(tmp_path / "runner"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }
    return {**os.environ, **own, **more}


def read_file(forge: str, ending: str) -> Any:
    """One of the files that `init --ci` writes."""
    files = forge_files("github" if forge == "github" else "gitlab", "main", "0.1.0")
    return yaml.safe_load(next(data for path, data in files.items() if path.endswith(ending)))


def run_steps(
    workflow: Any, repo: GitRepo, env: Mapping[str, str], expressions: Mapping[str, str]
) -> list[subprocess.CompletedProcess[bytes]]:
    """Every script of a workflow's only job but the installation, with the shell that GitHub
    uses.
    """
    (steps,) = (work["steps"] for work in workflow["jobs"].values())
    done = []
    for step in steps:
        if "run" in step and step["name"] != "Install":
            named = {**workflow.get("env", {}), **step.get("env", {})}
            values = {
                key: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: expressions[found[1]], str(value))
                for key, value in named.items()
            }
            done.append(repo.run("bash", "-e", "-c", step["run"], env={**env, **values}))
    return done


def pull(
    number: int, head: str, base: str = "main", owner: str = "acme/tidepool"
) -> dict[str, Any]:
    """A pull request as the API tells it."""
    return {
        "number": number,
        "head": {"ref": head, "repo": {"full_name": owner} if owner else None},
        "base": {"ref": base, "repo": {"full_name": "acme/tidepool"}},
    }


def list_pulls(api: Server, *pulls: dict[str, Any]) -> None:
    """The answers of the API, two pages of pull requests and an empty third."""
    address = "/api/repos/acme/tidepool/pulls?state=open&per_page=100&limit=50&page="
    for page, some in ((1, pulls[:1]), (2, pulls[1:]), (3, ())):
        api.paths[f"{address}{page}"] = reply(json.dumps(some).encode())


def premerge(
    forge: GitRepo, api: Server, tmp_path: Path, only: str = "", code: int = 0
) -> subprocess.CompletedProcess[bytes]:
    """The job of checkpoint-premerge.yml; what its last step said."""
    repo = job(forge, "main", tmp_path)
    env = surroundings(
        tmp_path,
        {
            "GITHUB_API_URL": f"{api.url}/api",
            "GITHUB_REPOSITORY": "acme/tidepool",
            "GITHUB_REF_NAME": "main",
        },
    )
    answers = {"github.token": TOKEN, "github.event.pull_request.number": only}
    done = run_steps(read_file("github", "premerge.yml"), repo, env, answers)
    assert [one.returncode for one in done] == [0, code], b"\n".join(
        one.stdout + one.stderr for one in done
    ).decode()
    return done[-1]


def parents(forge: GitRepo, branch: str) -> list[str]:
    """The parents of a branch's last commit."""
    return forge.git("rev-list", "--parents", "-n1", f"refs/heads/{branch}").split()[1:]


@NEEDS_MERGE_TREE
def test_when_the_base_moves_every_open_pull_request_gets_the_merge(
    forge: GitRepo, api: Server, tmp_path: Path
) -> None:
    assert forge.exit_code("merge-tree", "--write-tree", "main", "topic") == 1
    before = {
        name: forge.git("rev-parse", f"refs/heads/{name}") for name in ("main", "topic", HOSTILE)
    }
    list_pulls(
        api,
        pull(1, "topic"),
        pull(2, HOSTILE),
        pull(3, "main", owner="fork/tidepool"),
        pull(4, "x", owner=""),
    )
    premerge(forge, api, tmp_path)
    assert forge.git("rev-parse", "main") == before["main"]
    for name in ("topic", HOSTILE):
        assert parents(forge, name) == [before[name], before["main"]]
        merged = json.loads(forge.git("show", f"refs/heads/{name}:{PATH}"))
        assert merged["next_actions"] == MINE["next_actions"]
        assert "One binary" in merged["context_primer"]["key_decisions"]
        assert forge.exit_code("merge-tree", "--write-tree", "main", f"refs/heads/{name}") == 0
    assert not [path for path in tmp_path.rglob("pwned*") if path.name == "pwned"]
    assert f"Bearer {TOKEN}".encode() in api.requests[0]
    assert (tmp_path / "summary.md").read_text().count("### checkpoint ci") == 2


@NEEDS_MERGE_TREE
def test_a_second_run_finds_nothing_to_do(forge: GitRepo, api: Server, tmp_path: Path) -> None:
    list_pulls(api, pull(1, "topic"))
    premerge(forge, api, tmp_path)
    after = forge.git("rev-parse", "topic")
    premerge(forge, api, tmp_path / "again")
    assert forge.git("rev-parse", "topic") == after


@NEEDS_MERGE_TREE
def test_a_pull_requests_own_event_looks_at_that_one_and_other_bases_are_left_alone(
    forge: GitRepo, api: Server, tmp_path: Path
) -> None:
    list_pulls(
        api, pull(1, "topic"), pull(2, HOSTILE), pull(3, "gone"), pull(3, "topic", base="release")
    )
    premerge(forge, api, tmp_path, only="2")
    assert len(parents(forge, HOSTILE)) == 2
    assert len(parents(forge, "topic")) == 1


@NEEDS_MERGE_TREE
def test_a_branch_that_is_called_like_anothers_ref_leaves_that_one_alone(
    forge: GitRepo, api: Server, tmp_path: Path
) -> None:
    for name in ("release", "refs/heads/release"):
        forge.git(
            "update-ref",
            f"refs/heads/{name}",
            "refs/heads/topic" if name == "release" else "main~1",
        )
    work = GitRepo(tmp_path / "work")
    work.git("checkout", "-q", HOSTILE)
    work.git("push", "-q", "-f", str(forge.path), "HEAD:refs/heads/refs/heads/release")
    before = forge.git("rev-parse", "refs/heads/release")
    list_pulls(api, pull(1, "refs/heads/release"), pull(2, "topic"))
    done = premerge(forge, api, tmp_path, code=2)
    assert forge.git("rev-parse", "refs/heads/release") == before
    assert b"'refs/heads/refs/heads/release' cannot be a branch" in done.stderr
    assert len(parents(forge, "topic")) == 2


@NEEDS_MERGE_TREE
def test_what_is_left_to_a_person_is_told_and_the_rest_is_merged_all_the_same(
    forge: GitRepo, api: Server, tmp_path: Path
) -> None:
    work = GitRepo(tmp_path / "work")
    work.git("checkout", "-q", "-b", "stuck", "main~1")
    work.write(
        PATH,
        checkpoint_text(
            context_primer={"key_decisions": "no list"}, status="nearly", step="sprint-9"
        ),
    )
    work.commit("stuck")
    work.git("checkout", "-q", "main")
    work.write(PATH, checkpoint_text(**THEIRS, step="sprint-4"))
    work.commit("the base moves again")
    work.git("push", "-q", str(forge.path), "main", "stuck")
    list_pulls(api, pull(1, "stuck"), pull(2, "topic"))
    done = premerge(forge, api, tmp_path)
    assert len(parents(forge, "stuck")) == 1
    assert len(parents(forge, "topic")) == 2
    assert b"::error" in done.stdout


@NEEDS_MERGE_TREE
def test_a_branch_called_head_becomes_nobodys_base(
    forge: GitRepo, api: Server, tmp_path: Path
) -> None:
    work = GitRepo(tmp_path / "work")
    work.git("checkout", "-q", "topic")
    work.write("planted.txt", "planted\n")
    work.commit("planted")
    work.git("push", "-q", str(forge.path), "HEAD:refs/heads/HEAD")
    list_pulls(api, pull(1, "HEAD"), pull(2, "topic"))
    premerge(forge, api, tmp_path)
    assert parents(forge, "topic")[1] == forge.git("rev-parse", "refs/heads/main")
    assert "planted.txt" not in forge.git("ls-tree", "-r", "--name-only", "refs/heads/topic")


def plant(work: GitRepo, ran: Path) -> None:
    """What a pull request could bring for somebody to run, read as settings or take for a
    repository.
    """
    code, script = f"open({str(ran)!r}, 'a').write(__file__)\n", f"#!/bin/sh\necho $0 >>'{ran}'\n"
    for name in (
        "venv",
        "subprocess",
        "sitecustomize",
        "usercustomize",
        "json",
        "os",
        "typing",
        "yaml",
        "jsonschema",
    ):
        work.write(f"{name}.py", code)
    for name in ("checkpoint_git", "pip", "git", "encodings"):
        work.write(f"{name}/__init__.py", code)
        work.write(f"{name}/__main__.py", code)
    for name in ("python3", "checkpoint", "bash", "curl", "git-lfs", "program"):
        work.write(name, script)
        (work.path / name).chmod(0o755)
    work.write("x.pth", f"import os; {code}")
    work.write("pip.conf", "[global]\nindex-url = http://127.0.0.1:1/\n")
    work.write(".gitattributes", "* filter=x diff=x merge=x\n*.json merge=union\n")
    work.write(
        ".gitmodules",
        '[submodule "x"]\n\tpath = x\n\turl = ext::./program\n\tupdate = !./program\n',
    )
    work.write("nested/.checkpoints/build.checkpoint.json", checkpoint_text())
    settings = f"[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = {work.path}/program\n\thooksPath = .\n"
    # each a git directory, for whoever looks for one from there
    for folder in (
        "bare",
        "nested",
        ".checkpoints",
    ):
        files = {
            "HEAD": "ref: refs/heads/main\n",
            "config": settings,
            "objects/x": "",
            "refs/x": "",
        }
        for name, text in files.items():
            work.write(f"{folder}/{name}", text)


@NEEDS_MERGE_TREE
def test_the_checks_run_and_obey_nothing_that_a_pull_request_brings(
    forge: GitRepo, tmp_path: Path
) -> None:
    work, ran = GitRepo(tmp_path / "work"), tmp_path / "ran"
    work.git("checkout", "-q", "-b", "hostile", "main")
    plant(work, ran)
    work.write(
        PATH,
        checkpoint_text(
            status="::set-env name=A::b", progress_summary="##[add-mask]x ##vso[task.x]y"
        ),
    )
    (work.path / ".checkpoints/env.checkpoint.json").symlink_to("/proc/self/environ")
    (work.path / ".checkpoints/config.checkpoint.json").symlink_to("../.git/config")
    work.commit("::set-output name=x::y ${{ github.token }}")
    work.git("push", "-q", str(forge.path), "hostile")
    env = surroundings(tmp_path, {"A_SECRET": TOKEN, "GITHUB_ACTIONS": "true"})
    done = run_steps(
        read_file("github", "checkpoints.yml"),
        job(forge, "hostile", tmp_path),
        env,
        {"github.base_ref": "main"},
    )
    assert done[0].returncode == 1
    printed = (
        b"".join(one.stdout + one.stderr for one in done).decode()
        + (tmp_path / "summary.md").read_text()
    )
    commands = {
        line.strip().partition(" ")[0]
        for line in printed.splitlines()
        if line.strip().startswith("::")
    }
    assert commands <= {"::error", "::warning", "::notice"}
    assert "##[" not in printed
    assert "##vso[" not in printed
    assert TOKEN not in printed
    assert not ran.exists(), ran.read_text()


@NEEDS_MERGE_TREE
def test_no_tag_and_no_branch_of_a_pull_request_passes_for_the_base(
    forge: GitRepo, tmp_path: Path
) -> None:
    work = GitRepo(tmp_path / "work")
    for name in (
        "origin/main",
        "refs/remotes/origin/main",
        "main",
        "remotes/origin/main",
        "heads/main",
    ):
        work.git("tag", name, "topic")
    branches = [f"topic:refs/heads/{name}" for name in ("origin/main", "refs/remotes/origin/main")]
    work.git("push", "-q", str(forge.path), "--tags", *branches)
    env, repo = surroundings(tmp_path, {}), job(forge, "topic", tmp_path)
    done = run_steps(read_file("github", "checkpoints.yml"), repo, env, {"github.base_ref": "main"})
    assert done[-1].returncode == 1
    assert b"merge/conflict" in done[-1].stdout


def test_the_checks_annotate_what_a_pull_request_breaks(forge: GitRepo, tmp_path: Path) -> None:
    work = GitRepo(tmp_path / "work")
    work.git("checkout", "-q", "-b", "broken")
    work.write(PATH, checkpoint_text(status="nearly, 100%\nsure"))
    work.commit("broken")
    work.git("push", "-q", str(forge.path), "broken")
    done = run_steps(
        read_file("github", "checkpoints.yml"),
        job(forge, "broken", tmp_path),
        surroundings(tmp_path, {}),
        {"github.base_ref": "main"},
    )
    assert done[0].returncode == 1
    assert f"::error file={PATH},line=10".encode() in done[0].stdout
    assert b"100%25" in done[0].stdout
    assert "### checkpoint validate" in (tmp_path / "summary.md").read_text()


@NEEDS_MERGE_TREE
def test_the_checks_say_nothing_of_a_pull_request_that_is_in_order(
    forge: GitRepo, tmp_path: Path
) -> None:
    work = GitRepo(tmp_path / "work")
    work.git("checkout", "-q", "-b", "fine", "main")
    work.write("README", "a\n")
    work.commit("fine")
    work.git("push", "-q", str(forge.path), "fine")
    repo = job(forge, "fine", tmp_path)
    done = run_steps(
        read_file("github", "checkpoints.yml"),
        repo,
        surroundings(tmp_path, {}),
        {"github.base_ref": "main"},
    )
    assert [(one.returncode, one.stdout) for one in done] == [(0, b""), (0, b""), (0, b"")]


def run_gitlab(
    forge: GitRepo, name: str, branch: str, tmp_path: Path, more: Mapping[str, str]
) -> int:
    """The script of one GitLab job but for the installation; its exit code."""
    script = [
        line
        for line in read_file("gitlab", "checkpoints.gitlab-ci.yml")[name]["script"]
        if " pip " not in line
    ]
    own = {"CI_PROJECT_URL": str(forge.path).removesuffix(".git"), "CI_PROJECT_ID": "7"}
    env = surroundings(tmp_path, {**own, **more})
    done = job(forge, branch, tmp_path).run(
        "bash", "-e", "-o", "pipefail", "-c", "\n".join(script), env=env
    )
    return done.returncode


@NEEDS_MERGE_TREE
def test_gitlabs_jobs_do_the_same(forge: GitRepo, api: Server, tmp_path: Path) -> None:
    requests = [
        {
            "source_project_id": 7,
            "target_project_id": 7,
            "source_branch": name,
            "target_branch": "main",
        }
        for name in ("topic", HOSTILE)
    ]
    requests.append({**requests[0], "source_project_id": 8, "source_branch": "fork"})
    requests.append({**requests[0], "source_branch": "HEAD"})
    for page, some in ((1, requests), (2, [])):
        address = f"/api/projects/7/merge_requests?state=opened&per_page=100&page={page}"
        api.paths[address] = reply(json.dumps(some).encode())
    named = {
        "CI_COMMIT_BRANCH": "main",
        "CHECKPOINT_PUSH_TOKEN": TOKEN,
        "CI_API_V4_URL": f"{api.url}/api",
    }
    assert run_gitlab(forge, "checkpoint-premerge", "main", tmp_path, named) == 0
    assert len(parents(forge, "topic")) == len(parents(forge, HOSTILE)) == 2
    merge = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_PROJECT_ID": "7"}
    assert run_gitlab(forge, "checkpoints", "topic", tmp_path / "second", merge) == 0


@NEEDS_MERGE_TREE
def test_a_forks_pipeline_on_gitlab_compares_with_the_project_that_it_is_merged_into(
    forge: GitRepo, tmp_path: Path
) -> None:
    fork = GitRepo.create(tmp_path / "fork.git", "--bare")
    forge.git("push", "-q", str(fork.path), "topic", "topic:refs/heads/main")
    target = {
        "CI_MERGE_REQUEST_PROJECT_ID": "7",
        "CI_MERGE_REQUEST_PROJECT_URL": str(forge.path).removesuffix(".git"),
    }
    merge = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_PROJECT_ID": "8", **target}
    assert run_gitlab(fork, "checkpoints", "topic", tmp_path, merge) == 1


def run_action(
    repo: GitRepo, tmp_path: Path, command: str, args: str = ""
) -> subprocess.CompletedProcess[bytes]:
    """The last step of action.yml, with our commands where its installation would have put them."""
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    env = surroundings(
        tmp_path, {"COMMAND": command, "ARGS": args, "GITHUB_OUTPUT": str(tmp_path / "output")}
    )
    (tmp_path / "runner/checkpoint-git").mkdir(exist_ok=True)
    (tmp_path / "runner/checkpoint-git/bin").symlink_to(Path(sys.executable).parent)
    return repo.run(
        "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", steps[-1]["run"], env=env
    )


def test_the_action_runs_a_command_with_words_that_no_shell_reads(
    forge: GitRepo, tmp_path: Path
) -> None:
    work = GitRepo(tmp_path / "work")
    work.write(PATH, checkpoint_text(status="nearly"))
    work.commit("broken")
    done = run_action(work, tmp_path, "validate", "--rev\n\nmain\n")
    assert done.returncode == 1
    assert f"::error file={PATH},line=10".encode() in done.stdout
    assert (tmp_path / "output").read_text() == "code=1\n"
    assert "### checkpoint validate" in (tmp_path / "summary.md").read_text()


@pytest.mark.parametrize(
    ("command", "args"),
    [("validate; touch pwned", ""), ("update", ""), ("validate", "--rev\n$(touch pwned)")],
)
def test_the_action_takes_no_other_command_and_runs_no_word_of_it(
    forge: GitRepo, tmp_path: Path, command: str, args: str
) -> None:
    work = GitRepo(tmp_path / "work")
    assert run_action(work, tmp_path, command, args).returncode == 2
    assert not list(tmp_path.rglob("pwned"))


def test_the_action_installs_its_own_commit_from_hashes_and_asks_no_index_for_more(
    tmp_path: Path,
) -> None:
    install = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][-2]
    for program in (tmp_path / "bin/python3", tmp_path / "checkpoint-git/bin/python"):
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\necho "$@" >>"$RUNNER_TEMP/words"\n')
        program.chmod(0o755)
    env = {"PATH": str(tmp_path / "bin"), "RUNNER_TEMP": str(tmp_path)}
    words = [shutil.which("bash") or "bash", "-ec", install["run"]]
    subprocess.run(words, env={**env, "ACTION": str(ROOT)}, cwd=tmp_path, check=True)
    _, dependencies, itself = (tmp_path / "words").read_text().splitlines()
    assert dependencies.endswith(
        f"--require-hashes --only-binary :all: -r {ROOT}/.github/requirements.txt"
    )
    assert itself.endswith(f"--no-index --no-deps --no-build-isolation {ROOT}")
