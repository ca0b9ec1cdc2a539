"""Every hint about the installation and the doctor's settings, followed in a shell: afterwards the
finding is gone.
"""

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from checkpoint_git.protocols.check import collect_checks
from checkpoint_git.tools.doctor import checks as trials
from checkpoint_git.tools.doctor import settings
from checkpoint_git.tools.setup import checks
from checkpoint_git.tools.setup.init import Options, init
from tests.support.command import run_here
from tests.support.hints import run_line
from tests.support.repos import GitRepo, copy_built
from tests.support.samples import checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
COMMAND = re.compile(r"(?:^|.*: )((?:checkpoint|git|perl|pre-commit) .*)")
TOML = ".checkpoints/doctor.toml"
REMOVE_DRIVER = (
    "for name in merge.checkpoint merge.checkpoint-base; do git config --remove-section $name; done"
)
CHANGE_DRIVER = (
    'git config merge.checkpoint.driver "$(git config merge.checkpoint.driver |'
    """ sed "s#'/[^']*/%s'#'/no/%s'#g")\""""
)
INFO = "echo '*.json %s' >> .git/info/attributes"
TOPIC = "git checkout -q -b topic; git branch -f main main~1"
ORIGIN = (
    "git clone -q --bare . ../origin; git remote add origin ../origin; git fetch -q;"
    " git remote set-head origin main"
)


class Row(NamedTuple):
    """breaks: what a shell does to the healthy clone, in which $HOOK is the hook. part: of the
    message. decided: what a user does to follow a hint that has words only; "" where it has a
    command.
    """

    code: str
    breaks: str
    part: str = ""
    decided: str = ""
    hook: str = "pre-commit"


def build_hook(hook: str, breaks: str, part: str = "", decided: str = "") -> Row:
    return Row("hooks/unreachable", breaks, part, decided, hook)


# a list for each clone: what is broken together in it does not hide each other's findings
CLONES = [
    [
        build_hook("pre-commit", "rm $HOOK", "not there"),
        build_hook("pre-merge-commit", "chmod -x $HOOK", "not executable"),
        build_hook("pre-push", "printf '#!/bin/sh\\necho mine\\n' > $HOOK", "another"),
        build_hook(
            "post-commit", "perl -pi -e 's,.*,#!/no/sh, if $. == 1' $HOOK", "names a program"
        ),
        build_hook(
            "post-merge", """perl -pi -e '$_ .= "exit 0\\n" if $. == 1' $HOOK""", "ends the script"
        ),
        build_hook(
            "post-rewrite",
            "perl -ni -e 'print unless /^checkpoint_git_hook \"/ || /python/ || /command -v/' $HOOK",
            "another version",
        ),
        Row("driver/inert", "git config --unset merge.checkpoint.recursive", "configuration lacks"),
        Row(settings.BAD, f"echo '[nothing]' > {TOML}", "", f"rm {TOML}"),
    ],
    [
        build_hook("pre-commit", "perl -pi -e 's/^(checkpoint_git_hook.. .)/$1(/' $HOOK"),
        build_hook("pre-push", "perl -pi -e 's/$/\\r/' $HOOK", "CRLF"),
        Row("driver/inert", "rm .git/info/attributes", "info/attributes lacks"),
        Row(
            settings.UNUSED,
            f'printf \'[[suppress]]\\ncode = "drift/project-dir"\\nreason = "x"\\n\' > {TOML}',
            "",
            f"rm {TOML}",
        ),
        Row(
            "clone/sparse",
            "mkdir -p app/.checkpoints; cp .checkpoints/*.json app/.checkpoints; git add -A; git commit -qnm app;"
            " git sparse-checkout init --cone; git sparse-checkout set docs .checkpoints",
        ),
    ],
    [
        Row(
            "driver/inert",
            INFO % "merge=union",
            "union",
            "perl -ni -e 'print unless eof' .git/info/attributes",
        ),
        Row("hooks/unreachable", "git config --unset checkpoint.install.package", "not configured"),
    ],
    [
        Row(
            "driver/inert",
            INFO % "-merge",
            "-merge",
            "perl -ni -e 'print unless eof' .git/info/attributes",
        ),
        Row(
            "hooks/unreachable",
            "git config checkpoint.install.package /no/package",
            "package is gone",
        ),
    ],
    [
        Row(
            "driver/inert",
            f"git config merge.x.driver x; {INFO % 'merge=x'}",
            "another driver",
            "rm .git/info/attributes",
        ),
        Row("hooks/unreachable", "git config checkpoint.install.python /no/python", "interpreter"),
    ],
    [
        Row(
            "driver/inert",
            "echo '*.json merge=union' >> .gitattributes",
            "other clones",
            "perl -ni -e 'print unless eof' .gitattributes",
        ),
        Row(
            "hooks/unreachable",
            "git config checkpoint.install.python /bin/false",
            "but the merge driver's",
        ),
    ],
    [
        Row("driver/inert", "git rm -q .gitattributes; git commit -qnm gone", "lacks our lines"),
        Row("hooks/unreachable", "git config core.hooksPath ''", "nowhere"),
    ],
    [
        Row(
            "driver/inert",
            "git rm -q --cached .gitattributes; git commit -qnm gone",
            "HEAD does not have",
        ),
        Row("hooks/unreachable", "mkdir ../hooks; git config core.hooksPath ../hooks", "outside"),
    ],
    [
        Row(
            "driver/inert",
            f"{TOPIC}; {ORIGIN}",
            "the default branch",
            "git push -q origin topic:main",
        ),
        Row("driver/proof", "git config merge.checkpoint-base.driver false", "common past"),
    ],
    [
        Row(
            "hooks/unreachable",
            "echo 'repos: []' > .pre-commit-config.yaml; checkpoint init",
            "not there",
        ),
        Row(
            "driver/inert",
            "rm .git/info/attributes; echo '*.json merge=union' > .gitattributes",
            "union",
        ),
    ],
    [Row("install/missing", f"{REMOVE_DRIVER}; rm .git/hooks/* .git/info/attributes")],
    [
        Row(
            "install/missing",
            f"{REMOVE_DRIVER}; rm .git/hooks/* .git/info/attributes; git rm -qf .gitattributes",
            "set up",
        )
    ],
    [
        Row("driver/inert", "git config --unset merge.checkpoint.driver", "not configured"),
        build_hook(
            "post-commit",
            "printf '#!/usr/bin/perl\\nprint 1;\\n' > $HOOK",
            "another",
            "rm .git/hooks/post-commit; checkpoint init",
        ),
    ],
    [
        Row("driver/broken", "git config merge.checkpoint.driver 'mine %A'", "did not write"),
        build_hook(
            "post-rewrite",
            "perl -ni -e 'print if $. < 3' $HOOK",
            "broken marks",
            "rm .git/hooks/post-rewrite; checkpoint init",
        ),
    ],
    [Row("driver/broken", CHANGE_DRIVER % ("driver.py", "driver.py"), "file is gone")],
    [Row("driver/broken", CHANGE_DRIVER % ("python[^']*", "python"), "interpreter is gone")],
    [
        Row("driver/proof", "git config merge.checkpoint.driver false"),
        build_hook(
            "post-merge",
            "printf 'echo mine\\r\\n' >> $HOOK; perl -pi -e 's/\\r*$/\\r/' $HOOK",
            "CRLF",
        ),
    ],
]


def test_every_finding_of_an_installation_has_a_row() -> None:
    codes = {
        check.code
        for module in (checks, trials)
        for check in collect_checks(module)
        if check.group != "online"
    }
    # about the user's: tests/tools/setup has them
    codes -= {
        "driver/unreadable",
        "driver/schema",
        "clone/stale-lock",
    }
    assert codes | {settings.BAD, settings.UNUSED} == {row.code for rows in CLONES for row in rows}


def build_healthy(folder: Path) -> None:
    repo = GitRepo.create(folder / "0")
    repo.write("docs/plan.md", "x\n")
    repo.commit("before")
    init(str(repo.path), Options(), dict(os.environ))
    repo.write(PATH, checkpoint_text(project_dir="/"))
    repo.commit("begin")


@pytest.mark.parametrize(
    "rows", CLONES, ids=lambda rows: f"{rows[0].code} {rows[0].part or rows[0].breaks[:30]}"
)
def test_a_hint_settles_its_finding(tmp_path: Path, rows: list[Row]) -> None:
    repo = GitRepo(tmp_path / "repo")
    copy_built(build_healthy, repo.path)
    for row in rows:
        run_line(repo.path, f"HOOK=.git/hooks/{row.hook}; {row.breaks}")

    before = list_findings(repo, rows)
    lines = list[str]()
    for row in rows:
        found = choose(before, row)
        assert found, (row, before)
        command = COMMAND.fullmatch(found[0]["hint"])
        # by hand, before the command that the hint ends with
        line = row.decided or (command[1] if command else "")
        assert line, found[0]["hint"]
        lines.append(line)

    for line in dict.fromkeys(lines):
        done = run_line(repo.path, line)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    after = list_findings(repo, rows)
    assert [found for row in rows for found in choose(after, row)] == [], lines


def list_findings(repo: GitRepo, rows: list[Row]) -> list[dict[str, Any]]:
    """Return what the doctor finds; where its own settings are not the subject, by the checks of
    the rows alone.
    """
    codes = {row.code for row in rows}
    is_whole = not codes.isdisjoint({settings.BAD, settings.UNUSED})
    checks = [] if is_whole else [f"--check={code}" for code in sorted(codes)]
    done = run_here("doctor", "--json", *checks, cwd=repo.path)
    found: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return found


def choose(findings: list[dict[str, Any]], row: Row) -> list[dict[str, Any]]:
    hook = row.hook if "$HOOK" in row.breaks else ""
    return [
        one
        for one in findings
        if one["code"] == row.code and row.part in one["message"] and hook in str(one)
    ]
