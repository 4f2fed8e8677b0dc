"""`prompt-evaluator metrics`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from prompt_evaluator.app.metrics import list_metrics

if TYPE_CHECKING:
    from prompt_evaluator.app.metrics import MetricInfo

_JUDGE = {"needed": "needs a judge", "optional": "a judge is optional", "no": "no judge", "unknown": "judge: unknown"}


@click.command("metrics")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def metrics_command(*, as_json: bool) -> None:
    """List the metrics: what each measures, what it needs from a case or its options, and whether it uses a judge."""
    found = list_metrics()
    if as_json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode({"metrics": found}), indent=2) + b"\n")
        return
    width = max(len(metric.name) for metric in found)
    for metric in found:
        click.echo(f"{click.style(metric.name.ljust(width), bold=True)}  {metric.help or metric.error}")
        click.echo(f"{'':{width}}  {_needs(metric)}")


def _needs(metric: MetricInfo) -> str:
    needs = f"needs {', '.join(metric.needs)}" if metric.needs else "needs nothing from the case"
    return click.style(f"{needs}; {_JUDGE[metric.judge]}", dim=True)
