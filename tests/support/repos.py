"""A real git repository in a temporary folder, with the few verbs that tests need."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

_VERSION = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout
GIT = tuple(map(int, re.findall(r"\d+", _VERSION)[:3]))


def needs_git(*version: int, feature: str) -> pytest.MarkDecorator:
    """Skips where git is older than the version that has the feature."""
    came = f"{feature} came with git {'.'.join(map(str, version))}"
    return pytest.mark.skipif(version > GIT, reason=f"{came}, and here is {_VERSION.strip()}")


NEEDS_MERGE_TREE = needs_git(2, 38, feature="git merge-tree --write-tree")


# as git 3.0 has it by default: `SAFE_BARE_REPOSITORY=explicit make test` tries what happens in bare
# repositories so
BARE_MUST_BE_NAMED = os.environ.get("SAFE_BARE_REPOSITORY") == "explicit"


def name_bare(folder: Path) -> dict[str, str]:
    """GIT_DIR where it must name a bare repository."""
    is_bare = BARE_MUST_BE_NAMED and (folder / "HEAD").is_file() and (folder / "objects").is_dir()
    return {"GIT_DIR": str(folder)} if is_bare else {}


def environ_in(folder: Path) -> dict[str, str]:
    """The environment, and name_bare."""
    return {**os.environ, **name_bare(folder)}


class GitRepo:
    """One work tree. Every verb runs the real git; a failure shows what git said."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, *options: str) -> "GitRepo":
        """A new repository on branch main at path, which is made."""
        path.mkdir(parents=True, exist_ok=True)
        repo = cls(path)
        is_there = (path / ".git").exists() or (path / "HEAD").exists()
        if options == ("--bare",) and not is_there:
            copy_built(_build_bare, path)
        elif options or is_there:
            repo.git("init", "-q", "-b", "main", *options)
        else:
            copy_built(_build_empty, path)
        return repo

    def run(
        self,
        *words: str,
        env: dict[str, str] | None = None,
        stdin: bytes = b"",
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Any program, in the work tree; never raises for its exit code. env replaces the whole
        environment.
        """
        folder = cwd or self.path
        if env is None and BARE_MUST_BE_NAMED:
            env = environ_in(folder)
        given: dict[str, Any] = {"input": stdin} if stdin else {"stdin": subprocess.DEVNULL}
        return subprocess.run(
            list(words), cwd=folder, env=env, capture_output=True, timeout=120, **given
        )

    def git(self, *words: str, check: bool = True) -> str:
        """What git prints, decoded, without the final newline; AssertionError when git fails and
        check is set.
        """
        done = self.run("git", *words)
        said = done.stdout.decode("utf-8", "replace")
        assert not check or done.returncode == 0, (
            f"git {words}: {done.returncode}\n{said}{done.stderr.decode()}"
        )
        return said.rstrip("\n")

    def exit_code(self, *words: str) -> int:
        """Git's exit code."""
        return self.run("git", *words).returncode

    def write(self, name: str, content: str | bytes) -> Path:
        """A file in the work tree, its folders made."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def read(self, name: str) -> str:
        """A file of the work tree, decoded, its line ends as they are."""
        return (self.path / name).read_bytes().decode()

    def configure(self, settings: Mapping[str, str]) -> None:
        """Set what `git config KEY VALUE` would, but where it can without a process for each."""
        config = self.path / ".git/config"
        former = config.read_text() if config.is_file() else ""
        sections = {key.partition(".")[0] for key in settings}
        # a linked work tree, or one to replace
        if not former or any(f"[{section}" in former for section in sections):
            for key, value in settings.items():
                self.git("config", key, value)
            return

        lines = []
        for key, value in settings.items():
            section, _, name = key.rpartition(".")
            section, _, subsection = section.partition(".")
            head = f'[{section} "{subsection}"]' if subsection else f"[{section}]"
            text = value.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'{head}\n\t{name} = "{text}"\n')
        with config.open("a") as stream:
            stream.write("".join(lines))

    def add_submodule(self, other: Path, path: str) -> None:
        self.git(
            "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), path
        )

    def commit(self, message: str = "change", *, hooks: bool = True) -> str:
        """Stage and commit everything, and return the new commit's id. hooks: whether the
        repository's hooks run.
        """
        self.git("add", "-A")
        without_hooks = () if hooks else ("-c", f"core.hooksPath={os.devnull}")
        self.git(*without_hooks, "commit", "-q", "--allow-empty", "-m", message)
        return self._read_head() or self.git("rev-parse", "HEAD")

    def pack(self) -> None:
        """Its objects in one file, so that a copy of the repository has a few folders instead of a
        hundred.
        """
        self.git("repack", "-adq")

    def _read_head(self) -> str:
        """Return HEAD's commit as its files say, without a process; "" where they are not the usual
        ones.
        """
        head = self.path / ".git/HEAD"
        if not head.is_file():
            return ""
        text = head.read_text().strip()
        if not text.startswith("ref: "):
            return text
        branch = self.path / ".git" / text.removeprefix("ref: ")
        return branch.read_text().strip() if branch.is_file() else ""

    def diverge(
        self, base: Mapping[str, str], left: Mapping[str, str], right: Mapping[str, str]
    ) -> "GitRepo":
        """Files committed on main, and branches left and right from there, one commit each; left is
        checked out.
        """
        for name, files in (("main", base), ("right", right), ("left", left)):
            if name != "main":
                self.git("checkout", "-q", "-b", name, "main")
            for path, text in files.items():
                self.write(path, text)
            self.commit("base" if name == "main" else name)
        return self


_BUILT: dict[Callable[[Path], object], "tempfile.TemporaryDirectory[str]"] = {}


def copy_built(build: Callable[[Path], object], *targets: Path) -> None:
    """Copies of the repositories that build() makes in an empty folder, as 0, 1, ...: built once in
    each process.

    Where the configuration of one names another, as a clone names its origin, its copy names the
    copy.
    """
    if build not in _BUILT:
        folder = tempfile.TemporaryDirectory(prefix="checkpoint-built-")
        build(Path(folder.name))
        _remove_samples(Path(folder.name))
        _BUILT[build] = folder
    built = Path(_BUILT[build].name)
    for number, target in enumerate(targets):
        shutil.copytree(built / str(number), target, symlinks=True, dirs_exist_ok=True)
        for config in (target / ".git/config", target / "config"):
            if config.is_file():
                _rename_built(config, built, targets)
        if (target / ".git/index").exists():
            # a copy has inodes of its own
            GitRepo(target).exit_code("update-index", "-q", "--refresh")


def _remove_samples(folder: Path) -> None:
    """Remove the samples of hooks that `git init` and `git clone` make: half of the files of a
    small repository.
    """
    for hooks in ("hooks", "*/hooks"):
        for sample in folder.glob(f"*/{hooks}/*.sample"):
            sample.unlink()


def _rename_built(config: Path, built: Path, targets: Sequence[Path]) -> None:
    text = config.read_text()
    if str(built) in text:
        for number, target in enumerate(targets):
            text = text.replace(f"{built}/{number}", str(target))
        config.write_text(text)


class Stage:
    """Repositories that name their own places: built once, and put back there for each test."""

    def __init__(self, folder: Path, build: Callable[[Path], object]) -> None:
        self.folder, self._saved = folder / "stage", folder / "saved"
        self.folder.mkdir()
        build(self.folder)
        _remove_samples(self.folder)
        self.folder.rename(self._saved)

    def put_back(self) -> None:
        """The folder as it was built, whatever has become of it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self._saved, self.folder, symlinks=True)
        for index in self.folder.glob("*/.git/index"):
            # a copy has inodes of its own
            GitRepo(index.parent.parent).exit_code("update-index", "-q", "--refresh")


def _build_empty(folder: Path) -> None:
    repo = GitRepo(folder / "0")
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main")
    # a commit, merge or fetch would start `git maintenance`, which finds nothing to do here
    repo.configure({"maintenance.auto": "false"})


def _build_bare(folder: Path) -> None:
    repo = GitRepo(folder / "0")
    repo.path.mkdir()
    repo.git("init", "-q", "-b", "main", "--bare")
    # after each push git would start `git maintenance`
    repo.git("config", "receive.autoGC", "false")
