"""Adds human labels to the store, one by one or from files, and exports them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.labelling.checks import hint, one_case, several_cases
from prompt_evaluator.app.labelling.files import label_lines, read_label, read_labels
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import InvalidLabelError, UnknownNameError
from prompt_evaluator.model.label import newest_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.app.labelling.files import LabelLine
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import Label, RunRecord
    from prompt_evaluator.store import Store


class ImportedLabels(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import."""

    added: int
    already_there: int


class NewLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A person's score of one sample, before it is checked."""

    run_id: str
    """A run's name."""
    case_id: str
    sample: int
    """Starts at 0."""
    metric: str
    """The name of a metric, or of one of the rubric's criteria or flags."""
    value: float
    """On the metric's scale; 0 or 1 for a flag."""
    reviewer: str
    attempt: int | None = None
    """By default, the attempt that counts."""
    comment: str = ""
    judge_seen: bool | None = None
    probability: float | None = None
    answer_hash: str | None = None
    """Of the answer that the reviewer saw. If it is given, a label of another answer is refused."""
    rubric_hash: str | None = None
    """The same for the rubric."""


class CheckedLabel(NamedTuple):
    """A label that fits its run."""

    label: Label
    """The new one, or the stored one that says the same."""
    added: tuple[Label, ...]
    """What is to be added: the label, or nothing."""


class _Checked(NamedTuple):
    line: LabelLine
    label: Label


def import_labels(settings: Settings, path: Path, *, reviewer: str | None = None) -> ImportedLabels:
    """Add the labels of a file to the store: all of them, or none if any is wrong.

    Labels already in the store are not added again, so an import can be repeated.
    """
    lines = read_labels(path, reviewer)
    store = open_store(settings)
    try:
        checked = _checked(lines, store)
        _refuse_repeated(checked)
        runs = sorted({label.run_id for _, label in checked})
        new = _new(checked, [label for run_id in runs for label in store.labels(run_id)])
        store.add_labels(new)
    finally:
        store.close()
    return ImportedLabels(added=len(new), already_there=len(checked) - len(new))


def add_label(settings: Settings, new: NewLabel) -> Label:
    """Add one label, or return the stored one if the reviewer already says the same.

    A new opinion of the same reviewer is another label: the earlier one stays, and the newer one counts.

    Raises:
        UnknownNameError: There is no such run, or the run has no such case.
        InvalidLabelError: The label does not fit the run; names the field.
    """
    with closing(open_store(settings)) as store:
        found = checked_label(store, new)
        store.add_labels(found.added)
    return found.label


def checked_label(store: Store, new: NewLabel) -> CheckedLabel:
    """Check one label against its run, and see whether the reviewer already says the same; adds nothing.

    Raises:
        UnknownNameError: There is no such run, or the run has no such case.
        InvalidLabelError: The label does not fit the run; names the field.
    """
    if not new.reviewer.strip():
        raise InvalidLabelError("The label has no reviewer", advice="Say who gave it.", field="reviewer")
    line = read_label({**msgspec.structs.asdict(new), "test_case_id": new.case_id, "sample": new.sample + 1})
    record = store.run(new.run_id)
    label = one_case(store, record, line.case_id).label(line, now=now())
    stored = store.labels(record.plan.run_id, case_id=line.case_id)
    added = _new([_Checked(line, label)], stored)
    return CheckedLabel(label if added else newest_labels(stored)[label.key], tuple(added))


def list_labels(settings: Settings, run_id: str | None = None) -> list[Label]:
    """Labels of a run, or of all runs, in the order they were added, including superseded ones.

    Raises:
        UnknownNameError: There is no such run.
    """
    with closing(open_store(settings)) as store:
        return store.labels(None if run_id is None else store.full_id(run_id))


def export_labels(settings: Settings, run_id: str | None, kind: str) -> Iterator[bytes]:
    """The labels of a run, or of all runs, one per line, as `jsonl` or `csv`, including superseded ones.

    Raises `UnknownNameError` for an unknown run when called, not on the first line.
    """
    store = open_store(settings)
    try:
        labels = store.labels(store.run(run_id).plan.run_id if run_id is not None else None)
    finally:
        store.close()
    return label_lines(labels, kind)


def _checked(lines: Sequence[LabelLine], store: Store) -> list[_Checked]:
    records: dict[str, RunRecord] = {}
    cases: dict[str, list[str]] = {}
    for line in lines:
        if line.run_id not in records:
            records[line.run_id] = _run(line, store)
        cases.setdefault(line.run_id, []).append(line.case_id)
    runs = {name: several_cases(store, records[name], list(dict.fromkeys(ids))) for name, ids in cases.items()}
    moment = now()
    return [_Checked(line, runs[line.run_id].label(line, now=moment)) for line in lines]


def _run(line: LabelLine, store: Store) -> RunRecord:
    try:
        return store.run(line.run_id)
    except UnknownNameError as error:
        raise line.where.problem(f"There is no run {line.run_id!r}", advice=hint(error), field="run_id") from None


def _refuse_repeated(checked: Sequence[_Checked]) -> None:
    """Refuse the same label twice, and two different ones if it is unknown which is newer."""
    seen: dict[Label, LabelLine] = {}
    latest: dict[tuple[object, ...], LabelLine] = {}
    for line, label in checked:
        if (first := seen.setdefault(label, line)) is not line:
            note = f"first at {first.where.label}"
            raise line.where.problem("Duplicate label", note=note, advice="Remove one of them.")
        before = latest.get(label.key)
        if before and not (before.created_at and line.created_at):
            what = f"A second score by {label.reviewer!r} for the same sample and metric"
            advice = "Keep the correct one, or add created_at to say when each was given."
            raise line.where.problem(what, note=f"first at {before.where.label}", advice=advice)
        latest[label.key] = line


def _new(checked: Sequence[_Checked], stored: Sequence[Label]) -> list[Label]:
    """Labels that are not in the store. A label without a time is new if it differs from the newest stored one."""
    known, newest = set(stored), newest_labels(stored)
    new = []
    for line, label in checked:
        before = newest.get(label.key)
        if line.created_at or before is None:
            same = label in known
        else:
            same = msgspec.structs.replace(label, created_at=before.created_at) == before
        if not same:
            new.append(label)
    return new
