"""The legend of marks and words in summaries, for help texts and pages."""

from __future__ import annotations

from typing import NamedTuple

from prompt_evaluator.model.wording import percent
from prompt_evaluator.reports.levels import ENOUGH_PASS, POOR


class Entry(NamedTuple):
    """A mark or word, and what it means."""

    shown: str
    meaning: str
    remark: str = ""
    """Shown on pages only."""


class Part(NamedTuple):
    """Entries that belong together."""

    title: str
    entries: tuple[Entry, ...]
    unit: str = ""
    """What the meanings measure, if they are limits rather than sentences."""


def _on_guide_scale(share: float) -> str:
    return f"{1 + 4 * share:g} on a scale from 1 to 5"


LEGEND = (
    Part(
        "Marks",
        (
            Entry("✓", "nothing stands out; for a flag: never raised"),
            Entry(
                "⚠",
                "look closer: high variability or a wide range in some cases, flaky cases, fewer than "
                f"{percent(ENOUGH_PASS)} of samples pass, close to its bar, or some scores are missing; "
                "for a flag: occasional or frequent",
            ),
            Entry("✗", "below its bar, or poor; for a flag: raised in most samples, or above its bar"),
            Entry("no mark", "a flag that is rare or was not judged"),
        ),
    ),
    Part(
        "Words",
        (
            Entry("poor", f"a mean below the middle of its scale ({_on_guide_scale(POOR)})"),
            Entry("flaky", "a case in which some samples pass and others do not"),
            Entry("wide range", "scores within a case, or means of cases, that span at least 75 % of the scale"),
            Entry("throttled", "share of call time spent waiting for a rate limit or after a 429"),
            Entry("SYNTHETIC", "the mock took part: the numbers say nothing about a real model"),
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
            Entry("most samples", "above 50 %", "a serious problem with the prompt; `majority` in files"),
        ),
        unit="share of samples",
    ),
    Part(
        "Confidence",
        (
            Entry("none", "1", "spread cannot be measured"),
            Entry("low", "2 to 4", "good for a smoke test"),
            Entry("moderate", "5 to 9", "good for an evaluation"),
            Entry("high", "10 to 49", "good for a critical prompt"),
            Entry("very high", "50 or more", "good for production validation"),
        ),
        unit="samples per case",
    ),
)
COMPARISON_LEGEND = (
    Part(
        "Marks",
        (
            Entry("✓", "better"),
            Entry("⚠", "cannot tell yet"),
            Entry("✗", "worse, or not measured in one of the runs"),
            Entry("no mark", "no difference seen"),
        ),
    ),
    Part(
        "Words",
        (
            Entry("better, worse", "unlikely to be chance (p < 0.05), and beyond the threshold"),
            Entry("no difference", "the 95 % interval of the difference lies within the threshold on both sides"),
            Entry("cannot tell", "anything else; more cases or samples would tell"),
            Entry("A → B", "means over the cases that both runs have"),
            Entry("p", "how often chance alone makes a difference as large as this, if there is none"),
            Entry("effect", "the difference in standard deviations of the cases' differences (Cohen's d)"),
            Entry("won, lost", "cases in which B's mean is higher, and lower; for a flag: raised less, and more often"),
            Entry("too few", "a case with fewer than three samples in one of the runs"),
        ),
    ),
)
