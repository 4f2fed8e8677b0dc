"""People's scores of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.labelling.checks import NewLabel
from prompt_evaluator.app.labels import add_label, list_labels
from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.model import Label
from prompt_evaluator.model.api_requests import LabelRequest, LabelsQuery
from prompt_evaluator.server.refusals import Refusal
from prompt_evaluator.server.routing import BENCHMARKS, Created, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes(BENCHMARKS, "Labels")


class Labels(msgspec.Struct, frozen=True):
    """Labels, in the order in which they were given."""

    labels: tuple[Label, ...]


@ROUTES.add("GET", "/labels", role="viewer", summary="List labels", query=LabelsQuery, answer=Labels, errors=(404,))
def labels(call: Call[LabelsQuery, None]) -> Labels:
    settings, asked = call.site.settings, call.query
    run_id = whole_id(settings, asked.run) if asked.run else None
    return Labels(tuple(list_labels(settings, run_id))[-asked.limit :])


@ROUTES.add(
    "POST",
    "/labels",
    role="labeller",
    summary="Score a sample; an earlier score by the same person is kept, and superseded",
    body=LabelRequest,
    answer=Label,
    status=201,
    errors=(404,),
)
def label(call: Call[None, LabelRequest]) -> Created:
    settings, asked = call.site.settings, call.body
    new = NewLabel(
        run_id=whole_id(settings, asked.run),
        case_id=asked.case_id,
        sample=asked.sample,
        metric=asked.metric,
        value=asked.value,
        reviewer=reviewer_of(call, asked.reviewer),
        comment=asked.comment,
        judge_seen=asked.judge_seen,
        probability=asked.probability,
        answer_hash=asked.answer_hash,
    )
    made = add_label(settings, new)
    return Created(made, f"{BENCHMARKS}/labels?run={made.run_id}")


def reviewer_of(call: Call[Any, Any], given: str | None) -> str:
    """Who gives a label: the owner of the token, or whom an admin names. Where no token is needed, everybody is one.

    Raises:
        Refusal: The name is somebody else's.
    """
    own = call.caller.name
    if given is None or given.strip() == own or call.caller.may("admin"):
        return given or own
    raise Refusal(
        403, f"Your labels are given under the name of your token, {own!r}. Leave out the reviewer.", "reviewer"
    )
