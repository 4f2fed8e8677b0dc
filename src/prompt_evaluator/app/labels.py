"""Adds human labels to the store, one by one or from files, and exports them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.labelling.checks import LabelledRun, NewLabel, one_case, several_cases
from prompt_evaluator.app.labelling.files import label_lines, read_labels
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import InputError, InvalidLabelError, UnknownNameError
from prompt_evaluator.model.label import newest_labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import Label, LabelKey
    from prompt_evaluator.store import Store


class ImportedLabels(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an import."""

    added: int
    already_there: int


def import_labels(settings: Settings, path: Path, *, reviewer: str | None = None) -> ImportedLabels:
    """Add the labels of a file to the store: all of them, or none if any is wrong.

    Labels already in the store are not added again, so an import can be repeated.
    """
    labels = read_labels(path, reviewer)
    with closing(open_store(settings)) as store:
        checked = _checked(path, labels, store)
        runs = sorted({label.run_id for _, label in checked})
        new = _unknown(checked, [label for run_id in runs for label in store.labels(run_id)])
        store.add_labels(new)
    return ImportedLabels(added=len(new), already_there=len(checked) - len(new))


def add_label(settings: Settings, new: NewLabel) -> Label:
    """Add one label, or return the stored one if the reviewer already says the same.

    A new opinion of the same reviewer is another label: the earlier one stays, and the newer one counts.

    Raises:
        UnknownNameError: There is no such run, or the run has no such case or score.
        InvalidLabelError: The label does not fit the run; names the field.
    """
    with closing(open_store(settings)) as store:
        record = store.run(new.run_id)
        label = one_case(store, record, new.case_id).label(new, now=now())
        stored = store.labels(record.plan.run_id, case_id=new.case_id)
        if not _unknown([(new, label)], stored):
            return newest_labels(stored)[label.key]
        store.add_labels([label])
        return label


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
    return label_lines(list_labels(settings, run_id), kind)


def _checked(path: Path, labels: Sequence[tuple[int, NewLabel]], store: Store) -> list[tuple[NewLabel, Label]]:
    """Check each label against its run and the lines before it."""
    cases: dict[str, dict[str, None]] = {}
    for _, new in labels:
        cases.setdefault(new.run_id, {})[new.case_id] = None
    runs: dict[str, LabelledRun] = {}
    checked = []
    earlier = _Lines()
    moment = now()
    for line, new in labels:
        try:
            if new.run_id not in runs:
                runs[new.run_id] = several_cases(store, store.run(new.run_id), list(cases[new.run_id]))
            label = runs[new.run_id].label(new, now=moment)
            earlier.add(line, new, label)
        except (UnknownNameError, InvalidLabelError) as error:
            raise InputError(str(error).removesuffix("."), path=path, line=line) from None
        checked.append((new, label))
    return checked


class _Lines:
    """The labels of the lines of a file so far."""

    def __init__(self) -> None:
        self._seen: dict[Label, int] = {}
        self._latest: dict[LabelKey, tuple[int, NewLabel]] = {}

    def add(self, line: int, new: NewLabel, label: Label) -> None:
        """Refuse the same label twice, and two different ones if it is unknown which is newer."""
        if label in self._seen:
            what = f"Duplicate label (first at line {self._seen[label]})"
            raise InvalidLabelError(what, advice="Remove one of them.")
        first, before = self._latest.get(label.key, (line, new))
        if before is not new and not (before.created_at and new.created_at):
            what = f"A second score by {label.reviewer!r} for the same sample and metric (first at line {first})"
            advice = "Keep the correct one, or add created_at to say when each was given."
            raise InvalidLabelError(what, advice=advice)
        self._seen[label] = line
        self._latest[label.key] = (line, new)


def _unknown(checked: Sequence[tuple[NewLabel, Label]], stored: Sequence[Label]) -> list[Label]:
    """Labels that are not in the store. A label without a time is new if it differs from the newest stored one."""
    known, newest = set(stored), newest_labels(stored)
    unknown = []
    for new, label in checked:
        before = newest.get(label.key)
        if new.created_at or before is None:
            same = label in known
        else:
            same = msgspec.structs.replace(label, created_at=before.created_at) == before
        if not same:
            unknown.append(label)
    return unknown
