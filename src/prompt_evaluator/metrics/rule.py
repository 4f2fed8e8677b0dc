"""What metrics that need no model have in common: options, a case's own options over them, and wording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.options import for_case
from prompt_evaluator.model import Answer, Failed, Score, Scored, Skipped, TestCase

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
    implied: ClassVar[dict[str, dict[str, Any]]] = {}
    """Other names under which a case may ask for it, with the options that each of them means."""

    threshold: float = 1.0
    """The score from which on an answer passes."""

    @property
    def needs_judge(self) -> bool:
        return False

    def definition(self) -> dict[str, Any]:
        """Its name and all options, as they would stand in a file."""
        return {"metric": self.name, **msgspec.json.decode(msgspec.json.encode(self))}

    async def prepared(self, judge: JudgeClient | None) -> Rule:  # noqa: ARG002 - the port's signature
        return self

    async def score(self, case: TestCase, answer: Answer, judge: JudgeClient | None) -> Score:
        """Apply the rule with the options of the case; when it asks more than once, the worst result counts."""
        try:
            asked = for_case(self, case)
        except ConfigurationError as error:
            return Failed(str(error), kind="ConfigurationError")
        trial = Trial(case, answer)
        if len(asked) == 1:
            return await asked[0].apply(trial, judge)
        return worst([await rule.apply(trial, judge) for rule in asked])

    async def apply(self, trial: Trial, judge: JudgeClient | None) -> Score:  # noqa: ARG002 - a few rules ask a judge
        """The score with exactly these options."""
        return self.assess(trial)

    def assess(self, trial: Trial) -> Score:
        """What most rules consist of."""
        raise NotImplementedError


def worst(scores: Sequence[Score]) -> Score:
    """All of several requests have to hold: a failure first, then the lowest score; skips only among themselves."""
    if failed := next((score for score in scores if isinstance(score, Failed)), None):
        return failed
    scored = [score for score in scores if isinstance(score, Scored)]
    if not scored:
        return next((score for score in scores if isinstance(score, Skipped)), Skipped("the case asks for nothing"))
    lowest = min(scored, key=lambda score: score.value)
    reasons = dict.fromkeys(score.reason for score in scored if score.reason and score.value < 1)
    return Scored(lowest.value, "; ".join(reasons) or lowest.reason, {**lowest.details, "checks": len(scored)})


def yes_or_no(*, holds: bool, otherwise: str) -> Scored:
    """1 or 0, with a reason for 0."""
    return Scored(1.0) if holds else Scored(0.0, otherwise)


def listed(texts: Iterable[str]) -> str:
    """`'a', 'b' and 3 more`."""
    shown = [repr(short(text)) for text in texts]
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
