"""Pins runs as baselines, which other runs are compared with by their names."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.run_names import stored_name
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.release import Baseline

if TYPE_CHECKING:
    from prompt_evaluator.config.loading import Settings

_LONGEST_NAME = 200
_RESERVED = ("@", "tag:")
"""Names that mean something else wherever a run is named."""


def pin_baseline(settings: Settings, run_id: str, name: str | None = None, *, note: str | None = None) -> Baseline:
    """Pin a run under a name, by default that of its dataset. The run that had the name before is no longer pinned.

    Raises:
        UnknownNameError: There is no such run.
        ConfigurationError: The name is not allowed, or there is none to use.
    """
    with closing(open_store(settings)) as store:
        line = store.run_line(run_id)
        wanted = line.dataset_name if name is None else name.strip()
        if wanted is None:
            raise ConfigurationError(f"Run {line.run_id} has no dataset file to name the baseline after. Give a name.")
        _check(wanted)
        if store.has_run(wanted):
            raise ConfigurationError(
                f"{wanted!r} is the id of a run, so it cannot name a baseline. Choose another name."
            )
        baseline = Baseline(name=wanted, run_id=line.run_id, pinned_at=now(), note=note)
        store.pin(baseline)
        return baseline


def pinned_for(settings: Settings, name: str) -> str:
    """The name of the baseline that is pinned for the dataset of a run.

    Raises:
        UnknownNameError: There is no such run.
        ConfigurationError: No run of this dataset is pinned, or the run itself is.
    """
    with closing(open_store(settings)) as store:
        line = store.run_line(stored_name(settings, name))
        pinned = {baseline.name: baseline.run_id for baseline in store.baselines()}
    dataset = line.dataset_name
    if dataset is None or dataset not in pinned:
        what = f"No run of {dataset} is pinned" if dataset else f"Run {line.run_id} has no dataset file"
        raise ConfigurationError(
            f"There is no baseline to compare with: {what}. Name a run with --baseline, or pin one: "
            "prompt-evaluator runs pin RUN"
        )
    if pinned[dataset] == line.run_id:
        raise ConfigurationError(
            f"Run {line.run_id} is the baseline of {dataset} itself. Gate another run, or name one with --baseline."
        )
    return dataset


def unpin_baseline(settings: Settings, name: str) -> None:
    """Remove a baseline; its run stays.

    Raises:
        UnknownNameError: There is no such baseline.
    """
    with closing(open_store(settings)) as store:
        store.unpin(name)


def unpin_run(settings: Settings, run_id: str) -> list[str]:
    """Remove all baselines that are this run, and return their names."""
    with closing(open_store(settings)) as store:
        full = store.full_id(run_id)
        names = [baseline.name for baseline in store.baselines() if baseline.run_id == full]
        for name in names:
            store.unpin(name)
        return names


def list_baselines(settings: Settings) -> list[Baseline]:
    """All baselines, sorted by name."""
    with closing(open_store(settings)) as store:
        return store.baselines()


def _check(name: str) -> None:
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise ConfigurationError(f"A baseline's name has to have 1 to {_LONGEST_NAME} printable characters.")
    if name.startswith(_RESERVED) or "=" in name:
        what = f"{name!r} cannot name a baseline: it would mean a run by its age or its tag."
        raise ConfigurationError(f"{what} Choose a name without @, tag: and =.")
