"""Requests about queues of samples to be labelled, and what the pages about them show."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from prompt_evaluator.model.bounds import PAGE_SIZE, QUEUE_SIZE, SCORE, SEED, SKIPPED
from prompt_evaluator.model.labelling import USUAL_SIZE, Draw, QueueProgress

_Name = Annotated[str, Meta(min_length=1, max_length=300)]
_Place = Annotated[int, QUEUE_SIZE.meta]


class LabelQueuesQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which queues to list."""

    run: _Name | None = None
    """By default, the queues of all runs."""
    limit: Annotated[int, PAGE_SIZE.meta] = 50


class LabelQueueList(msgspec.Struct, frozen=True):
    """Queues, the newest first."""

    queues: tuple[QueueProgress, ...]


class LabelQueueRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which samples to draw for labelling."""

    run: _Name
    metric: _Name
    """A metric of the run, or one of its rubric's criteria or flags."""
    draw: Draw = "random"
    """`random`: every sample is equally likely. `stratified`: equally many of each score, or of passes and failures.
    `uncertain`: those nearest to the pass mark, or whose judgements disagree; without a probability."""
    size: Annotated[int, QUEUE_SIZE.meta] = USUAL_SIZE
    """At most this many samples."""
    seed: Annotated[int, SEED.meta] | None = None
    """The same seed draws the same samples, such as for a second opinion."""
    reviewer: _Name | None = None
    """Who starts it; by default, the name of the token."""


class ReviewerRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who labels."""

    reviewer: _Name | None = None
    """By default, the name of the token. Only admins may label under another name."""


class QueueLabelRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's score of one sample of a queue."""

    place: _Place
    """Of the sample in the queue; starts at 1."""
    value: Annotated[float, SCORE.meta]
    """On the metric's scale; 0 or 1 for a flag."""
    comment: Annotated[str, Meta(max_length=2_000)] = ""
    judge_seen: bool = False
    """Whether the judge's score was shown before."""
    answer_hash: Annotated[str, Meta(max_length=80)] | None = None
    """Of the answer that was shown; if it is given, a label of another answer is refused."""
    reviewer: _Name | None = None
    """By default, the name of the token. Only admins may label under another name."""


class QueueSkipRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sample of a queue that a person leaves to others."""

    place: _Place
    """Of the sample in the queue; starts at 1."""
    reviewer: _Name | None = None
    """By default, the name of the token. Only admins may label under another name."""


class LabelPageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the page about labelling a run shows."""

    queue: Annotated[int, Meta(ge=1, le=2_000_000_000)] | None = None
    """By default, all queues of the run, and a form that starts one."""
    view: Literal["sample", "labelled"] = "sample"
    """`labelled` lists the samples of the queue that have a label."""
    place: _Place | None = None
    """The sample to show; by default, none until one is reserved."""
    after: _Place | None = None
    """The sample that was labelled last, to be shown beside with the judge's opinion."""
    judge: bool = False
    """Show the judge's opinion before the label."""
    start: Annotated[int, SKIPPED.meta] = 0
    """How many labelled samples to leave out."""
