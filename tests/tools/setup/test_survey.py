"""The facts about an installation, as doctor wants them."""

import os
import sys
from pathlib import Path

from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.git import driver_settings
from checkpoint_git.git.repository import read_repository
from checkpoint_git.git.run import clean_env
from checkpoint_git.tools.setup.init import Options, init
from checkpoint_git.tools.setup.survey import FileState, Installation, read_file, read_installation
from tests.support.repos import GitRepo
from tests.support.snapshot import take_snapshot


def _read(path: Path) -> Installation:
    repository = read_repository(str(path), clean_env(os.environ))
    assert repository is not None
    return read_installation(repository, os.environ)


def _facts(repo: GitRepo, options: Options | None = None) -> Installation:
    init(str(repo.path), options or Options(), os.environ)
    return _read(repo.path)


def _states(facts: Installation) -> dict[str, str]:
    return {hook.name: hook.state for hook in facts.hooks}


def test_nothing_installed_is_a_set_of_absent_facts(repo: GitRepo) -> None:
    facts = _read(repo.path)
    assert not any(key.startswith(("merge.", "checkpoint.")) for key in facts.settings)
    assert (facts.driver, facts.framework_entry, facts.is_there) == (None, False, False)
    assert facts.merge_attribute == "unspecified"
    assert set(_states(facts).values()) == {"missing"}


def test_a_fresh_installation_is_whole(repo: GitRepo) -> None:
    facts = _facts(repo)
    assert facts.driver is not None
    assert facts.driver.python == facts.settings[driver_settings.PYTHON]
    assert Path(facts.driver.python).samefile(sys.executable)
    assert (facts.gone, facts.is_there, driver_settings.HOOKS in facts.settings) == (
        frozenset(),
        True,
        False,
    )
    assert (facts.settings[driver_settings.RECURSIVE], facts.merge_attribute) == (
        "checkpoint-base",
        "checkpoint",
    )
    assert facts.attributes == {"work tree", "info"}
    assert (facts.folder.place, set(_states(facts).values())) == ("repository", {"ours"})
    repo.commit()
    assert _read(repo.path).attributes == {"work tree", "HEAD", "info"}


def test_a_vanished_driver_is_seen(repo: GitRepo) -> None:
    _facts(repo)
    repo.git(
        "config",
        driver_settings.DRIVER,
        driver_settings.driver_command("/gone/python", "/gone", driver_settings.Choices()),
    )
    facts = _read(repo.path)
    assert facts.gone == {"/gone/python", "/gone/driver.py"}


def test_a_hook_that_changed_is_seen(repo: GitRepo) -> None:
    _facts(repo)
    hooks = repo.path / ".git/hooks"
    (hooks / "pre-commit").chmod(0o644)
    (hooks / "pre-push").write_text("#!/bin/sh\nexit 0\n")
    (hooks / "post-merge").unlink()
    (hooks / "post-commit").write_bytes(
        (hooks / "post-commit").read_bytes().replace(b"git diff-tree", b"git diff-tree ")
    )
    states = _states(_read(repo.path))
    assert states == {
        "pre-commit": "not-executable",
        "pre-merge-commit": "ours",
        "pre-push": "foreign",
        "post-commit": "outdated",
        "post-merge": "missing",
        "post-rewrite": "ours",
    }


def test_a_hooks_path_that_leads_elsewhere_is_seen(repo: GitRepo, tmp_path: Path) -> None:
    _facts(repo)
    repo.git("config", "core.hooksPath", str(tmp_path / "elsewhere"))
    facts = _read(repo.path)
    assert facts.folder[:2] == (str(tmp_path / "elsewhere"), "outside")
    assert set(_states(facts).values()) == {"missing"}
    repo.git("config", "core.hooksPath", "")
    facts = _read(repo.path)
    assert (facts.folder.place, facts.hooks) == ("nowhere", ())


def test_the_framework_and_its_entry_are_seen(repo: GitRepo) -> None:
    repo.write(".pre-commit-config.yaml", "repos: [{repo: meta, hooks: []}]\n")
    facts = _facts(repo)
    assert not facts.framework_entry
    repo.write(".pre-commit-config.yaml", "repos:\n- repo: meta\n  hooks: []\n")
    assert _facts(repo).framework_entry


def test_a_linked_worktree_has_the_facts_of_its_repository(repo: GitRepo) -> None:
    repo.commit()
    _facts(repo)
    repo.git("worktree", "add", "-q", "../linked", "-b", "side")
    facts = _read(repo.path.parent / "linked")
    assert set(_states(facts).values()) == {"ours"}
    assert facts.attributes == {"info"}
    assert facts.merge_attribute == "checkpoint"


def test_a_hooks_environment_does_not_lead_astray(repo: GitRepo, tmp_path: Path) -> None:
    other = GitRepo.create(tmp_path / "other")
    _facts(repo)
    repository = read_repository(str(repo.path), clean_env(os.environ))
    assert repository is not None
    facts = read_installation(repository, {**os.environ, "GIT_DIR": str(other.path / ".git")})
    assert set(_states(facts).values()) == {"ours"}
    assert facts.driver


def test_reading_the_facts_changes_nothing(repo: GitRepo) -> None:
    _facts(repo)
    before = take_snapshot(repo.path)
    _read(repo.path)
    assert take_snapshot(repo.path) == before


def test_a_linked_hook_that_calls_us_counts_although_its_lines_are_not_ours(repo: GitRepo) -> None:
    repo.write("hook.sh", '#!/bin/sh\ncheckpoint hook pre-commit "$@"\n').chmod(0o755)
    (repo.path / ".git/hooks/pre-commit").unlink(missing_ok=True)
    (repo.path / ".git/hooks/pre-commit").symlink_to("../../hook.sh")
    hook = next(hook for hook in _read(repo.path).hooks if hook.name == "pre-commit")
    assert (hook.state, hook.calls_us) == ("foreign", True)


def test_what_a_branch_can_make_of_a_file_is_neither_waited_for_nor_read_whole(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with (tmp_path / "huge").open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("pipe", "folder", "huge", "link"):
        state = read_file(str(tmp_path / name))
        assert state.data is None
        assert state.blocked, name
    missing = str(tmp_path / "no" / "file")
    assert read_file(missing) == FileState(missing, None, missing_folders=1)
