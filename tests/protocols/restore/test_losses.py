"""Commands that lose what no restore point brings back are found by their plain words; those that
look are not.
"""

import pytest

from checkpoint_git.protocols.restore import losses
from checkpoint_git.protocols.restore.losses import find_loss

TOP = "/home/u/repo"
LOSING = (
    "git push --force",
    "git push -f origin main",
    "git push -uf origin main",
    "git push --force-with-lease",
    "git push origin +main",
    "git push origin :old",
    "git push --delete origin x",
    "git push --mirror",
    "git -C . push -f",
    "git --no-pager push --force",
    "git clean -xfd",
    "git clean -fdX",
    "rm -rf .git",
    "rm -rf ./.git",
    "rm -rf sub/.git",
    "rm -rf .git/refs",
    "rm -rf /",
    "rm -rf .",
    "rm -rf ..",
    "rm -rf ~",
    "rm -rf .*",
    "rm -rf .g*",
    "mv .git elsewhere",
    "cd x; rm -r .git",
    "cd .. && rm -rf repo",
    "cd .. && rm -rf *",
    "rm -rf /home/u/repo",
    "rm -rf /home/u/*",
    'rm -rf "$PWD"',
    "true && git push -f",
    "sudo rm -rf .git",
    "sudo -u bob git push -f",
    "FOO=1 git push -f",
    "find . -delete",
    "find -delete",
    "find . -type f -delete",
    "find . -type f -exec rm {} +",
    "find . -type f | xargs rm -f",
    "find . -type f -print0 | xargs -0 rm",
    "find . -name .git -exec rm -rf {} +",
    "find . -type f ! -name '*.md' -delete",
    "find . -name '*' -delete",
    "find .git -name '*.lock' -delete",
    "git stash drop",
    "git stash clear",
    "git reflog expire --expire=now --all",
    "git gc --prune=now",
    "git filter-repo --path x",
    "git branch -D x",
    "git branch x -D",
    "git branch -df x",
    "git branch --delete --force x",
    "git update-ref -d refs/heads/x",
    "git tag -d v1",
    "git worktree remove -f ../x",
    "git worktree remove --force ../x",
    "timeout 60 git push --force",
    "if true; then git push -f; fi",
    "for i in 1; do git stash drop; done",
    "echo x > .git/HEAD",
    "echo x >>.git/HEAD",
    "ls 2> .git/x",
    "cp x .git/index",
    "chmod -R 000 .git",
    "chmod 000 .git",
    "chmod -R 000 .",
    "truncate -s0 .git/index",
    "sed -i s/a/b/ .git/HEAD",
    "perl -pi -e 's/a/b/' .git/config",
    "dd if=/dev/zero of=.git/index",
    "dropdb x",
    "psql -c 'DROP TABLE users'",
    'psql -c "drop   database x"',
    "echo 'DROP TABLE x' | psql db",
    "psql x <<E\ndrop table y;\nE",
    "docker exec db psql -c 'drop database x'",
    "sqlite3 a.db 'DROP TABLE x'",
    "python -c \"c.execute('DROP TABLE users')\"",
    "mysql -e 'drop schema x'",
    "git push \\\n  --force",
    "git push origin main --force # it's fine",
    "Remove-Item -Recurse -Force .git",
    "xargs -n1 rm -rf .git",
    "tee .git/hooks/x < a",
    "rm a b c .git d",
)
HARMLESS = (
    'git log --grep "push --force"',
    "rg 'DROP TABLE'",
    "cat .git/config",
    "ls .git",
    "git stash list",
    "git push",
    "git push -u origin main",
    "git push --force --dry-run",
    "git clean -nxd",
    "git clean -fd",
    "rm -rf build",
    "rm .gitignore",
    "rm -rf *",
    "rm -rf ./*",
    "cp -r .git backup",
    "cp .git/hooks/x .",
    "grep -rn 'git push --force' docs",
    "git commit -m 'git push --force'",
    'git commit -m "rm -rf .git"',
    'echo "rm -rf .git"',
    "echo 'DROP TABLE x'",
    'grep -rn "DROP TABLE" . | wc -l',
    'git grep "DROP TABLE"',
    "find . -name '*.pyc' -delete",
    "find . -not -path './.git/*' -type f -delete",
    "find . -path ./.git -prune -o -type f -print",
    "find . -name '*.pyc' | xargs rm",
    "find build -delete",
    "find . -type f -exec grep -l rm {} +",
    "sed -n 1,5p .git/config",
    "head .git/HEAD",
    "wc -l .git/index",
    "git branch -d x",
    "git branch --format x",
    "git stash",
    "git stash pop",
    "git worktree remove ../x",
    "git worktree list",
    "git gc",
    "git reflog",
    "git tag",
    "git tag -l 'v*'",
    "git push --help",
    "chmod 755 .",
    "chmod +x a.sh",
    "chmod -R u+w src",
    "git checkout -B x",
    "git reset --hard",
    "git rebase -i x",
    "cat .git/HEAD | head -1",
    "less .git/config",
    "stat .git",
    "du -sh .git",
    "git show HEAD:.gitattributes > x",
    "if grep -q rm .git/config; then ls; fi",
    "xargs -0 grep -l rm .git/x",
    "tar czf x.tgz .git",
    "git config --list",
    "awk '/DROP TABLE/' x.sql",
    "sed -n '/DROP TABLE/p' x.sql",
    "git log -S'DROP TABLE' -- db",
    'gh pr create --body "DROP TABLE users"',
    "psql -l",
    "psql -c 'select 1'",
    "ls -la .git/objects > listing.txt",
    "cat x.sql | grep 'DROP TABLE'",
    "man git-push",
    "which rm",
    "git diff -- .git",
    "test -d .git && echo yes",
    "[ -d .git ] && ls",
)


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/u")


def judge(command: str, cwd: str = TOP) -> str:
    return find_loss(command, cwd, TOP)


def test_what_no_point_brings_back_is_found() -> None:
    assert [command for command in LOSING if not judge(command)] == []


def test_what_only_looks_or_can_be_brought_back_is_not() -> None:
    assert [command for command in HARMLESS if judge(command)] == []


def test_every_row_of_the_table_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(losses.TABLE) <= 20
    for row in losses.TABLE[:-1]:
        others = {name: [one for one in rows if one != row] for name, rows in losses._ROWS.items()}
        with monkeypatch.context() as patch:
            patch.setattr(losses, "_ROWS", others)
            assert [command for command in LOSING if not judge(command)], row
    assert any(judge(command) == losses.TABLE[-1].why for command in LOSING)


def test_a_folder_counts_from_where_the_command_is() -> None:
    assert judge("rm -rf ..", f"{TOP}/src")
    assert judge("rm -rf repo", "/home/u")
    assert not judge("rm -rf repo", TOP)
    assert not judge("rm -rf ..", f"{TOP}/src/deep")
    assert not find_loss("rm -rf *", "/var/x", "")
    assert judge(f"cd {'a' * 5_000}; rm -rf ."), "no folder has such a name: it stays where it is"
    assert judge("cd a; " * 3_000 + f"cd {TOP}; rm -rf .")


def test_a_quote_that_stays_open_hides_nothing() -> None:
    assert judge("ls # it's here\nrm -rf .git")
    assert judge("echo it's\ngit push --force")
    assert not judge("echo it's fine")


def test_what_another_program_is_given_is_not_run() -> None:
    assert not judge("echo rm -rf .git")
    assert judge("sudo -u somebody rm -rf .git")


def test_long_commands_are_read_too() -> None:
    assert judge("true\n" * 20_000 + "rm -rf .git")
    assert judge("rm -rf " + "x " * 50_000 + ".git")
    assert not judge("git add " + "x " * 50_000)
    assert not judge("echo '" + "x" * 60_000 + "'")
