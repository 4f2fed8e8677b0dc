"""What changed in a dataset between two runs or since one: cases added, removed or changed, and how they read now."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.app.serving.case_table import ROWS
from prompt_evaluator.app.serving.dataset_cases import DatasetFile, KnownCases, every_case
from prompt_evaluator.app.serving.row_span import RowSpan
from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.compare.text_diff import Part, PathChange, json_diff, shortened, word_diff
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.api import ApiRun
from prompt_evaluator.model.dataset_api import FILE
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import TestCase
    from prompt_evaluator.model.dataset_api import CaseChange, CaseDifferences, DatasetPageQuery

_MOST_TEXT = 20_000
_ELSEWHERE = ("id", "input", "file", "line")
"""Fields of a case that are shown in another way, or say only where it was."""


class KnownDifferences(KnownCases, Protocol):
    """Remembers how the cases of two runs differ: they never change. So do those of a file's content."""

    def differences(self, before: str, after: str | DatasetFile) -> CaseDifferences:
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
    after: ApiRun | None
    """None for the file as it is now."""
    headline: str
    notes: tuple[str, ...]
    chips: tuple[ChangeChip, ...]
    rows: tuple[ChangedCase, ...]
    span: RowSpan
    command: str | None
    """Compares the runs."""


def dataset_changes(
    settings: Settings, name: str, query: DatasetPageQuery, known: KnownDifferences, file: DatasetFile | None
) -> DatasetChanges | None:
    """How the cases of two runs of a dataset differ, or those of a run and of the file; None unless two are named.

    Raises:
        ConfigurationError: There is no such run or no file, it is a run of another dataset, or both are the same.
    """
    if not query.before.strip() or not query.after.strip():
        return None
    before, after = _run(settings, name, query.before), _after(settings, name, query, file)
    if after == before:
        raise ConfigurationError("Both runs are the same. Choose two different runs.")
    found = known.differences(before.id, after.id if isinstance(after, ApiRun) else after)
    wanted = [each for each in _listed(found) if query.show in ("all", each[0])]
    shown = wanted[query.from_ : query.from_ + ROWS]
    old, new = (_cases(settings, each, [case_id for _, case_id in shown], known) for each in (before, after))
    rows = tuple(_row(kind, case_id, old.get(case_id), new.get(case_id)) for kind, case_id in shown)
    run = after if isinstance(after, ApiRun) else None
    return DatasetChanges(
        before=before,
        after=run,
        headline=_headline(found, same_file=_digest(before) == _digest(after)),
        notes=(*_notes(settings, "before", before), *_notes(settings, "after", after)),
        chips=(
            ChangeChip("all", len(found.added) + len(found.removed) + len(found.changed)),
            *(ChangeChip(kind, len(getattr(found, kind))) for kind in ("changed", "added", "removed")),
        ),
        rows=rows,
        span=RowSpan(query.from_, len(rows), len(wanted), ROWS),
        command=join(["prompt-evaluator", "compare", before.id, run.id, "--allow-different"]) if run else None,
    )


def _run(settings: Settings, name: str, called: str) -> ApiRun:
    run = run_answer(settings, whole_id(settings, called))
    if run.dataset != name:
        of = f"the dataset {run.dataset!r}" if run.dataset else "cases that did not come from a file"
        raise ConfigurationError(f"Run {run.id[:8]} is of {of}, not of {name!r}. Choose another run.")
    return run


def _after(settings: Settings, name: str, query: DatasetPageQuery, file: DatasetFile | None) -> ApiRun | DatasetFile:
    if query.after != FILE:
        return _run(settings, name, query.after)
    if file is None:
        raise ConfigurationError("There is no file with cases to compare the run with. Choose another run.")
    return file


def _listed(found: CaseDifferences) -> list[tuple[CaseChange, str]]:
    """Changed cases first: they are why scores of the same case differ."""
    changed: list[tuple[CaseChange, str]] = [("changed", each) for each in found.changed]
    return changed + [("added", each) for each in found.added] + [("removed", each) for each in found.removed]


def _digest(of: ApiRun | DatasetFile) -> str | None:
    if isinstance(of, ApiRun):
        return of.dataset_hash and of.dataset_hash.removeprefix("sha256:")
    return of.facts.hash


def _headline(found: CaseDifferences, *, same_file: bool) -> str:
    counts = ((len(found.changed), "changed"), (len(found.added), "added"), (len(found.removed), "removed"))
    said = [f"{number:,} {word}" for number, word in counts if number]
    if said:
        return f"{', '.join(said)}, {found.same:,} the same."
    where = "the files are equal" if same_file else "only its layout, its comments or what is beside the cases differs"
    return f"All {many(found.same, 'case')} are the same; {where}."


def _notes(settings: Settings, word: str, of: ApiRun | DatasetFile) -> list[str]:
    """Cases that were left out look as if they were added or removed."""
    if not isinstance(of, ApiRun):
        if not of.facts.problem_count:
            return []
        return [f"The file has {many(of.facts.problem_count, 'problem')}: cases that cannot be used are not counted."]
    used = open_store(settings).run(of.id).plan.dataset
    if used.selected == used.count:
        return []
    part = f"{used.selected:,} of the {many(used.count, 'case')} of its file"
    return [f"The run {word} used {part}: those that it left out are counted here as not there."]


def _cases(settings: Settings, of: ApiRun | DatasetFile, ids: Sequence[str], known: KnownCases) -> dict[str, TestCase]:
    """Those of these cases that are there."""
    if isinstance(of, ApiRun):
        return open_store(settings).cases_by_id(of.id, ids)
    wanted = {*ids}
    return {case.id: case for case in every_case(of, known) if case.id in wanted} if wanted else {}


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
