from checkpoint_git.git.history.steps import Commit
from checkpoint_git.protocols.skill.brief.history import LifeEntry
from checkpoint_git.protocols.skill.brief.life import LifeEvent
from checkpoint_git.protocols.skill.brief.page_changes import list_changes
from checkpoint_git.protocols.skill.brief.page_lives import Lives


def test_changes_are_of_everybody_newest_first_and_older_ones_apart() -> None:
    def entry(at: int, who: str) -> LifeEntry:
        return LifeEntry(
            "p",
            Commit(f"{at:040}", (), at, at, who, "x"),
            [LifeEvent("decided", "a", "A"), LifeEvent("queued", "b", "B")],
        )

    lives = Lives(
        {"build": [entry(9, "Ada"), entry(3, "Ada")], "audit": [entry(8, "Ben"), entry(7, "Ada")]}
    )
    section = list_changes(lives, 5, "")
    assert section
    assert section.values["people"] == [
        ("Ada", "2 commits: build, audit"),
        ("Ben", "1 commit: audit"),
    ]
    assert [row.at for row in section.values["recent"]] == [9, 8, 7]
    assert [row.what for row in section.values["older"]] == ["decided: A\nqueued: B"]
