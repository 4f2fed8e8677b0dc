"""From stored units to the results of a case. The same function serves a live run, a resumed one and a rebuilt one."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, TypeVar

from prompt_evaluator.model import CallFailure, Failed, Scored, Skipped
from prompt_evaluator.model.result import (
    AttemptResult,
    CaseResult,
    CriterionScore,
    FlagStats,
    MetricScore,
    MetricStats,
    RepeatResult,
    SampleResult,
)
from prompt_evaluator.pipeline.uses import expected_keys, rubric_key
from prompt_evaluator.stats import mean_interval, spread, variability
from prompt_evaluator.stats.bands import wide_range
from prompt_evaluator.stats.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model import Answer, CaseStatus, Generation, Judgement, Message, RunPlan, TestCase
    from prompt_evaluator.pipeline.samples import Attempt, SampleUnits

T = TypeVar("T", int, float)


def case_result(
    case: TestCase, samples: Sequence[SampleUnits], plan: RunPlan, messages: tuple[Message, ...] = ()
) -> CaseResult:
    """Everything there is to say about a case; `messages` is what was sent."""
    expected = expected_keys(plan, case)
    results = tuple(_sample(case, number, units, plan, expected) for number, units in enumerate(samples))
    attempts = [attempt for units in samples for attempt in units.attempts if attempt.generation]
    return CaseResult(
        test_case_id=case.id,
        test_case_input=case.input,
        test_case_metadata=case.metadata,
        test_case_description=case.description,
        test_case_task=case.task,
        test_case_expected_constraints=case.expected_constraints,
        test_case_reference=case.reference,
        test_case_references=case.references,
        test_case_file=case.file,
        test_case_line=case.line,
        messages=messages,
        num_samples=len(samples),
        samples=results,
        per_metric_stats=_metric_stats(results, plan, expected),
        missing_scores=_missing(results, plan, expected),
        per_flag_stats=_flag_stats(results, plan),
        status=_case_status(results),
        timestamp_start=min((a.generation.started_at for a in attempts if a.generation), default=None),
        timestamp_end=max(map(_ended, attempts), default=None),
        error_message=next((result.error.message for result in results if result.error), None),
    )


def _case_status(results: Sequence[SampleResult]) -> CaseStatus:
    """Failed only where nothing was measured: a metric that broke beside others that worked is a part of a result."""
    statuses = {result.status for result in results}
    if "pending" in statuses:
        return "pending"
    if statuses <= {"completed"}:
        return "completed"
    measured = "completed" in statuses or any(result.passes() for result in results)
    return "partial" if measured else "failed"


def _sample(case: TestCase, number: int, units: SampleUnits, plan: RunPlan, expected: list[str]) -> SampleResult:
    last = units.last
    generation, answer = last.generation, last.answer
    rubric = last.of(rubric_key(plan)) if plan.rubric else []
    answers = [attempt.answer for attempt in units.attempts if attempt.answer]
    replies = [reply for attempt in units.attempts for done in attempt.judgements.values() for reply in done.replies]
    error, error_metric = _error(last, expected)
    return SampleResult(
        sample_id=f"{case.id}-sample-{number + 1}",
        input_text=case.input,
        generator_output=answer.text if answer else None,
        status=units.status(expected, 1 if plan.parent_run_id else plan.target.attempts),
        task_description=case.task,
        judge_metrics=_criteria(rubric),
        judge_flags=_flags(rubric),
        judge_overall_comment=next((each.comment for each in rubric if not each.failed), None),
        judge_raw_response=rubric[-1].raw if rubric else None,
        judge_repeats=tuple(map(_repeat, rubric)) if any(each.repeats > 1 for each in rubric) else None,
        scores={
            key: _metric_score(key, found) for key in expected if key != rubric_key(plan) and (found := last.of(key))
        },
        attempt=max(0, len(units.attempts) - 1),
        earlier_attempts=tuple(_earlier(attempt, expected) for attempt in units.attempts[:-1]),
        tool_calls=answer.tool_calls if answer else (),
        finish_reason=answer.finish_reason if answer else None,
        model=answer.model if answer else None,
        input_tokens=_sum([each.usage.input_tokens for each in answers]),
        output_tokens=_sum([each.usage.output_tokens for each in answers]),
        cost=_known(answers),
        latency_ms=answer.latency_ms if answer else None,
        tries=_tries(generation),
        time_outs=_time_outs(units),
        judge_input_tokens=_sum([reply.usage.input_tokens for reply in replies]),
        judge_output_tokens=_sum([reply.usage.output_tokens for reply in replies]),
        judge_cost=_known(replies),
        unpriced_calls=sum(each.cost is None for each in (*answers, *replies)),
        synthetic=any(each.synthetic for each in (*answers, *replies)),
        reused=bool(generation and generation.reused),
        reused_cost=_known(_reused(units)),
        error=error,
        error_metric=error_metric,
    )


def _criteria(judged: Sequence[Judgement]) -> dict[str, CriterionScore]:
    """Of several judgements the mean score, with the first one's words."""
    good = [each for each in judged if not each.failed]
    return {name: _criterion(name, good) for name in (good[0].scores if good else ())}


def _criterion(name: str, judged: Sequence[Judgement]) -> CriterionScore:
    values, first = _values(name, judged), judged[0].scores[name]
    value = statistics.fmean(values) if len(values) > 1 else values[0]
    return CriterionScore(value, getattr(first, "reason", ""), value >= judged[0].pass_at[name])


def _flags(judged: Sequence[Judgement]) -> dict[str, bool]:
    """Of several judgements what the majority says."""
    good = [each for each in judged if not each.failed]
    return {name: sum(each.flags[name] for each in good) * 2 > len(good) for name in (good[0].flags if good else ())}


def _repeat(judgement: Judgement) -> RepeatResult:
    failed = judgement.failed
    return RepeatResult(
        metrics=None if failed else _criteria([judgement]),
        flags=None if failed else judgement.flags,
        error=failed.reason if failed else None,
    )


def _metric_score(key: str, judged: Sequence[Judgement]) -> MetricScore:
    repeats = tuple(_value(each.scores.get(key)) for each in judged) if judged[0].repeats > 1 else None
    scores = [each.scores[key] for each in judged if key in each.scores]
    scored = [score for score in scores if isinstance(score, Scored)]
    if scored:
        value = statistics.fmean(score.value for score in scored) if len(scored) > 1 else scored[0].value
        passed = value >= judged[0].pass_at.get(key, 1.0)
        return MetricScore(
            status="scored",
            score=value,
            passed=passed,
            reason=scored[0].reason,
            details=scored[0].details,
            repeats=repeats,
        )
    told = next((score for score in scores if isinstance(score, Skipped)), None)
    failed = next((score for score in scores if isinstance(score, Failed)), None)
    status, reason = ("skipped", told.reason) if told else ("failed", failed.reason if failed else "")
    return MetricScore(status=status, score=None, passed=None, reason=reason, repeats=repeats)  # type: ignore[arg-type]


def _values(name: str, judged: Iterable[Judgement]) -> list[float]:
    return [value for each in judged if (value := _value(each.scores.get(name))) is not None]


def _value(score: object) -> float | None:
    return score.value if isinstance(score, Scored) else None


def _earlier(attempt: Attempt, expected: list[str]) -> AttemptResult:
    return AttemptResult(
        attempt=attempt.number,
        generator_output=attempt.answer.text if attempt.answer else None,
        failed_checks=tuple(dict.fromkeys(attempt.missed())),
        error=_error(attempt, expected)[0],
    )


def _error(attempt: Attempt, expected: list[str]) -> tuple[CallFailure | None, str | None]:
    """What went wrong, and with which metric, the first that the case is judged by; None for the answer itself."""
    if attempt.generation is not None and attempt.generation.failure is not None:
        return attempt.generation.failure, None
    failures = dict(attempt.failures())
    for metric in (*expected, *failures):
        if failed := failures.get(metric):
            return CallFailure(kind=failed.kind, message=f"{metric}: {failed.reason}"), metric
    return None, None


def _tries(generation: Generation | None) -> int | None:
    if generation is None:
        return None
    if generation.answer is not None:
        return generation.answer.tries
    return generation.failure.tries if generation.failure else None


def _time_outs(units: SampleUnits) -> int:
    """Of this run: what was reused was paid for by another one."""
    found = 0
    for attempt in units.attempts:
        found += sum(done.time_outs for done in attempt.judgements.values() if not done.reused)
        if (generation := attempt.generation) and not generation.reused:
            found += generation.failure.time_outs if generation.failure else 0
            found += (generation.answer.time_outs or 0) if generation.answer else 0
    return found


def _reused(units: SampleUnits) -> list[Answer]:
    """What was not paid for again."""
    found = []
    for attempt in units.attempts:
        found += [reply for done in attempt.judgements.values() if done.reused for reply in done.replies]
        if (generation := attempt.generation) and generation.reused and generation.answer:
            found.append(generation.answer)
    return found


def _ended(attempt: Attempt) -> str:
    ends = [judgement.ended_at for judgement in attempt.judgements.values() if judgement.ended_at]
    return max([*ends, attempt.generation.ended_at if attempt.generation else ""])


def _known(answers: Iterable[Answer]) -> float | None:
    costs = [answer.cost for answer in answers if answer.cost is not None]
    return sum(costs) if costs else None


def _sum(values: list[T | None]) -> T | None:
    """None as soon as one part is unknown: half a sum would look like a whole one."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _score_names(plan: RunPlan, expected: list[str]) -> list[str]:
    criteria = [criterion.name for criterion in plan.rubric.metrics] if plan.rubric else []
    return criteria + [key for key in expected if key != rubric_key(plan)]


def _metric_stats(results: Sequence[SampleResult], plan: RunPlan, expected: list[str]) -> dict[str, MetricStats]:
    passes = [result.passes() for result in results]
    found = {}
    for name in _score_names(plan, expected):
        scored = [each[name] for each in passes if name in each]
        if scored:
            found[name] = _stats(
                name, [value for value, _ in scored], sum(passed for _, passed in scored), results, plan
            )
    return found


def _stats(name: str, values: list[float], passed: int, results: Sequence[SampleResult], plan: RunPlan) -> MetricStats:
    numbers = spread(values)
    assert numbers is not None  # noqa: S101 - there is at least one value
    scale = plan.scale(name)
    ends = (scale.low, scale.high)
    return MetricStats(
        mean=numbers.mean,
        std=numbers.std,
        min=numbers.min,
        max=numbers.max,
        count=numbers.count,
        interval=mean_interval(numbers.mean, numbers.std, numbers.count, ends),
        variability=variability(numbers.mean, numbers.std, ends),
        wide_range=wide_range(numbers.min, numbers.max, ends),
        repeat_std=_repeat_std(name, results),
        passed=passed,
        pass_rate=passed / numbers.count,
        pass_interval=wilson(passed, numbers.count),
    )


def _missing(results: Sequence[SampleResult], plan: RunPlan, expected: list[str]) -> dict[str, int]:
    """By score, samples that were tried and ought to have it, and have not."""
    tried = [result for result in results if result.status != "pending"]
    missing = {name: sum(_lacks(result, name) for result in tried) for name in _score_names(plan, expected)}
    return {name: count for name, count in missing.items() if count and not _is_skipped(results, name)}


def _lacks(result: SampleResult, name: str) -> bool:
    if name in result.judge_metrics:
        return False
    found = result.scores.get(name)
    return found is None or found.status == "failed"


def _is_skipped(results: Sequence[SampleResult], name: str) -> bool:
    """Whether the metric has nothing to say about this case: then a sample without an answer lacks no score."""
    found = [result.scores[name].status for result in results if name in result.scores]
    return "skipped" in found and "failed" not in found and "scored" not in found


def _repeat_std(name: str, results: Sequence[SampleResult]) -> float | None:
    """The pooled standard deviation between judgements of the same answer."""
    variances = [statistics.variance(scores) for result in results if len(scores := _repeats(name, result)) > 1]
    return statistics.fmean(variances) ** 0.5 if variances else None


def _repeats(name: str, result: SampleResult) -> list[float]:
    if found := result.scores.get(name):
        return [value for value in found.repeats or () if value is not None]
    repeats = result.judge_repeats or ()
    return [repeat.metrics[name].score for repeat in repeats if repeat.metrics and name in repeat.metrics]


def _flag_stats(results: Sequence[SampleResult], plan: RunPlan) -> dict[str, FlagStats]:
    found = {}
    for flag in plan.rubric.flags if plan.rubric else ():
        values = [result.judge_flags[flag.name] for result in results if flag.name in result.judge_flags]
        raised = sum(values)
        found[flag.name] = FlagStats(
            true_count=raised,
            false_count=len(values) - raised,
            total_count=len(values),
            true_proportion=raised / len(values) if values else None,
        )
    return found
