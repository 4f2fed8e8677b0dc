"""Flipped cases with both answers: a typical sample of each run, and which words differ."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from prompt_evaluator.model.comparison_findings import ScoresFinding, ShownAnswer, ShownCase
from prompt_evaluator.model.wording import alike
from prompt_evaluator.reports.comparison_verdicts import MARKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model.comparison import ComparedAnswer
    from prompt_evaluator.model.comparison_findings import FlippedCase
    from prompt_evaluator.reports.comparison_verdicts import Letters

_MOST_WORDS = 2_000
"""Beyond this, looking for the words that differ takes too long."""
_ALIKE = 0.5
"""Below this similarity, nearly every word would be marked."""
_SHOWN_SCORES = 20
_WORDS = {"worse": "worse", "better": "better", "same": "within chance", "too_few": "too few samples to tell"}
_WORD = re.compile(r"\S+\s*|\s+")
"""With the space after it, so that neighbours are marked together."""
_ONLY_BASELINE, _ONLY_CANDIDATE = ("[-", "-]"), ("{+", "+}")


def shown_case(
    case_id: str,
    flips: Sequence[FlippedCase],
    answers: tuple[Sequence[ComparedAnswer], Sequence[ComparedAnswer]],
    letters: Letters,
    text: str | None = None,
) -> ShownCase:
    """One case with an answer of each run.

    Args:
        case_id: The case.
        flips: The metrics on which it flipped, or was compared.
        answers: All its samples, in the baseline and in the candidate.
        letters: What the runs are called.
        text: The case's input, if known.
    """
    by_metric = {flip.metric: flip for flip in flips}
    typical = [_typical(side, list(by_metric)) for side in answers]
    likeness, texts = _compared([each.answer if each else None for each in typical], letters)
    return ShownCase(
        test_case_id=case_id,
        input=text,
        scores=tuple(_scores(metric, answers, by_metric.get(metric)) for metric in _metrics(by_metric, answers)),
        likeness=likeness,
        answers=tuple(
            _shown(sample, marked, letter, len(side))
            for sample, marked, letter, side in zip(typical, texts, letters, answers, strict=True)
            if sample is not None
        ),
    )


def _typical(samples: Sequence[ComparedAnswer], metrics: list[str]) -> ComparedAnswer | None:
    """The sample whose scores on these metrics are closest to their means; one with an answer if possible."""
    means = {
        metric: _mean(sample.scores[metric] for sample in samples if metric in sample.scores) for metric in metrics
    }

    def distance(sample: ComparedAnswer) -> tuple[bool, int, float]:
        known = [metric for metric in metrics if metric in sample.scores]
        return (
            sample.answer is None,
            len(metrics) - len(known),
            sum(abs(sample.scores[metric] - means[metric]) for metric in known),
        )

    return min(samples, key=distance, default=None)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def _metrics(flipped: Iterable[str], answers: Sequence[Sequence[ComparedAnswer]]) -> list[str]:
    return list(dict.fromkeys([*flipped, *(name for side in answers for each in side for name in each.scores)]))


def _scores(metric: str, answers: Sequence[Sequence[ComparedAnswer]], flip: FlippedCase | None) -> ScoresFinding:
    sides = [[each.scores[metric] for each in side if metric in each.scores] for side in answers]
    word = f": {_WORDS[flip.class_]}" if flip else ""
    mark = MARKS[flip.class_] if flip and flip.class_ in ("worse", "better") else None
    if flip and not all(sides):  # a file that has only means
        return ScoresFinding(metric=metric, text=f"{flip.text}{word}", mark=mark)
    return ScoresFinding(metric=metric, text=" → ".join(map(_strip, sides)) + word, mark=mark)


def _strip(values: list[float]) -> str:
    more = f" and {len(values) - _SHOWN_SCORES:,} more" if len(values) > _SHOWN_SCORES else ""
    return ", ".join(alike(values[:_SHOWN_SCORES])) + more if values else "no score"


def _shown(sample: ComparedAnswer, answer: str, letter: str, samples: int) -> ShownAnswer:
    scores = dict(zip(sample.scores, alike(list(sample.scores.values())), strict=True))
    reasons = {metric: f": {reason}" for metric, reason in sample.reasons.items() if reason}
    return ShownAnswer(
        title=f"{letter}, sample {sample.sample + 1:,} of {samples:,}",
        answer=answer,
        error=sample.error,
        scores=tuple(f"{metric} {value}{reasons.get(metric, '')}" for metric, value in scores.items()),
        flags=sample.flags,
    )


def _compared(pair: list[str | None], letters: Letters) -> tuple[str, tuple[str, str]]:
    """Say how two answers differ, and mark the words that differ if they have much in common."""
    before, after = (text or "" for text in pair)
    if pair[0] is None or pair[1] is None:
        return "", (before, after)
    if before == after:
        return "the answers are equal", (before, after)
    words = [_WORD.findall(text) for text in (before, after)]
    if max(map(len, words)) > _MOST_WORDS:
        return "the answers are too long to mark what differs", (before, after)
    bare = [[word.strip() for word in side] for side in words]
    matcher = SequenceMatcher(None, bare[0], bare[1], autojunk=False)
    if matcher.quick_ratio() < _ALIKE or matcher.ratio() < _ALIKE:
        return "the answers have little in common", (before, after)
    codes = matcher.get_opcodes()
    marked = (
        "".join(_marked(words[0][code[1] : code[2]], code[0] != "equal", _ONLY_BASELINE) for code in codes),
        "".join(_marked(words[1][code[3] : code[4]], code[0] != "equal", _ONLY_CANDIDATE) for code in codes),
    )
    (before_1, after_1), (before_2, after_2) = _ONLY_BASELINE, _ONLY_CANDIDATE
    signs = f"{before_1}in {letters.baseline}{after_1} and {before_2}in {letters.candidate}{after_2}"
    return f"words that differ are marked {signs}", marked


def _marked(words: list[str], differs: bool, signs: tuple[str, str]) -> str:  # noqa: FBT001 - private
    """Mark the words, but not the space around them."""
    text = "".join(words)
    stripped = text.strip()
    if not differs or not stripped:
        return text
    start = len(text) - len(text.lstrip())
    return f"{text[:start]}{signs[0]}{stripped}{signs[1]}{text[start + len(stripped) :]}"
