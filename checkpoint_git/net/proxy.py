"""Which proxy stands between us and a server: the environment's own variables, as git and curl read them. Pure."""

from collections.abc import Mapping

from checkpoint_git.net.address import Address, AddressError, parse_address


def find_proxy(address: Address, env: Mapping[str, str]) -> Address | None:
    """The proxy to go through, None for straight ahead. Raises AddressError for one that we cannot use.

    http_proxy counts in small letters only: where a web server starts programs, a visitor chooses what HTTP_PROXY says.
    """
    names = ("http_proxy",) if address.scheme == "http" else ("https_proxy", "HTTPS_PROXY")
    url = next((env[name] for name in (*names, "all_proxy", "ALL_PROXY") if env.get(name)), "")
    if not url or is_exempt(address, env.get("no_proxy") or env.get("NO_PROXY") or ""):
        return None
    try:
        proxy = parse_address(url if "://" in url else f"http://{url}")
    except AddressError as error:
        raise AddressError(f"the proxy that the environment names cannot be used: {error}") from error
    if proxy.scheme != "http":
        raise AddressError("the proxy that the environment names speaks https itself, which is not supported")
    return proxy


def is_exempt(address: Address, exempt: str) -> bool:
    """Whether no_proxy names the host: "*" for all, a host or a domain above it, with or without a dot and a port."""
    for entry in exempt.lower().replace(" ", ",").split(","):
        name = entry.strip(".").removeprefix("[").replace("]", "")
        host, colon, port = name.rpartition(":")
        if colon and port.isdecimal() and name != address.host:
            if int(port) != address.port:
                continue
            name = host
        if entry == "*" or (name and (address.host == name or address.host.endswith(f".{name}"))):
            return True
    return False
