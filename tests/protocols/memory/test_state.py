"""The notes of memory in the git directory: read with care, also as the former version wrote
them.
"""

from pathlib import Path

from checkpoint_git.protocols.memory.state import read_state, write_state

FORMER = b'checkpoint-git cache 1 memory 85f9442ab8e17f4dc6b6a4b9\n{"initiative":"shop"}'


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint" / "memory-home"
    for value in ({"folder": "/a", "marks": ["b"]}, {"initiative": "sh\u00f6p"}):
        write_state(str(path), value)
        assert read_state(str(path)) == value
    assert [found.name for found in path.parent.iterdir()] == [path.name]


def test_what_the_former_version_wrote_is_read(tmp_path: Path) -> None:
    path = tmp_path / "memory-initiative"
    path.write_bytes(FORMER)
    assert read_state(str(path)) == {"initiative": "shop"}


def test_what_cannot_be_read_is_nothing(tmp_path: Path) -> None:
    wrong = []
    for data in (b"", b"{", b'{"a":1}{', b"\xff", FORMER[:-1], FORMER[:30], b"[" * 100_000):
        (tmp_path / "note").write_bytes(data)
        if read_state(str(tmp_path / "note")) is not None:
            wrong.append(data[:40])
    assert wrong == []
    assert read_state(str(tmp_path / "gone")) is None
    assert read_state(str(tmp_path)) is None


def test_a_link_is_neither_read_nor_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(FORMER)
    (tmp_path / "link").symlink_to("real")
    assert read_state(str(tmp_path / "link")) is None
    write_state(str(tmp_path / "link"), {})
    assert (tmp_path / "real").read_bytes() == FORMER


def test_what_cannot_be_written_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(FORMER)
    write_state(str(tmp_path / "file" / "note"), {})
    assert read_state(str(tmp_path / "file")) == {"initiative": "shop"}
