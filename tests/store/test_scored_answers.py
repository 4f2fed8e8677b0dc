"""What an export of preference pairs asks of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from case_results import case_result, failed_sample, sample

from prompt_evaluator.model.result import CriterionScore, MetricScore
from prompt_evaluator.store.scored_answers import ScoredAnswer

if TYPE_CHECKING:
    from prompt_evaluator.store import Store

FAILED = MetricScore(status="failed", score=None, passed=None, reason="broken")
SKIPPED = MetricScore(status="skipped", score=None, passed=None, reason="no reference")


def test_only_whole_answers_without_errors_and_calls_of_tools_are_read(store: Store, run_id: str) -> None:
    clear: dict[str, Any] = {"judge_metrics": {"clarity": CriterionScore(2.0, "")}, "tool_calls": ()}
    samples = (
        sample(number=0, scores={"match": SKIPPED}, **clear),
        sample(number=1, scores={"length": FAILED}, **clear),
        failed_sample(number=2),
        sample(number=3, generator_output="", **clear),
        sample(number=4, scores={}, judge_metrics=clear["judge_metrics"]),
        sample(number=5, scores={}, status="judge_error", **clear),
        sample(number=6, **clear),
    )
    writer = store.writer(run_id)
    writer.put_case(0, case_result(samples=samples), {})
    writer.put_case(3, case_result("case-3", samples=(sample("case-3", tool_calls=()),)), {})
    writer.close()

    assert store.scored_answers(run_id, 0, 2) == {
        0: [ScoredAnswer(0, {"clarity": 2.0}), ScoredAnswer(6, {"clarity": 2.0, "length": 1.0})]
    }
    assert set(store.scored_answers(run_id, 0, 3)) == {0, 3}
    assert store.answers(run_id, [(0, 6), (3, 0)]) == {(0, 6): "Answer 6 to case-0", (3, 0): "Answer 0 to case-3"}
