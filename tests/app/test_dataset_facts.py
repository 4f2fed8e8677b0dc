"""Facts of dataset files are read again exactly when a file changes."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.app.benchmarks import find_dataset, list_datasets
from prompt_evaluator.app.dataset_facts import DatasetFacts, DatasetFactsCache, read_facts
from prompt_evaluator.config.loading import load_settings

if TYPE_CHECKING:
    from pathlib import Path

TASK = "- {id: a, name: A, input: x, expected_output: y}\n"
AGES = 10**12
"""Nanoseconds."""


class Reads:
    """Reads files and remembers which."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.may_end = Event()
        self.may_end.set()

    def __call__(self, path: Path) -> DatasetFacts:
        self.paths.append(path.name)
        assert self.may_end.wait(60)
        return read_facts(path)


def later() -> int:
    """A clock for which every file is old."""
    return time.time_ns() + AGES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tea.yaml"
    path.write_text(f"name: Tea\ntasks:\n{TASK}")
    return path


def test_a_file_that_did_not_change_is_read_once(path: Path) -> None:
    reads = Reads()
    cache = DatasetFactsCache(reads, now=later)

    first, second = cache(path), cache(path)

    assert first is second
    assert (first.title, first.count, reads.paths) == ("Tea", 1, ["tea.yaml"])


def test_a_file_that_changed_is_read_again(path: Path) -> None:
    cache = DatasetFactsCache(now=later)
    before = cache(path)
    path.write_text(f"name: Tee\ntasks:\n{TASK}")

    assert (before.title, cache(path).title) == ("Tea", "Tee")


def test_a_file_that_was_replaced_by_one_of_the_same_size_and_time_is_read_again(path: Path) -> None:
    cache = DatasetFactsCache(now=later)
    cache(path)
    other = path.with_name("other")
    other.write_text(f"name: Tee\ntasks:\n{TASK}")
    found = path.stat()
    os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
    other.rename(path)

    assert cache(path).title == "Tee"


def test_a_file_that_was_written_just_now_is_read_again_because_a_second_change_may_not_show(path: Path) -> None:
    reads = Reads()
    written = path.stat().st_mtime_ns
    clock = iter([written + 1_000, written + 2_000, written + AGES])
    cache = DatasetFactsCache(reads, now=lambda: next(clock))

    for _ in range(4):
        cache(path)

    assert len(reads.paths) == 3


def test_a_missing_file_is_an_error_until_it_is_there(tmp_path: Path, path: Path) -> None:
    cache = DatasetFactsCache(now=later)
    missing = tmp_path / "gone.yaml"

    assert "file not found" in str(cache(missing).error)
    path.rename(missing)
    assert cache(missing).error is None


def test_only_so_many_files_are_remembered(tmp_path: Path) -> None:
    reads = Reads()
    cache = DatasetFactsCache(reads, most=2, now=later)
    paths = [tmp_path / f"{name}.yaml" for name in "abc"]
    for path in paths:
        path.write_text(f"tasks:\n{TASK}")

    for path in (*paths, paths[2], paths[1], paths[0]):
        cache(path)

    assert len(cache) == 2
    assert reads.paths == ["a.yaml", "b.yaml", "c.yaml", "a.yaml"]


def test_threads_that_ask_at_once_read_a_file_once(path: Path) -> None:
    reads = Reads()
    reads.may_end.clear()
    cache = DatasetFactsCache(reads, now=later)

    with ThreadPoolExecutor(16) as pool:
        asking = [pool.submit(cache, path) for _ in range(64)]
        reads.may_end.set()
        found = [asked.result() for asked in asking]

    assert reads.paths == ["tea.yaml"]
    assert all(each is found[0] for each in found)


def test_threads_do_not_wait_for_other_files(tmp_path: Path, path: Path) -> None:
    other = tmp_path / "coffee.yaml"
    other.write_text(f"tasks:\n{TASK}")

    def read(asked: Path) -> DatasetFacts:
        if asked == path:
            pool.submit(cache, other).result(timeout=30)
        return read_facts(asked)

    cache = DatasetFactsCache(read, now=later)
    with ThreadPoolExecutor(1) as pool:
        assert cache(path).count == 1


def test_a_failure_to_read_is_not_remembered(path: Path) -> None:
    failures = [MemoryError()]

    def read(_path: Path) -> DatasetFacts:
        if failures:
            raise failures.pop()
        return DatasetFacts(count=7)

    cache = DatasetFactsCache(read, now=later)

    with pytest.raises(MemoryError):
        cache(path)
    assert cache(path).count == 7


def test_a_file_dropped_into_the_folder_is_found_and_one_removed_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    settings = load_settings(None, {}, {}, tmp_path)
    reads = Reads()
    cache = DatasetFactsCache(reads, now=later)
    shipped = [each.name for each in list_datasets(settings, cache)]

    (folder / "tea.yaml").write_text(f"tasks:\n{TASK}")

    assert find_dataset(settings, "tea", cache).count == 1
    assert [each.name for each in list_datasets(settings, cache)] == sorted([*shipped, "tea"])
    assert len(reads.paths) == len(shipped) + 1
    (folder / "tea.yaml").unlink()
    assert [each.name for each in list_datasets(settings, cache)] == shipped
