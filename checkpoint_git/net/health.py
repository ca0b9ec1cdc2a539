"""One question to a deployed server: what does its health address answer? It judges no answer and knows no git.

The server is a stranger: it may be slow, endless, elsewhere or no server at all. One deadline stands over everything
from the name's look-up to the last byte.
"""

import contextlib
import http.client
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from checkpoint_git.core import jsontext
from checkpoint_git.core.terminal_text import shorten
from checkpoint_git.net.address import Address, AddressError, follow_redirect, parse_address
from checkpoint_git.net.proxy import find_proxy

SECONDS = 10.0
MAX_BODY = 64 * 1024  # bytes
MAX_REDIRECTS = 3
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_OK = 200

Trouble = Literal["", "bad-url", "unreachable", "bad-answer"]


class Answer(NamedTuple):
    """What came back. url: without login and query. value: the JSON object, {} where there is trouble.

    trouble: "bad-url" (never asked), "unreachable" (no answer), "bad-answer" (one that says nothing); detail: why, as
    half a sentence that may hold the server's own words.
    """

    url: str
    value: Mapping[str, Any]
    trouble: Trouble = ""
    detail: str = ""


class _UnansweredError(Exception):
    """No usable answer: the kind of trouble, and why."""

    def __init__(self, trouble: Trouble, detail: str) -> None:
        super().__init__(detail)
        self.trouble: Trouble = trouble
        self.detail = detail


class _Call:
    """The question under way in a thread of its own: a look-up of a name can be left waiting, but not be stopped."""

    def __init__(self) -> None:
        self.connection: http.client.HTTPConnection | None = None
        self.socket: socket.socket | None = None  # kept: the connection forgets it once the answer has begun
        self.value: dict[str, Any] = {}
        self.error: BaseException | None = None


def read_health(url: str, env: Mapping[str, str], seconds: float = SECONDS) -> Answer:
    """GET of a health URL, without raising for anything that a server can do. env: proxies are named there.

    seconds: for all of it together.
    """
    try:
        address = parse_address(url)
    except AddressError as error:
        return Answer("", {}, "bad-url", str(error))
    try:
        value = _ask_in_time(address, env, seconds)
    except _UnansweredError as error:
        return Answer(address.shown, {}, error.trouble, error.detail)
    return Answer(address.shown, value)


def _ask_in_time(address: Address, env: Mapping[str, str], seconds: float) -> dict[str, Any]:
    call = _Call()

    def work() -> None:
        try:
            call.value = _ask(address, env, seconds, call)
        except BaseException as error:  # handed over to who waits, whatever it is
            call.error = error

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        _hang_up(call)
        thread.join(0.5)
        raise _UnansweredError("unreachable", f"there was no whole answer within {seconds:g} seconds")
    if call.error:
        raise _explained(call.error, address)
    return call.value


def _hang_up(call: _Call) -> None:
    connected = call.socket or (call.connection.sock if call.connection else None)
    if connected is not None:
        with contextlib.suppress(OSError):  # it ended by itself
            connected.shutdown(socket.SHUT_RDWR)


def _ask(address: Address, env: Mapping[str, str], seconds: float, call: _Call) -> dict[str, Any]:
    for _ in range(MAX_REDIRECTS + 1):
        call.connection, path, headers = _plan_request(address, env, seconds)
        try:
            call.connection.connect()
            call.socket = call.connection.sock
            call.connection.request("GET", path, headers=headers)
            with contextlib.closing(call.connection.getresponse()) as response:
                if response.status not in _REDIRECTS:
                    return _read_value(response)
                address = _redirected(address, response.getheader("Location"))
        finally:
            call.connection.close()
            call.socket = None
    raise _UnansweredError("bad-answer", f"it redirects more than {MAX_REDIRECTS} times")


def _plan_request(
    address: Address, env: Mapping[str, str], seconds: float
) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
    """A connection that is not opened yet, what to ask it for, and the headers to send."""
    try:
        proxy = find_proxy(address, env)
    except AddressError as error:
        raise _UnansweredError("unreachable", str(error)) from error
    door, path = proxy or address, address.path
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "checkpoint-git"}
    headers |= {"Connection": "close", **_login_header("Authorization", address)}
    passport = _login_header("Proxy-Authorization", proxy) if proxy else {}
    if address.scheme == "http":
        if proxy:
            path = f"{address.site}{path}"
        return http.client.HTTPConnection(door.host, door.port, timeout=seconds), path, headers | passport
    context = ssl.create_default_context()
    connection = http.client.HTTPSConnection(door.host, door.port, timeout=seconds, context=context)
    if proxy:
        connection.set_tunnel(address.host, address.port, passport)
    return connection, path, headers


def _login_header(name: str, address: Address) -> dict[str, str]:
    return {name: f"Basic {b64encode(address.login.encode()).decode()}"} if address.login else {}


def _redirected(address: Address, location: str | None) -> Address:
    if not location:
        raise _UnansweredError("bad-answer", "it redirects without saying where to")
    try:
        return follow_redirect(address, location)
    except AddressError as error:
        raise _UnansweredError("bad-answer", str(error)) from error


def _read_value(response: http.client.HTTPResponse) -> dict[str, Any]:
    if response.status != _OK:
        said = f" {shorten(response.reason, 60)}" if response.reason else ""
        raise _UnansweredError("bad-answer", f"it answers {response.status}{said}, not 200")
    encoding = response.getheader("Content-Encoding", "identity")
    if encoding.strip().lower() not in ("identity", ""):
        raise _UnansweredError("bad-answer", f"it packs its answer unasked ({shorten(encoding, 30)})")
    body = response.read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise _UnansweredError("bad-answer", f"its answer is longer than {MAX_BODY // 1024} KiB")
    if response.length:
        raise _UnansweredError("unreachable", "it closed the connection before its answer was whole")
    return _parse_object(body)


def _parse_object(body: bytes) -> dict[str, Any]:
    try:
        value = jsontext.load(jsontext.decode(body))
    except (jsontext.JsonTextError, RecursionError) as error:
        said = error.message if isinstance(error, jsontext.JsonTextError) else "nested too deep"
        raise _UnansweredError("bad-answer", f"its answer is not JSON: {shorten(said, 120)}") from error
    if not isinstance(value, dict):
        raise _UnansweredError("bad-answer", "its answer is JSON, but no object")
    return value


# The first that fits, so a class stands above the one that it belongs to.
_REASONS: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLCertVerificationError, "its certificate is not trusted ({0.verify_message})"),
    (ssl.SSLError, "TLS does not come about ({0.reason})"),
    (socket.gaierror, "its name is not known ({0.strerror})"),
    (TimeoutError, "there was no answer in time"),
    (ConnectionRefusedError, "nothing listens there (connection refused)"),
    (ConnectionError, "it closed the connection before its answer was whole"),
    (http.client.IncompleteRead, "it closed the connection before its answer was whole"),
    (http.client.LineTooLong, "its headers are too long"),
    (http.client.HTTPException, "what answers there does not speak HTTP"),
    (UnicodeError, "its name is none that can be looked up"),
    (OSError, "there is no connection to it ({0})"),
)


def _explained(error: BaseException, address: Address) -> BaseException:
    """An error of the network as trouble in words; any other one as it is."""
    if isinstance(error, _UnansweredError):
        return error
    reason = next((text for kind, text in _REASONS if isinstance(error, kind)), None)
    return _UnansweredError("unreachable", shorten(reason.format(error), 200)) if reason else error
