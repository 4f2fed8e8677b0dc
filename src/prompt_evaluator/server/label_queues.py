"""Queues of samples to be labelled: start one, get the next sample, label it, skip it, take it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.app.labelling.queues import (
    GivenLabel,
    label_step,
    next_step,
    queues_of,
    skip_step,
    start_queue,
    undo_step,
)
from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.label_api import (
    LabelQueueList,
    LabelQueueRequest,
    LabelQueuesQuery,
    QueueLabelRequest,
    QueueSkipRequest,
    ReviewerRequest,
)
from prompt_evaluator.model.labelling import LabelStep, NewQueue, QueueProgress
from prompt_evaluator.server.labels import reviewer_of
from prompt_evaluator.server.routing import BENCHMARKS, Created, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes(BENCHMARKS, "Labels")
_MOST_DIGITS = 9


@ROUTES.add(
    "GET",
    "/label-queues",
    role="viewer",
    summary="List queues of samples to be labelled",
    query=LabelQueuesQuery,
    answer=LabelQueueList,
    errors=(404,),
)
def queues(call: Call[LabelQueuesQuery, None]) -> LabelQueueList:
    return LabelQueueList(tuple(queues_of(call.site.settings, call.query.run, limit=call.query.limit)))


@ROUTES.add(
    "POST",
    "/label-queues",
    role="labeller",
    summary="Draw samples of a run to be labelled",
    body=LabelQueueRequest,
    answer=QueueProgress,
    status=201,
    errors=(404,),
)
def start(call: Call[None, LabelQueueRequest]) -> Created:
    settings, asked = call.site.settings, call.body
    new = NewQueue(
        run_id=whole_id(settings, asked.run), metric=asked.metric, draw=asked.draw, size=asked.size, seed=asked.seed
    )
    made = start_queue(settings, new, created_by=reviewer_of(call, asked.reviewer))
    return Created(made, f"{BENCHMARKS}/label-queues?run={made.queue.run_id}")


@ROUTES.add(
    "POST",
    "/label-queues/{queue_id}/next",
    role="labeller",
    summary="Reserve the next sample of a queue for a reviewer, for some minutes",
    body=ReviewerRequest,
    answer=LabelStep,
)
def following(call: Call[None, ReviewerRequest]) -> LabelStep:
    return next_step(call.site.settings, _number(call), reviewer_of(call, call.body.reviewer))


@ROUTES.add(
    "POST",
    "/label-queues/{queue_id}/labels",
    role="labeller",
    summary="Score a sample of a queue, and reserve the next one",
    body=QueueLabelRequest,
    answer=LabelStep,
)
def label(call: Call[None, QueueLabelRequest]) -> LabelStep:
    asked = call.body
    given = GivenLabel(
        place=asked.place,
        value=asked.value,
        comment=asked.comment,
        judge_seen=asked.judge_seen,
        answer_hash=asked.answer_hash,
    )
    return label_step(call.site.settings, _number(call), reviewer_of(call, asked.reviewer), given)


@ROUTES.add(
    "POST",
    "/label-queues/{queue_id}/skips",
    role="labeller",
    summary="Leave a sample of a queue to others, and reserve the next one",
    body=QueueSkipRequest,
    answer=LabelStep,
)
def skip(call: Call[None, QueueSkipRequest]) -> LabelStep:
    return skip_step(call.site.settings, _number(call), reviewer_of(call, call.body.reviewer), call.body.place)


@ROUTES.add(
    "POST",
    "/label-queues/{queue_id}/undo",
    role="labeller",
    summary="Take back the reviewer's last label or skip; the label is kept, and withdrawn",
    body=ReviewerRequest,
    answer=LabelStep,
)
def undo(call: Call[None, ReviewerRequest]) -> LabelStep:
    return undo_step(call.site.settings, _number(call), reviewer_of(call, call.body.reviewer))


def _number(call: Call[Any, Any]) -> int:
    text = call.path["queue_id"]
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise UnknownNameError("label queue", text[:40], ())
    return int(text)
