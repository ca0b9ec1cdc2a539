import pytest

from checkpoint_git.protocols.skill.file_facts import is_covered


@pytest.mark.parametrize(
    ("path", "name", "covered"),
    [
        ("src/a.ts", "src/a.ts", True),
        ("src/x/a.ts", "src", True),
        ("src/x/a.ts", "src/", True),
        ("srcs/a.ts", "src", False),
        ("src/a.ts", "src/*.ts", True),
        ("src/x/a.ts", "src/*.ts", False),
        ("src/x/a.ts", "src/**/*.ts", True),
        ("src/a.ts", "src/b.ts", False),
    ],
)
def test_a_listed_name_stands_for_a_file_a_folder_or_a_pattern(path: str, name: str, covered: bool) -> None:
    assert is_covered(path, name) == covered
