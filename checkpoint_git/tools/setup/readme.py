"""The README that init puts into .checkpoints/: text only."""

FILE = "README.md"

TEXT = """\
# .checkpoints

One JSON file for each skill (`<skill>.checkpoint.json`): what it is working on, how far it got, what it decided, what
blocks it and what comes next. Whoever continues the work, a person or an agent, in another session or on another
machine, reads it here.

    checkpoint                    where everything stands, decisions that wait on you first
    checkpoint next               the one thing to do now
    checkpoint resume SKILL       continue where a skill stopped
    checkpoint update SKILL --step=sprint-3 --next_actions+="Write the tests"
    checkpoint done SKILL         the next action is done: on to the one after it
    checkpoint validate           is every file well-formed?
    checkpoint doctor             do the files still match the repository?

- **Commit this folder.** It belongs in git and never in `.gitignore`: a checkpoint that stays on one machine is lost to
  the next session. Review it in pull requests like code.
- **Merge on your machine.** `checkpoint init` registers a merge driver in each clone; the merge buttons of hosting
  services do not run it. When two branches changed one file, merge locally and push the result.
- **No stamp for every merge.** A job that writes each merged pull request into a checkpoint makes all its own pull
  requests conflict with one another, and git log knows what was merged. Write a checkpoint where the work turns.
- **Never resolve by hand without checking.** After editing a conflict, run `checkpoint validate` before you commit.
"""
