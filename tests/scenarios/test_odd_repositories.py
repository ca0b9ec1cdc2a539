"""What git itself may be made to hold to harm whoever looks: refs, trees, merges, side files, and
what hints quote.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.test_attacks import READ, SKILL, STEERING, Attack, check_attack
from tests.scenarios.test_odd_values import FORGE, FORMATS, NEVER, SYNCED, put_object, tree_of
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint, checkpoint_text

Plant = Callable[[GitRepo, Path], object]
PLACE = ".checkpoints"
WHO = "author a <b> 1780000000 +0000\ncommitter a <b> 1780000000 +0000"
LOOKED = (
    *READ,
    "audit",
    "sync --status",
    "session start",
    "validate --rev HEAD",
    "ci verify --base main --head HEAD",
)
WRITTEN = (
    "note build x",
    "update build --step=x",
    "rotate build",
    "undo build",
    "doctor --fix safe",
    "init --dry-run",
)
MERGED = ("resolve --dry-run", "resolve", "audit", "audit explain HEAD", "status", "doctor")
NAMES = (
    "$(touch${IFS}ran)",
    "::error::x",
    "##[error]x",
    "\u202ex",
    "<img",
    "-x",
    "HEAD",
    "origin/main",
    "a" * 40,
)
# git reads nothing more, each hides the others
FATAL_FILES = (
    "shallow",
    "index",
    "HEAD",
    "packed-refs",
)
SIDE_FILES = (
    *("objects/info/commit-graph", "objects/pack/multi-pack-index", "logs/HEAD", "MERGE_HEAD"),
    *("rebase-merge/head-name", "info/sparse-checkout", "info/grafts"),
)


def put_commit(repo: GitRepo, tree: str, *parents: str, message: str = "x") -> str:
    lines = "".join(f"parent {parent}\n" for parent in parents)
    return put_object(repo, "commit", f"tree {tree}\n{lines}{WHO}\n\n{message}\n".encode())


def place_of(kind: str) -> Plant:
    """The folder of checkpoints is something else."""

    def plant(repo: GitRepo, outside: Path) -> None:
        shutil.rmtree(repo.path / PLACE)
        if kind == "a pipe":
            os.mkfifo(repo.path / PLACE)
        elif kind == "a file":
            repo.write(PLACE, "x")
        else:
            (repo.path / PLACE).symlink_to(outside if kind == "outside" else kind)

    return plant


def refs(repo: GitRepo, outside: Path) -> None:
    for name in NAMES:
        for kind in ("heads", "tags", "remotes/origin"):
            repo.write(f".git/refs/{kind}/{name}", repo.git("rev-parse", "HEAD") + "\n")


def bad_refs(repo: GitRepo, outside: Path) -> None:
    contents = ("ref: refs/heads/bad\n", "0" * 40, "\x1b[2J", "ref: ../../../outside/secret\n")
    for number, content in enumerate(contents):
        for name in ("heads/bad", "remotes/origin/bad", "tags/bad", "checkpoint/seen/build"):
            repo.write(f".git/refs/{name}{number or ''}", content)


def replaced(repo: GitRepo, outside: Path) -> None:
    tree, head = repo.git("rev-parse", "HEAD^{tree}"), repo.git("rev-parse", "HEAD")
    repo.git(
        "update-ref", f"refs/replace/{head}", put_commit(repo, tree, message=f"{STEERING}{FORGE}")
    )


def tags_of_tags(repo: GitRepo, outside: Path) -> None:
    found, kind = repo.git("rev-parse", "HEAD"), "commit"
    for number in range(60):
        data = f"object {found}\ntype {kind}\ntag v{number}\ntagger x <y> 9999999999999 +9999\n\n{STEERING}\n"
        found, kind = put_object(repo, "tag", data.encode()), "tag"
    for name in ("main", "HEAD", "v1.0"):
        repo.write(f".git/refs/tags/{name}", f"{found}\n")


def tree_at_head(make: Callable[[GitRepo], bytes]) -> Plant:
    def plant(repo: GitRepo, outside: Path) -> None:
        tree, head = put_object(repo, "tree", make(repo)), repo.git("rev-parse", "HEAD")
        repo.git("update-ref", "HEAD", put_commit(repo, tree, head))

    return plant


def doubled(repo: GitRepo) -> bytes:
    entry = tree_of("100644", "build.checkpoint.json", repo.git("rev-parse", f"HEAD:{SKILL}"))
    return tree_of("40000", PLACE, put_object(repo, "tree", entry * 3)) * 2


def odd_modes(repo: GitRepo) -> bytes:
    blob = repo.git("rev-parse", f"HEAD:{SKILL}")
    return b"".join(
        tree_of(mode, name, blob)
        for mode, name in (("100644", PLACE), ("777777", "x"), ("40000", "z"))
    )


def deep(repo: GitRepo) -> bytes:
    data = tree_of("40000", PLACE, repo.git("rev-parse", f"HEAD:{PLACE}"))
    for _ in range(300):
        data = tree_of("40000", "d", put_object(repo, "tree", data))
    return data


def merge_of_many(repo: GitRepo, outside: Path) -> None:
    tree, head = repo.git("rev-parse", "HEAD^{tree}"), repo.git("rev-parse", "HEAD")
    parents = [put_commit(repo, tree, head, message=str(number)) for number in range(100)]
    repo.git("update-ref", "HEAD", put_commit(repo, tree, *parents, message="Merge"))


def criss_cross(repo: GitRepo, outside: Path) -> None:
    tree, head = repo.git("rev-parse", "HEAD^{tree}"), repo.git("rev-parse", "HEAD")
    one, other = (put_commit(repo, tree, head, message=name) for name in "ab")
    for number in range(20):
        one, other = (
            put_commit(repo, tree, *pair, message=f"{number}")
            for pair in ((one, other), (other, one))
        )
    repo.git("update-ref", "HEAD", one)


def attributes(line: str) -> Plant:
    """On both sides of a merge that conflicts."""

    def plant(repo: GitRepo, outside: Path) -> None:
        repo.write(f"{PLACE}/.gitattributes", f"*.checkpoint.json {line}\n")
        repo.commit("attributes")
        for name, step in (("side", "y"), ("main", "z")):
            repo.git("checkout", "-q", *(["-b"] if name == "side" else []), name)
            repo.write(SKILL, checkpoint_text(step=step))
            repo.commit(name)
        repo.git("merge", "-q", "side", check=False)

    return plant


def states(mode: str) -> Plant:
    """A branch of a remote in which the folder of checkpoints is a link, a submodule or a file."""

    def plant(repo: GitRepo, outside: Path) -> None:
        hub = str(outside.parent / "hub.git")
        repo.git("init", "-q", "--bare", hub)
        repo.git("remote", "add", "origin", hub)
        entry = (
            repo.git("rev-parse", "HEAD")
            if mode == "160000"
            else put_object(repo, "blob", b"../outside")
        )
        made = put_commit(
            repo, put_object(repo, "tree", tree_of(mode, PLACE, entry)), message=f"{STEERING}"
        )
        repo.git("push", "-q", hub, f"{made}:refs/heads/states", "main")
        repo.git("config", "checkpoint.syncBranch", "states")

    return plant


def side_files(*names: str) -> Plant:
    def plant(repo: GitRepo, outside: Path) -> None:
        for name in names:
            repo.write(f".git/{name}", b"\xff\0garbage\x1b[2J" * 100)

    return plant


ATTACKS = (
    *(
        Attack(f"checkpoints in {kind}", place_of(kind), (*LOOKED, *WRITTEN))
        for kind in ("a pipe", "a file", ".git", PLACE, "outside")
    ),
    Attack("checkpoints in .git/hooks", place_of(".git/hooks"), WRITTEN),
    Attack(
        "names of refs that somebody obeys",
        refs,
        (*LOOKED, *FORMATS),
        ("\n::error", "##[error", "<img"),
    ),
    Attack("refs of nonsense", bad_refs, LOOKED),
    Attack("a commit that is replaced", replaced, (*LOOKED, *FORMATS), NEVER),
    Attack("tags of tags, named like branches", tags_of_tags, LOOKED),
    *(
        Attack(f"a tree {make.__name__}", tree_at_head(make), LOOKED)
        for make in (doubled, odd_modes, deep)
    ),
    Attack("a merge of a hundred", merge_of_many, (*LOOKED, "audit explain HEAD")),
    Attack("merges that cross twenty times", criss_cross, (*LOOKED, "audit explain HEAD")),
    *(
        Attack(f"an attribute {line}", attributes(line), MERGED)
        for line in (
            "conflict-marker-size=9999999",
            "conflict-marker-size=-1",
            "merge=ours",
            "-merge binary",
        )
    ),
    *(
        Attack(f"a branch of states {mode}", states(mode), SYNCED)
        for mode in ("120000", "160000", "100644")
    ),
    *(Attack(f"nonsense in {name}", side_files(name), LOOKED) for name in FATAL_FILES),
    Attack("nonsense in files beside history", side_files(*SIDE_FILES), LOOKED),
)


@pytest.mark.parametrize(
    "attack", ATTACKS, ids=[attack.name.replace(" ", "-") for attack in ATTACKS]
)
def test_no_repository_does_harm(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: Attack
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    check_attack(repo, tmp_path, attack)


def test_no_command_of_a_hint_runs_what_a_value_or_a_name_holds(repo: GitRepo) -> None:
    texts = ["$(touch ran)", "`touch ran`", "x;touch ran;y", "x'; touch ran; '", "x\ntouch ran\n"]
    for number, text in enumerate(texts):
        plant_everywhere(repo, text, number)
    stubs = repo.path / "stubs"
    for program in ("checkpoint", "git", "gh"):
        repo.write(f"stubs/{program}", "#!/bin/sh\n").chmod(0o755)

    pasted = set[str]()
    named = [f"resume build{number}" for number in range(len(texts))]
    for verb in ("status", "next", "validate", "doctor --full", *named, "prime", "sync"):
        for words in (verb, f"{verb} --json"):
            said = run_here(*words.split(), cwd=repo.path).stdout
            lines = [line for line in said.splitlines() if "--json" not in words]
            if "--json" in words:
                lines += _find_texts(json.loads(said) if said.startswith("{") else {})
            pasted |= {
                line[line.index(name) :]
                for line in lines
                for name in ("checkpoint ", "git ")
                if name in line
            }
    assert len(pasted) > 20 * len(texts)

    for command in pasted:
        env = {"PATH": f"{stubs}:/usr/bin:/bin"}
        subprocess.run(
            ["sh", "-c", command], cwd=repo.path, env=env, capture_output=True, check=False
        )
        assert not (repo.path / "ran").exists(), command


def plant_everywhere(repo: GitRepo, text: str, number: int) -> None:
    """In every field and name from which a hint could take it."""
    fields = {
        **dict.fromkeys(("project_dir", "status", "step", "created_at", text, f"--{text}"), text),
        "next_actions": [text, {"text": text, "done_when": text, "id": text}, f"Merge #5 {text}"],
        "blockers": [
            {
                "id": text,
                "description": text,
                "needs": "user_decision",
                "proposal": f"Merge #5 {text}",
            },
            text,
        ],
        "progress_table": [
            {"id": text, "label": text, "status": text},
            {"id": text, "statsu": text},
        ],
        "context_primer": {"generated_files": [text, f"src/{text}"], "key_decsions": [text]},
        "skill_state": {text: text},
    }
    for name in (text, f"build{number}"):
        repo.write(
            f"{PLACE}/{name}.checkpoint.json", json.dumps({**checkpoint(skill=name), **fields})
        )
    repo.write(f"{PLACE}/{text} broken.checkpoint.json", "{")
    repo.commit(f"Merge pull request #5 from {text}")
    repo.git("config", f"remote.{text.replace(chr(10), ' ')}.url", text)


def _find_texts(value: object) -> list[str]:
    """All hints and commands of a document."""
    if isinstance(value, list):
        return [text for item in value for text in _find_texts(item)]
    if not isinstance(value, dict):
        return []
    own = [
        item
        for key, item in value.items()
        if key in ("hint", "command", "fix") and isinstance(item, str)
    ]
    return own + [text for item in value.values() for text in _find_texts(item)]
