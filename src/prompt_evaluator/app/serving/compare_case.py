"""One case of two runs, with an answer of each side by side and what differs between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.serving.compare_rows import CaseRow, row_of
from prompt_evaluator.app.serving.representative import representative
from prompt_evaluator.compare.text_diff import Part, PathChange, json_diff, shortened, word_diff
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.report import CutText
from prompt_evaluator.model.wording import short_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.serving.compared_pair import ComparedPair
    from prompt_evaluator.model.comparison import ComparedAnswer
    from prompt_evaluator.ports import ComparedRun

_MOST_ANSWER = 20_000
_MOST_REASON = 1_000
_LITTLE = 0.3
"""Below this share of equal text, marking what differs would mark nearly everything."""
_EQUAL, _UNLIKE = "The answers are equal.", "The answers have little in common, so nothing is marked."
_MARKED = "What differs is marked."


class SampleScore(NamedTuple):
    """One score of a sample, and why."""

    metric: str
    value: str
    reason: str


class ShownSample(msgspec.Struct, frozen=True, kw_only=True):
    """One sample of a run."""

    number: int | None
    """Counted from 1; None if the run has no sample of the case."""
    numbers: tuple[int, ...]
    """All samples to choose from."""
    is_typical: bool
    """Whether it was chosen because it is most like the others."""
    parts: tuple[Part | int, ...]
    """Its text in pieces; a number means that many lines that are equal in both."""
    error: str | None
    scores: tuple[SampleScore, ...]
    flags: tuple[str, ...]


class ComparedCaseView(msgspec.Struct, frozen=True, kw_only=True):
    """One case in both runs."""

    case_id: str
    input: str | None
    metrics: tuple[tuple[str, CaseRow], ...]
    baseline: ShownSample
    candidate: ShownSample
    likeness: str
    """How the answers differ, in words."""
    inline: tuple[Part | int, ...]
    paths: tuple[PathChange, ...] | None
    """The values that differ if both answers are JSON, else None."""


class Chosen(NamedTuple):
    """Which samples to show, counted from 1; None for the typical ones."""

    baseline: int | None = None
    candidate: int | None = None


def compared_case(
    pair: ComparedPair, runs: tuple[ComparedRun, ComparedRun], case_id: str, chosen: Chosen
) -> ComparedCaseView:
    """Show one case.

    Args:
        pair: The comparison.
        runs: Both runs, the baseline first.
        case_id: The case.
        chosen: Which samples to show.

    Raises:
        UnknownNameError: Neither run has this case.
    """
    answers = [run.answers(case_id) for run in runs]
    text = runs[0].input(case_id) or runs[1].input(case_id)
    metrics = tuple(_metrics(pair, runs, case_id))
    if not any(answers) and text is None and not metrics:
        raise UnknownNameError("test case", case_id, ())
    picked = [_picked(samples, wanted) for samples, wanted in zip(answers, chosen, strict=True)]
    texts = [CutText.of(each.answer if each else None, _MOST_ANSWER).shown or "" for each in picked]
    parts, likeness = _marked(texts[0], texts[1])
    is_marked = likeness != _UNLIKE
    paths = json_diff(texts[0], texts[1])
    sides = [
        _shown(each, samples, wanted, _of_one(parts, other) if is_marked else (Part("same", text),))
        for each, samples, wanted, other, text in zip(picked, answers, chosen, ("added", "removed"), texts, strict=True)
    ]
    return ComparedCaseView(
        case_id=case_id,
        input=CutText.of(text, _MOST_ANSWER).shown,
        metrics=metrics,
        baseline=sides[0],
        candidate=sides[1],
        likeness=likeness if all(picked) else "",
        inline=parts,
        paths=None if paths is None else tuple(paths),
    )


def _metrics(pair: ComparedPair, runs: tuple[ComparedRun, ComparedRun], case_id: str) -> list[tuple[str, CaseRow]]:
    found = [run.find([case_id]).get(case_id) for run in runs]
    before, after = (each.scores if each else {} for each in found)
    return [
        (name, row_of(cases, place, before.get(name), after.get(name)))
        for name, cases in pair.cases.items()
        if (place := cases.places.get(case_id)) is not None
    ]


def _picked(samples: Sequence[ComparedAnswer], wanted: int | None) -> ComparedAnswer | None:
    for each in samples:
        if each.sample + 1 == wanted:
            return each
    return samples[representative([each.answer for each in samples])] if samples else None


def _marked(before: str, after: str) -> tuple[tuple[Part | int, ...], str]:
    if before == after:
        return (Part("same", before),), _EQUAL
    parts = word_diff(before, after)
    equal = sum(len(part.text) for part in parts if part.op == "same")
    if 2 * equal < _LITTLE * (len(before) + len(after)):
        return (Part("removed", before), Part("added", after)), _UNLIKE
    return tuple(shortened(parts)), _MARKED


def _of_one(parts: tuple[Part | int, ...], other: str) -> tuple[Part | int, ...]:
    """The parts that one of the texts has."""
    return tuple(part for part in parts if isinstance(part, int) or part.op != other)


def _shown(
    sample: ComparedAnswer | None, samples: Sequence[ComparedAnswer], wanted: int | None, parts: tuple[Part | int, ...]
) -> ShownSample:
    return ShownSample(
        number=sample.sample + 1 if sample else None,
        numbers=tuple(each.sample + 1 for each in samples),
        is_typical=sample is not None and sample.sample + 1 != wanted,
        parts=parts,
        error=sample.error if sample else "This run has no sample of the case.",
        scores=tuple(
            SampleScore(name, short_number(value), CutText.of(sample.reasons.get(name), _MOST_REASON).shown or "")
            for name, value in sample.scores.items()
        )
        if sample
        else (),
        flags=sample.flags if sample else (),
    )
