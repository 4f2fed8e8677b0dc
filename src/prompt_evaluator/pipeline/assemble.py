"""From stored units to the results of a case. The same function serves a live run, a resumed one and a rebuilt one."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, TypeVar

import msgspec

from prompt_evaluator.model import (
    CallFailure,
    Failed,
    Generation,
    Judgement,
    Mark,
    Scored,
    ScoreRecord,
    Skipped,
    Verdict,
)
from prompt_evaluator.model.result import CaseResult, FlagStats, MetricScore, MetricStats, RepeatResult, SampleResult
from prompt_evaluator.stats import mean_interval, spread, variability
from prompt_evaluator.stats.bands import wide_range
from prompt_evaluator.stats.reducers import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model import CaseStatus, Rubric, RunPlan, SampleStatus, TestCase, Unit

T = TypeVar("T", int, float)

UNIT_SCALE = (0.0, 1.0)
"""Of every metric but a rubric's."""

_generation = msgspec.json.Decoder(Generation).decode
_judgement = msgspec.json.Decoder(Judgement).decode
_score = msgspec.json.Decoder(ScoreRecord).decode


class SampleUnits:
    """What is known of one sample."""

    def __init__(self) -> None:
        self.generation: Generation | None = None
        self.judgements: dict[int, Judgement] = {}
        self.scores: dict[str, ScoreRecord] = {}

    def status(self, repeats: int, metrics: int = 0) -> SampleStatus:
        """By the guide's words. A metric that broke leaves the sample without that score, so it is not completed."""
        status = self._judged_status(repeats)
        if status == "generation_error":
            return status
        if len(self.scores) < metrics:
            return "pending"
        if status != "completed":
            return status
        failures = [record.score.kind for record in self.scores.values() if isinstance(record.score, Failed)]
        if not failures:
            return "completed"
        return "judge_invalid_response" if set(failures) == {"InvalidJudgement"} else "judge_error"

    def _judged_status(self, repeats: int) -> SampleStatus:
        if self.generation is None:
            return "pending"
        if self.generation.answer is None:
            return "generation_error"
        judged = list(self.judgements.values())
        if any(judgement.verdict for judgement in judged) or not repeats:
            return "completed" if len(judged) >= repeats else "pending"
        if len(judged) < repeats:
            return "pending"
        return "judge_invalid_response" if any(judgement.invalid for judgement in judged) else "judge_error"


def group(units: Iterable[Unit], num_samples: int) -> list[SampleUnits]:
    """A case's units by sample."""
    samples = [SampleUnits() for _ in range(num_samples)]
    for unit in units:
        if unit.sample >= num_samples:
            continue
        if unit.kind == "generation":
            samples[unit.sample].generation = _generation(unit.data)
        elif unit.kind == "judgement":
            samples[unit.sample].judgements[unit.repeat] = _judgement(unit.data)
        elif unit.kind == "score":
            record = _score(unit.data)
            samples[unit.sample].scores[record.metric] = record
    return samples


def case_result(case: TestCase, samples: Sequence[SampleUnits], plan: RunPlan) -> CaseResult:
    """Everything there is to say about a case."""
    repeats = plan.judgings
    metrics = len({*(spec["metric"] for spec in plan.metrics), *(check.metric for check in case.checks)})
    results = tuple(_sample(case, number, units, repeats, metrics) for number, units in enumerate(samples))
    stats = _rubric_stats(results, plan.rubric) | _score_stats(results)
    return CaseResult(
        test_case_id=case.id,
        test_case_input=case.input,
        test_case_metadata=case.metadata,
        test_case_description=case.description,
        test_case_task=case.task,
        test_case_expected_constraints=case.expected_constraints,
        test_case_reference=case.reference,
        num_samples=len(samples),
        samples=results,
        per_metric_stats=stats,
        missing_scores=_missing(results, plan),
        per_flag_stats=_flag_stats(results, plan.rubric),
        status=_case_status(results),
        timestamp_start=min((u.generation.started_at for u in samples if u.generation), default=None),
        timestamp_end=max((_ended(u) for u in samples if u.generation), default=None),
        error_message=next((result.error.message for result in results if result.error), None),
    )


def _case_status(results: Sequence[SampleResult]) -> CaseStatus:
    statuses = [result.status for result in results]
    if "pending" in statuses:
        return "pending"
    completed = statuses.count("completed")
    return "completed" if completed == len(statuses) else "partial" if completed else "failed"


def _sample(case: TestCase, number: int, units: SampleUnits, repeats: int, metrics: int) -> SampleResult:
    generation = units.generation
    answer = generation.answer if generation else None
    judged = [units.judgements[repeat] for repeat in sorted(units.judgements)]
    verdict = _combined([judgement.verdict for judgement in judged if judgement.verdict])
    replies = [reply for judgement in judged for reply in judgement.replies]
    replies += [reply for record in units.scores.values() for reply in record.replies]
    last = judged[-1] if judged else None
    return SampleResult(
        sample_id=f"{case.id}-sample-{number + 1}",
        input_text=case.input,
        generator_output=answer.text if answer else None,
        status=units.status(repeats, metrics),
        task_description=case.task,
        judge_metrics=verdict.metrics if verdict else {},
        judge_flags=verdict.flags if verdict else {},
        judge_overall_comment=verdict.overall_comment if verdict else None,
        judge_raw_response=last.raw if last else None,
        scores={name: _metric_score(record) for name, record in units.scores.items()},
        judge_repeats=tuple(_repeat(judgement) for judgement in judged) if repeats > 1 else None,
        tool_calls=answer.tool_calls if answer else (),
        finish_reason=answer.finish_reason if answer else None,
        model=answer.model if answer else None,
        input_tokens=answer.usage.input_tokens if answer else None,
        output_tokens=answer.usage.output_tokens if answer else None,
        cost=answer.cost if answer else None,
        latency_ms=answer.latency_ms if answer else None,
        tries=_tries(generation),
        judge_input_tokens=_sum([reply.usage.input_tokens for reply in replies]),
        judge_output_tokens=_sum([reply.usage.output_tokens for reply in replies]),
        judge_cost=_sum([reply.cost for reply in replies]),
        synthetic=bool(answer and answer.synthetic) or any(reply.synthetic for reply in replies),
        reused=bool(generation and generation.reused),
        reused_cost=_reused_cost(units),
        error=_error(generation, judged, verdict) or _broken_metric(units),
    )


def _combined(verdicts: list[Verdict]) -> Verdict | None:
    """Of several judgings the mean score and the majority of each flag; the first one's words."""
    if len(verdicts) < 2:  # noqa: PLR2004
        return verdicts[0] if verdicts else None
    first = verdicts[0]
    metrics = {
        name: Mark(statistics.fmean(verdict.metrics[name].score for verdict in verdicts), mark.rationale)
        for name, mark in first.metrics.items()
    }
    flags = {name: sum(verdict.flags[name] for verdict in verdicts) * 2 > len(verdicts) for name in first.flags}
    return Verdict(metrics=metrics, flags=flags, overall_comment=first.overall_comment)


def _repeat(judgement: Judgement) -> RepeatResult:
    verdict = judgement.verdict
    wrong = judgement.invalid or (judgement.failure.message if judgement.failure else None)
    return RepeatResult(
        metrics=verdict.metrics if verdict else None, flags=verdict.flags if verdict else None, error=wrong
    )


def _error(generation: Generation | None, judged: list[Judgement], verdict: Verdict | None) -> CallFailure | None:
    if generation is not None and generation.failure is not None:
        return generation.failure
    if verdict is not None:
        return None
    for judgement in judged:
        if judgement.failure is not None:
            return judgement.failure
        if judgement.invalid is not None:
            return CallFailure(
                kind="InvalidJudgement", message=f"The judge's reply cannot be used: {judgement.invalid}"
            )
    return None


def _broken_metric(units: SampleUnits) -> CallFailure | None:
    for record in units.scores.values():
        if isinstance(record.score, Failed):
            return CallFailure(kind=record.score.kind, message=f"{record.metric}: {record.score.reason}")
    return None


def _metric_score(record: ScoreRecord) -> MetricScore:
    score = record.score
    if isinstance(score, Scored):
        return MetricScore(
            status="scored", score=score.value, passed=record.passed, reason=score.reason, details=score.details
        )
    if isinstance(score, Skipped):
        return MetricScore(status="skipped", score=None, passed=None, reason=score.reason)
    return MetricScore(status="failed", score=None, passed=None, reason=score.reason)


def _tries(generation: Generation | None) -> int | None:
    if generation is None:
        return None
    if generation.answer is not None:
        return generation.answer.tries
    return generation.failure.tries if generation.failure else None


def _reused_cost(units: SampleUnits) -> float | None:
    judged: list[Judgement | ScoreRecord] = [*units.judgements.values(), *units.scores.values()]
    replies = [reply for done in judged if done.reused for reply in done.replies]
    if (generation := units.generation) and generation.reused and generation.answer:
        replies.append(generation.answer)
    known = [reply.cost for reply in replies if reply.cost is not None]
    return sum(known) if known else None


def _ended(units: SampleUnits) -> str:
    ends = [judgement.ended_at for judgement in units.judgements.values() if judgement.ended_at]
    return max([*ends, units.generation.ended_at if units.generation else ""])


def _sum(values: list[T | None]) -> T | None:
    """None as soon as one part is unknown: half a sum would look like a whole one."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _rubric_stats(results: Sequence[SampleResult], rubric: Rubric | None) -> dict[str, MetricStats]:
    found = {}
    for criterion in rubric.metrics if rubric else ():
        judged = [result for result in results if criterion.name in result.judge_metrics]
        values = [result.judge_metrics[criterion.name].score for result in judged]
        stats = _stats(values, (criterion.min_score, criterion.max_score), _repeat_std(criterion.name, judged), None)
        if stats:
            found[criterion.name] = stats
    return found


def _score_stats(results: Sequence[SampleResult]) -> dict[str, MetricStats]:
    found = {}
    for name in {name: None for result in results for name in result.scores}:
        scored = [score for result in results if (score := result.scores.get(name)) and score.score is not None]
        values = [score.score for score in scored if score.score is not None]
        stats = _stats(values, UNIT_SCALE, None, sum(bool(score.passed) for score in scored))
        if stats:
            found[name] = stats
    return found


def _stats(
    values: list[float], scale: tuple[float, float], repeat_std: float | None, passed: int | None
) -> MetricStats | None:
    numbers = spread(values)
    if numbers is None:
        return None
    return MetricStats(
        mean=numbers.mean,
        std=numbers.std,
        min=numbers.min,
        max=numbers.max,
        count=numbers.count,
        interval=mean_interval(numbers.mean, numbers.std, numbers.count, scale),
        variability=variability(numbers.mean, numbers.std, scale),
        wide_range=wide_range(numbers.min, numbers.max, scale),
        repeat_std=repeat_std,
        passed=passed,
        pass_rate=None if passed is None else passed / numbers.count,
        pass_interval=None if passed is None else wilson(passed, numbers.count),
    )


def _missing(results: Sequence[SampleResult], plan: RunPlan) -> dict[str, int]:
    tried = [result for result in results if result.status != "pending"]
    names = [criterion.name for criterion in (plan.rubric.metrics if plan.rubric else ())]
    missing = {name: sum(name not in result.judge_metrics for result in tried) for name in names}
    for name in {name: None for result in results for name in result.scores}:
        missing[name] = sum(name not in result.scores or result.scores[name].status == "failed" for result in tried)
    return {name: count for name, count in missing.items() if count}


def _repeat_std(metric: str, results: list[SampleResult]) -> float | None:
    """The pooled standard deviation between judgings of the same answer."""
    variances = []
    for result in results:
        scores = [repeat.metrics[metric].score for repeat in result.judge_repeats or () if repeat.metrics]
        if len(scores) > 1:
            variances.append(statistics.variance(scores))
    return statistics.fmean(variances) ** 0.5 if variances else None


def _flag_stats(results: Sequence[SampleResult], rubric: Rubric | None) -> dict[str, FlagStats]:
    found = {}
    for flag in rubric.flags if rubric else ():
        values = [result.judge_flags[flag.name] for result in results if flag.name in result.judge_flags]
        raised = sum(values)
        found[flag.name] = FlagStats(
            true_count=raised,
            false_count=len(values) - raised,
            total_count=len(values),
            true_proportion=raised / len(values) if values else None,
        )
    return found
