"""Runs that cannot be stored, read or deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from prompt_evaluator.errors.base import PromptEvaluatorError

if TYPE_CHECKING:
    from collections.abc import Iterable


class StoreError(PromptEvaluatorError):
    """Runs cannot be stored or read."""

    exit_code: ClassVar[int] = 3


class RunBusyError(StoreError):
    """Another process is working on this run."""

    exit_code: ClassVar[int] = 2


class OwnershipLostError(StoreError):
    """This process may no longer work on its run: its session on the server has ended, or another process has it."""


class StoreUnreachableError(StoreError):
    """There is no connection to the store's server."""


class LabelledRunError(StoreError):
    """A run to be deleted has labels, which are people's work."""

    exit_code: ClassVar[int] = 2

    def __init__(self, run_id: str, labels: int) -> None:
        """Compose the message.

        Args:
            run_id: The run.
            labels: How many labels it has.
        """
        self.run_id, self.labels = run_id, labels
        has = "1 label" if labels == 1 else f"{labels:,} labels"
        copy = f"Keep a copy with `prompt-evaluator labels export {run_id}`"
        super().__init__(f"Run {run_id} has {has}. {copy}, then pass --with-labels to delete the run and its labels.")


class PinnedRunError(StoreError):
    """A run to be deleted is a baseline for other runs."""

    exit_code: ClassVar[int] = 2

    def __init__(self, run_id: str, names: Iterable[str]) -> None:
        """Compose the message; `names` are the baselines pinned to the run."""
        self.run_id, self.names = run_id, sorted(names)
        pinned = " and ".join(map(repr, self.names))
        super().__init__(f"Run {run_id} is pinned as the baseline of {pinned}. Unpin it or pin another run first.")
