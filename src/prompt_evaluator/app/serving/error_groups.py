"""The errors of runs, grouped by their kind and the pattern of their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.serving.run_answers import answers_of
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.case_filter import toggled
from prompt_evaluator.model.error_pattern import error_name, error_pattern, pattern_id
from prompt_evaluator.model.run_filter import read_run_filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.api import ApiRun
    from prompt_evaluator.store.error_query import ErrorLine

LOOKED_AT = 100
"""Runs, the newest ones."""
_MOST_RUNS = 30
"""Of them, those with errors whose errors are read."""
MOST_GROUPS = 100


class ErrorGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of one run that have the same kind and pattern."""

    kind: str
    metric: str | None
    """The metric that failed; None if there is no answer."""
    model: str | None
    """The model that was asked: the judge, if a metric failed."""
    pattern: str
    """The message without ids, numbers and times."""
    example: str
    """The first message, as it is."""
    case_id: str
    """Where it happened first."""
    samples: int
    cases: int
    first: str | None
    last: str | None
    """When the first and the last of its cases ended."""
    q: str
    """The filter that shows its cases."""


class RunPart(NamedTuple):
    """What one run has of a group."""

    run: ApiRun
    group: ErrorGroup


class SharedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Errors of several runs that have the same kind and pattern."""

    parts: tuple[RunPart, ...]
    """The newest run first."""

    @property
    def newest(self) -> ErrorGroup:
        return self.parts[0].group

    @property
    def samples(self) -> int:
        return sum(part.group.samples for part in self.parts)

    @property
    def cases(self) -> int:
        return sum(part.group.cases for part in self.parts)

    @property
    def first(self) -> str | None:
        return min(_times(part.group.first for part in self.parts), default=None)

    @property
    def last(self) -> str | None:
        return max(_times(part.group.last for part in self.parts), default=None)

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part.group.model for part in self.parts if part.group.model))


class RecentErrors(msgspec.Struct, frozen=True, kw_only=True):
    """The errors of recent runs."""

    groups: tuple[SharedGroup, ...]
    """The most frequent first."""
    looked_at: int
    """Runs that match."""
    with_errors: int
    read: int
    """Runs whose errors are in the groups: the newest with errors."""


class _Counted:
    """What is counted while the errors of a run are read."""

    __slots__ = ("cases", "first", "line", "samples", "times")

    def __init__(self, line: ErrorLine) -> None:
        self.line, self.samples = line, 0
        self.cases: set[int] = set()
        self.times: list[str | None] = [line.ended_at, line.ended_at]

    def add(self, line: ErrorLine) -> None:
        self.samples += 1
        self.cases.add(line.position)
        if line.ended_at:
            known = [*_times(self.times), line.ended_at]
            self.times = [min(known), max(known)]


def error_groups(settings: Settings, run: ApiRun) -> tuple[ErrorGroup, ...]:
    """The errors of a run, the most frequent first. Reads its cases with errors."""
    found: dict[tuple[str, str], _Counted] = {}
    for line in open_store(settings).error_lines(run.id):
        key = (line.kind, pattern_id(line.message))
        if key not in found:
            found[key] = _Counted(line)
        found[key].add(line)
    return tuple(sorted((_group(run, each) for each in found.values()), key=lambda group: -group.samples))


def recent_errors(settings: Settings, q: str, groups_of: Callable[[ApiRun], Sequence[ErrorGroup]]) -> RecentErrors:
    """The errors of the newest runs that match a filter.

    Args:
        settings: Name the store.
        q: The filter, as in the table of runs.
        groups_of: Finds the errors of a run, or remembers.

    Raises:
        ConfigurationError: The filter cannot be read.
    """
    _, page = answers_of(settings, read_run_filter(q), "age", LOOKED_AT, None)
    affected = [run for run in page.runs if run.errors]
    shared: dict[tuple[str, str], list[RunPart]] = {}
    for run in affected[:_MOST_RUNS]:
        for group in groups_of(run):
            shared.setdefault((group.kind, group.pattern), []).append(RunPart(run, group))
    merged = [SharedGroup(parts=tuple(parts)) for parts in shared.values()]
    return RecentErrors(
        groups=tuple(sorted(merged, key=lambda group: -group.samples)),
        looked_at=len(page.runs),
        with_errors=len(affected),
        read=min(len(affected), _MOST_RUNS),
    )


def _group(run: ApiRun, found: _Counted) -> ErrorGroup:
    line = found.line
    return ErrorGroup(
        kind=line.kind,
        metric=line.metric,
        model=(run.judge or run.model) if line.metric else run.model,
        pattern=error_pattern(line.message),
        example=line.message,
        case_id=line.case_id,
        samples=found.samples,
        cases=len(found.cases),
        first=found.times[0],
        last=found.times[1],
        q=toggled("", f"error:{error_name(line.kind, line.message)}"),
    )


def _times(times: Iterable[str | None]) -> list[str]:
    return [time for time in times if time]
