"""What is true of pull requests and tickets: first as values, then asked of real repositories."""

import subprocess
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.git.history.recent import Record, Tips
from checkpoint_git.git.history.reference_facts import Fact, decide, find_sightings, read_facts
from tests.support.growth import assert_linear
from tests.support.repos import GitRepo
from tests.support.streams import Stream

NOW = 1_800_000_000

Message = str | tuple[str, str]  # a subject, or an id's letter with a message


def line(*messages: Message, first: int = 1_000) -> list[Record]:
    """One line of commits, the newest first; an id is one letter forty times. first: when the
    oldest was made.
    """
    names = "abcdefghijklmnop"[: len(messages)][::-1]
    pairs = [one if isinstance(one, tuple) else (names[at], one) for at, one in enumerate(messages)]
    records = list[Record]()
    for at, (name, message) in enumerate(pairs):
        parents = (pairs[at + 1][0] * 40,) if at + 1 < len(pairs) else ()
        records.append(Record(name * 40, first + len(pairs) - at - 1, parents, message.encode()))
    return records


def fact(*messages: Message, wanted: str = "#12", own: frozenset[str] = frozenset()) -> Fact | None:
    records = line(*messages)
    return decide(
        wanted,
        find_sightings(records, Tips(records[0].id), frozenset({wanted}), own).get(wanted, ()),
        0,
    )


def state(*messages: Message, wanted: str = "#12", own: frozenset[str] = frozenset()) -> str:
    found = fact(*messages, wanted=wanted, own=own)
    return found.state if found else ""


A = "a" * 40


def test_what_one_commit_says_is_the_fact() -> None:
    rows = {
        "search (#12)": "merged",
        "Merge pull request #12 from ada/search": "merged",
        "search\n\nCloses #12": "closed",
        "prepare #12": "named",
        "#12: search": "named",
        "search (#123)": "",
        "search (#0012)": "merged",
        "": "",
    }
    assert {message: state(message) for message in rows} == rows


def test_merged_says_more_than_closed_and_closed_more_than_named() -> None:
    assert state("more of #12", "search\n\nFixes #12", "search (#12)") == "merged"
    assert state("more of #12", "search\n\nFixes #12") == "closed"


def test_a_ticket_is_named_by_its_commits_or_closed() -> None:
    for subject in (
        "ABC-12: x",
        "[ABC-12] x",
        "feat(ABC-12): x",
        "x (ABC-12)",
        "Merge branch 'ABC-12'",
        "ABC-12",
    ):
        assert state(subject, wanted="ABC-12") == "named", subject
    named = fact("ABC-12: two", "other", "ABC-12: one", wanted="ABC-12")
    assert named is not None
    assert (named.commits, named.commit, named.at) == (2, "c" * 40, 1_002)
    assert state("ABC-12: two\n\nFixes ABC-12", "ABC-12: one", wanted="ABC-12") == "closed"


def test_the_fact_names_the_newest_commit_its_time_and_the_rule() -> None:
    found = fact("more (#12)", "search (#12)")
    rule = "the number of a squash merge"
    assert found == Fact("#12", "merged", 1_001, "b" * 40, rule, commits=2, sure=True)


REVERTED: list[tuple[Message, ...]] = [
    ('Revert "search (#12)"', "search (#12)"),
    ("Revert #12", "search (#12)"),
    ("revert: search (#12)", "search (#12)"),
    ('Revert "search"\n\nReverts acme/app#12', "search (#12)"),
    ("Take search out again\n\nThis reverts PR #12.", "search (#12)"),
    ("Out\n\nReverts #12", "search (#12)"),
    *(
        (f"Out again\n\n{body}", "search (#12)")
        for body in (
            f"This reverts commit {A}.",
            f"This reverts commit {A[:9]} (search, 2024-01-01).",
            f"This reverts commit {A}, reversing\nchanges made to {'c' * 40}.",
            f"This reverts commits 1234567, {A[:12]} and\n89abcde.",
            f"Reverts: {'A' * 12}",
            f"Reverts commit {A[:12]}",
        )
    ),
    ('Revert "search (#12)"', "other", "search (#12)"),
    # the revert of the revert is itself reverted
    (f"Out for good\n\nThis reverts commit {'c' * 40}.", f"Back\n\nThis reverts commit {'b' * 40}.",
     f"Out\n\nThis reverts commit {A}.", "search (#12)"),
    # it is only the revert that happened in this time
    ('Revert "search (#12)"',),
]  # fmt: skip
STANDING: list[tuple[Message, ...]] = [
    ("search, second try (#12)", 'Revert "search (#12)"', "search (#12)"),
    ('Reapply "search (#12)"', 'Revert "search (#12)"', "search (#12)"),
    ('Revert "Revert "search (#12)""', 'Revert "search (#12)"', "search (#12)"),
    (
        f"Bring it back\n\nThis reverts commit {'b' * 40}.",
        f"Out\n\nThis reverts commit {A}.",
        "search (#12)",
    ),
    (f"More\n\nThis partially reverts commit {A}.", "search (#12)"),
    (f"More\n\nAs in {A}.", "search (#12)"),
    (f"More\n\nThis reverts commit {A[:7]}{'b' * 33}.", "search (#12)"),
    (f"More\n\nDo not revert {A}.", "search (#12)"),
    ("Bring it back\n\nDo not say that it reverts PR #12", "search (#12)"),
    ("Bump x from 1 to 2\n\nBumps [x](y).\n\nReverts #12", "search (#12)"),
    ("search (#12)", 'Revert "search (#12)"'),
]


def test_what_was_reverted_is_and_what_was_landed_again_is_merged() -> None:
    assert [messages for messages in REVERTED if state(*messages) != "reverted"] == []
    assert [messages for messages in STANDING if state(*messages) != "merged"] == []


def test_the_fact_of_a_revert_names_the_revert_and_its_own_pull_request_is_merged() -> None:
    messages = ('Revert "search (#12)" (#15)', "search (#12)")
    found = fact(*messages)
    assert found is not None
    assert (found.state, found.commit, found.at) == ("reverted", "b" * 40, 1_001)
    assert state(*messages, wanted="#15") == "merged"


def test_a_revert_on_another_branch_takes_nothing_back() -> None:
    tip, main, side, start, other = (letter * 40 for letter in "dabce")
    for body in ("", f"This reverts commit {main}."):
        records = [
            Record(tip, 9, (other, side), b"Merge branch 'release'"),
            Record(side, 8, (start,), f'Revert "search (#12)"\n\n{body}'.encode()),
            # it takes back something else, in the same history
            Record(other, 7, (main,), b'Revert "sort (#13)"'),
            Record(main, 6, (start,), b"search (#12)"),
            Record(start, 1, (), b"begin"),
        ]
        found = find_sightings(records, Tips(tip), frozenset({"#12"}), frozenset())
        assert [sighting.state for sighting in found["#12"]] == ["reverted", "merged"]


def test_a_commit_that_no_tip_leads_to_merges_nothing() -> None:
    records = [Record(A, 2, (), b"search (#12)"), *line("begin")]
    ((sighting,),) = find_sightings(
        records, Tips("b" * 40), frozenset({"#12"}), frozenset()
    ).values()
    assert (sighting.state, sighting.in_head) == ("named", False)


def test_what_happened_before_says_nothing() -> None:
    records = line("more", "search (#12)", first=1_000)
    sightings = find_sightings(records, Tips(records[0].id), frozenset({"#12"}), frozenset())["#12"]
    assert decide("#12", sightings, 1_000)
    assert decide("#12", sightings, 1_001) is None


def test_another_repositorys_number_is_not_ours() -> None:
    own = frozenset({"acme/app"})
    assert state("search\n\nFixes acme/other#12", own=own) == ""
    assert state("search\n\nFixes fork/app#12", own=own) == ""
    assert state("search\n\nFixes acme/app#12", own=own) == "closed"
    gitlab = "Merge branch 'search'\n\nSearch\n\nSee merge request acme/app!12"
    assert state(gitlab, wanted="!12", own=frozenset({"ada/app"})) == "merged"
    assert state(gitlab, wanted="!12", own=frozenset({"ada/other"})) == ""


@pytest.mark.parametrize("kind", ["named", "reverts of it", "reverts by id", "references"])
def test_any_number_of_commits_and_references_takes_linear_time(kind: str) -> None:
    def read(size: int) -> None:
        ids = [f"{at * 0x9E3779B1 % 0xFFFFFFFF:08x}{at:032x}" for at in range(size + 1)]
        messages = {
            "named": "see #12, #13 and ABC-3",
            "reverts of it": 'Revert "search (#12)"',
            "references": "search (#12)",
        }
        wanted = (
            {f"#{number}" for number in range(size)} if kind == "references" else {"#12", "ABC-3"}
        )
        records = []
        for at in range(size):
            message = messages.get(kind, f"x (#12)\n\nThis reverts commit {ids[at + 1]}.")
            records.append(Record(ids[at], 1, (ids[at + 1],), message.encode()))
        sightings = find_sightings(records, Tips(ids[0]), frozenset(wanted), frozenset())
        for reference in wanted:
            decide(reference, sightings.get(reference, ()), 0)

    assert_linear(read, 1_000)


# real repositories


def states(repo: GitRepo, *references: str, since: int = 0) -> dict[str, str]:
    facts = read_facts(str(repo.path), [(one, since) for one in references], NOW)
    return {reference: fact.state for (reference, _), fact in facts.items()}


def write(repo: GitRepo, *commits: tuple[str, list[str], dict[str, str | None], str]) -> None:
    """Commits (branch, parents, files, message) by one fast-import; main is checked out where there
    is one.
    """
    stream, last = Stream(), dict[str, str]()
    for at, (name, parents, files, message) in enumerate(commits):
        last[name] = stream.commit(
            f"{name}-{at}", [last[parent] for parent in parents], files, message
        )
    stream.write(repo)
    for name, made in last.items():
        repo.git("update-ref", f"refs/heads/{name}", made)
    repo.git("reset", "-q", "--hard", "main")


def test_a_history_of_merges_squashes_reverts_and_closed_issues(repo: GitRepo) -> None:
    write(
        repo,
        ("main", [], {"a": "1\n"}, "begin"),
        ("search", ["main"], {"search.py": "find\n"}, "search"),
        (
            "main",
            ["main", "search"],
            {"search.py": "find\n"},
            "Merge pull request #12 from ada/abc-7-search",
        ),
        ("main", ["main"], {"sort.py": "sort\n"}, "sort (#13)"),
        ("main", ["main"], {"sort.py": None}, 'Revert "sort (#13)"'),
        ("main", ["main"], {"b": "1\n"}, "prepare the ground for #14"),
        ("main", ["main"], {"c": "1\n"}, "tidy\n\nCloses #40, fixes ABC-8"),
        ("main", ["main"], {"again.py": "again\n"}, "again (#15)"),
        ("main", ["main"], {"again.py": None}, 'Revert "again (#15)"'),
        ("main", ["main"], {"again.py": "again\n"}, 'Reapply "again (#15)"'),
    )
    expected = {
        "#12": "merged",
        "ABC-7": "named",
        "#13": "reverted",
        "#14": "named",
        "#40": "closed",
    }
    expected |= {"ABC-8": "closed", "#15": "merged"}
    assert states(repo, *expected, "#99", "ABC-9") == expected


def test_a_squash_from_a_stale_base_loses_what_was_merged(repo: GitRepo) -> None:
    write(
        repo,
        ("main", [], {"a": "1\n2\n3\n"}, "begin"),
        ("main", ["main"], {"new.py": "new\n"}, "add a file (#12)"),
        ("main", ["main"], {"a": "1\n2\nmore\n3\n"}, "add a line (#13)"),
        ("main", ["main"], {"kept.py": "kept\n"}, "add another file (#14)"),
        # its tree is that of the first commit, with a file more
        ("main", ["main"], {"new.py": None, "a": "1\n2\n3\n", "x": "x\n"}, "add x (#15)"),
    )
    assert states(repo, "#12", "#13", "#14", "#15") == {
        "#12": "lost",
        "#13": "lost",
        "#14": "merged",
        "#15": "merged",
    }


def test_the_default_branch_decides_what_is_merged(repo: GitRepo) -> None:
    write(
        repo,
        ("main", [], {"a": "1\n"}, "begin"),
        ("feature", ["main"], {"f": "1\n"}, "my work (#12)\n\nFixes ABC-3"),
        ("main", ["main"], {"m": "1\n"}, "their work (#13)"),
    )
    repo.git("checkout", "-q", "feature")
    assert states(repo, "#12", "#13", "ABC-3") == {
        "#12": "named",
        "#13": "merged",
        "ABC-3": "named",
    }
    repo.git("branch", "-q", "-m", "main", "trunk")  # nobody knows now which one it is
    assert states(repo, "#12", "#13", "ABC-3") == {"#12": "merged", "ABC-3": "closed"}
    repo.git("update-ref", "refs/remotes/origin/trunk", "trunk")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    assert states(repo, "#12", "#13", "ABC-3") == {
        "#12": "named",
        "#13": "merged",
        "ABC-3": "named",
    }
    repo.git("checkout", "-q", "--detach", "trunk")
    assert states(repo, "#12", "#13") == {"#13": "merged"}


def test_what_is_merged_here_and_not_pushed_yet_is_merged(repo: GitRepo) -> None:
    write(repo, ("main", [], {"a": "1\n"}, "begin"))
    repo.git("update-ref", "refs/remotes/origin/main", "main")
    repo.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    repo.commit("search (#12)")
    assert states(repo, "#12") == {"#12": "merged"}


def test_a_link_to_another_repository_is_not_taken_for_ours(repo: GitRepo) -> None:
    repo.commit("search (#12)")
    asked = [(name, 0) for name in ("acme/app#12", "fork/app#12", "acme/other#12", "#12")]

    def sure() -> dict[str, bool]:
        return {
            name: fact.sure for (name, _), fact in read_facts(str(repo.path), asked, NOW).items()
        }

    assert sure() == {
        "acme/app#12": False,
        "fork/app#12": False,
        "acme/other#12": False,
        "#12": True,
    }
    repo.git("remote", "add", "origin", "git@github.com:acme/app.git")
    assert sure() == {"acme/app#12": True, "#12": True}
    repo.git("remote", "add", "upstream", "https://github.com/fork/app")
    assert sure() == {"acme/app#12": True, "fork/app#12": True, "#12": True}


def test_states_of_a_repository_that_say_nothing(repo: GitRepo, tmp_path: Path) -> None:
    assert states(repo, "#12") == {}
    assert read_facts(str(tmp_path), [("#12", 0)], NOW) == {}
    repo.commit("search (#12)")
    assert states(repo) == {}
    assert states(repo, "#0", "#99999999999", "#12") == {"#12": "merged"}


def test_git_missing_is_said_with_a_hint(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repo.commit("search (#12)")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CheckpointError) as raised:
        states(repo, "#12")
    assert str(raised.value.hint)


def test_shallow_and_partial_clones_say_what_they_have(repo: GitRepo, tmp_path: Path) -> None:
    for number in (11, 12, 13):
        repo.write(f"f{number}", "x\n")
        repo.commit(f"change (#{number})")
    repo.git("config", "uploadpack.allowFilter", "true")
    shallow, partial = GitRepo(tmp_path / "shallow"), GitRepo(tmp_path / "partial")
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.path}", str(shallow.path))
    repo.git(
        "clone", "-q", "--filter=tree:0", "--no-checkout", f"file://{repo.path}", str(partial.path)
    )
    assert states(shallow, "#12", "#13") == {"#13": "merged"}
    assert states(partial, "#12", "#13") == {"#12": "merged", "#13": "merged"}


def test_the_users_settings_and_environment_change_nothing(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit("search (#12)")
    settings = {"log.showSignature": "true", "color.ui": "always", "format.pretty": "oneline"}
    settings |= {
        "log.date": "relative",
        "i18n.logOutputEncoding": "ISO-8859-1",
        "log.showRoot": "false",
    }
    settings |= {"diff.noprefix": "true", "diff.renames": "copies", "log.diffMerges": "off"}
    for name, value in settings.items():
        repo.git("config", name, value)
    monkeypatch.setenv("GIT_DIR", str(GitRepo.create(tmp_path / "other").path / ".git"))
    assert states(repo, "#12") == {"#12": "merged"}


def test_hostile_messages_are_read_and_their_neighbours_too(repo: GitRepo) -> None:
    repo.commit("one (#11)")
    hostile = b"\x1b[2J (#12)", b"\xff\xfe caf\xe9 (#13)", b"a (#14)\n\n" + b"#" * 3_000_000
    for message in hostile:
        made = repo.run("git", "commit-tree", "HEAD^{tree}", "-p", "HEAD", stdin=message)
        repo.git("reset", "-q", "--hard", made.stdout.decode().strip())
    repo.commit("last (#15)")
    numbers = ["#11", "#12", "#13", "#14", "#15"]
    assert states(repo, *numbers) == dict.fromkeys(numbers, "merged")


def test_a_repository_of_sha256_works_the_same(tmp_path: Path) -> None:
    if (
        subprocess.run(
            ["git", "init", "-q", "--object-format=sha256", str(tmp_path / "probe")]
        ).returncode
        != 0
    ):
        pytest.skip("this git has no sha256 repositories")
    repo = GitRepo.create(tmp_path / "repo", "--object-format=sha256")
    repo.write("a", "1")
    repo.commit("search (#12)")
    assert states(repo, "#12") == {"#12": "merged"}


def test_what_the_default_branch_alone_has_is_not_in_head() -> None:
    records = line("Fix the build (#13)", "search (#12)", "begin")
    tips = Tips(records[2].id, (records[0].id,))
    found = find_sightings(records, tips, frozenset(["#12", "#13"]), frozenset())
    assert {
        reference: [each.in_head for each in sightings] for reference, sightings in found.items()
    } == {
        "#12": [False],
        "#13": [False],
    }
    found = find_sightings(
        records, Tips(records[1].id, (records[0].id,)), frozenset(["#12"]), frozenset()
    )
    assert [each.in_head for each in found["#12"]] == [True]
