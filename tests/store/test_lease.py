"""On a server, the owner's session is the lease: it ends with the owner, and nobody writes to a run without it."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from case_results import case_result, run_result
from stores import ON_SERVER, PROGRESS, locked, sql

from prompt_evaluator.errors import OwnershipLostError, RunBusyError, StoreError, StoreUnreachableError
from prompt_evaluator.store import Store
from prompt_evaluator.store.sessions import OLDEST, refuse_old

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from prompt_evaluator.model import Unit
    from prompt_evaluator.store.writer import LedgerWriter

    Child = Callable[..., subprocess.Popen[str]]

pytestmark = [ON_SERVER, pytest.mark.usefixtures("run_id")]

RUN = "run-0001"
ENDS = """
    SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
HOLDS = """
    store, ended = Store.open(location), []
    with store.own("run-0001", ended.append) as lease:
        print("mine", flush=True)
        sys.stdin.readline()
        print(lease.is_held, flush=True)
        try:
            store.update_run("run-0001", status="completed")
        except StoreError as error:
            print(type(error).__name__, flush=True)
        import time
        until = time.monotonic() + 30
        while not ended and time.monotonic() < until:
            time.sleep(0.01)
        print(ended[0], flush=True)
"""


@pytest.fixture
def other(location: str) -> Iterator[Store]:
    """The same store, as another process sees it."""
    opened = Store.open(location)
    yield opened
    opened.close()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def _rows(location: str) -> list[list[tuple[object, ...]]]:
    return [sql(location, f"SELECT * FROM {table}") for table in ("runs", "units", "case_results")]


def _until(reached: Callable[[], bool]) -> None:
    while not reached():
        time.sleep(0.02)


def test_an_owner_whose_session_ends_is_told_at_once_and_why(store: Store, location: str) -> None:
    told, ended = threading.Event(), []

    def on_lost(error: OwnershipLostError) -> None:
        ended.append(str(error))
        told.set()

    with store.own(RUN, on_lost) as lease:
        assert lease.is_held
        sql(location, ENDS)
        assert told.wait(30)
        assert not lease.is_held

    assert len(ended) == 1
    assert "no longer holds run run-0001" in ended[0]
    assert "terminating connection due to administrator command" in ended[0]
    with store.own(RUN) as again:
        assert again.is_held


def test_until_another_process_takes_the_run_what_calls_in_flight_return_is_stored(
    store: Store, location: str, unit: Callable[..., Unit]
) -> None:
    told = threading.Event()
    with store.own(RUN, lambda _: told.set()):
        writer = store.writer(RUN)
        sql(location, ENDS)
        assert told.wait(30)
        writer.put(unit())
        writer.close()
        store.update_run(RUN, status="aborted", stop_reason="lost")

    assert len(store.units(RUN, ["case-0"])["case-0"]) == 1
    assert store.run(RUN).stop_reason == "lost"


def test_an_owner_that_another_process_has_followed_can_write_nothing(
    store: Store, other: Store, location: str, unit: Callable[..., Unit]
) -> None:
    told = threading.Event()
    with store.own(RUN, lambda _: told.set()):
        writer, late = store.writer(RUN), store.writer(RUN)
        sql(location, ENDS)
        assert told.wait(30)
        with other.own(RUN):
            other.start_run(RUN, "2025-01-02T00:00:00Z")
            before = _rows(location)
            writer.put(unit())
            late.put_case(0, case_result("case-0"), {})
            attempts: list[Callable[[], object]] = [
                writer.close,
                late.close,
                lambda: store.start_run(RUN, "2025-01-03T00:00:00Z"),
                lambda: store.update_run(RUN, status="completed", summary=run_result()),
                lambda: store.save_progress(RUN, PROGRESS, run_result()),
                lambda: store.replace_results(RUN, [(0, case_result("case-0"))], run_result, judges={}),
                lambda: store.replace_plan(store.run(RUN).plan),
            ]
            for attempt in attempts:
                with pytest.raises(OwnershipLostError, match="Run run-0001 was taken by another process"):
                    attempt()

            assert _rows(location) == before
            other.update_run(RUN, status="completed")

    assert store.run(RUN).status == "completed"


def test_what_still_writes_for_a_lost_run_keeps_its_process_from_owning_it_again(store: Store, location: str) -> None:
    told, draining = threading.Event(), ExitStack()
    draining.enter_context(store.own(RUN, lambda _: told.set()))
    sql(location, ENDS)
    assert told.wait(30)

    with pytest.raises(RunBusyError, match="in use by this process, which has lost it"), store.own(RUN):
        pass
    with pytest.raises(OwnershipLostError):
        store.update_run(RUN, status="aborted")
    draining.close()

    with store.own(RUN):
        store.update_run(RUN, status="completed")
    assert store.run(RUN).status == "completed"


def test_a_stopped_process_loses_its_run_and_is_fenced_when_it_wakes(store: Store, child: Child) -> None:
    process = child(HOLDS)
    assert _line(process) == "mine"
    process.send_signal(signal.SIGSTOP)

    _until(lambda: store.owner(RUN) is None)
    with store.own(RUN):
        store.update_run(RUN, status="aborted", stop_reason="mine now")
        process.send_signal(signal.SIGCONT)
        said = process.communicate("go\n", timeout=60)[0].splitlines()

    assert said[:2] == ["False", "OwnershipLostError"]
    assert "due to idle-session timeout" in said[2]
    assert store.run(RUN).stop_reason == "mine now"


def test_an_owner_stopped_in_the_middle_of_a_transaction_does_not_keep_the_next_one_out(
    store: Store, other: Store, location: str
) -> None:
    told = threading.Event()
    with store.own(RUN, lambda _: told.set()), pytest.raises(StoreUnreachableError):  # noqa: PT012, SIM117
        with store._write_run(RUN):  # noqa: SLF001 - a transaction that its process does not end
            sql(location, ENDS)
            assert told.wait(30)
            with other.own(RUN) as lease:
                assert lease.is_held


def test_a_process_stopped_while_it_takes_a_run_does_not_keep_it(store: Store, location: str, child: Child) -> None:
    with store._write_run(RUN) as connection:  # noqa: SLF001 - the next owner waits for this transaction
        connection.exec_driver_sql("SELECT FROM runs FOR UPDATE")
        process = child(HOLDS)
        _until(lambda: store.owner(RUN) is not None)
        _until(lambda: bool(sql(location, "SELECT 1 FROM pg_locks WHERE NOT granted")))
        process.send_signal(signal.SIGSTOP)

    _until(lambda: store.owner(RUN) is None)

    with store.own(RUN):
        store.update_run(RUN, status="completed")


def test_a_busy_owner_keeps_its_run(store: Store, child: Child) -> None:
    process = child("""
        import time
        with Store.open(location).own("run-0001") as lease:
            print("mine", flush=True)
            until = time.monotonic() + 3
            while time.monotonic() < until:  # holds the GIL whenever it can
                sum(range(1000))
            print(lease.is_held, flush=True)
            sys.stdin.readline()
    """)
    assert _line(process) == "mine"

    assert _line(process) == "True"
    assert f"process {process.pid} " in (store.owner(RUN) or "")


def test_callers_wait_soon_after_commits_stall(store: Store, location: str, unit: Callable[..., Unit]) -> None:
    async def ask(writer: LedgerWriter) -> None:
        while True:
            await asyncio.wait_for(writer.wait_for_capacity(), 0.1)

    async def stalled() -> None:
        writer = store.writer(RUN, flush_at=4)
        try:
            with locked(location):
                for at in range(4):
                    writer.put(unit(name=bytes([at])))
                with pytest.raises(TimeoutError):
                    await ask(writer)
            await asyncio.wait_for(writer.wait_for_capacity(), 30)
        finally:
            writer.close()

    asyncio.run(stalled())


def test_a_server_that_cannot_end_idle_sessions_is_refused() -> None:
    refuse_old(OLDEST, "postgresql://host/db")
    with pytest.raises(StoreError, match=r"on PostgreSQL 13, .* Use PostgreSQL 14 or newer"):
        refuse_old(130_014, "postgresql://host/db")
