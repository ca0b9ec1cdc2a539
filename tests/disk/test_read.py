"""Reading a file that may be anything."""

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint_git.core.jsontext import MAX_BYTES
from checkpoint_git.disk.read import open_plain, read_content, read_if_there, read_own, read_plain
from tests.support.descriptors import closing_all


def read(path: Path, boundary: Path) -> bytes:
    """The content of what can be read."""
    data = read_content(str(path), str(boundary))
    assert isinstance(data, bytes)
    return data


def error_of(path: Path, boundary: Path) -> int | None:
    """The number of the error of reading."""
    error = read_content(str(path), str(boundary))
    assert isinstance(error, OSError)
    return error.errno


def test_a_file_is_its_bytes(tmp_path: Path) -> None:
    for data in (b"", b"a", b"x" * 100_000, b"y" * MAX_BYTES):
        path = tmp_path / "file"
        path.write_bytes(data)
        assert read(path, tmp_path) == data


def test_a_link_inside_the_boundary_is_followed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"here")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "second").symlink_to(tmp_path / "link")
    assert read(tmp_path / "second", tmp_path) == b"here"


def test_a_link_out_of_the_boundary_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "file").write_bytes(b"outside")
    (tmp_path / "inner/link").symlink_to("../file")
    assert error_of(tmp_path / "inner/link", tmp_path / "inner") == errno.ELOOP


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert error_of(tmp_path / "a", tmp_path) == errno.ELOOP


def test_what_is_no_file_is_never_waited_for(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    assert [error_of(tmp_path / name, tmp_path) for name in ("folder", "pipe", "link")] == [
        errno.EISDIR
    ] * 3


def test_a_socket_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's address is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert error_of(tmp_path / "socket", tmp_path) == errno.EISDIR


def test_a_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    assert error_of(tmp_path / "huge", tmp_path) == errno.EFBIG


def test_nothing_of_a_file_over_the_limit_is_read_and_a_growing_one_never_beyond_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    read, appended = os.read, list[bytes]()

    def append_then_read(descriptor: int, count: int) -> bytes:
        if not appended:
            pytest.fail("it is read")
        with path.open("ab") as stream:
            stream.write(appended.pop(0))
        return read(descriptor, count)

    monkeypatch.setattr(os, "read", append_then_read)
    path.write_bytes(b"12345")
    with pytest.raises(OSError, match="it has 5 bytes, and 4 is the limit"):
        read_plain(str(path), 4)

    for pieces, most, size in (
        ([b""], 5, 5),
        ([b"6", b"78", b"9", b""], 9, 9),
        ([b"6", b"78", b"9", b""], 10, 9),
        ([b"6", b"78", b"9"], 8, None),
        ([b"67890"], 5, None),
    ):
        path.write_bytes(b"12345")
        appended[:] = pieces
        if size is None:
            with pytest.raises(OSError, match=f"and {most} is the limit") as caught:
                read_plain(str(path), most)
            assert caught.value.errno == errno.EFBIG
        else:
            assert read_plain(str(path), most) == b"1234567890"[:size]


def test_what_is_missing_says_so(tmp_path: Path) -> None:
    assert error_of(tmp_path / "nothing", tmp_path) == errno.ENOENT


def test_a_file_is_read_where_there_is_one_and_neither_a_pipe_nor_an_endless_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_bytes(b"a\r\n\xff")
    assert read_if_there(str(tmp_path / "file")) == b"a\r\n\xff"
    assert read_if_there(str(tmp_path / "nothing")) is None
    assert read_if_there(str(tmp_path / "file/inside")) is None
    with pytest.raises(IsADirectoryError):
        read_if_there(str(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "huge").open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    for name in ("pipe", "huge"):
        with pytest.raises(OSError, match=r"regular|limit"):
            read_if_there(str(tmp_path / name))


@pytest.mark.parametrize("opened", [open_plain, read_plain])
def test_only_regular_files_are_opened_plainly(
    tmp_path: Path, opened: Callable[[str], object]
) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    with closing_all():
        for name in ("folder", "pipe", "link", "missing"):
            with pytest.raises(OSError, match=r"regular|levels|No such"):
                opened(str(tmp_path / name))


def test_a_file_of_any_size_is_read_in_parts_and_an_error_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    with closing_all(), open_plain(str(tmp_path / "file")) as stream:
        assert (stream.read(3), stream.read()) == (b"123", b"45")
    with pytest.raises(IsADirectoryError) as caught:
        open_plain(str(tmp_path))
    assert caught.value.filename == str(tmp_path)


def test_a_file_beside_a_module_is_read_as_text(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/words").write_bytes("é\n".encode())
    assert read_own(str(tmp_path / "module.py"), "texts", "words") == "é\n"
