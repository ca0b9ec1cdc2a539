"""Which merged commits are gone from HEAD without a word."""

import pytest

from checkpoint_git.git.history import lost as history_lost
from checkpoint_git.git.history.lost import find_lost
from tests.support.repos import GitRepo
from tests.support.streams import Stream

OLD = "one\ntwo\nthree\n"
ADDED = "one\ntwo\nadded\nthree\n"


def lost(
    repo: GitRepo,
    *later: tuple[str, dict[str, str | None]],
    added: dict[str, str | None] | None = None,
) -> bool:
    """Whether the commit "add (#12)" is lost after later commits: (message, files)."""
    name = f"line{len(list((repo.path / '.git/refs/heads').glob('*')))}"
    stream = Stream()
    tip = stream.commit(f"{name}-0", [], {"old.py": OLD, "same.py": "same\n"}, "begin")
    merged = tip = stream.commit(
        f"{name}-1", [tip], {"new.py": OLD} if added is None else added, "add (#12)"
    )
    for at, (message, files) in enumerate(later, 2):
        tip = stream.commit(f"{name}-{at}", [tip], files, message)
    stream.write(repo)
    repo.git("checkout", "-q", "-f", "--detach", tip)
    commit = repo.git("rev-parse", merged)
    return find_lost(str(repo.path), {commit}) == {commit}


def test_what_is_gone_without_a_word_is_lost(repo: GitRepo) -> None:
    change: dict[str, str | None] = {"old.py": ADDED, "new.py": OLD}
    assert lost(repo, ("add x (#13)", {"new.py": None}))
    assert lost(repo, ("add x (#13)", {"old.py": OLD}), added={"old.py": ADDED})
    assert lost(repo, ("add x (#13)", {"old.py": "zero\n" + OLD}), added={"old.py": ADDED})
    assert lost(
        repo, ("add x (#13)", {"new.py": None, "old.py": OLD}), ("more", {"x": "x\n"}), added=change
    )
    assert lost(repo, ("Remove x", {"same.py": None}), ("add y", {"new.py": None}))
    # of an added file only a commit that deletes it explains that it is gone
    assert lost(repo, ("Remove a line", {"new.py": "one\n"}), ("add y", {"new.py": None}))
    # its lines are as before, with other spaces
    assert lost(repo, ("tidy", {"old.py": OLD + "\n"}), added={"old.py": "four\n"})


def test_what_is_still_there_or_went_on_is_not(repo: GitRepo) -> None:
    change: dict[str, str | None] = {"old.py": ADDED, "new.py": OLD}
    assert not lost(repo)
    assert not lost(repo, ("other", {"x": "x\n"}))
    assert not lost(repo, ("grow", {"new.py": "zero\none\n"}))
    assert not lost(repo, ("write it anew", {"new.py": "all\nnew\n"}))
    assert not lost(repo, ("half of it", {"old.py": OLD}), added=change)
    assert not lost(
        repo,
        ("version", {"old.py": "v3\n" + OLD}),
        added={"old.py": "v2\n" + OLD, "same.py": "other\n"},
    )
    assert not lost(repo, ("newer", {"old.py": "1.3\n"}), added={"old.py": "1.2\n"})
    assert not lost(repo, added={"same.py": None})
    assert not lost(repo, added={})


def test_what_a_later_commit_says_that_it_removed_or_moved_is_not(repo: GitRepo) -> None:
    for message in (
        "Remove the search",
        'Revert "add (#12)"',
        "Drop it",
        "Replace it with y",
        "Back out it",
    ):
        assert not lost(repo, (message, {"new.py": None})), message
    assert not lost(repo, ("Tidy up", {"new.py": None, "lib/new.py": OLD}))


def test_a_later_commit_that_names_it_explains_that_it_is_gone(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("begin")
    added = []
    for name in ("a.py", "b.py"):
        repo.write(name, OLD)
        added.append(repo.commit(f"add {name}"))
    repo.git("rm", "-q", "*.py")
    repo.commit(f"Tidy up after {added[0][:7]} and {added[1][:7]}")
    assert find_lost(str(repo.path), added) == set()
    # one that is not asked for is not called lost
    monkeypatch.setattr(history_lost, "_MOST_EXPLAINED", 1)
    assert find_lost(str(repo.path), added) == set()


def test_a_file_of_a_megabyte_is_compared_and_of_a_larger_one_nothing_is_said(
    repo: GitRepo,
) -> None:
    def is_lost(size: int) -> bool:
        added: dict[str, str | None] = {"old.py": OLD.ljust(size, "x")}
        return lost(repo, ("tidy", {"old.py": "zero\n" + OLD}), added=added)

    assert is_lost(1 << 20)
    assert not is_lost((1 << 20) + 1)


def test_a_merge_commit_is_compared_with_what_it_was_merged_into(repo: GitRepo) -> None:
    stream = Stream()
    stream.commit("start", [], {"a": "1\n"})
    stream.commit("topic", ["start"], {"b": "1\n"})
    stream.commit("merge", ["start", "topic"], {"b": "1\n"})
    stream.commit("stale", ["merge"], {"b": None, "c": "other\n"})
    stream.write(repo)
    repo.git("checkout", "-q", "-f", "--detach", "stale")
    merge = repo.git("rev-parse", "merge")
    assert find_lost(str(repo.path), {merge}) == {merge}


def test_where_it_cannot_be_found_out_nothing_is_lost(repo: GitRepo) -> None:
    repo.commit("begin")
    assert find_lost(str(repo.path), set()) == set()
    assert find_lost(str(repo.path), {"0" * 40}) == set()
