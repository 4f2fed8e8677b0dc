"""How far people and the judge agree on the answers that people were asked to label."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.labelling import Agreement
from prompt_evaluator.model.wording import many, percent
from prompt_evaluator.stats.intervals import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from prompt_evaluator.model import Label
    from prompt_evaluator.model.label import AnswerKey
    from prompt_evaluator.model.labelling import Draw, LabelScale, Opinion

_UNEQUAL = "Some answers were more likely to be drawn than others, so the whole run may differ."
_YES_OR_NO = 2
"""Keys of a scale on which there is nothing but the two sides."""


def agreement(labels: Iterable[Label], opinions: Mapping[AnswerKey, Opinion], scale: LabelScale) -> Agreement:
    """Count the labels that agree with the judge. The interval takes labels for independent of each other."""
    pairs = [(label, found) for label in labels if (found := opinions.get(label.answer))]
    same = sum(agrees(label.value, opinion, scale) for label, opinion in pairs)
    values = [key.value for key in scale.keys]
    step = min((abs(a - b) for a in values for b in values if a != b), default=1.0)
    exact = sum(opinion.value is not None and abs(label.value - opinion.value) < step / 2 for label, opinion in pairs)
    interval = clopper_pearson(same, len(pairs)) if pairs else None
    return Agreement(
        labels=len(pairs), same=same, exact=exact, interval=(interval.low, interval.high) if interval else None
    )


def agrees(value: float, opinion: Opinion, scale: LabelScale) -> bool:
    """Whether a person and the judge are on the same side of the pass mark; for a flag, whether they say the same."""
    passes = value < scale.pass_at if scale.kind == "flag" else value >= scale.pass_at
    return passes == bool(opinion.passed)


def agreement_text(found: Agreement, scale: LabelScale, draw: Draw) -> str:
    """What to say about the agreement so far, with its interval."""
    if not found.labels or found.interval is None:
        return "No label of a sample with a score of the judge yet."
    what = "give the same answer" if scale.kind == "flag" else "are on the same side of the pass mark"
    low, high = (percent(end) for end in found.interval)
    share = f"{percent(found.same / found.labels)}, 95 % interval {low} to {high}"
    exact = f", in {found.exact:,} with the same score" if len(scale.keys) > _YES_OR_NO else ""
    text = f"In {found.same:,} of {many(found.labels, 'label')}, people and the judge {what} ({share}){exact}."
    return text if draw == "random" else f"{text} {_UNEQUAL}"
