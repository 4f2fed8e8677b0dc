"""Does the answer give every signal it should, and none that it should not?"""

from __future__ import annotations

from typing import ClassVar

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.options import for_case
from prompt_evaluator.metrics.rule import Rule, Trial, listed
from prompt_evaluator.metrics.text import Excludes, Includes, Phrases
from prompt_evaluator.model import Failed, Score, Scored, Skipped


class Signals(Rule, frozen=True, kw_only=True):
    """All that the case `includes` is in the answer and nothing that it `excludes`: 1 or 0."""

    name: ClassVar[str] = "signals"
    needs: ClassVar[tuple[str, ...]] = ("includes or excludes",)

    includes: tuple[str, ...] = ()
    """For cases that have no `includes` of their own."""
    excludes: tuple[str, ...] = ()
    case_sensitive: bool = False
    whole_words: bool = False

    def __post_init__(self) -> None:
        if not all((*self.includes, *self.excludes)):
            raise ValueError("A phrase is empty")

    def assess(self, trial: Trial) -> Score:
        sensitive, whole = self.case_sensitive, self.whole_words
        includes = Includes(phrases=self.includes, case_sensitive=sensitive, whole_words=whole)
        excludes = Excludes(phrases=self.excludes, case_sensitive=sensitive, whole_words=whole)
        try:
            required, forbidden = for_case(includes, trial.case), for_case(excludes, trial.case)
        except ConfigurationError as error:
            return Failed(str(error), kind="ConfigurationError")
        if not any(rule.wanted() for rule in (*required, *forbidden)):
            return Skipped("the case has neither includes nor excludes")
        text = trial.answer.text
        missing = [phrase for rule in required for phrase in _missing(rule, text)]
        found = [phrase for rule in forbidden for phrase in rule.present(text)]
        parts = (f"missing: {listed(missing)}" if missing else "", f"forbidden: {listed(found)}" if found else "")
        details = {"missing": missing, "forbidden": found}
        return Scored(0.0 if missing or found else 1.0, "; ".join(filter(None, parts)), details)


def _missing(rule: Phrases, text: str) -> list[str]:
    present = rule.present(text)
    return [phrase for phrase in rule.wanted() if phrase not in present]
