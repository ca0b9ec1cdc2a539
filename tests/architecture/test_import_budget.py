import subprocess
import sys
from pathlib import Path

import pytest

import checkpoint_git
from tests.architecture.budget import (
    Installation,
    find_forbidden,
    loaded_modules,
    make_repository,
    starts,
)

CHECKOUT = Installation(sys.executable, Path(checkpoint_git.__file__).parent)


@pytest.mark.parametrize("command", sorted(starts(CHECKOUT)))
def test_a_command_on_valid_input_loads_nothing_heavy(command: str, tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "repo")
    assert find_forbidden(command, loaded_modules(starts(CHECKOUT)[command], repo.path)) == []


def test_no_annotation_in_quotes_is_compiled_at_start(tmp_path: Path) -> None:
    # the first call of compile() makes all the classes of `ast`, which is a twentieth of a
    # command's time
    repo = make_repository(tmp_path / "repo")
    program = """import sys
seen = []
def look(event, args):  # namedtuple() gives its lambda to eval(), which costs little
    if event == "compile" and args[1] == "<string>" and b"lambda" not in args[0]:
        seen.append(args[0])
sys.addaudithook(look)
from checkpoint_git.cli.app import main
codes = [main([verb]) for verb in ("status", "next", "prime", "validate")]
print(codes, seen, file=sys.stderr)"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(
        words, cwd=repo.path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.stderr == "[0, 0, 0, 0] []\n"


def test_a_module_below_a_forbidden_package_is_found() -> None:
    loaded = {"git.repo", "gitdb", "json", "checkpoint_git.git.run"}
    assert find_forbidden("status", loaded) == ["git.repo", "json"]
    assert find_forbidden("driver", loaded) == ["git.repo", "json"]
