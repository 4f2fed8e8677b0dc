"""Evaluates several prompts and models as one group, and compares the prompts of each model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.matrix import choose_prompts, matrix_parts
from prompt_evaluator.cli.group_running import conclude_group, print_estimates, run_parts
from prompt_evaluator.cli.prompt_comparison import conclude_compared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.groups import Part
    from prompt_evaluator.cli.running import RunCommand
    from prompt_evaluator.model.options import EvaluateOptions


class Matrix:
    """Every model with every prompt."""

    def __init__(
        self, command: RunCommand, options: EvaluateOptions, prompts: Sequence[str], models: Sequence[str]
    ) -> None:
        """Look up the prompts; warn about those that are the same.

        Args:
            command: The command that runs them.
            options: Options of every run.
            prompts: Paths or short names, as typed.
            models: As typed; the model of the options if empty.
        """
        self._command, self._options = command, options
        self._models = models or (options.generator_model,)
        self._prompts, warnings = choose_prompts(command.settings, prompts)
        for warning in warnings:
            click.echo(f"Warning: {warning}", err=True)

    @property
    def is_several(self) -> bool:
        """Whether this is more than one run."""
        return len(self._prompts) * len(self._models) > 1

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
