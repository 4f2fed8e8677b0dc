"""Creates the tables of a new store, and brings those of an older version to the newest schema revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    func,
    inspect,
    select,
    text,
)

from prompt_evaluator.errors import OutdatedStoreError, RunBusyError, StoreError
from prompt_evaluator.model.upkeep import Migration
from prompt_evaluator.store.case_columns import write_ended_runs
from prompt_evaluator.store.filling import Filled, fill_runs
from prompt_evaluator.store.schema import HEAD, METADATA, REVISIONS

if TYPE_CHECKING:
    from prompt_evaluator.ports import Fill
    from prompt_evaluator.store.ownership import Ownership

Upgrade = Literal["files", "never", "always"]
"""Which stores of an earlier version are upgraded when they are opened. A server is shared: upgrading it locks others
out, so somebody has to decide it. With `never`, no store is created either."""

_VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""The same table as Alembic creates."""
_WITHOUT_RESULTS = ("0001", "0002")
"""Revisions without result rows."""
_WITHOUT_COLUMNS = REVISIONS[: REVISIONS.index("0012")]
"""Revisions without columns of cases, or with such that do not tell whether a case is done and flaky."""
_MIGRATION_KEY = 5_067_402_301


def needs_upgrade(engine: Engine, where: str, upgrade: Upgrade) -> bool:
    """Whether the store is new or outdated.

    Raises:
        OutdatedStoreError: It is outdated, and not to be upgraded.
        StoreError: It is newer than this version, or not a store.
    """
    with engine.connect() as connection:
        tables = set(inspect(connection).get_table_names())
        if not {"alembic_version", "runs"} <= tables:
            _refuse_foreign(connection, tables, where)
            if upgrade == "never":
                raise StoreError(f"There is no store in {where} yet: it is empty. Name another one.")
            return True
        revision: Any = connection.scalar(text("SELECT version_num FROM alembic_version"))
    if revision not in REVISIONS:
        raise StoreError(
            f"The store {where} is newer than this version of prompt-evaluator: it has schema revision {revision}, but "
            f"this version supports only revisions up to {HEAD}. Update prompt-evaluator, or name another store."
        )
    if revision == HEAD:
        return False
    if upgrade == "never" or (upgrade == "files" and engine.dialect.name != "sqlite"):
        raise OutdatedStoreError(where, revision, HEAD)
    return True


def _refuse_foreign(connection: Connection, tables: set[str], where: str) -> None:
    # A server's database may hold other tables too; a file with other tables belongs to another program.
    foreign = tables if connection.dialect.name == "sqlite" else tables & {"alembic_version", *METADATA.tables}
    if foreign:
        raise StoreError(
            f"{where} is a database, but not a store: it has a table {min(foreign)!r}. It was left unchanged: "
            "name another store."
        )


def upgrade_tables(engine: Engine, where: str, ownership: Ownership, fill: Fill | None) -> Migration:
    """Create or upgrade all tables in one transaction. If two processes do this at once, one finds nothing to do.

    Raises:
        RunBusyError: A process works on a run of the store: it expects the tables as they are.
    """
    with engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_KEY)))
        before = _revision(connection)
        filled = Filled(0, ())
        steps: tuple[str, ...] = ()
        if before is None:
            # Same result as running all migrations; a test compares the two.
            METADATA.create_all(connection, checkfirst=False)
            _VERSION.create(connection)
            connection.execute(_VERSION.insert().values(version_num=HEAD))
        elif before != HEAD:
            _refuse_busy(connection, where, ownership)
            steps = migrate(connection, before)
        if before in _WITHOUT_RESULTS:
            filled = fill_runs(connection, fill)
        if before in _WITHOUT_COLUMNS:
            write_ended_runs(connection)
    return Migration(
        store=where, before=before, after=HEAD, steps=steps, filled_runs=filled.runs, unreadable_runs=filled.unreadable
    )


def _refuse_busy(connection: Connection, where: str, ownership: Ownership) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE runs IN EXCLUSIVE MODE"))  # no run starts meanwhile
    running = connection.scalars(text("SELECT run_id FROM runs WHERE status = 'running' ORDER BY run_id")).all()
    busy = [f"run {run_id} by {who}" for run_id, who in ownership.owners(running).items()]
    if busy:
        raise RunBusyError(
            f"The store {where} cannot be migrated to schema revision {HEAD} while runs are in progress: "
            f"{'; '.join(busy)}. Wait for them to end or stop them, then try again."
        )


def migrate(connection: Connection, before: str = "base") -> tuple[str, ...]:
    """Run every migration from the store's revision to the newest. Return what each of them does."""
    from alembic import command  # noqa: PLC0415 - takes 100 ms, and only an old store needs it
    from alembic.config import Config  # noqa: PLC0415 - same
    from alembic.script import ScriptDirectory  # noqa: PLC0415 - same

    config = Config()
    config.set_main_option("script_location", "prompt_evaluator.store:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    made = ScriptDirectory.from_config(config).iterate_revisions("head", before)
    return tuple(f"{script.revision}: {script.doc}" for script in made)[::-1]


def _revision(connection: Connection) -> str | None:
    """None for a new store."""
    if "alembic_version" not in inspect(connection).get_table_names():
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found
