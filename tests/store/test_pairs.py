"""What a judge said in a pairwise comparison, read from either kind of store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from case_results import case_result, failed_sample, run_result, sample

from prompt_evaluator.model import CallFailure
from prompt_evaluator.model.pairwise import Pair
from prompt_evaluator.model.result import MetricScore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prompt_evaluator.model import RunRecord, TestCase
    from prompt_evaluator.model.result import SampleResult
    from prompt_evaluator.store import Store


def judged(number: int, first: float | None, second: float | None, *, same: bool = False) -> SampleResult:
    """A sample with a score for each order; None for one that failed."""
    values = {"candidate_first": first, "baseline_first": second}
    details = {"better": "tie", "same": True} if same else {"better": "1"}
    scores = {
        name: MetricScore(status="scored", score=value, passed=True, reason="", details=details)
        if value is not None
        else MetricScore(status="failed", score=None, passed=None, reason="unreadable", details={})
        for name, value in values.items()
    }
    return sample("case", number, scores=scores, judge_metrics={}, judge_flags={})


def missing_rival(number: int) -> SampleResult:
    failure = CallFailure(kind="NotGenerated", message="the baseline has no answer to this sample")
    return sample("case", number, scores={}, status="judge_error", error=failure, error_metric="candidate_first")


def put(store: Store, run_id: str, *cases: tuple[SampleResult, ...]) -> None:
    results = [(at, case_result(f"case-{at}", samples=samples)) for at, samples in enumerate(cases)]
    store.replace_results(run_id, results, run_result, judges={})


def test_pairs_are_read_by_case_in_order(store: Store, run_id: str) -> None:
    put(
        store,
        run_id,
        (judged(0, 1.0, 1.0), judged(1, 1.0, 0.0)),
        (judged(0, 0.5, 0.5, same=True),),
        (judged(0, 0.0, None), judged(1, None, None)),
    )

    assert list(store.pairs(run_id)) == [
        [Pair(1.0, 1.0), Pair(1.0, 0.0)],
        [Pair(0.5, 0.5, is_same=True)],
        [Pair(0.0, None), Pair(None, None)],
    ]


def test_a_pair_without_an_answer_of_either_run_says_so(store: Store, run_id: str) -> None:
    put(store, run_id, (failed_sample("case", 0), missing_rival(1)))

    assert list(store.pairs(run_id)) == [[Pair(None, None, has_answers=False), Pair(None, None, has_answers=False)]]


def test_samples_still_to_be_judged_are_left_out(store: Store, run_id: str) -> None:
    pending = sample("case", 1, status="pending", scores={})
    put(store, run_id, (judged(0, 1.0, 1.0), pending), (sample("case", 0, status="pending", scores={}),))

    assert list(store.pairs(run_id)) == [[Pair(1.0, 1.0)]]


def test_a_run_without_results_has_no_pairs(store: Store, run_id: str) -> None:
    assert list(store.pairs(run_id)) == []


def test_cases_are_the_same_if_their_content_is(
    store: Store, run_id: str, record: Callable[..., RunRecord], cases: Callable[[int], Iterator[TestCase]]
) -> None:
    store.create_run(record("run-0002"), cases(3))

    own, other = (store.content_hashes(each, ["case-0", "case-1", "case-9"]) for each in (run_id, "run-0002"))

    assert own.keys() == {"case-0", "case-1", "case-9"}
    assert other == {name: own[name] for name in ("case-0", "case-1")}
