"""Every number that a user can give, with the smallest and the largest that make sense: one table.

Flags, settings, provider entries, rubrics and options of metrics are checked by it, and the reference is written from
it. A number gets its bound where it is declared: `number(SAMPLES)` for an option, `Annotated[int, TRIES.meta]` for a
field. The largest are far beyond what anybody needs; they are there because what lies beyond is a slip of the
keyboard that would hang, fill the memory or end in an overflow.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

_WHOLE = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_MOST_DIGITS = 40
_DIGITS_PER_BIT = math.log10(2)


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """What one number may be, both ends included."""

    name: str
    least: int | float
    most: int | float
    why: str
    """Why nobody needs less or more: a sentence."""
    whole: bool

    @property
    def words(self) -> str:
        """After "has to be"."""
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.least:,} to {self.most:,}"

    @property
    def meta(self) -> Meta:
        """For the field of a struct: what reads it keeps the bound, and its schema shows it."""
        return Meta(ge=self.least, le=self.most, extra={"bound": self})

    @property
    def type(self) -> Any:
        return Annotated[int if self.whole else float, self.meta]

    def read(self, value: object) -> int | float:
        """The number; raises a ValueError where it is none or out of bounds.

        Zero with a minus sign lies below zero: it would have another name and another look than the zero it equals.
        """
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            raise ValueError  # noqa: TRY004 - whoever asked makes one sentence of all that can be wrong
        if not self.least <= value <= self.most:  # NaN is not between any two numbers
            raise ValueError
        if self.whole:
            return value
        if value == 0 and math.copysign(1, value) < 0:
            if self.least >= 0:
                raise ValueError
            return 0.0
        return float(value)

    def read_text(self, text: str) -> int | float:
        """The same, from a flag or a variable. `1_000`, `1,000`, `inf` and digits of other scripts are no numbers."""
        found = whole_number_in(text) if self.whole else number_in(text)
        if found is None:
            raise ValueError
        return self.read(found)


def number_in(text: str) -> float | None:
    """The finite number that a text is; None where it is none."""
    stripped = text.strip()
    return number if _NUMBER.fullmatch(stripped) and math.isfinite(number := float(stripped)) else None


def whole_number_in(text: str) -> int | None:
    """The whole number that a text is; None where it is none, or has more digits than any that is asked for."""
    stripped = text.strip()
    return int(stripped) if _WHOLE.fullmatch(stripped) and len(stripped) <= _MOST_DIGITS else None


def as_given(number: float) -> str:
    """A number in a sentence, whatever its size: Python refuses to write out a whole one of 4,300 digits."""
    if isinstance(number, int) and (digits := int(number.bit_length() * _DIGITS_PER_BIT) + 1) > _MOST_DIGITS:
        return f"of about {digits:,} digits"
    return str(number)


class _Field(NamedTuple):
    bound: Bound
    is_mapping: bool
    """Whether the bound is that of each value in a mapping."""


def out_of_bounds(kind: type[msgspec.Struct], given: dict[str, Any]) -> tuple[str, Bound, Any] | None:
    """The first of the given fields whose number cannot be, with its bound and its value.

    None, what is no field, and what is no mapping where there should be one are left to whoever makes the struct.
    """
    for name, (bound, is_mapping) in _bounded_fields(kind).items():
        value = given.get(name)
        items = value.items() if isinstance(value, dict) else ()
        for path, each in ((f"{name}.{key}", item) for key, item in items) if is_mapping else ((name, value),):
            if each is None:
                continue
            try:
                bound.read(each)
            except ValueError:
                return path, bound, each
    return None


@cache
def _bounded_fields(kind: type[msgspec.Struct]) -> dict[str, _Field]:
    """By the names that users write."""
    from msgspec import inspect  # noqa: PLC0415 - for those who are about to complain

    info = inspect.type_info(kind)
    found = {}
    for field in info.fields if isinstance(info, inspect.StructType) else ():
        is_mapping = isinstance(field.type, inspect.DictType)
        shape = field.type.value_type if isinstance(field.type, inspect.DictType) else field.type
        for each in shape.types if isinstance(shape, inspect.UnionType) else (shape,):
            if isinstance(each, inspect.Metadata) and "bound" in (each.extra or {}):
                found[field.encode_name] = _Field((each.extra or {})["bound"], is_mapping)
    return found


def _whole(name: str, least: int, most: int, why: str) -> Bound:
    return Bound(name=name, least=least, most=most, why=why, whole=True)


def _number(name: str, least: float, most: float, why: str) -> Bound:
    return Bound(name=name, least=least, most=most, why=why, whole=False)


_DAY = 86_400
_BILLION = 1_000_000_000

SAMPLES = _whole("samples per case", 1, 10_000, "The mean of 10,000 samples is known to a hundredth of their spread.")
ATTEMPTS = _whole("attempts per sample", 1, 100, "An answer that was bad 100 times will be bad again.")
JUDGE_REPEATS = _whole(
    "judgements per answer", 1, 1_000, "Their spread is known to 2 % by then; all of one answer are held in memory."
)
RESULTS_PER_CASE = _whole(
    "samples × attempts × judgements of a case", 1, 100_000, "All results of a case are held in memory together."
)
TEMPERATURE = _number("temperature", 0, 100, "Services allow 1 or 2; servers of your own may allow more.")
TOKENS = _whole("tokens of an answer", 1, 100_000_000, "Ten times the longest context there is.")
SEED = _whole(
    "seed", -9_000_000_000_000_000, 9_000_000_000_000_000, "JSON carries whole numbers exactly up to 2^53, about 9e15."
)
CASES = _whole("cases", 1, _BILLION, "A dataset of this many cases takes days to be read.")
LISTED = _whole("lines of a list", 1, 1_000_000, "The list is held in memory; go on with --cursor.")
CONCURRENCY = _whole(
    "calls in flight", 1, 10_000, "Each takes a socket and memory; systems allow a process a few thousand sockets."
)
BUDGET = _number("US dollars of a run", 0, _BILLION, "Leave it out to spend without limit.")
CALLS = _whole("calls of a run", 1, 1_000_000_000_000, "Leave it out to call without limit.")
SCORE = _number(
    "scores, their scales and bars", -_BILLION, _BILLION, "Squares of differences stay exact enough to be averaged."
)
REQUESTS_PER_MINUTE = _whole("requests per minute", 1, _BILLION, "Leave it out where there is no limit.")
TOKENS_PER_MINUTE = _whole("tokens per minute", 1, 1_000_000_000_000, "Leave it out where there is no limit.")
TIMEOUT = _number(
    "seconds until something is given up", 0.01, _DAY, "No service answers within 10 ms; nobody waits for a day."
)
TRIES = _whole("tries of a call", 1, 100, "A service that failed 100 times is down, and each try may be paid for.")
BACKOFF = _number("seconds before the second try", 0.001, 3_600, "It doubles from there, up to a minute.")
WAIT = _number("seconds that a service may ask to wait", 0.001, _DAY, "A longer wait is another run.")
REPLY_BYTES = _whole("bytes of a reply", 1, 1_073_741_824, "A reply is held in memory: 1 GiB at most.")
PRICE = _number("US dollars per million tokens", 0, 1_000_000, "A dollar per token.")
SHARE = _number("shares and thresholds", 0, 1, "A share of a whole.")
SIMULATED_MS = _number("simulated milliseconds", 0, 3_600_000, "An hour per answer is slow enough for a rehearsal.")
SIMULATED_WAIT = _number("simulated seconds to wait", 0, 3_600, "An hour is long enough for a rehearsal.")
JUDGEMENTS = _whole("judgements to take the mean of", 1, 100, "They are asked for one after the other.")
FACTS = _whole("facts of a passage", 1, 10_000, "No judge lists more in one answer.")
LENGTH = _whole("lengths and distances in text", 0, _BILLION, "Longer than any text that fits into a reply.")
FIGURE = _number("numbers that are compared", -1e300, 1e300, "Differences and tolerances still fit into a number.")
TOLERANCE = _number("tolerances", 0, 1e300, "As the numbers that are compared.")
DURATION_MS = _number("milliseconds of an answer", 0, _DAY * 1_000, "No call takes longer than a day.")
PROBABILITY = _number("probability of being drawn", 1e-12, 1, "Labels are weighted by its inverse.")

BOUNDS: dict[str, Bound] = {bound.name: bound for bound in [*globals().values()] if isinstance(bound, Bound)}
