"""A run as a JSON object, with the keys of its main artifact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.store.documents import head, tail

if TYPE_CHECKING:
    from prompt_evaluator.model.outcome import Outcome


def run_document(outcome: Outcome) -> dict[str, Any]:
    """The content of `dataset_evaluation.json` without cases and prepared metrics, and the path of that file."""
    before = head(outcome.record, ())
    del before["prepared_metrics"]
    return {**before, "artifact": str(outcome.main_file), **tail(outcome.record, outcome.result)}
