import pytest

from checkpoint_git.tools.agents.plan import (
    find_agents,
    list_paths,
    plan_agents,
    plan_agents_removal,
)
from checkpoint_git.tools.agents.table import AGENTS, TABLE, AgentName
from checkpoint_git.tools.setup.steps import RemoveFile, SetupStep, WriteFile
from checkpoint_git.tools.setup.survey import FileState
from tests.support.rows import rows


def files(**given: FileState) -> dict[str, FileState]:
    """Every file that may be touched, none of them there but those given with "__" for "/"."""
    there = {name.replace("__", "/").replace("DOT", "."): file for name, file in given.items()}
    return {path: there.get(path, FileState(f"/top/{path}", None, "", 1)) for path in list_paths()}


def apply(before: dict[str, FileState], steps: list[SetupStep]) -> dict[str, FileState]:
    """The files after the steps were made."""
    after = dict(before)
    for step in steps:
        if isinstance(step.change, WriteFile):
            after[step.what] = FileState(step.change.path, step.change.data)
        elif isinstance(step.change, RemoveFile):
            after[step.what] = FileState(step.change.path, None, "", 1)
    return after


def test_signs_tell_which_agents_are_used() -> None:
    assert find_agents({".claude", "AGENTS.md", ".gemini", "GEMINI.md"}.__contains__) == [
        "claude",
        "gemini",
        "generic",
    ]
    assert find_agents(lambda sign: False) == []


@rows("name", AGENTS)
def test_a_second_time_everything_is_there_and_uninstall_takes_it_all(name: AgentName) -> None:
    before = files()
    steps = plan_agents([name], before, extra_moments=("guard",))
    after = apply(before, steps)
    assert {step.deed for step in steps} == {"add"}
    assert {step.deed for step in plan_agents([name], after, extra_moments=("guard",))} == {"keep"}
    gone = apply(after, plan_agents_removal(after))
    assert {path: file.data for path, file in gone.items()} == {
        path: file.data for path, file in before.items()
    }


def test_agents_that_share_a_file_share_its_step() -> None:
    steps = plan_agents(list(AGENTS), files())
    assert [step.what for step in steps] == list(dict.fromkeys(step.what for step in steps))
    assert len([step for step in steps if step.what == "AGENTS.md"]) == 1


@pytest.mark.parametrize("name", ["gemini", "cursor"])
def test_who_reads_the_shared_skills_gets_no_second_copy(name: AgentName) -> None:
    shared, own = (
        ".agents/skills/checkpoint-git/SKILL.md",
        f".{name}/skills/checkpoint-git/SKILL.md",
    )
    together = {step.what for step in plan_agents([name, "generic"], files())}
    assert (shared in together, own in together) == (True, False)
    after = apply(files(), plan_agents(["generic"], files()))
    assert own not in {step.what for step in plan_agents([name], after)}
    foreign = {**after, shared: FileState("/top/x", b"somebody else's")}
    assert own in {step.what for step in plan_agents([name, "generic"], foreign)}
    both = {**after, **apply(files(), plan_agents([name], files()))}
    assert {step.what: step.deed for step in plan_agents([name], both)}[own] == "keep"


def test_what_may_not_be_written_gets_a_recipe() -> None:
    blocked = FileState("/top/x", b"{}", "it is read-only")
    steps = plan_agents(["claude"], files(DOTclaude__settingsDOTjson=blocked))
    step = next(step for step in steps if step.what == ".claude/settings.json")
    assert (step.deed, step.change) == ("advise", None)
    assert step.text.startswith('it is read-only; add by hand: { "hooks"')


def test_a_file_of_the_same_name_that_is_not_ours_stays() -> None:
    theirs = FileState("/top/x", b"# my own command\n")
    given = files(DOTclaude__commands__checkpointsDOTmd=theirs)
    step = next(
        step for step in plan_agents(["claude"], given) if step.what.endswith("checkpoints.md")
    )
    assert (step.deed, step.change) == ("skip", None)
    assert plan_agents_removal(given) == []


def test_a_file_that_somebody_changed_is_neither_renewed_nor_removed() -> None:
    after = apply(files(), plan_agents(["claude"], files()))
    path = TABLE["claude"].files[0][1]
    after[path] = after[path]._replace(
        data=(after[path].data or b"").replace(b"Write often", b"Write seldom")
    )
    changed = next(step for step in plan_agents(["claude"], after) if step.what == path)
    assert (changed.deed, changed.change) == ("skip", None)
    kept = next(step for step in plan_agents_removal(after) if step.what == path)
    assert (kept.deed, kept.change) == ("keep", None)


def test_an_older_text_of_ours_is_renewed() -> None:
    from checkpoint_git.tools.agents.table import render_stamped

    path = TABLE["claude"].files[0][1]
    old = FileState(f"/top/{path}", render_stamped(path, "what we said once\n", 2))
    given = {**files(), path: old}
    step = next(step for step in plan_agents(["claude"], given) if step.what == path)
    assert step.deed == "update"
    assert isinstance(step.change, WriteFile)
    assert b"folders=2" in step.change.data


def test_notes_that_somebody_changed_are_neither_renewed_nor_removed() -> None:
    after = apply(files(), plan_agents(["generic"], files()))
    notes = after["AGENTS.md"]
    for old, new in (
        (b"## Checkpoints", b"## Our checkpoints"),
        (b"- At the start", b"- Ask Ada first.\n- At the start"),
    ):
        given = {**after, "AGENTS.md": notes._replace(data=(notes.data or b"").replace(old, new))}
        changed = next(step for step in plan_agents(["generic"], given) if step.what == "AGENTS.md")
        assert (changed.deed, changed.change) == ("skip", None)
        kept = next(step for step in plan_agents_removal(given) if step.what == "AGENTS.md")
        assert (kept.deed, kept.change) == ("keep", None)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_older_notes_of_ours_are_renewed_and_removed(newline: bytes) -> None:
    older = b"# Agents\n<!-- >>> checkpoint-git >>> -->\nwhat we said once\n<!-- <<< checkpoint-git <<< -->\n"
    given = files(AGENTSDOTmd=FileState("/top/AGENTS.md", older.replace(b"\n", newline)))
    after = apply(given, plan_agents(["generic"], given))
    assert b"what we said once" not in (after["AGENTS.md"].data or b"")
    for notes in (given, after):
        assert apply(notes, plan_agents_removal(notes))["AGENTS.md"].data == b"# Agents" + newline


@rows("name", AGENTS)
def test_what_may_not_be_written_is_not_removed_either(name: AgentName) -> None:
    after = apply(files(), plan_agents([name], files()))
    blocked = {
        path: file._replace(blocked="its folder is read-only") for path, file in after.items()
    }
    steps = plan_agents_removal(blocked)
    assert {(step.deed, step.change) for step in steps} == {("skip", None)}
    assert all("by hand" in step.text for step in steps)


def test_damaged_marks_in_notes_are_left_to_a_person() -> None:
    given = files(
        AGENTSDOTmd=FileState("/top/AGENTS.md", b"<!-- >>> checkpoint-git >>> -->\nno end\n")
    )
    assert [step.deed for step in plan_agents(["generic"], given) if step.what == "AGENTS.md"] == [
        "skip"
    ]
    assert [step.deed for step in plan_agents_removal(given)] == ["skip"]


def test_settings_that_broke_since_are_named_at_the_end() -> None:
    after = apply(files(), plan_agents(["claude"], files()))
    path = ".claude/settings.json"
    after[path] = after[path]._replace(data=b"// mine\n" + (after[path].data or b""))
    step = next(step for step in plan_agents_removal(after) if step.what == path)
    assert (step.deed, step.change) == ("skip", None)
    assert "by hand" in step.text
