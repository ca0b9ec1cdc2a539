"""init makes a repository ready, says every step, and leaves alone what is not its own."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.hint import commands_of
from checkpoint_git.git import driver_settings
from checkpoint_git.tools.setup import init as verb
from checkpoint_git.tools.setup.init import InitResult, Options, init
from checkpoint_git.tools.setup.steps import steps_data
from tests.disk.test_leftovers import CACHES, STATE, plant
from tests.support.repos import GitRepo, environ_in
from tests.support.samples import checkpoint, checkpoint_text
from tests.support.verbs import run_verb

HOOK_NAMES = [
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "post-commit",
    "post-merge",
    "post-rewrite",
]


def _init(repo: GitRepo, options: Options | None = None, **env: str) -> InitResult:
    return init(str(repo.path), options or Options(), {**os.environ, **env})


def _deed(result: InitResult, what: str) -> str:
    return next(step.deed for step in result.steps if step.what == what)


def _text(result: InitResult, what: str) -> str:
    return next(f"{step.text}: {step.hint}" for step in result.steps if step.what == what)


def _attribute(repo: GitRepo, path: str = ".checkpoints/build.checkpoint.json") -> str:
    return repo.git("check-attr", "merge", "--", path).rpartition(" ")[2]


def _write_checkpoint(repo: GitRepo, **changes: object) -> None:
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text(**changes))


def _executable(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o755)


def test_every_part_is_reported_and_there(repo: GitRepo) -> None:
    result = _init(repo)
    assert {step.deed for step in result.steps} == {"add"}
    assert _attribute(repo) == "checkpoint"
    assert _attribute(repo, "packages/web/.checkpoints/build.checkpoint.json") == "checkpoint"
    assert _attribute(repo, ".checkpoints/history/build.2026.json") == "unspecified"
    assert all(os.access(repo.path / ".git/hooks" / name, os.X_OK) for name in HOOK_NAMES)
    assert "checkpoint done" in repo.read(".checkpoints/README.md")
    assert repo.git("config", "merge.checkpoint.recursive") == "checkpoint-base"


def test_the_verb_gives_lines_for_a_person_and_steps_as_data(repo: GitRepo) -> None:
    ran = run_verb(verb, "-v", cwd=repo.path, env=dict(os.environ))
    assert "added: .git/hooks/pre-push" in ran.text
    assert {"deed": "add", "what": ".git/hooks/pre-push", "text": ""} in ran.outcome.data["steps"]
    json.dumps(ran.outcome.data)


def test_init_prints_what_was_done_and_what_to_do_next_in_a_few_lines(repo: GitRepo) -> None:
    first, again = (
        run_verb(verb, cwd=repo.path, env=dict(os.environ)).text.splitlines() for _ in range(2)
    )
    assert first == [
        "set up: .checkpoints/README.md, .gitattributes, this clone (.git)",
        "Commit these files so that other clones have them too.",
        "Start a checkpoint, such as: checkpoint update build --next 'Write the first test'",
    ]
    assert again == ["already set up"]


def test_init_prints_in_full_what_it_could_not_do(repo: GitRepo) -> None:
    _executable(repo.path / ".git/hooks/pre-push", "#!/usr/bin/env ruby\nexit 0\n")
    assert (
        "left alone: .git/hooks/pre-push ("
        in run_verb(verb, cwd=repo.path, env=dict(os.environ)).text
    )


def test_a_dry_run_says_would(repo: GitRepo) -> None:
    assert (
        "would add: .gitattributes"
        in run_verb(verb, "--dry-run", cwd=repo.path, env=dict(os.environ)).text
    )


def test_the_interpreter_is_a_real_program_and_not_a_shim(repo: GitRepo) -> None:
    _init(repo)
    recorded = Path(repo.git("config", driver_settings.PYTHON))
    assert recorded.is_absolute()
    assert recorded.parent == Path(sys.executable).parent
    assert recorded.samefile(sys.executable)


def test_the_package_is_compiled(repo: GitRepo) -> None:
    _init(repo)
    package = Path(verb.__file__).parents[2]
    assert list((package / "__pycache__").glob("mergefile.*.pyc"))


def test_outside_git_only_the_folder_is_made_and_that_is_said(tmp_path: Path) -> None:
    ran = run_verb(verb, cwd=tmp_path, env=dict(os.environ))
    assert "this is not a git repository" in ran.text
    assert "this clone" not in ran.text
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == [
        ".checkpoints",
        ".checkpoints/README.md",
    ]


def test_the_inside_of_a_git_directory_is_refused(repo: GitRepo) -> None:
    with pytest.raises(CheckpointError, match="inside of one") as caught:
        init(str(repo.path / ".git"), Options(), environ_in(repo.path / ".git"))
    assert "clone" in str(caught.value.hint)


def test_a_subfolder_sets_up_its_repository(repo: GitRepo) -> None:
    repo.write("deep/down/a.txt", "a\n")
    result = init(str(repo.path / "deep/down"), Options(), os.environ)
    assert result.root == str(repo.path)


def test_a_nearer_checkpoints_folder_is_taken(repo: GitRepo) -> None:
    repo.write("packages/web/.checkpoints/build.checkpoint.json", checkpoint_text())
    result = init(str(repo.path / "packages/web"), Options(), os.environ)
    assert result.root == str(repo.path / "packages/web")
    assert (repo.path / ".gitattributes").exists()


def test_a_linked_worktree_shares_configuration_hooks_and_attributes(repo: GitRepo) -> None:
    repo.commit()
    repo.git("worktree", "add", "-q", "../linked", "-b", "side")
    linked = GitRepo(repo.path.parent / "linked")
    _init(linked)
    assert (repo.path / ".git/hooks/pre-commit").exists()
    assert (repo.path / ".git/info/attributes").exists()
    assert (linked.path / ".gitattributes").exists()
    assert not (repo.path / ".gitattributes").exists()
    assert _attribute(repo) == "checkpoint"
    assert repo.git("config", "merge.checkpoint.driver") == linked.git(
        "config", "merge.checkpoint.driver"
    )


def test_a_worktree_of_a_bare_repository_is_no_bare_one(repo: GitRepo, tmp_path: Path) -> None:
    repo.commit()
    repo.git("clone", "-q", "--bare", str(repo.path), str(tmp_path / "bare.git"))
    GitRepo(tmp_path / "bare.git").git("worktree", "add", "-q", "../linked", "main")
    _init(GitRepo(tmp_path / "linked"))
    assert (tmp_path / "bare.git/hooks/pre-commit").exists()
    assert _attribute(GitRepo(tmp_path / "linked")) == "checkpoint"


def test_a_git_directory_of_its_own_is_found(tmp_path: Path) -> None:
    repo = GitRepo.create(tmp_path / "tree", "--separate-git-dir", str(tmp_path / "the git"))
    _init(repo)
    assert (tmp_path / "the git/hooks/pre-commit").exists()
    assert _attribute(repo) == "checkpoint"


def test_a_submodule_is_a_repository_of_its_own(repo: GitRepo, tmp_path: Path) -> None:
    inner = GitRepo.create(tmp_path / "inner")
    inner.commit()
    repo.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.path), "lib"
    )
    lib = GitRepo(repo.path / "lib")
    _init(lib)
    assert _attribute(lib) == "checkpoint"
    assert (repo.path / ".git/modules/lib/hooks/pre-commit").exists()
    assert not (repo.path / ".git/hooks/pre-commit").exists()


@pytest.mark.parametrize("inside", [True, False])
def test_a_git_dir_of_another_repository_is_refused(
    repo: GitRepo, tmp_path: Path, inside: bool
) -> None:
    other = GitRepo.create(tmp_path / "other")
    start = repo.path if inside else tmp_path
    with pytest.raises(CheckpointError, match="GIT_DIR names"):
        init(str(start), Options(), {**os.environ, "GIT_DIR": str(other.path / ".git")})
    assert not (other.path / ".git/hooks/pre-commit").exists()


def test_a_git_dir_of_this_repository_is_fine(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent/index")
    monkeypatch.chdir(repo.path)
    assert _deed(_init(repo), ".git/hooks/pre-commit") == "add"


def test_an_old_git_is_refused(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _executable(tmp_path / "bin/git", "#!/bin/sh\necho git version 2.25.1\n")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    with pytest.raises(CheckpointError, match=r"git 2\.25\.1 is too old"):
        _init(repo)


def test_without_git_there_is_a_hint(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CheckpointError, match="git was not found"):
        _init(repo)


def test_checkpoints_that_git_ignores_are_warned_of(repo: GitRepo) -> None:
    repo.write(".gitignore", "dist/\n.checkpoints/\n")
    finding = _init(repo).findings[0]
    assert (finding.code, finding.level, finding.path, finding.line) == (
        "git/checkpoints-ignored",
        "warning",
        ".gitignore",
        2,
    )


def test_an_interpreter_that_goes_with_a_cache_is_warned_of(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cache/archive/x").mkdir(parents=True)
    (tmp_path / "cache/CACHEDIR.TAG").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "cache/archive/x"))
    assert [finding.code for finding in _init(repo).findings] == ["driver/temporary"]
    (tmp_path / "cache/CACHEDIR.TAG").unlink()
    assert _init(repo).findings == []


def test_a_pattern_that_brings_checkpoints_back_is_no_warning(repo: GitRepo) -> None:
    repo.write(".gitignore", ".*\n!.checkpoints\n!.gitattributes\n")
    assert _init(repo).findings == []


def test_the_other_driver_is_recognised_and_left_alone(repo: GitRepo) -> None:
    repo.write(".gitattributes", "*.png binary\n.checkpoints/*.json merge=opchain-checkpoint\n")
    result = _init(repo)
    assert _deed(result, ".gitattributes") == "skip"
    assert ".gitattributes:2 gives checkpoints to the merge driver opchain-checkpoint" in _text(
        result, ".gitattributes"
    )
    (step,) = [step for step in result.steps if step.what == ".gitattributes"]
    assert commands_of(step.hint) == [("checkpoint", "init", "--adopt")]
    assert steps_data([step])[0]["commands"] == [["checkpoint", "init", "--adopt"]]
    assert _attribute(repo) == "opchain-checkpoint"


def test_adopt_replaces_the_other_driver_and_keeps_the_lines_other_attributes(
    repo: GitRepo,
) -> None:
    repo.write(".gitattributes", ".checkpoints/** text eol=lf merge=opchain-checkpoint\n")
    _init(repo, Options(adopt=True))
    assert _attribute(repo) == "checkpoint"
    assert _attribute(repo, ".checkpoints/history.json") == "checkpoint"
    assert repo.git("check-attr", "eol", "--", ".checkpoints/build.checkpoint.json").endswith("lf")


def test_the_other_driver_in_a_nearer_attributes_file_is_overruled_when_adopted(
    repo: GitRepo,
) -> None:
    repo.write(".checkpoints/.gitattributes", "*.json merge=opchain-checkpoint\n")
    assert _deed(_init(repo), ".gitattributes") == "skip"
    _init(repo, Options(adopt=True))
    assert _attribute(repo) == "checkpoint"


def test_a_narrative_is_remembered_until_it_is_changed(repo: GitRepo) -> None:
    _init(repo, Options(narrative="newest"))
    assert "--narrative newest" in repo.git("config", driver_settings.DRIVER)
    assert "--narrative newest" in repo.git("config", driver_settings.BASE_DRIVER)
    _init(repo)
    assert "--narrative newest" in repo.git("config", driver_settings.DRIVER)
    _init(repo, Options(narrative="conflict"))
    assert "--narrative conflict" in repo.git("config", driver_settings.DRIVER)
    _init(repo, Options(narrative="auto"))
    assert "--narrative" not in repo.git("config", driver_settings.DRIVER)


def test_a_merge_schema_is_written_with_its_absolute_path(repo: GitRepo, tmp_path: Path) -> None:
    schema = tmp_path / "my schema.json"
    schema.write_text("{}")
    _init(repo, Options(schema="../my schema.json"))
    found = driver_settings.read_driver_command(repo.git("config", driver_settings.DRIVER))
    assert found is not None
    assert found.choices.schema == str(schema)
    _init(repo, Options(schema=""))
    assert "--merge-schema" not in repo.git("config", driver_settings.DRIVER)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"properties": {"a": {"x-merge": {"strategy": "summ"}}}}']
)
def test_a_merge_schema_that_nothing_can_be_merged_by_is_refused(
    repo: GitRepo, tmp_path: Path, text: str
) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text(text)
    with pytest.raises(CheckpointError, match="--merge-schema"):
        init(str(repo.path), Options(schema=str(schema)), os.environ)


def test_a_merge_schema_in_a_work_tree_is_refused(repo: GitRepo) -> None:
    repo.write("schema.json", "{}")
    with pytest.raises(CheckpointError, match="in a work tree"):
        _init(repo, Options(schema="schema.json"))


def test_a_merge_schema_that_is_missing_is_refused(repo: GitRepo) -> None:
    with pytest.raises(CheckpointError, match="cannot be read"):
        _init(repo, Options(schema="/nonexistent.json"))


def test_a_driver_that_somebody_defined_under_our_name_is_left_alone(repo: GitRepo) -> None:
    repo.git("config", "merge.checkpoint.driver", "mine %A")
    assert _deed(_init(repo), "merge.checkpoint.driver") == "skip"
    assert repo.git("config", "merge.checkpoint.driver") == "mine %A"


def test_an_older_driver_command_of_ours_is_renewed(repo: GitRepo) -> None:
    old = driver_settings.driver_command(
        "/gone/python", "/gone/checkpoint_git", driver_settings.Choices()
    )
    repo.git("config", "merge.checkpoint.driver", old)
    assert _deed(_init(repo), "merge.checkpoint.driver") == "update"


def test_a_shell_hook_keeps_running_below_ours(repo: GitRepo) -> None:
    _executable(repo.path / ".git/hooks/pre-commit", "#!/bin/sh\necho ran >> ran.txt\nexit 7\n")
    result = _init(repo)
    assert _deed(result, ".git/hooks/pre-commit") == "update"
    assert repo.exit_code("commit", "--allow-empty", "-m", "x") == 1
    assert (repo.path / "ran.txt").exists()


def test_a_hook_of_another_language_is_left_alone_and_a_recipe_printed(repo: GitRepo) -> None:
    content = "#!/usr/bin/env python3\nprint('theirs')\n"
    _executable(repo.path / ".git/hooks/pre-commit", content)
    result = _init(repo)
    assert _deed(result, ".git/hooks/pre-commit") == "skip"
    assert 'checkpoint hook pre-commit "$@"' in _text(result, ".git/hooks/pre-commit")
    assert repo.read(".git/hooks/pre-commit") == content


def test_a_linked_hook_is_left_alone(repo: GitRepo) -> None:
    _executable(repo.path / "hook.sh", "#!/bin/sh\ntrue\n")
    (repo.path / ".git/hooks/pre-commit").symlink_to("../../hook.sh")
    assert _deed(_init(repo), ".git/hooks/pre-commit") == "skip"
    assert repo.read("hook.sh") == "#!/bin/sh\ntrue\n"


def test_a_hooks_folder_in_the_work_tree_is_used_and_announced(repo: GitRepo) -> None:
    repo.git("config", "core.hooksPath", "githooks")
    result = _init(repo)
    assert "part of the work tree" in _text(result, "githooks/pre-commit")
    assert not (repo.path / ".git/hooks/pre-commit").exists()


def test_a_hooks_folder_outside_gets_recipes_only(repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    repo.git("config", "core.hooksPath", str(tmp_path / "shared"))
    result = _init(repo)
    assert _deed(result, "hooks") == "skip"
    assert [step.what for step in result.steps if step.deed == "advise"] == HOOK_NAMES
    assert list((tmp_path / "shared").iterdir()) == []


def test_a_linked_hooks_folder_counts_as_where_it_leads(repo: GitRepo, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    shutil.rmtree(repo.path / ".git/hooks")
    (repo.path / ".git/hooks").symlink_to(tmp_path / "shared")
    assert _deed(_init(repo), "hooks") == "skip"


def test_husky_stubs_are_left_and_the_scripts_above_them_extended(repo: GitRepo) -> None:
    repo.write(".husky/pre-commit", "npm test\n")
    repo.write(".husky/_/h", "")
    repo.git("config", "core.hooksPath", ".husky/_")
    result = _init(repo)
    assert _deed(result, ".husky/pre-commit") == "update"
    assert repo.read(".husky/pre-commit").endswith("npm test\n")
    assert [path.name for path in (repo.path / ".husky/_").iterdir()] == ["h"]


def test_the_framework_gets_an_entry_and_the_other_hooks_stay_native(repo: GitRepo) -> None:
    before = "# ours\nrepos:\n  - repo: meta\n    hooks:\n      - id: check-hooks-apply\n\nfail_fast: true\n"
    repo.write(".pre-commit-config.yaml", before)
    result = _init(repo)
    text = repo.read(".pre-commit-config.yaml")
    assert text.startswith("# ours\nrepos:\n  # >>> checkpoint-git >>>\n  - repo: local\n")
    assert text.endswith(before.removeprefix("# ours\nrepos:\n"))
    assert not (repo.path / ".git/hooks/pre-commit").exists()
    assert (repo.path / ".git/hooks/pre-push").exists()
    assert "pre-commit install" in _text(result, "pre-commit")


def test_a_framework_file_in_another_style_gets_a_recipe(repo: GitRepo) -> None:
    repo.write(".pre-commit-config.yaml", "repos: [{repo: meta, hooks: []}]\n")
    assert _deed(_init(repo), ".pre-commit-config.yaml") == "advise"
    assert repo.read(".pre-commit-config.yaml") == "repos: [{repo: meta, hooks: []}]\n"


def test_our_native_hook_goes_when_the_framework_takes_over(repo: GitRepo) -> None:
    _init(repo)
    repo.write(".pre-commit-config.yaml", "repos:\n- repo: meta\n  hooks: []\n")
    assert _deed(_init(repo), ".git/hooks/pre-commit") == "remove"


def test_an_attributes_file_that_somebody_deleted_comes_back_with_all_its_lines(
    repo: GitRepo,
) -> None:
    repo.write(".gitattributes", "*.png binary\n")
    repo.commit()
    (repo.path / ".gitattributes").unlink()
    assert _deed(_init(repo), ".gitattributes") == "add"
    assert repo.read(".gitattributes").startswith("*.png binary\n# >>> checkpoint-git")


def test_an_attributes_file_that_is_tracked_but_not_checked_out_is_not_replaced(
    repo: GitRepo,
) -> None:
    repo.write(".gitattributes", "*.png binary\n")
    repo.commit()
    repo.git("update-index", "--skip-worktree", ".gitattributes")
    (repo.path / ".gitattributes").unlink()
    assert _deed(_init(repo), ".gitattributes") == "skip"
    assert _attribute(repo) == "checkpoint"


def test_a_read_only_repository_is_a_clear_error(repo: GitRepo) -> None:
    (repo.path / ".checkpoints").write_text("a file")
    with pytest.raises(CheckpointError, match="could not be written"):
        _init(repo)


def _two_branches(repo: GitRepo) -> None:
    _write_checkpoint(repo)
    repo.commit("base")
    repo.git("checkout", "-q", "-b", "side")
    decisions = [*checkpoint()["context_primer"]["key_decisions"], "Postgres"]
    primer = {**checkpoint()["context_primer"], "key_decisions": decisions}
    _write_checkpoint(repo, context_primer=primer, updated_at="2026-03-03T10:00:00Z")
    repo.commit("side")
    repo.git("checkout", "-q", "main")
    _write_checkpoint(repo, next_actions=["Write the notes API"], updated_at="2026-03-04T10:00:00Z")
    repo.commit("main")


@pytest.mark.parametrize(
    "name", ["repo", "it's a repo", 'say "hi"', "mänuskript 100%", "$HOME `x`; true"]
)
def test_after_init_a_real_merge_resolves(tmp_path: Path, name: str) -> None:
    repo = GitRepo.create(tmp_path / name)
    _init(repo, Options(hooks="none"))
    _two_branches(repo)
    repo.git("merge", "-q", "-m", "merge", "side")
    merged = json.loads(repo.read(".checkpoints/build.checkpoint.json"))
    assert merged["updated_at"] == "2026-03-04T10:00:00Z"
    assert merged["next_actions"] == ["Write the notes API"]
    assert "Postgres" in merged["context_primer"]["key_decisions"]


@pytest.mark.parametrize("name", ["env", "it's env", "ä 100% env"])
def test_an_interpreter_and_package_of_any_path_run_the_driver(
    repo: GitRepo, tmp_path: Path, name: str
) -> None:
    package = tmp_path / name / "checkpoint_git"
    shutil.copytree(
        Path(verb.__file__).parents[2], package, ignore=shutil.ignore_patterns("__pycache__")
    )
    python = tmp_path / name / "python"
    python.symlink_to(sys.executable)
    _init(repo, Options(hooks="none"))
    for key, value in driver_settings.plan_settings(
        str(python), str(package), driver_settings.Choices()
    ).items():
        repo.git("config", key, value)
    _two_branches(repo)
    done = repo.run("git", "merge", "-q", "-m", "merge", "side")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("code", [0, 1])
def test_without_the_interpreter_the_command_on_path_merges(repo: GitRepo, code: int) -> None:
    _init(repo, Options(hooks="none"))
    gone = driver_settings.plan_settings(
        "/gone/python", "/gone/checkpoint_git", driver_settings.Choices()
    )
    for key, value in gone.items():
        repo.git("config", key, value)
    _two_branches(repo)
    if code:  # a conflict that the driver writes, and git's text merge would not
        for branch, project in (("main", "app"), ("side", "site")):
            repo.git("checkout", "-q", branch)
            _write_checkpoint(
                repo, project=project, updated_at=f"2026-03-0{len(project)}T10:00:00Z"
            )
            repo.commit(project)
        repo.git("checkout", "-q", "main")
    folder = os.path.dirname(sys.executable)
    done = repo.run(
        "git",
        "merge",
        "-q",
        "-m",
        "merge",
        "side",
        env={**os.environ, "PATH": f"{folder}:/usr/bin:/bin"},
    )
    assert done.returncode == code
    assert ("checkpoint resolve" in done.stderr.decode()) == bool(code)
    if not code:
        assert json.loads(repo.read(".checkpoints/build.checkpoint.json"))["next_actions"] == [
            "Write the notes API"
        ]


def test_without_the_interpreter_a_merge_leaves_both_sides_to_read(repo: GitRepo) -> None:
    _init(repo, Options(hooks="none"))
    for key, value in driver_settings.plan_settings(
        "/gone/python", "/gone/checkpoint_git", driver_settings.Choices()
    ).items():
        repo.git("config", key, value)
    _two_branches(repo)
    done = repo.run("git", "merge", "side", env={**os.environ, "PATH": "/usr/bin:/bin"})
    text = repo.read(".checkpoints/build.checkpoint.json")
    assert done.returncode == 1
    said = done.stderr.decode().splitlines()
    assert [line for line in said if "checkpoint init" in line] == said[:1]
    assert not [line for line in said if "not found" in line]
    assert "<<<<<<< ours" in text
    assert "2026-03-03T10:00:00Z" in text
    assert "2026-03-04T10:00:00Z" in text


def test_a_patch_of_a_checkpoint_can_be_applied(repo: GitRepo) -> None:
    _init(repo, Options(hooks="none"))
    _two_branches(repo)
    patch = repo.git("diff", "main", "side")
    assert '"updated_at": "2026-03-03T10:00:00Z"' in patch
    assert repo.run("git", "apply", "--check", stdin=f"{patch}\n".encode()).returncode == 0


def test_init_from_the_shell_with_a_pyenv_shim_records_the_program_behind_it(
    tmp_path: Path,
) -> None:
    shim = tmp_path / "shims/python3"
    _executable(shim, f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    said = subprocess.run(
        [shim, "-c", "import sys; print(sys.executable)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.strip() == sys.executable


def test_the_narrative_of_the_newer_side_wins_where_that_was_chosen(repo: GitRepo) -> None:
    _init(repo, Options(hooks="none", narrative="newest"))
    _write_checkpoint(repo)
    repo.commit("base")
    repo.git("checkout", "-q", "-b", "side")
    _write_checkpoint(repo, step="theirs", updated_at="2026-03-03T10:00:00Z")
    repo.commit("side")
    repo.git("checkout", "-q", "main")
    _write_checkpoint(repo, step="ours", updated_at="2026-03-04T10:00:00Z")
    repo.commit("main")
    repo.git("merge", "-q", "-m", "merge", "side")
    merged = json.loads(repo.read(".checkpoints/build.checkpoint.json"))
    assert merged["step"] == "ours"
    assert "theirs" in json.dumps(merged["superseded"])


def test_a_branch_older_than_the_attributes_merges_by_meaning(repo: GitRepo) -> None:
    _two_branches(repo)
    _init(repo, Options(hooks="none"))
    (repo.path / ".gitattributes").unlink()
    repo.git("merge", "-q", "-m", "merge", "side")
    assert "Postgres" in repo.read(".checkpoints/build.checkpoint.json")


@pytest.mark.parametrize("how", ["rebase", "cherry-pick", "stash pop"])
def test_rebase_cherry_pick_and_stash_use_the_driver_too(repo: GitRepo, how: str) -> None:
    _init(repo, Options(hooks="none"))
    repo.commit("set up")
    _two_branches(repo)
    if how == "stash pop":
        repo.git("checkout", "-q", "HEAD~1")
        repo.git("checkout", "side", "--", ".checkpoints/build.checkpoint.json")
        repo.git("stash", "-q")
        repo.git("checkout", "-q", "main")
    words = {
        "rebase": ["rebase", "-q", "side"],
        "cherry-pick": ["cherry-pick", "side"],
        "stash pop": ["stash", "pop"],
    }
    repo.git(*words[how])
    merged = json.loads(repo.read(".checkpoints/build.checkpoint.json"))
    assert merged["next_actions"] == ["Write the notes API"]
    assert "Postgres" in merged["context_primer"]["key_decisions"]


def test_what_a_sparse_checkout_leaves_out_is_not_written_over(repo: GitRepo) -> None:
    repo.write("src/a.py", "a\n")
    run_verb(verb, "--ci=github", "--schemas", cwd=repo.path, env=dict(os.environ))
    repo.write(".checkpoints/README.md", "our own words\n")
    repo.commit()
    repo.git("sparse-checkout", "set", "--no-cone", "/src/")
    ran = run_verb(verb, "--ci=github", "--schemas", cwd=repo.path, env=dict(os.environ))
    deeds = {step["what"]: (step["deed"], step["text"]) for step in ran.outcome.data["steps"]}
    left = [
        what for what, (deed, text) in deeds.items() if deed == "skip" and "not checked out" in text
    ]
    assert {".checkpoints/README.md", ".gitattributes", ".github/workflows/checkpoints.yml"} <= set(
        left
    )
    assert ".checkpoints/schemas/skill.schema.json" in left
    (readme,) = [
        step for step in ran.outcome.data["steps"] if step["what"] == ".checkpoints/README.md"
    ]
    assert readme["commands"] == [["git", "sparse-checkout", "add", ".checkpoints"]]
    assert sorted(os.listdir(repo.path)) == [".git", "src"]


def test_schemas_can_be_planned_before_the_first_init(repo: GitRepo) -> None:
    ran = run_verb(verb, "--schemas", "--dry-run", cwd=repo.path, env=dict(os.environ))
    assert ".checkpoints/schemas/skill.schema.json" in [
        step["what"] for step in ran.outcome.data["steps"]
    ]
    assert not (repo.path / ".checkpoints").exists()


def test_what_earlier_versions_cached_goes_from_both_git_directories_and_state_stays(
    repo: GitRepo,
) -> None:
    _init(repo)
    repo.commit("begin")
    repo.git("worktree", "add", "-q", "../linked")
    linked, common = GitRepo(repo.path.parent / "linked"), repo.path / ".git"
    git_dirs = [common, common / "worktrees" / "linked"]
    for git_dir in git_dirs:
        plant(git_dir, CACHES | STATE)

    def list_files(git_dir: Path) -> set[str]:
        folder = git_dir / "checkpoint"
        return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}

    planned = _init(linked, Options(dry_run=True))
    assert _deed(planned, ".git/checkpoint/merges") == "remove"
    assert list_files(common) == CACHES | STATE
    _init(linked)
    assert [list_files(git_dir) for git_dir in git_dirs] == [STATE, STATE]
    assert not any((git_dir / "checkpoint" / "history").is_dir() for git_dir in git_dirs)
    assert (
        run_verb(verb, cwd=linked.path, env=dict(os.environ)).text.splitlines()[0]
        == "already set up"
    )
