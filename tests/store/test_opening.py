"""What may be opened as a store, and what is refused and left as it is."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, create_engine

from prompt_evaluator.errors import StoreError
from prompt_evaluator.store import Store
from prompt_evaluator.store.schema import METADATA, REVISIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _sql(location: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(location)) as connection, connection:
        return connection.execute(statement).fetchall()


def test_a_new_store_is_made_with_its_directories_and_survives_a_crash(store: Store, location: Path) -> None:
    assert store.runs() == []
    assert _sql(location, "PRAGMA journal_mode") == [("wal",)]


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


def test_opening_a_current_store_does_not_load_alembic(store: Store, location: Path) -> None:
    del store
    program = (
        "import sys; from prompt_evaluator.store import Store; Store.open(sys.argv[1]); print('alembic' in sys.modules)"
    )

    said = subprocess.run([sys.executable, "-c", program, str(location)], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "False"


def test_the_migrations_make_exactly_the_tables_of_the_schema(store: Store, location: Path) -> None:
    from alembic.autogenerate import compare_metadata  # noqa: PLC0415 - heavy

    del store
    engine = create_engine(URL.create("sqlite", database=str(location)))
    with engine.connect() as connection:
        difference = compare_metadata(MigrationContext.configure(connection), METADATA)
    engine.dispose()

    assert difference == []


def test_the_revisions_that_are_known_are_those_that_exist() -> None:
    config = Config()
    config.set_main_option("script_location", "prompt_evaluator.store:migrations")
    scripts = ScriptDirectory.from_config(config).walk_revisions()

    assert tuple(script.revision for script in scripts)[::-1] == REVISIONS


def test_an_empty_file_is_a_new_store(location: Path) -> None:
    location.parent.mkdir()
    location.touch()

    store = Store.open(location)

    assert store.runs() == []
    store.close()


def test_a_file_that_is_no_database_is_refused_and_kept(location: Path) -> None:
    location.parent.mkdir()
    location.write_bytes(b"my notes\n" * 1_000)

    with pytest.raises(StoreError, match=r"store\.db is not a database\. It was left as it is"):
        Store.open(location)

    assert location.read_bytes() == b"my notes\n" * 1_000


def test_a_database_of_something_else_is_refused_and_kept(location: Path) -> None:
    location.parent.mkdir()
    _sql(location, "CREATE TABLE bookmarks (x)")
    before = location.read_bytes()

    with pytest.raises(StoreError, match="not a store: it has a table 'bookmarks'"):
        Store.open(location)

    assert location.read_bytes() == before


def test_a_store_of_a_newer_version_is_refused(store: Store, location: Path) -> None:
    store.close()
    _sql(location, "UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(StoreError, match=r"revision 9999, but .* knows only up to 0001\. Update prompt-evaluator"):
        Store.open(location)

    assert _sql(location, "SELECT version_num FROM alembic_version") == [("9999",)]


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


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("mysql://host/db", "mysql is no kind of store"),
        ("postgresql://host:port/db", "address cannot be read"),
    ],
)
def test_an_address_that_is_no_store_is_refused(address: str, said: str) -> None:
    with pytest.raises(StoreError, match=said):
        Store.open(address)


def test_the_password_of_an_address_is_never_shown() -> None:
    with pytest.raises(StoreError) as refused:  # psycopg is missing, or nobody answers
        Store.open("postgresql://me:hunter2hunter2@127.0.0.1:1/db")

    assert "hunter2hunter2" not in str(refused.value)


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
