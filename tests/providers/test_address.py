"""Addresses as people write them, and the requests that are made of them."""

from __future__ import annotations

from base64 import b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.providers.transport.address import Address

BAD = {"CR": "\r", "LF": "\n", "CR and LF": "\r\nX-Evil: 1", "NUL": "\0", "DEL": "\x7f", "line separator": "\u2028"}


def request_line(address: Address) -> str:
    return address.head({}).split(b"\r\n")[0].decode()


def sent(address: Address, headers: dict[str, str] | None = None) -> list[str]:
    """The headers that go over the wire."""
    return address.head(headers or {}).decode().split("\r\n")[1:-1]


PARSED = {
    "http://host": ("http", "host", 80, ""),
    "https://host": ("https", "host", 443, ""),
    "https://host/": ("https", "host", 443, "/"),
    "http://host:8080/v1": ("http", "host", 8080, "/v1"),
    "http://host:/v1": ("http", "host", 80, "/v1"),
    "https://host:80": ("https", "host", 80, ""),
    "HTTPS://API.Example.COM/V1": ("https", "api.example.com", 443, "/V1"),
    "  http://host/v1 \n": ("http", "host", 80, "/v1"),
    "http://127.0.0.1:1": ("http", "127.0.0.1", 1, ""),
    "http://[::1]": ("http", "::1", 80, ""),
    "http://[2001:DB8::1]:8080/v1": ("http", "2001:db8::1", 8080, "/v1"),
    "http://host/v1#part": ("http", "host", 80, "/v1"),
}


@pytest.mark.parametrize(("text", "expected"), PARSED.items(), ids=list(PARSED))
def test_an_address_is_split_into_its_parts(text: str, expected: tuple[str, str, int, str]) -> None:
    address = Address.parse(text)

    assert (address.scheme, address.host, address.port, address.path) == expected
    assert address.tls == text.strip().lower().startswith("https")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host",
        "host:80",
        "localhost:8080/v1",
        "/v1",
        "//host/v1",
        "ftp://host",
        "file:///etc/passwd",
        "http://",
        "http:///v1",
        "http://:80",
        "http://user@",
        "http:host",
        "http://host:port",
        "http://host:-1",
        "http://host:0",
        "http://host:65536",
        "http://host:80:80",
        "http://host: 80",
        "http://ho st/v1",
        "http://[::1",
        "http://::1]",
        "http://a\u2100b",
    ],
)
def test_anything_but_a_web_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        Address.parse(text)


@pytest.mark.parametrize("bad", BAD.values(), ids=list(BAD))
@pytest.mark.parametrize(
    "text", ["http://ho{}st/", "http://u{}:p@h/", "http://h/a{}b", "http://h/?a={}b", "ht{}tp://h"]
)
def test_an_address_with_a_line_break_is_refused(text: str, bad: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        Address.parse(text.format(bad))


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("http://h", "/"),
        ("http://h?a=b", "/?a=b"),
        ("http://h/", "/"),
        ("http://h//a//b/", "//a//b/"),
        ("http://h/a/../b", "/a/../b"),
        ("http://h/a b", "/a%20b"),
        ("http://h/a%20b%2Fc", "/a%20b%2Fc"),
        ("http://h/100%", "/100%"),
        ("http://h/größe/日本", "/gr%C3%B6%C3%9Fe/%E6%97%A5%E6%9C%AC"),
        ("http://h/a:b@c!$&'()*+,;=~-._", "/a:b@c!$&'()*+,;=~-._"),
        ('http://h/"<>\\^`{|}', "/%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("http://h/v1?api-version=2024-10-21", "/v1?api-version=2024-10-21"),
        ("http://h/?a=1&a=2&&b&c=&=d", "/?a=1&a=2&&b&c=&=d"),
        ("http://h/?sig=a%2Bb%2F%3D%3d&x=a+b", "/?sig=a%2Bb%2F%3D%3d&x=a+b"),
        ("http://h/?u=http://x/?y&z=a?b/c", "/?u=http://x/?y&z=a?b/c"),
        ("http://h/?a=ä b", "/?a=%C3%A4%20b"),
        ("http://h/?a=%FF", "/?a=%FF"),
    ],
)
def test_path_and_query_are_sent_as_they_were_written(text: str, target: str) -> None:
    assert request_line(Address.parse(text)) == f"POST {target} HTTP/1.1"


@pytest.mark.parametrize(
    ("base", "target"),
    [
        ("http://h", "/chat/completions"),
        ("http://h/", "/chat/completions"),
        ("http://h/v1", "/v1/chat/completions"),
        ("http://h/v1///", "/v1/chat/completions"),
        ("http://h/v1/?a=b", "/v1/chat/completions?a=b"),
        ("http://h/my%20path/", "/my%20path/chat/completions"),
    ],
)
def test_a_path_below_keeps_the_path_and_the_query(base: str, target: str) -> None:
    assert request_line(Address.parse(base).below("/chat/completions")) == f"POST {target} HTTP/1.1"


@pytest.mark.parametrize(
    ("query", "more", "expected"),
    [
        ("", {}, ""),
        ("a=1", {}, "a=1"),
        ("", {"a": "1"}, "a=1"),
        ("a=1", {"b": "2"}, "a=1&b=2"),
        ("a=1&b=2&a=3", {"a": "4"}, "b=2&a=4"),
        ("api%2Dversion=1", {"api-version": "2"}, "api-version=2"),
        ("a+b=1", {"a b": "2"}, "a+b=2"),
        ("A=1", {"a": "2"}, "A=1&a=2"),
        ("flag&sig=a%2Bb%20c%FF", {"b": "2"}, "flag&sig=a%2Bb%20c%FF&b=2"),
        ("", {"a b": "c&d=e\r\n?#é"}, "a+b=c%26d%3De%0D%0A%3F%23%C3%A9"),
    ],
)
def test_values_of_the_query_take_the_place_of_those_of_the_same_name(
    query: str, more: dict[str, str], expected: str
) -> None:
    assert Address.parse(f"http://h/?{query}").with_query(more).query == expected


def test_the_query_can_be_read_as_names_and_values() -> None:
    address = Address.parse("http://h/?key=a%2Bb+c&flag&key=")

    assert address.values == [("key", "a+b c"), ("flag", ""), ("key", "")]


@pytest.mark.parametrize(
    ("text", "login"),
    [
        ("http://user:secret@h", "user:secret"),
        ("http://user@h", "user:"),
        ("http://:secret@h", ":secret"),
        ("http://us%40er:p%40ss%3Aw%2Ford@h", "us@er:p@ss:w/ord"),
        ("http://user:p@ss@h", "user:p@ss"),
        ("http://us+er:a+b@h", "us+er:a+b"),
        ("http://usér:pä%C3%A4@h", "usér:pää"),
    ],
)
def test_a_login_in_the_address_is_sent_as_a_header_and_nowhere_else(text: str, login: str) -> None:
    address = Address.parse(text)
    headers = sent(address)

    assert headers[0] == "Host: h"
    assert b64decode(headers[1].removeprefix("Authorization: Basic ")).decode() == login
    assert len(headers) == 2
    assert request_line(address) == "POST / HTTP/1.1"
    assert address.origin == "http://h:80"


@pytest.mark.parametrize("text", ["http://h", "http://@h", "http://:@h"])
def test_without_a_login_there_is_no_header(text: str) -> None:
    assert sent(Address.parse(text)) == ["Host: h"]


@pytest.mark.parametrize("name", ["Authorization", "AUTHORIZATION"])
def test_two_logins_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="login"):
        Address.parse("http://user:secret@h").head({name: "Bearer x"})


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("http://h", "h"),
        ("http://h:80", "h"),
        ("https://h:443", "h"),
        ("http://h:443", "h:443"),
        ("https://h:80", "h:80"),
        ("http://[::1]", "[::1]"),
        ("http://[::1]:80", "[::1]"),
        ("http://[::1]:8080", "[::1]:8080"),
        ("http://MÜNCHEN.example", "xn--mnchen-3ya.example"),
        ("https://例え.テスト:8443", "xn--r8jz45g.xn--zckzah:8443"),
        ("http://my_host.internal.", "my_host.internal."),
    ],
)
def test_the_host_is_sent_as_servers_expect_it(text: str, host: str) -> None:
    assert sent(Address.parse(text)) == [f"Host: {host}"]


@pytest.mark.parametrize("text", ["http://a..b", "http://.a", f"http://{'a' * 64}.b", "http://\U0001f600\ufffd.b"])
def test_an_invalid_host_is_refused_when_it_is_used(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        Address.parse(text).head({})


def test_headers_come_in_order_and_the_length_of_the_body_is_to_follow() -> None:
    head = Address.parse("http://h/v1").head({"X-One": "1", "X-Two": "zwei ü"})

    assert head == "POST /v1 HTTP/1.1\r\nHost: h\r\nX-One: 1\r\nX-Two: zwei ü\r\nContent-Length: ".encode()


def test_the_last_of_headers_that_differ_only_in_case_wins() -> None:
    headers = {"Accept": "a", "X-Key": "1", "accept": "b", "x-KEY": "2", "ACCEPT": "c", "host": "other"}

    assert sent(Address.parse("http://h"), headers) == ["host: other", "ACCEPT: c", "x-KEY: 2"]


@pytest.mark.parametrize("name", ["Content-Length", "content-length", "Transfer-Encoding", "TRANSFER-ENCODING"])
def test_the_length_of_the_body_is_not_for_the_user_to_say(name: str) -> None:
    assert sent(Address.parse("http://h"), {name: "5"}) == ["Host: h"]


@pytest.mark.parametrize("bad", BAD.values(), ids=list(BAD))
def test_a_header_with_a_line_break_is_refused(bad: str) -> None:
    address = Address.parse("http://h")
    for headers in ({"X": f"a{bad}b"}, {"X": bad}, {f"X{bad}": "a"}, {bad: "a"}, {"Host": f"h{bad}"}):
        with pytest.raises(ValueError, match="line break"):
            address.head(headers)


@pytest.mark.parametrize("bad", BAD.values(), ids=list(BAD))
def test_a_line_break_that_comes_by_another_way_than_the_text_is_refused(bad: str) -> None:
    address = Address.parse("http://h/v1?a=b")
    for changed in (address.below(f"/x{bad}"), address._replace(query=f"a={bad}"), address._replace(host=f"h{bad}")):
        with pytest.raises(ValueError, match=r"\S"):
            changed.head({})


@pytest.mark.parametrize("name", ["", " ", "X Y", "X:", "Content-Length ", " Transfer-Encoding", "X-É", "(x)", "X\t"])
def test_an_invalid_header_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="header"):
        Address.parse("http://h").head({name: "1"})


any_text = st.text() | st.text("htps:/[]@?#%.&=+ \r\n\0\tä。1", max_size=30)
any_address = st.builds("{}://{}{}{}".format, st.sampled_from(["http", "https", "HTTP"]), any_text, any_text, any_text)


@given(any_text | any_address)
def test_any_text_is_an_address_or_is_refused(text: str) -> None:
    try:
        address = Address.parse(text)
    except ValueError:
        return

    assert address.host
    assert 0 <= address.port < 65_536


@given(any_address, any_text, any_text, any_text, any_text)
def test_a_request_has_one_request_line_and_the_given_headers_or_is_refused(
    text: str, name: str, value: str, parameter: str, wanted: str
) -> None:
    try:
        address = Address.parse(text).with_query({parameter: wanted}).below("/v1")
        head = address.head({name: value})
    except ValueError:
        return

    lines = head.split(b"\r\n")
    method, target, version = lines[0].split(b" ")
    assert (method, version) == (b"POST", b"HTTP/1.1")
    assert target.isascii()
    assert target.startswith(b"/")
    assert lines[-1] == b"Content-Length: "
    assert 3 <= len(lines) <= 5
    assert not any(byte < 32 or byte == 127 for line in lines for byte in line)
    assert [line.partition(b":")[0].lower() for line in lines].count(b"content-length") == 1
    assert dict(address.values)[parameter] == wanted


def test_an_address_is_shown_without_its_secrets() -> None:
    address = Address.parse("https://someone:pass-word@host.test/v1?key=hidden")

    assert repr(address) == "Address(https://host.test:443)"
