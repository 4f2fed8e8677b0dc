"""Questions of a worker process to the driver's desk, and the budget that is asked there."""

from __future__ import annotations

import asyncio
import math
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from prompt_evaluator.app.remote.notes import (
    EndSample,
    GiveBack,
    Granted,
    Pay,
    Prepare,
    Prepared,
    Refused,
    Settle,
    StartSample,
    Take,
    Withdraw,
    encode,
)
from prompt_evaluator.calls.budget import Budget
from prompt_evaluator.calls.stop import plain_wait
from prompt_evaluator.pipeline.naming import preparation_name
from prompt_evaluator.pipeline.preparing import Preparer

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.app.remote.notes import ToDesk
    from prompt_evaluator.calls.stop import Wait
    from prompt_evaluator.model import JudgeConfig
    from prompt_evaluator.pipeline.uses import AppliedMetric
    from prompt_evaluator.ports.working import Tell

_SAMPLE: ContextVar[int | None] = ContextVar("remote sample", default=None)
"""The sample that the current task works on."""


class Questions:
    """Questions without an answer so far."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._numbers = 0
        self._open: dict[int, asyncio.Future[None]] = {}
        self._answers: dict[int, dict[str, Any]] = {}
        self._withdrawn: dict[int, ToDesk | None] = {}
        """What to say if an answer comes after all."""

    def say(self, note: ToDesk) -> None:
        self._tell(encode(note))

    async def ask(
        self, question: Callable[[int], ToDesk], *, undo: ToDesk | None = None, wait: Wait = plain_wait
    ) -> dict[str, Any]:
        """Ask, and wait for the answer. Raise the error with which the desk refuses.

        Args:
            question: Makes the note, given its number.
            undo: What to say if the desk agrees after the caller has given up.
            wait: How to wait.
        """
        number = self._numbers = self._numbers + 1
        future = self._open[number] = asyncio.get_running_loop().create_future()
        self.say(question(number))
        try:
            await wait(future)
        except BaseException:
            if self._open.pop(number, None) is not None:
                self._withdrawn[number] = undo
                self.say(Withdraw(number))
            elif number in self._answers and undo is not None:  # agreed at the same moment
                self.say(undo)
            self._answers.pop(number, None)
            raise
        return self._answers.pop(number, {})

    def answered(self, answer: Granted | Prepared | Refused) -> None:
        future = self._open.pop(answer.number, None)
        if future is None or future.done():  # given up, perhaps at this moment
            undo = self._withdrawn.pop(answer.number, None)
            if undo is not None and not isinstance(answer, Refused):
                self.say(undo)
            elif future is not None and not isinstance(answer, Refused):
                self._answers[answer.number] = {}
        elif isinstance(answer, Refused):
            future.set_exception(answer.error())
        else:
            self._answers[answer.number] = answer.options if isinstance(answer, Prepared) else {}
            future.set_result(None)


class RemoteBudget(Budget):
    """The run's budget, which the driver keeps: asked before each sample and each request."""

    def __init__(self, questions: Questions, *, limits_cost: bool) -> None:
        super().__init__(max_cost=math.inf if limits_cost else None)
        self._questions = questions
        self._numbers = 0

    async def take(self, kind: Any = None, guess: float = 0.0, wait: Wait = plain_wait) -> None:
        sample = _SAMPLE.get()
        undo = GiveBack(sample, kind)
        await self._questions.ask(lambda number: Take(number, sample, kind, guess), undo=undo, wait=wait)

    def give_back(self, kind: Any = None) -> None:
        self._questions.say(GiveBack(_SAMPLE.get(), kind))

    def pay(self, kind: Any, cost: float | None) -> None:
        if cost is not None:
            self._questions.say(Pay(_SAMPLE.get(), kind, cost))

    def may_have_paid(self, kind: Any) -> None:
        self._questions.say(Pay(_SAMPLE.get(), kind, None))

    def settle(self, kind: Any = None) -> None:
        self._questions.say(Settle(_SAMPLE.get(), kind))

    async def start_sample(self, calls: int, wait: Wait = plain_wait) -> None:
        sample = self._numbers = self._numbers + 1
        undo = EndSample(sample)
        await self._questions.ask(lambda number: StartSample(number, sample, calls), undo=undo, wait=wait)
        _SAMPLE.set(sample)

    def end_sample(self) -> None:
        if (sample := _SAMPLE.get()) is not None:
            _SAMPLE.set(None)
            self._questions.say(EndSample(sample))


class RemotePreparer(Preparer):
    """Metrics are prepared by the driver, so that each is prepared once for all workers."""

    def __init__(self, questions: Questions, build: Any) -> None:
        super().__init__(_nobody, build, _nothing, _NoSink())
        self._questions = questions

    async def _prepared(self, applied: AppliedMetric, judge: JudgeConfig) -> dict[str, Any]:
        name = preparation_name(applied.metric, judge)
        async with self._locks.setdefault(name, asyncio.Lock()):
            if (options := self._options.get(name)) is None:
                options = await self._questions.ask(lambda number: Prepare(number, applied.use, judge))
                self._options[name] = options
        return options


def _nobody(_judge: JudgeConfig) -> Any:
    raise AssertionError("only the driver asks judges to prepare metrics")


def _nothing(_name: bytes) -> None: ...


class _NoSink:
    def put(self, unit: object, done: object = None) -> None: ...

    async def wait_for_capacity(self) -> None: ...
