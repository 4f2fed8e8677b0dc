"""What the worker processes of a run share: the budget, prepared metrics and the meter."""

from __future__ import annotations

import asyncio
import contextvars
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prompt_evaluator.app.remote.notes import (
    EndSample,
    GiveBack,
    Granted,
    MeterTotals,
    Pay,
    Prepare,
    Prepared,
    Refused,
    Settle,
    StartSample,
    Take,
    Withdraw,
    encode,
    read_by_desk,
)
from prompt_evaluator.errors import StoppedError
from prompt_evaluator.metrics.catalogue import build_metric
from prompt_evaluator.pipeline.uses import AppliedMetric

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from prompt_evaluator.app.remote.notes import Cost, ToWorker
    from prompt_evaluator.calls.budget import Budget
    from prompt_evaluator.calls.meter import Meter
    from prompt_evaluator.pipeline.execute import Executor
    from prompt_evaluator.ports.working import Tell


@dataclass(slots=True)
class _Gauge:
    in_flight: int = 0
    limit: float = 0.0


@dataclass(slots=True, eq=False)
class _Worker:
    """What the desk knows about one worker."""

    tell: Tell
    samples: dict[int, contextvars.Context] = field(default_factory=dict)
    in_flight: Counter[tuple[int | None, Cost]] = field(default_factory=Counter)
    """Requests that may have been sent, by sample and kind."""
    waiting: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    """Questions, by number."""
    totals: MeterTotals | None = None
    gauge: _Gauge = field(default_factory=_Gauge)

    def say(self, note: ToWorker) -> None:
        self.tell(encode(note))

    def context(self, sample: int | None) -> contextvars.Context:
        """The context that the budget knows a sample by."""
        known = self.samples.get(sample) if sample is not None else None
        return contextvars.Context() if known is None else known


class SharedDesk:
    """Implements the port `Desk` with the session's budget and meter, and the driver's preparer."""

    def __init__(self, budget: Budget, meter: Meter | None) -> None:
        self._budget, self._meter = budget, meter
        self._workers: dict[int, _Worker] = {}
        self.executor: Executor | None = None
        """The driver's, which prepares metrics; set before the first worker joins."""

    def joined(self, worker: int, tell: Tell) -> None:
        known = self._workers[worker] = _Worker(tell)
        if self._meter is not None:
            self._meter.gauges.append(known.gauge)

    def left(self, worker: int) -> None:
        """Take back what a worker has left open. What it had sent may have been paid for."""
        gone = self._workers.pop(worker)
        for task in gone.waiting.values():
            task.cancel()
        for (sample, kind), count in gone.in_flight.items():
            for _ in range(count):
                gone.context(sample).run(self._budget.may_have_paid, kind)
                gone.context(sample).run(self._budget.settle, kind)
        for context in gone.samples.values():
            context.run(self._budget.end_sample)
        if self._meter is not None:
            self._meter.gauges.remove(gone.gauge)
            self._meter.in_flight -= int(gone.totals.counts["in_flight"]) if gone.totals else 0

    def heard(self, worker: int, note: bytes) -> None:
        known = self._workers[worker]
        match read_by_desk(note):
            case StartSample() | Take() | Prepare() as question:
                self._answer(known, question)
            case Withdraw(number):
                if task := known.waiting.get(number):
                    task.cancel()
            case MeterTotals() as totals:
                self._count(known, totals)
            case spent:
                self._book(known, spent)

    def _answer(self, known: _Worker, question: StartSample | Take | Prepare) -> None:
        match question:
            case StartSample(number, sample, calls):
                context = known.samples[sample] = contextvars.Context()
                self._wait(known, number, self._start(known, number, sample, calls), context)
            case Take(number, taking):
                self._wait(known, number, self._grant(known, question), known.context(taking))
            case Prepare(number):
                self._wait(known, number, self._prepare(known, question), contextvars.copy_context())

    def _book(self, known: _Worker, spent: EndSample | GiveBack | Pay | Settle) -> None:
        """Tell the budget what has become of a sample or a request."""
        budget = self._budget
        match spent:
            case EndSample(sample):
                if sample in known.samples:
                    known.samples.pop(sample).run(budget.end_sample)
            case GiveBack(sample, kind):
                known.in_flight[sample, kind] -= 1
                known.context(sample).run(budget.give_back, kind)
            case Pay(sample, kind, None):
                known.context(sample).run(budget.may_have_paid, kind)
            case Pay(sample, kind, cost):
                known.context(sample).run(budget.pay, kind, cost)
            case Settle(sample, kind):
                known.in_flight[sample, kind] -= 1
                known.context(sample).run(budget.settle, kind)

    @staticmethod
    def _wait(known: _Worker, number: int, answer: Coroutine[None, None, None], context: contextvars.Context) -> None:
        """Answer when possible. An error is the answer, too; so is that the question was withdrawn."""

        def ended(task: asyncio.Task[None]) -> None:
            known.waiting.pop(number, None)
            if task.cancelled():
                known.say(Refused.because(number, StoppedError("The question was withdrawn.")))
            elif error := task.exception():
                known.say(Refused.because(number, error))

        task = known.waiting[number] = asyncio.get_running_loop().create_task(answer, context=context)
        task.add_done_callback(ended, context=contextvars.copy_context())

    async def _start(self, known: _Worker, number: int, sample: int, calls: int) -> None:
        try:
            await self._budget.start_sample(calls)
        except BaseException:
            known.samples.pop(sample, None)
            raise
        known.say(Granted(number))

    async def _grant(self, known: _Worker, asked: Take) -> None:
        await self._budget.take(asked.kind, asked.guess)
        known.in_flight[asked.sample, asked.kind] += 1
        known.say(Granted(asked.number))

    async def _prepare(self, known: _Worker, asked: Prepare) -> None:
        executor = self.executor
        assert executor is not None  # noqa: S101 - see there
        common = (applied for applied in executor.uses.common() if applied.use == asked.use)
        applied = next(common, None) or AppliedMetric.of(asked.use, build_metric(asked.use), asked.judge)
        known.say(Prepared(asked.number, await executor.preparer.options(applied)))

    def _count(self, known: _Worker, totals: MeterTotals) -> None:
        meter, before = self._meter, known.totals
        known.totals = totals
        known.gauge.in_flight = sum(in_flight for in_flight, _ in totals.gauges)
        known.gauge.limit = sum(limit for _, limit in totals.gauges)
        if meter is None:
            return
        for name, count in totals.counts.items():
            added = count - (before.counts.get(name, 0) if before else 0)
            setattr(meter, name, getattr(meter, name) + type(getattr(meter, name))(added))
        meter.retries.update(Counter(totals.retries) - Counter(before.retries if before else {}))
        meter.failures.update(Counter(totals.failures) - Counter(before.failures if before else {}))
        for event in totals.events:
            meter.on_retry(event)
