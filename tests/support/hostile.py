"""A repository that came with its .git: every setting by which git starts a program names one that
leaves a mark.
"""

import os
from pathlib import Path

from tests.support import restore_points, workflows
from tests.support.records import put_record
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text

ODD_FILES = ("fifo", "folder", "link", "socket")


def put_odd(path: Path, kind: str) -> None:
    """What is not a file, where one is expected; "dangling" for a link that leads nowhere."""
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        os.mknod(path, 0o140600)
    else:
        path.symlink_to("/etc/hosts" if kind == "link" else "/nowhere/at/all")


_SETTINGS = (
    *(
        "core.fsmonitor",
        "core.sshCommand",
        "core.editor",
        "core.pager",
        "core.askPass",
        "core.gitProxy",
    ),
    *(
        "core.alternateRefsCommand",
        "sequence.editor",
        "interactive.diffFilter",
        "credential.helper",
    ),
    *("gpg.program", "gpg.ssh.program", "gpg.x509.program", "gpg.ssh.defaultKeyCommand"),
    *(
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.guitool",
        "difftool.evil.cmd",
    ),
    *(
        "filter.evil.clean",
        "filter.evil.smudge",
        "merge.evil.driver",
        "merge.checkpoint.driver",
        "mergetool.evil.cmd",
    ),
    *(
        "remote.origin.uploadpack",
        "remote.origin.receivepack",
        "uploadpack.packObjectsHook",
        "pager.log",
        "pager.diff",
    ),
    *(
        "trailer.evil.command",
        "trailer.evil.cmd",
        "checkpoint.memoryCommand",
        "browser.evil.cmd",
        "man.evil.cmd",
    ),
)
_PLAIN = {
    "log.showSignature": "true",
    "commit.gpgSign": "true",
    "tag.gpgSign": "true",
    "diff.tool": "evil",
    "merge.tool": "evil",
    "protocol.ext.allow": "always",
    "fetch.recurseSubmodules": "true",
    "web.browser": "evil",
    "pager.status": "true",
    "diff.submodule": "log",
    "filter.evil.required": "true",
    "checkpoint.memoryBackend": "server",
}
_ALIASES = (
    "log",
    "status",
    "diff",
    "show",
    "config",
    "rev-parse",
    "ls-files",
    "cat-file",
    "checkpoint",
)
_HOOKS = (
    "pre-commit",
    "post-index-change",
    "reference-transaction",
    "post-checkout",
    "pre-push",
    "fsmonitor-watchman",
)


def make_hostile(repo: GitRepo, marks: Path, *, is_packed: bool = False) -> None:
    """Some history, with a signed commit and a merge; then the settings; then files whose stamps
    git cannot trust.
    """
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text())
    repo.write("docs/plan.md", "the plan\n")
    workflows.write_workflow(repo.path, workflows.phase())
    put_record(repo.path / ".claude/checkpoints")
    repo.commit("start (#1)")
    repo.git("checkout", "-q", "-b", "side")
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text(step="side"))
    repo.commit("side")
    repo.git("checkout", "-q", "main")
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text(project="main"))
    repo.commit("main")
    repo.git("merge", "-q", "-m", "merge side (#2)", "side", check=False)
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text(project="main", step="side"))
    repo.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
    repo.commit("merge side (#2)")
    signed = repo.git("cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    commit = repo.run(
        "git", "hash-object", "-t", "commit", "-w", "--stdin", stdin=f"{signed}\n".encode()
    )
    repo.git("update-ref", "HEAD", commit.stdout.decode().strip())
    restore_points.create(restore_points.workspace_of(repo.path), ["docs"], "", "git_stash", None)
    if is_packed:
        repo.pack()
    program = marks / "program"
    lines = [
        f"[alias]\n{''.join(f'{name} = !{program} alias.{name}{chr(10)}' for name in _ALIASES)}"
    ]
    for setting in _SETTINGS:
        *above, name = setting.split(".")
        section = above[0] if len(above) == 1 else f'{above[0]} "{above[1]}"'
        lines.append(f"[{section}]\n{name} = {program} {setting}\n")
    for setting, value in _PLAIN.items():
        *above, name = setting.split(".")
        section = above[0] if len(above) == 1 else f'{above[0]} "{above[1]}"'
        lines.append(f"[{section}]\n{name} = {value}\n")
    lines.append(
        f'[remote "origin"]\nurl = ext::{program} remote\nfetch = +refs/heads/*:refs/remotes/origin/*\n'
    )
    lines.append('[branch "main"]\nremote = origin\nmerge = refs/heads/main\n')
    marks.mkdir(exist_ok=True)
    (marks / "seen").mkdir()
    program.write_text(f'#!/bin/sh\necho "$0 $*" > "{marks}/seen/$1.$$"\nexit 1\n')
    program.chmod(0o755)
    for name in _HOOKS:
        hook = repo.path / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\nexec {program} hook.{name}\n")
        hook.chmod(0o755)
    repo.write(".checkpoints/build.checkpoint.json", checkpoint_text(project="main", step="side"))
    repo.write("docs/plan.md", "the PLAN\n")
    with (repo.path / ".git/config").open("a") as config:
        config.write("".join(lines))
    for path in repo.path.rglob("*"):
        if path.is_file() and ".git" not in path.relative_to(repo.path).parts:
            os.utime(path)


def take_marks(marks: Path) -> list[str]:
    """What was started since it was asked last, by the settings' names."""
    found = sorted({path.name.rpartition(".")[0] for path in (marks / "seen").iterdir()})
    for path in (marks / "seen").iterdir():
        path.unlink()
    return found
