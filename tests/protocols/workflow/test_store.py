"""A workflow's files: where they are looked for, what is never followed, what an archive leaves."""

from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.protocols.validate import check_document
from checkpoint_git.protocols.workflow import store
from tests.support.repos import GitRepo
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
