"""The run that a person chose for the gate to compare with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.evals.named_runs import find_run
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.harness.baseline import pin_run, read_pinned
from prompt_evaluator.harness.results import without_outputs
from prompt_evaluator.model.harness import PinnedBaseline

if TYPE_CHECKING:
    from prompt_evaluator.app.evals.named_runs import HarnessFolder


def set_baseline(folder: HarnessFolder, name: str, *, note: str | None, now: str) -> PinnedBaseline:
    """Pin a run.

    Raises:
        ConfigurationError: There is no such run, or it is incomplete.
    """
    run = find_run(folder, name)
    if run.status not in (None, "completed"):
        raise ConfigurationError(f"Run {run.run_id} is {run.status}. Pin a run that was completed.")
    pinned = PinnedBaseline(run=without_outputs(run), pinned_at=now, note=note)
    pin_run(folder.pin, folder.results, pinned)
    return pinned


def show_baseline(folder: HarnessFolder) -> PinnedBaseline | None:
    """The pinned run; None if there is none."""
    return read_pinned(folder.pin)
