"""Changes what people say about a run: its tags and its note."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING

from msgspec import UNSET

from prompt_evaluator.app.run_queries import interrupted_runs
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import ConfigurationError, RunBusyError, UnknownNameError
from prompt_evaluator.store.run_edits import Description, describe_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from msgspec import UnsetType

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.store import Store

_MOMENTS, _PAUSE = 5.0, 0.02
_MOST_TAGS = 100
_LONGEST_KEY, _LONGEST_VALUE, _LONGEST_NOTE = 200, 1_000, 10_000


def edit_run(
    settings: Settings,
    run_id: str,
    *,
    tags: Mapping[str, str | None] | None = None,
    note: str | UnsetType | None = UNSET,
) -> RunLine:
    """Change tags and note of a run, also while it is in progress, in the store, in its main file and in the index.

    Args:
        settings: Of the store.
        run_id: A run's name.
        tags: Tags to set; None removes one. Others stay.
        note: Replaces the note; None removes it.

    Raises:
        UnknownNameError: There is no such run, or it has no such tag to remove.
        ConfigurationError: A tag or the note is not allowed.
    """
    _check(tags or {}, note)
    with closing(open_store(settings)) as store:
        full = store.full_id(run_id)
        store.describe_run(full, lambda before: _changed(before, tags or {}, note))
        _write_files(store, full)
        return store.run_line(full, interrupted=interrupted_runs(store))


def _changed(before: Description, tags: Mapping[str, str | None], note: str | UnsetType | None) -> Description:
    for key, value in tags.items():
        if value is None and key not in before.tags:
            raise UnknownNameError("tag", key, before.tags)
    kept = {key: value for key, value in {**before.tags, **tags}.items() if value is not None}
    if len(kept) > _MOST_TAGS:
        raise ConfigurationError(f"A run may have {_MOST_TAGS} tags. Remove some.")
    return Description(kept, before.note if note is UNSET else note or None)


def _write_files(store: Store, run_id: str) -> None:
    """Write the files, unless the process that works on the run does.

    Such a process looks for a change for the last time after it has set the status, just before it is done. A change
    that it does not see is made after that: the status no longer is `running`, and the run is free within moments,
    which are waited for.
    """
    until = time.monotonic() + _MOMENTS
    while not (store.run(run_id).status == "running" and store.owner(run_id) is not None):
        with suppress(RunBusyError), store.own(run_id):
            describe_files(store.run(run_id), store.run_line(run_id).summary)
            return
        if time.monotonic() > until:
            return  # it is being rebuilt, say, and its files are written then
        time.sleep(_PAUSE)


def _check(tags: Mapping[str, str | None], note: str | UnsetType | None) -> None:
    for key, value in tags.items():
        if not key or "=" in key:
            raise ConfigurationError(f"The name of a tag is {key!r}. Write a name without an equals sign.")
        if len(key) > _LONGEST_KEY or len(value or "") > _LONGEST_VALUE:
            limits = f"{_LONGEST_KEY} characters, its value {_LONGEST_VALUE:,}"
            raise ConfigurationError(f"The tag {key[:20]!r}… is too long: a name may have {limits}.")
    if isinstance(note, str) and len(note) > _LONGEST_NOTE:
        raise ConfigurationError(f"The note has {len(note):,} characters, but may have {_LONGEST_NOTE:,}.")
