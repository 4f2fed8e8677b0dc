"""From stored results to the harness's evaluations and summaries."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from prompt_evaluator.model.harness import HarnessAttempt, HarnessEvaluation, HarnessSummary
from prompt_evaluator.stats.intervals import clustered_share_interval

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from prompt_evaluator.model.harness import ConfigEntry
    from prompt_evaluator.model.result import AttemptResult, CaseResult, SampleResult
    from prompt_evaluator.model.run import CallFailure
    from prompt_evaluator.stats.intervals import Interval

TRIGGERS = "excludes"
"""The check that a response with a hallucination trigger misses. All others have to pass for a task to be complete."""
_DIGITS, _MS_DIGITS = 4, 2


def evaluations(entry: ConfigEntry, result: CaseResult) -> Iterator[HarnessEvaluation]:
    """Yield an evaluation for each finished sample of a task."""
    for number, sample in enumerate(result.samples):
        if sample.status == "pending":
            continue
        attempts = (*map(_earlier, sample.earlier_attempts), _last(sample))
        latencies = [each.latency_ms for each in attempts if each.latency_ms is not None]
        incidents = sum(bool(each.hallucination_incident) for each in attempts)
        yield HarnessEvaluation(
            config_id=entry.id,
            provider=entry.provider,
            router=entry.router,
            model=entry.model,
            task_id=result.test_case_id,
            category=_text(result.test_case_metadata.get("category")),
            sample=number,
            completion_pass=attempts[-1].completion_pass,
            retries_used=sample.attempt,
            hallucination_incident=incidents > 0,
            hallucination_incidents=incidents,
            latency_ms=round(fmean(latencies), _MS_DIGITS) if latencies else None,
            output_sample=sample.generator_output,
            attempts=attempts,
            error=attempts[-1].error,
        )


def summary(entry: ConfigEntry, found: Sequence[HarnessEvaluation], total_tasks: int) -> HarnessSummary:
    """Sum up the evaluations of one configuration. Samples that failed are counted, and left out of the averages."""
    done = [each for each in found if each.completion_pass is not None]
    latencies = [ms for each in found for attempt in each.attempts if (ms := attempt.latency_ms) is not None]
    completed = sum(each.completion_pass is True for each in done)
    return HarnessSummary(
        config_id=entry.id,
        total_tasks=total_tasks,
        task_completion_rate=round(100 * completed / len(done), _DIGITS) if done else None,
        retries_per_task=round(fmean(each.retries_used for each in done), _DIGITS) if done else None,
        hallucination_incidents=sum(each.hallucination_incidents for each in found),
        latency_avg_ms=round(fmean(latencies), _MS_DIGITS) if latencies else None,
        errors=len(found) - len(done),
    )


def completion_interval(found: Sequence[HarnessEvaluation]) -> Interval | None:
    """95 % interval of the completion rate, as a share. Samples of one task count as one; None below five tasks."""
    passed: dict[str, int] = {}
    asked: dict[str, int] = {}
    for each in found:
        if each.completion_pass is not None:
            passed[each.task_id] = passed.get(each.task_id, 0) + each.completion_pass
            asked[each.task_id] = asked.get(each.task_id, 0) + 1
    return clustered_share_interval([*passed.values()], [*asked.values()])


def _earlier(attempt: AttemptResult) -> HarnessAttempt:
    return _attempt(attempt.attempt, attempt.generator_output, attempt.failed_checks, attempt.latency_ms, attempt.error)


def _last(sample: SampleResult) -> HarnessAttempt:
    missed = [name for name, score in sample.scores.items() if score.passed is False]
    return _attempt(sample.attempt, sample.generator_output, missed, sample.latency_ms, sample.error)


def _attempt(
    number: int, output: str | None, missed: Collection[str], latency_ms: float | None, failure: CallFailure | None
) -> HarnessAttempt:
    return HarnessAttempt(
        attempt=number,
        output=output,
        completion_pass=None if failure else all(name == TRIGGERS for name in missed),
        hallucination_incident=None if output is None else TRIGGERS in missed,
        latency_ms=latency_ms,
        error=f"{failure.kind}: {failure.message}" if failure else None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
