"""Queries on stored runs, as used by commands and servers."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from labelling import RUN, add_run

from prompt_evaluator.app.run_queries import (
    dataset_history,
    query_runs,
    run_line,
)
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.condition import condition
from prompt_evaluator.model.query import RunQuery

if TYPE_CHECKING:
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.store import Store


@pytest.fixture
def store(settings: Settings) -> Store:
    return open_store(settings)


def test_a_run_without_an_owner_is_interrupted_also_for_conditions(settings: Settings, store: Store) -> None:
    add_run(store, "run-mine")
    add_run(store, "run-gone")
    for run_id in ("run-mine", "run-gone"):
        store.update_run(run_id, status="running")

    def found(text: str) -> dict[str, str]:
        page = query_runs(settings, RunQuery(where=(condition(text),)))
        return {line.run_id: line.status for line in page.items}

    with closing(store), store.own("run-mine"):
        assert found("status=running") == {"run-mine": "running"}
        assert found("status=interrupted") == {"run-gone": "interrupted"}
        assert found("status!=running") == {"run-gone": "interrupted", RUN: "completed"}
        assert run_line(settings, "run-g").status == "interrupted"
        assert {line.status for line in dataset_history(settings, "0")} == {"completed", "running", "interrupted"}
