"""Models ranked by their newest comparable runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from ranked_runs import add_ranked
from trend_runs import METRIC, run_id

from prompt_evaluator.app.leaderboard import leaderboard
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model import MetricUse
from prompt_evaluator.model.leaderboard import LeaderboardQuery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.model.leaderboard import DatasetBoard
    from prompt_evaluator.store import Store


@pytest.fixture
def store(here: Path) -> Iterator[Store]:
    assert here.is_dir()
    opened = open_store(read_settings())
    yield opened
    opened.close()


def boards(**query: Any) -> tuple[DatasetBoard, ...]:
    return leaderboard(read_settings(), LeaderboardQuery(**query)).boards


def ranks(board: DatasetBoard) -> list[tuple[int | None, str]]:
    return [(run.rank, run.model) for run in board.runs]


def change_plan(store: Store, run: str, **values: Any) -> None:
    store.replace_plan(msgspec.structs.replace(store.run(run).plan, **values))


def test_models_that_intervals_cannot_tell_apart_share_a_rank(store: Store) -> None:
    add_ranked(store, 1, 3.9, model="openai/b")
    add_ranked(store, 2, 4.0, model="openai/a")
    add_ranked(store, 3, 2.0, model="openai/c")

    (board,) = boards()

    assert ranks(board) == [(1, "openai/a"), (1, "openai/b"), (3, "openai/c")]
    assert (board.dataset_name, board.metric, board.cases, board.judge_model) == ("support", METRIC, 10, "openai/judge")
    assert board.left_out == ()


def test_the_newest_run_of_a_model_with_a_prompt_counts(store: Store) -> None:
    add_ranked(store, 1, 4.0)
    add_ranked(store, 2, 2.0)
    add_ranked(store, 3, 5.0, status="aborted")
    add_ranked(store, 4, 3.0, prompt="b")

    (board,) = boards()

    assert [(run.run_id, run.older_runs) for run in board.runs] == [(run_id(4), 0), (run_id(2), 1)]


def test_a_mean_of_zero_is_ranked_and_costs_are_those_of_a_sample(store: Store) -> None:
    add_ranked(store, 1, 0.0, model="openai/zero")
    add_ranked(store, 2, 4.0, model="openai/good")

    good, zero = boards()[0].runs

    assert (zero.rank, zero.scores[METRIC].mean) == (2, 0.0)
    assert good.cost_per_sample == pytest.approx(1.5 / 10)
    assert good.tokens_per_sample == pytest.approx(800 / 10)


def test_an_unknown_price_is_not_free(store: Store) -> None:
    add_ranked(store, 1, 4.0, totals={"cost": None, "unpriced_calls": 20})

    (run,) = boards()[0].runs

    assert (run.cost, run.unpriced_calls, run.cost_per_sample) == (None, 20, None)


def test_a_run_that_reused_answers_is_ranked_by_what_they_cost(store: Store) -> None:
    run = add_ranked(store, 1, 4.0, totals={"cost": 0.0, "reused_units": 10})
    change_plan(store, run, reuse=True)

    (entry,) = boards()[0].runs

    assert entry.cost == store.case_cost(run) == 15.0


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"dataset": "e2" * 32}, "has another version of the dataset, e2e2e2e2"),
        ({"judge": "openai/other"}, "was judged by openai/other"),
        ({"count": 50}, "has 10 of the 50 cases"),
    ],
    ids=["dataset", "judge", "cases"],
)
def test_runs_that_are_not_comparable_are_left_out_with_the_reason(
    store: Store, given: dict[str, Any], reason: str
) -> None:
    add_ranked(store, 1, 4.0, model="openai/a")
    add_ranked(store, 2, 3.0, model="openai/b")
    add_ranked(store, 3, 5.0, model="openai/c", **given)

    (board,) = boards()

    assert ranks(board) == [(1, "openai/a"), (2, "openai/b")]
    assert [(run.model, run.reason) for run in board.left_out] == [("openai/c", reason)]


def test_other_metrics_make_runs_incomparable(store: Store) -> None:
    add_ranked(store, 1, 4.0, model="openai/a")
    add_ranked(store, 2, 3.0, model="openai/b")
    change_plan(store, add_ranked(store, 3, 5.0, model="openai/c"), metrics=(MetricUse(metric="similarity"),))

    assert [run.reason for run in boards()[0].left_out] == ["has other metrics"]


def test_a_run_with_scores_for_few_cases_is_left_out(store: Store) -> None:
    add_ranked(store, 1, 4.0, model="openai/a")
    add_ranked(store, 2, 5.0, model="openai/b", cases=8, status="partial")

    (board,) = boards()

    assert ranks(board) == [(1, "openai/a")]
    assert [run.reason for run in board.left_out] == ["has scores for 8 of 10 cases"]


def test_of_several_groups_the_one_with_the_most_models_counts_then_the_newest(store: Store) -> None:
    add_ranked(store, 1, 4.0, dataset="d1" * 32)
    add_ranked(store, 2, 4.0, dataset="d2" * 32)

    assert boards()[0].dataset_hash == "d2" * 32
    add_ranked(store, 3, 4.0, dataset="d1" * 32, model="openai/b")
    add_ranked(store, 4, 4.0, dataset="d2" * 32)
    assert boards()[0].dataset_hash == "d1" * 32
    assert boards(dataset="d2d2")[0].dataset_hash == "d2" * 32


def test_each_dataset_has_its_own_board_and_can_be_chosen(store: Store) -> None:
    add_ranked(store, 1, 4.0, name="support", dataset="d1" * 32)
    add_ranked(store, 2, 4.0, name="search", dataset="d2" * 32)

    assert [board.dataset_name for board in boards()] == ["search", "support"]
    assert [board.dataset_name for board in boards(dataset="support")] == ["support"]
    with pytest.raises(UnknownNameError, match=r"There is no dataset 'suport'.*'support'"):
        boards(dataset="suport")


def test_an_unknown_metric_is_refused_with_the_known_ones(store: Store) -> None:
    add_ranked(store, 1, 4.0)

    assert boards(metric=METRIC)[0].metric == METRIC
    with pytest.raises(UnknownNameError, match=r"There is no metric 'clarty'.*'clarity'"):
        boards(metric="clarty")


def test_errors_status_and_the_mock_are_told(store: Store) -> None:
    counts = {"completed": 8, "judge_error": 1, "generation_error": 1, "pending": 5}
    add_ranked(store, 1, 4.0, status="partial", totals={"samples": counts}, synthetic=True)

    (entry,) = boards()[0].runs

    assert (entry.status, entry.samples, entry.errors) == ("partial", 10, 2)
    assert entry.synthetic


def test_without_intervals_there_are_no_ranks_and_the_best_mean_comes_first(store: Store) -> None:
    add_ranked(store, 1, 3.0, None, model="openai/a")
    add_ranked(store, 2, 4.0, None, model="openai/b")

    assert ranks(boards()[0]) == [(None, "openai/b"), (None, "openai/a")]


def test_at_most_so_many_models_are_listed(store: Store) -> None:
    for at in range(3):
        add_ranked(store, at, 4.0 - at, model=f"openai/{at}")

    (board,) = boards(limit=2)

    assert (ranks(board), board.more_runs) == ([(1, "openai/0"), (2, "openai/1")], 1)


def test_without_runs_there_are_no_boards(here: Path) -> None:
    assert here.is_dir()
    assert boards() == boards(metric="clarity") == ()
