"""Which addresses may be asked, and where a redirect may lead: URLs taken apart. Pure; it opens no connection."""

from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from checkpoint_git.core.terminal_text import escape_controls, shorten

DEFAULT_PATH = "/api/health"
_PORTS = {"http": 80, "https": 443}
_SHOWN = 200  # characters


class Address(NamedTuple):
    """One http or https URL. host: lower case, no brackets. path: with the query. login: "user:password" or ""."""

    scheme: str
    host: str
    port: int
    path: str
    login: str = ""

    @property
    def site(self) -> str:
        """The address without path and login, as people read it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"

    @property
    def shown(self) -> str:
        """The address for people: login and query may hold a secret, and are left out."""
        path, question, _ = self.path.partition("?")
        return shorten(f"{self.site}{path}{'?...' if question else ''}", _SHOWN)


class AddressError(ValueError):
    """An address that is not asked; its text says why, and never holds a login."""


def parse_address(url: str, path: str = DEFAULT_PATH) -> Address:
    """A URL taken apart. path: what is meant where it has none. Raises AddressError."""
    if not url.isascii() or not url.isprintable() or " " in url:
        raise AddressError("it holds blanks, control characters or letters that belong percent-encoded")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise AddressError("its host or port cannot be read") from error
    if parts.scheme not in _PORTS:
        kind = f"{shorten(parts.scheme, 20)}: addresses are never asked" if parts.scheme else "it names no scheme"
        raise AddressError(f"{kind}; http:// and https:// are")
    if not parts.hostname or port == 0 or "\\" in parts.netloc:
        raise AddressError("its host or port cannot be read")
    if parts.query:
        path = f"{parts.path or '/'}?{parts.query}"
    elif parts.path not in ("", "/"):
        path = parts.path
    user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    return Address(parts.scheme, parts.hostname, port or _PORTS[parts.scheme], path, "" if user == ":" else user)


def follow_redirect(address: Address, location: str) -> Address:
    """Where a server's Location leads: on the same host and port, or from http to https there. Raises AddressError.

    The login goes along, since the host is the same; a login that the server names is not taken.
    """
    try:
        joined = urljoin(f"{address.site}{address.path}", location.strip(" \t"))
    except ValueError as error:
        raise AddressError("it redirects to an address that cannot be read") from error
    try:
        target = parse_address(joined, "/")
    except AddressError as error:
        raise AddressError(f"it redirects to {_scheme_of(joined)}, which is not followed: {error}") from error
    if not _is_same_site(address, target):
        raise AddressError(f"it redirects to {escape_controls(shorten(target.site, 80))}, which is not followed")
    return target._replace(login=address.login)


def _is_same_site(address: Address, target: Address) -> bool:
    if target.host != address.host:
        return False
    if target.scheme == address.scheme:
        return target.port == address.port
    upgraded = (address.scheme, target.scheme) == ("http", "https")
    return upgraded and (target.port == address.port or (address.port, target.port) == (80, 443))


def _scheme_of(url: str) -> str:
    scheme, colon, _ = url.partition(":")
    return f"a {escape_controls(shorten(scheme, 20))}: address" if colon else "an address without a scheme"
