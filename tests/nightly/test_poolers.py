"""A pooler that shares sessions is refused, because a session holds a run; one that does not is as good as none."""

from __future__ import annotations

import tempfile
import threading
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from pooler import pooled

from prompt_evaluator.errors import RunBusyError, StoreError
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARED = r"pooler that shares sessions .* pool_mode=transaction\. .* the server's own address, or .* pool_mode=session"


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that another user can reach."""
    with tempfile.TemporaryDirectory(prefix="pe-pooler-", dir="/tmp") as name:
        yield Path(name)


@pytest.mark.parametrize("more", ["", "server_round_robin = 1", "default_pool_size = 1"])
def test_a_pooler_in_transaction_mode_is_refused(database: str, folder: Path, more: str) -> None:
    with pooled(database, folder, "transaction", more) as address, pytest.raises(StoreError, match=SHARED):
        Store.open(address)


@pytest.mark.parametrize("more", ["", "server_round_robin = 1"])
def test_it_is_refused_while_other_clients_take_its_sessions_in_between(database: str, folder: Path, more: str) -> None:
    with pooled(database, folder, "transaction", more) as address, _crowd(address, 4):
        for _ in range(5):
            with pytest.raises(StoreError, match=SHARED):
                Store.open(address)


def test_a_pooler_in_statement_mode_is_refused(database: str, folder: Path) -> None:
    with pooled(database, folder, "statement") as address, pytest.raises(StoreError, match="statement pooling mode"):
        Store.open(address)


def test_a_pooler_in_session_mode_is_used_and_holds_runs(database: str, folder: Path) -> None:
    with (
        pooled(database, folder, "session") as address,
        closing(Store.open(address)) as store,
        closing(Store.open(database)) as direct,
    ):
        with store.own("run-0001") as lease:
            assert lease.is_held
            with pytest.raises(RunBusyError), direct.own("run-0001"):
                pass
        with direct.own("run-0001"):
            pass


@contextmanager
def _crowd(address: str, count: int) -> Iterator[None]:
    """Other clients, which never rest."""
    over = threading.Event()

    def ask() -> None:
        with psycopg.connect(address, autocommit=True, prepare_threshold=None) as connection:
            while not over.is_set():
                connection.execute("SELECT pg_sleep(0.002)")

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
