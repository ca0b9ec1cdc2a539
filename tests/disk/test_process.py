"""The processes of a session, read from the system and from a /proc or ps of our own."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from checkpoint_git.disk import process
from checkpoint_git.disk.process import Command
from tests.support.rows import rows

needs_ps = pytest.mark.skipif(not shutil.which("ps"), reason="there is no ps")


@pytest.fixture(params=["/proc", pytest.param("/nonexistent/proc", marks=needs_ps)])
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where processes are read; macOS has no /proc."""
    if request.param == "/proc" and not os.path.isdir("/proc"):
        pytest.skip("there is no /proc")
    monkeypatch.setattr(process, "_PROC", request.param)
    return str(request.param)


@pytest.mark.usefixtures("source")
def test_a_process_is_running_until_it_ends() -> None:
    with subprocess.Popen(["sleep", "60"]) as started:
        try:
            found = process._read(str(started.pid))
            assert found[0].startswith(f"{started.pid} ")
            assert found[1] == str(os.getpid())
            assert process.is_running(found[0])
        finally:
            started.kill()
        os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)  # a zombie has ended too
        assert not process.is_running(found[0])
    assert not process.is_running(found[0])


@pytest.mark.usefixtures("source")
def test_the_time_zone_and_language_do_not_change_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = process._read(str(os.getpid()))
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert process._read(str(os.getpid())) == found


@pytest.mark.usefixtures("source")
def test_the_ancestors_end_at_the_first_process() -> None:
    assert next(process.read_ancestors()) == process._read(str(os.getppid()))[0]
    assert not list(process.read_ancestors())[-1].startswith("0 ")


def test_without_proc_the_process_of_a_named_session_is_unknown(source: str) -> None:
    leader = process._read(str(os.getsid(0)))[0]
    assert process.read_session_process("") == leader
    if source != "/proc":
        assert process.read_session_process("a-session") == ""
        assert not process.is_session_running("a-session")


def test_a_process_is_listed_with_its_words_and_where_it_can_be_known_its_environment(
    source: str,
) -> None:
    with subprocess.Popen(["sleep", "61"], env={**os.environ, "MARK": "a=b"}) as started:
        try:
            for _ in range(1000):  # while it starts, the system shows no words
                (found,) = [
                    command
                    for command in process.read_own_commands()
                    if command.number == started.pid
                ]
                if any(found.words):
                    break
        finally:
            started.kill()
    assert found.words == ["sleep", "61"]
    assert found.folder == (os.getcwd() if source == "/proc" else "")
    assert found.env.get("MARK") == ("a=b" if source == "/proc" else None)


def test_a_program_is_found_in_its_folder_unless_it_is_a_daemon_or_our_own_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_running(words: str, folder: str = "/r/inside", parent: str = "1", **env: str) -> bool:
        command = process.Command(7, words.split(), env, folder)
        monkeypatch.setattr(process, "read_own_commands", lambda: [command])
        monkeypatch.setattr(process, "_read", lambda number: ("7 100", parent))
        return process.is_program_running("git", ["/r", "/x.git"])

    assert is_running("/usr/bin/git commit")
    assert is_running("git-receive-pack .")
    assert is_running("git log", "")  # in an unknown folder
    assert is_running("git --git-dir=/x.git gc", "/other")
    assert is_running("git gc", "/other", GIT_DIR="/x.git")
    assert is_running("git log a--daemon")  # a revision
    assert not is_running("git gc", "/other")
    assert not is_running("git fsmonitor--daemon run")
    assert not is_running("gitk")
    assert not is_running("git gc", parent=str(os.getpid()))


@pytest.mark.usefixtures("source")
@rows("number", ["", "self", "0", "-1", "1/../self"])
def test_what_is_no_number_of_a_process_is_none(number: str) -> None:
    found, _ = process._read(str(os.getpid()))
    assert found
    assert process._read(number) == ("", "")
    assert not process.is_running(f"{number} {found.partition(' ')[2]}")


class Processes:
    """A /proc with processes of our own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "self").mkdir(parents=True)

    def add(self, number: int, parent: int = 1, state: str = "S", **env: str) -> None:
        """Add a process that started at 100 times its number."""
        folder = self._folder / str(number)
        folder.mkdir()
        fields = [state, str(parent), *["0"] * 17, f"{number}00", "0"]
        (folder / "stat").write_text(f"{number} (a) b) {' '.join(fields)}\n")
        (folder / "cmdline").write_bytes(b"git\0gc \xff\0")
        lines = [f"{name}={value}\0" for name, value in env.items()]
        (folder / "environ").write_text("".join(lines))
        (folder / "cwd").symlink_to("/r")

    def hide_environment(self, number: int) -> None:
        """Show as little of a process as the system does of another user's."""
        (self._folder / str(number) / "environ").unlink()


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Processes:
    """The processes that there are."""
    monkeypatch.setattr(process, "_PROC", str(tmp_path / "proc"))
    return Processes(tmp_path / "proc")


def test_a_session_is_the_nearest_process_above_that_was_not_given_its_name(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getppid", lambda: 40)
    monkeypatch.setattr(os, "getsid", lambda number: 20)
    processes.add(10, parent=0)
    processes.add(20, parent=10, CLAUDE_SESSION_ID="another")
    processes.add(30, parent=20, HOME="/r", CODEX_THREAD_ID="s")
    processes.add(40, parent=30, CHECKPOINT_SESSION="s", CODEX_THREAD_ID="t")
    assert process.read_session_process("s") == "20 2000"
    assert process.read_session_process("t") == "30 3000"
    assert process.read_session_process("") == "20 2000"  # the leader of the terminal's session
    assert list(process.read_ancestors()) == ["40 4000", "30 3000", "20 2000", "10 1000"]

    assert process.is_session_running("another")
    assert not process.is_session_running("anothe")
    assert not process.is_session_running("")

    processes.hide_environment(30)
    assert process.read_session_process("s") == ""
    assert process.is_session_running("another")  # what cannot be read is passed over
    monkeypatch.setattr(os, "getppid", lambda: 20)
    processes.hide_environment(10)
    processes.add(11, parent=0, CHECKPOINT_SESSION="another")
    assert process.read_session_process("another") == ""


def test_a_session_without_a_process_above_it_is_unknown(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getppid", lambda: 10)
    processes.add(10, parent=0, CHECKPOINT_SESSION="s")
    assert process.read_session_process("s") == ""


def test_a_process_is_known_by_its_number_and_start_until_it_ends(processes: Processes) -> None:
    processes.add(7, parent=5)
    assert process.read_process(7) == "7 700"
    assert process.is_running("7 700")
    for other in ("7 701", "7", "8 700", "7 700 ", ""):
        assert not process.is_running(other)
    for number, state in enumerate("ZX", 8):
        processes.add(number, state=state)
        assert process.read_process(number) == ""
        assert not process.is_running(f"{number} {number}00")


def test_the_processes_of_this_user_are_those_whose_environment_is_shown(
    processes: Processes,
) -> None:
    processes.add(7, A="b=c", D="")
    processes.add(8)
    processes.add(9)
    processes.hide_environment(9)
    found = {command.number: command for command in process.read_own_commands()}
    assert sorted(found) == [7, 8]
    assert found[7].words == found[8].words == ["git", "gc \udcff"]
    assert found[7].folder == "/r"
    assert (found[7].env["A"], found[7].env["D"]) == ("b=c", "")
    assert "A" not in found[8].env


@pytest.fixture
def ps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program ps, in place of a /proc; it is not there yet."""
    monkeypatch.setattr(process, "_PROC", str(tmp_path / "no-proc"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "ps"


def put_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_without_proc_the_processes_of_this_user_are_those_that_ps_prints(ps: Path) -> None:
    assert process.read_own_commands() == []
    put_program(ps, "printf ' 12 git  gc\\n\\n 13 a\\377\\nps: a warning\\n'; exit 1")
    assert process.read_own_commands() == [
        Command(12, ["git", "gc"], {}),
        Command(13, ["a\ufffd"], {}),
    ]


def test_without_proc_a_process_is_what_ps_prints_of_it(
    ps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    assert process.read_process(7) == ""
    for script, found in (
        ('echo " Ss  5 Sat $LC_ALL $TZ "; exit 1', "7 Sat C UTC"),
        ('echo "Z+ 5 Sat"', ""),
        ("exit 1", ""),
    ):
        put_program(ps, script)
        assert process.read_process(7) == found
    assert not process.is_session_running("s")
