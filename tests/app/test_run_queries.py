"""Queries on stored runs, as used by commands and servers."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from case_results import case_result
from labelling import RUN, add_run

from prompt_evaluator.app.run_queries import (
    case_detail,
    dataset_history,
    query_cases,
    query_runs,
    run_line,
)
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.condition import condition
from prompt_evaluator.model.query import CaseQuery, RunQuery

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


def test_cases_are_listed_and_looked_at_one_by_one(settings: Settings, store: Store) -> None:
    writer = store.writer(RUN)
    writer.put_case(0, case_result("refund"), {"clarity": "mock/judge"})
    writer.close()
    store.close()

    page = query_cases(settings, CaseQuery(run_id=RUN[:8], limit=2))
    detail = case_detail(settings, RUN[:8], "refund")

    assert [(line.case_id, line.status) for line in page.items] == [("refund", "completed"), ("-late", "pending")]
    assert page.next is not None
    assert detail.samples[1].scores["clarity"].judge == "mock/judge"
    with pytest.raises(UnknownNameError, match="Did you mean 'refund'"):
        case_detail(settings, RUN, "refunds")
