"""How a metric went over the runs of a dataset."""

from __future__ import annotations

from random import Random
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any

import pytest
from trend_runs import METRIC, add_run, drawn, run_id

from prompt_evaluator.app.findings import trend_findings
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.app.trends import read_trends
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.condition import condition
from prompt_evaluator.model.trend import MetricTrend, TrendQuery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.trend import Trends
    from prompt_evaluator.store import Store

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def store(here: Path) -> Iterator[Store]:
    assert here.is_dir()
    opened = open_store(read_settings())
    yield opened
    opened.close()


def settings() -> Settings:
    return read_settings()


def trends(**query: Any) -> Trends:
    found = read_trends(settings(), TrendQuery(**query))
    assert found is not None
    return found


def trend(**query: Any) -> MetricTrend:
    (metric,) = trends(**{"metric": METRIC, **query}).metrics
    return metric


def said(**query: Any) -> tuple[str, str]:
    """The sentence, and all else there is to say about the metric."""
    found = trend_findings(trends(**{"metric": METRIC, **query}), program=("prompt-evaluator",))
    metric = found.metrics[METRIC]
    return metric.sentence, " ".join([*metric.changes, *(note.text for note in (*metric.notes, *found.notes))])


def add_series(store: Store, levels: list[float], *, seed: int = 1, samples: int = 5, **given: Any) -> None:
    rng = Random(seed)
    for at, level in enumerate(levels):
        add_run(store, at, drawn(rng, level, samples=samples), **given)


def test_a_drop_is_found_where_the_prompt_changed(store: Store) -> None:
    rng = Random(2)
    for at in range(12):
        later = at >= 7
        add_run(
            store, at, drawn(rng, 3.8 if later else 4.2), prompt="9" if later else "3", version="v2" if later else "v1"
        )

    metric = trend(dataset="support")
    (change,) = metric.changes

    assert (change.run_id, change.previous_run_id) == (run_id(7), run_id(6))
    assert [each.text for each in change.differences] == ["prompt v1 (3333) → v2 (9999)"]
    assert change.low < change.after - change.before < change.high < -0.2
    assert change.p_value < 1e-4
    sentence, rest = said()
    assert sentence.startswith("clarity fell from 4.15 to 3.76 at")
    assert sentence.endswith("at run 00000007 (2026-01-08), where the prompt changed.")
    assert "The same: model and rubric." in rest


def test_the_error_of_a_mean_is_that_of_samples_within_cases(store: Store) -> None:
    scores = drawn(Random(2), 4.0, cases=30)
    add_run(store, 0, scores)

    (point,) = trend().points

    assert point.error == pytest.approx(sum(variance(each) / 5 for each in scores) ** 0.5 / 30)
    assert point.mean == pytest.approx(fmean(fmean(each) for each in scores))


def test_a_series_without_a_change_says_so(store: Store) -> None:
    add_series(store, [4.0] * 12, seed=2)

    sentence, rest = said()

    assert sentence == "No change of clarity seen in 12 runs; it is 3.95 on average."
    assert rest == ""


@pytest.mark.parametrize(("runs", "words"), [(1, "in the only run"), (3, "in the last of 3 runs")])
def test_fewer_than_four_runs_are_too_few(store: Store, runs: int, words: str) -> None:
    add_series(store, [4.0, 2.0, 4.0][:runs])

    sentence, _ = said()

    assert words in sentence
    assert sentence.endswith("Finding changes needs 4 runs.")
    assert trend().changes == ()


def test_a_run_far_off_is_marked_and_is_no_change(store: Store) -> None:
    add_series(store, [4.0] * 5 + [3.0] + [4.0] * 5)

    sentence, rest = said()

    assert sentence.startswith("No change of clarity seen in 11 runs")
    assert [point.run_id for point in trend().points if point.blip] == [run_id(5)]
    assert "Run 00000005 (2026-01-06 09:30) is far off at" in rest


def test_a_change_in_the_newest_run_waits_for_the_next(store: Store) -> None:
    add_series(store, [4.0] * 7 + [3.0])

    assert "It is the newest run" in said()[1]


def test_a_change_without_a_cause_on_record_says_so(store: Store) -> None:
    add_series(store, [4.0] * 6 + [3.5] * 6)

    sentence, rest = said()

    assert sentence.endswith("where nothing changed that is recorded.")
    assert "What answers under these names may have changed" in rest


def test_something_that_changed_one_run_away_is_named(store: Store) -> None:
    rng = Random(1)
    for at in range(12):
        add_run(store, at, drawn(rng, 3.5 if at >= 6 else 4.0), temperature=0.7 if at >= 5 else 0.2)

    sentence, rest = said()

    assert sentence.endswith("where nothing changed that is recorded, but the temperature did one run away.")
    assert "One run away: temperature 0.2 → 0.7." in rest


def test_changes_below_the_threshold_are_not_reported(store: Store) -> None:
    rng = Random(1)
    for at in range(10):
        add_run(store, at, drawn(rng, 4.0 if at < 5 else 3.92, spread=0.05))

    assert trend().changes == ()
    assert len(trend(metric_threshold=0.01).changes) == 1


def test_one_sample_per_case_takes_the_noise_from_neighbouring_runs(store: Store) -> None:
    add_series(store, [4.2] * 7 + [3.2] * 5, samples=1)

    metric = trend()

    assert metric.noise == "neighbours"
    assert [change.run_id for change in metric.changes] == [run_id(7)]
    assert "estimated from how much each case differs from one run to the next" in said()[1]


def test_a_run_of_one_sample_takes_the_noise_of_the_others(store: Store) -> None:
    rng = Random(3)
    for at in range(8):
        add_run(store, at, drawn(rng, 4.0, samples=1 if at == 4 else 5))

    metric = trend()

    assert metric.noise == "all_runs"
    assert metric.points[4].error == pytest.approx((metric.points[3].error or 0) * 5**0.5, rel=0.2)


def test_answers_that_never_vary_are_no_problem(store: Store) -> None:
    for at in range(8):
        add_run(store, at, [[4.0, 4.0], [3.0, 3.0], [2.0, 2.0]])

    metric = trend()

    assert (metric.changes, metric.noise) == ((), None)
    assert [point.error for point in metric.points] == [None] * 8


def test_a_case_that_flips_and_stays_is_a_change_where_answers_never_vary(store: Store) -> None:
    for at in range(10):
        add_run(store, at, [*[[4.0, 4.0]] * 7, [5.0, 5.0] if at < 6 else [1.0, 1.0]])

    assert [change.run_id for change in trend().changes] == [run_id(6)]


def test_runs_that_jitter_more_than_their_samples_have_wider_errors(store: Store) -> None:
    rng = Random(4)
    for at in range(20):
        add_run(store, at, drawn(rng, 4.0 + rng.gauss(0, 0.3), spread=0.2))

    metric = trend()

    assert metric.excess_included
    assert metric.excess_std == pytest.approx(0.3, rel=0.5)
    assert "Runs differ more than their samples explain" in said()[1]
    assert metric.changes == ()


def test_runs_of_other_cases_are_left_out_with_a_note(store: Store) -> None:
    add_series(store, [4.0] * 5)
    add_run(store, 6, drawn(Random(1), 2.0, cases=3), count=20, filters={"max_cases": 3})

    assert len(trend().points) == 5
    assert "Run 00000006 is left out: it has 3 of the 20 cases." in said()[1]


def test_failed_cases_are_left_out_of_all_runs(store: Store) -> None:
    rng = Random(5)
    for at in range(6):
        scores = drawn(rng, 4.0)
        if at == 3:
            scores[0] = scores[1] = []
        add_run(store, at, scores, status="partial" if at == 3 else "completed")

    metric = trend()

    assert metric.common_cases == 18
    assert {point.cases for point in metric.points} == {18}
    assert "Means are over the 18 cases that all these runs have scored." in said()[1]


def test_a_run_that_scored_few_of_its_cases_is_left_out(store: Store) -> None:
    add_series(store, [4.0] * 5)
    add_run(store, 5, [*drawn(Random(1), 4.0, cases=10), *([] for _ in range(10))], status="partial")

    assert len(trend().points) == 5
    assert "Run 00000005 is left out: it has scores for 10 of 20 cases." in said()[1]


@pytest.mark.parametrize("status", ["queued", "running", "failed", "aborted"])
def test_only_finished_runs_count(store: Store, status: str) -> None:
    add_series(store, [4.0] * 4)
    add_run(store, 5, drawn(Random(1), 1.0), status=status)

    assert trends().runs == 4


def test_the_newest_version_of_the_dataset_is_shown_and_others_are_named(store: Store) -> None:
    for at in range(3):
        add_run(store, at, drawn(Random(at), 4.0), dataset="ab" * 32)
    add_run(store, 3, drawn(Random(3), 4.0), dataset="cd" * 32)
    add_run(store, 4, drawn(Random(3), 4.0), dataset="cd" * 32, judge="openai/other")

    found = trends()

    assert (found.version.dataset_hash, found.version.judge_model, found.runs) == ("cd" * 32, "openai/other", 1)
    assert "Other versions of this dataset, for --dataset: abababab (3 runs)." in said()[1]
    assert "Runs with another judge, for --judge: " in said()[1]
    assert trends(dataset="abab").runs == 3
    assert trends(dataset="sha256:abab", judge="judge").runs == 3
    assert trends(judge="openai/judge").version.judge_model == "openai/judge"


@pytest.mark.parametrize("dataset", ["support", "/data/support.jsonl", "d1d1d1", f"sha256:{'d1' * 32}", None])
def test_a_dataset_is_named_in_several_ways(store: Store, dataset: str | None) -> None:
    add_run(store, 0, drawn(Random(1), 4.0), name="elsewhere", dataset="e1" * 32)
    add_run(store, 1, drawn(Random(1), 4.0))

    assert trends(dataset=dataset).version.dataset_name == "support"


def test_a_relative_path_is_one_from_here(store: Store, here: Path) -> None:
    add_run(store, 0, drawn(Random(1), 4.0))

    assert trends(dataset=f"{'../' * len(here.parts)}data/support.jsonl").runs == 1


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"dataset": "suport"}, "There is no dataset 'suport'. Did you mean 'support'?"),
        ({"metric": "clarty"}, "There is no metric 'clarty'. Did you mean 'clarity'?"),
        ({"judge": "openai/jugde"}, "There is no judge 'openai/jugde'. Did you mean 'openai/judge'?"),
        ({"model": "smal"}, "There is no model 'smal'. Did you mean 'openai/small'?"),
    ],
    ids=str,
)
def test_a_mistyped_name_gets_a_suggestion(store: Store, query: dict[str, str], words: str) -> None:
    add_run(store, 0, drawn(Random(1), 4.0))

    with pytest.raises(UnknownNameError) as caught:
        trends(**query)

    assert str(caught.value).startswith(words)


def test_conditions_and_the_model_narrow_the_runs(store: Store) -> None:
    for at in range(6):
        add_run(store, at, drawn(Random(at), 4.0), model=f"openai/m{at % 2}", version=f"v{at}")

    assert trends(model="m1").runs == 3
    assert trends(where=(condition("prompt=v2"),)).runs == 1
    assert trends(limit=2).runs == 2
    assert "use --limit" in said(limit=4)[1]
    with pytest.raises(ConfigurationError, match="No finished run of dataset 'support' matches prompt=v9"):
        trends(where=(condition("prompt=v9"),))


def test_models_that_take_turns_are_pointed_out(store: Store) -> None:
    for at in range(6):
        add_run(store, at, drawn(Random(at), 4.0), model=f"openai/m{at % 2}")

    assert "These runs are of 2 models in turn: see one with --model (openai/m0, openai/m1)." in said()[1]


def test_a_model_that_was_replaced_once_is_a_suspect_and_not_a_turn(store: Store) -> None:
    rng = Random(1)
    for at in range(8):
        add_run(store, at, drawn(rng, 4.0 if at < 4 else 3.0), model="openai/old" if at < 4 else "openai/new")

    sentence, rest = said()

    assert sentence.endswith("where the model changed.")
    assert "model openai/old → openai/new" in rest
    assert "in turn" not in rest


def test_without_a_metric_all_are_shown(store: Store) -> None:
    add_series(store, [4.0] * 4)

    assert [metric.name for metric in trends().metrics] == [METRIC, "brevity"]


def test_no_runs_are_none(store: Store) -> None:
    assert store.running() == []
    assert read_trends(settings(), TrendQuery()) is None


def test_runs_that_reuse_an_earlier_one_are_left_out_because_they_tell_nothing_new(store: Store) -> None:
    rng = Random(3)
    scores = [drawn(rng, 4.2) for _ in range(4)]
    for at, each in enumerate(scores):
        add_run(store, at, each)
    alone = trend()
    for at in range(4, 8):
        add_run(store, at, scores[3], reused=100)
    add_run(store, 8, scores[3], prompt="b", reused=20)

    copied = trend()

    assert [point.run_id for point in copied.points] == [*(point.run_id for point in alone.points), run_id(8)]
    assert [left.run_id for left in copied.left_out] == [run_id(at) for at in range(4, 8)]
    assert "reuses the answers and scores of an earlier run" in said()[1]
