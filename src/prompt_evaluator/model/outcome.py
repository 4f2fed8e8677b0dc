"""How a run ended, for those who asked for it."""

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
"""A run of more cases has them in one file, a line each, in place of one file a case."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    record: RunRecord
    result: RunResult | None
    """None for a run that had ended before: its artifact has it."""
    stopped_by: PromptEvaluatorError | None = None
    """What ended it early, if something went wrong."""

    @property
    def main_file(self) -> Path:
        """The run's main artifact."""
        return Path(self.record.plan.output_dir) / self.record.plan.run_id / MAIN_FILE
