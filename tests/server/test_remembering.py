"""What takes long to find out is found out once, however many ask, and again if it could not be."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Barrier

import pytest

from prompt_evaluator.server.remembering import Remembered


def test_what_could_not_be_made_is_made_for_the_next_who_asks() -> None:
    known: Remembered[str, int] = Remembered(8)

    def locked() -> int:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        known.get("pair", locked)
    assert known.get("pair", lambda: 4711) == 4711
    assert known.get("pair", locked) == 4711


def test_what_several_ask_for_at_once_is_made_once() -> None:
    known: Remembered[str, int] = Remembered(8)
    together, numbers = Barrier(4), count(1)

    def ask(_: int) -> int:
        together.wait()
        return known.get("pair", lambda: next(numbers))

    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(ask, range(4))] == [1] * 4


def test_what_was_not_used_for_longest_is_forgotten() -> None:
    known: Remembered[str, str] = Remembered(2)
    for name in ("a", "b", "a", "c"):
        known.get(name, lambda name=name: name)  # type: ignore[misc]

    assert [name in known for name in "abc"] == [True, False, True]
