"""What a worker process and the driver's desk tell each other."""

from __future__ import annotations

from typing import Any

import msgspec

from prompt_evaluator import errors
from prompt_evaluator.calls.meter import RetryEvent
from prompt_evaluator.errors import PromptEvaluatorError, ProviderError
from prompt_evaluator.model import JudgeConfig, MetricUse

Cost = tuple[str, str, bool] | None
"""A kind of request, by what it costs; see `Client`."""


class StartSample(msgspec.Struct, frozen=True, tag=True):
    """May a sample start? Answered with `Granted` or `Refused`."""

    number: int
    sample: int
    calls: int


class EndSample(msgspec.Struct, frozen=True, tag=True):
    """A sample has ended, or was not started after all."""

    sample: int


class Take(msgspec.Struct, frozen=True, tag=True):
    """May a request be sent? Answered with `Granted` or `Refused`."""

    number: int
    sample: int | None
    kind: Cost
    guess: float


class Withdraw(msgspec.Struct, frozen=True, tag=True):
    """Nobody waits for the answer to this question any more."""

    number: int


class GiveBack(msgspec.Struct, frozen=True, tag=True):
    """A request was not sent after all."""

    sample: int | None
    kind: Cost


class Pay(msgspec.Struct, frozen=True, tag=True):
    """An answer has this cost; None if the request timed out, so that only its average is known."""

    sample: int | None
    kind: Cost
    cost: float | None


class Settle(msgspec.Struct, frozen=True, tag=True):
    """A request has ended."""

    sample: int | None
    kind: Cost


class Prepare(msgspec.Struct, frozen=True, tag=True):
    """What has a judge written for this metric? Answered with `Prepared` or `Refused`."""

    number: int
    use: MetricUse
    judge: JudgeConfig


class MeterTotals(msgspec.Struct, frozen=True, tag=True):
    """The totals of a worker's meter so far, and its retries since the last time."""

    counts: dict[str, float]
    retries: dict[str, int]
    failures: dict[str, int]
    gauges: list[tuple[int, float]]
    events: list[RetryEvent]


class Granted(msgspec.Struct, frozen=True, tag=True):
    """Yes."""

    number: int


class Prepared(msgspec.Struct, frozen=True, tag=True):
    """Options of a metric that a judge has written."""

    number: int
    options: dict[str, Any]


class Refused(msgspec.Struct, frozen=True, tag=True):
    """No, because of this error."""

    number: int
    kind: str
    message: str
    provider: str = ""

    @classmethod
    def because(cls, number: int, error: BaseException) -> Refused:
        return cls(number, type(error).__name__, str(error), getattr(error, "provider", None) or "")

    def error(self) -> Exception:
        """The error again, in its own class if it is one of ours."""
        known = getattr(errors, self.kind, None)
        if isinstance(known, type) and issubclass(known, ProviderError):
            return known(self.message.removeprefix(f"{self.provider}: "), provider=self.provider)
        if isinstance(known, type) and issubclass(known, PromptEvaluatorError):
            return known(self.message)
        unknown: type[Exception] = type(self.kind, (Exception,), {})
        return unknown(self.message)


ToDesk = StartSample | EndSample | Take | Withdraw | GiveBack | Pay | Settle | Prepare | MeterTotals
ToWorker = Granted | Prepared | Refused

encode = msgspec.json.Encoder().encode
read_by_desk = msgspec.json.Decoder(ToDesk).decode
read_by_worker = msgspec.json.Decoder(ToWorker).decode
