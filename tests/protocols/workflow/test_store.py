"""A workflow's files: where they are looked for, what is never followed, what an archive leaves."""

import hashlib
import os
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.protocols.workflow import store
from checkpoint_git.protocols.write import set_apart
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.workflows import phase, write_workflow

INSTANT = "2026-03-02T12:00:00Z"
SIGNATURE = r"-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n"


def test_the_nearest_state_upward_is_found_but_not_beyond_the_repository(
    tmp_path: Path, repo: GitRepo
) -> None:
    (tmp_path / "memory/state").mkdir(parents=True)
    assert store.find_workflow_place(str(repo.path)) is None
    (repo.path / "app/memory/state").mkdir(parents=True)
    (repo.path / "app/src").mkdir()
    place = store.find_workflow_place(str(repo.path / "app/src"))
    assert place is not None
    assert (place.root, place.top) == (str(repo.path / "app"), str(repo.path))
    assert store.plan_workflow_place(str(repo.path)).root == str(repo.path)


@pytest.mark.parametrize(
    "path", ["", "..", "../x", "/etc/hostname", "a/../../x", "link/x", "a\0b", ".", "x" * 5000]
)
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "x").write_text("secret")
    (root / "link").symlink_to(tmp_path)
    place = store.plan_workflow_place(str(root))
    output = store.read_output(place, path)
    assert (output.state, output.why) == ("outside", "it is not in the project")
    assert (
        store.read_outputs(place, path) == []
        or store.read_outputs(place, path)[0].state == "outside"
    )


def test_an_archive_folder_that_leads_out_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "memory/state").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (root / "memory/state/.archive").symlink_to(tmp_path / "out")
    (root / "memory/state/phase.json").write_text("{}")
    with pytest.raises(CheckpointError, match="symbolic link"):
        store.archive_state(store.plan_workflow_place(str(root)), "w", INSTANT)
    assert list((tmp_path / "out").iterdir()) == []
    assert (root / "memory/state/phase.json").read_text() == "{}"


def test_archiving_nothing_makes_nothing(tmp_path: Path) -> None:
    assert store.archive_state(store.plan_workflow_place(str(tmp_path)), "w", INSTANT) is None
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_archives_the_files_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (write_workflow(tmp_path, phase()) / "phase.json").read_bytes()

    def refuse(path: str, data: bytes) -> None:
        raise CheckpointError("no space left on device")

    monkeypatch.setattr("checkpoint_git.disk.atomic.write_file", refuse)
    target = store.archive_state(store.plan_workflow_place(str(tmp_path)), "w", INSTANT, apart=True)
    assert (tmp_path / str(target) / "phase.json").read_bytes() == before


def test_execution_alone_is_archived_too(tmp_path: Path) -> None:
    (tmp_path / "memory/state").mkdir(parents=True)
    (tmp_path / "memory/state/execution.json").write_text("{}")
    target = store.archive_state(store.plan_workflow_place(str(tmp_path)), "w", INSTANT)
    assert target == "memory/state/.archive/w_20260302T120000Z"
    assert (tmp_path / target / "execution.json").read_text() == "{}"


def test_the_newest_five_archives_are_kept_and_none_that_is_empty(tmp_path: Path) -> None:
    state, archive = tmp_path / "memory/state", tmp_path / "memory/state/.archive"
    names = [f"w_2026030{day}T120000Z" for day in range(1, 8)]
    for name in (*names[:6], "notes"):
        (archive / name).mkdir(parents=True)
        (archive / name / "phase.json").write_text("{}")
    (archive / "w_20260309T120000Z").mkdir()
    (state / "phase.json").write_text("{}")
    target = store.archive_state(
        store.plan_workflow_place(str(tmp_path)), "w", "2026-03-07T12:00:00Z"
    )
    assert target == f"memory/state/.archive/{names[6]}"
    assert sorted(path.name for path in archive.iterdir()) == ["notes", *names[2:]]


def test_what_a_kill_left_of_an_archive_joins_it(tmp_path: Path) -> None:
    state, begun = tmp_path / "memory/state", tmp_path / "memory/state/.archive/w_20260302T110000Z"
    begun.mkdir(parents=True)
    (begun / "execution.json").write_text("{}")
    (state / "phase.json").write_text("{}")
    place = store.plan_workflow_place(str(tmp_path))
    assert store.archive_state(place, "w", INSTANT) == "memory/state/.archive/w_20260302T110000Z"
    assert sorted(path.name for path in begun.iterdir()) == ["execution.json", "phase.json"]


@pytest.mark.parametrize("setting", ["log.showRoot=false", "log.showSignature=true"])
def test_a_users_settings_make_no_new_result_an_old_one(repo: GitRepo, setting: str) -> None:
    signer = repo.write(
        "signer",
        f"#!/bin/sh\ncat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED \\n' >&2\nprintf -- '{SIGNATURE}'\n",
    )
    signer.chmod(0o755)
    repo.git("config", "gpg.program", str(signer))
    repo.git("config", "commit.gpgSign", "true")
    repo.git("config", *setting.split("="))
    repo.write("result.md", "x\n")
    repo.commit("Result")
    assert (
        store.find_committed_before(store.plan_workflow_place(str(repo.path)), ["result.md"], 0)
        == set()
    )


def test_a_pattern_finds_the_files_that_fit_it_and_no_hidden_ones(tmp_path: Path) -> None:
    folder = tmp_path / "memory/reports"
    folder.mkdir(parents=True)
    for name in ("b.json", "a.json", ".hidden.json", "a.txt"):
        (folder / name).write_text("{}")
    place = store.plan_workflow_place(str(tmp_path))
    found = [output.path for output in store.read_outputs(place, "memory/reports/*.json")]
    assert found == ["memory/reports/a.json", "memory/reports/b.json"]
    assert [output.path for output in store.read_outputs(place, "memory/reports/a.txt")] == [
        "memory/reports/a.txt"
    ]


def test_a_commit_of_1974_is_not_older_than_the_beginning(
    repo: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_AUTHOR_DATE", "@150000000 +0000")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@150000000 +0000")
    repo.write("result.md", "x\n")
    repo.run("git", "add", ".")
    repo.git("commit", "-q", "-m", "Result")
    place = store.plan_workflow_place(str(repo.path))
    assert store.find_committed_before(place, ["result.md"], 0) == set()
    assert store.find_committed_before(place, ["result.md"], 150_000_001) == {"result.md"}


def test_a_json_file_is_read_up_to_the_limit_and_not_beyond(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkpoint_git.core.jsontext.MAX_BYTES", 5)
    (tmp_path / "a.json").write_bytes(b"null\n")
    (tmp_path / "b.json").write_bytes(b"null\n\n")
    place = store.plan_workflow_place(str(tmp_path))
    output = store.read_output(place, "a.json")
    assert (output.state, output.why) == ("unreadable", "it contains null")
    assert store.read_output(place, "b.json").state == "good"  # only its size is looked at


def test_state_that_changed_since_it_was_read_is_not_replaced(tmp_path: Path) -> None:
    path = write_workflow(tmp_path, phase()) / "phase.json"
    place = store.plan_workflow_place(str(tmp_path))
    document = check_document("memory/state/phase.json", path.read_bytes(), now=0)
    path.write_bytes(b"{}")
    for before in (document, None):
        with pytest.raises(CheckpointError):
            store.write_state(place, "phase", before, b"[]")
    assert path.read_bytes() == b"{}"

    # what could not be read cannot be compared
    unreadable = document._replace(value=None, text=None)
    store.write_state(place, "phase", unreadable, b"[]")
    assert path.read_bytes() == b"[]"


def test_a_workflow_is_open_where_one_of_its_files_is(tmp_path: Path) -> None:
    place = store.plan_workflow_place(str(tmp_path))
    state = tmp_path / "memory/state"
    with pytest.raises(CheckpointError, match="no workflow found"):
        store.open_place(str(tmp_path))
    state.mkdir(parents=True)
    assert not store.has_state(place)
    with pytest.raises(CheckpointError, match="no workflow found"):
        store.open_place(str(tmp_path))

    (state / "execution.json").write_text("{}")
    assert store.has_state(place)
    assert store.open_place(str(tmp_path)) == place
    assert store.read_state(place, "execution") == b"{}"
    assert store.read_state(place, "phase") is None


def test_no_state_is_planned_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "root/memory").symlink_to(tmp_path / "outside")
    with pytest.raises(CheckpointError, match="symbolic link"):
        store.plan_workflow_place(str(tmp_path / "root"))


def test_what_is_known_of_an_output_says_why_it_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = store.plan_workflow_place(str(tmp_path))
    for name, text in {
        "good.json": "[1]",
        "text": "x",
        "null.json": "null",
        "bad.json": "[\n",
    }.items():
        (tmp_path / name).write_text(text)
    for name in ("empty", "empty.json", "full/deep/file"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "none").mkdir()
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "folder.json/a").write_text("")
    (tmp_path / "linked.json").symlink_to("good.json")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")

    good = store.read_output(place, "good.json")
    assert (good.path, good.state, good.why, good.value) == ("good.json", "good", "", [1])
    assert good.written == (tmp_path / "good.json").stat().st_mtime
    assert good.digest == hashlib.sha256(b"[1]").hexdigest()
    assert store.read_output(place, f"{tmp_path}/./good.json") == good
    assert store.read_output(place, "linked.json") == good._replace(path="linked.json")

    whys = {
        "text": "",
        "full": "",
        "folder.json": "",
        "empty": "it is empty",
        "empty.json": "line 1: the file is empty",
        "none": "it is empty",
        "null.json": "it contains null",
        "bad.json": "line 2: unexpected end of the file, expected a value: it was cut off",
        "pipe": "it is neither a file nor a folder",
        "loop": "Too many levels of symbolic links",
    }
    for name, why in whys.items():
        output = store.read_output(place, name)
        assert (output.state, output.why) == ("unreadable" if why else "good", why), name
        assert output.value is None
    assert store.read_output(place, "bad.json").digest == hashlib.sha256(b"[\n").hexdigest()
    assert store.read_output(place, "pipe").written == float("inf")

    for missing in ("other", "text/below"):
        assert store.read_output(place, missing).state == "missing"

    # a file that cannot be read any more once it was looked at
    gone = PermissionError(13, "Permission denied")
    monkeypatch.setattr(store, "read_content", lambda path, top: gone)
    output = store.read_output(place, "good.json")
    assert (output.state, output.why) == ("unreadable", "Permission denied")


def test_gits_files_and_the_state_itself_are_never_an_output(repo: GitRepo) -> None:
    app = repo.path / "app"
    write_workflow(app, phase())
    repo.write("result.md", "x")
    repo.write("app/memory/state/notes.md", "x")
    repo.write("app/.git/config", "x")
    (app / "linked").symlink_to("memory/state/phase.json")
    place = store.plan_workflow_place(str(app))
    whys = {
        "memory/state/phase.json": "it is or contains the workflow's state",
        "memory/state": "it is or contains the workflow's state",
        "memory": "it is or contains the workflow's state",
        "linked": "it is or contains the workflow's state",
        ".git/config": "it is git's own",
        "../result.md": "it is not in the project",
        f"{repo.path}/result.md": "it is not in the project",
    }
    for path, why in whys.items():
        output = store.read_output(place, path)
        assert (output.state, output.why) == ("outside", why), path
    assert store.read_output(place, "memory/state/notes.md").state == "good"


def test_the_digest_of_a_folder_changes_with_a_files_name_and_content(tmp_path: Path) -> None:
    place = store.plan_workflow_place(str(tmp_path))
    inner = tmp_path / "folder/inner"
    inner.mkdir(parents=True)
    (inner / "a").write_text("1")
    (tmp_path / "folder/b").write_text("2")
    os.mkfifo(tmp_path / "folder/pipe")

    def read_digest() -> str:
        return store.read_output(place, "folder").digest

    first = read_digest()
    os.utime(inner / "a", (0, 0))
    assert read_digest() == first
    (inner / "a").write_text("3")
    second = read_digest()
    (inner / "a").rename(inner / "c")
    assert len({first, second, read_digest()}) == 3


def test_a_pattern_in_a_folder_that_is_missing_or_elsewhere_finds_nothing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "a.json").write_text("{}")
    place = store.plan_workflow_place(str(root))
    for pattern in ("none/*.json", "../*.json", "none/a.json"):
        assert store.read_outputs(place, pattern) == []


def test_what_was_edited_since_its_commit_is_not_as_head_has_it(repo: GitRepo) -> None:
    place = store.plan_workflow_place(str(repo.path))
    repo.write("a.md", "x\n")
    assert store.find_committed_before(place, ["a.md"], 0) == set()  # there is no commit yet

    repo.write("b.md", "x\n")
    repo.commit()
    repo.write("b.md", "y\n")
    later = 2**31
    assert store.find_committed_before(place, ["a.md", "b.md", "c.md"], later) == {"a.md"}


def test_state_is_written_where_no_folder_is_in_the_way(tmp_path: Path) -> None:
    place = store.plan_workflow_place(str(tmp_path))
    state = tmp_path / "memory/state"
    state.mkdir(parents=True)
    store.write_state(place, "phase", None, b"{}")
    document = check_document("memory/state/phase.json", b"{}", now=0)
    store.write_state(place, "phase", document, b"[]")
    assert (state / "phase.json").read_bytes() == b"[]"

    (state / "execution.json").mkdir()
    (state / "linked.json").symlink_to(tmp_path)
    for name in ("execution", "linked"):
        with pytest.raises(
            CheckpointError, match="is a folder, and a file belongs there"
        ) as caught:
            store.write_state(place, name, None, b"{}")
        assert str(caught.value.hint) == "checkpoint workflow archive moves it away"


def test_an_archive_is_on_the_disk_before_older_ones_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = write_workflow(tmp_path, phase())
    archive = state / ".archive"
    for day in range(1, 8):
        (archive / f"w_2026010{day}T120000Z").mkdir(parents=True)
        (archive / f"w_2026010{day}T120000Z/phase.json").write_text("{}")
    flush = os.fsync
    flushed: dict[tuple[str, ...], int] = {}

    def note(descriptor: int) -> None:
        flush(descriptor)
        names = tuple(sorted(os.listdir(descriptor)))
        flushed[names] = len(list(archive.iterdir()))

    monkeypatch.setattr(os, "fsync", note)
    target = store.archive_state(store.plan_workflow_place(str(tmp_path)), "login", INSTANT)
    assert flushed[("execution.json", "phase.json")] == 8  # the archive
    assert flushed[(".archive",)] == 8  # the folder that the files have left
    assert (tmp_path / str(target)).is_dir()
    assert len(list(archive.iterdir())) == 5


def test_archived_files_are_set_apart_if_wished(tmp_path: Path) -> None:
    place = store.plan_workflow_place(str(tmp_path))
    texts = {}
    for apart in (False, True):
        before = (write_workflow(tmp_path, phase()) / "phase.json").read_bytes()
        target = store.archive_state(place, "login", INSTANT, apart=apart)
        texts[apart] = (tmp_path / str(target) / "phase.json").read_bytes()
    assert target == "memory/state/.archive/login_20260302T120000Z-2"
    assert texts == {False: before, True: set_apart(before)}

    (tmp_path / "memory/state/phase.json").mkdir()  # which cannot be read, and is moved as it is
    target = store.archive_state(place, "login", INSTANT, apart=True)
    assert (tmp_path / str(target) / "phase.json").is_dir()
    assert not store.has_state(place)


@rows(
    ("begun", "file", "left"),
    [
        ("login_20260302T110000Z", "execution.json", ["phase.json"]),
        ("login_20260302T110000Z", "phase.json", ["execution.json"]),
        ("login_20260302T110000Z", "execution.json", ["phase.json", "execution.json"]),
        ("other_20260302T110000Z", "execution.json", ["phase.json"]),
    ],
)
def test_only_the_rest_of_a_workflow_joins_an_archive(
    tmp_path: Path, begun: str, file: str, left: list[str]
) -> None:
    root = tmp_path / "-".join([begun, file, *left])
    state = root / "memory/state"
    (state / ".archive" / begun).mkdir(parents=True)
    (state / ".archive" / begun / file).write_text("{}")
    for name in left:
        (state / name).write_text("{}")
    target = store.archive_state(store.plan_workflow_place(str(root)), "login", INSTANT)
    is_rest = (begun, file, left) == ("login_20260302T110000Z", "execution.json", ["phase.json"])
    expected = begun if is_rest else "login_20260302T120000Z"
    assert target == f"memory/state/.archive/{expected}"


def test_the_oldest_archives_go_by_their_instant_and_links_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = write_workflow(tmp_path, phase())
    archive, outside = state / ".archive", tmp_path / "outside"
    names = ["z_20260101T120000Z", "y_20260102T120000Z"]
    names += [f"{letter}_2026010{day}T120000Z" for day, letter in enumerate("xdcb", 3)]
    for folder in (outside, *(archive / name for name in names)):
        folder.mkdir(parents=True)
        (folder / "phase.json").write_text("{}")
    link = archive / "a_20250101T120000Z"
    link.symlink_to(outside)
    (archive / "a_20250102T120000Z").write_text("a file")
    place = store.plan_workflow_place(str(tmp_path))
    assert sorted(store.list_archives(str(archive))) == sorted(names)
    assert store.list_archives(str(link)) == []
    assert store.list_archives(str(tmp_path / "none")) == []

    # what cannot be removed stays, and the archive is made all the same
    def refuse(path: object, **options: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rmdir", refuse)
        store.archive_state(place, "login", INSTANT)
    assert len(store.list_archives(str(archive))) == 7

    write_workflow(tmp_path, phase())
    store.archive_state(place, "login", "2026-03-03T12:00:00Z")
    kept = [*names[3:], "login_20260302T120000Z", "login_20260303T120000Z"]
    assert sorted(store.list_archives(str(archive))) == sorted(kept)
    assert (outside / "phase.json").exists()
    assert link.is_symlink()
