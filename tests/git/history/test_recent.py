"""Which commits are read, whatever their clocks said."""

from checkpoint_git.core.clock import DAY
from checkpoint_git.git.history.recent import read_records, read_tips
from checkpoint_git.git.history.reference_facts import read_facts
from tests.support.repos import GitRepo
from tests.support.streams import Stream

NOW = 1_790_000_000
BEGAN = NOW - 30 * DAY


def commit_all(repo: GitRepo, *commits: tuple[str, int]) -> None:
    """One line of commits on main, the oldest first: (subject, when)."""
    parts = []
    for at, (subject, when) in enumerate(commits):
        head = f"commit refs/heads/main\ncommitter Ada <a@b.c> {when} +0000\ndata {len(subject)}\n{subject}\n"
        parts.append(f"{head}M 100644 inline f{at}\ndata 2\n{at % 10}\n\n")
    done = repo.run("git", "fast-import", "--quiet", stdin="".join(parts).encode())
    assert done.returncode == 0, done.stderr.decode()
    repo.git("reset", "-q", "--hard", "main")


def subjects(repo: GitRepo, since: int) -> list[str]:
    tips = read_tips(str(repo.path))
    assert tips
    records = read_records(str(repo.path), tips, since, NOW)
    return [record.message.decode().partition("\n")[0] for record in records]


def states(repo: GitRepo, *references: str) -> dict[str, str]:
    facts = read_facts(str(repo.path), [(one, BEGAN) for one in references], NOW)
    return {reference: fact.state for (reference, _), fact in facts.items()}


def test_all_since_an_instant_and_the_last_of_the_branch_are_read_once_children_first(
    repo: GitRepo,
) -> None:
    old = [(f"old {at}", BEGAN - 300 * DAY + at) for at in range(250)]
    commit_all(repo, *old, ("new 1", BEGAN + DAY), ("new 2", BEGAN + 2 * DAY))
    found = subjects(repo, BEGAN)
    assert found[:3] == ["new 2", "new 1", "old 249"]
    assert len(found) == len(set(found)) == 200


def test_what_a_merge_brought_in_is_read_if_it_is_not_older(repo: GitRepo) -> None:
    stream = Stream()
    stream.commit("begin", [], {})
    stream.commit("old", ["begin"], {})
    stream.commit("side", ["old"], {})
    stream.commit("line", ["begin"], {})
    stream.commit("merge", ["line", "side"], {})
    stream.write(repo)
    repo.git("checkout", "-q", "--detach", "merge")
    since = int(repo.git("log", "-1", "--format=%ct", "side"))
    found = subjects(repo, since)
    assert sorted(found) == ["begin", "line", "merge", "side"]
    assert found[0] == "merge"
    assert found[-1] == "begin"


def test_a_merge_is_found_behind_and_with_a_clock_that_was_wrong(repo: GitRepo) -> None:
    commit_all(
        repo,
        ("before (#1)", BEGAN - DAY),
        ("begin", BEGAN + DAY),
        ("in 1970 (#2)", 3),
        ("right (#3)", BEGAN + 2 * DAY),
        ("in 1970 again", 4),
        ("in 2099 (#4)", 4_080_000_000),
        ("just now (#5)", NOW),
        ("last (#6)", 5),
    )
    merged = dict.fromkeys(("#2", "#3", "#4", "#5", "#6"), "merged")
    assert states(repo, "#1", *merged) == merged
    early, last = read_facts(str(repo.path), [("#2", BEGAN), ("#6", BEGAN)], NOW).values()
    assert early.at == BEGAN + DAY  # when the commit behind it was made
    assert last.at == NOW


def test_a_clock_that_is_ahead_makes_nothing_newer_than_it_was(repo: GitRepo) -> None:
    commit_all(
        repo, ("in 2099", 4_080_000_000), ("before (#1)", BEGAN - DAY), ("after (#2)", BEGAN + DAY)
    )
    assert states(repo, "#1", "#2") == {"#2": "merged"}


def test_the_default_branch_is_the_remotes_or_of_a_usual_name(repo: GitRepo) -> None:
    def default() -> list[str]:
        tips = read_tips(str(repo.path))
        assert tips
        return [repo.git("log", "-1", "--format=%s", commit) for commit in tips.default]

    assert read_tips(str(repo.path)) is None
    repo.commit("begin")
    repo.git("checkout", "-q", "-b", "work")
    repo.commit("work")
    repo.git("branch", "-q", "master")
    assert default() == ["begin"]  # of both usual names main is the first
    repo.git("branch", "-q", "-D", "master")
    repo.git("branch", "-q", "-m", "main", "trunk")
    repo.git("branch", "-q", "main/search", "work")  # no branch is called main
    assert default() == []
    repo.git("config", "init.defaultBranch", "trunk")
    assert default() == ["begin"]
    repo.git("update-ref", "refs/remotes/origin/next", "work")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/next")
    assert default() == ["work"]
    repo.git("branch", "-q", "next", "trunk")
    assert default() == ["work", "begin"]
    repo.git("update-ref", "refs/remotes/origin/a=b", "trunk")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/a=b")
    assert default() == ["begin"]
    repo.git("branch", "-q", "a=b", "work")
    assert default() == ["begin", "work"]
