"""Maintenance of stored runs: rebuilding their files and deleting them."""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING

from prompt_evaluator.app.outcomes import rebuild
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import ConfigurationError, RunBusyError
from prompt_evaluator.store.artifacts import RunFolder, forget_in_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunRecord


def delete_run(settings: Settings, run_id: str, *, with_labels: bool = False) -> RunRecord:
    """Delete a run from the store, its files and its index entry.

    Refused while the run is in progress, and if its answers have labels, unless `with_labels`.
    """
    with closing(open_store(settings)) as store:
        record = store.run(run_id)
        if not record.plan.run_id.startswith(run_id):
            raise ConfigurationError(
                f"{run_id} means run {record.plan.run_id} now, and another one later. To delete it, give its id."
            )
        store.delete_run(record.plan.run_id, with_labels=with_labels)
    shutil.rmtree(RunFolder(record).path, ignore_errors=True)
    forget_in_index(record)
    return record


def rebuild_runs(settings: Settings, run_id: str | None) -> Iterator[RunRecord]:
    """Rebuild the artifacts of one run, or of all runs, and the index from the store."""
    with closing(open_store(settings)) as store:
        for record in [store.run(run_id)] if run_id else store.runs():
            try:
                yield rebuild(store, record).record
            except RunBusyError:
                if run_id:
                    raise
