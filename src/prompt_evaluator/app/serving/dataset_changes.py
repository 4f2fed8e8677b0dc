"""What changed in a dataset between two runs: cases that were added, removed or changed, and how they read now."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.app.serving.case_table import ROWS
from prompt_evaluator.app.serving.row_span import RowSpan
from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.compare.text_diff import Part, PathChange, json_diff, shortened, word_diff
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.api import ApiRun
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import TestCase
    from prompt_evaluator.model.dataset_api import CaseChange, CaseDifferences, DatasetPageQuery

_MOST_TEXT = 20_000
_ELSEWHERE = ("id", "input", "file", "line")
"""Fields of a case that are shown in another way, or say only where it was."""


class KnownDifferences(Protocol):
    """Remembers how the cases of two runs differ: they never change."""

    def differences(self, before: str, after: str) -> CaseDifferences:
        """By whole ids."""


class ChangedCase(NamedTuple):
    """One case that only one of the runs has, or that differs between them."""

    kind: CaseChange
    case_id: str
    input: tuple[Part | int, ...]
    """Its text in pieces; a number means that many equal lines."""
    fields: tuple[PathChange, ...]
    """What else differs."""


class ChangeChip(NamedTuple):
    """A kind of change, and how many cases have it."""

    kind: str
    number: int


class DatasetChanges(msgspec.Struct, frozen=True, kw_only=True):
    """How the cases of two runs differ."""

    before: ApiRun
    after: ApiRun
    headline: str
    notes: tuple[str, ...]
    chips: tuple[ChangeChip, ...]
    rows: tuple[ChangedCase, ...]
    span: RowSpan
    command: str


def dataset_changes(
    settings: Settings, name: str, query: DatasetPageQuery, known: KnownDifferences
) -> DatasetChanges | None:
    """How the cases of two runs of a dataset differ; None unless two are named.

    Raises:
        ConfigurationError: There is no such run, it is one of another dataset, or both are the same.
    """
    if not query.before.strip() or not query.after.strip():
        return None
    runs = [run_answer(settings, whole_id(settings, each)) for each in (query.before, query.after)]
    _refuse(name, runs)
    before, after = runs
    found = known.differences(before.id, after.id)
    wanted = [each for each in _listed(found) if query.show in ("all", each[0])]
    rows = tuple(_rows(settings, runs, wanted[query.from_ : query.from_ + ROWS]))
    return DatasetChanges(
        before=before,
        after=after,
        headline=_headline(before, after, found),
        notes=tuple(_notes(settings, runs)),
        chips=(
            ChangeChip("all", len(found.added) + len(found.removed) + len(found.changed)),
            *(ChangeChip(kind, len(getattr(found, kind))) for kind in ("changed", "added", "removed")),
        ),
        rows=rows,
        span=RowSpan(query.from_, len(rows), len(wanted), ROWS),
        command=join(["prompt-evaluator", "compare", before.id, after.id, "--allow-different"]),
    )


def _refuse(name: str, runs: Sequence[ApiRun]) -> None:
    for run in runs:
        if run.dataset != name:
            of = f"the dataset {run.dataset!r}" if run.dataset else "cases that did not come from a file"
            raise ConfigurationError(f"Run {run.id[:8]} is of {of}, not of {name!r}. Choose another run.")
    if runs[0].id == runs[1].id:
        raise ConfigurationError("Both runs are the same. Choose two different runs.")


def _listed(found: CaseDifferences) -> list[tuple[CaseChange, str]]:
    """Changed cases first: they are why scores of the same case differ."""
    changed: list[tuple[CaseChange, str]] = [("changed", each) for each in found.changed]
    return changed + [("added", each) for each in found.added] + [("removed", each) for each in found.removed]


def _headline(before: ApiRun, after: ApiRun, found: CaseDifferences) -> str:
    counts = ((len(found.changed), "changed"), (len(found.added), "added"), (len(found.removed), "removed"))
    said = [f"{number:,} {word}" for number, word in counts if number]
    if said:
        return f"{', '.join(said)}, {found.same:,} the same."
    same = before.dataset_hash == after.dataset_hash
    where = "the files are equal" if same else "only its layout, its comments or what is beside the cases differs"
    return f"All {many(found.same, 'case')} are the same; {where}."


def _notes(settings: Settings, runs: Sequence[ApiRun]) -> list[str]:
    """Runs that used a part of their file: cases that they left out look as if they were added or removed."""
    store = open_store(settings)
    found = []
    for word, run in zip(("before", "after"), runs, strict=True):
        used = store.run(run.id).plan.dataset
        if used.selected < used.count:
            of = f"{used.selected:,} of the {many(used.count, 'case')} of its file"
            found.append(f"The run {word} used {of}: those that it left out are counted here as not there.")
    return found


def _rows(settings: Settings, runs: Sequence[ApiRun], wanted: Sequence[tuple[CaseChange, str]]) -> list[ChangedCase]:
    store, ids = open_store(settings), [case_id for _, case_id in wanted]
    before, after = (store.cases_by_id(run.id, ids) for run in runs)
    return [_row(kind, case_id, before.get(case_id), after.get(case_id)) for kind, case_id in wanted]


def _row(kind: CaseChange, case_id: str, before: TestCase | None, after: TestCase | None) -> ChangedCase:
    if before is None or after is None:
        case = before or after
        text = case.input[:_MOST_TEXT] if case else ""
        return ChangedCase(kind, case_id, (Part("removed" if kind == "removed" else "added", text),), ())
    parts = shortened(word_diff(before.input[:_MOST_TEXT], after.input[:_MOST_TEXT]))
    fields = json_diff(*(msgspec.json.encode(_others(case)).decode() for case in (before, after)))
    return ChangedCase(kind, case_id, tuple(parts), tuple(fields or ()))


def _others(case: TestCase) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(case)
    return {name: value for name, value in found.items() if name not in _ELSEWHERE and value not in (None, [], {}, ())}
