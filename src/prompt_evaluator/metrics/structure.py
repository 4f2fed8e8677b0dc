"""Metrics on JSON answers: whether the answer is JSON, follows a schema or has a value at a path."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import msgspec
from msgspec import UNSET, UnsetType

from prompt_evaluator.metrics.json_path import parse_path, select
from prompt_evaluator.metrics.matching import check_matchers, matches
from prompt_evaluator.metrics.rule import Rule, Trial, best, short, shown
from prompt_evaluator.model import Failed, Score, Scored, TestCase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema_rs import ValidationError, Validator

_MOST_TOLD = 5
_LONGEST_TOLD = 200
_MOST_VALUES, _MOST_TRIES = 100, 1_000
"""Limits on the JSON values to check and the brackets to try; each try costs a scan of the rest of the answer."""
_OPENING = re.compile(r"[{\[]")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*$", re.MULTILINE)


class NotJsonError(ValueError):
    """The answer is not JSON; says why."""


class Json(Rule, frozen=True, kw_only=True):
    """Base of metrics on JSON answers."""

    fences: bool = False
    """Whether the JSON may be in a Markdown code fence, with or without text around it."""

    def assess(self, trial: Trial) -> Score:
        try:
            value = read(trial.answer.text, fences=self.fences)
        except NotJsonError as error:
            return Scored(0.0, str(error))
        return self.assess_value(value)

    def assess_value(self, value: Any) -> Score:
        raise NotImplementedError


class IsJson(Json, frozen=True, kw_only=True):
    """The answer, or with `fences` the content of its code fence, is JSON: 1 or 0."""

    name: ClassVar[str] = "is_json"

    def assess_value(self, value: Any) -> Score:  # noqa: ARG002 - any value will do
        return Scored(1.0)


class ContainsJson(Rule, frozen=True, kw_only=True):
    """The answer contains a JSON object or array, which follows `schema` if one is given: 1 or 0."""

    name: ClassVar[str] = "contains_json"

    schema: dict[str, Any] | bool | None = None
    """JSON Schema, any draft. At least one of the objects and arrays must follow it. Nothing is fetched."""

    def __post_init__(self) -> None:
        if self.schema is not None:
            _validator(msgspec.json.encode(self.schema))

    def assess(self, trial: Trial) -> Score:
        found = list(islice(_values_in(trial.answer.text), _MOST_VALUES))
        if not found:
            return Scored(0.0, "the answer contains no JSON object or array")
        if self.schema is None:
            return Scored(1.0)
        by_schema = JsonSchema(schema=self.schema)
        return best([by_schema.assess_value(value) for value in found])


class JsonSchema(Json, frozen=True, kw_only=True):
    """The answer is JSON that follows `schema`: 1 or 0, with a reason that says what is wrong and where."""

    name: ClassVar[str] = "json_schema"
    needs: ClassVar[tuple[str, ...]] = ("schema",)

    schema: dict[str, Any] | bool | None = None
    """JSON Schema, any draft. References must point inside the schema; nothing is fetched."""

    def __post_init__(self) -> None:
        if self.schema is not None:
            _validator(msgspec.json.encode(self.schema))

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the schema is an option
        return "the case gives no schema" if self.schema is None else None

    def assess_value(self, value: Any) -> Score:
        problems: list[str] = []
        for error in _validator(msgspec.json.encode(self.schema)).iter_errors(value):
            if error.message.startswith("Error executing regex"):
                return Failed(f"timed out: {_problem(error)}", kind="TimedOut")
            problems.append(_problem(error))
        if not problems:
            return Scored(1.0)
        more = f"; and {len(problems) - _MOST_TOLD} more" if len(problems) > _MOST_TOLD else ""
        return Scored(0.0, "; ".join(problems[:_MOST_TOLD]) + more, {"problems": len(problems)})


class JsonPath(Json, frozen=True, kw_only=True):
    """The value at `path` in the JSON answer exists, or equals or contains what is given: 1 or 0."""

    name: ClassVar[str] = "json_path"
    needs: ClassVar[tuple[str, ...]] = ("path",)

    path: str | None = None
    """`$.a.b[0]`, `$['a b']`, `$.items[-1]`, `$.items[*].id`."""
    equals: Any | UnsetType = UNSET
    """A value, or a matcher such as `{"$approx": 3, "$tolerance": 0.5}`."""
    contains: Any | UnsetType = UNSET
    """A substring, an item of a list or a key of an object."""
    exists: bool = True
    """False if there must be nothing at the path."""
    every: bool = False
    """With `*`: whether all values must comply, instead of at least one."""

    def __post_init__(self) -> None:
        if self.path is not None:
            parse_path(self.path)
        check_matchers([self.equals, self.contains])
        if not self.exists and not (self.equals is UNSET and self.contains is UNSET):
            raise ValueError("`exists: false` cannot be combined with `equals` or `contains`")

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the path is an option
        return "the case gives no path" if self.path is None else None

    def assess_value(self, value: Any) -> Score:
        found = select(parse_path(self.path or "$"), value)
        if not self.exists:
            return Scored(0.0, f"there is {shown(found[0])} at {self.path}") if found else Scored(1.0)
        if not found:
            return Scored(0.0, f"there is nothing at {self.path}")
        try:
            wrong = [inner for inner in found if not self._complies(inner)]
        except TimeoutError:
            return Failed("timed out: a `$regex` takes too long on this answer", kind="TimedOut")
        if not wrong or (not self.every and len(wrong) < len(found)):
            return Scored(1.0)
        return Scored(0.0, f"{self.path} is {shown(wrong[0])}, expected {self._wanted()}")

    def _complies(self, value: Any) -> bool:
        equal = self.equals is UNSET or matches(self.equals, value)
        return equal and (self.contains is UNSET or matches({"$contains": self.contains}, value))

    def _wanted(self) -> str:
        parts = [shown(self.equals)] if self.equals is not UNSET else []
        parts += [f"something with {shown(self.contains)}"] if self.contains is not UNSET else []
        return " and ".join(parts)


def read(text: str, *, fences: bool) -> Any:
    """Read a text, or with `fences` the content of its first code fence, as JSON.

    Raises:
        NotJsonError: It is not JSON.
    """
    inside = _fenced(text)
    chosen = inside if fences and inside is not None else text
    if not chosen.strip():
        raise NotJsonError("the answer is empty" if chosen is text else "the fence is empty")
    try:
        return msgspec.json.decode(chosen)
    except RecursionError:
        raise NotJsonError("its JSON is nested too deeply") from None
    except ValueError as error:
        if not fences and inside is not None:
            raise NotJsonError("it has a Markdown fence; set `fences: true` to look inside") from None
        raise NotJsonError(f"not JSON: {_in_plain_words(error)}, in {short(chosen.strip())!r}") from None


def _values_in(text: str) -> Iterator[Any]:
    """The outermost JSON objects and arrays in a text."""
    at = tries = 0
    while (opening := _OPENING.search(text, at)) and tries < _MOST_TRIES:
        tries += 1
        try:
            value, at = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            at = opening.end()
        else:
            yield value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _fenced(text: str) -> str | None:
    opening = _FENCE.search(text)
    if opening is None:
        return None
    closing = text.find(f"\n{opening[1]}", opening.end())
    return text[opening.end() : closing] if closing >= 0 else None


def _in_plain_words(error: ValueError) -> str:
    if isinstance(error, UnicodeError):
        return "it contains a lone surrogate"
    return str(error).removeprefix("JSON is malformed: ")


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> Validator:
    import jsonschema_rs  # noqa: PLC0415 - takes 36 ms to import

    try:
        return jsonschema_rs.validator_for(msgspec.json.decode(schema), retriever=_fetch_nothing)
    except ValueError as error:
        message = getattr(error, "message", str(error)).splitlines()[0]
        raise ValueError(f"The schema is not valid: {message}") from None


def _fetch_nothing(address: str) -> NoReturn:
    raise ValueError(f"nothing is fetched from {address}; put it under `$defs`")


def _problem(error: ValidationError) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
    message = error.message if len(error.message) <= _LONGEST_TOLD else f"{error.message[:_LONGEST_TOLD]}…"
    return f"${''.join(steps)}: {message}"
