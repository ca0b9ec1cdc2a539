"""The health address asked of real servers on the loopback: good ones, bad ones and hostile ones."""

import gzip
import json
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from checkpoint_git.net.health import MAX_BODY, Answer, read_health
from tests.net.servers import Handler, Server, drip, raw, redirect, reply, self_signed, serving

GOOD = reply(b'{"version": "1.2.0", "ok": true}')
START = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def ask(server: Server, handler: Handler, path: str = "/api/health", seconds: float = 5) -> Answer:
    server.paths[path] = handler
    return read_health(server.url, {}, seconds)


def test_an_object_comes_back_as_a_value(server: Server) -> None:
    answer = ask(server, GOOD)
    assert answer == Answer(f"{server.url}/api/health", {"version": "1.2.0", "ok": True})
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


@pytest.mark.parametrize(
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
        (reply(b" " * MAX_BODY + b"{}"), "64 KiB"),
        (raw(START + b"\r\n" + b" " * (MAX_BODY * 20)), "64 KiB"),
        (raw(START + b"Content-Length: 1000000000000\r\n\r\n" + b" " * (MAX_BODY + 9)), "64 KiB"),
        (redirect("http://other.example/health"), "http://other.example"),
        (redirect("http://169.254.169.254/latest"), "169.254.169.254"),
        (redirect("file:///etc/passwd"), "file:"),
        (redirect("ftp://127.0.0.1/x"), "ftp:"),
        (redirect("//127.0.0.1:1/x"), "127.0.0.1:1"),
        (redirect("/api/health"), "more than 3 times"),
        (redirect("http://[nowhere/"), "cannot be read"),
        (reply(b"", "302 Found"), "without saying where"),
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
        (raw(START + b"X: " + b"y" * 100_000 + b"\r\n\r\n{}"), "headers"),
        (raw(START + b"X: y\r\n" * 1_000 + b"\r\n{}"), "speak HTTP"),
    ],
)
def test_no_whole_answer_is_told(server: Server, handler: Handler, why: str) -> None:
    answer = ask(server, handler)
    assert answer.trouble in ("unreachable", "bad-answer")
    assert re.search(why, answer.detail), answer


def test_a_redirect_on_the_same_host_is_followed_with_the_login(server: Server) -> None:
    server.paths |= {"/api/health": redirect("/a"), "/a": redirect("b", "308 Permanent Redirect")}
    server.paths |= {"/b": redirect(f"{server.url}/c"), "/c": GOOD}
    answer = read_health(server.url.replace("http://", "http://ada:secret@"), {})
    assert answer.value["version"] == "1.2.0"
    assert all(b"Authorization: Basic" in request for request in server.requests)


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
def test_one_deadline_stands_over_an_answer_that_never_ends(server: Server, start: bytes, piece: bytes) -> None:
    begun = time.monotonic()
    answer = ask(server, drip(start, piece, server.done), seconds=0.4)
    assert answer.trouble == "unreachable"
    assert "within 0.4 seconds" in answer.detail or "in time" in answer.detail
    assert time.monotonic() - begun < 5, "it was hung up"


def test_one_deadline_stands_over_all_redirects_together(server: Server) -> None:
    def slowly(connection: socket.socket) -> None:
        time.sleep(0.25)
        redirect("/api/health?again")(connection)

    server.paths["/api/health?again"] = slowly
    answer = ask(server, slowly, seconds=0.6)
    assert answer.trouble == "unreachable"


def test_who_was_given_up_leaves_no_thread_behind(server: Server) -> None:
    before = threading.active_count()
    ask(server, drip(START + b"\r\n{", b" ", server.done), seconds=0.2)
    server.done.set()
    assert [thread for thread in threading.enumerate() if thread.daemon and "work" in thread.name] == []
    assert threading.active_count() <= before + 1  # the server's own


def test_a_name_whose_look_up_takes_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def look_up(*words: object) -> list[object]:
        over.wait(20)
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)  # no resolver that hangs can be had for a test
    answer = read_health("http://app.example", {}, 0.3)
    over.set()
    assert answer.trouble == "unreachable"
    assert "within 0.3 seconds" in answer.detail


def test_a_process_ends_although_the_server_does_not(server: Server) -> None:
    server.paths["/api/health"] = drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n", server.done)
    script = f"from checkpoint_git.net.health import read_health; print(read_health({server.url!r}, {{}}, 0.3).trouble)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20)
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


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert read_health("http://app.invalid", {"http_proxy": "socks5://x:1"}).trouble == "unreachable"


def test_the_servers_own_words_are_cut_short(server: Server) -> None:
    answer = ask(server, reply(json.dumps({"x": 1}).encode(), "500 " + "x" * 5_000))
    assert len(answer.detail) < 300
