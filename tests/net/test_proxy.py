"""Which proxy the environment names, and for whom it does not count."""

import pytest

from checkpoint_git.net.address import AddressError, parse_address
from checkpoint_git.net.proxy import find_proxy, is_exempt

APP = parse_address("https://api.app.example:8443/x")
PLAIN = parse_address("http://app.example/x")


def test_no_variable_means_straight_ahead() -> None:
    assert find_proxy(APP, {}) is None
    assert find_proxy(APP, {"https_proxy": ""}) is None


def test_each_scheme_has_its_own_variable() -> None:
    env = {"http_proxy": "http://one:1", "HTTPS_PROXY": "http://two:2"}
    assert [(found.host, found.port) for one in (PLAIN, APP) if (found := find_proxy(one, env))] == [
        ("one", 1),
        ("two", 2),
    ]


def test_a_proxy_needs_no_scheme_and_may_have_a_login() -> None:
    proxy = find_proxy(APP, {"all_proxy": "ada:secret@proxy.example:3128"})
    assert proxy is not None
    assert (proxy.host, proxy.port, proxy.login) == ("proxy.example", 3128, "ada:secret")


def test_http_proxy_in_capitals_does_not_count() -> None:
    assert find_proxy(PLAIN, {"HTTP_PROXY": "http://evil:1"}) is None


@pytest.mark.parametrize("url", ["socks5://proxy:1080", "https://proxy:443", "http://[x", "http://proxy:port"])
def test_a_proxy_that_cannot_be_used_is_said_and_not_passed_by(url: str) -> None:
    with pytest.raises(AddressError, match="proxy"):
        find_proxy(APP, {"all_proxy": url})
    assert find_proxy(APP, {"all_proxy": url, "no_proxy": "app.example"}) is None


@pytest.mark.parametrize(
    ("exempt", "is_so"),
    [
        ("*", True),
        ("app.example", True),
        (".app.example", True),
        ("API.App.Example", True),
        ("other.example, app.example:8443", True),
        ("app.example:443", False),
        ("pp.example", False),
        ("www.api.app.example", False),
        ("", False),
        (" , ,", False),
    ],
)
def test_no_proxy_names_hosts_and_domains(exempt: str, is_so: bool) -> None:
    assert is_exempt(APP, exempt) is is_so


def test_no_proxy_may_name_an_ipv6_address() -> None:
    address = parse_address("http://[::1]:8080/")
    assert is_exempt(address, "::1")
    assert is_exempt(address, "[::1]")
    assert is_exempt(address, "[::1]:8080")
    assert not is_exempt(address, "[::1]:81")
