"""Events of a run, for any observer. Each has the run's id and a sequence number."""

from __future__ import annotations

import msgspec

from prompt_evaluator.model.result import CaseResult
from prompt_evaluator.model.run import RunRecord, RunStatus, SampleStatus


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """Base of all events."""

    run_id: str
    sequence: int
    """Starts at 1 in each run, without gaps."""


class RunStarted(Event, frozen=True, kw_only=True, tag="run_started"):
    """The run has been started or resumed."""

    record: RunRecord
    samples: int
    """Total samples of the run."""


class SampleStarted(Event, frozen=True, kw_only=True, tag="sample_started"):
    """Work on a sample has started."""

    case_id: str
    sample: int


class SampleDone(Event, frozen=True, kw_only=True, tag="sample_done"):
    """A sample is finished."""

    case_id: str
    sample: int
    status: SampleStatus


class CaseDone(Event, frozen=True, kw_only=True, tag="case_done"):
    """All samples of a case are finished."""

    result: CaseResult


class RunEnded(Event, frozen=True, kw_only=True, tag="run_ended"):
    """Nothing more will happen, unless the run is resumed."""

    status: RunStatus
    stop_reason: str | None


AnyEvent = RunStarted | SampleStarted | SampleDone | CaseDone | RunEnded
