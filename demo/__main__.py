"""The story that `make demo` tells. It checks what it says: what turns out otherwise ends it with
exit code 1.
"""

import sys

from demo.stage import ExpectationError, Stage

FILE = ".checkpoints/build.checkpoint.json"
FIRST_CHECKPOINT = (
    """checkpoint update build --project=tidepool --phase=build-loop --step=sprint-1 \\
    --summary='Sprint 1 is done; sprint 2 has its contract.' --next 'Write the notes API'""",
    "checkpoint add build 'Run the evaluator'",
    "checkpoint row build sprint-1 --status complete",
    "checkpoint update build --step=sprint-2",
    "checkpoint row build sprint-3",
    "checkpoint note build 'SQLite for storage'",
)
SECOND_CHECKPOINT = (
    """checkpoint update deploy --project=tidepool --phase=staging --step=first-deploy \\
    --summary='Staging is up; production waits for a region.' --next 'Point the domain at staging'""",
    "checkpoint ask deploy 'Which region?' --option eu-west --option us-east",
)


def main() -> int:
    """The exit code: 0 when everything went as expected."""
    try:
        with Stage() as stage:
            for part in PARTS:
                part(stage)
            stage.say("\n\nThat was all of it, and everything went as expected.")
    except ExpectationError as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    return 0


def set_up(stage: Stage) -> None:
    """A repository with some work in it, and `init`."""
    stage.title("1. A repository, and one command to set it up")
    stage.write("src/notes.py", "NOTES = []\n")
    stage.do("git init -q -b main && git add -A && git commit -q -m 'Start'")
    stage.config = stage.read(".git/config")
    stage.run("checkpoint init")
    stage.run("git status --short")


def write_checkpoints(stage: Stage) -> None:
    """Two workstreams record where they are."""
    stage.title("2. Two workstreams record where they stand")
    for command in (*FIRST_CHECKPOINT, *SECOND_CHECKPOINT):
        stage.run(command)
    stage.run("git add -A && git commit -q -m 'Checkpoints for build and deploy'")
    said = stage.run("git checkpoint status")
    stage.expect("build" in said and "deploy" in said, "status should show both workstreams")


def merge_two_sessions(stage: Stage) -> None:
    """Both branches change the same file in the same places; git merges it alone."""
    stage.title("3. Two sessions go on from there, each on its branch")
    stage.say("\nOne finishes an action and sprint 2:")
    stage.do("git checkout -q -b session-a")
    stage.run("checkpoint done build")
    stage.run("checkpoint row build sprint-2 --status complete")
    stage.run("checkpoint note build 'Passkeys only'")
    stage.do("git commit -q -am 'Session A'")
    stage.say("\nThe other begins sprint 3 and finds more to do:")
    stage.do("git checkout -q main && git checkout -q -b session-b")
    stage.run("checkpoint row build sprint-3 --status in_progress")
    stage.run("checkpoint note build 'Search by prefix'")
    stage.run("checkpoint add build 'Measure the search'")
    stage.do("git commit -q -am 'Session B'")
    expect_line_conflict(stage)
    stage.say("\nTheir merge, which line by line would be a conflict:")
    stage.run("git merge --no-edit session-a")
    show_merged(stage)
    stage.say("\nA diff of a checkpoint shows values, not brackets:")
    stage.run("checkpoint diff build --rev HEAD~1")


def expect_line_conflict(stage: Stage) -> None:
    """Nobody is told that a driver was needed where none was."""
    for name, commit in (("ours", "HEAD"), ("base", "main"), ("theirs", "session-a")):
        stage.do(f"git show {commit}:{FILE} > ../{name}")
    stage.do("! git merge-file -q -p ../ours ../base ../theirs > ../lines")


def show_merged(stage: Stage) -> None:
    """What came out of the merge, place by place."""
    value = stage.load("build")
    rows = [f"{row['id']} {row['status']}" for row in value["progress_table"]]
    decisions, actions = value["context_primer"]["key_decisions"], value["next_actions"]
    stage.say("\nWhat both did is there:")
    for name, items in (("rows", rows), ("decisions", decisions), ("next actions", actions)):
        stage.say(f"  {name + ':':14}{', '.join(items)}")
    stage.expect(
        rows == ["sprint-1 complete", "sprint-2 complete", "sprint-3 in_progress"],
        "rows of both sides",
    )
    stage.expect(
        sorted(decisions) == ["Passkeys only", "SQLite for storage", "Search by prefix"],
        "all decisions",
    )
    stage.expect(
        actions == ["Run the evaluator", "Measure the search"], "one action popped, one appended"
    )
    stage.run("checkpoint validate")


def show_conflict(stage: Stage) -> None:
    """A question that only a person can answer stays a conflict, as small as it is."""
    stage.title("4. A real conflict stays one, and stays small")
    night, day = "--phase=review --step=sprint-3-review", "--phase=planning --step=sprint-3-plan"
    stage.do(
        f"git checkout -q -b night && checkpoint update build {night} && git commit -q -am 'Night'"
    )
    stage.do(
        f"git checkout -q session-b && checkpoint update build {day} && git commit -q -am 'Day'"
    )
    stage.run("git merge --no-edit night", code=1)
    stage.run(f"sed -n '/^<<<<<<</,/^>>>>>>>/p' {FILE}")
    text = stage.read(FILE)
    stage.expect(text.count("<<<<<<<") == 1, "one conflict")
    stage.expect("sprint-3-review" in text and "sprint-3-plan" in text, "both sides of it")
    stage.say("\nDecided by editing, or with a word:")
    stage.run("checkpoint resolve --where /phase --take theirs")
    stage.run("git commit -q --no-edit")
    stage.expect(stage.load("build")["step"] == "sprint-3-review", "theirs should have been taken")


def show_hook(stage: Stage) -> None:
    """The pre-commit hook looks at what is staged."""
    stage.title("5. A broken checkpoint does not get into a commit")
    stage.run(f'sed -i.bak \'s/"in_progress"/"almost"/\' {FILE} && rm {FILE}.bak && git add -A')
    said = stage.run("git commit -q -m 'Broken'", code=1)
    stage.expect("build.checkpoint.json" in said, "the hook should name the file")
    stage.run(f"git restore --staged --worktree {FILE}")


def show_doctor(stage: Stage) -> None:
    """Checkpoints that say what the history knows better."""
    stage.title("6. The doctor compares checkpoints with the repository")
    stage.run("git checkout -q main && git merge -q session-b")
    stage.do(
        "git checkout -q -b notes-api && git commit -q --allow-empty -m 'Notes API' && git checkout -q main"
    )
    stage.run("checkpoint add build 'Merge PR #12' --first")
    stage.run("checkpoint update build --file docs/notes.md")
    stage.do("git commit -q -am 'Plan the next steps'")
    stage.run("git merge -q --no-ff -m 'Merge pull request #12 from ada/notes-api' notes-api")
    said = stage.run("checkpoint doctor --fail-on-warnings", code=1)
    stage.expect("#12" in said, "the doctor should see that pull request 12 is merged")
    stage.expect("docs/notes.md" in said, "the doctor should miss the generated file")


def go_on(stage: Stage) -> None:
    """What a new session asks first."""
    stage.title("7. A new session asks where it was")
    stage.say("\nWhat the doctor found is done, so:")
    stage.run("checkpoint done build")
    stage.run("checkpoint decide deploy eu-west")
    stage.run("checkpoint next")
    said = stage.run("checkpoint resume build")
    stage.expect("RESUMING" in said, "resume should say where to go on")


def take_away(stage: Stage) -> None:
    """What init added goes again."""
    stage.title("8. And it goes without a trace")
    stage.run("checkpoint uninstall")
    stage.expect(
        stage.read(".git/config") == stage.config,
        "git's configuration should be what it was, byte by byte",
    )
    stage.expect(
        "checkpoint" not in stage.do("ls .git .git/hooks"),
        "no file of the tool should be left in .git",
    )


PARTS = (
    set_up,
    write_checkpoints,
    merge_two_sessions,
    show_conflict,
    show_hook,
    show_doctor,
    go_on,
    take_away,
)

if __name__ == "__main__":
    raise SystemExit(main())
