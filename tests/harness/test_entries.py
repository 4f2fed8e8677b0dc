"""What may be written in `configs/providers.json`, and what is said about what may not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from entries import each

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


WRONG: dict[str, tuple[bytes | str | list[Any], str]] = {
    "empty": ("", "providers.json:1: The file is not a list of configurations"),
    "an empty list": ("[]", "The file is not a list of configurations"),
    "cut off": ("[{", "Invalid JSON at line 1: it ends in the middle of a value"),
    "not UTF-8": (b'[\n{"id": "\xff"}]', "Line 2 is not UTF-8"),
    "too deep": (f'[{{"id": "a", "x": {"[" * 100_000}}}]', "nested"),
    "a key twice": ('[{"id": "a", "x": 1, "x": 2}]', "the key 'x' appears twice"),
    "a text as an entry": ('["a"]', "Entry 1 is a text, not an object"),
    "no id": ([{"id": "a"}, {"model": "m"}], "providers.json:5: Entry 2 has no `id`"),
    "an empty id": ([{"id": ""}], "Entry 1: `id` has to be at least 1 character long"),
    "an id with a line break": ([{"id": "a\nb"}], "characters that cannot be seen"),
    "an id twice": ([{"id": "a"}, {"id": "a"}], "Entry 2 has the id 'a' of an earlier one"),
    "retries below 0": ([{"id": "a", "retries": -1}], "Entry 1: `retries` has to be at least 0"),
    "too many retries": ([{"id": "a", "retries": 100}], "Entry 1: `retries` has to be at most 99"),
    "a list as a label": ([{"id": "a", "provider": ["p"]}], "Entry 1: `provider` is a list, not a text"),
    "a secret inside": ([{"id": "a", "headers": [{"Authorization": "k"}]}], "'Authorization' looks like a secret"),
}


@each(("written", "words"), WRONG.values(), ids=WRONG)
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
