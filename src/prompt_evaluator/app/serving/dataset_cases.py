"""The cases of a dataset file as a table: a page of rows, or those that match a filter, and one case in full."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from prompt_evaluator.app.dataset_facts import problems_without_code
from prompt_evaluator.app.serving.case_table import ROWS, chosen_columns, shown_value
from prompt_evaluator.app.serving.row_span import RowSpan
from prompt_evaluator.datasets import cases_at, usable_cases
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import TestCase
from prompt_evaluator.model.case_filter import CaseFilter, filter_word, read_filter, toggled, words_of
from prompt_evaluator.model.condition import lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.app.dataset_facts import DatasetFacts
    from prompt_evaluator.model.condition import Condition
    from prompt_evaluator.model.dataset_api import DatasetPageQuery

_MOST_COLUMNS = 3
_SHORT = 60
"""Characters of a value that fits a column."""
HAS = "has"
"""`has:topic` finds cases with a value in this field."""
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_GUIDE = "guide"
_OF_RUNS = ("problems", "status", "error_kind", "flags", "metrics", "changed", "metric")


class DatasetFile(NamedTuple):
    """A file, and what it contains."""

    path: Path
    facts: DatasetFacts


class KnownCases(Protocol):
    """What takes long to find out about files, remembered by their content."""

    def whole(self, file: DatasetFile) -> Sequence[TestCase]:
        """All cases of a document, which can only be read whole."""

    def matching(self, file: DatasetFile, text: str) -> Sequence[int]:
        """Positions of the cases that match a filter, in file order."""


class CaseRow(NamedTuple):
    """One case of the table."""

    number: int
    """Counted from 1 in the file."""
    case: TestCase
    values: tuple[str, ...]
    """Of the columns."""
    checks: tuple[str, ...]


class Word(NamedTuple):
    """A word of the filter, and the filter without it."""

    word: str
    q: str


class FieldCount(NamedTuple):
    """A field of the file, and how many cases have a value in it."""

    name: str
    cases: int
    filter: str | None
    """Finds them; None if the filter has no word for it."""


class DatasetTable(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the table."""

    rows: tuple[CaseRow, ...]
    span: RowSpan
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    """Metadata to choose columns from."""
    words: tuple[Word, ...]
    suggestions: tuple[str, ...]
    problem: str | None
    """Why the filter cannot be used; all cases are shown then."""


class ShownCase(NamedTuple):
    """One case in full, and those beside it in the list."""

    number: int
    case: TestCase
    place: int | None
    """Within the filter, counted from 1."""
    of: int
    previous: int | None
    next: int | None


def read_whole(path: Path) -> tuple[TestCase, ...]:
    """All cases of a document that can be used."""
    return tuple(usable_cases(path, inspect=problems_without_code))


def find_matching(file: DatasetFile, text: str, cases: Iterable[TestCase] | None = None) -> array[int]:
    """Positions of the cases that match a filter; the file is read unless its cases are given."""
    fits = _test(read_filter(text, ()))
    every = usable_cases(file.path, file.facts.blocks, inspect=problems_without_code) if cases is None else cases
    return array("I", (at for at, case in enumerate(every) if fits(case)))


def dataset_table(file: DatasetFile, query: DatasetPageQuery, known: KnownCases) -> DatasetTable:
    """A page of the cases of a file."""
    positions, problem = _positions(file, query.q, known)
    shown = positions[query.start : query.start + ROWS]
    found = _cases(file, shown, known)
    keys = tuple(dict.fromkeys(key for _, case in found for key in case.metadata))
    columns = chosen_columns(query.columns, keys) or _usual(found, keys)
    return DatasetTable(
        rows=tuple(_row(at, case, columns) for at, case in found),
        span=RowSpan(query.start, len(found), len(positions), ROWS),
        columns=columns,
        keys=tuple(dict.fromkeys((*keys, *columns))),
        words=tuple(Word(word, toggled(query.q, word)) for word in words_of(query.q)) if not problem else (),
        suggestions=tuple(_suggestions(found, keys)),
        problem=problem,
    )


def field_counts(facts: DatasetFacts) -> tuple[FieldCount, ...]:
    """The fields as written. Those that are ours, and all of a file with problems, cannot be filtered by."""
    ours = facts.problem_count or facts.dialect != _GUIDE
    return tuple(
        FieldCount(name, count, None if ours or name in TestCase.__struct_fields__ else toggled("", f"{HAS}:{name}"))
        for name, count in facts.fields.items()
    )


def shown_case(file: DatasetFile, query: DatasetPageQuery, known: KnownCases) -> ShownCase | None:
    """The case at a place of the file; None if there is none."""
    at = (query.at or 0) - 1
    found = _cases(file, [at], known) if 0 <= at < file.facts.count else []
    if not found:
        return None
    positions, _ = _positions(file, query.q, known)
    place = _place(positions, at)
    before = None if place is None or not place else positions[place - 1] + 1
    after = None if place is None or place + 1 == len(positions) else positions[place + 1] + 1
    return ShownCase(at + 1, found[0][1], None if place is None else place + 1, len(positions), before, after)


def _positions(file: DatasetFile, text: str, known: KnownCases) -> tuple[Sequence[int], str | None]:
    """The cases on all pages, and what is wrong with the filter."""
    every = range(file.facts.count)
    if not text.strip():
        return every, None
    try:
        wanted = read_filter(text, ())
        _refuse_words_of_runs(wanted)
    except ConfigurationError as error:
        return every, str(error)
    return known.matching(file, text), None


def _place(positions: Sequence[int], at: int) -> int | None:
    try:
        return positions.index(at)
    except ValueError:
        return None


def _cases(file: DatasetFile, positions: Sequence[int], known: KnownCases) -> list[tuple[int, TestCase]]:
    if file.facts.blocks:
        found = cases_at(file.path, file.facts.blocks, positions, inspect=problems_without_code)
        return [(at, found[at]) for at in positions if at in found]
    whole = known.whole(file) if positions else ()
    return [(at, whole[at]) for at in positions if at < len(whole)]


def _refuse_words_of_runs(wanted: CaseFilter) -> None:
    if any(getattr(wanted, name) for name in _OF_RUNS):
        raise ConfigurationError(
            "A dataset has no results: words such as `failing`, `flag:` and `status:` are for the cases of a run. "
            "Filter by a text, or by metadata, such as topic:billing."
        )


def _test(wanted: CaseFilter) -> Callable[[TestCase], bool]:
    part = (wanted.text or "").casefold()

    def fits(case: TestCase) -> bool:
        if part and not any(part in text.casefold() for text in _texts(case)):
            return False
        return all(_holds(each, case) for each in wanted.metadata)

    return fits


def _holds(wanted: Condition, case: TestCase) -> bool:
    if wanted.field == HAS:
        return case.metadata.get(wanted.value) not in _NOTHING
    return wanted.holds(_value(case, wanted.field))


def _texts(case: TestCase) -> Iterator[str]:
    yield from (case.id, case.input)
    yield from case.all_references
    yield from (message.content for message in case.messages)


def _value(case: TestCase, key: str) -> Any:
    if key not in case.metadata and key in ("id", "reference", "check"):
        return {"id": case.id, "reference": case.reference, "check": _check_names(case)}[key]
    return lookup(case.metadata, key)


def _check_names(case: TestCase) -> list[str]:
    return list(dict.fromkeys(use.key for use in case.checks))


def _usual(found: Sequence[tuple[int, TestCase]], keys: Sequence[str]) -> tuple[str, ...]:
    """The first metadata with short values."""
    cases = [case for _, case in found]
    short = [key for key in keys if all(len(shown_value(case.metadata.get(key))) <= _SHORT for case in cases)]
    return tuple(short[:_MOST_COLUMNS])


def _row(at: int, case: TestCase, columns: Sequence[str]) -> CaseRow:
    values = tuple(shown_value(_value(case, key)) for key in columns)
    return CaseRow(at + 1, case, values, tuple(_check_names(case)))


def _suggestions(found: Sequence[tuple[int, TestCase]], keys: Sequence[str]) -> Iterator[str]:
    """Words of the filter that fit what the page shows."""
    for key in keys:
        texts = [shown_value(case.metadata.get(key)) for _, case in found]
        values = dict.fromkeys(text for text in texts if 0 < len(text) <= _SHORT)
        words = [word for value in values if (word := filter_word(key, value))]
        yield from (toggled("", word) for word in words) if len(values) < len(texts) else (f"{key}:" for _ in words[:1])
    checks = dict.fromkeys(name for _, case in found for name in _check_names(case))
    yield from (toggled("", f"check:{name}") for name in checks)
    yield from ("text~", "id~")
