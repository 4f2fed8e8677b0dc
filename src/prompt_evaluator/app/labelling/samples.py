"""One sample of a queue, with its case and its answer."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.app.labelling.queues import metrics_of_cases, opinion_of
from prompt_evaluator.app.labelling.scales import label_scale, label_scales
from prompt_evaluator.app.run_cases import show_case
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import InvalidLabelError, UnknownNameError

if TYPE_CHECKING:
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunPlan, TestCase
    from prompt_evaluator.model.labelling import LabelItem, LabelScale, Opinion
    from prompt_evaluator.model.query import SampleLine


class QueueSample(NamedTuple):
    """A sample of a queue."""

    item: LabelItem
    plan: RunPlan
    case: TestCase
    sample: SampleLine


def queue_sample(settings: Settings, queue_id: int, place: int) -> QueueSample:
    """The sample at a place of a queue. Reserves nothing.

    Raises:
        UnknownNameError: There is no such queue or place, or the run does not have the sample any more.
    """
    with closing(open_store(settings)) as store:
        queue, item = store.label_queue(queue_id), store.label_item(queue_id, place)
    whole = show_case(settings, queue.run_id, item.case_id)
    for sample in whole.view.samples or ():
        if sample.sample == item.sample:
            return QueueSample(item, whole.record.plan, whole.case, sample)
    raise UnknownNameError("sample", str(item.sample + 1), ())


def queue_opinion(settings: Settings, queue_id: int, place: int) -> Opinion | None:
    """What the judge said about the sample at a place of a queue; None if nothing."""
    with closing(open_store(settings)) as store:
        return opinion_of(store, store.label_queue(queue_id), store.label_item(queue_id, place))


def scale_of(settings: Settings, run_id: str, metric: str) -> LabelScale:
    """How to label a metric of a run.

    Raises:
        UnknownNameError: There is no such run, or it does not measure this.
    """
    with closing(open_store(settings)) as store:
        plan = store.run(run_id).plan
        return label_scale(plan, metric, metrics_of_cases(store, plan.run_id))


def first_metric(settings: Settings, run_id: str) -> str:
    """What to label of a run unless something else is asked for: its first criterion, or its first metric.

    Raises:
        UnknownNameError: There is no such run.
        InvalidLabelError: It measures nothing.
    """
    with closing(open_store(settings)) as store:
        plan = store.run(run_id).plan
        scales = label_scales(plan, metrics_of_cases(store, plan.run_id))
    if not scales:
        advice = f"Judge its answers first: `prompt-evaluator score {plan.run_id} --rubric default`."
        raise InvalidLabelError(f"Run {plan.run_id} measures nothing, so there is no scale", advice=advice)
    return next(iter(scales))
