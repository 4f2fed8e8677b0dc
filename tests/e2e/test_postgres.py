"""A store on a PostgreSQL server keeps the promises that a file keeps."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from postgres_server import GUARDED
from stores import sql
from workspace import REAL, Workspace, timeless, until

from prompt_evaluator.store.schema import REVISION

if TYPE_CHECKING:
    from chat_service import ChatService
    from postgres_server import Cluster

AT_ONCE = 4


@pytest.fixture
def shared(online: Workspace, database: str) -> Workspace:
    """A folder whose runs are kept on a server."""
    online.configure(store=database)
    return online


def _units(database: str, run_id: str) -> int:
    ((units,),) = sql(database, "SELECT count(*) FROM units WHERE run_id = ? AND ok", run_id)
    return int(units)


def _killed(shared: Workspace, service: ChatService, *arguments: str) -> str:
    """A run that was killed when a third of its answers had come."""
    shared.cases(20)
    service.set(latency=0.2)
    started = shared.start_evaluation(*REAL, "-n", "2", "--seed", "7", "-j", str(AT_ONCE), *arguments)
    run_id = started.wait_until_under_way()
    before = service.paid
    until(lambda: service.paid - before > 25)
    started.kill()
    service.set(latency=0)
    return run_id


def test_a_run_completes_and_no_file_is_made_for_it(shared: Workspace, service: ChatService, database: str) -> None:
    done = shared.evaluate(*REAL, "-n", "2")

    assert done.code == 0
    assert done.artifact["status"] == "completed"
    assert service.paid == _units(database, done.run_id) == 12
    assert not (shared.folder / ".prompt_evaluator").exists()


def test_a_killed_run_is_resumed_pays_for_what_is_missing_and_ends_the_same(
    shared: Workspace, service: ChatService, database: str
) -> None:
    shared.cases(20)
    expected = shared.evaluate(*REAL, "-n", "2", "--seed", "7")
    cost = service.paid
    run_id = _killed(shared, service)
    committed = _units(database, run_id)

    done = shared.run("resume", run_id, "--json")

    assert done.code == 0
    assert 0 < committed < cost == _units(database, run_id)
    assert timeless(done.artifact) == timeless(expected.artifact)
    # In flight, and just answered: a commit on a server takes longer than the next calls take to be sent.
    assert 0 <= service.paid - 2 * cost <= 2 * AT_ONCE


def test_a_server_that_goes_away_ends_the_run_with_a_sentence_and_it_can_be_resumed(
    shared: Workspace, service: ChatService, cluster: Cluster, database: str
) -> None:
    shared.cases(20)
    service.set(latency=0.05)
    started = shared.start_evaluation(*REAL, "-n", "2", "-j", str(AT_ONCE))
    run_id = started.wait_until_under_way()
    until(lambda: service.paid > 25)

    with cluster.gone():
        stopped = started.finish()
    shared.configure(store=cluster.address(database.rpartition("/")[2]))
    resumed = shared.run("resume", run_id, "--json")

    assert stopped.code == 3
    assert "cannot be used" in stopped.err
    assert resumed.code == 0
    assert resumed.artifact["status"] == "completed"


def test_an_owner_that_was_stopped_and_wakes_up_writes_nothing_over_what_its_follower_wrote(
    shared: Workspace, service: ChatService, database: str
) -> None:
    shared.cases(20)
    service.set(latency=0.3)
    started = shared.start_evaluation(*REAL, "-n", "2", "-j", str(AT_ONCE))
    run_id = started.wait_until_under_way()
    until(lambda: _units(database, run_id) > 8)
    started.process.send_signal(signal.SIGSTOP)
    service.set(latency=0)
    until(lambda: shared.run("resume", run_id).code == 0, 90)
    before = _everything(shared, database, run_id)

    started.process.send_signal(signal.SIGCONT)
    woken = started.finish()

    assert woken.code == 3
    assert "another process" in woken.err or "no longer holds run" in woken.err
    assert _everything(shared, database, run_id) == before
    assert shared.artifact(run_id)["status"] == "completed"
    assert service.paid - 80 <= 1.5 * AT_ONCE


def _everything(shared: Workspace, database: str, run_id: str) -> list[object]:
    tables = ("runs", "units", "case_results")
    rows = [sorted(map(str, sql(database, f"SELECT * FROM {table} WHERE run_id = ?", run_id))) for table in tables]
    files = {path.name: path.read_bytes() for path in (shared.folder / "runs" / run_id).iterdir()}
    return [rows, files, shared.index()]


def test_the_doctor_looks_at_the_server(shared: Workspace, database: str) -> None:
    before = shared.run("doctor")
    shared.run("runs", "list")
    done = shared.run("doctor")

    assert f"{database.rpartition('@')[2]} yet: the first run creates it" in before.words
    assert "opens: PostgreSQL " in done.words
    assert f"schema revision {REVISION}, 0 runs" in done.words


def test_the_password_may_be_left_to_a_variable_in_the_dotenv_file(offline: Workspace, cluster: Cluster) -> None:
    with cluster.role(GUARDED, "hunter2hunter2"), cluster.database(f"OWNER {GUARDED}") as name:
        offline.configure(store=cluster.address(name).replace("tester@", f"{GUARDED}@"))
        offline.write(".env", "PGPASSWORD=wrong-hunter2\n")
        refused = offline.evaluate("-n", "1")
        offline.write(".env", "PGPASSWORD=hunter2hunter2\n")
        done = offline.evaluate("-n", "1")

    assert refused.code == 3
    assert "password authentication failed" in refused.err
    assert done.code == 0
    assert "hunter2" not in refused.err + refused.out + done.err + done.out
