"""Ask a deployed server for what its health address answers. Nothing here judges the answer.

The server is untrusted: it may be slow, endless, elsewhere or no server at all.
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
_UNREADABLE = "its host or port cannot be read"
_CLOSED = "it closed the connection before its answer was whole"
_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "checkpoint-git",
}

Trouble = Literal["", "bad-url", "unreachable", "bad-answer"]


class HealthAnswer(NamedTuple):
    """What came back from a server.

    url: without login and query. value: the JSON object, {} if there is trouble.
    trouble: "bad-url" (never asked), "unreachable" (no answer), "bad-answer" (one that is not
    usable). detail: why, as half a sentence that may contain words of the server.
    """

    url: str
    value: Mapping[str, Any]
    trouble: Trouble = ""
    detail: str = ""


class HealthError(Exception):
    """There is no usable answer: the kind of trouble, and why. Its text never contains a login."""

    def __init__(self, trouble: Trouble, detail: str) -> None:
        super().__init__(detail)
        self.trouble: Trouble = trouble


def read_health(url: str, env: Mapping[str, str], seconds: float = SECONDS) -> HealthAnswer:
    """GET a health URL. Nothing that a server can do makes it raise.

    env: names proxies. seconds: for everything, from the look-up of the name to the last byte.
    """
    try:
        parts = parse_url(url)
    except HealthError as error:
        return HealthAnswer("", {}, error.trouble, str(error))

    shown = show_url(parts)
    try:
        return HealthAnswer(shown, _ask_in_thread(parts, env, seconds))
    except HealthError as error:
        return HealthAnswer(shown, {}, error.trouble, str(error))
    except Exception as error:
        return HealthAnswer(shown, {}, "unreachable", _explain(error, seconds))


def _explain(error: Exception, seconds: float) -> str:
    """Return why a server could not be asked, as half a sentence. Raises what is a bug of ours."""
    if isinstance(error, queue.Empty):
        return f"there was no complete answer within {seconds:g} seconds"
    if isinstance(error, http.client.InvalidURL | ValueError):
        return "its host, or the proxy that the environment names, cannot be read"
    if isinstance(error, http.client.IncompleteRead | ConnectionError):
        return _CLOSED
    if isinstance(error, http.client.HTTPException):
        return shorten(f"the server there does not speak HTTP ({error})", 200)
    if isinstance(error, OSError):
        cause = error.reason if isinstance(error, URLError) else error
        why = getattr(cause, "strerror", None) or cause
        return shorten(f"cannot connect to it: {why}", 200)
    raise error


def parse_url(url: str) -> SplitResult:
    """Return the parts of an http or https URL. Raises HealthError.

    One without a path gets the usual one.
    """
    if not url.isascii() or not url.isprintable() or " " in url:
        why = "it contains blanks, control characters or letters that must be percent-encoded"
        raise HealthError("bad-url", why)

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise HealthError("bad-url", _UNREADABLE) from error

    if not parts.scheme:
        raise HealthError("bad-url", "it names no scheme; http:// and https:// are")
    if parts.scheme not in _PORTS:
        scheme = shorten(parts.scheme, 20)
        why = f"{scheme}: addresses are never asked; http:// and https:// are"
        raise HealthError("bad-url", why)
    if not parts.hostname or port == 0 or "\\" in parts.netloc:
        raise HealthError("bad-url", _UNREADABLE)

    path = parts.path or "/"
    if not path.strip("/") and not parts.query:
        path = DEFAULT_PATH
    return parts._replace(path=path, fragment="")


def show_url(parts: SplitResult) -> str:
    """Return a URL for the user. Login and query may contain a secret, and are left out."""
    query = "?..." if parts.query else ""
    return shorten(f"{_site_of(parts)}{parts.path}{query}", 200)


def _site_of(parts: SplitResult) -> str:
    """Return the beginning of a URL, up to its path, without the login."""
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    if parts.port in (None, _PORTS[parts.scheme]):
        return f"{parts.scheme}://{host}"
    return f"{parts.scheme}://{host}:{parts.port}"


def find_proxies(env: Mapping[str, str]) -> dict[str, str]:
    """Return the proxies that an environment names, by scheme. Raises HealthError.

    HTTP_PROXY does not count: under a web server, a visitor chooses its value.
    """
    for_all = env.get("all_proxy") or env.get("ALL_PROXY") or ""
    found = {
        "http": env.get("http_proxy") or for_all,
        "https": env.get("https_proxy") or env.get("HTTPS_PROXY") or for_all,
    }
    if any("://" in url and not url.lower().startswith("http://") for url in found.values()):
        why = "the proxy that the environment names is not an http:// one"
        raise HealthError("unreachable", why)
    return {scheme: url for scheme, url in found.items() if url}


def _ask_in_thread(parts: SplitResult, env: Mapping[str, str], seconds: float) -> Mapping[str, Any]:
    """Ask within a time. Raises queue.Empty when that is over, and what asking raises.

    The look-up of a name cannot be stopped, so a thread does the work and is left behind: nothing
    waits for it when the process ends.
    """
    results: queue.SimpleQueue[dict[str, Any] | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            results.put(_ask(parts, env, seconds))
        except BaseException as error:  # raised again where the result is waited for
            results.put(error)

    threading.Thread(target=work, daemon=True).start()
    result = results.get(timeout=seconds)
    if isinstance(result, BaseException):
        raise result
    return result


def _ask(parts: SplitResult, env: Mapping[str, str], seconds: float) -> dict[str, Any]:
    # urllib's handlers of redirects and errors stay out: they read bodies of any size
    opener = OpenerDirector()
    for handler in (ProxyHandler(find_proxies(env)), HTTPHandler(), HTTPSHandler()):
        opener.add_handler(handler)

    headers = dict(_HEADERS)
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    if login != ":":
        headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"

    url = f"{_site_of(parts)}{parts.path}"
    if parts.query:
        url += f"?{parts.query}"
    request = Request(url, headers=headers)  # noqa: S310 - parse_url checked the scheme
    with opener.open(request, timeout=seconds) as response:
        return _read_value(response)


def _read_value(response: http.client.HTTPResponse) -> dict[str, Any]:
    """Return the JSON object that a response contains. Raises HealthError."""
    if response.status != http.client.OK:
        raise HealthError("bad-answer", f"it answers {_describe_status(response)}")

    encoding = response.getheader("Content-Encoding", "identity")
    if encoding.strip().lower() not in ("identity", ""):
        why = f"it compresses its answer without being asked ({shorten(encoding, 30)})"
        raise HealthError("bad-answer", why)

    body = response.read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise HealthError("bad-answer", f"its answer is longer than {MAX_BODY // 1024} KB")
    if response.length:
        raise HealthError("unreachable", _CLOSED)

    try:
        value = jsontext.load(jsontext.decode(body))
    except jsontext.JsonTextError as error:
        why = f"its answer is not JSON: {shorten(error.message, 120)}"
        raise HealthError("bad-answer", why) from error
    except RecursionError as error:
        raise HealthError("bad-answer", "its answer is not JSON: nested too deep") from error

    if not isinstance(value, dict):
        raise HealthError("bad-answer", "its answer is JSON, but no object")
    return value


def _describe_status(response: http.client.HTTPResponse) -> str:
    status = str(response.status)
    if response.reason:
        status += f" {shorten(response.reason, 60)}"
    if response.getheader("Location"):
        return f"{status}: name the address that it redirects to"
    return f"{status}, not 200"
