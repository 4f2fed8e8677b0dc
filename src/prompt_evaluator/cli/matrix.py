"""Evaluates several prompts and models as one group, and compares the prompts of each model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.matrix import matrix_parts
from prompt_evaluator.cli.group_running import conclude_group, print_estimates, run_parts
from prompt_evaluator.cli.prompt_comparison import conclude_compared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.groups import Part
    from prompt_evaluator.app.matrix import ChosenPrompt
    from prompt_evaluator.cli.running import RunCommand
    from prompt_evaluator.model.options import EvaluateOptions


class Matrix:
    """Every model with every prompt."""

    def __init__(
        self, command: RunCommand, options: EvaluateOptions, prompts: Sequence[ChosenPrompt], models: Sequence[str]
    ) -> None:
        """Store the options of every run, the prompts, and the models: that of the options if there are none."""
        self._command, self._options, self._prompts = command, options, prompts
        self._models = models or (options.generator_model,)

    def estimate(self) -> int:
        """Print what the runs would take."""
        print_estimates(self._command, self._parts())
        return 0

    def run(self) -> int:
        """Run all, print the results, compare the prompts if there are several, and return the worst exit code."""
        conclude = conclude_compared if len(self._prompts) > 1 else conclude_group
        return conclude(self._command, run_parts(self._command, self._parts()))

    def _parts(self) -> list[Part]:
        return matrix_parts(self._options, self._prompts, self._models)
