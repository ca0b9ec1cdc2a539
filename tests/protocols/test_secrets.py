"""What has the shape of a key or token is found before it is committed, and never printed."""

import json
import re
import shlex
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from checkpoint_git.core import redact
from checkpoint_git.core.secret_rules import RULES
from checkpoint_git.core.untrusted_text import may_hold_secret
from checkpoint_git.protocols.validate import check_document
from tests.core.test_redact import ANNOUNCED
from tests.core.test_redact import SECRETS as SAMPLES
from tests.support.command import run_here
from tests.support.repos import GitRepo
from tests.support.rows import rows
from tests.support.samples import checkpoint, checkpoint_text

PATH = ".checkpoints/build.checkpoint.json"
SECRETS = SAMPLES[:-1]  # the last is a shape that no key announces


@rows("secret", [*SECRETS, "-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----"])
def test_a_key_is_an_error_at_its_place_and_is_not_in_the_finding(secret: str) -> None:
    value = checkpoint(skill_state={"a/b": [{"deep": f"use {secret} here"}]})
    found = check_document(PATH, json.dumps(value).encode(), now=0).findings
    (finding,) = [each for each in found if each.code == "content/secret"]
    assert (finding.level, finding.where) == ("error", "/skill_state/a~1b/0/deep")
    assert secret.strip("-") not in str(finding)


@given(
    st.sampled_from(RULES).flatmap(lambda rule: st.from_regex(rule.pattern, fullmatch=True)),
    st.text(),
    st.text(),
)
def test_every_shape_is_suspected_where_no_letter_is_before_it(
    secret: str, before: str, after: str
) -> None:
    text = f"{before}{secret}{after}".encode("utf-8", "replace").decode()
    if redact.hide_tokens(text) != text:
        assert may_hold_secret(text.encode())


PIECES = st.sampled_from([
    *SAMPLES, *(before + secret for before, secret in ANNOUNCED), "API_KEY", "secret", "bearer ", "BEARER ", "://",
    "@", "=", " =", "SECRET_KEY", "hx989mUfln7nySA5DF1S0", ": ", " ", "-----BEGIN RSA PRIVATE KEY",
    "\n", '"', "\\", "~", "/", "0a1b2c3d4e5f6071", "src/search/index.py", "x" * 13, "\u00e9",
])  # fmt: skip


@example("API_KEY=abc1d2efgKEY=hij3k4lm", None)
@example("https://ada:hx989mUfln7nySA5DF1S0@db.example.org", None)
@example("SECRET_KEY =hx989mUfln7nySA5DF1S0", None)
@example("client-secret_base: hx989mUfln7nySA5DF1S0", None)
@example("https://" + "\U0001f600" * 300 + "@db.example.org", None)
@given(st.lists(PIECES, max_size=8).map("".join), st.sampled_from([None, 2]))
def test_what_holds_or_hides_a_secret_is_suspected_in_any_layout(
    text: str, indent: int | None
) -> None:
    if redact.holds_secret(text) or redact.hide_tokens(text) != text:
        assert may_hold_secret(text.encode())
        for is_ascii in (False, True):
            written = json.dumps({"a": [text]}, indent=indent, ensure_ascii=is_ascii)
            assert may_hold_secret(written.encode())
            assert may_hold_secret(written.replace("/", "\\/").encode())  # as PHP writes it
            for sign in "/:gA":  # any letter may be written as its number
                assert may_hold_secret(written.replace(sign, f"\\u{ord(sign):04x}").encode())


@rows(
    "text",
    [
        "",
        "x" * 15,
        "a sk_ b",
        "a path, a task-list, a key decision, the token budget",
        "--next+=x, mail ada@example.org",
        "feature/a-long-name-of-a-branch",
        "e" * 40,
        "AKIA is short",
        "see task-management-tools/README.md",
    ],
)
def test_few_texts_without_a_secret_are_suspected(text: str) -> None:
    assert not may_hold_secret(json.dumps({"a": text}).encode())


@rows(
    "text",
    [
        "see task-test-framework",
        "key-value pairs, sk-learn",
        "secret_name is set",
        "eyJ is a start",
    ],
)
def test_ordinary_words_are_no_keys(text: str) -> None:
    found = check_document(PATH, checkpoint_text(progress_summary=text).encode(), now=0).findings
    assert "content/secret" not in [finding.code for finding in found]


@pytest.mark.parametrize("field", ["progress_summary", "next_actions", "context_primer"])
def test_a_commit_is_stopped_and_the_printed_line_mends_it(field: str, repo: GitRepo) -> None:
    secret = SECRETS[0]
    value: dict[str, Any] = {"progress_summary": secret, "next_actions": ["Go", f"Deploy with {secret}"],
                             "context_primer": {"key_decisions": [secret], "generated_files": []}}  # fmt: skip
    run_here("init", cwd=repo.path)
    repo.write(PATH, checkpoint_text(**{field: value[field]}))
    repo.git("add", "-A")
    stopped = repo.run("git", "commit", "-qm", "x")
    said = (stopped.stdout + stopped.stderr).decode()
    assert (stopped.returncode, secret in said) == (1, False)
    hint = re.search(r"checkpoint (update build .*)", said)
    assert hint is not None
    assert run_here(*shlex.split(hint[1]), cwd=repo.path).returncode == 0
    assert "content/secret" not in run_here("validate", cwd=repo.path).stdout
    assert "[removed]" in (repo.path / PATH).read_text()


def test_an_update_that_would_write_a_key_is_refused_without_printing_it(repo: GitRepo) -> None:
    repo.write(PATH, checkpoint_text())
    done = run_here("update", "build", f"--progress_summary=key {SECRETS[1]}", cwd=repo.path)
    assert (done.returncode, SECRETS[1] in done.stdout + done.stderr) == (1, False)
    assert (repo.path / PATH).read_text() == checkpoint_text()
