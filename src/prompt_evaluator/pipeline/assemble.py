"""Assembles case results from stored units. Live, resumed and rebuilt runs share this code."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.model import CallFailure, Failed, Scored, Skipped
from prompt_evaluator.model.result import (
    AttemptResult,
    CaseResult,
    CriterionScore,
    MetricScore,
    RepeatResult,
    SampleResult,
)
from prompt_evaluator.pipeline.case_stats import flag_stats, metric_stats, missing_scores
from prompt_evaluator.pipeline.uses import expected_keys, rubric_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model import Answer, CaseStatus, Generation, Judgement, Message, RunPlan, TestCase
    from prompt_evaluator.pipeline.samples import Attempt, SampleUnits


class Assembler:
    """Assembles the case results of one run. Reads its plan once, not for each case."""

    def __init__(self, plan: RunPlan) -> None:
        self._plan, self._rubric = plan, rubric_key(plan)
        criteria = plan.rubric.metrics if plan.rubric else ()
        self._criteria = [criterion.name for criterion in criteria]
        self._scales = {criterion.name: (criterion.scale.low, criterion.scale.high) for criterion in criteria}
        self._flags = [flag.name for flag in plan.rubric.flags] if plan.rubric else []
        self._attempts = 1 if plan.parent_run_id else plan.target.attempts

    def case(self, case: TestCase, samples: Sequence[SampleUnits], messages: tuple[Message, ...] = ()) -> CaseResult:
        """Assemble the result of a case; `messages` were sent to the model."""
        expected = expected_keys(self._plan, case)
        metrics = [key for key in expected if key != self._rubric]
        names = self._criteria + metrics
        results = tuple([self._sample(case, number, units, expected, metrics) for number, units in enumerate(samples)])
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
            per_metric_stats=metric_stats(results, names, self._scales),
            missing_scores=missing_scores(results, names),
            per_flag_stats=flag_stats(results, self._flags),
            status=_case_status(results),
            timestamp_start=min([a.generation.started_at for a in attempts if a.generation], default=None),
            timestamp_end=max(map(_ended, attempts), default=None),
            error_message=next((result.error.message for result in results if result.error), None),
        )

    def _sample(
        self, case: TestCase, number: int, units: SampleUnits, expected: list[str], metrics: list[str]
    ) -> SampleResult:
        last = units.last
        generation, answer = last.generation, last.answer
        rubric = last.of(self._rubric) if self._rubric else []
        repeated = len(rubric) > 1 or (rubric and rubric[0].repeats > 1)
        good = rubric if last.all_ok else [each for each in rubric if not each.failed]
        earlier = units.attempts[:-1]
        answers = [attempt.answer for attempt in units.attempts if attempt.answer]
        replies = [reply for each in units.attempts for done in each.judgements.values() for reply in done.replies]
        paid, judges_paid = _paid(answers, _failed_costs(units)), _paid(replies, _failed_judge_costs(units))
        error, error_metric = _error(last, expected)
        return SampleResult(
            sample_id=f"{case.id}-sample-{number + 1}",
            input_text=case.input,
            generator_output=answer.text if answer else None,
            status=units.status(expected, self._attempts),
            task_description=case.task,
            judge_metrics=_criteria(good),
            judge_flags=_flags(good),
            judge_overall_comment=good[0].comment if good else None,
            judge_raw_response=rubric[-1].raw if rubric else None,
            judge_repeats=tuple(map(_repeat, rubric)) if repeated else None,
            scores={key: _metric_score(key, found) for key in metrics if (found := last.of(key))} if metrics else {},
            attempt=max(0, len(units.attempts) - 1),
            earlier_attempts=tuple([_earlier(attempt, expected) for attempt in earlier]) if earlier else (),
            tool_calls=answer.tool_calls if answer else (),
            finish_reason=answer.finish_reason if answer else None,
            outcome=(answer.outcome or "stop") if answer else None,
            sent=(answer.sent or None) if answer else None,
            model=answer.model if answer else None,
            input_tokens=paid.input_tokens,
            output_tokens=paid.output_tokens,
            cached_tokens=paid.cached_tokens,
            cache_write_tokens=paid.cache_write_tokens,
            reasoning_tokens=paid.reasoning_tokens,
            cost=paid.cost,
            latency_ms=answer.latency_ms if answer else None,
            tries=_tries(generation),
            time_outs=_time_outs(units),
            judge_input_tokens=judges_paid.input_tokens,
            judge_output_tokens=judges_paid.output_tokens,
            judge_cached_tokens=judges_paid.cached_tokens,
            judge_cost=judges_paid.cost,
            unpriced_calls=paid.unpriced + judges_paid.unpriced,
            synthetic=paid.synthetic or judges_paid.synthetic,
            reused=bool(generation and generation.reused),
            reused_cost=_reused_cost(units),
            error=error,
            error_metric=error_metric,
        )


class _Paid(msgspec.Struct, frozen=True, gc=False):
    """Tokens and cost of answers or replies. A token sum is None if any is unknown: part of it would look whole."""

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int | None
    cost: float | None
    """Sum of the known costs; None if no price is known."""
    unpriced: int
    synthetic: bool


def _paid(answers: Sequence[Answer], failed: list[float]) -> _Paid:
    if len(answers) == 1 and not failed:
        (only,) = answers
        usage = only.usage
        return _Paid(
            usage.input_tokens,
            usage.output_tokens,
            usage.cached_tokens,
            usage.cache_write_tokens,
            usage.reasoning_tokens,
            only.cost,
            only.cost is None,
            only.synthetic,
        )
    costs = _costs(answers)
    return _Paid(
        _sum([each.usage.input_tokens for each in answers]),
        _sum([each.usage.output_tokens for each in answers]),
        sum(each.usage.cached_tokens for each in answers),
        sum(each.usage.cache_write_tokens for each in answers),
        _sum([each.usage.reasoning_tokens for each in answers]),
        sum((*costs, *failed)) if costs or failed else None,
        len(answers) - len(costs),
        any(each.synthetic for each in answers),
    )


def _costs(answers: Iterable[Answer]) -> list[float]:
    return [answer.cost for answer in answers if answer.cost is not None]


def _failed_costs(units: SampleUnits) -> list[float]:
    """Costs of failed calls for answers, also of those that were asked again."""
    made = [attempt.generation for attempt in units.attempts if attempt.generation]
    costs = (*(each.failure.cost if each.failure else None for each in made), *(each.failed_cost for each in made))
    return [cost for cost in costs if cost is not None]


def _failed_judge_costs(units: SampleUnits) -> list[float]:
    judged = (done for attempt in units.attempts for done in attempt.judgements.values())
    return [done.failed_cost for done in judged if done.failed_cost is not None]


def _sum(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _case_status(results: Sequence[SampleResult]) -> CaseStatus:
    """A case has failed only if nothing was measured; with at least one score it is partial."""
    statuses = {result.status for result in results}
    if "pending" in statuses:
        return "pending"
    if statuses <= {"completed"}:
        return "completed"
    measured = "completed" in statuses or any(result.passes() for result in results)
    return "partial" if measured else "failed"


def _criteria(good: Sequence[Judgement]) -> dict[str, CriterionScore]:
    """Mean score of each criterion, with the rationale of the first judgement."""
    if not good:
        return {}
    marks = good[0].pass_at
    found = {}
    for name, first in good[0].scores.items():
        assert isinstance(first, Scored)  # noqa: S101 - criteria are never skipped, and none of these failed
        value = fmean(_values(name, good)) if len(good) > 1 else first.value
        found[name] = CriterionScore(value, first.reason, value >= marks[name])
    return found


def _flags(good: Sequence[Judgement]) -> dict[str, bool]:
    """Majority vote on each flag; a tie does not raise it."""
    if len(good) == 1:
        return good[0].flags
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
        value = fmean(score.value for score in scored) if len(scored) > 1 else scored[0].value
        passed = value >= judged[0].pass_at.get(key, 1.0)
        return MetricScore(
            status="scored",
            score=value,
            passed=passed,
            reason=scored[0].reason,
            details=scored[0].details,
            repeats=repeats,
        )
    skipped = next((score for score in scores if isinstance(score, Skipped)), None)
    failed = next((score for score in scores if isinstance(score, Failed)), None)
    status, reason = ("skipped", skipped.reason) if skipped else ("failed", failed.reason if failed else "")
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
        latency_ms=attempt.answer.latency_ms if attempt.answer else None,
    )


def _error(attempt: Attempt, expected: list[str]) -> tuple[CallFailure | None, str | None]:
    """The first error in the order of the case's metrics, and its metric: None if the answer itself failed."""
    if attempt.all_ok:
        return None, None
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
    """Time-outs of this run only: reused units were paid for by another run."""
    found = 0
    for attempt in units.attempts:
        for done in attempt.judgements.values():
            if done.time_outs and not done.reused:
                found += done.time_outs
        generation = attempt.generation
        if generation is not None and not generation.reused and (made := generation.answer or generation.failure):
            found += made.time_outs or 0
    return found


def _reused_cost(units: SampleUnits) -> float | None:
    """Cost of reused units, which were not paid for again."""
    costs: list[float] = []
    for attempt in units.attempts:
        for done in attempt.judgements.values():
            if done.reused:
                costs += _costs(done.replies)
                costs += [] if done.failed_cost is None else [done.failed_cost]
        if (generation := attempt.generation) and generation.reused and generation.answer:
            costs += _costs([generation.answer])
            costs += [] if generation.failed_cost is None else [generation.failed_cost]
    return sum(costs) if costs else None


def _ended(attempt: Attempt) -> str:
    ends = [judgement.ended_at for judgement in attempt.judgements.values() if judgement.ended_at]
    return max([*ends, attempt.generation.ended_at if attempt.generation else ""])
