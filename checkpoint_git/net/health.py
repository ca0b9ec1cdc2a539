"""One question to a deployed server: what does its health address answer? It judges no answer and knows no git."""

import contextlib
import http.client
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, Literal, NamedTuple
from urllib.parse import SplitResult, unquote, urljoin, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # not in typeshed

from checkpoint_git.core import jsontext
from checkpoint_git.core.terminal_text import escape_controls, shorten

SECONDS = 10.0
MAX_BODY = 64 * 1024  # bytes
MAX_REDIRECTS = 3
DEFAULT_PATH = "/api/health"
_REDIRECTS = (301, 302, 303, 307, 308)
_PORTS = {"http": 80, "https": 443}
_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "checkpoint-git"}
_HEADERS["Connection"] = "close"

Trouble = Literal["", "bad-url", "unreachable", "bad-answer"]


class Answer(NamedTuple):
    """What came back. url: without login and query. value: the JSON object, {} where there is trouble. trouble:
    "bad-url" (never asked), "unreachable" (no answer), "bad-answer" (one that says nothing); detail: why, as half a
    sentence that may hold the server's own words.
    """

    url: str
    value: Mapping[str, Any]
    trouble: Trouble = ""
    detail: str = ""


class HealthError(Exception):
    """No usable answer: the kind of trouble, and why. Its text never holds a login."""

    def __init__(self, trouble: Trouble, detail: str) -> None:
        super().__init__(detail)
        self.trouble: Trouble = trouble


# The server is untrusted: it may be slow, endless, elsewhere or no server at all. One deadline holds for everything
# from the look-up of its name to the last byte.
def read_health(url: str, env: Mapping[str, str], seconds: float = SECONDS) -> Answer:
    """GET of a health URL; nothing that a server can do makes it raise. env: names proxies. seconds: for all of it."""
    shown = ""
    try:
        parts = parse_url(url)
        shown = show_url(parts)
        return Answer(shown, _ask_in_time(parts, env, seconds))
    except HealthError as error:
        return Answer(shown, {}, error.trouble, str(error))


def parse_url(url: str) -> SplitResult:
    """The parts of an http or https URL; one without a path means the usual one. Raises HealthError."""
    if not url.isascii() or not url.isprintable() or " " in url:
        raise HealthError("bad-url", "it holds blanks, control characters or letters that belong percent-encoded")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise HealthError("bad-url", "its host or port cannot be read") from error
    if parts.scheme not in _PORTS:
        kind = f"{shorten(parts.scheme, 20)}: addresses are never asked" if parts.scheme else "it names no scheme"
        raise HealthError("bad-url", f"{kind}; http:// and https:// are")
    if not parts.hostname or port == 0 or "\\" in parts.netloc:
        raise HealthError("bad-url", "its host or port cannot be read")
    path = parts.path if parts.path.strip("/") or parts.query else DEFAULT_PATH
    return parts._replace(path=path or "/", fragment="")


def show_url(parts: SplitResult) -> str:
    """A URL for the user: login and query may hold a secret, and are left out."""
    return shorten(f"{_site_of(parts)}{parts.path}{'?...' if parts.query else ''}", 200)


def _site_of(parts: SplitResult) -> str:
    host, port = parts.hostname or "", _port_of(parts)
    return (
        f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{'' if port == _PORTS[parts.scheme] else f':{port}'}"
    )


def _target_of(parts: SplitResult) -> str:
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _port_of(parts: SplitResult) -> int:
    return parts.port or _PORTS[parts.scheme]


def follow_redirect(parts: SplitResult, location: str) -> SplitResult:
    """Same host and port, or from http to https there; our login goes along, no other. Raises HealthError."""
    try:
        joined = urljoin(_site_of(parts) + _target_of(parts), location.strip(" \t"))
    except ValueError as error:
        raise HealthError("bad-answer", "it redirects to an address that cannot be read") from error
    try:
        target = parse_url(joined)
    except HealthError as error:
        scheme, colon, _ = joined.partition(":")
        kind = f"a {escape_controls(shorten(scheme, 20))}: address" if colon else "an address without a scheme"
        raise HealthError("bad-answer", f"it redirects to {kind}, which is not followed: {error}") from error
    ports = _port_of(parts), _port_of(target)
    is_upgraded = (parts.scheme, target.scheme) == ("http", "https")
    is_same = ports[0] == ports[1] and (is_upgraded or parts.scheme == target.scheme)
    if parts.hostname != target.hostname or not (is_same or (is_upgraded and ports == (80, 443))):
        site = escape_controls(shorten(_site_of(target), 80))
        raise HealthError("bad-answer", f"it redirects to {site}, which is not followed")
    login, at, _ = parts.netloc.rpartition("@")
    return target._replace(netloc=f"{login}{at}{target.netloc.rpartition('@')[2]}", path=urlsplit(joined).path or "/")


def find_proxy(parts: SplitResult, env: Mapping[str, str]) -> SplitResult | None:
    """None for straight ahead. HTTP_PROXY does not count: under a web server, a visitor chooses what it says."""
    names = ("http_proxy",) if parts.scheme == "http" else ("https_proxy", "HTTPS_PROXY")
    url = next((env[name] for name in (*names, "all_proxy", "ALL_PROXY") if env.get(name)), "")
    exempt = {"no": (env.get("no_proxy") or env.get("NO_PROXY") or "").replace(" ", ",")}
    hosts = (f"{host}:{_port_of(parts)}" for host in (parts.hostname, f"[{parts.hostname}]"))
    if not url or any(proxy_bypass_environment(host, exempt) for host in hosts):
        return None
    try:
        proxy = parse_url(url if "://" in url else f"http://{url}")
    except HealthError as error:
        raise HealthError("unreachable", f"the proxy that the environment names cannot be used: {error}") from error
    if proxy.scheme != "http":
        why = "the proxy that the environment names speaks https itself, which is not supported"
        raise HealthError("unreachable", why)
    return proxy


def _ask_in_time(parts: SplitResult, env: Mapping[str, str], seconds: float) -> dict[str, Any]:
    # A thread of its own: the look-up of a name can be left waiting, but not be stopped.
    answer: Future[dict[str, Any]] = Future()
    opened: list[http.client.HTTPConnection] = []
    sockets: list[socket.socket] = []  # kept: a connection forgets its own once the answer has begun

    def work() -> None:
        try:
            answer.set_result(_ask(parts, env, seconds, opened, sockets))
        except BaseException as error:  # handed over to who waits, whatever it is
            answer.set_exception(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        for connected in (*sockets, *(one.sock for one in opened if one.sock)):
            with contextlib.suppress(OSError):  # it ended by itself
                connected.shutdown(socket.SHUT_RDWR)
        thread.join(0.5)
        raise HealthError("unreachable", f"there was no whole answer within {seconds:g} seconds")
    error = answer.exception()
    reason = next((text for kind, text in _REASONS if isinstance(error, kind)), None)
    if reason:
        raise HealthError("unreachable", shorten(reason.format(error), 200)) from error
    return answer.result()


def _ask(
    parts: SplitResult,
    env: Mapping[str, str],
    seconds: float,
    opened: list[http.client.HTTPConnection],
    sockets: list[socket.socket],
) -> dict[str, Any]:
    # http.client rather than urllib.request, which does not say what it is connected to: nobody could hang up
    for _ in range(MAX_REDIRECTS + 1):
        proxy = find_proxy(parts, env)
        host, port = (proxy or parts).hostname or "", _port_of(proxy or parts)
        passport = _login_header("Proxy-Authorization", proxy) if proxy else {}
        target, headers = _target_of(parts), {**_HEADERS, **_login_header("Authorization", parts)}
        if parts.scheme == "https":
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, port, timeout=seconds)
            if proxy:
                connection.set_tunnel(parts.hostname or "", _port_of(parts), passport)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=seconds)
            target, headers = _site_of(parts) + target if proxy else target, headers | passport
        with contextlib.closing(connection):
            opened.append(connection)
            connection.connect()
            sockets.append(connection.sock)
            connection.request("GET", target, headers=headers)
            with contextlib.closing(connection.getresponse()) as response:
                if response.status not in _REDIRECTS:
                    return _read_value(response)
                location = response.getheader("Location")
        if not location:
            raise HealthError("bad-answer", "it redirects without saying where to")
        parts = follow_redirect(parts, location)
    raise HealthError("bad-answer", f"it redirects more than {MAX_REDIRECTS} times")


def _login_header(name: str, parts: SplitResult) -> dict[str, str]:
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return {name: f"Basic {b64encode(login.encode()).decode()}"} if login != ":" else {}


def _read_value(response: http.client.HTTPResponse) -> dict[str, Any]:
    if response.status != http.client.OK:
        said = f" {shorten(response.reason, 60)}" if response.reason else ""
        raise HealthError("bad-answer", f"it answers {response.status}{said}, not 200")
    encoding = response.getheader("Content-Encoding", "identity")
    if encoding.strip().lower() not in ("identity", ""):
        raise HealthError("bad-answer", f"it packs its answer unasked ({shorten(encoding, 30)})")
    body = response.read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise HealthError("bad-answer", f"its answer is longer than {MAX_BODY // 1024} KiB")
    if response.length:
        raise HealthError("unreachable", "it closed the connection before its answer was whole")
    try:
        value = jsontext.load(jsontext.decode(body))
    except (jsontext.JsonTextError, RecursionError) as error:
        said = error.message if isinstance(error, jsontext.JsonTextError) else "nested too deep"
        raise HealthError("bad-answer", f"its answer is not JSON: {shorten(said, 120)}") from error
    if not isinstance(value, dict):
        raise HealthError("bad-answer", "its answer is JSON, but no object")
    return value


# The first that fits, so a class stands above the one that it belongs to.
_REASONS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (ssl.SSLCertVerificationError, "its certificate is not trusted ({0.verify_message})"),
    (ssl.SSLError, "TLS does not come about ({0.reason})"),
    (socket.gaierror, "its name is not known ({0.strerror})"),
    (TimeoutError, "there was no answer in time"),
    (ConnectionRefusedError, "nothing listens there (connection refused)"),
    ((ConnectionError, http.client.IncompleteRead), "it closed the connection before its answer was whole"),
    (http.client.LineTooLong, "its headers are too long"),
    (http.client.HTTPException, "what answers there does not speak HTTP"),
    (UnicodeError, "its name is none that can be looked up"),
    (OSError, "cannot connect to it ({0})"),
)
