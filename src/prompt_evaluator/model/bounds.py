"""Numbers that users set, with their smallest and largest sensible value.

A range that several flags, settings or fields share is here: `number(SAMPLES)` for an option, `Annotated[int,
SAMPLES.meta]` for a field. One that belongs to a single field is a `Meta(ge=…, le=…)` there. Upper ends are far beyond
what anyone needs; anything larger is a typo that would hang, exhaust memory or overflow.
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


class Bound(NamedTuple):
    """The range of one number, both ends included."""

    least: int | float
    most: int | float
    whole: bool

    @property
    def words(self) -> str:
        """Completes "has to be …"."""
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.least:,} to {self.most:,}"

    @property
    def meta(self) -> Meta:
        """Annotation for a struct field: decoding enforces the bound, and the JSON schema shows it."""
        return Meta(ge=self.least, le=self.most)

    @property
    def type(self) -> Any:
        return Annotated[int if self.whole else float, self.meta]

    def read(self, value: object) -> int | float:
        """Return the number, or raise ValueError if it is not a number or is out of bounds.

        Negative zero counts as below zero: it equals zero, but prints differently and would give units other names.
        """
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            raise ValueError  # noqa: TRY004 - callers turn every failure into the same sentence
        if not self.least <= value <= self.most:  # also catches NaN
            raise ValueError
        if self.whole:
            return value
        if value == 0 and math.copysign(1, value) < 0:
            if self.least >= 0:
                raise ValueError
            return 0.0
        return float(value)

    def read_text(self, text: str) -> int | float:
        """Same, from a flag or a variable. `1_000`, `1,000`, `inf` and non-ASCII digits are not numbers."""
        found = whole_number_in(text) if self.whole else number_in(text)
        if found is None:
            raise ValueError
        return self.read(found)


def number_in(text: str) -> float | None:
    """Parse a finite number; None if the text is not one."""
    stripped = text.strip()
    return number if _NUMBER.fullmatch(stripped) and math.isfinite(number := float(stripped)) else None


def whole_number_in(text: str) -> int | None:
    """Parse a whole number; None if the text is not one or has more digits than any bound."""
    stripped = text.strip()
    return int(stripped) if _WHOLE.fullmatch(stripped) and len(stripped) <= _MOST_DIGITS else None


def as_given(number: float) -> str:
    """Name a number of any size in a message: Python refuses to print an int of more than 4,300 digits."""
    if isinstance(number, int) and (digits := int(number.bit_length() * _DIGITS_PER_BIT) + 1) > _MOST_DIGITS:
        return f"a number of about {digits:,} digits"
    return f"the number {number}"


class BoundedField(NamedTuple):
    bound: Bound
    is_mapping: bool
    """Whether the bound applies to each value of a mapping."""


def out_of_bounds(kind: type[msgspec.Struct], given: dict[str, Any]) -> tuple[str, Bound, Any] | None:
    """Return the path, bound and value of the first field that is out of bounds.

    Ignores None, unknown fields and values that should be mappings but are not: making the struct reports those.
    """
    for name, (bound, is_mapping) in bounded_fields(kind).items():
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
def bounded_fields(kind: type[msgspec.Struct]) -> dict[str, BoundedField]:
    """Bounds by the field names users write. A list has the bound of its items."""
    from msgspec import inspect  # noqa: PLC0415 - needed only to report an error

    info = inspect.type_info(kind)
    found = {}
    for field in info.fields if isinstance(info, inspect.StructType) else ():
        shape, is_mapping = field.type, isinstance(field.type, inspect.DictType)
        if isinstance(shape, inspect.DictType):
            shape = shape.value_type
        if isinstance(shape, inspect.VarTupleType):
            shape = shape.item_type
        for each in shape.types if isinstance(shape, inspect.UnionType) else (shape,):
            if bound := bound_of(each):
                found[field.encode_name] = BoundedField(bound, is_mapping)
    return found


def bound_of(shape: object) -> Bound | None:
    """The bound of a type as `msgspec.inspect` describes it; None if it is not a number with two ends."""
    least, most = getattr(shape, "ge", None), getattr(shape, "le", None)
    return None if least is None or most is None else Bound(least, most, whole=type(shape).__name__ == "IntType")


def _whole(least: int, most: int) -> Bound:
    return Bound(least, most, whole=True)


def _number(least: float, most: float) -> Bound:
    return Bound(least, most, whole=False)


_DAY = 86_400
_BILLION = 1_000_000_000

SAMPLES = _whole(1, 10_000)
RETRIES = _whole(0, 99)
JUDGE_REPEATS = _whole(1, 1_000)
TEMPERATURE = _number(0, 100)
TOKENS = _whole(1, 100_000_000)
SEED = _whole(-9_000_000_000_000_000, 9_000_000_000_000_000)  # JSON has whole numbers up to 2^53
CASES = _whole(1, _BILLION)
LISTED = _whole(1, 1_000_000)
CONCURRENCY = _whole(1, 10_000)
WORKERS = _whole(1, 10_000)
GPUS = _number(0, 64)
BUDGET = _number(0, _BILLION)
CALLS = _whole(1, 1_000_000_000_000)
SCORE = _number(-_BILLION, _BILLION)
TIMEOUT = _number(0.01, _DAY)
SHARE = _number(0, 1)
SIMULATED_MS = _number(0, 3_600_000)
LENGTH = _whole(0, _BILLION)
FIGURE = _number(-1e300, 1e300)  # differences do not overflow
TOLERANCE = _number(0, 1e300)
METRIC_THRESHOLD = _number(0.001, 4)
FLAG_THRESHOLD = _number(0.001, 1)
GATE_LEVEL = _number(0.0001, 0.5)
GATE_MARGIN = _number(0, 2 * _BILLION)
PORT = _whole(0, 65_535)
SERVICE_PORT = _whole(1, 65_535)
RUNS_AT_ONCE = _whole(1, 100)
QUEUED = _whole(1, 100_000)
PAGE_SIZE = _whole(1, 500)
TREND_RUNS = _whole(2, 500)
SKIPPED = _whole(0, _BILLION)
SAMPLE_INDEX = _whole(0, 9_999)
ATTEMPT_INDEX = _whole(0, 99)
LABEL_COUNT = _whole(1, 10_000)
PROBABILITY = _number(1e-12, 1)
