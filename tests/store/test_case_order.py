"""A page from a known order is the page that the query finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from seeded_site import large_run

from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.query import CaseQuery

if TYPE_CHECKING:
    from prompt_evaluator.store import Store

CASES = 60


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("sort", ["position", "cost", "latency", "flakiness", "clarity"])
def test_pages_of_a_known_order_are_those_of_the_query(store: Store, sort: str, descending: bool) -> None:  # noqa: FBT001
    run_id = large_run(store, CASES)
    query = CaseQuery(
        run_id=run_id,
        metrics=(Condition("clarity", ">=", "2"),),
        sort=sort,
        descending=descending,
        limit=7,
    )
    order = store.case_order(query)
    cursor, pages = None, 0
    while True:
        asked = msgspec.structs.replace(query, cursor=cursor)
        page = store.query_cases(asked, order)
        assert page == store.query_cases(asked)
        cursor, pages = page.next, pages + 1
        if cursor is None:
            break

    assert pages == -(-len(order) // 7)
    assert 7 < len(order) < CASES
