import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.redact import HIDDEN, hide_tokens, redact
from checkpoint_git.core.untrusted_text import clean
from tests.support.growth import assert_linear

LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"
# put together here, so that no scanner takes this file for a leak
SECRETS = [
    f"{'gh'}p_{LETTERS}aB12",
    f"{'github'}_pat_{LETTERS}",
    f"{'gl'}pat-{LETTERS[:20]}",
    f"{'xo'}xb-123456789012-{LETTERS[:16]}",
    f"{'sk'}_live_{LETTERS[:24]}",
    f"{'sk'}-proj-{LETTERS}",
    f"{'AK'}IA{'ABCDEFGH12345678'}",
    f"{'AI'}za{LETTERS}abc",
    f"{'npm'}_{LETTERS}abcd",
    f"{'ey'}JhbGciOiJIUzI1NiJ9.{'eyJ'}zdWIiOiIxIn0.{LETTERS}",
    f"{LETTERS}{LETTERS}",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_what_looks_like_a_token_is_replaced_wherever_it_stands(secret: str) -> None:
    assert redact(f"use {secret}, then go on") == f"use {HIDDEN}, then go on"
    assert secret not in redact(f'{{"header": "{secret}"}}')


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=hunter22 ok", f"password={HIDDEN} ok"),
        ('"api_key": "abcd1234"', f'"api_key": "{HIDDEN}"'),
        ("DB_PASSWORD: s3cret!", f"DB_PASSWORD: {HIDDEN}"),
        ("run --auth-token abcd1234 now", f"run --auth-token {HIDDEN} now"),
        ("Authorization: Bearer abcdefghijklmnop1234", f"Authorization: Bearer {HIDDEN}"),
        ("https://x.test/a?token=abcd1234&b=1", f"https://x.test/a?token={HIDDEN}&b=1"),
        ("git clone https://ada:pw@example.org/x.git", f"git clone https://{HIDDEN}@example.org/x.git"),
        ("postgres://app:pw@db/notes", f"postgres://{HIDDEN}@db/notes"),
        ("a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b", f"a {HIDDEN} b"),
        ("-----BEGIN PRIVATE KEY-----\ncut off", HIDDEN),
    ],
)
def test_what_is_announced_as_a_secret_is_replaced_and_the_rest_stays(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Sprint 1 delivered auth + session middleware. All tests pass.",
        "Token budget: see the table",
        "src/main/java/org/Example2/deep/Folder3/of/Sources4/ReaderFactory5.java",
        "8ac7242a7f3c1b0d9e8f7a6b5c4d3e2f1a0b9c8d",
        "a-very-long-Name-with-many-dashes-and-4-Numbers-2026-03-02",
        "https://linear.app/tidepool/issue/TIDE-12",
        "mail ada@example.org",
        "oc-app-architect passed review, see #123 and ABC-45",
    ],
)
def test_ordinary_texts_stay_as_they_are(text: str) -> None:
    assert redact(text) == text


@given(st.text(max_size=200))
def test_any_text_can_be_looked_at_and_a_second_look_finds_no_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@pytest.mark.parametrize(
    "piece", ["password", "a" * 10, "-----BEGIN PRIVATE KEY", "://x", "A1b", "token: ", "--token "]
)
def test_a_hostile_text_is_read_in_linear_time(piece: str) -> None:
    assert_linear(lambda size: redact(piece * size), 2_000)


@pytest.mark.parametrize("secret", [*SECRETS[:-1], "https://ada:pw@example.org/x"])
def test_what_is_quoted_for_a_model_holds_no_token(secret: str) -> None:
    for show in (hide_tokens, lambda text: clean(text, 200)):
        assert secret not in show(f"use {secret} then")
        assert HIDDEN in show(f"use {secret} then")


@pytest.mark.parametrize("text", ["token: four bytes", "password=ask Ada", "https://example.org/a", "mail ada@x.org"])
def test_what_only_speaks_of_tokens_is_quoted_as_it_is(text: str) -> None:
    assert hide_tokens(text) == clean(text, 200) == text
