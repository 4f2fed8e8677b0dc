"""Is this text in the answer, or is it the answer?"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, TypeAlias
from unicodedata import normalize

from prompt_evaluator.metrics.rule import Compared, Rule, Trial, listed, short, yes_or_no
from prompt_evaluator.model import Score, Scored, Skipped, TestCase

if TYPE_CHECKING:
    from collections.abc import Iterable


Phrase: TypeAlias = str | tuple[str, ...]
"""A text; or several, any of which will do."""


class Phrases(Rule, frozen=True, kw_only=True):
    """Options of metrics that look for phrases."""

    needs: ClassVar[tuple[str, ...]] = ("phrases",)

    phrases: tuple[Phrase, ...] = ()
    text: str | None = None
    """One more phrase, for who has only one."""
    case_sensitive: bool = False
    whole_words: bool = False
    """Whether `cat` is no part of `catalogue`."""

    def __post_init__(self) -> None:
        check_phrases(self.wanted())

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the phrases are options
        return None if self.wanted() else "the case names no phrases"

    def wanted(self) -> tuple[Phrase, ...]:
        return self.phrases if self.text is None else (*self.phrases, self.text)

    def present(self, text: str) -> list[Phrase]:
        """Those of the phrases that are in the text, in the order of the phrases."""
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
    """All of `phrases` are in the answer; the score is the share that is, and only 1 passes.

    A phrase that is a list stands for alternatives: one of them is enough.
    """

    name: ClassVar[str] = "includes"

    any: bool = False
    """Whether one of the phrases is enough: then the score is 1 or 0."""

    def assess(self, trial: Trial) -> Score:
        wanted = self.wanted()
        found = self.present(trial.answer.text)
        missing = [phrase for phrase in wanted if phrase not in found]
        if self.any:
            return yes_or_no(holds=bool(found), otherwise=f"none of: {listed(wanted)}")
        reason = f"missing: {listed(missing)}" if missing else ""
        return Scored(1 - len(missing) / len(wanted), reason, {"missing": missing} if missing else {})


class Contains(Includes, frozen=True, kw_only=True):
    """The answer contains `text` (or all of `phrases`), in the same case: `includes` by another name."""

    name: ClassVar[str] = "contains"
    case_sensitive: bool = True


class IContains(Includes, frozen=True, kw_only=True):
    """The answer contains `text` (or all of `phrases`), in whatever case: `includes` by another name."""

    name: ClassVar[str] = "icontains"


class Excludes(Phrases, frozen=True, kw_only=True):
    """None of `phrases` is in the answer: 1 or 0."""

    name: ClassVar[str] = "excludes"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(isinstance(phrase, str) for phrase in self.phrases):
            raise ValueError("A forbidden phrase is a list: none may be there, so write each of them by itself")

    def assess(self, trial: Trial) -> Score:
        found = self.present(trial.answer.text)
        return Scored(0.0, f"found: {listed(found)}", {"found": found}) if found else Scored(1.0)


class NotContains(Excludes, frozen=True, kw_only=True):
    """The answer does not contain `text` (nor any of `phrases`): `excludes` by another name."""

    name: ClassVar[str] = "not_contains"


class ExactMatch(Compared, frozen=True, kw_only=True):
    """The answer is the reference, space around it aside: 1 or 0."""

    name: ClassVar[str] = "exact_match"

    expected: str | None = None
    """In place of the reference."""
    ignore_case: bool = False
    strip: bool = True
    """Whether space at the ends does not count."""
    ignore_whitespace: bool = False
    """Whether any run of white space is as good as one blank."""

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
    """Whether space before the answer does not count."""

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the prefix is an option
        return None if self.prefix else "the case names no prefix"

    def assess(self, trial: Trial) -> Score:
        prefix = self.prefix or ""
        text = trial.answer.text.lstrip() if self.strip else trial.answer.text
        wanted, got = _comparable(prefix, not self.ignore_case), _comparable(text, not self.ignore_case)
        return yes_or_no(holds=got.startswith(wanted), otherwise=f"it begins with {text[: len(prefix) + 10]!r}")


class FinishReason(Rule, frozen=True, kw_only=True):
    """The answer ended as it should: its finish reason is one of `allowed`, such as `stop`: 1 or 0."""

    name: ClassVar[str] = "finish_reason"

    allowed: tuple[str, ...] = ("stop", "end_turn", "stop_sequence", "tool_calls", "tool_use")
    """In the service's own words, in any case. The built-in ones mean that the model had said all it wanted to say."""

    def __post_init__(self) -> None:
        if not self.allowed:
            raise ValueError("No finish reason is allowed")

    def assess(self, trial: Trial) -> Score:
        reason = trial.answer.finish_reason
        if reason is None:
            return Skipped("the service gave no finish reason")
        ended = reason.casefold() in {allowed.casefold() for allowed in self.allowed}
        return yes_or_no(holds=ended, otherwise=f"it ended with {reason!r}, not with {listed(self.allowed)}")


def check_phrases(phrases: Iterable[Phrase]) -> None:
    """Raise `ValueError` about a phrase that every answer has."""
    if not all(phrase and all(phrase) for phrase in phrases):
        raise ValueError("A phrase is empty")


def _comparable(text: str, case_sensitive: bool) -> str:  # noqa: FBT001 - private, and the only flag
    """One spelling for what looks the same: `é` may be one character or two."""
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
