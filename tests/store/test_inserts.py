"""Bulk inserts: what is read is what was written, whichever columns have one value in all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Boolean, Float, Integer, create_engine, select

from prompt_evaluator.store.inserts import insert_rows
from prompt_evaluator.store.result_tables import CASE_FLAGS, CASE_METRICS, CASE_RESULTS, SAMPLE_RESULTS
from prompt_evaluator.store.schema import CASES, METADATA

if TYPE_CHECKING:
    from sqlalchemy import Column, Table

ENGINE = create_engine("sqlite://")
METADATA.create_all(ENGINE)


def value(column: Column[Any], number: int) -> Any:
    """One of many values that the column can have."""
    if isinstance(column.type, Boolean):
        return bool(number % 2)
    if isinstance(column.type, Float):
        return number / 4
    return number if isinstance(column.type, Integer) else f"{column.name} {number}"


@pytest.mark.parametrize(
    "table", [CASES, CASE_RESULTS, CASE_METRICS, CASE_FLAGS, SAMPLE_RESULTS], ids=lambda table: table.name
)
@given(data=st.data())
def test_every_row_is_stored_with_its_own_values(table: Table, data: st.DataObject) -> None:
    columns = list(table.c)
    equal = data.draw(st.sets(st.sampled_from([column.name for column in columns])))
    empty = data.draw(st.sets(st.sampled_from([column.name for column in columns if column.nullable] or ["none"])))
    odd = data.draw(st.integers(0, 599))
    keys = {column.name for column in table.primary_key} | {"position", "case_id"}

    def row(number: int) -> tuple[Any, ...]:
        return tuple(
            (number if isinstance(column.type, Integer) else f"{number:04}")
            if column.name in keys - {"run_id"}
            else None
            if column.name in empty and number != odd
            else value(column, 1 if column.name in equal and number != odd else number)
            for column in columns
        )

    rows = [row(number) for number in range(data.draw(st.sampled_from([1, 2, 15, 16, 17, 300, 600])))]
    with ENGINE.connect() as connection, connection.begin() as transaction:
        insert_rows(connection, table, rows)
        stored = [
            tuple(value.decode() if isinstance(value, bytes) else value for value in found)
            for found in connection.execute(select(table))
        ]
        transaction.rollback()
    assert sorted(stored, key=repr) == sorted(rows, key=repr)
