"""Which tables belong to runs, found in the schema, so that tables and columns of later versions are included.

A table belongs to runs if it has a `run_id` or refers to such a table. Tables and columns that mean something in one
store only say so in their `info`: see `LOCAL` and `BY_NAME`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from prompt_evaluator.store import result_tables as _all_tables  # noqa: F401 - adds its tables to the schema
from prompt_evaluator.store.schema import METADATA, RUNS

if TYPE_CHECKING:
    from sqlalchemy import Column, ColumnElement, Table


class RunTable(NamedTuple):
    """A table with rows of runs."""

    table: Table
    columns: tuple[Column[Any], ...]
    """Those that are copied."""
    number: Column[Any] | None
    """The key, if it is a number that the database chooses."""
    parent: tuple[Column[Any], Table] | None
    """The column with such a number of another table, and that table."""

    @property
    def name(self) -> str:
        """In words."""
        return str(self.table.name).replace("_", " ")

    def of_run(self, run_id: str) -> ColumnElement[bool]:
        """Whether a row belongs to the run."""
        if self.parent is None:
            return self.table.c.run_id == run_id
        column, table = self.parent
        return column.in_(select(_key(table)).where(table.c.run_id == run_id))


def _key(table: Table) -> Column[Any]:
    (column,) = table.primary_key
    return column


def _run_tables() -> tuple[RunTable, ...]:
    """All of them, referred tables first."""
    found: dict[Table, RunTable] = {}
    for table in METADATA.sorted_tables:
        if "copied" in table.info or table is RUNS:
            continue
        numbered = [
            (key.parent, key.column.table)
            for key in sorted(table.foreign_keys, key=lambda key: key.parent.name)
            if key.column.table in found and found[key.column.table].number is not None
        ]
        if "run_id" in table.c or numbered:
            columns = tuple(column for column in table.c if "copied" not in column.info)
            number = table.autoincrement_column
            found[table] = RunTable(table, columns, number, numbered[0] if numbered else None)
    return tuple(found.values())


RUN = RunTable(RUNS, tuple(column for column in RUNS.c if "copied" not in column.info), None, None)
RUN_TABLES = _run_tables()
"""All tables with rows of runs, except `runs` itself and those copied by name."""
BULK_TABLES = tuple(each for each in RUN_TABLES if each.number is None and each.parent is None)
"""Those that may have many rows of a run. Nobody sees them as long as `runs` does not have the run."""
NUMBERED_TABLES = tuple(each for each in RUN_TABLES if each not in BULK_TABLES)
"""Those with numbers that another store may have given to something else."""
NAMED_TABLES = tuple(table for table in METADATA.sorted_tables if table.info.get("copied") == "by name")
NOT_COPIED = tuple(
    sorted(
        str(table.name)
        for table in METADATA.sorted_tables
        if table is not RUNS and table not in NAMED_TABLES and all(table is not each.table for each in RUN_TABLES)
    )
)
