"""Counts samples without a score for each metric, and explains why a metric or flag has no value."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.model.result import SampleResult

_LONGEST = 160
"""Most characters quoted of a reason."""
_Key = tuple[str | None, str]
"""A metric (None for the answer itself) and the status of its score."""


class _Quote(NamedTuple):
    position: int
    """Position of the case: the reason of the first one is shown, in whatever order cases are added."""
    text: str


class Unscored:
    """Counts samples one at a time, in any order."""

    def __init__(self, rubric: str) -> None:
        """Start empty; `rubric` is the name under which the rubric's own failures are recorded."""
        self._rubric = rubric
        self._counts: Counter[_Key] = Counter()
        self._quotes: dict[_Key, _Quote] = {}
        self._tried = 0

    def add(self, position: int, sample: SampleResult) -> None:
        """Count a sample of the case at this position."""
        self._tried += sample.status != "pending"
        for name, score in sample.scores.items():
            if score.score is None:
                self._add((name, score.status), position, score.reason)
        if (error := sample.error) is not None and sample.error_metric in (None, self._rubric):
            message = error.message.removeprefix(f"{self._rubric}: ")
            self._add((sample.error_metric, "failed"), position, message)

    def _add(self, key: _Key, position: int, text: str) -> None:
        self._counts[key] += 1
        quote = _Quote(position, text)
        self._quotes[key] = min(self._quotes.get(key, quote), quote, key=itemgetter(0))

    @property
    def skipped(self) -> dict[str, int]:
        """Samples that each metric skipped because the case lacks what it needs."""
        return {name: count for (name, how), count in self._counts.items() if how == "skipped" and name is not None}

    @property
    def metrics(self) -> list[str]:
        """Metrics outside the rubric that lack a score somewhere, in file order."""
        found = {name: quote.position for (name, _), quote in self._quotes.items() if name and name != self._rubric}
        return sorted(found, key=lambda name: (found[name], name))

    def reasons(self, metrics: Iterable[str], judged: Iterable[str]) -> dict[str, str]:
        """Why each of these has no value, as a clause.

        Args:
            metrics: Metrics outside the rubric.
            judged: Criteria and flags of the rubric, which fail together.
        """
        by_name = {name: name for name in metrics} | dict.fromkeys(judged, self._rubric)
        return {name: self._reason(source) for name, source in by_name.items()}

    def _reason(self, source: str) -> str:
        failed = "judging failed for {}" if source == self._rubric else "it failed for {}"
        parts = [
            self._part((source, "skipped"), "it was skipped for {}"),
            self._part((source, "failed"), failed),
            self._part((None, "failed"), "there is no answer for {}"),
        ]
        return ", and ".join(filter(None, parts)) or "no sample was judged"

    def _part(self, key: _Key, words: str) -> str:
        if not (count := self._counts[key]):
            return ""
        samples = f"all {many(count, 'sample')}" if 1 < count == self._tried else many(count, "sample")
        quote = _shortened(self._quotes[key].text)
        return words.format(samples) + (f" ({quote})" if quote else "")


def _shortened(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
