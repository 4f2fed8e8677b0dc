"""Datasets read in one pass: the cases as they come, hash and count after the last."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
from opened_files import opened

from prompt_evaluator.datasets import DatasetReader, file_hash, load_dataset, open_dataset, survey
from prompt_evaluator.datasets.duplicates import IdFilter
from prompt_evaluator.errors import InputError, InputNotFoundError
from prompt_evaluator.model import TestCase

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.datasets.conftest import Write

FILES = {
    "d.jsonl": '{"id": "a", "input": "x", "k": 1}\n{"id": "b", "input": "y"}\n',
    "d.yaml": "- {id: a, input: x, k: 1}\n- {id: b, input: y}\n",
    "d.json": '[{"id": "a", "input": "x", "k": 1}, {"id": "b", "input": "y"}]',
}


def lines(count: int) -> str:
    return "".join(f'{{"id": "case-{n}", "input": "x", "padding": "{"p" * 40}"}}\n' for n in range(count))


@pytest.mark.parametrize("name", FILES)
def test_what_a_reader_says_after_the_last_case_is_what_open_dataset_says(write: Write, name: str) -> None:
    path = write(name, FILES[name])
    dataset, reader = open_dataset(path), DatasetReader(path)

    assert list(reader) == list(dataset.cases)
    for field in ("name", "path", "hash", "count", "format", "dialect", "description"):
        assert getattr(reader, field) == getattr(dataset, field)


@pytest.mark.parametrize("name", FILES)
def test_the_hash_of_a_file_is_the_one_that_its_readers_compute(write: Write, name: str) -> None:
    path = write(name, FILES[name])
    reader = DatasetReader(path)
    list(reader)

    assert file_hash(path) == reader.hash == survey(path).hash == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_hash_of_a_file_longer_than_a_block_is_of_all_of_it(write: Write) -> None:
    path = write("d.jsonl", lines(40_000))

    assert file_hash(path) == load_dataset(path)[1]["hash"]


@pytest.mark.parametrize("name", FILES)
def test_making_a_reader_reads_nothing(write: Write, name: str) -> None:
    path = write(name, "{[")
    with opened(path) as times:
        reader = DatasetReader(path)

    assert len(times) == 0
    with pytest.raises(InputError):
        list(reader)


@pytest.mark.parametrize("name", ["missing.jsonl", "missing.yaml"])
def test_a_missing_file_is_refused_before_anything_is_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputNotFoundError, match="file not found"):
        DatasetReader(tmp_path / name)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "read", [lambda path: list(DatasetReader(path)), open_dataset, survey], ids=["reader", "open_dataset", "survey"]
)
def test_a_file_is_opened_once(write: Write, name: str, read: Callable[[Path], object]) -> None:
    path = write(name, FILES[name])
    with opened(path) as times:
        read(path)

    assert len(times) == 1


def test_many_ids_that_differ_do_not_have_the_file_read_again(write: Write) -> None:
    # Among 200,000 ids about 150 share a place in the bitmap with another.
    path = write("d.jsonl", "".join(f'{{"id":"{n}","input":"x"}}\n' for n in range(200_000)))
    reader = DatasetReader(path)
    with opened(path) as times:
        assert sum(1 for _ in reader) == reader.count == 200_000

    assert len(times) == 1


def test_cases_before_a_problem_are_given_out_and_then_it_is_raised(write: Write) -> None:
    reader = iter(DatasetReader(write("d.jsonl", lines(20_000) + '{"id": "last"}\n')))

    assert next(reader).id == "case-0"
    with pytest.raises(InputError, match="Record at line 20001 is missing required field: input"):
        list(reader)


def test_equal_ids_in_a_file_that_was_replaced_meanwhile_are_refused_as_a_change(write: Write) -> None:
    path = write("d.jsonl", lines(10_000) + '{"id": "case-7", "input": "again"}\n')
    reader = iter(DatasetReader(path))
    next(reader)

    other = write("other.jsonl", lines(3))
    other.replace(path)

    with pytest.raises(InputError, match="The dataset changed while it was in use"):
        list(reader)


def test_a_file_that_grows_while_it_is_read_is_what_was_read_of_it(write: Write) -> None:
    path = write("d.jsonl", lines(20_000))
    reader = DatasetReader(path)
    cases = iter(reader)
    next(cases)
    with path.open("a") as file:
        file.write('{"id": "late", "input": "x"}\n')
    ids = [case.id for case in cases]
    read = path.read_bytes()
    with path.open("a") as file:
        file.write('{"id": "too late", "input": "x"}\n')

    assert ids[-1] == "late"
    assert reader.count == 20_001
    assert reader.hash == hashlib.sha256(read).hexdigest() != file_hash(path)


def test_a_reader_goes_over_its_file_once(write: Write) -> None:
    reader = DatasetReader(write("d.jsonl", FILES["d.jsonl"]))
    list(reader)

    with pytest.raises(RuntimeError, match="once"):
        list(reader)


def test_a_reader_can_give_all_cases_again(write: Write) -> None:
    reader = DatasetReader(write("d.jsonl", FILES["d.jsonl"]))
    list(reader)

    assert [case.id for case in reader.again()] == ["a", "b"]


def test_only_ids_that_were_added_twice_are_repeated() -> None:
    ids = IdFilter()
    ids.add([TestCase(id=str(n), input="x") for n in range(100_000)])
    ids.add([TestCase(id=name, input="x") for name in ("7", "new", "99999", "7")])

    assert ids.repeated() == {"7", "99999"}
