"""What may be written in `configs/providers.json`, and what is said about what may not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from prompt_evaluator.errors import InputError, InputNotFoundError
from prompt_evaluator.harness.entries import read_entries

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.harness import ConfigEntry


def _read(folder: Path, written: bytes | str | list[Any]) -> tuple[ConfigEntry, ...]:
    text = json.dumps(written, indent=1) if isinstance(written, list) else written
    path = folder / "providers.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_entries(path)


def test_an_entry_needs_an_id_and_nothing_else(tmp_path: Path) -> None:
    (entry,) = _read(tmp_path, [{"id": "a"}])

    assert (entry.id, entry.retries, entry.target, entry.params, entry.entry) == ("a", 0, None, {}, {"id": "a"})


def test_what_is_not_a_label_is_a_parameter_and_the_entry_stays_as_it_is_written(tmp_path: Path) -> None:
    written = {
        "id": "a", "label": "x", "provider": "p", "router": "r", "model": "m", "target": "openai/gpt-4o",
        "retries": 3, "temperature": 0.2, "retrieval": True, "retryDelayMs": 5, "nothing": None,
    }  # fmt: skip

    (entry,) = _read(tmp_path, [written])

    assert (entry.provider, entry.router, entry.model, entry.target) == ("p", "r", "m", "openai/gpt-4o")
    assert entry.retries == 3
    assert entry.params == {"temperature": 0.2, "retrieval": True, "retryDelayMs": 5}
    assert entry.entry == written


def test_the_hash_changes_with_any_value_and_not_with_the_order_of_keys(tmp_path: Path) -> None:
    (one,) = _read(tmp_path, '[{"id": "a", "x": {"p": 1, "q": 2}}]')
    (same,) = _read(tmp_path, '[{"x": {"q": 2, "p": 1}, "id": "a"}]')
    (other,) = _read(tmp_path, '[{"id": "a", "x": {"p": 1, "q": 3}}]')

    assert one.hash == same.hash != other.hash


def test_the_entries_of_this_repository_can_be_read(request: pytest.FixtureRequest) -> None:
    entries = read_entries(request.config.rootpath / "evals/configs/providers.json")

    assert {entry.id: entry.retries for entry in entries} == {
        "baseline": 2,
        "low-temperature": 1,
        "fallback-router": 3,
    }


def test_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    assert len(_read(tmp_path, b'\xef\xbb\xbf[{"id": "a"}]')) == 1


@pytest.mark.parametrize(
    "name", ["maxRetries", "max_retries", "retry", "Retries", "retires", "retrys", "retriesMax", "tries", "attempts"]
)
def test_a_misspelt_retries_is_an_error_that_says_what_to_write(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=rf"providers.json:4: The entry 'a': .*'{name}'. Write `retries`"):
        _read(tmp_path, [{"id": "a", name: 2}])


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("", "providers.json:1: The file contains null, not a list"),
        ("{}", "providers.json:1: The file contains a mapping, not a list"),
        ("[]", "The list has no configuration"),
        ("[{", "Invalid JSON at line 1: it ends in the middle of a value"),
        ('[{"id": "a"},]', "a trailing comma"),
        (b'[\n{"id": "\xff"}]', "Line 2 is not UTF-8"),
        ('[{"id": "a"}]'.encode("utf-16"), "UTF-16"),
        ('[{"id": "a", "x": NaN}]', "NaN is not a JSON value"),
        ('[{"id": "a", "x": 1e999}]', "too large"),
        (f'[{{"id": "a", "x": {"9" * 5_000}}}]', "an integer of 5,000 digits"),
        (f'[{{"id": "a", "x": {"[" * 100_000}}}]', "nested"),
        ('[{"id": "a", "x": 1, "x": 2}]', "the key 'x' appears twice"),
        ('["a"]', "The entry at index 0: it is the text 'a', not an object"),
        ("[null]", "The entry at index 0: it is null, not an object"),
        ([{"id": "a"}, {"model": "m"}], "providers.json:5: The entry at index 1: it has no `id`"),
        ([{"id": 7}], "its `id` is the number 7, not a text. Write it in quotes."),
        ([{"id": " "}], "its `id` is an empty text"),
        ([{"id": "a "}], "begins or ends with a space"),
        ([{"id": "a\nb"}], "a character that cannot be seen"),
        ([{"id": "a" * 201}], "its `id` has 201 characters"),
        ([{"id": "a"}, {"id": "a"}], "providers.json:6: The id 'a' is used twice (first at line 2)"),
        ([{"id": "a", "retries": -1}], "providers.json:4: The entry 'a': `retries` has to be a whole number from 0"),
        ([{"id": "a", "retries": 100}], "not the number 100"),
        ([{"id": "a", "retries": True}], "not the boolean true"),
        ([{"id": "a", "retries": "2"}], "not the text '2'"),
        ([{"id": "a", "retries": 1.5}], "not the number 1.5"),
        ([{"id": "a", "provider": ["p"]}], "`provider` is a list, not a text"),
        ([{"id": "a", "target": ""}], "`target` is empty. Write PROVIDER/MODEL"),
        ([{"id": "a", "apiKey": "k"}], "'apiKey' looks like a secret"),
        ([{"id": "a", "headers": [{"Authorization": "k"}]}], "'Authorization' looks like a secret"),
    ],
)
def test_a_wrong_file_is_an_error_that_names_the_place(
    tmp_path: Path, written: bytes | str | list[Any], words: str
) -> None:
    with pytest.raises(InputError) as raised:
        _read(tmp_path, written)

    assert words in str(raised.value)
    assert str(tmp_path / "providers.json") in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputNotFoundError, match=r"providers\.json: file not found"):
        read_entries(tmp_path / "providers.json")
