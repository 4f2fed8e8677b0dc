"""What pages show about labels."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.labelling.agreement import agrees
from prompt_evaluator.app.labelling.scales import label_scales, metrics_of_cases
from prompt_evaluator.app.run_cases import show_case
from prompt_evaluator.app.serving.answer_views import AnswerView, answer_view
from prompt_evaluator.app.serving.case_answers import AnswerGroup, answer_groups
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model import Label, TestCase, current_labels
from prompt_evaluator.model.labelling import Drawn, LabelScale, Opinion

if TYPE_CHECKING:
    from prompt_evaluator.app.labelling.session import LabelSession
    from prompt_evaluator.config.loading import Settings

_SHOWN, _FOLDED = 6_000, 60_000
"""Characters of an answer that are shown at once, and that can be unfolded."""


class Unlabelled(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to be labelled, without anything that a judge said about it."""

    drawn: Drawn
    case: TestCase
    group: AnswerGroup
    """The sample alone."""
    view: AnswerView
    answer_hash: str | None
    judge_seen: bool
    """Whether the judge's score was shown after an earlier label."""


class Labelled(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that the reviewer has labelled, and what the judge said about it."""

    label: Label
    opinion: Opinion | None
    agrees: bool | None
    """None without an opinion."""


def unlabelled(settings: Settings, session: LabelSession, drawn: Drawn) -> Unlabelled:
    """What to show of an answer before it is labelled."""
    found = show_case(settings, session.run_id, drawn.answer.case_id)
    (sample,) = (each for each in found.view.samples or () if each.sample == drawn.answer.sample)
    (group,) = answer_groups(found.record.plan, found.case, [sample])
    return Unlabelled(
        drawn=drawn,
        case=found.case,
        group=group,
        view=answer_view(sample.answer or "", "text", None, shown=_SHOWN, folded=_FOLDED),
        answer_hash=sample.answer_hash,
        judge_seen=session.has_seen_judge(drawn),
    )


def labelled(session: LabelSession, case_id: str, sample: int) -> Labelled | None:
    """What to show of an answer after it is labelled; None before, when the judge's opinion is hidden."""
    for drawn in session.drawn:
        if drawn.answer[:2] == (case_id, sample) and (label := session.label_of(drawn)):
            opinion = session.opinion(drawn)
            same = agrees(label.value, opinion, session.scale) if opinion else None
            return Labelled(label=label, opinion=opinion, agrees=same)
    return None


def case_labels(settings: Settings, run_id: str, case_id: str) -> dict[int, list[Label]]:
    """The labels that count of a case, by sample, from 0."""
    with closing(open_store(settings)) as store:
        found: dict[int, list[Label]] = {}
        for label in current_labels(store.labels(run_id, case_id=case_id)).values():
            found.setdefault(label.sample, []).append(label)
    return found


def run_scales(settings: Settings, run_id: str) -> tuple[LabelScale, ...]:
    """How to label everything that a run measures."""
    with closing(open_store(settings)) as store:
        return tuple(label_scales(store.run(run_id).plan, metrics_of_cases(store, run_id)).values())
