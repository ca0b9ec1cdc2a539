"""The commands in git's configuration survive sh, git's own placeholders, and being read back."""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

import pytest

from checkpoint_git.git.driver_settings import (
    HOOK_SECTION,
    HOOKS,
    JSON_DRIVER,
    MERGETOOL,
    MERGETOOL_TRUST,
    Choices,
    driver_command,
    find_own_settings,
    find_schemas,
    foreign_sections,
    mergetool_command,
    plan_hook,
    plan_settings,
    read_driver_command,
)
from tests.support.rows import rows

ODD = ["/a/b", "/a b/it's", '/a"b', "/100%/%A %%", "/$HOME/`x`", "/ä/ü", "/a;b&c|d"]


@rows("folder", ODD)
@rows("base", [True, False])
def test_a_command_is_read_back_as_it_was_meant(folder: str, base: bool) -> None:
    choices = Choices("newest", f"{folder}/schema.json", f"{folder}/whole.json")
    found = read_driver_command(driver_command(f"{folder}/python", folder, choices, base=base))
    assert found == (f"{folder}/python", f"{folder}/driver.py", choices)


@pytest.mark.parametrize("folder", ODD)
def test_sh_gets_every_path_whole(folder: str, tmp_path: Path) -> None:
    command = driver_command("printf", folder, Choices(schema=f"{folder}/s.json"))
    words = command.partition("{ ")[2].partition("; case")[0].replace("%%", "%")
    words = words.replace("'printf' -I -S", "printf '%s\\n'")
    said = subprocess.run(
        ["sh", "-c", words], capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout
    assert said.splitlines()[:3] == [f"{folder}/driver.py", "--merge-schema", f"{folder}/s.json"]


def test_the_paths_of_git_stay_unquoted_for_git_quotes_them() -> None:
    assert " %O %A %B %L %P; case $? in 0) exit 0;; 3) exit 1;; esac; " in driver_command(
        "/p", "/c", Choices()
    )


@rows(
    "command",
    [
        "",
        "mine %A",
        "node merge.mjs %O %A %B; case $? in x",
        "'unended; case $? in x",
        "python -I -S; case $? in x",
        "{ python -I -S /a/other.py %O %A %B; case $? in x",
        "{ python -S -I /a/driver.py %O %A %B; case $? in x",
    ],
)
def test_another_command_is_not_taken_for_ours(command: str) -> None:
    assert read_driver_command(command) is None


@pytest.mark.parametrize("is_on_path", [False, True])
@pytest.mark.parametrize("status", [0, 1, 3, 10, 137])
def test_the_answers_of_the_driver_become_gits(
    status: int, is_on_path: bool, tmp_path: Path
) -> None:
    program = tmp_path / ("checkpoint" if is_on_path else "python")
    program.write_text(f"#!/bin/sh\nexit {status}\n")
    program.chmod(0o755)
    (tmp_path / "driver.py").touch()
    for name, text in (("O", "base\n"), ("A", "ours\n"), ("B", "theirs\n")):
        (tmp_path / name).write_text(text)
    command = driver_command(
        "/gone/python" if is_on_path else str(program), str(tmp_path), Choices()
    )
    for mark, value in (("%O", "O"), ("%A", "A"), ("%B", "B"), ("%L", "7"), ("%P", "'p'")):
        command = command.replace(mark, value)
    env = {**os.environ, "PATH": f"{tmp_path if is_on_path else ''}:/usr/bin:/bin"}
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, env=env
    )
    touched = "<<<<<<< ours" in (tmp_path / "A").read_text()
    conflict = 10 if is_on_path else 3
    assert (done.returncode, touched) == {0: (0, False), conflict: (1, False)}.get(
        status, (1, True)
    )
    assert ("did not run" in done.stderr) == touched


@rows("blocks, code", [(100, 0), (8, 1)])  # a limit on file sizes stands for a full disk
def test_where_no_driver_runs_a_full_disk_never_cuts_the_file(
    blocks: int, code: int, tmp_path: Path
) -> None:
    filler = "x" * 20_000
    for name, first, last in (("O", 1, 1), ("A", 2, 1), ("B", 1, 2)):
        (tmp_path / name).write_text(f"{first}\n{filler}\n{filler}\n{last}\n")
    before = (tmp_path / "A").read_text()
    command = driver_command("/gone/python", "/gone", Choices())
    for mark, value in (("%O", "O"), ("%A", "A"), ("%B", "B"), ("%L", "7"), ("%P", "'p'")):
        command = command.replace(mark, value)
    words = ["sh", "-c", f'trap "" XFSZ; ulimit -f {blocks}; {command}']
    env = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=env)
    assert done.returncode == code
    merged = before if code else before.replace("\n1\n", "\n2\n")
    assert (tmp_path / "A").read_text() == merged
    assert sorted(path.name for path in tmp_path.iterdir()) == ["A", "B", "O"]
    assert ("the file holds ours alone" in done.stderr) == bool(code)


@pytest.mark.parametrize("key", ["merge.checkpoint-base.driver", "merge.checkpoint.name"])
def test_what_somebody_else_defined_under_our_names_is_not_ours_to_remove(key: str) -> None:
    theirs = {key: "jq -S ."}
    assert find_own_settings(theirs) == []
    assert foreign_sections(theirs) == (key.rpartition(".")[0] + ".",)


def test_a_foreign_driver_under_our_name_is_not_ours_to_remove() -> None:
    planned = plan_settings("/p", "/c", Choices())
    own = find_own_settings({**planned, "merge.checkpoint.driver": "mine %A", "user.name": "A"})
    assert not [key for key in own if key.startswith("merge.checkpoint.")]
    assert "merge.checkpoint-base.driver" in own
    assert "user.name" not in own


@pytest.mark.parametrize("folder", ODD)
def test_the_merge_tool_gets_the_file_that_git_names(folder: str, tmp_path: Path) -> None:
    python = tmp_path / folder.replace("/", "_")
    python.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    python.chmod(0o755)
    command = mergetool_command(str(python), f"/packages/{folder}")
    words = ["sh", "-c", f'MERGED="it\'s a file"; eval {shlex.quote(command)}']
    said = subprocess.run(words, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert said.splitlines() == [
        "-E",
        "-P",
        f"/packages/{folder}/__main__.py",
        "resolve",
        "--",
        "it's a file",
    ]


@pytest.mark.parametrize("theirs", [{MERGETOOL: "mine"}, {MERGETOOL_TRUST: "true"}])
def test_a_foreign_merge_tool_under_our_name_is_not_ours_to_remove(theirs: dict[str, str]) -> None:
    assert find_own_settings(theirs) == []


def test_a_merge_tool_of_another_interpreter_is_still_ours() -> None:
    planned = plan_settings("/gone/python", "/c", Choices())
    assert {MERGETOOL, MERGETOOL_TRUST} <= set(find_own_settings(planned))


@rows("options", ["-P", "-E -P"])
def test_a_merge_tool_of_former_builds_is_still_ours(options: str) -> None:
    planned = {
        MERGETOOL: f"'/p' {options} -m checkpoint_git resolve -- \"$MERGED\"",
        MERGETOOL_TRUST: "true",
    }
    assert (foreign_sections(planned), set(find_own_settings(planned))) == (
        (),
        {MERGETOOL, MERGETOOL_TRUST},
    )


PATH_TOOL = '#!/bin/sh\necho on PATH: "$@"\n'


@rows(("ends", "printed"), [("exit 0", ""), ("exit 11", ""), ("exit 4", "on PATH: resolve -- x\n")])
def test_a_merge_tool_that_does_not_start_is_taken_from_path(ends: str, printed: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, script in (("python", f"#!/bin/sh\n{ends}\n"), ("checkpoint", PATH_TOOL)):
            program = Path(folder, name)
            program.write_text(script)
            program.chmod(0o755)
        words = [
            "sh",
            "-c",
            f"MERGED=x; eval {shlex.quote(mergetool_command(f'{folder}/python', folder))}",
        ]
        env = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    assert (done.returncode, done.stdout) == (0 if printed else int(ends.split()[1]), printed)


def test_only_the_driver_of_merge_bases_takes_the_bases_value() -> None:
    found = plan_settings(
        "/usr/bin/python3", "/opt/checkpoint_git", Choices(), {"data-json": "/srv/data.schema.json"}
    )
    drivers = {
        key: " --base " in command for key, command in found.items() if key.endswith(".driver")
    }
    assert drivers == {
        "merge.checkpoint.driver": False,
        "merge.checkpoint-base.driver": True,
        "merge.data-json.driver": False,
        "merge.data-json-base.driver": True,
    }
    assert found["merge.data-json.recursive"] == "data-json-base"
    assert "/srv/data.schema.json" in found["merge.data-json.driver"]


def test_what_an_init_was_given_is_found_again_and_is_ours_to_remove() -> None:
    schemas = {f"{JSON_DRIVER}{name}": f"/srv/{name}.json" for name in ("01ab", "02cd")}
    planned = plan_settings("/p", "/c", Choices("newest", "/srv/mine.json"), schemas)
    planned |= plan_hook("pre-push", b"exit 0\n")
    theirs = {
        f"merge.{JSON_DRIVER}03.driver": "jq -S .",
        "merge.other-01ab.driver": planned[f"merge.{JSON_DRIVER}01ab.driver"],
    }
    assert find_schemas({**planned, **theirs}) == schemas
    kept = {"user.name": "Ada", "hook.other.command": "true", "merge.other.driver": "mine"}
    own = find_own_settings({**planned, **kept, HOOKS: "none", "checkpoint.install.unended": ""})
    assert sorted(own) == sorted([*planned, HOOKS, "checkpoint.install.unended"])
    assert [key for key in own if key.startswith(HOOK_SECTION)]
