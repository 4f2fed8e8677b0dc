"""A run for programs, in the words of its main artifact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.store.documents import head, tail

if TYPE_CHECKING:
    from prompt_evaluator.model.outcome import Outcome


def run_document(outcome: Outcome) -> dict[str, Any]:
    """What `dataset_evaluation.json` says about the run as a whole, and where that is; cases are only there."""
    before = head(outcome.record, ())
    del before["prepared_metrics"]  # is about what a judge wrote for single metrics, and only there too
    return {**before, "artifact": str(outcome.main_file), **tail(outcome.record, outcome.result)}
