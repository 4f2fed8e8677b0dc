"""Makes a worker from values, in another process than the driver."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.models import CODE_MARK, Connections, Models
from prompt_evaluator.app.remote.asking import Questions, RemoteBudget, RemotePreparer
from prompt_evaluator.app.remote.notes import MeterTotals, read_by_worker
from prompt_evaluator.app.remote.source import PrivateSpec, RemoteSpec
from prompt_evaluator.app.wiring import make_uses, put_together
from prompt_evaluator.calls.meter import Meter
from prompt_evaluator.calls.runs import SharedCalls
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.catalogue import build_metric

if TYPE_CHECKING:
    from prompt_evaluator.calls.meter import RetryEvent
    from prompt_evaluator.model.work import ItemEnd, WorkerSource, WorkItem
    from prompt_evaluator.pipeline.execute import Executor
    from prompt_evaluator.ports.working import Tell, UnitSink

_EVERY = 0.2
"""Seconds between reports of the meter."""
COUNTS = (
    "in_flight",
    "calls",
    "tries",
    "answers",
    "input_tokens",
    "output_tokens",
    "cost",
    "unpriced",
    "time_outs",
    "throttled_seconds",
    "busy_seconds",
)


def make_worker(source: WorkerSource, sink: UnitSink, tell: Tell) -> SampleProcess:
    """Make the worker that a `WorkerSource` describes.

    Raises:
        ConfigurationError: The user's code is not the driver's.
    """
    private = msgspec.json.decode(source.private, type=PrivateSpec)
    os.environ.update(private.environment)
    _adopt(source.objects)
    return SampleProcess(msgspec.json.decode(source.spec, type=RemoteSpec), private, sink, tell)


class SampleProcess:
    """The samples made in this process, with this process's share of every limit."""

    def __init__(self, spec: RemoteSpec, private: PrivateSpec, sink: UnitSink, tell: Tell) -> None:
        self._questions = questions = Questions(tell)
        self._retries: list[RetryEvent] = []
        self._meter, self._reported = Meter(), b""
        self._meter.on_retry = self._retries.append
        self._shared = Connections(SharedCalls(share=spec.share))
        budget = None if spec.budget is None else RemoteBudget(questions, limits_cost=spec.budget == "cost")
        self._models = Models(
            private.providers,
            shared=self._shared,
            meter=self._meter,
            max_concurrency=spec.max_concurrency,
            budget=budget,
            assumed_price=spec.assumed_price,
        )
        _check_code(spec, self._models)
        self._worker = _executor(spec, self._models, questions).worker(sink)
        self._reporting = asyncio.create_task(self._report_regularly())

    async def work(self, item: WorkItem) -> ItemEnd:
        return await self._worker.work(item)

    def heard(self, note: bytes) -> None:
        self._questions.answered(read_by_worker(note))

    def stop(self) -> None:
        self._models.stop()

    async def close(self) -> None:
        self._reporting.cancel()
        self._report()
        await self._shared.close()

    async def _report_regularly(self) -> None:
        while True:
            await asyncio.sleep(_EVERY)
            self._report()

    def _report(self) -> None:
        """Send the meter's totals if they have changed."""
        meter = self._meter
        note = MeterTotals(
            {name: getattr(meter, name) for name in COUNTS},
            dict(meter.retries),
            dict(meter.failures),
            [(gauge.in_flight, gauge.limit) for gauge in meter.gauges],
            self._retries[:],
        )
        self._retries.clear()
        if (encoded := msgspec.json.encode(note)) != self._reported:
            self._reported = encoded
            self._questions.say(note)


def _executor(spec: RemoteSpec, models: Models, questions: Questions) -> Executor:
    preparer = RemotePreparer(questions, build_metric)
    return put_together(spec.plan, models, preparer, retry_errors=spec.retry_errors)


def _check_code(spec: RemoteSpec, models: Models) -> None:
    """Refuse other versions of the user's code: their answers would be stored as if the driver's had given them."""
    advice = "Give the worker processes the same files, such as by a shared disk or `ray job submit --working-dir`."
    for model, digest in spec.models.items():
        name = models.name(model)
        models.check(name)
        if models.identity(name).partition(CODE_MARK)[2] != digest:
            raise ConfigurationError(f"The code of {model} differs between this machine and a worker process. {advice}")
    for applied in make_uses(spec.plan).common():
        if applied.digest.hex() != spec.metrics.get(applied.key):
            raise ConfigurationError(
                f"The metric {applied.key} differs between this machine and a worker process. {advice}"
            )


def _adopt(functions: dict[str, Any]) -> None:
    from prompt_evaluator.providers.function import adopt_as  # noqa: PLC0415 - only for functions

    for model, function in functions.items():
        adopt_as(model, function)
