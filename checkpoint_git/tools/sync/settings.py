"""What a clone's configuration says about syncing: remotes, upstreams, who commits, how the driver merges."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from checkpoint_git.git.run import run_git

_KEYS = (
    r"^(checkpoint\.sync(remote|branch)|branch\..*\.(remote|merge)|remote\..*\.url|core\.sshcommand|ssh\.variant"
    r"|(user|author|committer)\.(name|email)|merge\.checkpoint\.driver)$"
)


class Upstream(NamedTuple):
    """What a local branch follows. branch: without refs/heads/."""

    remote: str
    branch: str


class Settings(NamedTuple):
    """values: settings by their keys, as git prints those; the last one counts."""

    values: Mapping[str, str]

    @property
    def remotes(self) -> list[str]:
        """The remotes that have an address, sorted."""
        return sorted(key[7:-4] for key in self.values if key.startswith("remote.") and key.endswith(".url"))

    def upstream(self, local: str) -> Upstream | None:
        """What a ref such as refs/heads/main follows, None where it follows no remote's branch."""
        name = local.removeprefix("refs/heads/")
        remote = self.values.get(f"branch.{name}.remote", "")
        merge = self.values.get(f"branch.{name}.merge", "")
        if name == local or not remote or remote == "." or not merge.startswith("refs/heads/"):
            return None
        return Upstream(remote, merge.removeprefix("refs/heads/"))

    def identity(self, env: Mapping[str, str]) -> tuple[str, str]:
        """The name and address that commits carry; an agent without any is called checkpoint."""
        found = []
        for what, fallback in (("name", "checkpoint"), ("email", "checkpoint@localhost")):
            keys = (f"committer.{what}", f"user.{what}", f"author.{what}")
            given = (env.get(f"GIT_COMMITTER_{what.upper()}"), *(self.values.get(key) for key in keys))
            found.append(next((each for each in given if each), fallback))
        return found[0], found[1]


def read_sync_settings(cwd: str, env: Mapping[str, str]) -> Settings:
    """One process of git."""
    records = os.fsdecode(run_git(["config", "-z", "--get-regexp", _KEYS], cwd, env=env, check=False).out).split("\0")
    pairs = (record.partition("\n") for record in records if record)
    return Settings({name: value for name, _, value in pairs})
