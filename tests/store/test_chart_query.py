"""What charts ask of the store."""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING

import pytest
from compared_site import Planned, add_planned

from prompt_evaluator.store.chart_query import BinEdges

if TYPE_CHECKING:
    from prompt_evaluator.store import Store

CASES = [
    Planned({"clarity": [1.0, 5.0], "warmth": [4.0, 4.0]}, metadata={"topic": "a"}),
    Planned({"clarity": [3.0, 3.0], "warmth": [2.0, 3.0]}, metadata={"topic": "b"}),
    Planned({"clarity": [4.4, 4.5], "warmth": [4.0, 4.0]}, metadata={"topic": "a"}),
]
WHOLE = BinEdges(0.5, 1.0, 5)


def test_scores_are_counted_in_bins_by_the_database(store: Store) -> None:
    run_id = add_planned(store, 1, CASES)

    found = store.score_bins(run_id, {"clarity": WHOLE, "warmth": WHOLE})

    assert found == {
        ("clarity", 0): 1,
        ("clarity", 2): 2,
        ("clarity", 3): 1,
        ("clarity", 4): 2,
        ("warmth", 1): 1,
        ("warmth", 2): 1,
        ("warmth", 3): 4,
    }


def test_a_score_on_an_edge_is_in_the_upper_bin_except_at_the_end(store: Store) -> None:
    scores = [0.0, 0.1, 0.3, 0.15 * 2, 0.7, 0.6 + 0.1, 1.0, -3.0, 9.0]
    run_id = add_planned(store, 1, [Planned({"clarity": scores})])

    found = store.score_bins(run_id, {"clarity": BinEdges(0.0, 0.1, 10)})

    assert found == {("clarity", 0): 2, ("clarity", 1): 1, ("clarity", 3): 2, ("clarity", 7): 2, ("clarity", 9): 2}
    assert store.score_bins(run_id, {}) == {}


def test_the_most_varying_cases_come_first_by_share_of_the_scale(store: Store) -> None:
    run_id = add_planned(store, 1, CASES)

    found = store.varying_cells(run_id, {"clarity": 4.0, "warmth": 4.0}, 2)

    assert [(cell.case_id, cell.metric) for cell in found.cells] == [
        ("case-000", "clarity"),
        ("case-000", "warmth"),
        ("case-001", "clarity"),
        ("case-001", "warmth"),
    ]
    assert found.cells[0].std == pytest.approx(8**0.5)
    assert found.cells[0].samples == 2
    assert found.cases == 3


def test_a_metric_on_a_narrower_scale_varies_more(store: Store) -> None:
    run_id = add_planned(store, 1, CASES)

    found = store.varying_cells(run_id, {"clarity": 400.0, "warmth": 1.0}, 1)

    assert {cell.case_id for cell in found.cells} == {"case-001"}
    assert store.varying_cells(run_id, {}, 1).cells == ()


def test_all_cases_are_read_with_their_metadata_and_means(store: Store) -> None:
    run_id = add_planned(store, 1, CASES)

    (found,) = store.case_columns(run_id)

    topics = [found.metadata[kind] for kind in array("I", found.kinds)]
    assert [json.loads(text) for text in topics] == [{"topic": "a"}, {"topic": "b"}, {"topic": "a"}]
    assert {name: array("d", each.mean)[1] for name, each in found.metrics.items()} == {"clarity": 3.0, "warmth": 2.5}
