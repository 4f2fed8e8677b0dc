"""Brings a store to the schema revision of this version."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from prompt_evaluator.app.stores import fill_results
from prompt_evaluator.model.upkeep import Migration
from prompt_evaluator.store import Store
from prompt_evaluator.store.schema import HEAD

if TYPE_CHECKING:
    from pathlib import Path


def migrate_store(location: Path | str) -> Migration:
    """Migrate a store, and say what that changed. Two processes that do this at once do it once.

    Raises:
        RunBusyError: Runs are in progress.
        StoreError: There is no store, or it is newer than this version.
    """
    with closing(Store.open(location, fill=fill_results, upgrade="always")) as store:
        return store.migration or Migration(store=store.where, before=HEAD, after=HEAD)
