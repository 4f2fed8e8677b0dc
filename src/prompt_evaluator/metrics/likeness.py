"""Metrics of how similar the answer is to the reference."""

from __future__ import annotations

import re
import string
from collections import Counter
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from prompt_evaluator.metrics.options import Share  # noqa: TC001 - read when a metric is made
from prompt_evaluator.metrics.rule import Compared
from prompt_evaluator.model import Failed, Score, Scored
from prompt_evaluator.model.bounds import LENGTH

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_PAIRS = 4_000_000_000
"""Pairs of characters to compare at most; this many take 0.1 s and block the event loop."""
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


class Similarity(Compared, frozen=True, kw_only=True):
    """How similar the answer and the reference are, character by character, from 0 to 1."""

    name: ClassVar[str] = "similarity"

    expected: str | None = None
    """Used instead of the reference."""
    scorer: Literal["ratio", "token_sort", "token_set", "jaro_winkler"] = "ratio"
    """`ratio`: the texts as they are. `token_sort`: ignores word order. `token_set`: also ignores repeated and
    additional words. `jaro_winkler`: favours texts that begin alike."""
    ignore_case: bool = False
    threshold: Share = 0.8

    def compare(self, wanted: str, got: str) -> Score:
        wanted, got = _bare(wanted, self.ignore_case), _bare(got, self.ignore_case)
        # The library gives 0 for two empty texts with token_set, and less than 1 for long equal texts.
        if wanted == got:
            return Scored(1.0)
        if too_long := _too_long(wanted, got):
            return too_long
        return Scored(_scorer(self.scorer)(wanted, got), f"{self.scorer} of {len(got):,} characters")


class Levenshtein(Compared, frozen=True, kw_only=True):
    """Edit distance between the answer and the reference, as 1 - distance / longer length.

    With `max_distance`, 1 or 0: whether at most that many insertions, deletions and replacements are needed.
    """

    name: ClassVar[str] = "levenshtein"

    expected: str | None = None
    """Used instead of the reference."""
    max_distance: Annotated[int, LENGTH.meta] | None = None
    ignore_case: bool = False
    threshold: Share = 0.8

    def compare(self, wanted: str, got: str) -> Score:
        from rapidfuzz.distance import Levenshtein as Distance  # noqa: PLC0415 - takes 17 ms to import

        wanted, got = _bare(wanted, self.ignore_case), _bare(got, self.ignore_case)
        if wanted != got and (too_long := _too_long(wanted, got)):
            return too_long
        distance, longest = Distance.distance(wanted, got), max(len(wanted), len(got))
        details = {"distance": distance}
        if self.max_distance is None:
            return Scored(1 - distance / longest if longest else 1.0, f"a distance of {distance:,}", details)
        if distance <= self.max_distance:
            return Scored(1.0, "", details)
        return Scored(0.0, f"a distance of {distance:,}, expected at most {self.max_distance:,}", details)


class TokenF1(Compared, frozen=True, kw_only=True):
    """F1 of the words that the answer and the reference share, ignoring case, articles and punctuation as in SQuAD."""

    name: ClassVar[str] = "token_f1"

    expected: str | None = None
    """Used instead of the reference."""
    threshold: Share = 0.5

    def compare(self, wanted: str, got: str) -> Score:
        expected, answered = _tokens(wanted), _tokens(got)
        common = (Counter(expected) & Counter(answered)).total()
        if not expected or not answered:
            return Scored(float(expected == answered), "" if expected == answered else "one of the two has no words")
        reason = f"{common} words in common, of {len(answered)} in the answer and {len(expected)} in the reference"
        return Scored(2 * common / (len(expected) + len(answered)), reason)


def _bare(text: str, ignore_case: bool) -> str:  # noqa: FBT001 - private, and the only flag
    return text.strip().casefold() if ignore_case else text.strip()


def _too_long(wanted: str, got: str) -> Failed | None:
    if len(wanted) * len(got) <= _MOST_PAIRS:
        return None
    sizes = f"{len(got):,} and {len(wanted):,} characters"
    return Failed(f"{sizes} are too many to compare; token_f1 has no such limit", kind="TooLong")


def _scorer(name: str) -> Callable[[str, str], float]:
    # Imported late: takes 17 ms. `partial_ratio` and `WRatio` are left out because they take minutes for texts of
    # 20,000 characters.
    from rapidfuzz import fuzz  # noqa: PLC0415
    from rapidfuzz.distance import JaroWinkler  # noqa: PLC0415

    if name == "jaro_winkler":
        return JaroWinkler.normalized_similarity
    percent = {"ratio": fuzz.ratio, "token_sort": fuzz.token_sort_ratio, "token_set": fuzz.token_set_ratio}[name]
    return lambda wanted, got: percent(wanted, got) / 100


def _tokens(text: str) -> list[str]:
    """Normalize in the order of the official script: case, punctuation, articles, white space."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()
