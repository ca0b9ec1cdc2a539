"""A git that is killed while it holds its locks."""

from pathlib import Path

from tests.support.repos import GitRepo

_HOOK = '#!/bin/sh\n[ "$1" != prepared ] || kill -9 $PPID\n'


def update_ref_killed(repo: GitRepo, ref: str, commit: str = "HEAD") -> Path:
    """Kill `git update-ref` between locking a ref and writing it; return the lock that it left."""
    hook = repo.path.parent / "killing-hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(_HOOK)
    hook.chmod(0o755)
    done = repo.run("git", "-c", f"core.hooksPath={hook.parent}", "update-ref", ref, commit)
    assert done.returncode == -9
    lock = repo.path / ".git" / f"{ref}.lock"
    assert lock.exists()
    return lock
