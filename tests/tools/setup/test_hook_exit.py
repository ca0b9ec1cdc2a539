"""Which lines end a shell script for certain, by their text."""

import subprocess

import pytest

from checkpoint_git.tools.setup.hook_exit import ends_before

ENDING = (
    "exit",
    "exit 0",
    "exit $?",
    'exit "$rc" # done',
    "npm test\nexit 0\n",
    "exec npm test",
    'exec "$@"',
    "if true; then\n  echo done\nfi\nexit 0",
    "for one in a b; do echo $one; done\nexit 1",
    "f() {\n  return 0\n}\nf\nexit 0",
    "f() { true; }\nexit 0",
    "exit 0\r\n",
    "case $1 in\na) echo 1 ;;\nesac\nexit 0",
    "true &&\ntrue\nexit 0",
)
GOING_ON = (
    "",
    "npm test",
    "# exit 0",
    "[ -n x ] && exit 0",
    "[ -n x ] ||\nexit 0",
    "[ -n x ] || \\\nexit 0",
    "if [ -z x ]; then\nexit 0\nfi",
    "if [ -z x ]; then\n  echo done\nexit 0\nfi",
    "f() {\nexit 0\n}",
    "function f {\nexit 0\n}",
    "(\nexit 0\n)",
    "while false; do\nexit 0\ndone",
    "case $1 in\na)\nexit 0\n;;\nesac",
    "exec >&2",
    "exec 2>&1",
    "exec < /dev/null",
    "exec 3<> file",
    "cat <<END\nexit 0\nEND",
    "echo 'a\nexit 0\n'",
    "x=$(true\nexit 0\n)",
    "exit_code=0",
    "echo exit 0",
)


@pytest.mark.parametrize("script", ENDING)
def test_a_script_that_always_ends_is_known(script: str) -> None:
    assert ends_before(script.encode())


@pytest.mark.parametrize("script", GOING_ON)
def test_one_that_may_go_on_is_left_alone(script: str) -> None:
    assert not ends_before(script.encode())


@pytest.mark.parametrize("script", [script for script in ENDING if "exec" not in script and "\r" not in script])
def test_a_shell_agrees(script: str) -> None:
    done = subprocess.run(["sh", "-c", f"{script}\necho reached"], capture_output=True, text=True, check=False)
    assert "reached" not in done.stdout
