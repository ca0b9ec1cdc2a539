import functools
import os
import re

from checkpoint_git.git.settings import (
    MEMORY_TIMEOUT,
    POINTS_BUDGET,
    SESSION_BLOCKS,
    SETTINGS,
    SYNC_BRANCH,
    find_setting,
    read_flag,
)
from checkpoint_git.protocols.restore import snapshot
from tests.architecture.imports import ROOT
from tests.support.repos import GitRepo

NAME = re.compile(r"\bcheckpoint\.[a-z]+[A-Z][A-Za-z]*")
TABLE = ROOT / "checkpoint_git/git/settings.py"


@functools.cache
def read_sources() -> dict[str, str]:
    files = [
        path
        for folder in ("checkpoint_git", "hooks")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    ]
    return {
        str(path): path.read_text("utf-8")
        for path in files
        if path.suffix != ".pyc" and path != TABLE
    }


def test_the_table_has_every_setting_that_the_package_names() -> None:
    named = {name for text in read_sources().values() for name in NAME.findall(text)}
    assert named - SETTINGS.keys() == set()


def test_every_setting_is_read_by_its_name_in_the_table() -> None:
    text = TABLE.read_text("utf-8")
    constants = dict(re.findall(r'^([A-Z_]+) = "(checkpoint\.\w+)"$', text, re.MULTILINE))
    assert set(constants.values()) == SETTINGS.keys()
    sources = "\n".join(read_sources().values())
    standalone = "POINTS_BUDGET"  # snapshot.py imports nothing of the package
    unread = [
        name
        for name in constants
        if name != standalone and not re.search(rf"[(, ]{name}\b", sources)
    ]
    assert unread == []
    lower = [name.lower() for name in SETTINGS]
    assert [name for name in lower if f'"{name}"' in sources] == []


def test_a_setting_is_found_among_those_of_git_or_by_default() -> None:
    assert find_setting({"checkpoint.syncbranch": "states"}, SYNC_BRANCH) == "states"
    assert find_setting({}, SYNC_BRANCH) == ""
    assert find_setting({}, MEMORY_TIMEOUT) == "20"
    assert (POINTS_BUDGET, SETTINGS[POINTS_BUDGET].default) == (
        snapshot.BUDGET,
        snapshot.DEFAULT_BUDGET,
    )


def test_a_flag_is_read_as_git_reads_it(repo: GitRepo) -> None:
    env = dict(os.environ)
    assert read_flag(SESSION_BLOCKS, str(repo.path), env) is None
    repo.git("config", SESSION_BLOCKS, "perhaps")
    assert read_flag(SESSION_BLOCKS, str(repo.path), env) is None
    for text, value in (("yes", True), ("off", False)):
        repo.git("config", SESSION_BLOCKS, text)
        assert read_flag(SESSION_BLOCKS, str(repo.path), env) is value
