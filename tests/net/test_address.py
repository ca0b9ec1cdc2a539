"""What may be asked, what a redirect may lead to, and what is shown of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.net.address import Address, AddressError, follow_redirect, parse_address


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://app.example", Address("https", "app.example", 443, "/api/health")),
        ("http://app.example/", Address("http", "app.example", 80, "/api/health")),
        ("HTTP://App.Example:8080/live", Address("http", "app.example", 8080, "/live")),
        ("https://app.example/?deep=1", Address("https", "app.example", 443, "/?deep=1")),
        ("https://app.example?deep=1", Address("https", "app.example", 443, "/?deep=1")),
        ("http://[::1]:81/x#part", Address("http", "::1", 81, "/x")),
        ("https://ada:p%40ss@app.example/x", Address("https", "app.example", 443, "/x", "ada:p@ss")),
    ],
)
def test_a_url_is_taken_apart(url: str, address: Address) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "app.example",
        "app.example/health",
        "localhost:8080",
        "file:///etc/passwd",
        "ftp://app.example/x",
        "javascript:alert(1)",
        "http://",
        "http:///path",
        "http://:80/",
        "http://app.example:0/",
        "http://app.example:99999/",
        "http://app.example:x/",
        "http://[::1/",
        "http://app.example\\@other.example/",
        "http://app.example/a b",
        "http://app.example/\r\nX-Injected: yes",
        "http://app.example/\u00e9",
        "http://b\u00fccher.example/",
        "--upload-pack=touch",
    ],
)
def test_anything_else_is_never_asked(url: str) -> None:
    with pytest.raises(AddressError):
        parse_address(url)


def test_why_it_is_not_asked_holds_no_password() -> None:
    for url in ("ftp://ada:secret@app.example/", "http://ada:secret@app.example:x/", "http://ada:secret@[x/"):
        with pytest.raises(AddressError) as raised:
            parse_address(url)
        assert "secret" not in str(raised.value)


def test_login_and_query_are_not_shown() -> None:
    address = parse_address("https://ada:secret@app.example:8443/health?token=secret#secret")
    assert address.shown == "https://app.example:8443/health?..."
    assert parse_address("http://[::1]:81/").shown == "http://[::1]:81/api/health"


@pytest.mark.parametrize(
    ("start", "location", "shown"),
    [
        ("http://app.example/a/b", "c", "http://app.example/a/c"),
        ("http://app.example/a", "/", "http://app.example/"),
        ("http://app.example/a", "//app.example/c", "http://app.example/c"),
        ("http://app.example/a", "https://app.example/c", "https://app.example/c"),
        ("http://app.example:80/a", "https://APP.example", "https://app.example/"),
        ("http://app.example:81/a", "https://app.example:81/c", "https://app.example:81/c"),
        ("https://app.example/a", "?b=c", "https://app.example/a?..."),
    ],
)
def test_a_redirect_on_the_same_host_is_followed(start: str, location: str, shown: str) -> None:
    assert follow_redirect(parse_address(start), location).shown == shown


@pytest.mark.parametrize(
    ("start", "location"),
    [
        ("http://app.example/a", "http://other.example/"),
        ("http://app.example/a", "//other.example/"),
        ("http://app.example/a", "http://app.example@other.example/"),
        ("http://app.example/a", "http://app.example.other.example/"),
        ("http://app.example/a", "http://app.example:8080/"),
        ("http://app.example:8080/a", "https://app.example/"),
        ("https://app.example/a", "http://app.example/"),
        ("https://app.example/a", "http://app.example:443/"),
        ("http://app.example/a", "file:///etc/passwd"),
        ("http://app.example/a", "ftp://app.example/x"),
        ("http://app.example/a", "data:application/json,{}"),
        ("http://app.example/a", "http://169.254.169.254/latest/meta-data"),
        ("http://app.example/a", "http://[broken/"),
        ("http://app.example/a", "/\u00ff"),
    ],
)
def test_a_redirect_anywhere_else_is_not(start: str, location: str) -> None:
    with pytest.raises(AddressError):
        follow_redirect(parse_address(start), location)


def test_a_login_goes_along_and_none_is_taken_from_the_server() -> None:
    start = parse_address("https://ada:secret@app.example/a")
    assert follow_redirect(start, "https://eve:other@app.example/b").login == "ada:secret"
    assert follow_redirect(start._replace(login=""), "https://eve:other@app.example/b").login == ""


@given(st.text(max_size=60))
def test_whatever_the_location_says_host_and_port_stay(location: str) -> None:
    start = parse_address("http://app.example:8080/a")
    try:
        target = follow_redirect(start, location)
    except AddressError:
        return
    assert (target.host, target.port) == ("app.example", 8080)


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_an_address_error(text: str) -> None:
    for url in (text, f"http://{text}", f"https://host/{text}"):
        try:
            address = parse_address(url)
        except AddressError:
            continue
        assert address.scheme in ("http", "https")
        assert address.host
        assert address.path.startswith("/")
