"""One reviewer labels drawn answers of a run, one after the other."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.labelling.agreement import agreement
from prompt_evaluator.app.labelling.checks import NewLabel
from prompt_evaluator.app.labelling.drawing import draw
from prompt_evaluator.app.labelling.scales import label_scales, metrics_of_cases
from prompt_evaluator.app.labels import add_label
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import InvalidLabelError, UnknownNameError
from prompt_evaluator.model import current_labels
from prompt_evaluator.store.label_opinions import Judged

if TYPE_CHECKING:
    from collections.abc import Collection

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import Label, RunPlan
    from prompt_evaluator.model.label import AnswerKey
    from prompt_evaluator.model.labelling import Agreement, Drawn, LabelDraw, LabelScale, Opinion


class LabelSession:
    """The answers that a reviewer is asked to label, in their order.

    Nothing but labels is stored: the next answer is the first one that the reviewer has not labelled, also after a
    restart. Others who ask for the same draw get the same answers, for a second opinion.
    """

    def __init__(self, settings: Settings, asked: LabelDraw, reviewer: str) -> None:
        """Draw the answers.

        Raises:
            UnknownNameError: There is no such run, or it does not measure this.
            InvalidLabelError: No answer of the run can be labelled, or nobody labels.
        """
        if not reviewer.strip():
            raise InvalidLabelError("There is no reviewer", advice="Say who labels.", field="reviewer")
        self._settings, self.reviewer = settings, reviewer.strip()
        with closing(open_store(settings)) as store:
            plan = store.run(asked.run_id).plan
            self.scale = _scale(plan, asked.metric, metrics_of_cases(store, plan.run_id))
            self._judged = _judged(plan, self.scale)
            candidates = store.label_candidates(plan.run_id, self._judged)
            labels = store.labels(plan.run_id, metric=self.scale.metric)
        self._labels: list[Label] = []
        self._own: dict[AnswerKey, list[Label]] = {}
        for label in labels:
            self._keep(label)
        if not candidates:
            what = f"Run {plan.run_id} has no answer to label on {self.scale.metric!r}"
            raise InvalidLabelError(what, advice="Choose another metric, or a run with answers.", field="metric")
        self.run_id, self.how, self.population = plan.run_id, asked.how, len(candidates)
        self.drawn = draw(candidates, asked.how, asked.count, self.scale, asked.seed)

    @property
    def labelled(self) -> int:
        """How many of the answers the reviewer has labelled."""
        return sum(self.label_of(each) is not None for each in self.drawn)

    def next(self, skipped: Collection[Drawn] = ()) -> Drawn | None:
        """The first answer that the reviewer has not labelled; None if nothing is left."""
        return next((each for each in self.drawn if each not in skipped and self.label_of(each) is None), None)

    def label_of(self, drawn: Drawn) -> Label | None:
        """The reviewer's score of an answer; None without one, or if it is withdrawn."""
        return next(iter(current_labels(self._own.get(drawn.answer, ())).values()), None)

    def has_seen_judge(self, drawn: Drawn) -> bool:
        """Whether the judge's score was shown after an earlier label."""
        return drawn.answer in self._own

    def opinion(self, drawn: Drawn) -> Opinion | None:
        """What the judge said about an answer; None if nothing."""
        with closing(open_store(self._settings)) as store:
            return store.opinions(self.run_id, self._judged, [drawn.answer.case_id]).get(drawn.answer)

    def label(
        self, drawn: Drawn, value: float, *, answer_hash: str | None, comment: str = "", judge_seen: bool = False
    ) -> Label:
        """Store the reviewer's score of an answer.

        Raises:
            InvalidLabelError: It is outside the scale, or the stored answer is not the one that was shown.
        """
        new = NewLabel(
            run_id=self.run_id,
            **drawn.answer._asdict(),
            metric=self.scale.metric,
            value=value,
            reviewer=self.reviewer,
            comment=comment,
            judge_seen=judge_seen or self.has_seen_judge(drawn),
            probability=drawn.probability,
            answer_hash=answer_hash,
        )
        added = add_label(self._settings, new)
        self._keep(added)
        return added

    def withdraw(self, label: Label) -> None:
        """Take a label back: it is kept, and another one says that it does not count."""
        newer = max(now(), label.created_at)  # also if the clock of another machine is ahead
        withdrawal = msgspec.structs.replace(label, created_at=newer, comment="", withdrawn=True)
        with closing(open_store(self._settings)) as store:
            store.add_labels([withdrawal])
        self._keep(withdrawal)

    def agreement(self) -> Agreement:
        """How far the labels of these answers, of all reviewers, agree with the judge."""
        drawn = {each.answer for each in self.drawn}
        labels = [label for label in current_labels(self._labels).values() if label.answer in drawn]
        with closing(open_store(self._settings)) as store:
            opinions = store.opinions(self.run_id, self._judged, [label.case_id for label in labels])
        return agreement(labels, opinions, self.scale)

    def _keep(self, label: Label) -> None:
        self._labels.append(label)
        if label.reviewer == self.reviewer:
            self._own.setdefault(label.answer, []).append(label)


def _scale(plan: RunPlan, metric: str | None, more: Collection[str]) -> LabelScale:
    scales = label_scales(plan, more)
    if not scales:
        advice = f"Judge its answers first: `prompt-evaluator score {plan.run_id} --rubric default`."
        raise InvalidLabelError(f"Run {plan.run_id} measures nothing, so there is no scale", advice=advice)
    chosen = metric or next(iter(scales))
    if chosen not in scales:
        raise UnknownNameError("score", chosen, scales)
    return scales[chosen]


def _judged(plan: RunPlan, scale: LabelScale) -> Judged:
    """What to read of the judge about a metric."""
    everywhere = scale.kind != "metric" or scale.metric in {use.key for use in plan.metrics}
    return Judged(scale.metric, scale.kind == "flag", everywhere)
