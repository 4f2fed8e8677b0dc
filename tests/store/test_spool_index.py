"""Where cases are in the spool."""

from __future__ import annotations

import random
from itertools import islice
from typing import TYPE_CHECKING

from prompt_evaluator.store.spool_index import SpoolIndex

if TYPE_CHECKING:
    from pathlib import Path


def test_entries_are_found_in_order_whatever_the_order_they_were_put_in(tmp_path: Path) -> None:
    index, positions = SpoolIndex(tmp_path), list(range(10_000))
    random.Random(3).shuffle(positions)

    for position in positions[:9_000]:
        index.put(position, position * 7, position + 1)
    found = list(islice(index.all(), 10_000))

    index.close()
    missing = set(positions[9_000:])
    assert found == [(0, 0) if at in missing else (at * 7, at + 1) for at in range(10_000)]


def test_the_last_entry_of_a_position_counts_in_memory_and_on_disk(tmp_path: Path) -> None:
    index = SpoolIndex(tmp_path)

    for length in (1, 2):
        for position in range(5_000):
            index.put(position, position, length)
        assert list(islice(index.all(), 5_001)) == [*((at, length) for at in range(5_000)), (0, 0)]

    index.close()


def test_an_index_without_entries_has_nothing_anywhere(tmp_path: Path) -> None:
    index = SpoolIndex(tmp_path)

    assert list(islice(index.all(), 3)) == [(0, 0)] * 3

    index.close()


def test_a_reader_that_began_before_a_flush_misses_no_earlier_entry(tmp_path: Path) -> None:
    index = SpoolIndex(tmp_path)
    for position in range(4_000):
        index.put(position, position, 1)
    reading = index.all()
    first = next(reading)

    for position in range(4_000, 9_000):
        index.put(position, position, 1)

    assert [first, *islice(reading, 3_999)] == [(at, 1) for at in range(4_000)]
    index.close()
