"""Several processes, and processes that die: nothing acknowledged is lost, and one run has one owner."""

from __future__ import annotations

import os
import random
import signal
import socket
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from stores import ON_FILE, ON_SERVER, sql
from workspace import until

from prompt_evaluator.errors import RunBusyError, StoreError
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from postgres_server import Cluster

    Child = Callable[..., subprocess.Popen[str]]

ALL_CASES = [f"case-{at}" for at in range(10)]
WRITES_FOR_EVER = """
    async def main():
        writer = Store.open(location).writer("run-0001")
        at = int(arguments[0])
        while True:
            for _ in range(50):
                await writer.wait_for_capacity()
                writer.put(unit(at))
                at += 1
            await writer.flush()
            print(at, flush=True)

    asyncio.run(main())
"""
HOLDS = """
    with Store.open(location).own("run-0001"):
        print("mine", flush=True)
        sys.stdin.read()
"""


def _samples(store: Store) -> set[int]:
    return {unit.sample for units in store.units("run-0001", ALL_CASES).values() for unit in units}


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def _killed(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGKILL)
    return process.communicate(timeout=30)[0]


@pytest.mark.usefixtures("run_id")
def test_what_was_acknowledged_survives_kill_9(store: Store, child: Child) -> None:
    rng, start = random.Random(4), 0
    for _ in range(5):
        process = child(WRITES_FOR_EVER, str(start))
        said = [_line(process) for _ in range(rng.randint(1, 40))]
        acknowledged = int([*said, *_killed(process).split()][-1])

        assert _samples(store) >= set(range(acknowledged))
        start = acknowledged


@pytest.mark.usefixtures("run_id")
def test_two_processes_that_write_at_once_lose_nothing(store: Store, child: Child) -> None:
    program = """
        async def main():
            writer = Store.open(location).writer("run-0001")
            for at in range(int(arguments[0]), int(arguments[0]) + 5000):
                await writer.wait_for_capacity()
                writer.put(unit(at))
            await writer.flush()
            writer.close()

        asyncio.run(main())
    """
    writing = [child(program, str(start)) for start in (0, 5_000)]

    assert [process.wait(timeout=60) for process in writing] == [0, 0]
    assert _samples(store) == set(range(10_000))


def test_a_second_owner_is_refused_and_told_who(store: Store, run_id: str, child: Child) -> None:
    process = child(HOLDS)
    assert _line(process) == "mine"
    who = rf"process {process.pid} on {socket.gethostname()} since \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ"

    with pytest.raises(RunBusyError, match=rf"Run run-0001 is in use by {who}\. Wait"), store.own(run_id):
        pass

    assert f"process {process.pid} on " in (store.owner(run_id) or "")
    assert store.owner("run-0002") is None
    with store.own("run-0002"):
        assert f"process {os.getpid()} on " in (store.owner("run-0002") or "")


def test_a_run_can_be_owned_at_once_after_kill_9(store: Store, run_id: str, child: Child) -> None:
    for _ in range(3):
        process = child(HOLDS)
        _line(process)
        process.send_signal(signal.SIGKILL)
        process.wait()

        with store.own(run_id):
            assert f"process {os.getpid()} " in (store.owner(run_id) or "")
    assert store.owner(run_id) is None


def test_the_same_process_owns_a_run_only_once(store: Store, run_id: str) -> None:
    with store.own(run_id), pytest.raises(RunBusyError), store.own(run_id):
        pass
    with store.own(run_id):
        pass


def test_asking_for_the_owner_never_keeps_anyone_from_owning(
    store: Store, location: Path | str, run_id: str, child: Child
) -> None:
    asking = child("""
        store = Store.open(location)
        print("asking", flush=True)
        while True:
            store.owner("run-0001")
    """)
    _line(asking)

    for _ in range(500 if isinstance(location, Path) else 50):  # each one is a new connection there
        with store.own(run_id):
            pass


@pytest.mark.parametrize("run_id", ["../x", "a/b", "CON", "z" * 300, "con", ".", "\x00", "\ud800"], ids=ascii)
def test_any_id_can_be_owned_and_none_escapes_its_directory(store: Store, location: Path | str, run_id: str) -> None:
    with store.own(run_id):
        assert store.owner(run_id)
        assert store.owner("someone else") is None
        assert store.owner(run_id.swapcase() + "x") is None

    if isinstance(location, str):
        return
    files = {path for path in location.parent.parent.rglob("*") if path.suffix == ".lock"}
    assert {path.parent for path in files} == {location.parent / "locks"}


@ON_FILE
@pytest.mark.usefixtures("run_id")
def test_a_disk_that_is_full_stops_the_run_with_a_sentence_and_keeps_what_was_committed(
    store: Store, location: Path, child: Child
) -> None:
    process = child("""
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

        async def main():
            writer, at = Store.open(location).writer("run-0001"), 0
            try:
                while True:
                    for _ in range(20):
                        await writer.wait_for_capacity()
                        writer.put(unit(at))
                        at += 1
                    await writer.flush()
                    print(at, flush=True)
            except StoreError as error:
                print(error)
            writer.close()

        asyncio.run(asyncio.wait_for(main(), 60))
    """)

    *acknowledged, said = process.communicate(timeout=90)[0].splitlines()

    assert process.returncode == 0
    assert f"The store {location} cannot" in said
    assert "resume" in said
    assert _samples(store) == set(range(int(acknowledged[-1])))


@ON_FILE
def test_locks_that_cannot_be_made_are_said(store: Store, location: Path) -> None:
    for path in (location.parent / "locks").iterdir():
        path.unlink()
    (location.parent / "locks").rmdir()
    (location.parent / "locks").touch()

    with pytest.raises(StoreError, match=r"lock file .* cannot be used: .* permissions"), store.own("run-0001"):
        pass


@ON_SERVER
@pytest.mark.usefixtures("run_id")
def test_a_server_that_goes_away_stops_the_run_with_a_sentence_and_keeps_what_was_committed(
    store: Store, cluster: Cluster, location: str, child: Child
) -> None:
    process = child("""
        async def main():
            store, at = Store.open(location), 0
            try:
                with store.own("run-0001"):
                    writer = store.writer("run-0001")
                    try:
                        while True:
                            for _ in range(20):
                                await writer.wait_for_capacity()
                                writer.put(unit(at))
                                at += 1
                            await writer.flush()
                            print(at, flush=True)
                    finally:
                        writer.close()
            except StoreError as error:
                print(error)
            try:
                store.runs()
            except StoreError as error:
                print(error)

        import os
        os.dup2(1, 2)  # whatever else is said
        asyncio.run(asyncio.wait_for(main(), 60))
    """)
    first = _line(process)

    with cluster.gone():
        *more, during, after = process.communicate(timeout=90)[0].splitlines()

    assert process.returncode == 0
    assert f"The store {location} cannot be used: " in during
    assert "All committed results are safe." in during
    assert "connection failed" in after
    store.close()
    again = Store.open(cluster.address(location.rpartition("/")[2]))
    assert _samples(again) >= set(range(int([first, *more][-1])))
    with again.own("run-0001"):
        pass
    again.close()


@ON_SERVER
def test_a_colleague_with_a_role_of_their_own_is_told_who_has_the_run(
    store: Store, cluster: Cluster, location: str, run_id: str
) -> None:
    with cluster.role("colleague"):
        sql(location, "GRANT ALL ON ALL TABLES IN SCHEMA public TO colleague")
        theirs = Store.open(location.replace("tester@", "colleague@"))
        said = f"by process {os.getpid()} on "
        with store.own(run_id), pytest.raises(RunBusyError, match=said), theirs.own(run_id):
            pass
        theirs.delete_run(run_id)
        theirs.close()
        sql(location, "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM colleague")

    assert store.runs() == []


@ON_SERVER
def test_a_server_that_ends_idle_sessions_does_not_end_an_owner(store: Store, location: str, run_id: str) -> None:
    store.close()
    sql(location, f"ALTER DATABASE {location.rpartition('/')[2]} SET idle_session_timeout = 100")
    patient = Store.open(location)

    with patient.own(run_id), closing(psycopg.connect(location, autocommit=True)) as idle:
        until(lambda: not sql(location, f"SELECT 1 FROM pg_stat_activity WHERE pid = {idle.info.backend_pid}"))
        assert f"process {os.getpid()} on " in (store.owner(run_id) or "")
    patient.close()


@ON_SERVER
def test_an_owner_whose_machine_vanishes_is_noticed_within_a_minute(store: Store) -> None:
    settings = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count")
    with store._reading.connect() as connection:  # noqa: SLF001 - nothing else shows it
        idle, interval, count = (int(connection.exec_driver_sql(f"SHOW {name}").scalar_one()) for name in settings)

    assert 0 < idle + interval * count <= 60
