"""`checkpoint doctor` reads the hooks, tries the driver and, with --online, asks a real server what
it runs.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checkpoint_git.core.errors import CheckpointError
from checkpoint_git.core.finding import Finding
from checkpoint_git.git import driver_settings
from checkpoint_git.tools.doctor import driver_trial
from checkpoint_git.tools.doctor import verb as doctor
from checkpoint_git.tools.doctor.catalog import list_checks
from checkpoint_git.tools.doctor.checks import TrialFacts, find_failed_proof
from checkpoint_git.tools.doctor.driver_trial import Proof
from checkpoint_git.tools.setup.checks import SetupFacts
from checkpoint_git.tools.setup.init import Options, init
from checkpoint_git.tools.setup.survey import Installation
from tests.net.servers import Server, redirect, reply, serving
from tests.support.command import run_checkpoint
from tests.support.contexts import found, give, make_context
from tests.support.repos import GitRepo
from tests.support.samples import checkpoint_text
from tests.support.set_up import copy_set_up
from tests.support.verbs import run_verb

PATH = ".checkpoints/build.checkpoint.json"


@pytest.fixture
def healthy(repo: GitRepo) -> GitRepo:
    """An initialised repository with one checkpoint, everything committed in three commits, the
    first tagged v1.0.
    """
    copy_set_up(repo)
    repo.write("docs/plan.md", "the plan\n")
    repo.write(PATH, checkpoint_text(project_dir=str(repo.path)))
    repo.commit("begin", hooks=False)
    repo.git("tag", "v1.0")
    repo.commit("go on", hooks=False)
    repo.commit("go on", hooks=False)
    return repo


@pytest.fixture
def server(healthy: GitRepo) -> Iterator[Server]:
    """A server that the repository's configuration names."""
    with serving() as running:
        healthy.git("config", "checkpoint.healthUrl", running.url)
        yield running


def examine(repo: GitRepo, *words: str) -> list[Finding]:
    return list(run_verb(doctor, *words, cwd=repo.path, env=dict(os.environ)).outcome.findings)


def ask(repo: GitRepo, server: Server, **answer: object) -> list[tuple[str, str]]:
    """(code, level) of what is found when the server gives this answer."""
    server.paths["/api/health"] = reply(json.dumps(answer).encode())
    return [(one.code, one.level) for one in examine(repo, "--online", "--check", "online")]


# what is deployed


def test_head_itself_is_deployed_by_any_of_its_names(healthy: GitRepo, server: Server) -> None:
    head = healthy.git("rev-parse", "HEAD")
    healthy.git("tag", "1.1")
    for version in (
        head,
        head[:7],
        head.upper()[:12],
        "1.1",
        f"v1.0-2-g{head[:7]}",
        f"1.1+{head[:9]}",
    ):
        assert ask(healthy, server, version=version) == [], version


def test_an_older_commit_is_a_warning_with_both_ids_and_the_distance(
    healthy: GitRepo, server: Server
) -> None:
    assert ask(healthy, server, version="1.0") == [("online/behind", "warning")]
    (finding,) = examine(healthy, "--online", "--check", "online")
    assert "2 commits behind HEAD" in finding.message
    assert healthy.git("rev-parse", "v1.0")[:12] in finding.message
    assert healthy.git("rev-parse", "HEAD")[:12] in finding.message
    assert str(finding.hint)


def test_the_first_word_that_this_clone_knows_counts(healthy: GitRepo, server: Server) -> None:
    assert ask(healthy, server, commit="unknown", version="1.0") == [("online/behind", "warning")]
    assert ask(healthy, server, commit=healthy.git("rev-parse", "HEAD"), version="1.0") == []
    assert ask(healthy, server, commit="unknown", version="9.9") == [
        ("online/elsewhere", "warning")
    ]


def test_what_is_not_in_heads_history_is_told(healthy: GitRepo, server: Server) -> None:
    head = healthy.git("rev-parse", "HEAD")
    assert ask(healthy, server, sha="deadbeef") == [("online/elsewhere", "warning")]
    assert ask(healthy, server, sha=f"{head[:9]}-dirty") == [("online/elsewhere", "warning")]
    healthy.git("reset", "-q", "--hard", "v1.0")
    assert ask(healthy, server, sha=head) == [("online/elsewhere", "note")]
    healthy.commit("another line")
    assert ask(healthy, server, sha=head) == [("online/elsewhere", "warning")]


def test_an_answer_without_a_version_is_told(healthy: GitRepo, server: Server) -> None:
    for answer in (
        {},
        {"status": "ok"},
        {"version": 3},
        {"version": "$(touch pwned)"},
        {"version": "--all"},
    ):
        assert ask(healthy, server, **answer) == [("online/bad-answer", "warning")], answer
    assert not (healthy.path / "pwned").exists()


@pytest.mark.usefixtures("untried_driver")
def test_trouble_on_the_way_is_a_warning_and_never_fails(healthy: GitRepo, server: Server) -> None:
    server.paths["/api/health"] = redirect("file:///etc/passwd")
    ran = run_verb(doctor, "--online", cwd=healthy.path, env=dict(os.environ))
    assert [one.code for one in ran.outcome.findings if one.code.startswith("online")] == [
        "online/bad-answer"
    ]
    assert ran.outcome.exit_code == 0
    healthy.git("config", "checkpoint.healthUrl", "http://ada:secret@127.0.0.1:1")
    (finding,) = examine(healthy, "--online", "--check", "online")
    assert finding.code == "online/unreachable"
    assert "secret" not in str(finding)
    healthy.git("config", "checkpoint.healthUrl", "file:///etc/passwd?secret")
    (finding,) = examine(healthy, "--online", "--check", "online")
    assert finding.code == "online/bad-url"
    assert "secret" not in str(finding)


def test_without_a_url_a_note_says_how_to_configure_one(healthy: GitRepo) -> None:
    (finding,) = examine(healthy, "--online", "--check", "online")
    assert (finding.code, finding.level) == ("online/not-configured", "note")
    assert "git config checkpoint.healthUrl" in str(finding.hint)


@pytest.mark.usefixtures("untried_driver")
def test_no_branch_and_no_variable_names_the_server(
    healthy: GitRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as server:
        url = server.url
        healthy.write(
            PATH, checkpoint_text(health_url=url, healthUrl=url, checkpoint={"healthUrl": url})
        )
        healthy.write(".checkpoints/doctor.toml", f'healthUrl = "{url}"\n')
        healthy.write(".gitconfig", f"[checkpoint]\n\thealthUrl = {url}\n")
        monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'checkpoint.healthurl={url}'")
        codes = [one.code for one in examine(healthy, "--online")]
        assert "online/not-configured" in codes
        assert server.requests == []


@pytest.mark.usefixtures("untried_driver")
def test_nobody_is_asked_without_the_word(healthy: GitRepo, server: Server) -> None:
    assert [one for one in examine(healthy) if one.code.startswith("online")] == []
    with pytest.raises(CheckpointError) as raised:
        examine(healthy, "--check", "online/behind")
    assert str(raised.value.hint) == "add --online"
    assert server.requests == []


def test_online_adds_its_checks_to_those_that_were_asked_for(
    healthy: GitRepo, server: Server
) -> None:
    server.paths["/api/health"] = reply(b"{}")
    ran = run_verb(doctor, "--online", "--check", "content", cwd=healthy.path, env=dict(os.environ))
    codes = [code for code in ran.outcome.data["checks"] if not code.startswith("content/")]
    assert codes == [check.code for check in list_checks() if check.when == "online"]


def test_outside_git_there_is_nothing_to_compare(tmp_path: Path) -> None:
    (tmp_path / ".checkpoints").mkdir()
    assert [one.code for one in examine(GitRepo(tmp_path), "--online")] == ["doctor/not-looked-at"]


NETWORK = ("socket", "ssl", "http.client", "checkpoint_git.net", "checkpoint_git.net.health")


def loaded_by(repo: GitRepo, *words: str) -> set[str]:
    """Of the network's modules, those that a whole process loads."""
    done = run_checkpoint(*words, cwd=repo.path, env={"PYTHONVERBOSE": "1"})
    assert done.returncode == 0, done.stderr[-2000:]
    return {name for name in NETWORK if f"import '{name}'" in done.stderr}


def test_no_network_code_is_loaded_without_the_word(healthy: GitRepo, server: Server) -> None:
    server.paths["/api/health"] = reply(b'{"version": "1.0"}')
    assert loaded_by(healthy, "doctor") == set()
    assert loaded_by(healthy, "doctor", "--online") == set(NETWORK)


def test_as_a_process_it_shows_nothing_raw_and_no_secret(healthy: GitRepo, server: Server) -> None:
    server.paths["/api/health"] = reply(b"{}", "500 \x1b[2J\x9b31m evil")
    healthy.git(
        "config", "checkpoint.healthUrl", server.url.replace("http://", "http://ada:secret@")
    )
    done = run_checkpoint("doctor", "--online", cwd=healthy.path)
    assert done.returncode == 0
    assert "500" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x9b" not in done.stdout + done.stderr
    assert "secret" not in done.stdout + done.stderr
    words = ("doctor", "--online", "--check", "online", "--json")
    answer = json.loads(run_checkpoint(*words, cwd=healthy.path).stdout)
    assert [one["code"] for one in answer["findings"]] == ["online/bad-answer"]


# the hooks


def hook_findings(repo: GitRepo) -> list[tuple[str, str, str]]:
    return [(one.code, one.level, one.message) for one in examine(repo, "--check", "hooks")]


def test_hooks_that_would_not_run_are_found_and_init_ends_it(
    healthy: GitRepo, tmp_path: Path
) -> None:
    hook = healthy.path / ".git/hooks/pre-commit"
    installed = hook.read_bytes()

    def write(data: bytes) -> None:
        hook.write_bytes(data)

    def configure(key: str, *value: str) -> None:
        healthy.git("config", key, *value)

    damages: dict[str, Callable[[], None]] = {
        "pre-commit (with CRLF line ends": lambda: write(installed.replace(b"\n", b"\r\n")),
        "pre-commit (changed, or of another version)": lambda: write(
            installed.replace(b"\n)\n", b"\n", 1)
        ),
        "interpreter is /bin/false, but": lambda: configure(
            "checkpoint.install.python", "/bin/false"
        ),
        "interpreter is gone: /gone": lambda: configure("checkpoint.install.python", "/gone"),
        "interpreter is not configured": lambda: configure("--unset", "checkpoint.install.python"),
        f"package is gone: {tmp_path}": lambda: configure(
            "checkpoint.install.package", str(tmp_path)
        ),
        "package is not configured": lambda: configure("--unset", "checkpoint.install.package"),
    }
    wrong: list[tuple[str, object]] = []
    assert hook_findings(healthy) == []
    for expected, damage in damages.items():
        damage()
        found = hook_findings(healthy)
        codes = [(code, level) for code, level, _ in found]
        if codes != [("hooks/unreachable", "warning")] or expected not in found[0][2]:
            wrong.append((expected, found))
        init(str(healthy.path), Options(), os.environ)
        if hook_findings(healthy):
            wrong.append((expected, "init did not end it"))
    assert wrong == []
    assert hook.read_bytes() == installed


def test_a_python_that_is_gone_is_one_finding_and_init_ends_it(healthy: GitRepo) -> None:
    for key in (
        "merge.checkpoint.driver",
        "merge.checkpoint-base.driver",
        "checkpoint.install.python",
    ):
        value = healthy.git("config", key)
        healthy.git(
            "config",
            key,
            value.replace(healthy.git("config", "checkpoint.install.python"), "/gone/python"),
        )
    healthy.git("config", "checkpoint.install.python", "/gone/python")
    assert [one.code for one in examine(healthy) if one.level != "note"] == ["driver/broken"]
    init(str(healthy.path), Options(), os.environ)
    assert examine(healthy, "--check", "driver", "--check", "hooks") == []


# the driver


def test_a_driver_for_bases_that_does_wrong_is_an_error(healthy: GitRepo) -> None:
    healthy.git("config", "merge.checkpoint-base.driver", "false")
    (finding,) = examine(healthy, "--check", "driver/proof")
    assert finding.level == "error"
    assert "past is a merge itself" in finding.message


def proven(proof: Proof) -> list[Finding]:
    settings = driver_settings.plan_settings("/python", "/lib", driver_settings.Choices())
    context = give(make_context(), SetupFacts, installation=Installation(settings))
    return found(find_failed_proof, give(context, TrialFacts, proof=proof))


def test_a_failed_proof_is_an_error_with_what_was_said() -> None:
    (finding,) = proven(Proof("it lost something", "", "oops"))
    assert finding.level == "error"
    assert "it lost something" in finding.message
    assert "oops" in finding.message
    assert len(proven(Proof("same", "same"))) == 1


def test_a_driver_is_tried_in_each_run_unless_it_is_known_to_be_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []

    def prove_driver(settings: object, env: object) -> Proof:
        tried.append(settings)
        return Proof("", "")

    monkeypatch.setattr(driver_trial, "prove_driver", prove_driver)
    settings = driver_settings.plan_settings("/python", "/lib", driver_settings.Choices())
    for gone in (set(), set(), {"/python"}, {"/lib/driver.py"}):
        installation = Installation(settings, frozenset(gone))
        assert (
            found(find_failed_proof, give(make_context(), SetupFacts, installation=installation))
            == []
        )
    assert tried == [settings, settings]
