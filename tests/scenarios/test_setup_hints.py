"""Every hint about the installation and the doctor's settings, followed in a shell: afterwards the finding is gone."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from checkpoint_git.protocols.check import collect_checks
from checkpoint_git.tools.doctor import checks as trials
from checkpoint_git.tools.doctor import settings
from checkpoint_git.tools.setup import checks
from checkpoint_git.tools.setup.init import Options, init
from tests.support.command import BIN, run_here
from tests.support.repos import GitRepo, copy_built
from tests.support.samples import checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
COMMAND = re.compile(r"(?:^|.*: )((?:checkpoint|git|perl|pre-commit) .*)")
HOOK = ".git/hooks/pre-commit"
TOML = ".checkpoints/doctor.toml"
REMOVE_DRIVER = "for name in merge.checkpoint merge.checkpoint-base; do git config --remove-section $name; done"
CHANGE_DRIVER = (
    """git config merge.checkpoint.driver "$(git config merge.checkpoint.driver | sed "s#'/[^']*/%s'#'/no/%s'#g")\""""
)
INFO = "echo '*.json %s' >> .git/info/attributes"
TOPIC = "git checkout -q -b topic; git branch -f main main~1"
ORIGIN = (
    "git clone -q --bare . ../origin; git remote add origin ../origin; git fetch -q; git remote set-head origin main"
)


class Row(NamedTuple):
    """breaks: what a shell does to the healthy clone. part: of the message. decided: what a user does to follow a hint
    that has words only; "" where it has a command.
    """

    code: str
    breaks: str
    part: str = ""
    decided: str = ""


ROWS = [
    Row("install/missing", f"{REMOVE_DRIVER}; rm .git/hooks/* .git/info/attributes"),
    Row(
        "install/missing", f"{REMOVE_DRIVER}; rm .git/hooks/* .git/info/attributes; git rm -qf .gitattributes", "set up"
    ),
    Row(
        "clone/sparse",
        "mkdir -p app/.checkpoints; cp .checkpoints/*.json app/.checkpoints; git add -A; git commit -qnm app;"
        " git sparse-checkout init --cone; git sparse-checkout set docs .checkpoints",
    ),
    Row("driver/inert", INFO % "merge=union", "union", "sed -i '$d' .git/info/attributes"),
    Row("driver/inert", INFO % "-merge", "-merge", "sed -i '$d' .git/info/attributes"),
    Row(
        "driver/inert", f"git config merge.x.driver x; {INFO % 'merge=x'}", "another driver", "rm .git/info/attributes"
    ),
    Row("driver/inert", "rm .git/info/attributes; echo '*.json merge=union' > .gitattributes", "union"),
    Row("driver/inert", "echo '*.json merge=union' >> .gitattributes", "other clones", "sed -i '$d' .gitattributes"),
    Row("driver/inert", "git rm -q .gitattributes; git commit -qnm gone", "lacks our lines"),
    Row("driver/inert", "git rm -q --cached .gitattributes; git commit -qnm gone", "HEAD does not have"),
    Row("driver/inert", f"{TOPIC}; {ORIGIN}", "the default branch", "git push -q origin topic:main"),
    Row("driver/inert", "rm .git/info/attributes", "info/attributes lacks"),
    Row("driver/inert", "git config --unset merge.checkpoint.driver", "not configured"),
    Row("driver/inert", "git config --unset merge.checkpoint.recursive", "configuration lacks"),
    Row("driver/broken", "git config merge.checkpoint.driver 'mine %A'", "did not write"),
    Row("driver/broken", CHANGE_DRIVER % ("driver.py", "driver.py"), "file is gone"),
    Row("driver/broken", CHANGE_DRIVER % ("python[^']*", "python"), "interpreter is gone"),
    Row("driver/proof", "git config merge.checkpoint.driver false"),
    Row("driver/proof", "git config merge.checkpoint-base.driver false"),
    Row("hooks/unreachable", f"rm {HOOK}", "not there"),
    Row("hooks/unreachable", f"chmod -x {HOOK}", "not executable"),
    Row("hooks/unreachable", f"printf '#!/bin/sh\\necho mine\\n' > {HOOK}", "another"),
    Row("hooks/unreachable", f"sed -i '1s,.*,#!/no/sh,' {HOOK}", "names a program"),
    Row("hooks/unreachable", f"sed -i '1a exit 0' {HOOK}", "ends the script"),
    Row(
        "hooks/unreachable",
        f"printf '#!/usr/bin/perl\\nprint 1;\\n' > {HOOK}",
        "another",
        f"rm {HOOK}; checkpoint init",
    ),
    Row("hooks/unreachable", f"sed -i '3,$d' {HOOK}", "broken marks", f"rm {HOOK}; checkpoint init"),
    Row(
        "hooks/unreachable", f"sed -i '/^checkpoint_git_hook \"/d; /python/d; /command -v/d' {HOOK}", "another version"
    ),
    Row("hooks/unreachable", "echo 'repos: []' > .pre-commit-config.yaml; checkpoint init", "not there"),
    Row("hooks/unreachable", "mkdir ../hooks; git config core.hooksPath ../hooks", "outside"),
    Row("hooks/unreachable", "git config core.hooksPath ''", "nowhere"),
    Row("hooks/unreachable", "git config checkpoint.install.python /no/python", "interpreter"),
    Row("hooks/unreachable", f"sed -i 's/^checkpoint_git_hook() (/checkpoint_git_hook() ((/' {HOOK}"),
    Row("hooks/unreachable", "git config checkpoint.install.python /bin/false", "but the merge driver's"),
    Row("hooks/unreachable", "git config --unset checkpoint.install.package", "not configured"),
    Row("hooks/unreachable", "git config checkpoint.install.package /no/package", "package is gone"),
    Row("hooks/unreachable", f"sed -i 's/$/\\r/' {HOOK}", "CRLF"),
    Row("hooks/unreachable", f"printf 'echo mine\\r\\n' >> {HOOK}; sed -i 's/\\r*$/\\r/' {HOOK}", "CRLF"),
    Row(settings.BAD, f"echo '[nothing]' > {TOML}", "", f"rm {TOML}"),
    Row(
        settings.UNUSED,
        f'printf \'[[suppress]]\\ncode = "drift/project-dir"\\nreason = "x"\\n\' > {TOML}',
        "",
        f"rm {TOML}",
    ),
]


def test_every_finding_of_an_installation_has_a_row() -> None:
    codes = {each.code for module in (checks, trials) for each in collect_checks(module) if each.group != "online"}
    assert codes | {settings.BAD, settings.UNUSED} == {row.code for row in ROWS}


def build_healthy(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    repo.write("docs/plan.md", "x\n")
    repo.commit("before")
    init(str(repo.path), Options(), dict(os.environ))
    repo.write(PATH, checkpoint_text(project_dir="/"))
    repo.commit("begin")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.code} {row.part or row.breaks[:30]}")
def test_a_hint_settles_its_finding(tmp_path: Path, row: Row) -> None:
    repo = GitRepo(tmp_path / "repo")
    copy_built(build_healthy, repo.path)
    shell(repo, row.breaks)
    found = find(repo, row)
    assert found, shell(repo, row.breaks)
    hint = found[0]["hint"]
    command = COMMAND.fullmatch(hint)
    assert bool(command) == (not row.decided), hint
    line = command[1] if command else row.decided
    done = shell(repo, line)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    assert find(repo, row) == [], f"{line}\n{done.stdout}"


def shell(repo: GitRepo, line: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(["sh", "-c", line], cwd=repo.path, env=env, capture_output=True, text=True, timeout=120)


def find(repo: GitRepo, row: Row) -> list[dict[str, Any]]:
    every = json.loads(run_here("doctor", "--json", cwd=repo.path).stdout)["findings"]
    return [one for one in every if one["code"] == row.code and row.part in one["message"]]
