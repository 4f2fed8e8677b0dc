"""What happens in a run, for whoever is looking: each event says which run it is of and which number it has there."""

from __future__ import annotations

import msgspec

from prompt_evaluator.model.result import CaseResult
from prompt_evaluator.model.run import RunRecord, RunStatus, SampleStatus


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """Something that happened."""

    run_id: str
    sequence: int
    """Counted from 1 within the run, without gaps."""


class RunStarted(Event, frozen=True, kw_only=True, tag="run_started"):
    """The run has been taken up, for the first time or again."""

    record: RunRecord
    samples: int
    """All of the run."""


class SampleStarted(Event, frozen=True, kw_only=True, tag="sample_started"):
    """A sample is being worked on."""

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
