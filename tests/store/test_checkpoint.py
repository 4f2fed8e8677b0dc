"""The log of a file is copied into it when a run's writer ends, not when somebody waits for the store to close."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import RunRecord, Unit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def write(store: Store, record: Callable[..., RunRecord], unit: Callable[..., Unit], kilobytes: int) -> None:
    made = record()
    store.create_run(made, [])
    writer = store.writer(made.plan.run_id)
    for at in range(kilobytes):
        writer.put(unit(name=b"%d" % at, data=b"x" * 1_024))
    writer.close()


def join() -> int:
    """Wait for copies under way; return how many there were."""
    threads = [thread for thread in threading.enumerate() if thread.name == "checkpoint"]
    for thread in threads:
        thread.join()
    return len(threads)


def in_the_file_itself(path: Path) -> int:
    """How many units are in the file, whatever its log says."""
    copy = path.with_name("copy.db")
    copy.write_bytes(path.read_bytes())
    reader = sqlite3.connect(copy)
    try:
        (count,) = reader.execute("SELECT count(*) FROM units").fetchone()
        return int(count)
    finally:
        reader.close()


def test_a_long_log_is_copied_before_the_store_is_closed(
    path: Path, record: Callable[..., RunRecord], unit: Callable[..., Unit]
) -> None:
    store = Store.open(path)
    write(store, record, unit, 3_000)
    join()

    assert in_the_file_itself(path) == 3_000
    store.close()
    assert in_the_file_itself(path) == 3_000


def test_a_short_log_is_left_to_the_close(
    path: Path, record: Callable[..., RunRecord], unit: Callable[..., Unit]
) -> None:
    store = Store.open(path)
    write(store, record, unit, 3)

    assert join() == 0
    store.close()
    assert in_the_file_itself(path) == 3


def test_closing_the_store_at_once_waits_for_the_copy(
    path: Path, record: Callable[..., RunRecord], unit: Callable[..., Unit]
) -> None:
    store = Store.open(path)
    write(store, record, unit, 3_000)
    store.close()

    assert join() == 0
    assert not path.with_name("store.db-wal").exists()
    assert in_the_file_itself(path) == 3_000


def test_others_write_while_a_log_is_copied(
    path: Path, record: Callable[..., RunRecord], unit: Callable[..., Unit]
) -> None:
    store = Store.open(path)
    write(store, record, unit, 3_000)
    store.create_run(record("run-0002"), [])
    store.close()

    again = Store.open(path)
    assert len(again.runs()) == 2
    assert len(again.units("run-0001", ["case-0"])["case-0"]) == 3_000
    again.close()
