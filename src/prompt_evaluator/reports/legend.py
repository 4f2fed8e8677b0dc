"""What marks and words of a summary mean: one table for help texts and pages."""

from __future__ import annotations

from typing import NamedTuple

from prompt_evaluator.model.wording import percent
from prompt_evaluator.reports.levels import ENOUGH_PASS, POOR


class Entry(NamedTuple):
    """One thing that is shown, and what it means."""

    shown: str
    meaning: str
    remark: str = ""
    """What else a page says about it."""


class Part(NamedTuple):
    """Entries that are read together."""

    title: str
    entries: tuple[Entry, ...]
    unit: str = ""
    """What all meanings are about; then they are limits, and short."""


def _on_the_guides_scale(share: float) -> str:
    return f"{1 + 4 * share:g} on a scale from 1 to 5"


LEGEND = (
    Part(
        "Marks",
        (
            Entry("✓", "nothing stands out; a flag: never raised"),
            Entry(
                "⚠",
                "look closer: high variability or a wide range in cases, flaky cases, fewer than "
                f"{percent(ENOUGH_PASS)} of samples pass, close to its bar, or some scores are missing; "
                "a flag: occasional or frequent",
            ),
            Entry("✗", "below its bar, or poor; a flag: raised in most samples"),
            Entry("no mark", "a flag that is rare, or was not judged"),
        ),
    ),
    Part(
        "Words",
        (
            Entry("poor", f"a mean below the middle of its scale ({_on_the_guides_scale(POOR)})"),
            Entry("flaky", "a case that passes in some of its samples and not in others"),
            Entry("wide range", "scores of a case, or means of cases, three quarters of the scale apart or more"),
            Entry("throttled", "of the time that calls took, the share for which a rate limit or a 429 held them back"),
            Entry("SYNTHETIC", "the mock had a part in it: the numbers say nothing about a model"),
        ),
    ),
    Part(
        "Spread",
        (
            Entry("low", "below 0.5", "consistent"),
            Entry("moderate", "0.5 to 1.0", "usually acceptable"),
            Entry("high", "above 1.0, or above 20 % of the mean", "unpredictable; look into it"),
        ),
        unit="standard deviation of a case's scores, on a scale from 1 to 5",
    ),
    Part(
        "Flags",
        (
            Entry("never", "0"),
            Entry("rare", "below 5 %", "look at the samples"),
            Entry("occasional", "5 % to below 20 %", "review them; may be acceptable"),
            Entry("frequent", "20 % to 50 %", "likely systemic"),
            Entry("most samples", "above 50 %", "a serious problem of the prompt; `majority` in files"),
        ),
        unit="share of samples",
    ),
    Part(
        "Confidence",
        (
            Entry("none", "1", "nothing about spread"),
            Entry("low", "2 to 4", "good for a smoke test"),
            Entry("moderate", "5 to 9", "good for an evaluation"),
            Entry("high", "10 to 49", "good for a critical prompt"),
            Entry("very high", "50 and more", "good for validating for production"),
        ),
        unit="samples per case",
    ),
)
