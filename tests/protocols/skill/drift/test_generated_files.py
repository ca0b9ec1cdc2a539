"""Entries of generated_files as people write them."""

from checkpoint_git.protocols.skill.drift.generated_files import (
    choose_reading,
    expand_braces,
    find_move,
    find_readings,
    follow_moves,
)
from tests.support.growth import assert_linear
from tests.support.rows import rows


def read(entry: str, *there: str) -> list[str]:
    return choose_reading(find_readings(entry), lambda path: path in there)


@rows(
    ("entry", "paths"),
    [
        ("src/x.ts", ["src/x.ts"]),
        ("src/x.ts (new)", ["src/x.ts"]),
        ("src/x.ts (PR 1 baseline `[]`, 4cb0b09)", ["src/x.ts"]),
        ("src/x.ts [generated]", ["src/x.ts"]),
        ("src/pages/[id].astro (restyled)", ["src/pages/[id].astro"]),
        ("src/{a,b}.ts", ["src/a.ts", "src/b.ts"]),
        ("src/{a,b}/{c,d}.ts (two)", ["src/a/c.ts", "src/a/d.ts", "src/b/c.ts", "src/b/d.ts"]),
        ("tests/a.js + tests/b.js (PR 3)", ["tests/a.js", "tests/b.js"]),
        ("docs/a.md and docs/b.md", ["docs/a.md", "docs/b.md"]),
        ("docs/a.md, docs/b.md", ["docs/a.md", "docs/b.md"]),
        ("docs/plan.md - the plan", ["docs/plan.md"]),
        ("docs/plan.md: the plan", ["docs/plan.md"]),
        ("packs/x/pack.yml updated with frameworks: [a, b]", ["packs/x/pack.yml"]),
        ("docs/my file.md (new)", ["docs/my file.md"]),
        ("docs/My Big Plan/all of it.md", ["docs/My Big Plan/all of it.md"]),
        ("src/api rewritten in v2.0", ["src/api"]),
        ("src/x.ts reads config.json", ["src/x.ts"]),
        ("src/api, which reads config.json", ["src/api"]),
        ("README.md", ["README.md"]),
        ("src/", ["src/"]),
        ("Branch ref claude/add-instructions", []),
        ("Everything that was deployed", []),
        ("https://example.org/a/b.html", []),
        ("", []),
        ("a/b\nc/d", []),
        ("x" * 5_000, []),
        ("src/x.ts:12", ["src/x.ts"]),
        ("src/x.ts:12-40 (new)", ["src/x.ts"]),
        ("src/x.ts#L10-L20", ["src/x.ts"]),
        ("`src/x.ts`", ["src/x.ts"]),
        ("src/x.ts (deleted)", []),
        ("src/x.ts (removed in #12)", []),
        ("src/x.ts [retired: nobody used it]", []),
        ("(deleted) src/x.ts", []),
        ("src/x.ts (removed dead code)", ["src/x.ts"]),
        ("src/x.ts - deleted after the merge", []),
        ("src/x.ts: removed", []),
        ("~~src/x.ts~~", []),
        ("notes/local.md (local only, gitignored)", []),
        (".env.local (not committed)", []),
        ("src/x.ts (sandbox; gitignored from the build)", ["src/x.ts"]),
        ("src/x.ts, removed dead code", ["src/x.ts"]),
        ("[the plan](docs/plan.md)", ["docs/plan.md"]),
        ("src\\x.ts", ["src/x.ts"]),
        ("N/A", []),
        ("``", []),
    ],
)
def test_an_entry_that_names_nothing_there_is_read_as_a_person_would(
    entry: str, paths: list[str]
) -> None:
    assert read(entry) == paths


@rows(
    ("entry", "path"),
    [
        ("src/old.ts -> src/new.ts", "src/new.ts"),
        ("src/old.ts \u2192 src/new.ts (2 callers)", "src/new.ts"),
        ("src/old.ts (moved to src/new.ts)", "src/new.ts"),
        ("`src/old.ts`, now `src/new.ts`", "src/new.ts"),
        ("docs/pru\u0308fung.md (new)", "docs/pr\u00fcfung.md"),
        ("docs/pr\u00fcfung.md", "docs/pru\u0308fung.md"),
        ("src\\api\\x.ts", "src/api/x.ts"),
    ],
)
def test_an_entry_is_read_as_what_is_there_in_another_spelling(entry: str, path: str) -> None:
    assert read(entry, path) == [path]


@rows(
    "entry",
    [
        "docs/a:12",
        "docs/x (removed)",
        "docs/My Plan (new).md",
        "src/x.ts (new)",
        "a + b",
        "Makefile",
        "docs/a, b.md",
        "src/{a,b}.ts",
    ],
)
def test_a_file_of_just_that_name_wins_over_every_reading(entry: str) -> None:
    there = expand_braces(entry)
    assert read(entry, *there) == there


def test_braces_that_would_grow_too_much_stay_as_they_are() -> None:
    assert expand_braces("{a,b}" * 20) == ["{a,b}" * 20]
    assert expand_braces("a/{b}.ts") == ["a/{b}.ts"]


@rows("piece", ["{", "{a,", "(", "((", " + ", "{a,b}", "[", " (a)"])
def test_a_hostile_entry_has_few_readings_and_one_that_is_too_long_has_none(piece: str) -> None:
    longest = 1_000 // len(piece)
    for length in (1, 20, 100, longest):
        readings = find_readings(piece * min(length, longest))
        assert sum(len(paths) for paths in readings) <= 64
    assert find_readings(piece * (longest + 3)) == []
    assert_linear(
        lambda size: [find_readings(piece * (size // len(piece))) for _ in range(20)], 125
    )


def test_a_path_with_blanks_is_not_cut_while_its_first_word_is_no_path_either() -> None:
    assert read("docs/my file.md (new)", "docs/my file.md") == ["docs/my file.md"]
    assert read("bin/deploy reads config.json", "bin/deploy") == ["bin/deploy"]


# files that moved


@rows(
    ("entry", "moves", "after"),
    [
        (
            "lib/{a,b}.py (new)",
            [("lib/a.py", "src/a.py"), ("lib/b.py", "src/b.py")],
            "src/{a,b}.py (new)",
        ),
        (
            "lib/{a,b}/{x,y}",
            [(f"lib/{d}/{f}", f"z/{d}/{f}") for d in "ab" for f in "xy"],
            "z/{a,b}/{x,y}",
        ),
        (
            "lib/a.py + lib/b.py",
            [("lib/a.py", "src/a.py"), ("lib/b.py", "lib/b.py")],
            "src/a.py + lib/b.py",
        ),
        ("lib/{a,b}.py", [("lib/a.py", "src/a.py"), ("lib/b.py", "lib/b.py")], ""),
        ("lib/{a,b}.py", [("lib/a.py", "src/a.py"), ("lib/b.py", "other/b.py")], ""),
        ("lib/{a,b}.py", [("lib/a.py", "lib/c.py"), ("lib/b.py", "lib/d.py")], ""),
        ("{lib,src}/a.py", [("lib/a.py", "new/a.py"), ("src/a.py", "new/a.py")], ""),
        ("a.py", [("a.py", "src/a.py")], "src/a.py"),
        ("lib/a.py", [("lib/a.py", "listed.py")], ""),
    ],
)
def test_an_entry_follows_its_files_where_it_can_name_them_all(
    entry: str, moves: list[tuple[str, str]], after: str
) -> None:
    assert follow_moves(entry, moves, {"listed.py"}) == after


@rows(
    ("old", "new", "move"),
    [
        ("lib/x/a.py", "src/x/a.py", ("lib/", "src/")),
        ("lib/a.py", "a.py", ("lib/", "")),
        ("a.py", "src/a.py", ("", "src/")),
        ("lib/a.py", "lib/b.py", ("lib/a.py", "lib/b.py")),
        ("lib/a.py", "lib/sub/a.py", ("lib/", "lib/sub/")),
    ],
)
def test_a_move_is_told_by_the_folders_that_differ(
    old: str, new: str, move: tuple[str, str]
) -> None:
    assert find_move(old, new) == move
