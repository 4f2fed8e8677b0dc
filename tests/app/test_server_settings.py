"""The settings of the server: what they may be, and what follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml
from entries import each

from prompt_evaluator.app.server_settings import ServerSettings, is_loopback, server_settings
from prompt_evaluator.config.loading import load_settings
from prompt_evaluator.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    from pathlib import Path


def configured(folder: Path, **server: Any) -> ServerSettings:
    (folder / "prompt_evaluator.yaml").write_text(yaml.safe_dump({"server": server}))
    return server_settings(load_settings(None, {}, {}, folder))


def test_by_default_it_listens_on_loopback_and_needs_no_tokens(tmp_path: Path) -> None:
    found = configured(tmp_path)

    assert found == ServerSettings(
        host="127.0.0.1",
        port=8080,
        allowed_hosts=(),
        public_url=None,
        runs_at_once=3,
        resume="auto",
        max_samples=100,
        max_cases=None,
        max_cost=None,
        max_calls=None,
        max_concurrency=None,
        max_queued=100,
    )
    assert not found.tokens_needed


@pytest.mark.parametrize(
    "server",
    [
        {"host": "0.0.0.0"},
        {"host": "::"},
        {"host": "evals.test"},
        {"allowed_hosts": ["evals.test"]},
        {"public_url": "https://evals.test"},
    ],
    ids=str,
)
def test_whatever_others_can_reach_needs_tokens(server: dict[str, Any], tmp_path: Path) -> None:
    assert configured(tmp_path, **server).tokens_needed


@each("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost", "LOCALHOST"])
def test_loopback_is_known_in_each_spelling(host: str) -> None:
    assert is_loopback(host)


@each("host", ["0.0.0.0", "::", "10.0.0.1", "localhost.test", "127.0.0.1.test", "127.1"])
def test_what_may_not_be_loopback_is_not(host: str) -> None:
    assert not is_loopback(host)


def test_hosts_are_in_lower_case_and_named_once(tmp_path: Path) -> None:
    found = configured(
        tmp_path, allowed_hosts=["Evals.Test", "evals.test", "b.test:8443"], public_url="https://B.test/"
    )

    assert found.allowed_hosts == ("evals.test", "b.test:8443", "b.test")
    assert found.public_url == "https://b.test"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://a.test:443", "a.test"),
        ("http://a.test:80/", "a.test"),
        ("https://a.test:80", "a.test:80"),
        ("http://[::1]:8080", "[::1]:8080"),
    ],
)
def test_the_host_of_the_public_address_is_allowed_as_browsers_send_it(url: str, host: str, tmp_path: Path) -> None:
    assert configured(tmp_path, public_url=url).allowed_hosts == (host,)


def test_a_variable_has_several_hosts_separated_by_commas(tmp_path: Path) -> None:
    settings = load_settings(None, {}, {"PROMPT_EVALUATOR_SERVER_ALLOWED_HOSTS": "A.test, b.test:81"}, tmp_path)

    assert server_settings(settings).allowed_hosts == ("a.test", "b.test:81")


WRONG: list[tuple[str, Any]] = [
    *(("allowed_hosts", [host]) for host in ("", "*", "https://a.test", "a.test/x", "a b", "a@b", "a.test:x", "a\n")),
    *(
        ("public_url", url)
        for url in ("a.test", "ftp://a.test", "https://", "https://a.test/evals", "https://u:p@a.test")
    ),
    *(("public_url", url) for url in ("https://a.test?x=1", "https://a.test#x", "https://a.test\n")),
    *(("host", host) for host in ("", "a b", "http://127.0.0.1", "127.0.0.1\n", "-a")),
    ("resume", "never"),
    ("resume", True),
    ("allowed_hosts", {"a": "b"}),
    ("allowed_hosts", "a.test"),
]


@each(("name", "value"), WRONG, ids=str)
def test_a_wrong_value_in_the_file_is_refused_with_its_line(name: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"prompt_evaluator.yaml:2: `server.{name}` has to be "):
        configured(tmp_path, **{name: value})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (name, text)
        for name, text in WRONG
        if name != "allowed_hosts"
        if isinstance(text, str) and text == text.strip() != ""
    ],
)
def test_a_wrong_value_in_a_variable_is_refused_by_its_name(name: str, text: str, tmp_path: Path) -> None:
    variable = f"PROMPT_EVALUATOR_SERVER_{name.upper()}"

    with pytest.raises(ConfigurationError, match=rf"^{variable} has to be "):
        load_settings(None, {}, {variable: text}, tmp_path)


@pytest.mark.parametrize("text", ["a.test,", ",", "a.test,https://b.test"])
def test_a_wrong_host_among_several_in_a_variable_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"^PROMPT_EVALUATOR_SERVER_ALLOWED_HOSTS has to be a list of host names"
    ):
        load_settings(None, {}, {"PROMPT_EVALUATOR_SERVER_ALLOWED_HOSTS": text}, tmp_path)
