"""Which runs are not compared, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.compare.sameness import PARTS, changed_metrics, is_same
from prompt_evaluator.errors import IncomparableError
from prompt_evaluator.hints import some_of
from prompt_evaluator.model.wording import listed, many

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import DatasetChange, RunFacts

_HASH_DIGITS = 8
_JUDGED = ("rubric", "judge")
ALLOW = "To compare the unchanged cases that both have, add --allow-different."


def short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:_HASH_DIGITS]


def incomparable_parts(baseline: RunFacts, candidate: RunFacts) -> list[str]:
    """Which of dataset, rubric and judge are known to differ."""
    return [part for part in PARTS if is_same(part, baseline, candidate) is False]


def refuse_different(baseline: RunFacts, candidate: RunFacts, advice: str = ALLOW) -> None:
    """Raise `IncomparableError` if datasets, rubrics, judges or definitions of metrics are known to differ."""
    parts = incomparable_parts(baseline, candidate)
    reasons = [f"different {part}s ({_named(part, baseline)} and {_named(part, candidate)})" for part in parts]
    if metrics := changed_metrics(baseline, candidate):
        reasons.append(f"metrics that are set up differently ({some_of(metrics)})")
    if not reasons:
        return
    raise IncomparableError(
        f"{baseline.name} and {candidate.name} cannot be compared as they are: they have {listed(reasons)}. {advice}"
    )


def refuse_nothing_common(baseline: RunFacts, candidate: RunFacts, change: DatasetChange) -> None:
    """Raise `IncomparableError` because no case is common to both runs."""
    why = "they have no test case in common"
    if change.changed:
        why = f"{many(change.changed, 'test case')} of the same name changed in between, and no other is in both"
    elif not change.added and not change.removed:
        why = "neither has any test case"
    raise IncomparableError(
        f"{baseline.name} and {candidate.name} cannot be compared: {why}. Compare two runs of the same dataset."
    )


def allowed_difference(baseline: RunFacts, candidate: RunFacts, change: DatasetChange, common: int) -> list[str]:
    """What to say about a comparison that would be refused without being allowed."""
    parts = incomparable_parts(baseline, candidate)
    if not parts:
        return []
    reasons = [f"the {part}s differ ({_named(part, baseline)} and {_named(part, candidate)})" for part in parts]
    out = change.added + change.removed + change.changed
    left = f"{many(out, 'other')} left out" if out else "none left out"
    sentences = [f"{_capital(listed(reasons))}: {many(common, 'unchanged case')} compared, {left}."]
    if judged := [part for part in _JUDGED if part in parts]:
        sentences.append(f"Scores by different {listed(f'{part}s' for part in judged)} are not the same measure.")
    return sentences


def _named(part: str, facts: RunFacts) -> str:
    names = {"dataset": facts.dataset_name, "rubric": facts.rubric_name, "judge": facts.judge_model}
    hashes = {"dataset": facts.dataset_hash, "rubric": facts.rubric_hash, "judge": facts.judge_hash}
    return " ".join(filter(None, (names[part], short(hashes[part] or ""))))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
