"""What tools call of the memory server's protocol: a save after each commit, where that is asked for."""

from collections.abc import Mapping


def after_commit(cwd: str, env: Mapping[str, str]) -> None:
    """Starts a save of the initiative's checkpoint where checkpoint.memoryOnCommit is true, and waits for nothing."""
    from checkpoint_git.git.repository import read_flag

    if read_flag("checkpoint.memoryOnCommit", cwd):
        from checkpoint_git.protocols.memory.commit import start_save

        start_save(cwd, env)
