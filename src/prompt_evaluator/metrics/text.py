"""Metrics that look for text in the answer or compare it with a text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, TypeAlias
from unicodedata import normalize

from prompt_evaluator.metrics.rule import Compared, Rule, Trial, listed, short, yes_or_no
from prompt_evaluator.model import Score, Scored, Skipped, TestCase
from prompt_evaluator.model.call import BY_ITSELF

if TYPE_CHECKING:
    from collections.abc import Iterable


Phrase: TypeAlias = str | tuple[str, ...]
"""A text; or several, any of which will do."""


class Phrases(Rule, frozen=True, kw_only=True):
    """Base of metrics that look for phrases."""

    needs: ClassVar[tuple[str, ...]] = ("phrases",)

    phrases: tuple[Phrase, ...] = ()
    text: str | None = None
    """One more phrase; convenient if there is only one."""
    case_sensitive: bool = False
    whole_words: bool = False
    """Whether to match whole words only, so that `cat` is not found in `catalogue`."""

    def __post_init__(self) -> None:
        check_phrases(self.wanted())

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the phrases are options
        return None if self.wanted() else "the case gives no phrases"

    def wanted(self) -> tuple[Phrase, ...]:
        return self.phrases if self.text is None else (*self.phrases, self.text)

    def present(self, text: str) -> list[Phrase]:
        """The phrases that are in the text, in the order of the phrases."""
        text = _comparable(text, self.case_sensitive)
        return [
            phrase
            for phrase in self.wanted()
            if (self._is_in(text, phrase) if isinstance(phrase, str) else any(self._is_in(text, p) for p in phrase))
        ]

    def _is_in(self, text: str, phrase: str) -> bool:
        wanted = _comparable(phrase, self.case_sensitive)
        return bool(_as_words(wanted).search(text)) if self.whole_words else wanted in text


class Includes(Phrases, frozen=True, kw_only=True):
    """The share of `phrases` that are in the answer; by default only 1 passes.

    A phrase that is a list gives alternatives: one of them is enough.
    """

    name: ClassVar[str] = "includes"

    any: bool = False
    """Whether one of the phrases is enough; the score is then 1 or 0."""

    def assess(self, trial: Trial) -> Score:
        wanted = self.wanted()
        found = self.present(trial.answer.text)
        missing = [phrase for phrase in wanted if phrase not in found]
        if self.any:
            return yes_or_no(holds=bool(found), otherwise=f"none of: {listed(wanted)}")
        reason = f"missing: {listed(missing)}" if missing else ""
        return Scored(1 - len(missing) / len(wanted), reason, {"missing": missing} if missing else {})


class Contains(Includes, frozen=True, kw_only=True):
    """The answer contains `text` (or all of `phrases`), matching case: `includes` with `case_sensitive`."""

    name: ClassVar[str] = "contains"
    case_sensitive: bool = True


class IContains(Includes, frozen=True, kw_only=True):
    """The answer contains `text` (or all of `phrases`), ignoring case: `includes` by another name."""

    name: ClassVar[str] = "icontains"


class Excludes(Phrases, frozen=True, kw_only=True):
    """The answer contains none of `phrases`: 1 or 0."""

    name: ClassVar[str] = "excludes"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(isinstance(phrase, str) for phrase in self.phrases):
            raise ValueError("A forbidden phrase is a list: none may be there, so write each of them by itself")

    def assess(self, trial: Trial) -> Score:
        found = self.present(trial.answer.text)
        return Scored(0.0, f"found: {listed(found)}", {"found": found}) if found else Scored(1.0)


class NotContains(Excludes, frozen=True, kw_only=True):
    """The answer does not contain `text` (or any of `phrases`): `excludes` by another name."""

    name: ClassVar[str] = "not_contains"


class ExactMatch(Compared, frozen=True, kw_only=True):
    """The answer equals the reference, ignoring surrounding white space: 1 or 0."""

    name: ClassVar[str] = "exact_match"

    expected: str | None = None
    """Used instead of the reference."""
    ignore_case: bool = False
    strip: bool = True
    """Whether to ignore white space at both ends."""
    ignore_whitespace: bool = False
    """Whether to treat any run of white space as one space."""

    def compare(self, wanted: str, got: str) -> Score:
        wanted, got = self._comparable(wanted), self._comparable(got)
        return Scored(1.0) if wanted == got else Scored(0.0, _first_difference(wanted, got))

    def _comparable(self, text: str) -> str:
        text = _comparable(text, not self.ignore_case)
        if self.ignore_whitespace:
            return " ".join(text.split())
        return text.strip() if self.strip else text


class StartsWith(Rule, frozen=True, kw_only=True):
    """The answer begins with `prefix`: 1 or 0."""

    name: ClassVar[str] = "starts_with"
    needs: ClassVar[tuple[str, ...]] = ("prefix",)

    prefix: str | None = None
    ignore_case: bool = False
    strip: bool = True
    """Whether to ignore white space before the answer."""

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the prefix is an option
        return None if self.prefix else "the case gives no prefix"

    def assess(self, trial: Trial) -> Score:
        prefix = self.prefix or ""
        text = trial.answer.text.lstrip() if self.strip else trial.answer.text
        wanted, got = _comparable(prefix, not self.ignore_case), _comparable(text, not self.ignore_case)
        return yes_or_no(holds=got.startswith(wanted), otherwise=f"it begins with {text[: len(prefix) + 10]!r}")


class FinishReason(Rule, frozen=True, kw_only=True):
    """The answer's finish reason is one of `allowed`, such as `stop`: 1 or 0."""

    name: ClassVar[str] = "finish_reason"

    allowed: tuple[str, ...] = BY_ITSELF
    """Finish reasons as the service names them, ignoring case. The defaults mean that the model finished by itself."""

    def __post_init__(self) -> None:
        if not self.allowed:
            raise ValueError("`allowed` is empty")

    def assess(self, trial: Trial) -> Score:
        reason = trial.answer.finish_reason
        if reason is None:
            return Skipped("the service gave no finish reason")
        allowed = {allowed.casefold() for allowed in self.allowed}
        ended = reason.casefold() in allowed or (trial.answer.outcome or "") in allowed
        return yes_or_no(holds=ended, otherwise=f"it ended with {reason!r}, not with {listed(self.allowed)}")


def check_phrases(phrases: Iterable[Phrase]) -> None:
    """Raise `ValueError` about a phrase that every answer has."""
    if not all(phrase and all(phrase) for phrase in phrases):
        raise ValueError("A phrase is empty")


def _comparable(text: str, case_sensitive: bool) -> str:  # noqa: FBT001 - private, and the only flag
    """Normalize Unicode, since `é` may be one character or two, and fold case unless `case_sensitive`."""
    if not text.isascii():
        text = normalize("NFC", text)
    return text if case_sensitive else text.casefold()


@lru_cache(maxsize=4_096)
def _as_words(phrase: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)")


def _first_difference(wanted: str, got: str) -> str:
    if not got:
        return "the answer is empty"
    at = next((i for i, (left, right) in enumerate(zip(wanted, got, strict=False)) if left != right), None)
    at = min(len(wanted), len(got)) if at is None else at
    return f"from character {at + 1} on, expected {short(wanted[at:])!r}, got {short(got[at:])!r}"
