"""How a run is going, in plain lines on standard error."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from prompt_evaluator.model import RunRecord, SampleStatus
    from prompt_evaluator.model.result import CaseResult
    from prompt_evaluator.providers.meter import Meter

_EVERY = 5.0


class PlainProgress:
    """A line now and then, and none at all for a run that is over before the first is due."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._samples = self._done = self._errors = self._cases = 0
        self._start = self._shown = time.monotonic()

    def started(self, record: RunRecord, *, samples: int, done: int) -> None:
        self._samples, self._done = samples, done
        click.echo(f"Run {record.plan.run_id}: {samples} samples", err=True)

    def sample_done(self, status: SampleStatus) -> None:
        self._done += 1
        self._errors += status != "completed"
        now = time.monotonic()
        if now - self._shown >= _EVERY:
            self._shown = now
            self._show(now - self._start)

    def case_done(self, result: CaseResult) -> None:  # noqa: ARG002 - a watcher's signature
        self._cases += 1

    def _show(self, seconds: float) -> None:
        rate = self._done / seconds
        left = (self._samples - self._done) / rate if rate else 0
        retries = sum(self._meter.retries.values())
        parts = [
            f"{self._done:,}/{self._samples:,} samples",
            f"{rate:,.1f}/s",
            f"{left:,.0f} s left",
            f"{self._errors:,} errors",
            f"{retries:,} retries",
            f"{self._meter.in_flight} in flight",
        ]
        print(" · ".join(parts), file=sys.stderr, flush=True)  # noqa: T201 - a line of progress
