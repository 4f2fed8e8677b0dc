"""Changes the tags and the note of a stored run, in the store and in its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from sqlalchemy import select, update

from prompt_evaluator.model import REDACTOR, RunPlan
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.artifacts import INDEX_FILE, RunFolder, update_index
from prompt_evaluator.store.files import atomic, own_ending, sentences
from prompt_evaluator.store.run_names import unknown_run
from prompt_evaluator.store.run_rows import plan_bytes, plan_columns
from prompt_evaluator.store.schema import RUNS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import IO

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.result import RunResult

_CASES = b',\n  "test_case_results": ['
"""Begins the part of a main file with the cases. A line break is never inside a JSON text, so this occurs once."""
_COPIED_AT_ONCE = 1 << 20
_decode = msgspec.json.Decoder(RunPlan).decode


class Description(NamedTuple):
    """What people may change of a run at any time."""

    tags: dict[str, str]
    note: str | None


class RunEdits(Access):
    """The part of the store that changes plans."""

    def describe_run(self, run_id: str, change: Callable[[Description], Description]) -> RunPlan:
        """Change the tags and the note of a run, and return its plan. Nothing is lost if others do the same."""

        def described(plan: RunPlan) -> RunPlan:
            return msgspec.structs.replace(plan, **change(Description(plan.tags, plan.note))._asdict())

        return self._change_plan(run_id, described)

    def description(self, run_id: str) -> Description:
        """The tags and the note of a run as they are now; people may change them while it is in progress."""
        with self._read() as connection:
            row = connection.execute(select(RUNS.c.tags, RUNS.c.note).where(RUNS.c.run_id == run_id)).first()
            if row is None:
                raise unknown_run(connection, run_id)
        return Description(msgspec.json.decode(row.tags, type=dict[str, str]) if row.tags else {}, row.note)

    def replace_plan(self, plan: RunPlan) -> None:
        """Keep a plan in place of the run's own, from which it differs only in what results are held to.

        Tags and note stay as they are in the store: they may have been changed since the plan was read.
        """
        self._change_plan(plan.run_id, lambda stored: msgspec.structs.replace(plan, tags=stored.tags, note=stored.note))

    def _change_plan(self, run_id: str, change: Callable[[RunPlan], RunPlan]) -> RunPlan:
        this = RUNS.c.run_id == run_id
        with self._write_run(run_id) as connection:
            data = connection.scalar(select(RUNS.c.plan).where(this).with_for_update())
            if data is None:
                raise unknown_run(connection, run_id)
            with self._readable(run_id):
                plan = change(_decode(data))
            columns = {name: value for name, value in plan_columns(plan).items() if name in ("tags", "note")}
            connection.execute(update(RUNS).where(this).values(plan=plan_bytes(plan), **columns))
        return plan


def describe_files(record: RunRecord, result: RunResult | None) -> None:
    """Write the tags and the note of a run to its main file and its entry in the index, if these exist."""
    main_file = RunFolder(record).main_file
    if main_file.exists():
        _rewrite_head(main_file, {"run_notes": record.plan.note, "tags": record.plan.tags})
    if (main_file.parent.parent / INDEX_FILE).exists():
        update_index(record, result)


def _rewrite_head(path: Path, values: dict[str, object]) -> None:
    """Replace values before the cases. The cases are copied as they are: there may be gigabytes."""
    with sentences(path.parent), path.open("rb") as file:
        head = _read_head(file)
        if head is None:
            return  # not as we write it: somebody's own file now
        known = msgspec.json.decode(head + b"\n}")
        if all(known.get(name) == value for name, value in values.items()):
            return
        changed = msgspec.json.format(REDACTOR.json(msgspec.json.encode({**known, **values})), indent=2)
        file.seek(len(head))
        with atomic(path, own_ending()) as copy:
            copy.write(changed.removesuffix(b"\n}"))
            while part := file.read(_COPIED_AT_ONCE):
                copy.write(part)


def _read_head(file: IO[bytes]) -> bytes | None:
    """What comes before the cases; None if there is no such place in the file."""
    found = b""
    while part := file.read(_COPIED_AT_ONCE):
        start = max(0, len(found) - len(_CASES))
        found += part
        if (end := found.find(_CASES, start)) >= 0:
            return found[:end]
    return None
