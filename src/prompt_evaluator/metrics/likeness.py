"""How much is the answer like the reference?"""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import TYPE_CHECKING, ClassVar, Literal

from prompt_evaluator.metrics.rule import Rule, Trial
from prompt_evaluator.model import Failed, Score, Scored, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_PAIRS = 4_000_000_000
"""Pairs of characters that are compared; so many take 0.1 s, during which nothing else gets done."""
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Similarity(Rule, frozen=True, kw_only=True):
    """How alike answer and reference are, letter by letter, from 0 to 1."""

    name: ClassVar[str] = "similarity"
    needs: ClassVar[tuple[str, ...]] = ("reference",)

    expected: str | None = None
    """In place of the reference."""
    scorer: Literal["ratio", "token_sort", "token_set", "jaro_winkler"] = "ratio"
    """`ratio`: as they stand. `token_sort`: words in any order. `token_set`: also repeated and additional words."""
    ignore_case: bool = False
    threshold: float = 0.8

    def assess(self, trial: Trial) -> Score:
        expected = trial.case.reference if self.expected is None else self.expected
        if expected is None:
            return Skipped("the case has no reference")
        wanted, got = expected.strip(), trial.answer.text.strip()
        if self.ignore_case:
            wanted, got = wanted.casefold(), got.casefold()
        # The library says 0 of two empty texts by token_set, and rounds 1 down where texts are long.
        if wanted == got:
            return Scored(1.0)
        if len(wanted) * len(got) > _MOST_PAIRS:
            sizes = f"{len(got):,} and {len(wanted):,} characters"
            return Failed(f"{sizes} are too many to compare; token_f1 has no such limit", kind="TooLong")
        return Scored(_scorer(self.scorer)(wanted, got), f"{self.scorer} of {len(got):,} characters")


class TokenF1(Rule, frozen=True, kw_only=True):
    """F1 of the words that answer and reference share, as SQuAD counts: no case, articles or punctuation."""

    name: ClassVar[str] = "token_f1"
    needs: ClassVar[tuple[str, ...]] = ("reference",)

    expected: str | None = None
    """In place of the reference."""
    threshold: float = 0.5

    def assess(self, trial: Trial) -> Score:
        expected = trial.case.reference if self.expected is None else self.expected
        if expected is None:
            return Skipped("the case has no reference")
        wanted, got = _tokens(expected), _tokens(trial.answer.text)
        common = (Counter(wanted) & Counter(got)).total()
        if not wanted or not got:
            return Scored(float(wanted == got), "" if wanted == got else "one of the two has no words")
        reason = f"{common} words in common, of {len(got)} in the answer and {len(wanted)} in the reference"
        return Scored(2 * common / (len(wanted) + len(got)), reason)


def _scorer(name: str) -> Callable[[str, str], float]:
    # Imported late: 17 ms. Its `partial_ratio` and `WRatio` are left out: they take minutes for texts of 20,000
    # characters.
    from rapidfuzz import fuzz  # noqa: PLC0415
    from rapidfuzz.distance import JaroWinkler  # noqa: PLC0415

    if name == "jaro_winkler":
        return JaroWinkler.normalized_similarity
    percent = {"ratio": fuzz.ratio, "token_sort": fuzz.token_sort_ratio, "token_set": fuzz.token_set_ratio}[name]
    return lambda wanted, got: percent(wanted, got) / 100


def _tokens(text: str) -> list[str]:
    """In the order of the official script: lower case, punctuation, articles, white space."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()
