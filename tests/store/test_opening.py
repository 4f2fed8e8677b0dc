"""What may be opened as a store, and what is refused and left unchanged."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from stores import ON_FILE, ON_SERVER, sql

from prompt_evaluator.errors import StoreError
from prompt_evaluator.model import TestCase
from prompt_evaluator.store import Store
from prompt_evaluator.store.schema import METADATA, REVISION

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from postgres_server import Cluster

    from prompt_evaluator.model import RunRecord

    MakeRecord = Callable[..., RunRecord]


@ON_FILE
def test_a_new_store_is_made_with_its_directories_and_survives_a_crash(store: Store, location: Path) -> None:
    assert store.runs() == []
    assert sql(location, "PRAGMA journal_mode") == [("wal",)]


@pytest.mark.parametrize("name", ["a b%20?#.db", "ü☂.db", ":memory:", "file:x?mode=ro"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    Store.open(tmp_path / name).close()

    assert (tmp_path / name).stat().st_size > 0


def test_a_path_may_be_a_text_and_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store.open("deep/er/store.db")
    monkeypatch.chdir("/")

    assert store.runs() == []
    assert (tmp_path / "deep" / "er" / "store.db").is_file()
    store.close()


def test_a_store_of_another_version_is_refused_and_kept(store: Store, location: Path | str) -> None:
    store.close()
    sql(location, "UPDATE store_version SET revision = '9999'")

    with pytest.raises(StoreError, match=rf"revision 9999, but .* needs {REVISION}: use the version that made"):
        Store.open(location)

    assert sql(location, "SELECT revision FROM store_version") == [("9999",)]


def test_where_there_is_no_store_none_is_made_by_looking(location: Path | str) -> None:
    assert Store.open_unchanged(location) is None
    if isinstance(location, str):
        assert _tables(location) == set()
    else:
        assert not location.parent.exists()
        location.parent.mkdir()
        location.touch()
        assert Store.open_unchanged(location) is None
        assert location.stat().st_size == 0


@ON_FILE
def test_a_file_with_the_log_of_a_killed_process_is_read_and_not_changed(
    run_id: str, location: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(location.parent, copy)  # as a process leaves it that is killed while it has the store open
    files = [copy / "store.db", copy / "store.db-wal"]
    before = [file.read_bytes() for file in files]

    looked = Store.open_unchanged(copy / "store.db")

    assert looked is not None
    with closing(looked):
        assert [run.plan.run_id for run in looked.runs()] == [run_id]
        with pytest.raises(StoreError, match="is read-only"):
            looked.delete_run(run_id)
    assert [file.read_bytes() for file in files] == before


@ON_FILE
def test_an_empty_file_is_a_new_store(location: Path) -> None:
    location.parent.mkdir()
    location.touch()

    store = Store.open(location)

    assert store.runs() == []
    store.close()


@ON_FILE
def test_a_file_that_is_no_database_is_refused_and_kept(location: Path) -> None:
    location.parent.mkdir()
    location.write_bytes(b"my notes\n" * 1_000)

    with pytest.raises(StoreError, match=r"store\.db is not a database\. It was left unchanged"):
        Store.open(location)

    assert location.read_bytes() == b"my notes\n" * 1_000


@ON_FILE
def test_a_database_of_something_else_is_refused_and_kept(location: Path) -> None:
    location.parent.mkdir()
    sql(location, "CREATE TABLE bookmarks (x)")
    before = location.read_bytes()

    with pytest.raises(StoreError, match="not a store: it has a table 'bookmarks'"):
        Store.open(location)

    assert location.read_bytes() == before


@ON_FILE
def test_a_damaged_store_is_said_and_not_made_anew(store: Store, location: Path) -> None:
    store.close()
    damaged = location.read_bytes()[:5_000] + b"\xa5" * 20_000
    location.write_bytes(damaged)

    with pytest.raises(StoreError, match=r"store\.db"):
        Store.open(location).runs()

    assert location.read_bytes() == damaged


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"is not a file\. Name a file"):
        Store.open(tmp_path)


def test_a_place_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match=r"cannot be opened: .* Choose another place"):
        Store.open(tmp_path / "file" / "store.db")


@ON_SERVER
def test_a_new_database_on_a_server_is_made_a_store(store: Store, location: str) -> None:
    assert store.runs() == []
    assert sql(location, "SELECT revision FROM store_version") == [(REVISION,)]


def test_a_server_is_reached_by_its_socket_as_well(cluster: Cluster) -> None:
    with cluster.database() as name:
        store = Store.open(cluster.address_of_socket(name))

        assert store.runs() == []
        store.close()


@ON_SERVER
def test_tables_of_others_in_the_same_database_are_left_alone(location: str) -> None:
    sql(location, "CREATE TABLE bookmarks AS SELECT 'kept' AS x")

    Store.open(location).close()

    assert sql(location, "SELECT x FROM bookmarks") == [("kept",)]
    assert len(_tables(location)) == len(METADATA.tables) + 2


@pytest.mark.parametrize("table", ["units", "store_version"])
@ON_SERVER
def test_a_table_of_others_that_has_one_of_our_names_is_refused_and_kept(location: str, table: str) -> None:
    sql(location, f"CREATE TABLE {table} AS SELECT '0001' AS revision")

    with pytest.raises(StoreError, match=f"not a store: it has a table '{table}'"):
        Store.open(location)

    assert _tables(location) == {table}


def _tables(location: str) -> set[str]:
    return {name for (name,) in sql(location, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


@ON_SERVER
def test_a_store_may_have_a_schema_of_its_own(location: str) -> None:
    sql(location, "CREATE SCHEMA evaluations")
    store = Store.open(f"{location}?options=-csearch_path%3Devaluations")

    assert store.runs() == []
    assert _tables(location) == set()
    store.close()


def test_a_database_that_knows_no_encoding_keeps_every_letter(cluster: Cluster, record: MakeRecord) -> None:
    with cluster.database("TEMPLATE template0 ENCODING SQL_ASCII") as name:
        store = Store.open(cluster.address(name))
        store.create_run(record("run-ü☂"), [TestCase(id="ü☂", input="ü☂")])

        assert store.run("run-ü☂").plan.run_id == "run-ü☂"
        assert store.cases("run-ü☂")[0].case.id == "ü☂"
        store.close()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("mysql://host/db", "cannot be a mysql database"),
        ("postgresql://host:port/db", "URL cannot be parsed"),
        ("postgresql://127.0.0.1:1/db", "127.0.0.1:1/db cannot be used: connection failed.* refused. All"),
        ("postgresql://a..b/db", "a..b/db cannot be used"),
        ("postgresql://127.0.0.1:1/db?nonsense=1", 'invalid connection option "nonsense"'),
    ],
)
def test_an_address_that_is_no_store_is_refused(address: str, said: str) -> None:
    with pytest.raises(StoreError, match=said) as refused:
        Store.open(address)

    assert "\n" not in str(refused.value)


def test_a_database_that_is_not_there_is_said(cluster: Cluster) -> None:
    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        Store.open(cluster.address("nowhere"))


@ON_SERVER
def test_a_user_who_may_not_make_tables_is_told(cluster: Cluster, location: str) -> None:
    sql(location, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")

    with cluster.role("guest"), pytest.raises(StoreError, match=r"permission denied for schema public\. All"):
        Store.open(location.replace("tester@", "guest@"))


def test_a_server_that_accepts_and_never_answers_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(StoreError, match="timeout"):
        Store.open(f"postgresql://127.0.0.1:{silent.getsockname()[1]}/db", patience=2)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hunter2hunter2@127.0.0.1:1/db",
        "postgresql://me@127.0.0.1:1/db?password=hunter2hunter2",
        "postgresql://me@127.0.0.1:1/db?sslpassword=hunter2hunter2",
        "postgresql://me:p@hunter2hunter2@127.0.0.1:1/db",
        "postgresql://me:p@hunter2hunter2:x@127.0.0.1:1/db",
        "postgresql://me:hunter2/hunter2@127.0.0.1:1/db",
    ],
)
def test_the_password_of_an_address_is_never_shown(address: str) -> None:
    with pytest.raises(StoreError) as refused:
        Store.open(address)

    assert "hunter2" not in str(refused.value)


def test_the_password_is_not_shown_by_a_store_that_works(cluster: Cluster, database: str) -> None:
    store = Store.open(database.replace("tester@", "tester:hunter2hunter2@"))

    with cluster.gone(), pytest.raises(StoreError, match=r"tester:\*\*\*@127") as failed:
        store.runs()

    assert "hunter2" not in str(failed.value)
    store.close()


def test_a_missing_driver_is_named_with_the_extra_that_brings_it() -> None:
    program = """
import sys
from prompt_evaluator.store import Store
sys.modules["psycopg"] = None
try:
    Store.open("postgresql://host/db")
except Exception as error:
    print(error)
"""

    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "A PostgreSQL store needs psycopg: pip install 'prompt-verdict[postgres]'."


def test_processes_that_open_a_new_store_at_once_all_get_it(child: Callable[..., subprocess.Popen[str]]) -> None:
    program = """
        print("ready", flush=True)
        sys.stdin.readline()
        print(len(Store.open(location).runs()))
    """
    racing = [child(program) for _ in range(4)]
    for process in racing:
        assert process.stdout
        process.stdout.readline()

    for process in racing:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60)[0] for process in racing]

    assert said == ["0\n"] * 4
    assert [process.returncode for process in racing] == [0] * 4
