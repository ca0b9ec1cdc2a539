import os
import shutil
import subprocess

import pytest

from checkpoint_git.disk import process

needs_ps = pytest.mark.skipif(not shutil.which("ps"), reason="there is no ps")


@pytest.fixture(params=["/proc", pytest.param("/nonexistent/proc", marks=needs_ps)], autouse=True)
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where processes are read; macOS has no /proc."""
    if request.param == "/proc" and not os.path.isdir("/proc"):
        pytest.skip("there is no /proc")
    monkeypatch.setattr(process, "_PROC", request.param)
    return str(request.param)


def test_a_process_is_running_until_it_ends() -> None:
    with subprocess.Popen(["sleep", "60"]) as started:
        found = process._read(str(started.pid))
        assert found[0].startswith(f"{started.pid} ")
        assert found[1] == str(os.getpid())
        assert process.is_running(found[0])
        started.kill()
        os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)  # a zombie has ended too
        assert not process.is_running(found[0])
    assert not process.is_running(found[0])


def test_a_process_of_the_same_id_that_started_at_another_time_is_another_one() -> None:
    assert not any(
        process.is_running(text) for text in (f"{os.getpid()} 1", "x", "", "0", "-1", "0 1")
    )


def test_the_time_zone_and_language_do_not_change_a_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = process._read(str(os.getpid()))
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert process._read(str(os.getpid())) == found


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
    assert not is_running("git gc", "/other")
    assert not is_running("git fsmonitor--daemon run")
    assert not is_running("gitk")
    assert not is_running("git gc", parent=str(os.getpid()))


@pytest.mark.parametrize("number", ["", "self", "0", "-1", "1/../self"])
def test_what_is_no_number_of_a_process_is_none(number: str) -> None:
    found, _ = process._read(str(os.getpid()))
    assert found
    assert process._read(number) == ("", "")
    assert not process.is_running(f"{number} {found.partition(' ')[2]}")
