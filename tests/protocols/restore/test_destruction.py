"""Sixty ways to destroy a work tree, each sent as an agent sends it: what git saw comes back, byte
for byte.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.restore.api import RestorePoints
from checkpoint_git.protocols.restore.automatic import read_snapshots
from checkpoint_git.protocols.restore.layout import open_workspace
from tests.support.command import run_here
from tests.support.repos import GitRepo

_HIDDEN = base64.b64encode(b"rm -rf src *.txt").decode()
# one of each thing that can happen to a file, to the index and to HEAD, in every run
WAYS = (
    "rm -rf *",
    "mv untracked.txt src/app.py",
    "ln -sf /dev/null src/app.py",
    "rm -rf src && echo x > src",
    "perl -pi -e s/e/E/g src/app.py src/run.sh both.txt",
    "chmod -R 000 src",
    f"echo {_HIDDEN} | base64 -d | sh",
    "git checkout -f && git clean -fd",
    "git mv -f both.txt src/app.py",
    "git add -A && git commit -qm x && git reset -q --hard HEAD~2",
    "git read-tree --empty; rm -rf src",
)  # fmt: skip
# the other means to it
MORE_WAYS = (
    "unlink src/app.py",
    "mv src ../gone",
    "find . -name '*.txt' -print0 | xargs -0 rm",
    ": > untracked.txt; echo more >> both.txt",
    "dd if=/dev/zero of=src/data.bin bs=1 count=300",
    "python3 -c \"import shutil; shutil.rmtree('src')\"",
    "printf 'all:\\n\\trm -rf src untracked.txt\\n' > Makefile && make",
    "git reset --hard HEAD~2",
    "git stash -q -u && printf 'git stash drop -q' > ../drop && sh ../drop",
    "rm -rf src",
    "rm -f untracked.txt",
    "rm -rf -- * .gitattributes .gitignore",
    "shred -u src/app.py",
    "mv src/app.py src/run.sh",
    "cp src/run.sh src/app.py",
    "rm -rf src && ln -s /tmp src",
    "rm link && mkdir link && echo x > link/y",
    "rm src/app.py && mkdir -p src/app.py/deep && echo x > src/app.py/deep/y",
    "truncate -s 0 src/app.py untracked.txt",
    "> src/app.py",
    "echo x | tee src/app.py untracked.txt",
    "head -c 100 /dev/urandom > src/data.bin",
    "printf x >> src/data.bin",
    "perl -pi -e 's/./x/g' untracked.txt",
    "tr -d '\\r' < both.txt > t && mv t both.txt",
    "sort -o untracked.txt src/app.py",
    "find . -name '*.py' -delete",
    "find src -delete",
    "find src -type f -exec rm {} +",
    "find . -not -path './.git/*' -type f -delete",
    "ls | xargs rm -rf",
    "git ls-files -z | xargs -0 rm -f",
    "chmod 000 src/app.py untracked.txt",
    "chmod -x src/run.sh; chmod +x both.txt",
    "bash -c 'rm -rf src'",
    "sh -c \"bash -c 'sh -c \\\"rm -rf src untracked.txt\\\"'\"",
    "eval \"$(printf 'rm -%s src' rf)\"",
    "x=src; rm -rf \"$x\"",
    "for name in src/*; do rm \"$name\"; done",
    "cat <<'END' | sh\nrm -rf src\nEND",
    "python3 -c \"import os; [os.unlink(x) for x in os.listdir('.') if x.endswith('.txt')]\"",
    "perl -e 'unlink glob \"src/*\"'",
    "echo 'rm -rf src' > clean.sh && sh clean.sh && rm clean.sh",
    "tar czf /dev/null src && rm -rf src && mkdir src && echo old | tee src/app.py",
    "git checkout .",
    "git checkout HEAD~1 -- .",
    "git checkout -q -f other",
    "git switch -q --discard-changes other",
    "git restore --staged --worktree .",
    "git reset --hard",
    "git reset -q && git checkout -q .",
    "git clean -fd",
    "git rm -rfq --cached . && rm -rf src",
    "git rm -rfq src",
    "git stash -q -u; sh -c 'git stash clear'",
    "git add -A && git commit -qm x && git rebase -q --onto HEAD~3 HEAD~1",
    "git stash -q && git rebase -q --root -x 'rm -rf src; git add -A; git commit -q --amend -m x --allow-empty'",
    "git stash -q -u && FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --tree-filter 'rm -rf src' HEAD",
    "git stash -q -u; git merge -q -X theirs other; git reset -q --hard other",
    "git checkout -q --orphan empty && git rm -rfq .",
    "git update-index --assume-unchanged src/app.py; rm src/app.py; git update-index --force-remove both.txt",
    "git symbolic-ref HEAD refs/heads/other && git reset -q --hard",
)  # fmt: skip
STOPPED = (
    "rm -rf .git",
    "find . -delete",
    "git clean -xfd",
    "cd .. && rm -rf *",
)


@pytest.fixture
def template(tmp_path: Path) -> GitRepo:
    """Files that are committed, staged, changed, new, ignored; line ends that git converts;
    branches.
    """
    work = GitRepo.create(tmp_path / "template")
    work.write(".gitignore", "*.log\n")
    work.write(".gitattributes", "*.txt text\n")
    for number in range(3):
        work.write("src/app.py", f"version = {number}\n")
        work.write("src/run.sh", "#!/bin/sh\necho run\n")
        (work.path / "src/run.sh").chmod(0o755)
        (work.path / "both.txt").write_bytes(b"one\r\ntwo\n")
        work.commit(f"commit {number}")
    work.git("branch", "other", "HEAD~1")
    work.git("checkout", "-q", "other")
    work.write("src/app.py", "version = 'other'\n")
    work.commit("other")
    work.git("checkout", "-q", "main")
    (work.path / "src/data.bin").write_bytes(bytes(range(256)))
    work.write("src/staged only.py", "staged\n")
    work.git("add", "src")
    work.write("src/app.py", "edited after it was staged\n")
    work.write("src/staged only.py", "edited, too\n")
    (work.path / "link").symlink_to("src/app.py")
    (work.path / "untracked.txt").write_bytes(b"new\r\nand \xff\n")
    work.write("new folder/deep/file", "deep\n")
    work.write("build.log", "ignored\n")
    return work


File = tuple[str, bytes, int]


def look(root: Path) -> dict[str, File]:
    """Every file that git sees: its kind, content, and what its owner may do with it."""
    found = dict[str, File]()
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", ".checkpoints", ".audit")]
        for path in (Path(folder) / name for name in (*names, *folders)):
            key = str(path.relative_to(root))
            if path.is_symlink():
                found[key] = ("link", os.fsencode(path.readlink()), 0)
            elif path.is_file() and path.suffix != ".log":
                mode = path.stat().st_mode & 0o500
                found[key] = ("file", path.read_bytes() if mode & 0o400 else b"", mode)
    return found


def look_in_git(work: GitRepo) -> str:
    return work.run(
        "sh", "-c", "git ls-files --stage; git rev-parse HEAD other; git symbolic-ref HEAD"
    ).stdout.decode()


def send(work: GitRepo, command: str) -> int:
    """The guard's exit code."""
    call = {
        "session_id": "s",
        "cwd": str(work.path),
        "tool_name": "Bash",
        "tool_input": {"command": command},
    }
    return run_here(
        "restore-point", "guard", cwd=work.path, stdin=json.dumps(call).encode()
    ).returncode


def destroy(work: GitRepo, command: str, scratch: Path) -> None:
    """Run the command, in a throw-away repository only."""
    home = Path(os.environ["HOME"])
    assert home.is_relative_to(tempfile.gettempdir())
    assert scratch.is_relative_to(tempfile.gettempdir())
    assert work.path.is_relative_to(scratch)
    assert (work.path / ".git").is_dir()
    subprocess.run(
        ["bash", "-c", command],
        cwd=work.path,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


def go_back(work: GitRepo) -> None:
    """Roll back to the newest automatic point, with git's index and HEAD."""
    workspace = open_workspace(str(work.path), 0, dict(os.environ))
    RestorePoints(work.path).rollback(read_snapshots(workspace)[-1].id, operation=True)


def find_wrong(
    work: GitRepo, command: str, files: dict[str, File], git: str, scratch: Path
) -> list[str]:
    """What is wrong after the command was sent, run, and rolled back."""
    if send(work, command) != 0:
        return ["it was stopped"]
    destroy(work, command, scratch)
    if (look(work.path), look_in_git(work)) == (files, git):
        return ["it destroyed nothing"]
    try:
        go_back(work)
    except CheckpointError as error:
        return [f"{error.message} ({error.hint})"]
    restored = look(work.path)
    wrong = [
        path
        for path in sorted(files.keys() | restored.keys())
        if files.get(path) != restored.get(path)
    ]
    return wrong if look_in_git(work) == git else [*wrong, "git's index or HEAD"]


@pytest.mark.parametrize(
    "ways", [WAYS, pytest.param(MORE_WAYS, marks=pytest.mark.deep)], ids=["means", "words"]
)
def test_what_git_saw_comes_back_however_it_was_destroyed(
    template: GitRepo, tmp_path: Path, ways: tuple[str, ...]
) -> None:
    files, git = look(template.path), look_in_git(template)
    wrong = []
    for number, command in enumerate(ways):
        work = GitRepo(tmp_path / str(number) / "repo")
        shutil.copytree(template.path, work.path, symlinks=True)
        wrong += [
            f"{command!r}: {what}" for what in find_wrong(work, command, files, git, tmp_path)
        ]
        shutil.rmtree(work.path.parent)
    assert not wrong, "\n".join(wrong)


def test_what_no_point_brings_back_is_not_run(template: GitRepo) -> None:
    assert [command for command in STOPPED if send(template, command) != 2] == []
