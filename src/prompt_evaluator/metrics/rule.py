"""What metrics that need no model have in common: options, what a case must have for them, and wording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec

from prompt_evaluator.metrics.options import Share
from prompt_evaluator.model import Answer, Score, Scored, Skipped, TestCase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.ports import JudgeClient

_MOST_LISTED = 10
_SHOWN = 60


class Trial(NamedTuple):
    """What is assessed: a case and the answer that it got."""

    case: TestCase
    answer: Answer


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A metric that follows rules. Its fields are its options; the first line of its docstring is its help."""

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    """What it needs from a case, or of its options when the case does not have it."""

    threshold: Share = 1.0
    """An answer passes at or above this score."""

    @property
    def needs_judge(self) -> bool:
        return False

    def definition(self) -> dict[str, Any]:
        """Its name and all options that decide a score, as they would be written in a file."""
        options = msgspec.json.decode(msgspec.json.encode(self))
        del options["threshold"]
        return {"metric": self.name, **options}

    async def prepared(self, judge: JudgeClient | None) -> Rule:  # noqa: ARG002 - the port's signature
        return self

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the port's signature
        """Most rules need something: an option, or a reference."""
        return None

    async def score(self, case: TestCase, answer: Answer, judge: JudgeClient | None) -> Score:
        if missing := self.missing(case):
            return Skipped(missing)
        return await self.apply(Trial(case, answer), judge)

    async def apply(self, trial: Trial, judge: JudgeClient | None) -> Score:  # noqa: ARG002 - a few rules ask a judge
        """The score of a case that has all that is needed."""
        return self.assess(trial)

    def assess(self, trial: Trial) -> Score:
        """What most rules consist of."""
        raise NotImplementedError


class Compared(Rule, frozen=True, kw_only=True):
    """A rule that holds the answer against a reference; of several references the one that fits best counts."""

    needs: ClassVar[tuple[str, ...]] = ("reference",)

    def missing(self, case: TestCase) -> str | None:
        return None if self.wanted(case) else "the case has no reference"

    def wanted(self, case: TestCase) -> tuple[str, ...]:
        """The texts that the answer may be compared with."""
        expected: str | None = getattr(self, "expected", None)
        return case.all_references if expected is None else (expected,)

    def assess(self, trial: Trial) -> Score:
        return best([self.compare(wanted, trial.answer.text) for wanted in self.wanted(trial.case)])

    def compare(self, wanted: str, got: str) -> Score:
        """The score by one reference."""
        raise NotImplementedError


def best(scores: Sequence[Score]) -> Score:
    """Of several references one is enough: the highest score counts, and a failure only where nothing was scored."""
    scored = [score for score in scores if isinstance(score, Scored)]
    return max(scored, key=lambda score: score.value) if scored else scores[0]


def yes_or_no(*, holds: bool, otherwise: str) -> Scored:
    """1 or 0, with a reason for 0."""
    return Scored(1.0) if holds else Scored(0.0, otherwise)


def listed(texts: Iterable[str | tuple[str, ...]]) -> str:
    """`'a', 'b' or 'c', 'd' and 3 more`: several texts in one are alternatives."""
    shown = [
        repr(short(text)) if isinstance(text, str) else " or ".join(repr(short(each)) for each in text)
        for text in texts
    ]
    more = f" and {len(shown) - _MOST_LISTED} more" if len(shown) > _MOST_LISTED else ""
    return ", ".join(shown[:_MOST_LISTED]) + more


def short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def shown(value: Any) -> str:
    """A value for a reader: all of it when it is small."""
    try:
        return short(repr(value))
    except RecursionError:
        return "a deeply nested value"
