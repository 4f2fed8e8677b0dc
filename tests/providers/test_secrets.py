"""Keys: where they come from, that they have no printable form, and how they are found in what is printed."""

from __future__ import annotations

import copy
import html
import json
import logging
import os
import pickle
import re
import traceback
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
import pytest
from entries import each
from service import service

from prompt_evaluator.errors import AuthenticationError, ConfigurationError
from prompt_evaluator.model import ProviderSettings, Redactor, Secret
from prompt_evaluator.providers.keys import Key, endpoint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VALUE = "sk-value-of-a-secret"


class Holder(msgspec.Struct):
    key: Secret


@dataclass
class DataHolder:
    key: Secret


SHOWN: dict[str, Callable[[Secret], object]] = {
    "repr": repr,
    "str": str,
    "an f-string": lambda secret: f"{secret} {secret!r} {secret!s} {secret:>40}",
    "format": "{:x^30}".format,
    "percent": lambda secret: "%s %r %a" % (secret, secret, secret),  # noqa: UP031 - the operator is what is tried
    "a list": lambda secret: str([secret, {secret: secret}]),
    "a struct": lambda secret: repr(Holder(secret)),
    "a dataclass": lambda secret: repr(DataHolder(secret)),
    "dir": lambda secret: str(dir(secret)),
    "JSON with a default": lambda secret: json.dumps({"key": secret}, default=str),
    "an exception": lambda secret: "".join(traceback.format_exception(ValueError(secret))),
}


@each("show", SHOWN.values(), ids=SHOWN)
def test_a_secret_has_no_printable_form(show: Callable[[Secret], object], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("any").warning("%r %s", Secret(VALUE), Secret(VALUE))

    assert VALUE not in f"{show(Secret(VALUE))} {caplog.text}"


SERIALISED: dict[str, Callable[[Secret], object]] = {
    "json": json.dumps,
    "msgspec": msgspec.json.encode,
    "msgspec in a struct": lambda secret: msgspec.json.encode(Holder(secret)),
    "msgpack": msgspec.msgpack.encode,
    "builtins": msgspec.to_builtins,
    "pickle": pickle.dumps,
    "pickle in a list": lambda secret: pickle.dumps([secret]),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "asdict": lambda secret: asdict(DataHolder(secret)),
    "vars": vars,
    "its state": lambda secret: secret.__getstate__(),
}


@each("serialise", SERIALISED.values(), ids=SERIALISED)
def test_a_secret_cannot_be_serialised(serialise: Callable[[Secret], object]) -> None:
    with pytest.raises(TypeError) as caught:
        serialise(Secret(VALUE))

    assert VALUE not in "".join(traceback.format_exception(caught.value))


def test_secrets_are_equal_when_their_values_are() -> None:
    assert Secret(VALUE) == Secret(VALUE)
    assert Secret(VALUE) != Secret("another-value")
    assert len({Secret(VALUE), Secret(VALUE)}) == 1
    assert Secret(VALUE) != VALUE
    assert not Secret("")
    assert Secret(VALUE).reveal() == VALUE


def knowing(*values: str) -> Redactor:
    redactor = Redactor()
    for value in values:
        redactor.add(value)
    return redactor


AWKWARD = "k/e+y=<&>\"\\'%~42ü"


FORMS = {
    "plain": AWKWARD,
    "URL": quote(AWKWARD, safe=""),
    "URL path": quote(AWKWARD),
    "URL in lower case": re.sub("%..", lambda code: code[0].lower(), quote(AWKWARD, safe="")),
    "text of HTML": html.escape(AWKWARD, quote=False),
    "HTML": html.escape(AWKWARD),
    "JSON": json.dumps(AWKWARD)[1:-1],
    "JSON in JSON": json.dumps(json.dumps(AWKWARD)[1:-1])[1:-1],
    "PHP's JSON": json.dumps(AWKWARD)[1:-1].replace("/", "\\/"),
    "JSON codes": "".join(f"\\u{ord(character):04x}" for character in AWKWARD),
    "JSON codes in capitals": "".join(f"\\u{ord(character):04X}" for character in AWKWARD),
    "JSON codes in JSON": "".join(f"\\\\u{ord(character):04x}" for character in AWKWARD),
}


@each("form", FORMS.values(), ids=FORMS)
def test_the_redactor_finds_a_secret_in_every_spelling(form: str) -> None:
    redactor = knowing(AWKWARD)

    assert redactor.text(f"a {form} b {form}") == "a [secret] b [secret]"
    assert redactor.json(msgspec.json.encode([f"ä {form} b"])) == '["ä [secret] b"]'.encode()


def test_the_redactor_masks_the_longest_secret_whole() -> None:
    redactor = knowing("abcdef-123456", "x=abcdef-123456&y=2", "123456-abcdef")

    assert redactor.text("? x=abcdef-123456&y=2 abcdef-123456") == "? [secret] [secret]"


WORDS = ["ollama", "completed", "000000", "1234567890123456", "swordfish-and-co", "judge_overall_comment"]


@each("value", [*WORDS, "", "a", "12345", "\\" * 6])
def test_a_secret_that_is_also_a_word_or_a_number_is_left_where_it_may_be_one(value: str) -> None:
    redactor = knowing(value)
    text = f"{value} run x/{value}: the {value} at http://{value}:11434/{value}, 0.{value}"

    assert redactor.text(text) == redactor.message(text) == text
    assert redactor.json(document := msgspec.json.encode({value: [text, 52.3000000123456]})) == document


LOGINS = [
    "wrong API key: HERE",
    "api_key=HERE",
    "Authorization: Bearer HERE",
    "http://someone:HERE@host",
    "GET /?sig=HERE",
]


@each(("value", "text"), [(value, text) for value in WORDS for text in LOGINS])
def test_a_message_that_speaks_of_a_login_has_no_secret_of_any_kind(value: str, text: str) -> None:
    assert knowing(value).message(f"{text.replace('HERE', value)}!") == f"{text.replace('HERE', '[secret]')}!"


@each("value", ["sk-000000000", "123e4567-e89b-12d3", "correct horse battery"])
def test_a_secret_that_looks_random_is_masked_in_strings_and_nowhere_else(value: str) -> None:
    redactor = knowing(value)
    document = {"text": f"it's {value}", "many": [{value: 0.000000001, "n": 2**70, "none": None}], value: value}

    masked = msgspec.json.decode(redactor.json(msgspec.json.encode(document)))

    many = [{"[secret]": 0.000000001, "n": 2**70, "none": None}]
    assert masked == {"text": "it's [secret]", "many": many, "[secret]": "[secret]"}


def test_the_redactor_leaves_other_text_as_it_is_and_is_quick_with_hostile_text() -> None:
    text = 'C:\\\\users\\u00e4 \\/ \\n "quoted" %2F &amp; sk-something-471'
    redactor = knowing("sk-something-4711", "//////////1a")

    assert redactor.text(text) == redactor.message(text) == text
    assert redactor.text("\\" * 1_000_000) == "\\" * 1_000_000


def key_of(environment: dict[str, str], **settings: Any) -> Key:
    return Key("svc", ProviderSettings(kind="openai", **settings), environment)


def test_a_missing_key_is_an_error_that_names_the_variable_or_the_file_unless_it_is_not_needed(tmp_path: Path) -> None:
    with pytest.raises(AuthenticationError, match=r"svc: no key\. Set MY_KEY\.") as caught:
        key_of({}, api_key_env="MY_KEY").resolve()
    with pytest.raises(AuthenticationError, match=r"absent\.txt"):
        key_of({}, api_key_file=str(tmp_path / "absent.txt")).resolve()

    assert caught.value.provider == "svc"
    assert key_of({}, api_key_env="MY_KEY", key_required=False).resolve() is None
    assert key_of({}).resolve() is None


def test_white_space_around_a_key_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("  sk-in-a-file\n\n")

    assert key_of({}, api_key_file=str(path)).resolve() == Secret("sk-in-a-file")
    assert key_of({"MY_KEY": " sk-in-env\r\n"}, api_key_env="MY_KEY").resolve() == Secret("sk-in-env")


@each("value", ["sk-two\nlines-x", "sk-nul\0inside", "sk-ünicode-x", "sk-\x1bescape"])
def test_what_cannot_be_a_key_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(AuthenticationError, match="MY_KEY") as caught:
        key_of({"MY_KEY": value}, api_key_env="MY_KEY").resolve()

    assert value[:6] not in str(caught.value)


def test_a_key_shows_where_it_comes_from_and_keeps_no_readable_copy() -> None:
    key = key_of({"MY_KEY": VALUE}, api_key_env="MY_KEY")
    key.resolve()

    assert (key.source, key.present) == ("MY_KEY", True)
    assert VALUE not in str({name: value for name, value in vars(key).items() if name != "_environment"})


async def test_a_missing_key_makes_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_MISSING_KEY", raising=False)
    async with service("openai", api_key_env="TEST_MISSING_KEY", key_required=True) as svc:
        with pytest.raises(AuthenticationError, match="TEST_MISSING_KEY"):
            await svc.ask()

    assert svc.server.received == []


@each("source", ["variable", "file"])
async def test_a_key_that_changes_between_calls_is_sent_as_it_is_then(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    settings: dict[str, Any] = (
        {"api_key_env": "TEST_CHANGING_KEY"} if source == "variable" else {"api_key_file": str(path)}
    )
    async with service("openai", **settings) as svc:
        for value in ("sk-first-key", "sk-second-key"):
            monkeypatch.setenv("TEST_CHANGING_KEY", value)
            path.write_text(value + "\n")
            await svc.ask()

    sent = [request.headers["authorization"] for request in svc.server.received]
    assert sent == ["Bearer sk-first-key", "Bearer sk-second-key"]


def test_a_key_file_that_has_not_changed_for_long_is_read_again_when_it_is_replaced_or_deleted(tmp_path: Path) -> None:
    path, new = tmp_path / "key", tmp_path / "new"
    key = key_of({}, api_key_file=str(path))
    for at, value in enumerate(("sk-key-1", "sk-key-2", "sk-key-3")):
        new.write_text(value)
        os.utime(new, (1_000_000_000, 1_000_000_000 + at // 2))  # the second has the time and the size of the first
        new.replace(path)

        assert key.resolve() == key.resolve() == Secret(value)
    path.unlink()

    with pytest.raises(AuthenticationError, match="no key"):
        key.resolve()


def test_a_variable_goes_before_the_file_for_as_long_as_it_is_set(tmp_path: Path) -> None:
    path, environment = tmp_path / "key", dict[str, str]()
    path.write_text("sk-in-a-file")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    key = key_of(environment, api_key_file=str(path), api_key_env="MY_KEY")
    assert key.resolve() == Secret("sk-in-a-file")

    environment["MY_KEY"] = "sk-in-env"
    assert key.resolve() == Secret("sk-in-env")

    environment.clear()
    assert key.resolve() == Secret("sk-in-a-file")


@each(
    "address",
    ["ftp://user:HIDDEN@host", "http://user:HIDDEN@host:999999", "user:HIDDEN@host", "//host/?key=HIDDEN"],
)
def test_a_wrong_address_is_refused_without_its_secrets(address: str) -> None:
    settings = ProviderSettings(kind="openai", base_url=address.replace("HIDDEN", "never-seen-before-8231"))

    with pytest.raises(ConfigurationError, match="is not a valid address") as caught:
        endpoint("svc", settings)

    assert "never-seen" not in "".join(traceback.format_exception(caught.value))
