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
