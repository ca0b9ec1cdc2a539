"""The health address asked of real servers on the loopback: good ones, bad ones and hostile
ones.
"""

import gzip
import json
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import SplitResult

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoint_git.net.health import (
    MAX_BODY,
    HealthAnswer,
    HealthError,
    find_proxies,
    parse_url,
    read_health,
    show_url,
)
from tests.net.servers import Handler, Server, drip, raw, redirect, reply, self_signed, serving
from tests.support.rows import rows

GOOD = reply(b'{"version": "1.2.0", "ok": true}')
START = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def ask(
    server: Server, handler: Handler, path: str = "/api/health", seconds: float = 5
) -> HealthAnswer:
    server.paths[path] = handler
    return read_health(server.url, {}, seconds)


def test_an_object_comes_back_as_a_value(server: Server) -> None:
    answer = ask(server, GOOD)
    assert answer == HealthAnswer(f"{server.url}/api/health", {"version": "1.2.0", "ok": True})
    assert server.requests[0].startswith(b"GET /api/health HTTP/1.1\r\n")


def test_a_path_and_a_query_are_asked_as_they_are(server: Server) -> None:
    server.paths["/live?deep=1"] = GOOD
    assert read_health(f"{server.url}/live?deep=1", {}).value["version"] == "1.2.0"


def test_a_url_that_is_none_is_never_asked() -> None:
    for url in ("file:///etc/passwd", "localhost:80", ""):
        answer = read_health(url, {})
        assert (answer.trouble, answer.value, answer.url) == ("bad-url", {}, "")


def test_a_login_is_sent_and_not_shown(server: Server) -> None:
    server.paths["/api/health"] = GOOD
    answer = read_health(server.url.replace("http://", "http://ada:secret@"), {})
    assert b"Authorization: Basic YWRhOnNlY3JldA==" in server.requests[0]
    assert answer.url == f"{server.url}/api/health"


def test_nothing_of_ours_is_told_to_the_server(server: Server) -> None:
    ask(server, GOOD)
    names = {line.split(b":")[0] for line in server.requests[0].split(b"\r\n")[1:] if line}
    assert names == {b"Host", b"Accept", b"Accept-Encoding", b"User-Agent", b"Connection"}


@rows(
    ("handler", "why"),
    [
        (reply(b"", "204 No Content"), "204"),
        (reply(b"{}", "401 Unauthorized"), "401 Unauthorized"),
        (reply(b"down", "503 Service Unavailable"), "503"),
        (reply(b"<html>hello</html>"), "not JSON"),
        (reply(b""), "not JSON"),
        (reply(b'{"version": "1.2.0"'), "not JSON"),
        (reply(b'{"version": NaN}'), "not JSON"),
        (reply(b'{"version": 1} {"version": 2}'), "not JSON"),
        (reply(b'{"version": 1, "version": 2}'), "not JSON"),
        (reply(b"[" * 50_000), "not JSON"),
        (reply(b'{"a":' * 10_000 + b"1" + b"}" * 10_000), "not JSON"),
        (reply(b'{"version": "\xff\xfe"}'), "not JSON"),
        (reply('{"version": "1"}'.encode("utf-16")), "UTF-16"),
        (reply(b'["1.2.0"]'), "no object"),
        (reply(b"null"), "no object"),
        (reply(gzip.compress(b'{"version": "1.2.0"}'), Content_Encoding="gzip"), "gzip"),
        (reply(b" " * MAX_BODY + b"{}"), "64 KB"),
        (raw(START + b"\r\n" + b" " * (MAX_BODY * 20)), "64 KB"),
        (raw(START + b"Content-Length: 1000000000000\r\n\r\n" + b" " * (MAX_BODY + 9)), "64 KB"),
        (redirect("/api/health"), "302 Found: name the address"),
        (redirect("file:///etc/passwd", "308 Permanent Redirect"), "308 Permanent Redirect: name"),
        (reply(b"", "302 Found"), "302 Found, not 200"),
        (reply(b"", "300 Multiple Choices", Location="/x"), "300"),
    ],
)
def test_an_answer_that_says_nothing_is_told(server: Server, handler: Handler, why: str) -> None:
    answer = ask(server, handler)
    assert answer.trouble == "bad-answer"
    assert why in answer.detail
    assert answer.value == {}


@pytest.mark.parametrize(
    ("handler", "why"),
    [
        (raw(b""), "closed the connection"),
        (raw(START), "closed the connection|not JSON|speak HTTP"),
        (raw(START + b"Content-Length: 20\r\n\r\n{}"), "closed the connection"),
        (raw(START + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{}"), "closed the connection"),
        (raw(b"SSH-2.0-OpenSSH_9.2\r\n"), "speak HTTP"),
        (raw(b"HTTP/1.1 two hundred\r\n\r\n{}"), "speak HTTP"),
        (raw(START + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"), "closed the connection"),
        (raw(START + b"X: " + b"y" * 100_000 + b"\r\n\r\n{}"), "header"),
        (raw(START + b"X: y\r\n" * 1_000 + b"\r\n{}"), "speak HTTP"),
    ],
)
def test_no_whole_answer_is_told(server: Server, handler: Handler, why: str) -> None:
    answer = ask(server, handler)
    assert answer.trouble in ("unreachable", "bad-answer")
    assert re.search(why, answer.detail), answer


def test_another_host_is_not_even_looked_for(server: Server) -> None:
    with serving() as other:
        other.paths["/x"] = GOOD
        answer = ask(server, redirect(f"{other.url}/x"))
        assert answer.trouble == "bad-answer"
        assert other.requests == []


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"", b""),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        (START + b"\r\n{", b" "),
        (START + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
)
def test_one_deadline_stands_over_an_answer_that_never_ends(
    server: Server, start: bytes, piece: bytes
) -> None:
    answer = ask(server, drip(start, piece, server.done), seconds=0.4)
    assert answer.trouble == "unreachable"
    assert any(words in answer.detail for words in ("within 0.4 seconds", "in time", "timed out"))


def test_a_name_whose_look_up_takes_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def look_up(*words: object) -> list[object]:
        over.wait(20)
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    # no resolver that hangs can be had for a test
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    answer = read_health("http://app.example", {}, 0.3)
    over.set()
    assert answer.trouble == "unreachable"
    assert "within 0.3 seconds" in answer.detail


def test_a_process_ends_although_the_server_does_not(server: Server) -> None:
    server.paths["/api/health"] = drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n", server.done)
    script = f"from checkpoint_git.net.health import read_health; print(read_health({server.url!r}, {{}}, 0.3).trouble)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=20
    )
    assert (done.stdout, done.stderr, done.returncode) == ("unreachable\n", "", 0)


def test_nobody_listening_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    answer = read_health(f"http://127.0.0.1:{port}", {})
    assert answer.trouble == "unreachable"
    assert "refused" in answer.detail


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 70 + ".invalid"])
def test_a_name_that_nobody_knows_is_told(host: str) -> None:
    answer = read_health(f"http://{host}/", {}, 5)
    assert answer.trouble == "unreachable"
    assert answer.detail


def test_an_ipv6_address_is_asked() -> None:
    try:
        running = serving("::1")
        with running as server:
            server.paths["/api/health"] = GOOD
            assert read_health(server.url, {}).value["version"] == "1.2.0"
            assert f"Host: [::1]:{server.port}".encode() in server.requests[0]
    except OSError as error:  # this machine has no IPv6 loopback
        pytest.skip(f"no IPv6 here: {error}")


def test_a_certificate_that_nobody_vouches_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(context=self_signed(tmp_path)) as server:
        server.paths["/api/health"] = GOOD
        answer = read_health(server.url.replace("https://", "https://ada:secret@"), {})
        assert answer.trouble == "unreachable"
        assert "certificate" in answer.detail
        assert server.requests == [], "a login would have gone to a stranger"
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        assert read_health(server.url, {}).value["version"] == "1.2.0"


def test_https_to_a_server_without_it_is_told(server: Server) -> None:
    server.paths["/api/health"] = GOOD
    answer = read_health(server.url.replace("http://", "https://"), {}, 2)
    assert answer.trouble == "unreachable"


def test_a_proxy_of_the_environment_is_used(server: Server) -> None:
    server.paths["http://app.invalid/api/health"] = GOOD
    proxy = server.url.replace("http://", "http://ada:secret@")
    answer = read_health("http://app.invalid", {"http_proxy": proxy})
    assert answer.value["version"] == "1.2.0"
    assert b"Proxy-Authorization: Basic" in server.requests[0]
    assert b"Host: app.invalid\r\n" in server.requests[0]
    server.paths["app.invalid:443"] = reply(b"", "403 Forbidden")
    answer = read_health("https://app.invalid", {"https_proxy": proxy})
    assert answer.trouble == "unreachable"
    assert server.requests[1].startswith(b"CONNECT app.invalid:443")
    assert (
        read_health("http://app.invalid", {"http_proxy": "socks5://x:1"}).trouble == "unreachable"
    )


def test_the_servers_own_words_are_cut_short(server: Server) -> None:
    answer = ask(server, reply(json.dumps({"x": 1}).encode(), "500 " + "x" * 5_000))
    assert len(answer.detail) < 300


# what may be asked, and what is shown of it


def login_of(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[0]


@rows(
    ("url", "address"),
    [
        ("https://app.example", ("https://app.example/api/health", "")),
        ("http://app.example/", ("http://app.example/api/health", "")),
        ("HTTP://App.Example:8080/live", ("http://app.example:8080/live", "")),
        ("https://app.example/?deep=1", ("https://app.example/?...", "")),
        ("https://app.example?deep=1", ("https://app.example/?...", "")),
        ("http://[::1]:81/x#part", ("http://[::1]:81/x", "")),
        ("https://ada:p%40ss@app.example/x", ("https://app.example/x", "ada:p%40ss")),
    ],
)
def test_a_url_is_taken_apart(url: str, address: tuple[str, str]) -> None:
    assert (show_url(parse_url(url)), login_of(parse_url(url))) == address


@rows(
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
    with pytest.raises(HealthError):
        parse_url(url)


def test_why_it_is_not_asked_holds_no_password() -> None:
    for url in (
        "ftp://ada:secret@app.example/",
        "http://ada:secret@app.example:x/",
        "http://ada:secret@[x/",
    ):
        with pytest.raises(HealthError) as raised:
            parse_url(url)
        assert "secret" not in str(raised.value)


def test_login_and_query_are_not_shown() -> None:
    address = parse_url("https://ada:secret@app.example:8443/health?token=secret#secret")
    assert show_url(address) == "https://app.example:8443/health?..."
    assert show_url(parse_url("http://[::1]:81/")) == "http://[::1]:81/api/health"


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_an_address_error(text: str) -> None:
    for url in (text, f"http://{text}", f"https://host/{text}"):
        try:
            address = parse_url(url)
        except HealthError:
            continue
        assert address.scheme in ("http", "https")
        assert address.hostname
        assert address.path.startswith("/")


# which proxy the environment names


def test_no_variable_means_straight_ahead() -> None:
    assert find_proxies({}) == find_proxies({"https_proxy": "", "all_proxy": ""}) == {}


def test_each_scheme_has_its_own_variable() -> None:
    env = {
        "http_proxy": "http://one:1",
        "HTTPS_PROXY": "http://two:2",
        "all_proxy": "http://three:3",
    }
    assert find_proxies(env) == {"http": "http://one:1", "https": "http://two:2"}
    assert find_proxies({"ALL_PROXY": "ada:secret@proxy:1"}) == dict.fromkeys(
        ("http", "https"), "ada:secret@proxy:1"
    )


def test_http_proxy_in_capitals_does_not_count() -> None:
    assert find_proxies({"HTTP_PROXY": "http://evil:1"}) == {}


@pytest.mark.parametrize(
    "url", ["socks5://ada:secret@proxy:1080", "https://proxy:443", "file:///etc/passwd"]
)
def test_a_proxy_that_speaks_something_else_is_refused(url: str) -> None:
    answer = read_health("http://app.invalid", {"all_proxy": url})
    assert (answer.trouble, answer.detail) == (
        "unreachable",
        "the proxy that the environment names is not an http:// one",
    )


@rows(
    "url",
    ["http://ada:secret@[x", "ada:secret@proxy:port", "http:///ada:secret@x", "http:/ada:secret@x"],
)
@rows("scheme", ["http", "https"])
def test_a_proxy_that_cannot_be_read_is_named_without_its_login(url: str, scheme: str) -> None:
    answer = read_health(f"{scheme}://127.0.0.1:9", {"all_proxy": url}, 2)
    assert answer.trouble == "unreachable"
    assert "secret" not in answer.detail


def test_no_proxy_names_hosts_that_are_asked_directly(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.paths["/api/health"] = GOOD
    env = {"all_proxy": "http://proxy.invalid:1"}
    assert read_health(server.url, env, 5).trouble == "unreachable"
    monkeypatch.setenv("no_proxy", "app.example,127.0.0.1")
    assert read_health(server.url, env).value["version"] == "1.2.0"
