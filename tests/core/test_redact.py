import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.core.redact import HIDDEN, hide_tokens, holds_secret, redact
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.core.untrusted_text import clean, may_hold_secret
from tests.support.growth import assert_linear_time
from tests.support.rows import rows

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
    f"{'dckr'}_pat_{LETTERS[:27]}",
    f"{'hv'}s.{LETTERS}",
    f"{'ho'}oks.slack.com/services/T01234567/B01234567/{LETTERS[:24]}",
    f"{'disc'}ord.com/api/webhooks/123456789012345678/{LETTERS}{LETTERS}",
    f"123456789:{'AA'}{LETTERS}a",
    f"{'S'}K{'0a1b2c3d' * 4}",
    f"{'ey'}JhbGciOiJIUzI1NiJ9.{'eyJ'}zdWIiOiIxIn0.{LETTERS}",
    f"{'xo'}xc-123456789012-{LETTERS[:16]}",
    f"{'gs'}k_{LETTERS}",
    f"{'xa'}i-{LETTERS}{LETTERS}",
    f"{'da'}pi{'0a1b2c3d' * 4}",
    f"{'sh'}pat_{'0a1b2c3d' * 4}",
    f"{'gl'}sa_{LETTERS}_0a1b2c3d",
    f"{LETTERS}{LETTERS}",
]


@rows("secret", SECRETS)
def test_what_looks_like_a_token_is_replaced_wherever_it_stands(secret: str) -> None:
    assert redact(f"use {secret}, then go on") == f"use {HIDDEN}, then go on"
    assert secret not in redact(f'{{"header": "{secret}"}}')


@rows(
    ("text", "shown"),
    [
        ("password=hunter22 ok", f"password={HIDDEN} ok"),
        ('"api_key": "abcd1234"', f'"api_key": "{HIDDEN}"'),
        ("DB_PASSWORD: s3cret!", f"DB_PASSWORD: {HIDDEN}"),
        ("secret: sesame", f"secret: {HIDDEN}"),
        ("token: abCdefgh", f"token: {HIDDEN}"),
        ('"token": "abcdefgh"', f'"token": "{HIDDEN}"'),
        ("token=write", f"token={HIDDEN}"),
        ("run --auth-token abcd1234 now", f"run --auth-token {HIDDEN} now"),
        ("Authorization: Bearer abcdefghijklmnop1234", f"Authorization: Bearer {HIDDEN}"),
        ("https://x.test/a?token=abcd1234&b=1", f"https://x.test/a?token={HIDDEN}&b=1"),
        (
            "git clone https://ada:pw@example.org/x.git",
            f"git clone https://{HIDDEN}@example.org/x.git",
        ),
        (
            "git clone ssh://git@example.org:2222/x.git",
            "git clone ssh://git@example.org:2222/x.git",
        ),
        ("sync ssh://deploy@example.org/x", "sync ssh://deploy@example.org/x"),
        ("ssh://ada:pw@example.org/x", f"ssh://{HIDDEN}@example.org/x"),
        ("https://a1b2c3@example.org/x", f"https://{HIDDEN}@example.org/x"),
        ("postgres://app:pw@db/notes", f"postgres://{HIDDEN}@db/notes"),
        (
            "a -----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- b",
            f"a {HIDDEN} b",
        ),
        ("-----BEGIN PRIVATE KEY-----\ncut off", HIDDEN),
    ],
)
def test_what_is_announced_as_a_secret_is_replaced_and_the_rest_stays(
    text: str, shown: str
) -> None:
    assert redact(text) == shown


@rows(
    "text",
    [
        "Sprint 1 delivered auth + session middleware. All tests pass.",
        "Token budget: see the table",
        "permissions: id-token: write, contents: read",
        "3 cents per token: write less",
        "Signature: missing. Credentials: expired",
        "src/main/java/org/Example2/deep/Folder3/of/Sources4/ReaderFactory5.java",
        "8ac7242a7f3c1b0d9e8f7a6b5c4d3e2f1a0b9c8d",
        "a-very-long-Name-with-many-dashes-and-4-Numbers-2026-03-02",
        "https://linear.app/tidepool/issue/TIDE-12",
        "mail ada@example.org",
        "oc-app-architect passed review, see #123 and ABC-45",
        "packages/WebApp/src/components/v2/LoginForm/index",
        "8AC7242A7F3C1B0D9E8F7A6B5C4D3E2F1A0B9C8D",
        f"sha256 {'8AC7242A7F3C1B0D' * 4}",
        "AbstractSingletonProxyFactoryBeanConfigurationV2Test",
        "docker://python:3.12-slim@sha256:8ac7242a7f3c1b0d9e8f7a6b5c4d3e2f",
    ],
)
def test_ordinary_texts_stay_as_they_are(text: str) -> None:
    assert redact(text) == text


@given(st.text(max_size=200))
def test_any_text_can_be_looked_at_and_a_second_look_finds_no_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@pytest.mark.deep
@pytest.mark.parametrize(
    "piece", ["password", "a" * 10, "-----BEGIN PRIVATE KEY", "://x", "A1b", "token: ", "--token "]
)
def test_a_hostile_text_is_read_in_linear_time(piece: str) -> None:
    assert_linear_time(lambda size: redact(piece * size), 2_000)


@rows("secret", [*SECRETS[:-1], "https://ada:pw@example.org/x"])
def test_what_is_quoted_for_a_model_holds_no_token(secret: str) -> None:
    for show in (hide_tokens, lambda text: clean(text, 200)):
        assert secret not in show(f"use {secret} then")
        assert HIDDEN in show(f"use {secret} then")


# of an address, of a pointer, and of JSON in a text, twice
SLASHES = (
    "://",
    ":~1~1",
    r":\/\/",
    r":\\/\\/",
)


@rows("slashes", SLASHES)
def test_an_address_shows_no_password_however_its_slashes_are_spelled(slashes: str) -> None:
    text = f"see https{slashes}ada:s3cretPw@example.org now"
    for show in (redact, hide_tokens, lambda text: clean(text, 200)):
        assert show(text) == f"see https{slashes}{HIDDEN}@example.org now"
    assert may_hold_secret(text.encode())
    assert holds_secret(text)


def test_an_address_in_an_address_shows_no_password() -> None:
    for show in (redact, hide_tokens, lambda text: clean(text, 200)):
        shown = show(
            "https://x.org/?to=https%3A%2F%2Fada%3As3cretPw%40example.org%2Fa and https%3A%2F%2Fx.org%2Fb%40c"
        )
        assert (
            shown
            == f"https://x.org/?to=https%3A%2F%2F{HIDDEN}@example.org%2Fa and https%3A%2F%2Fx.org%2Fb%40c"
        )


# others are known by their end
WHOLE = [one for one in SECRETS[:-1] if not {*"/:"} & {*one} and LETTERS[:9] in one]


@rows("secret", [*WHOLE, f"password={LETTERS[:22]}"])
def test_what_a_message_left_of_a_token_is_hidden_too(secret: str) -> None:
    for most in range(23, len(secret)):
        for show in (redact, hide_tokens, lambda text: clean(text, 200)):
            assert LETTERS[:8] not in show(f'invalid status "{shorten(secret, most)}"'), most


@rows("secret", WHOLE)
@rows("unseen", ["\u200b", "\ufeff", "\x1b", "\u202e", "\U000e0041"])
def test_a_token_with_a_letter_in_it_that_nobody_sees_is_not_put_together(
    secret: str, unseen: str
) -> None:
    for at in range(1, 12):
        assert clean(f"use {secret[:at]}{unseen}{secret[at:]} then", 200) == f"use {HIDDEN} then"


@pytest.mark.parametrize(
    "text", ["basic knowledge-of-how-2-servers-and-3-clients", "a basic 2026-03-02T08:00:00Z date"]
)
def test_what_is_basic_is_no_secret(text: str) -> None:
    assert hide_tokens(text) == text
    assert not holds_secret(text)


@rows("text", ["token: four bytes", "password=ask Ada", "https://example.org/a", "mail ada@x.org"])
def test_what_only_speaks_of_tokens_is_quoted_as_it_is(text: str) -> None:
    assert hide_tokens(text) == clean(text, 200) == text


@pytest.mark.parametrize("secret", [f"{'dckr'}_pat_{LETTERS[:27]}", f"{'hv'}s.{LETTERS}"])
def test_a_token_with_a_prefix_is_known_where_nothing_announces_it(secret: str) -> None:
    assert hide_tokens(f"use {secret}, then go on") == f"use {HIDDEN}, then go on"


ANNOUNCED = [
    ("Authorization: Bearer ", LETTERS[:24]),
    ("Authorization: Basic ", "dXNlcjpwYXNzd29yZDEyMzQ1Njc4OTA="),
    ("curl -H 'authorization: bearer ", "8ac7242a-7f3c-4b0d-9e8f-7a6b5c4d3e2f"),
    ("API_KEY=", LETTERS[:20]),
    ("export MAPS_API_KEY='", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"),
    ("AWS_SECRET_ACCESS_KEY = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY"),
    ("AccountName=a;AccountKey=", f"{LETTERS}{LETTERS}{LETTERS[:22]}=="),
    ("db_password=", "Xk9vPq2LmN4r8Tz1"),
    ("AWS_SECRET_ACCESS_KEY: ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY"),
    ("SECRET_KEY_BASE=", "0a1b2c3d4e5f60718293a4b5c6d7e8f9" * 4),
    ("curl -H 'x-api-key: ", "8ac7242a7f3c1b0d9e8f7a6b5c4d3e2f"),
]


@rows(("before", "secret"), ANNOUNCED)
def test_a_value_that_looks_random_is_a_secret_where_a_name_announces_it(
    before: str, secret: str
) -> None:
    text = f"{before}{secret}"
    assert may_hold_secret(text.encode())
    assert holds_secret(text)
    assert hide_tokens(text) == f"{before}{HIDDEN}"


@rows(
    "address",
    [
        "postgres://app:S3cretPw@db.internal/prod",
        "redis://:hunter22@cache:6379",
        "https://ada:open-sesame@x",
        "https://ada:open-sesame@sha1.example.org",
    ],
)
def test_a_password_in_an_address_is_a_secret(address: str) -> None:
    assert may_hold_secret(address.encode())
    assert holds_secret(f"see {address} now")


@rows(
    "text",
    [
        "Bearer authentication-middleware-2 of 3",
        "the bearer sends-no-credentials-at-all",
        "Bearer tokens expire after 3600 seconds, refresh after 1800",
        "API_KEY=os.environ.get('API_KEY_V2') or key2",
        "private_key = ed25519.Ed25519PrivateKey.from_private_bytes(data2)",
        "API_KEY=YOUR_API_KEY_GOES_HERE_1_2",
        "api_key=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "cache_key=0a1b2c3d4e5f60718293a4b5c6d7e8f9",
        "secret=production-2026-03-02-rotated",
        "password=getPasswordFromTheVaultOfTheTeam2",
        "client_secret=${CLIENT_SECRET_2_OF_3}",
        "scheme://user:pass@host",
        "postgres://postgres:postgres@db:5432/notes",
        "postgres://app:password@db/notes",
        "postgres://app:devpass12@localhost:5432/notes",
        "https://$USER:$PASSWORD@example.org and https://<user>:<password>@example.org",
        "https://user:xxxxxxxx@example.org",
        "https://example.org:8080/a, mail ada@example.org",
        "git clone ssh://git@example.org:2222/x.git",
        "the ratio is 12345678:AAA, SKU-12, SKIPPED",
        "https://hooks.slack.com/services is where hooks are made",
        f"{'ho'}oks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        "docker://python:3.12-slim@sha256:8ac7242a7f3c1b0d9e8f7a6b5c4d3e2f",
        "user.signingkey=3AA5C34371567BD2",
        "encryption_key = pbkdf2_hmac_sha256(password, salt)",
        "private_key = secp256k1_generate_key()",
        "api_key = get2KeysOf3In4(x)",
        "api_key = k1OfA2b3C4d5E6f7Settings.name",
        "private_key = secp256k1_generate_key",
        "private_key: packages/WebApp3/src/components/v2/LoginForm/index",
        "client_secret=oauth2_client_v1",
        "api_key: your-0a1b2c3d4e5f60718293",
        "https://user:YOUR_PASSWORD@host/",
        "https://user:placeholder@host/",
        f"{'gh'}p_{'x' * 36}",
        f"{'AK'}IAIOSFODNN7EXAMPLE",
    ],
)
def test_ordinary_prose_and_code_holds_no_secret(text: str) -> None:
    assert not holds_secret(text)
