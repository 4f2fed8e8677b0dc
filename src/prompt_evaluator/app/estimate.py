"""Estimates what a run will take, before anything is paid for: ranges of calls, tokens, dollars and time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.wiring import make_uses
from prompt_evaluator.calls.governor import DEFAULT_CONCURRENCY
from prompt_evaluator.model import Limits
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.naming import preparation_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from prompt_evaluator.model import JudgeConfig, ModelConfig, Price, RunPlan, TestCase
    from prompt_evaluator.ports import Metric

_CHARACTERS_PER_TOKEN = 4
_EITHER_WAY = 0.25
_SHORT_ANSWER, _LONG_ANSWER = 50, 800
_METRIC_PROMPT = 1_500
"""Characters of a metric's question in addition to the case and the answer."""
_SECONDS_PER_CALL = (2.0, 3.0)
"""As in the dataset guide."""
SMALL_CASES, SMALL_SAMPLES = 5, 2
"""Enough to show that everything works."""


class Range(NamedTuple):
    """Lowest and highest value to expect."""

    low: float
    high: float

    def __add__(self, other: Range) -> Range:  # type: ignore[override]
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, factor: float) -> Range:  # type: ignore[override]
        return Range(self.low * factor, self.high * factor)


class Amounts(msgspec.Struct, frozen=True, kw_only=True):
    """What one or more runs would take if no call had to be repeated."""

    answers: int
    """Calls to the generator."""
    judgements: int
    """Calls to judges."""
    calls: int
    """Answers and judgements."""
    small_calls: int
    """Calls with at most the first five cases and two samples of each."""
    attempts: int
    """Factor by which calls may grow if no answer passes."""
    input_tokens: Range
    output_tokens: Range
    cost: Range | None
    """US dollars; None if a price is unknown."""
    unpriced: tuple[str, ...]
    """Models without a known price."""
    seconds: Range
    seconds_one_by_one: Range
    """Time if calls were made one at a time, as in the dataset guide."""


class Estimate(Amounts, frozen=True, kw_only=True):
    """What one run would take."""

    model: str
    judge: str | None
    cases: int
    samples: int
    judge_repeats: int
    reuse: bool
    """Whether answers and judgements of earlier runs are reused; how many is not looked up."""
    concurrency: int
    """Most calls in flight."""
    bound_by: str | None
    """The configured limit that decides the time; None if the number of calls in flight does."""


class _Side(NamedTuple):
    """One model's calls."""

    config: ModelConfig
    calls: int
    input: Range
    output: Range


class _Tally:
    """Counts what a judge is asked over all cases."""

    def __init__(self) -> None:
        self.calls = self.characters = self.small_calls = 0
        self.small_preparations = 0
        self.prepared: dict[bytes, Metric] = {}
        """Metrics that need a preparation, by the name it would have if the run's own judge wrote it."""

    def add(self, calls: int, characters: int, *, small: bool) -> None:
        self.calls += calls
        self.characters += calls * characters
        if small:
            self.small_calls += calls


class _Asked(NamedTuple):
    """Everything that one model is asked as a judge."""

    config: JudgeConfig
    tallies: list[_Tally]

    def preparations(self) -> dict[bytes, bool]:
        """Names of preparations, and whether the first cases already need them."""
        found: dict[bytes, bool] = {}
        for tally in self.tallies:
            for at, metric in enumerate(tally.prepared.values()):
                name = preparation_name(metric, self.config)
                found[name] = found.get(name, False) or at < tally.small_preparations
        return found


class Workload:
    """Counts what the cases of a plan ask for, one case at a time. Makes no calls."""

    def __init__(self, draft: RunPlan) -> None:
        """Start empty; `draft` may also be a completed plan."""
        self._requests, self._uses = RequestBuilder(draft.target, draft.target.model), make_uses(draft)
        self._cases = self._characters = 0
        self._judges: dict[str | None, _Tally] = {}
        """By the judge's name in the metric use; None is the run's own judge."""

    def add(self, case: TestCase) -> None:
        self._cases += 1
        self._characters += sum(len(message.content) for message in self._requests.request(case, 0).messages)
        small = self._cases <= SMALL_CASES
        for applied in self._uses.of(case):
            if applied.judge is not None and applied.metric.missing(case) is None:
                tally = self._judges.setdefault(applied.use.judge, _Tally())
                questions = _questions(applied.metric) * applied.repeats
                tally.add(questions, _shown(case) + _around(applied.metric), small=small)
                if hasattr(applied.metric, "preparation") and not getattr(applied.metric, "steps", ()):
                    tally.prepared.setdefault(preparation_name(applied.metric, applied.judge), applied.metric)
                    if small:
                        tally.small_preparations = len(tally.prepared)

    def preparations(self, plan: RunPlan) -> set[bytes]:
        """Names of what judges write once for the metrics of a completed plan."""
        return {name for asked in self._by_model(plan).values() for name in asked.preparations()}

    def estimate(
        self,
        plan: RunPlan,
        prices: Mapping[str, Price],
        limits: Mapping[str, Limits],
        *,
        written: Collection[bytes] = (),
    ) -> Estimate:
        """Estimate what a completed plan takes, after all cases were added.

        Args:
            plan: The completed plan.
            prices: By full model name; a missing model has no known price.
            limits: By full model name; a missing model has no configured limits.
            written: Names of existing preparations, which are not asked for again.
        """
        judges = self._by_model(plan)
        sides = _sides(plan, self._cases, self._characters, judges, written)
        calls = sum(side.calls for side in sides)
        unpriced = tuple(dict.fromkeys(side.config.model for side in sides if side.config.model not in prices))
        time = _time(sides, limits)
        return Estimate(
            model=plan.target.model,
            judge=" and ".join(judges) or None,
            cases=self._cases,
            samples=plan.num_samples,
            judge_repeats=plan.judge.repeats if plan.judge else 0,
            answers=sides[0].calls,
            judgements=calls - sides[0].calls,
            calls=calls,
            small_calls=self._small_calls(plan, judges, written),
            attempts=plan.target.attempts,
            reuse=plan.reuse,
            input_tokens=total(side.input for side in sides),
            output_tokens=total(side.output for side in sides),
            cost=None if unpriced else total(_cost(side, prices[side.config.model]) for side in sides),
            unpriced=unpriced,
            seconds=time.seconds,
            seconds_one_by_one=Range(*_SECONDS_PER_CALL) * calls,
            concurrency=time.concurrency,
            bound_by=time.bound_by,
        )

    def _by_model(self, plan: RunPlan) -> dict[str, _Asked]:
        """Group by model, because two names may mean the same one."""
        found: dict[str, _Asked] = {}
        for name, tally in self._judges.items():
            config = plan.judges[name] if name else plan.judge
            assert config is not None  # noqa: S101 - a completed plan has every judge that its cases need
            found.setdefault(config.model, _Asked(config, [])).tallies.append(tally)
        return found

    def _small_calls(self, plan: RunPlan, judges: Mapping[str, _Asked], written: Collection[bytes]) -> int:
        questions = sum(tally.small_calls for asked in judges.values() for tally in asked.tallies)
        once = [name for asked in judges.values() for name, early in asked.preparations().items() if early]
        each = min(SMALL_CASES, self._cases) + questions
        return each * min(SMALL_SAMPLES, plan.num_samples) + sum(name not in written for name in once)


def _sides(
    plan: RunPlan, cases: int, characters: int, judges: Mapping[str, _Asked], written: Collection[bytes]
) -> list[_Side]:
    samples, answer = cases * plan.num_samples, _answer(plan.target)
    sides = [_Side(plan.target, samples, _tokens(characters * plan.num_samples), answer * samples)]
    for asked in judges.values():
        once = sum(name not in written for name in asked.preparations())
        calls = sum(tally.calls for tally in asked.tallies) * plan.num_samples + once
        shown = _tokens(sum(tally.characters for tally in asked.tallies) * plan.num_samples) + answer * calls
        sides.append(_Side(asked.config, calls, shown, _answer(asked.config) * calls))
    return sides


def _questions(metric: Metric) -> int:
    """How many questions it asks the judge about one answer."""
    return int(getattr(metric, "questions", 1))


def _around(metric: Metric) -> int:
    """Characters of a question in addition to the case and the answer."""
    return int(getattr(metric, "characters", _METRIC_PROMPT))


def _shown(case: TestCase) -> int:
    """How many characters of a case a judge is shown."""
    turns = [message.content for message in case.messages] or [case.input]
    known = (case.task, case.expected_constraints, *case.all_references, *case.passages)
    return sum(len(text) for text in (*turns, *known) if text)


def _tokens(characters: int) -> Range:
    tokens = characters / _CHARACTERS_PER_TOKEN
    return Range(tokens * (1 - _EITHER_WAY), tokens * (1 + _EITHER_WAY))


def _answer(config: ModelConfig) -> Range:
    high = config.max_tokens or _LONG_ANSWER
    return Range(min(_SHORT_ANSWER, high), high)


def _cost(side: _Side, price: Price) -> Range:
    return side.input * (price.input / 1e6) + side.output * (price.output / 1e6)


class _Time(NamedTuple):
    seconds: Range
    concurrency: int
    bound_by: str | None


def _time(sides: list[_Side], limits: Mapping[str, Limits]) -> _Time:
    """Models of one service share its limits; different services work in parallel."""
    services: dict[str, list[_Side]] = {}
    for side in sides:
        services.setdefault(side.config.identity, []).append(side)
    times = [_service_time(part, limits.get(part[0].config.model, Limits())) for part in services.values()]
    slowest = max(times, key=lambda time: time.seconds.high)
    # A sample is an answer and then its judgements: however many calls run in parallel, these are sequential.
    least = Range(*_SECONDS_PER_CALL) * sum(
        1 if not at else side.calls // max(1, sides[0].calls) for at, side in enumerate(sides)
    )
    low = max(least.low, *(time.seconds.low for time in times))
    high = max(least.high, slowest.seconds.high)
    return _Time(Range(low, high), sum(time.concurrency for time in times), slowest.bound_by)


def _service_time(sides: list[_Side], limits: Limits) -> _Time:
    calls = sum(side.calls for side in sides)
    tokens = total(part for side in sides for part in (side.input, side.output))
    at_once = min(limits.max_concurrency or DEFAULT_CONCURRENCY, max(1, calls))
    bounds: dict[str | None, Range] = {None: Range(*_SECONDS_PER_CALL) * (calls / at_once)}
    if limits.requests_per_minute:
        minutes = calls / limits.requests_per_minute
        bounds[f"{limits.requests_per_minute:,} requests a minute"] = Range(minutes * 60, minutes * 60)
    if limits.tokens_per_minute:
        bounds[f"{limits.tokens_per_minute:,} tokens a minute"] = tokens * (60 / limits.tokens_per_minute)
    seconds = Range(max(bound.low for bound in bounds.values()), max(bound.high for bound in bounds.values()))
    return _Time(seconds, at_once, max(bounds, key=lambda name: bounds[name].high))


def total(ranges: Iterable[Range]) -> Range:
    found = Range(0.0, 0.0)
    for each in ranges:
        found += each
    return found
