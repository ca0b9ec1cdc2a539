import pytest

from checkpoint_git.tools.agents.stamped import read_stamped, render_stamped


@pytest.mark.parametrize("path", ["a/SKILL.md", "a/x.toml", "a/rule.mdc"])
def test_a_file_of_ours_is_known_by_its_last_line(path: str) -> None:
    data = render_stamped(path, "one\ntwo\n", 3)
    assert data.startswith(b"one\ntwo\n")
    assert read_stamped(data) == ("ours", b"one\ntwo\n", 3)


def test_other_line_ends_make_no_difference() -> None:
    assert read_stamped(render_stamped("x.md", "one\n", 0).replace(b"\n", b"\r\n")).state == "ours"


@pytest.mark.parametrize(("old", "new"), [(b"one", b"ONE"), (b"one\n", b""), (b"one\n", b"one\nmore\n")])
def test_what_a_person_changed_is_theirs(old: bytes, new: bytes) -> None:
    assert read_stamped(render_stamped("x.md", "one\n", 0).replace(old, new)).state == "changed"


@pytest.mark.parametrize("data", [b"", b"one\n", b"<!-- checkpoint-git 12 folders=1 -->\n"])
def test_what_has_no_stamp_is_somebody_elses(data: bytes) -> None:
    assert read_stamped(data).state == "foreign"


def test_a_line_after_the_stamp_makes_the_file_somebody_elses() -> None:
    assert read_stamped(render_stamped("x.md", "one\n", 0) + b"mine\n").state == "foreign"
