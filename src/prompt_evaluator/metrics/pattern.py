"""Regular expressions with a time limit."""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from prompt_evaluator.metrics.rule import Rule, Trial, short
from prompt_evaluator.model import Failed, Score, Scored, TestCase

if TYPE_CHECKING:
    import regex

    from prompt_evaluator.ports import JudgeClient

_AT_ONCE = 0.005
_AT_MOST = 0.8
_BY_THE_CLOCK = 1.0
"""Seconds. Most searches take microseconds; longer ones move to a thread, so as not to block the event loop."""
_HUGE_COUNT = re.compile(r"\{\s*[0-9]{6,}\s*[,}]")
"""Compiling writes repeats out in memory."""


class Regex(Rule, frozen=True, kw_only=True):
    """`pattern` occurs in the answer: 1 or 0. A search that takes too long is a failure."""

    name: ClassVar[str] = "regex"
    needs: ClassVar[tuple[str, ...]] = ("pattern",)

    pattern: str | None = None
    """The regular expression."""
    flags: str = ""
    """Any of `i` (ignore case), `m` (^ and $ match at every line), `s` (. matches line breaks), `x` (free spacing)."""
    full: bool = False
    """Whether the pattern must match the whole answer."""

    def __post_init__(self) -> None:
        if self.pattern is not None:
            compiled(self.pattern, self.flags)

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the pattern is an option
        return "the case gives no pattern" if self.pattern is None else None

    async def apply(self, trial: Trial, judge: JudgeClient | None) -> Score:  # noqa: ARG002 - the base's signature
        wanted = self.pattern or ""
        pattern, text = compiled(wanted, self.flags), trial.answer.text
        try:
            found = find(pattern, text, full=self.full, seconds=_AT_ONCE)
        except TimeoutError:
            try:
                # The library counts CPU time, which takes longer in wall time on a busy machine.
                async with asyncio.timeout(_BY_THE_CLOCK):
                    found = await asyncio.to_thread(find, pattern, text, full=self.full, seconds=_AT_MOST)
            except TimeoutError:
                return Failed(f"timed out: {short(wanted)!r} takes too long on this answer", kind="TimedOut")
        if found is None:
            return Scored(0.0, f"no match for {short(wanted)!r}")
        return Scored(1.0, f"found {short(found[0])!r}" if found[0] else "")


@lru_cache(maxsize=1_024)
def compiled(pattern: str, flags: str = "") -> regex.Pattern[str]:
    """Compile a pattern.

    Raises:
        ValueError: The pattern or a flag is invalid, or the pattern repeats too often; says why.
    """
    import regex  # noqa: PLC0415 - takes 15 ms to import

    letters = {"i": regex.IGNORECASE, "m": regex.MULTILINE, "s": regex.DOTALL, "x": regex.VERBOSE}
    if unknown := set(flags.lower()) - letters.keys():
        raise ValueError(f"Unknown flag {min(unknown)!r}. Known flags: {', '.join(letters)}")
    if _HUGE_COUNT.search(pattern):
        raise ValueError(_too_large(pattern))
    combined = regex.V0
    for letter in flags.lower():
        combined |= letters[letter]
    try:
        return regex.compile(pattern, combined)
    except MemoryError:
        raise ValueError(_too_large(pattern)) from None
    except (regex.error, OverflowError, RecursionError) as error:
        raise ValueError(f"The pattern {short(pattern)!r} is not a valid regular expression: {error}") from None


def _too_large(pattern: str) -> str:
    return f"The pattern {short(pattern)!r} repeats too often. Write counts below 100,000"


def find(
    pattern: regex.Pattern[str], text: str, *, full: bool = False, seconds: float = _AT_MOST
) -> regex.Match[str] | None:
    """Search, or raise `TimeoutError` after `seconds`."""
    return pattern.fullmatch(text, timeout=seconds) if full else pattern.search(text, timeout=seconds)
