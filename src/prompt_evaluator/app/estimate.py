"""What a run will take, before anything is paid for: calls, tokens, dollars and time, each from low to high."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.wiring import make_uses
from prompt_evaluator.model import Limits
from prompt_evaluator.model.options import QUICK_SAMPLES
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.naming import preparation_name
from prompt_evaluator.providers.calls.governor import DEFAULT_CONCURRENCY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prompt_evaluator.model import JudgeConfig, ModelConfig, Price, RunPlan, TestCase
    from prompt_evaluator.ports import Metric

_CHARACTERS_PER_TOKEN = 4
_EITHER_WAY = 0.25
_SHORT_ANSWER, _LONG_ANSWER = 50, 800
_METRIC_PROMPT = 1_500
"""Characters of a metric's question beside the case and the answer."""
SMOKE_CASES = 5
_SECONDS_PER_CALL = (2.0, 3.0)
"""As in the dataset guide."""


class Range(NamedTuple):
    """From the best to the worst that is to be expected."""

    low: float
    high: float

    def __add__(self, other: Range) -> Range:  # type: ignore[override]
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, factor: float) -> Range:  # type: ignore[override]
        return Range(self.low * factor, self.high * factor)


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """What a run would take if nothing had to be asked twice."""

    model: str
    judge: str | None
    cases: int
    samples: int
    judge_repeats: int
    answers: int
    """Calls of the generator."""
    judgements: int
    """Calls of judges."""
    smoke_calls: int
    """Calls that the first few cases with few samples would take: `--max-cases 5 --quick`."""
    attempts: int
    """How many times as many calls it may be, if no answer passes."""
    input_tokens: Range
    output_tokens: Range
    cost: Range | None
    """US dollars; None when a price is not known."""
    unpriced: tuple[str, ...]
    """Models whose price is not known."""
    seconds: Range
    seconds_one_by_one: Range
    """If one call followed the other, as the dataset guide counts."""
    concurrency: int
    """Calls in flight at most."""
    bound_by: str | None
    """The configured limit that decides how long it takes; None when that is the number of calls in flight."""

    @property
    def calls(self) -> int:
        return self.answers + self.judgements


class _Side(NamedTuple):
    """One model's part."""

    config: ModelConfig
    calls: int
    input: Range
    output: Range


class _Tally:
    """What a judge is asked, counted over all cases."""

    def __init__(self) -> None:
        self.calls = self.characters = 0
        self.prepared: set[bytes] = set()
        """What the judge writes once, by name."""

    def add(self, calls: int, characters: int) -> None:
        self.calls += calls
        self.characters += calls * characters

    def take(self, other: _Tally) -> None:
        self.calls += other.calls
        self.characters += other.characters
        self.prepared |= other.prepared


class Workload:
    """What the cases of a plan ask for, counted one case after the other. Nothing is called."""

    def __init__(self, draft: RunPlan) -> None:
        """Take the plan as it is before its cases have been looked at, or after."""
        self._requests, self._uses = RequestBuilder(draft.target, draft.target.model), make_uses(draft)
        self._cases = self._characters = 0
        self._judges: dict[str | None, _Tally] = {}
        """By what a use of a metric calls its judge; None is the run's own."""
        self._smoke = 0

    def add(self, case: TestCase) -> None:
        self._cases += 1
        self._characters += sum(len(message.content) for message in self._requests.request(case, 0).messages)
        for applied in self._uses.of(case):
            if applied.judge is not None and applied.metric.missing(case) is None:
                tally = self._judges.setdefault(applied.use.judge, _Tally())
                tally.add(_questions(applied.metric) * applied.repeats, _shown(case) + _around(applied.metric))
                if hasattr(applied.metric, "preparation") and not getattr(applied.metric, "steps", ()):
                    tally.prepared.add(preparation_name(applied.metric, applied.judge))
        if self._cases <= SMOKE_CASES:
            self._smoke = self._calls(QUICK_SAMPLES)

    def _calls(self, samples: int) -> int:
        tallies = self._judges.values()
        prepared = {name for tally in tallies for name in tally.prepared}
        return samples * (self._cases + sum(tally.calls for tally in tallies)) + len(prepared)

    def estimate(self, plan: RunPlan, prices: Mapping[str, Price], limits: Mapping[str, Limits]) -> Estimate:
        """Work out what the completed plan takes, once all cases were added.

        Args:
            plan: What is to be done.
            prices: By the models' full names; a model that is missing has no known price.
            limits: By the models' full names; a model that is missing has no configured limits.
        """
        judges = self._by_model(plan)
        sides = _sides(plan, self._cases, self._characters, judges)
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
            smoke_calls=self._smoke,
            attempts=plan.target.attempts,
            input_tokens=_sum(side.input for side in sides),
            output_tokens=_sum(side.output for side in sides),
            cost=None if unpriced else _sum(_cost(side, prices[side.config.model]) for side in sides),
            unpriced=unpriced,
            seconds=time.seconds,
            seconds_one_by_one=Range(*_SECONDS_PER_CALL) * calls,
            concurrency=time.concurrency,
            bound_by=time.bound_by,
        )

    def _by_model(self, plan: RunPlan) -> dict[str, tuple[JudgeConfig, _Tally]]:
        """Two names may mean one model."""
        found: dict[str, tuple[JudgeConfig, _Tally]] = {}
        for name, tally in self._judges.items():
            config = plan.judges[name] if name else plan.judge
            assert config is not None  # noqa: S101 - a completed plan has every judge that its cases need
            found.setdefault(config.model, (config, _Tally()))[1].take(tally)
        return found


def _sides(plan: RunPlan, cases: int, characters: int, judges: Mapping[str, tuple[JudgeConfig, _Tally]]) -> list[_Side]:
    samples, answer = cases * plan.num_samples, _answer(plan.target)
    sides = [_Side(plan.target, samples, _tokens(characters * plan.num_samples), answer * samples)]
    for config, tally in judges.values():
        calls = tally.calls * plan.num_samples + len(tally.prepared)
        shown = _tokens(tally.characters * plan.num_samples) + answer * calls
        sides.append(_Side(config, calls, shown, _answer(config) * calls))
    return sides


def _questions(metric: Metric) -> int:
    """How often it questions the judge about one answer."""
    return int(getattr(metric, "questions", 1))


def _around(metric: Metric) -> int:
    """Characters of a question beside the case and the answer."""
    return int(getattr(metric, "characters", _METRIC_PROMPT))


def _shown(case: TestCase) -> int:
    """Characters of a case that a judge is shown."""
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
    """Models of one service share its limits; those of different services work side by side."""
    services: dict[str, list[_Side]] = {}
    for side in sides:
        services.setdefault(side.config.identity, []).append(side)
    times = [_service_time(part, limits.get(part[0].config.model, Limits())) for part in services.values()]
    slowest = max(times, key=lambda time: time.seconds.high)
    # A sample is an answer and then its judgement: however many calls go at once, these follow each other.
    least = Range(*_SECONDS_PER_CALL) * sum(
        1 if not at else side.calls // max(1, sides[0].calls) for at, side in enumerate(sides)
    )
    low = max(least.low, *(time.seconds.low for time in times))
    high = max(least.high, slowest.seconds.high)
    return _Time(Range(low, high), sum(time.concurrency for time in times), slowest.bound_by)


def _service_time(sides: list[_Side], limits: Limits) -> _Time:
    calls = sum(side.calls for side in sides)
    tokens = _sum(part for side in sides for part in (side.input, side.output))
    at_once = min(limits.max_concurrency or DEFAULT_CONCURRENCY, max(1, calls))
    bounds: dict[str | None, Range] = {None: Range(*_SECONDS_PER_CALL) * (calls / at_once)}
    if limits.requests_per_minute:
        minutes = calls / limits.requests_per_minute
        bounds[f"{limits.requests_per_minute:,} requests a minute"] = Range(minutes * 60, minutes * 60)
    if limits.tokens_per_minute:
        bounds[f"{limits.tokens_per_minute:,} tokens a minute"] = tokens * (60 / limits.tokens_per_minute)
    seconds = Range(max(bound.low for bound in bounds.values()), max(bound.high for bound in bounds.values()))
    return _Time(seconds, at_once, max(bounds, key=lambda name: bounds[name].high))


def _sum(ranges: Iterable[Range]) -> Range:
    total = Range(0.0, 0.0)
    for each in ranges:
        total += each
    return total
