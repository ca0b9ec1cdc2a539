"""One question to a deployed server: what does its health address answer? It judges no answer and
knows no git.
"""

import http.client
import queue
import threading
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple
from urllib.error import URLError
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, OpenerDirector, ProxyHandler, Request

from checkpoint_git.core import jsontext
from checkpoint_git.core.terminal_text import shorten

SECONDS = 10.0
MAX_BODY = 64 * 1024  # bytes
DEFAULT_PATH = "/api/health"
_PORTS = {"http": 80, "https": 443}
_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "checkpoint-git",
}

Trouble = Literal["", "bad-url", "unreachable", "bad-answer"]


class HealthAnswer(NamedTuple):
    """What came back. url: without login and query. value: the JSON object, {} if there is trouble.
    trouble: "bad-url" (never asked), "unreachable" (no answer), "bad-answer" (one that says
    nothing); detail: why, as half a sentence that may hold the server's own words.
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


# The server is untrusted: it may be slow, endless, elsewhere or no server at all. One deadline
# holds for everything from the look-up of its name to the last byte. A look-up cannot be stopped,
# so a thread does the work and is left behind: nothing waits for it when the process ends.
def read_health(url: str, env: Mapping[str, str], seconds: float = SECONDS) -> HealthAnswer:
    """GET of a health URL; nothing that a server can do makes it raise. env: names proxies.
    seconds: for all of it.
    """
    shown = ""
    results: queue.SimpleQueue[dict[str, Any] | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            results.put(_ask(parts, env, seconds))
        except BaseException as error:  # handed over to who waits, whatever it is
            results.put(error)

    try:
        parts = parse_url(url)
        shown = show_url(parts)
        threading.Thread(target=work, daemon=True).start()
        result = results.get(timeout=seconds)
        if isinstance(result, BaseException):
            raise result
        return HealthAnswer(shown, result)
    except HealthError as error:
        return HealthAnswer(shown, {}, error.trouble, str(error))
    except queue.Empty:
        return HealthAnswer(
            shown, {}, "unreachable", f"there was no complete answer within {seconds:g} seconds"
        )
    except (http.client.InvalidURL, ValueError):
        return HealthAnswer(
            shown,
            {},
            "unreachable",
            "its host, or the proxy that the environment names, cannot be read",
        )
    except (http.client.IncompleteRead, ConnectionError):
        return HealthAnswer(
            shown, {}, "unreachable", "it closed the connection before its answer was whole"
        )
    except http.client.HTTPException as error:
        return HealthAnswer(
            shown,
            {},
            "unreachable",
            shorten(f"the server there does not speak HTTP ({error})", 200),
        )
    except OSError as error:
        cause = error.reason if isinstance(error, URLError) else error
        why = getattr(cause, "strerror", None) or cause
        return HealthAnswer(shown, {}, "unreachable", shorten(f"cannot connect to it: {why}", 200))


def parse_url(url: str) -> SplitResult:
    """The parts of an http or https URL; one without a path means the usual one. Raises
    HealthError.
    """
    if not url.isascii() or not url.isprintable() or " " in url:
        raise HealthError(
            "bad-url",
            "it contains blanks, control characters or letters that must be percent-encoded",
        )

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise HealthError("bad-url", "its host or port cannot be read") from error

    if parts.scheme not in _PORTS:
        kind = (
            f"{shorten(parts.scheme, 20)}: addresses are never asked"
            if parts.scheme
            else "it names no scheme"
        )
        raise HealthError("bad-url", f"{kind}; http:// and https:// are")

    if not parts.hostname or port == 0 or "\\" in parts.netloc:
        raise HealthError("bad-url", "its host or port cannot be read")
    path = parts.path if parts.path.strip("/") or parts.query else DEFAULT_PATH
    return parts._replace(path=path or "/", fragment="")


def show_url(parts: SplitResult) -> str:
    """A URL for the user: login and query may hold a secret, and are left out."""
    return shorten(f"{_site_of(parts)}{parts.path}{'?...' if parts.query else ''}", 200)


def _site_of(parts: SplitResult) -> str:
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def find_proxies(env: Mapping[str, str]) -> dict[str, str]:
    """By scheme. HTTP_PROXY does not count: under a web server, a visitor chooses what it says.
    Raises HealthError.
    """
    every = env.get("all_proxy") or env.get("ALL_PROXY") or ""
    found = {"http": env.get("http_proxy") or every}
    found["https"] = env.get("https_proxy") or env.get("HTTPS_PROXY") or every
    if any("://" in url and not url.lower().startswith("http://") for url in found.values()):
        raise HealthError(
            "unreachable", "the proxy that the environment names is not an http:// one"
        )
    return {scheme: url for scheme, url in found.items() if url}


def _ask(parts: SplitResult, env: Mapping[str, str], seconds: float) -> dict[str, Any]:
    # urllib's handlers of redirects and errors stay out: they read bodies of any size
    opener = OpenerDirector()
    for handler in (ProxyHandler(find_proxies(env)), HTTPHandler(), HTTPSHandler()):
        opener.add_handler(handler)
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    known = {"Authorization": f"Basic {b64encode(login.encode()).decode()}"} if login != ":" else {}
    url = f"{_site_of(parts)}{parts.path}{'?' if parts.query else ''}{parts.query}"
    request = Request(url, headers=_HEADERS | known)  # noqa: S310  # parse_url lets only http and https through
    with opener.open(request, timeout=seconds) as response:
        return _read_value(response)


def _read_value(response: http.client.HTTPResponse) -> dict[str, Any]:
    if response.status != http.client.OK:
        reason = f" {shorten(response.reason, 60)}" if response.reason else ""
        reason += (
            ": name the address that it redirects to"
            if response.getheader("Location")
            else ", not 200"
        )
        raise HealthError("bad-answer", f"it answers {response.status}{reason}")

    encoding = response.getheader("Content-Encoding", "identity")
    if encoding.strip().lower() not in ("identity", ""):
        raise HealthError(
            "bad-answer", f"it compresses its answer without being asked ({shorten(encoding, 30)})"
        )

    body = response.read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise HealthError("bad-answer", f"its answer is longer than {MAX_BODY // 1024} KB")
    if response.length:
        raise HealthError("unreachable", "it closed the connection before its answer was whole")
    try:
        value = jsontext.load(jsontext.decode(body))
    except (jsontext.JsonTextError, RecursionError) as error:
        reason = error.message if isinstance(error, jsontext.JsonTextError) else "nested too deep"
        raise HealthError(
            "bad-answer", f"its answer is not JSON: {shorten(reason, 120)}"
        ) from error

    if not isinstance(value, dict):
        raise HealthError("bad-answer", "its answer is JSON, but no object")
    return value
