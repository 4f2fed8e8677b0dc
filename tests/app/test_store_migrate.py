"""Migrating a store on purpose: a file is also migrated when it is opened, a shared server only by this."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import text
from stores import engine, sql

from prompt_evaluator.app.store_migrate import migrate_store
from prompt_evaluator.errors import OutdatedStoreError, RunBusyError, StoreError
from prompt_evaluator.store import Store
from prompt_evaluator.store.ownership import FileOwnership
from prompt_evaluator.store.schema import HEAD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy import Engine

    Location = Path | str

OLD = "0005"
CHILD = """
import sys
from pathlib import Path
from prompt_evaluator.app.store_migrate import migrate_store
print("ready", flush=True)
sys.stdin.readline()
place = sys.argv[1]
print(migrate_store(place if "://" in place else Path(place)).before)
"""


@pytest.fixture(params=["file", "server"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """A store of an earlier version with a run that is marked as running."""
    place: Location = request.getfixturevalue("database") if request.param == "server" else tmp_path / "store.db"
    config = Config()
    config.set_main_option("script_location", "prompt_evaluator.store:migrations")
    with engine(place) as made, made.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, OLD)
    sql(
        place,
        "INSERT INTO runs (run_id, group_id, status, started_at, plan) VALUES ('r', 'g', 'running', '2025', ?)",
        b"{",
    )
    return place


def revision(location: Location) -> str:
    ((found,),) = sql(location, "SELECT version_num FROM alembic_version")
    return str(found)


def test_it_says_what_each_step_changes_and_does_nothing_the_second_time(old: Location) -> None:
    first, second = migrate_store(old), migrate_store(old)

    assert (first.before, first.after, revision(old)) == (OLD, HEAD, HEAD)
    assert [step[:6] for step in first.steps][:2] == ["0006: ", "0007: "]
    assert first.steps[0].startswith("0006: Add what servers need")
    assert first.is_needed
    assert not second.is_needed
    assert (second.before, second.steps) == (HEAD, ())


def test_a_server_is_not_migrated_by_opening_it(old: Location) -> None:
    if isinstance(old, Path):
        Store.open(old).close()

        assert revision(old) == HEAD
        return
    with pytest.raises(
        OutdatedStoreError, match=rf"revision {OLD}, but .* needs {HEAD}\. .*`prompt-evaluator store migrate`"
    ):
        Store.open(old)

    assert revision(old) == OLD


def test_a_newer_store_is_refused(old: Location) -> None:
    sql(old, "UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(StoreError, match=r"is newer than this version .* revision 9999.* Update prompt-evaluator"):
        migrate_store(old)

    assert revision(old) == "9999"


def test_it_is_refused_while_a_run_is_in_progress_and_its_owner_is_named(old: Location) -> None:
    with engine(old) as made:
        owned: AbstractContextManager[object]
        owned = FileOwnership(old.parent / "locks").own("r") if isinstance(old, Path) else _locked(made)
        with owned, pytest.raises(RunBusyError, match=r"while runs are in progress: run r by process \d+ on "):
            migrate_store(old)

    assert revision(old) == OLD
    assert migrate_store(old).before == OLD


@contextmanager
def _locked(made: Engine) -> Iterator[None]:
    """Own run `r` as the process of an earlier version does, which knows no other columns than its own."""
    key = int.from_bytes(sha256(b"r").digest()[:8], "big", signed=True)
    with made.connect() as connection:
        connection.execute(text("SELECT set_config('application_name', 'process 12 on a-host', false)"))
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": key})
        yield


def test_two_processes_that_migrate_at_once_do_it_once(old: Location) -> None:
    racing = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, str(old)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in racing:
        assert process.stdout
        process.stdout.readline()
    for process in racing:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=120)[0].strip() for process in racing]

    assert sorted(said) == [OLD, HEAD]
    assert [process.returncode for process in racing] == [0, 0]


def test_an_empty_database_becomes_a_store_and_a_missing_file_is_refused(tmp_path: Path, database: str) -> None:
    assert migrate_store(database).before is None
    with closing(Store.open(database)) as store:
        assert store.runs() == []
    with pytest.raises(StoreError, match="There is no store"):
        migrate_store(tmp_path / "nowhere.db")

    assert list(tmp_path.iterdir()) == []
