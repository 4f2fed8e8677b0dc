"""A run that is gated as soon as it is finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.documents import run_document
from prompt_evaluator.app.evaluate import evaluate_dataset
from prompt_evaluator.app.gate import policy_of
from prompt_evaluator.app.gate_new_run import NewRunGate
from prompt_evaluator.cli.gate_view import print_gate
from prompt_evaluator.cli.output import print_json
from prompt_evaluator.model.gate import FAILED, REFUSED, UNDECIDED

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.cli.running import RunCommand
    from prompt_evaluator.model.options import EvaluateOptions

_ORDER = (REFUSED, FAILED, UNDECIDED)


def run_and_gate(command: RunCommand, wanted: EvaluateOptions, baseline: str, policy: Path | None) -> int:
    """Evaluate, gate, print both, and return the worse exit code. A run that was stopped early is not gated."""
    gate = NewRunGate(command.settings, baseline, policy_of(command.settings, policy))
    outcome = command.wait_for(evaluate_dataset(wanted, command.session, gate.check))
    code = command.conclude(outcome)
    if outcome.record.status == "aborted" or outcome.result is None:
        if command.as_json:
            print_json(run_document(outcome))
        click.echo("The run was not finished, so it is not gated. Resume it, then gate it with `gate`.", err=True)
        return code
    gated = gate.gate(outcome)
    if command.as_json:
        print_json({**run_document(outcome), "gate": gated.result})
    else:
        click.echo()
        print_gate(gated)
    if gated.result.verdict is None:
        for reason in gated.result.reasons:
            click.echo(f"Error: {reason}", err=True)
    return worse(code, gated.result.exit_code)


def worse(run: int, gate: int) -> int:
    """The exit code that counts: of an interrupted run, then 3, 1, 4 and 0."""
    return next((code for code in _ORDER if code in (run, gate)), run or gate)
