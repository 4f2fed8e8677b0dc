"""Base classes of metrics that work by rules, and the wording of their reasons."""

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
    """A case and its answer."""

    case: TestCase
    answer: Answer


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A metric that works by rules. Its fields are its options; its docstring's first line is its help text."""

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()
    """What it needs from the case, or from its options if the case does not have it."""

    threshold: Share = 1.0
    """An answer passes at or above this score."""

    @property
    def needs_judge(self) -> bool:
        return False

    def definition(self) -> dict[str, Any]:
        """The name and all options that affect the score, as they would be written in a file."""
        options = msgspec.json.decode(msgspec.json.encode(self))
        del options["threshold"]
        return {"metric": self.name, **options}

    async def prepared(self, judge: JudgeClient | None) -> Rule:  # noqa: ARG002 - the port's signature
        return self

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the port's signature
        """Nothing is missing; rules that need an option or a reference override this."""
        return None

    async def score(self, case: TestCase, answer: Answer, judge: JudgeClient | None) -> Score:
        if missing := self.missing(case):
            return Skipped(missing)
        return await self.apply(Trial(case, answer), judge)

    async def apply(self, trial: Trial, judge: JudgeClient | None) -> Score:  # noqa: ARG002 - a few rules ask a judge
        """Score a case that has everything the rule needs."""
        return self.assess(trial)

    def assess(self, trial: Trial) -> Score:
        """Score a case; overridden by rules that need neither a judge nor `await`."""
        raise NotImplementedError


class Compared(Rule, frozen=True, kw_only=True):
    """A rule that compares the answer with a reference; the best match counts if there are several."""

    needs: ClassVar[tuple[str, ...]] = ("reference",)

    def missing(self, case: TestCase) -> str | None:
        return None if self.wanted(case) else "the case has no reference"

    def wanted(self, case: TestCase) -> tuple[str, ...]:
        """The texts to compare the answer with."""
        expected: str | None = getattr(self, "expected", None)
        return case.all_references if expected is None else (expected,)

    def assess(self, trial: Trial) -> Score:
        return best([self.compare(wanted, trial.answer.text) for wanted in self.wanted(trial.case)])

    def compare(self, wanted: str, got: str) -> Score:
        """Score the answer against one reference."""
        raise NotImplementedError


def best(scores: Sequence[Score]) -> Score:
    """The highest score, since matching one of several references is enough; a failure only if nothing was scored."""
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
    """A value as shown in a reason, shortened if long."""
    try:
        return short(repr(value))
    except RecursionError:
        return "a deeply nested value"
