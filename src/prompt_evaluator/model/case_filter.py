"""The filter of case tables, as one line of text: `correct<3 flag:leaks_data topic:billing text~refund failing`.

Words are separated by spaces; one with a space in it is put in quotes. All of them must hold.

    failing flaky flagged errors        what is wrong with a case
    status:pending error:TimedOutError  its status, a kind of error; error:KIND/PATTERN for those with like messages
    flag:NAME                           a flag that was raised
    METRIC<3                            the mean of a metric, with < <= > >= = !=
    KEY:VALUE  KEY~PART                 its metadata
    text~PART  PART                     its input or an answer
    changed:worse metric:NAME           how it changed against the baseline or, in a comparison, the other run
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.query import CaseQuery
from prompt_evaluator.model.run import CaseStatus

if TYPE_CHECKING:
    from collections.abc import Collection

Problem = Literal["failing", "flaky", "flagged", "errors"]
Change = Literal["worse", "better", "same", "too_few"]
PROBLEMS: tuple[Problem, ...] = get_args(Problem)
CHANGES: tuple[Change, ...] = get_args(Change)
CHANGE_LABELS: dict[Change, str] = {"worse": "worse", "better": "better", "same": "same", "too_few": "cannot tell"}
LONGEST = 2_000
_RESERVED = frozenset(("text", "flag", "status", "error", "changed", "metric"))
_KEY = re.compile(r"[^\s<>=!~:]+")
_COMPARED = re.compile(r"([^\s<>=!~:]+)(<=|>=|!=|<|>|=|~|:)(.*)", re.DOTALL)
_CALLED = {"cannot_tell": "too_few", "cannot-tell": "too_few"}
_WRITTEN = {"too_few": "cannot-tell"}
_ABOUT_CHANGES = ("changed:", "metric:")


class CaseFilter(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed filter."""

    problems: tuple[Problem, ...] = ()
    status: CaseStatus | None = None
    error_kind: str | None = None
    flags: tuple[str, ...] = ()
    metrics: tuple[Condition, ...] = ()
    metadata: tuple[Condition, ...] = ()
    text: str | None = None
    changed: Change | None = None
    metric: str | None = None
    """The metric that `changed` is about."""

    def query(self, run_id: str, **more: object) -> CaseQuery:
        """The cases of a run that match, as far as the run alone can tell."""
        problems: dict[str, Any] = dict.fromkeys(self.problems, True)
        return CaseQuery(
            run_id=run_id,
            status=self.status,
            metrics=self.metrics,
            flags=self.flags,
            error_kind=self.error_kind,
            metadata=self.metadata,
            text=self.text,
            **problems,
            **more,  # type: ignore[arg-type]  # sort, descending, limit, cursor
        )


def filter_word(key: str, value: str) -> str | None:
    """The word for cases whose metadata have a value; None if the filter has no word for it."""
    if key in _RESERVED or not _KEY.fullmatch(key) or not value:
        return None
    return f"{key}:{value}"


def change_word(change: Change) -> str:
    """The word for cases that changed in one way."""
    return f"changed:{_WRITTEN.get(change, change)}"


def asks_about_changes(text: str) -> bool:
    """Whether a filter has words that only a comparison with another run can answer."""
    return any(word.startswith(_ABOUT_CHANGES) for word in words_of(text))


def metric_word(metric: str, operator: str, number: float) -> str | None:
    """The word for cases whose mean of a metric is in a range; None if the filter has no word for the metric."""
    return f"{metric}{operator}{str(number).removesuffix('.0')}" if _KEY.fullmatch(metric) else None


def toggled(text: str, word: str) -> str:
    """A filter with a word added at its end, or without it if it is there. A filter that cannot be read is dropped."""
    words = words_of(text)
    changed = [each for each in words if each != word] if word in words else [*words, word]
    return " ".join(map(_quoted, changed))


def words_of(text: str) -> tuple[str, ...]:
    """The words of a filter, without quotes; none if it cannot be read."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        return ()


def _quoted(word: str) -> str:
    return shlex.quote(word) if not word or re.search(r"[\s'\"\\]", word) else word


def read_filter(text: str, metrics: Collection[str]) -> CaseFilter:
    """Parse a filter.

    Args:
        text: As typed.
        metrics: The names of the run's metrics: a comparison with one of them is about its mean.

    Raises:
        ConfigurationError: A word cannot be read; says which.
    """
    if len(text) > LONGEST:
        raise ConfigurationError(f"The filter has more than {LONGEST:,} characters. Shorten it.")
    try:
        words = shlex.split(text)
    except ValueError:
        raise ConfigurationError("A quotation mark in the filter is not closed. Close it, or leave it out.") from None
    found: dict[str, object] = {}
    lists: dict[str, list[object]] = {"problems": [], "flags": [], "metrics": [], "metadata": []}
    texts: list[str] = []
    for word in words:
        if word in PROBLEMS:
            lists["problems"].append(word)
        elif match := _COMPARED.fullmatch(word):
            _take(match, word, metrics, found, lists, texts)
        else:
            texts.append(word)
    if texts:
        found["text"] = " ".join(texts)
    return msgspec.convert({**found, **lists}, CaseFilter)


def _take(  # noqa: PLR0913, PLR0917 - where the parts of a filter go
    match: re.Match[str],
    word: str,
    metrics: Collection[str],
    found: dict[str, object],
    lists: dict[str, list[object]],
    texts: list[str],
) -> None:
    key, operator, value = match.groups()
    if operator in (":", "~") and key == "text":
        texts.append(value)
    elif operator == ":" and key == "flag":
        lists["flags"].append(value)
    elif operator == ":" and key in ("status", "error", "changed", "metric"):
        found["error_kind" if key == "error" else key] = _allowed(key, _CALLED.get(value, value))
    elif key in metrics and operator not in (":", "~"):
        condition = Condition(key, operator, value)  # type: ignore[arg-type]  # the pattern allows no other operator
        _ = condition.number  # refuses what is not a number
        lists["metrics"].append(condition)
    elif not value:
        raise ConfigurationError(f"The filter {word!r} has no value. Write {key}{operator}VALUE.")
    else:
        same = "=" if operator == ":" else operator
        lists["metadata"].append(Condition(key, same, value))  # type: ignore[arg-type]


def _allowed(key: str, value: str) -> str:
    known = {"status": get_args(CaseStatus), "changed": CHANGES}.get(key)
    if known is not None and value not in known:
        listed = ", ".join(_WRITTEN.get(each, each) for each in known)
        raise ConfigurationError(f"There is no {key} {value!r}. Known: {listed}.")
    if not value:
        raise ConfigurationError(f"The filter {key}: has no value. Write {key}:VALUE.")
    return value
