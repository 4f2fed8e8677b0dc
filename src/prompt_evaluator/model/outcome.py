"""How a run ended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_evaluator.errors import PromptEvaluatorError
    from prompt_evaluator.model.result import RunResult
    from prompt_evaluator.model.run import RunRecord


MAIN_FILE = "dataset_evaluation.json"
PACK_FILE = "test_cases.jsonl"
MOST_CASE_FILES = 2_000
"""A run with more cases than this gets one file with a line per case, instead of one file per case."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    record: RunRecord
    result: RunResult | None
    """None for a run that had already ended; its artifact has the result."""
    stopped_by: PromptEvaluatorError | None = None
    """The error that ended it early, if any."""

    @property
    def main_file(self) -> Path:
        """The run's main artifact."""
        return Path(self.record.plan.output_dir) / self.record.plan.run_id / MAIN_FILE
