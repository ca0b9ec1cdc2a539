"""Checkpoints on disk: which files are read, what a write keeps and refuses."""

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from checkpoint_git.core import platform
from checkpoint_git.core.clock import write_instant
from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.disk.discover import Place, find_place
from checkpoint_git.disk.lock import lock_path
from checkpoint_git.protocols.skill import kept_write, store
from checkpoint_git.protocols.write import Change
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.samples import checkpoint_text
from tests.support.verbs import NOON, seconds

NOW = seconds(NOON)
FILE = ".checkpoints/build.checkpoint.json"


@pytest.fixture
def place(repo: GitRepo) -> Place:
    repo.write(FILE, checkpoint_text())
    return find_place(str(repo.path))


def set_step(value: dict[str, Any] | None) -> dict[str, Any]:
    return {**(value or {}), "step": "new"}


# reading


def test_all_checkpoints_are_read_by_name_and_nothing_else(place: Place, repo: GitRepo) -> None:
    for name in (
        "a.checkpoint.json",
        "z.checkpoint.json",
        "README.md",
        "x.checkpoint.json.bak",
        ".checkpoint.json",
    ):
        repo.write(f".checkpoints/{name}", name)
    repo.write(".checkpoints/history/old.checkpoint.json", "x")
    (repo.path / ".checkpoints/folder.checkpoint.json").mkdir()
    found = dict(store.read_files(place))
    names = [f".checkpoints/{name}.checkpoint.json" for name in ("a", "build", "folder", "z")]
    assert list(found) == names
    assert found[names[0]] == b"a.checkpoint.json"
    assert isinstance(found[names[2]], OSError)
    assert store.list_skills(place) == ["a", "build", "folder", "z"]
    assert list(dict(store.read_files(place, only=[names[3]]))) == [names[3]]


def test_each_file_is_read_when_its_turn_comes(place: Place, repo: GitRepo) -> None:
    files = store.read_files(place)
    repo.write(FILE, "changed")
    assert dict(files)[FILE] == b"changed"


def test_a_skill_without_a_file_has_none_and_an_invalid_name_is_refused(place: Place) -> None:
    assert store.read_skill(place, "other") is None
    with pytest.raises(CheckpointError, match="invalid name"):
        store.read_skill(place, "../build")


def test_a_folder_that_is_gone_is_one_error(place: Place, tmp_path: Path) -> None:
    gone = place._replace(directory=str(tmp_path / "gone"))
    with pytest.raises(CheckpointError, match="cannot be read"):
        store.read_files(gone)
    assert store.list_misnamed(gone) == []


def test_files_that_look_like_checkpoints_are_found(place: Place, repo: GitRepo) -> None:
    names = ["Build.Checkpoint.JSON", "build.checkpoint.jsonc", "plan.json"]
    repo.write(".checkpoints/plan.json", checkpoint_text())
    for name in (*names[:2], "other.json", "build.checkpoint.json.bak", ".hidden.json"):
        repo.write(f".checkpoints/{name}", "{}")
    (repo.path / ".checkpoints/link.checkpoint.jsonc").symlink_to("plan.json")
    assert [os.path.basename(path) for path in store.list_misnamed(place)] == sorted(names)


# writing


def test_a_change_is_written_whole_and_keeps_the_files_mode(place: Place, repo: GitRepo) -> None:
    path = repo.path / FILE
    path.chmod(0o640)
    written = store.change_checkpoint(place, "build", set_step, NOW)
    assert (written.created, written.refused) == (False, [])
    assert json.loads(path.read_text())["step"] == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(os.listdir(place.directory)) == ["build.checkpoint.json"]


def test_a_refused_change_leaves_the_file_alone(place: Place, repo: GitRepo) -> None:
    before = repo.read(FILE)
    why = Finding("x/y", "error", "no")
    assert store.change_checkpoint(place, "build", lambda value: why, NOW).refused == [
        why._replace(path=FILE)
    ]
    assert store.change_checkpoint(
        place, "build", lambda value: {**(value or {}), "step": ""}, NOW
    ).refused
    assert repo.read(FILE) == before


@pytest.mark.parametrize("text", ["", "{", "null"])
def test_a_broken_file_is_refused_and_kept(place: Place, repo: GitRepo, text: str) -> None:
    repo.write(FILE, text)
    written = store.change_checkpoint(place, "build", set_step, NOW)
    assert [found.path for found in written.refused] == [FILE]
    assert repo.read(FILE) == text


@pytest.mark.parametrize(
    "target", ["../kept/state.json", "other.checkpoint.json", "../.git/config", "gone"]
)
def test_nothing_is_written_through_a_link(place: Place, repo: GitRepo, target: str) -> None:
    repo.write("kept/state.json", checkpoint_text())
    repo.write(".checkpoints/other.checkpoint.json", checkpoint_text(skill="other"))
    path = repo.path / FILE
    path.unlink()
    path.symlink_to(target)
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(CheckpointError, match="symbolic link"):
        store.write_checkpoint(place, "build", b"x", b"{}")
    assert path.is_symlink()
    assert (path.read_bytes() if path.exists() else None) == before


def test_of_two_writers_that_no_lock_keeps_apart_the_second_is_refused(
    place: Place, repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "flock", lambda descriptor, wait: True)  # it says yes to all
    repo.write(FILE, checkpoint_text())

    def pass_by(skill: str) -> None:
        """One writer reads, another one reads and writes, and the first goes on."""

        def write_between(value: dict[str, Any] | None) -> dict[str, Any]:
            os.unlink(f"{lock_path(place)}.held")  # by hand, say
            store.change_checkpoint(
                place, skill, lambda known: {**(known or new), "step": "second"}, NOW
            )
            return {**(value or new), "step": "first"}

        new = json.loads(checkpoint_text(skill=skill))
        with pytest.raises(CheckpointError, match="changed by another process") as caught:
            store.change_checkpoint(place, skill, write_between, NOW)
        assert caught.value.hint == "run the same command again"
        assert json.loads(repo.read(f".checkpoints/{skill}.checkpoint.json"))["step"] == "second"

    pass_by("build")
    pass_by("fresh")  # of a checkpoint that is not there yet
    assert sorted(os.listdir(place.directory)) == ["build.checkpoint.json", "fresh.checkpoint.json"]


def test_the_past_is_never_overwritten(place: Place, repo: GitRepo) -> None:
    marks = ["one", "two"]
    first = store.write_history(place, "build", marks, b"a")
    assert store.write_history(place, "build", marks, b"a") == first
    second = store.write_history(place, "build", marks, b"b")
    assert (os.path.basename(first), os.path.basename(second)) == (
        "build.one.json",
        "build.two.json",
    )
    with pytest.raises(CheckpointError, match="all history names of build are taken"):
        store.write_history(place, "build", marks, b"c")
    assert repo.read(".checkpoints/history/build.one.json") == "a"


def test_history_is_not_written_through_a_link_that_leads_out(
    place: Place, repo: GitRepo, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo.path / ".checkpoints/history").symlink_to(outside)
    with pytest.raises(CheckpointError, match="symbolic link"):
        store.write_history(place, "build", ["one"], b"a")
    assert list(outside.iterdir()) == []


def test_a_session_writes_its_own_skill_only() -> None:
    store.check_owner("build", {})
    store.check_owner("build", {"CHECKPOINT_SKILL": "build"})
    with pytest.raises(CheckpointError, match="this session works as build"):
        store.check_owner("other", {"CHECKPOINT_SKILL": "build"})


def test_what_undo_keeps_waits_for_no_pipe(repo: GitRepo, place: Place) -> None:
    kept_write.keep_write(place, "build", b"old", b"new")
    assert kept_write.read_kept(place, "build") == (b"old", b"new", False)
    kept = repo.path / ".git/checkpoint/undo/build.before"
    kept.unlink()
    os.mkfifo(kept)
    kept_write.keep_write(place, "build", b"old", b"new")
    assert kept_write.read_kept(place, "build") is None


def test_what_undo_keeps_is_on_the_disk_before_the_write_is_acknowledged(
    repo: GitRepo, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed, flush = dict[int, bytes](), os.fsync

    def note(descriptor: int) -> None:
        flush(descriptor)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            flushed[os.fstat(descriptor).st_ino] = Path(f"/dev/fd/{descriptor}").read_bytes()

    monkeypatch.setattr(os, "fsync", note)
    store.change_checkpoint(place, "build", set_step, NOW)
    kept = list((repo.path / ".git/checkpoint/undo").iterdir())
    assert len(kept) == 3
    assert [
        path.name for path in kept if flushed.get(path.stat().st_ino) != path.read_bytes()
    ] == []


def test_an_unresolved_or_left_out_checkpoint_is_not_written(repo: GitRepo) -> None:
    path = ".checkpoints/build.checkpoint.json"
    repo.write(path, checkpoint_text())
    repo.commit()
    place = find_place(str(repo.path))
    store.check_index(place, "build")
    store.check_index(place, "other")

    (repo.path / path).unlink()
    repo.git("update-index", "--skip-worktree", path)
    for look in (store.check_index, store.missing_checkpoint):
        with pytest.raises(CheckpointError, match="this sparse checkout leaves it out"):
            look(place, "build")
    repo.write(path, checkpoint_text())
    store.check_index(place, "build")  # it is there all the same

    blob = repo.git("rev-parse", f":{path}")
    repo.git("update-index", "--force-remove", path)
    lines = "".join(f"100644 {blob} {stage}\t{path}\n" for stage in (1, 2, 3))
    subprocess.run(
        ["git", "update-index", "--index-info"], cwd=repo.path, input=lines.encode(), check=True
    )
    with pytest.raises(CheckpointError, match=path):
        store.check_index(place, "build")


def test_what_git_does_not_have_is_named_as_it_is_typed_in_the_folder(repo: GitRepo) -> None:
    repo.write("sub/.checkpoints/build.checkpoint.json", checkpoint_text())
    place, path = find_place(str(repo.path / "sub")), "sub/.checkpoints/build.checkpoint.json"
    (found,) = store.find_untracked(place, [path], os.environ)
    assert (found.code, found.level, str(found.hint)) == (
        "git/untracked",
        "note",
        f"git add {path}",
    )
    (found,) = store.find_untracked(place, [path], os.environ, str(repo.path / "sub"))
    assert str(found.hint) == f"git add {path.removeprefix('sub/')}"
    repo.write(".gitignore", "dist\n.checkpoints\n")
    (found,) = store.find_untracked(place, [path], os.environ)
    assert (found.code, found.level) == ("git/ignored", "warning")
    assert str(found.hint) == (
        f'remove the line ".checkpoints" from .gitignore:2, or add it anyway: git add -f {path}'
    )
    repo.git("add", "-f", path)
    assert store.find_untracked(place, [path], os.environ) == []


@rows(
    ("typed", "hint"),
    [
        ("deploy.json", 'name one first: checkpoint update deploy --step="..."'),
        ("step=x", 'name one first: checkpoint update build --step="..."'),
    ],
)
def test_a_mistaken_name_is_refused_with_the_name_that_was_meant(
    place: Place, typed: str, hint: str
) -> None:
    with pytest.raises(CheckpointError, match="cannot be started under that name") as caught:
        store.change_checkpoint(place, typed, set_step, NOW)
    assert str(caught.value.hint) == hint
    assert store.list_skills(place) == ["build"]


# what is said of a checkpoint that is missing or cannot be read


@rows(
    ("skills", "wanted", "message", "hint"),
    [
        ([], "build", "{folder} has no checkpoints yet", "start one: checkpoint update build"),
        (
            ["Build", "builds"],
            "build",
            "build has no checkpoint in {folder}",
            "did you mean Build?",
        ),
        (
            ["builds", "deploy"],
            "build",
            "build has no checkpoint in {folder}",
            "did you mean builds? there are: builds, deploy; to start it: checkpoint update build",
        ),
        (
            ["deploy"],
            "build",
            "build has no checkpoint in {folder}",
            "there are: deploy; to start it: checkpoint update build",
        ),
    ],
)
def test_a_missing_checkpoint_is_reported_with_those_that_are_there(
    tmp_path: Path, skills: list[str], wanted: str, message: str, hint: str
) -> None:
    folder = tmp_path / "-".join(["p", *skills]) / ".checkpoints"
    folder.mkdir(parents=True)
    for skill in skills:
        (folder / f"{skill}.checkpoint.json").write_text("{}")
    place = find_place(str(folder.parent))
    with pytest.raises(CheckpointError) as caught:
        store.read_document(place, wanted, NOW)
    assert caught.value.message == message.format(folder=folder)
    assert str(caught.value.hint) == hint


def test_of_many_checkpoints_a_dozen_are_named(place: Place, repo: GitRepo) -> None:
    for number in range(11):
        repo.write(f".checkpoints/s{number:02}.checkpoint.json", "{}")
    hint = str(store.missing_checkpoint(place, "other").hint)
    assert hint.startswith("there are: build, s00, ")
    assert ", s10; to start it" in hint
    repo.write(".checkpoints/s11.checkpoint.json", "{}")
    assert ", s10 ...; to start it" in str(store.missing_checkpoint(place, "other").hint)


def test_a_checkpoint_that_cannot_be_read_is_an_error_with_its_line(
    place: Place, repo: GitRepo
) -> None:
    assert store.read_value(place, "build", NOW)["skill"] == "build"
    assert store.read_document(place, "build", NOW).path == FILE
    repo.write(FILE, "{\n  x")
    (finding,) = store.read_document(place, "build", NOW).findings
    with pytest.raises(CheckpointError) as caught:
        store.read_value(place, "build", NOW)
    assert caught.value.message == f"{FILE}:2: {finding.message}"
    assert caught.value.hint == finding.hint
    with pytest.raises(CheckpointError, match="invalid name"):
        store.read_document(place, "../build", NOW)


def test_a_misnamed_file_is_known_by_its_name_or_by_how_it_begins(
    place: Place, repo: GitRepo
) -> None:
    far = " " * (1 << 16)
    for name, text in {
        "both.json": '{"skill": "a", "status": "b"}',
        "skill.json": '{"skill": "a"}',
        "status.json": '{"status": "b"}',
        "far.json": f'{{"skill": "a", {far}"status": "b"}}',
        "build.CHECKPOINT.json": "",
    }.items():
        repo.write(f".checkpoints/{name}", text)
    found = [os.path.basename(path) for path in store.list_misnamed(place)]
    assert found == ["both.json", "build.CHECKPOINT.json"]


# who may write what


def test_a_process_writes_its_own_skill_in_the_nearest_folder(place: Place, repo: GitRepo) -> None:
    cwd = str(repo.path)
    assert store.find_own_place("build", cwd, {"CHECKPOINT_SKILL": "build"}) == place
    with pytest.raises(CheckpointError, match="this session works as build") as caught:
        store.find_own_place("other", cwd, {"CHECKPOINT_SKILL": "build"})
    assert caught.value.hint == "write to build's own and refer to other in depends_on"
    with pytest.raises(CheckpointError, match="invalid name"):
        store.find_own_place("a/b", cwd, {})
    with pytest.raises(CheckpointError, match=r"no \.checkpoints folder found"):
        store.find_own_place("build", str(repo.path.parent), {})


def test_another_version_of_the_protocol_is_read_and_never_written(
    place: Place, repo: GitRepo
) -> None:
    text = checkpoint_text(protocol_version="2.0")
    repo.write(FILE, text)
    (refusal,) = store.change_checkpoint(place, "build", set_step, NOW).refused
    assert (refusal.code, refusal.level) == ("skill/protocol-version", "error")
    assert refusal.message == 'protocol_version is "2.0": this release writes 1.0 and 1.1 only'
    assert str(refusal.hint).endswith(": checkpoint update build --protocol_version=1.0")
    assert repo.read(FILE) == text

    def set_version(version: str) -> list[Finding]:
        def change(value: dict[str, Any] | None) -> dict[str, Any]:
            return {**(value or json.loads(checkpoint_text())), "protocol_version": version}

        return store.change_checkpoint(place, "build", change, NOW).refused

    assert set_version("1.1") == []
    assert set_version("2.0") == [refusal]
    (repo.path / FILE).unlink()
    (refusal,) = set_version("2.0")
    assert refusal.message == 'invalid protocol_version "2.0": expected 1.0 or 1.1'
    assert not (repo.path / FILE).exists()

    # a file without a version is of the first one
    repo.write(FILE, checkpoint_text(protocol_version=...))
    assert [
        found.code for found in store.change_checkpoint(place, "build", set_step, NOW).refused
    ] == []


def test_two_blockers_of_one_id_are_a_warning_in_a_file_and_refused_in_a_write(
    place: Place, repo: GitRepo
) -> None:
    blocker = {"id": "b1", "description": "x", "blocking": "task", "resolved": False}

    def block(value: dict[str, Any] | None) -> dict[str, Any]:
        return {**(value or {}), "blockers": [blocker, blocker]}

    before = repo.read(FILE)
    written = store.change_checkpoint(place, "build", block, NOW)
    (refusal,) = [found for found in written.refused if found.code == "skill/blocker-id-twice"]
    assert refusal.level == "error"
    assert repo.read(FILE) == before
    repo.write(FILE, checkpoint_text(blockers=[blocker, blocker]))
    assert store.change_checkpoint(place, "build", set_step, NOW).refused == []


def start(skill: str) -> Change:
    return lambda value: {**(value or json.loads(checkpoint_text(skill=skill))), "step": "new"}


def test_a_name_that_differs_in_capitals_only_is_not_written(place: Place, repo: GitRepo) -> None:
    with pytest.raises(CheckpointError, match="there is build, and its name differs") as caught:
        store.change_checkpoint(place, "Build", start("Build"), NOW)
    assert caught.value.hint == "write to build, or choose another name"
    assert store.list_skills(place) == ["build"]

    repo.write(".checkpoints/Build.checkpoint.json", checkpoint_text(skill="Build"))
    with pytest.raises(CheckpointError, match="there is Build, and its name differs") as caught:
        store.change_checkpoint(place, "build", set_step, NOW)
    assert "rename one of them" in str(caught.value.hint)
    assert not store.change_checkpoint(place, "other", start("other"), NOW).refused


def test_a_new_name_that_resembles_another_is_a_warning(place: Place) -> None:
    written = store.change_checkpoint(place, "builds", start("builds"), NOW)
    (warning,) = [found for found in written.arisen if found.code == "skill/near-name"]
    assert (warning.level, warning.message) == ("warning", "builds is new; build already exists")
    assert warning.path == ".checkpoints/builds.checkpoint.json"
    assert str(warning.hint) == "if you meant the old one: checkpoint undo builds"

    for skill in ("builds", "other"):  # which is there already, which resembles none
        written = store.change_checkpoint(place, skill, start(skill), NOW)
        assert "skill/near-name" not in [found.code for found in written.arisen]


def test_an_option_a_file_and_two_names_are_no_name(tmp_path: Path) -> None:
    known = ["a", "b"]
    for mistake in ("x=1", "--step=x", "a.json", "a,b", "a,a"):
        assert store.is_mistyped(mistake, known)
    for name in ("a", "c", "a,c", "a.b", "json"):
        assert not store.is_mistyped(name, known)

    folder = tmp_path / ".checkpoints"
    folder.mkdir()
    place = find_place(str(tmp_path))
    for skills, shown in (((), "build"), (("z", "deploy"), "deploy")):
        for skill in skills:
            (folder / f"{skill}.checkpoint.json").write_text("{}")
        with pytest.raises(CheckpointError, match='no checkpoint named "step=x"') as caught:
            store.change_checkpoint(place, "step=x", start("x"), NOW)
        assert f"checkpoint update {shown} " in str(caught.value.hint)


def test_undo_is_kept_what_the_last_write_replaced(place: Place, repo: GitRepo) -> None:
    def write(text: str, later: int = 0) -> None:
        stamp = write_instant(NOW + later)
        written = store.change_checkpoint(
            place,
            "build",
            lambda value: {**(value or {}), "step": text, "updated_at": stamp},
            NOW + later,
        )
        assert written.refused == []

    def read() -> str:
        return repo.read(FILE)

    first = read()
    write("a")
    second = read()
    assert kept_write.read_kept(place, FILE) == (first.encode(), second.encode(), False)
    write("b")
    third = read()
    assert kept_write.read_kept(place, FILE) == (second.encode(), third.encode(), False)

    # a write that changes the time alone keeps what is kept: undo restores more than that
    write("b", later=60)
    fourth = read()
    assert fourth != third
    assert kept_write.read_kept(place, FILE) == (second.encode(), fourth.encode(), False)
    kept_write.keep_write(place, FILE, second.encode(), fourth.encode(), is_undone=True)
    write("b", later=120)
    assert kept_write.read_kept(place, FILE) == (second.encode(), read().encode(), True)

    # by hand the file became another one in between
    edited = read().replace('"b"', '"c"')
    repo.write(FILE, edited)
    write("c", later=180)
    assert kept_write.read_kept(place, FILE) == (edited.encode(), read().encode(), False)

    def refuse(value: object) -> Finding:
        return Finding("x/y", "error", "no")

    kept = kept_write.read_kept(place, FILE)
    assert store.change_checkpoint(place, "build", refuse, NOW).refused
    assert kept_write.read_kept(place, FILE) == kept
    store.change_checkpoint(place, "other", start("other"), NOW)
    before, after, _ = (
        kept_write.read_kept(place, ".checkpoints/other.checkpoint.json") or (b"",) * 3
    )
    assert before is None
    assert after == repo.read(".checkpoints/other.checkpoint.json").encode()


def test_a_write_and_a_removal_are_of_the_file_that_was_read(place: Place, repo: GitRepo) -> None:
    text = repo.read(FILE).encode()
    with pytest.raises(CheckpointError, match="changed by another process"):
        store.write_checkpoint(place, "build", b"other", b"{}")
    with pytest.raises(CheckpointError, match="changed by another process"):
        store.remove_checkpoint(place, "build", b"other")
    store.write_checkpoint(place, "build", text, b"{}")
    assert store.read_skill(place, "build") == b"{}"
    store.remove_checkpoint(place, "build", b"{}")
    assert store.read_skill(place, "build") is None


def test_the_history_of_a_skill_is_listed(place: Place, repo: GitRepo, tmp_path: Path) -> None:
    assert store.list_history(place, "build") == []
    history = repo.path / ".checkpoints/history"
    for name in ("build.b.json", "build.a.json", "builds.a.json", "build.json", "build.a.b.json"):
        repo.write(f".checkpoints/history/{name}", "{}")
    names = [os.path.basename(path) for path in store.list_history(place, "build")]
    assert names == ["build.a.json", "build.b.json"]

    history.rename(tmp_path / "history")
    history.symlink_to(tmp_path / "history")
    with pytest.raises(CheckpointError, match="symbolic link"):
        store.list_history(place, "build")
    history.unlink()
    history.write_text("")
    with pytest.raises(CheckpointError, match="history cannot be read: Not a directory") as caught:
        store.list_history(place, "build")
    assert caught.value.hint == "check the folder's owner and permissions"


def test_a_writer_removes_what_a_killed_one_left(place: Place, repo: GitRepo) -> None:
    stray = f".build.checkpoint.json.{2**22 + 1}-0123abcd.tmp"
    repo.write(f".checkpoints/{stray}", "")
    repo.write(f".checkpoints/history/{stray}", "")
    with store.writing(place, "build"):
        assert os.listdir(place.directory + "/history") == []
        assert sorted(os.listdir(place.directory)) == ["build.checkpoint.json", "history"]


def test_where_git_is_missing_nothing_is_said_of_what_it_has(
    repo: GitRepo, place: Place, tmp_path: Path
) -> None:
    assert store.find_untracked(place, [FILE], {"PATH": str(tmp_path)}) == []
    assert store.find_untracked(place._replace(git_dir=None), [FILE], os.environ) == []
    assert store.find_untracked(place._replace(work_tree=None), [FILE], os.environ) == []
    repo.write(".git/info/exclude", "# ours\n*.json\n")
    (found,) = store.find_untracked(place, [FILE], os.environ)
    assert str(found.hint) == (
        f'remove the line "*.json" from .git/info/exclude:2, or add it anyway: git add -f {FILE}'
    )
