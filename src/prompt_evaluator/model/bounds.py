"""One table of every number a user can set, with its smallest and largest sensible value.

It is used to check flags, settings, provider entries, rubrics, gate policies, metric options and requests over HTTP,
and to write the reference. A number gets its bound where it is declared: `number(SAMPLES)` for an option,
`Annotated[int, TRIES.meta]` for a field. The upper bounds are far beyond what anyone needs; anything larger is a typo
that would hang, exhaust memory or overflow.
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
    """The range of one number, both ends included."""

    name: str
    least: int | float
    most: int | float
    why: str
    """Why nobody needs less or more, as a sentence."""
    whole: bool

    @property
    def words(self) -> str:
        """Completes "has to be …"."""
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.least:,} to {self.most:,}"

    @property
    def meta(self) -> Meta:
        """Annotation for a struct field: decoding enforces the bound, and the JSON schema shows it."""
        return Meta(ge=self.least, le=self.most, extra={"bound": self})

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
            if isinstance(each, inspect.Metadata) and "bound" in (each.extra or {}):
                found[field.encode_name] = BoundedField((each.extra or {})["bound"], is_mapping)
    return found


def _whole(name: str, least: int, most: int, why: str) -> Bound:
    return Bound(name=name, least=least, most=most, why=why, whole=True)


def _number(name: str, least: float, most: float, why: str) -> Bound:
    return Bound(name=name, least=least, most=most, why=why, whole=False)


_DAY = 86_400
_BILLION = 1_000_000_000

SAMPLES = _whole("samples per case", 1, 10_000, "10,000 samples give the mean to within a hundredth of their spread.")
ATTEMPTS = _whole("attempts per sample", 1, 100, "An answer that was bad 100 times will be bad again.")
RETRIES = _whole("retries of a harness configuration", 0, 99, "With the first answer, 100 attempts.")
JUDGE_REPEATS = _whole(
    "judgements per answer", 1, 1_000, "1,000 give their spread to within 2 %; those of one answer are held in memory."
)
RESULTS_PER_CASE = _whole(
    "samples × attempts × judgements of a case", 1, 100_000, "All results of a case are held in memory together."
)
TEMPERATURE = _number("temperature", 0, 100, "Services allow up to 1 or 2; your own servers may allow more.")
TOKENS = _whole("tokens per answer", 1, 100_000_000, "Ten times the longest context available today.")
SEED = _whole(
    "seed", -9_000_000_000_000_000, 9_000_000_000_000_000, "JSON represents integers exactly up to 2^53, about 9e15."
)
CASES = _whole("cases", 1, _BILLION, "A dataset this large takes days to read.")
LISTED = _whole("lines of a list", 1, 1_000_000, "The list is held in memory; continue with --cursor.")
CONCURRENCY = _whole(
    "calls in flight", 1, 10_000, "Each needs a socket and memory; systems allow a process a few thousand sockets."
)
WORKERS = _whole("worker processes", 1, 10_000, "More than any cluster starts for one run.")
GPUS = _number("GPUs per worker process", 0, 64, "No machine has more.")
BUDGET = _number("US dollars per run", 0, _BILLION, "Leave it out for no limit.")
SHARED_BUDGET = _number("US dollars per day or month", 0, _BILLION, "Leave it out for no limit.")
CALLS = _whole("calls per run", 1, 1_000_000_000_000, "Leave it out for no limit.")
SCORE = _number(
    "scores, their scales and bars", -_BILLION, _BILLION, "Squared differences stay precise enough to average."
)
REQUESTS_PER_MINUTE = _whole("requests per minute", 1, _BILLION, "Leave it out if there is no limit.")
TOKENS_PER_MINUTE = _whole("tokens per minute", 1, 1_000_000_000_000, "Leave it out if there is no limit.")
TIMEOUT = _number("time-outs in seconds", 0.01, _DAY, "No service answers within 10 ms; nobody waits for a day.")
TRIES = _whole("tries per call", 1, 100, "A service that failed 100 times is down, and each try may cost money.")
BACKOFF = _number("seconds before the second try", 0.001, 3_600, "The wait doubles with each try, up to a minute.")
WAIT = _number("seconds a service may ask to wait", 0.001, _DAY, "Rather than wait longer, start another run.")
REPLY_BYTES = _whole("bytes per reply", 1, 1_073_741_824, "Replies are held in memory, so 1 GiB is the limit.")
PRICE = _number("US dollars per million tokens", 0, 1_000_000, "One dollar per token.")
SHARE = _number("shares and thresholds", 0, 1, "They are fractions of a whole.")
SIMULATED_MS = _number("simulated milliseconds", 0, 3_600_000, "An hour per answer is slow enough for a rehearsal.")
SIMULATED_WAIT = _number("simulated seconds to wait", 0, 3_600, "An hour is long enough for a rehearsal.")
JUDGEMENTS = _whole("judgements to average", 1, 100, "They are made one after another.")
FACTS = _whole("facts per passage", 1, 10_000, "No judge lists more in one answer.")
LENGTH = _whole("lengths and distances in text", 0, _BILLION, "Longer than any text that fits in a reply.")
PATTERN_REPEATS = _whole(
    "characters that repeats add to a pattern",
    0,
    100_000,
    "They are written out in memory, some 500 bytes each; nested counts multiply.",
)
FIGURE = _number("compared numbers", -1e300, 1e300, "Differences and tolerances do not overflow.")
TOLERANCE = _number("tolerances", 0, 1e300, "Same as for compared numbers.")
DURATION_MS = _number("milliseconds per answer", 0, _DAY * 1_000, "No call takes longer than a day.")
METRIC_THRESHOLD = _number(
    "differences of means that matter", 0.001, 4, "They are on a scale from 1 to 5, whose ends differ by 4."
)
FLAG_THRESHOLD = _number("differences of shares that matter", 0.001, 1, "Shares differ by 1 at most.")
GATE_LEVEL = _number("error probabilities of a gate", 0.0001, 0.5, "From one false alarm in 10,000 to a coin toss.")
GATE_MARGIN = _number("margins of a gate", 0, 2 * _BILLION, "The ends of the widest scale differ by 2,000,000,000.")
CHART_SIZE = _whole("pixels of a chart", 100, 4_000, "Smaller charts are unreadable; larger ones fit on no screen.")
PORT = _whole("ports", 0, 65_535, "TCP has no others; 0 is any free port.")
SERVICE_PORT = _whole("ports of services and proxies", 1, 65_535, "TCP has no others.")
TOKEN_HOURS = _whole("hours until a token expires", 1, 366 * 24, "A year; `never` is for what you cannot replace.")
RUNS_AT_ONCE = _whole("runs at once", 1, 100, "They share the limits of their keys and the memory of one process.")
QUEUED = _whole("waiting runs", 1, 100_000, "Each was planned and is stored; nobody waits for more.")
PAGE_SIZE = _whole("lines of a page over HTTP", 1, 500, "Continue with `cursor` or `start`.")
TREND_RUNS = _whole("runs of a trend over HTTP", 2, 500, "One run is no trend; charts show no more.")
LABELS = _whole("labels of a page over HTTP", 1, 10_000, "They are short; list those of one run after another.")
SKIPPED = _whole("lines to skip", 0, _BILLION, "There are no more cases to skip.")
SAMPLE_INDEX = _whole("numbers of a sample, from 0", 0, 9_999, "A case has 10,000 samples at most.")
ATTEMPT_INDEX = _whole("numbers of an attempt, from 0", 0, 99, "A sample has 100 attempts at most.")
QUEUE_ID = _whole("numbers of a label queue", 1, 2_000_000_000, "Databases count no further.")
QUEUE_SIZE = _whole("samples of a label queue", 1, 10_000, "Nobody labels more; start another queue for the next ones.")
PROBABILITY = _number("probability of being drawn", 1e-12, 1, "Labels are weighted by its inverse.")

BOUNDS: dict[str, Bound] = {bound.name: bound for bound in [*globals().values()] if isinstance(bound, Bound)}
