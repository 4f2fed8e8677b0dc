"""Whether the answer contains all required phrases and no forbidden ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.options import with_options
from prompt_evaluator.metrics.rule import Rule, Trial, listed
from prompt_evaluator.metrics.text import (
    Contains,
    Excludes,
    IContains,
    Includes,
    NotContains,
    Phrase,
    Phrases,
    check_phrases,
)
from prompt_evaluator.model import Failed, Score, Scored, TestCase

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from prompt_evaluator.model import MetricUse

P = TypeVar("P", bound=Phrases)

_REQUIRED = {kind.name: kind for kind in (Includes, Contains, IContains)}
_FORBIDDEN = {kind.name: kind for kind in (Excludes, NotContains)}


class Signals(Rule, frozen=True, kw_only=True):
    """The answer contains everything the case `includes` and nothing it `excludes`: 1 or 0."""

    name: ClassVar[str] = "signals"
    needs: ClassVar[tuple[str, ...]] = ("includes or excludes",)

    includes: tuple[Phrase, ...] = ()
    """For cases that have no `includes` of their own. A list among them gives alternatives."""
    excludes: tuple[str, ...] = ()
    case_sensitive: bool = False
    whole_words: bool = False

    def __post_init__(self) -> None:
        check_phrases((*self.includes, *self.excludes))

    def missing(self, case: TestCase) -> str | None:
        asked = self.includes or self.excludes or _uses(_REQUIRED | _FORBIDDEN, case)
        return None if asked else "the case has neither includes nor excludes"

    def assess(self, trial: Trial) -> Score:
        try:
            required = self._rules(_REQUIRED, trial.case) or [self._own(Includes, self.includes)]
            forbidden = self._rules(_FORBIDDEN, trial.case) or [self._own(Excludes, self.excludes)]
        except ConfigurationError as error:
            return Failed(str(error), kind="ConfigurationError")
        text = trial.answer.text
        missing = [phrase for rule in required for phrase in _missing(rule, text)]
        found = [phrase for rule in forbidden for phrase in rule.present(text)]
        parts = (f"missing: {listed(missing)}" if missing else "", f"forbidden: {listed(found)}" if found else "")
        details = {"missing": missing, "forbidden": found}
        return Scored(0.0 if missing or found else 1.0, "; ".join(filter(None, parts)), details)

    def _rules(self, kinds: dict[str, type[P]], case: TestCase) -> list[P]:
        """The case's own checks; their options take precedence over this metric's."""
        how = {"case_sensitive": self.case_sensitive, "whole_words": self.whole_words}
        return [
            with_options(kinds[use.metric], use.metric, {**(how if use.metric in _PLAIN else {}), **use.options})
            for use in _uses(kinds, case)
        ]

    def _own(self, kind: type[P], phrases: Iterable[Phrase]) -> P:
        return kind(phrases=tuple(phrases), case_sensitive=self.case_sensitive, whole_words=self.whole_words)


_PLAIN = (Includes.name, Excludes.name)


def _uses(kinds: Collection[str], case: TestCase) -> list[MetricUse]:
    """The case's own checks of these kinds, except negated ones."""
    return [use for use in case.checks if use.metric in kinds and not use.negated]


def _missing(rule: Phrases, text: str) -> list[Phrase]:
    present = rule.present(text)
    if present and getattr(rule, "any", False):
        return []
    return [phrase for phrase in rule.wanted() if phrase not in present]
