"""`prompt-evaluator gate`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

import click

from prompt_evaluator.app.gate import GateRequest, gate_runs, plan_gate, policy_of
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.gate_view import plan_lines, print_gate
from prompt_evaluator.cli.output import json_option, print_json, print_lines
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.text import columns
from prompt_evaluator.model.gate import PASSED, Inconclusive

if TYPE_CHECKING:
    from prompt_evaluator.app.gate import Gated

COMMENT = Path("gate-comment.md")
_FILE = click.Path(path_type=Path, dir_okay=False)


class GateFiles(NamedTuple):
    """Where to write the verdict, beside the terminal."""

    junit: Path | None = None
    comment: Path | None = None
    """With it, GitHub is told."""


@click.command("gate")
@click.argument("run", metavar="RUN")
@click.option(
    "--baseline",
    "-b",
    metavar="RUN|FILE",
    help="The run to compare with.  [default: the policy's, or the one pinned for the dataset]",
)
@click.option(
    "--policy",
    "policy_path",
    type=_FILE,
    metavar="FILE",
    help="What the run has to meet.  [default: gates.yaml in this folder, or built in]",
)
@click.option(
    "--allow-different", is_flag=True, help="Gate on the cases in common even if dataset, rubric or judge differ."
)
@click.option(
    "--inconclusive",
    type=click.Choice(get_args(Inconclusive)),
    default="pass",
    show_default=True,
    help="If there is too little data to decide: exit with 0 and a warning, with 1, or with 4.",
)
@click.option("--plan", is_flag=True, help="Say how many cases and samples this policy needs, from the spread in RUN.")
@click.option("--junit", type=_FILE, metavar="FILE", help="Also write the verdict as JUnit XML.")
@click.option("--github", is_flag=True, help="In GitHub Actions: write the summary of the step, and a comment.")
@click.option("--pr-comment", type=_FILE, metavar="FILE", help=f"Where --github writes it.  [default: {COMMENT}]")
@json_option
@settings_options
def gate_command(  # noqa: PLR0913 - one for each option
    run: str,
    *,
    baseline: str | None,
    policy_path: Path | None,
    allow_different: bool,
    inconclusive: Inconclusive,
    plan: bool,
    junit: Path | None,
    github: bool,
    pr_comment: Path | None,
    as_json: bool,
    config_path: Path | None,
) -> None:
    """Decide whether RUN may be released: fail only if it is worse than the baseline by more than chance explains.

    Runs are compared case by case. A metric passes if a drop beyond its margin is ruled out, fails if a drop is shown
    and exceeds the margin, and is inconclusive otherwise. Flags, errors and cost are guardrails: they fail a run that
    got much worse; so is latency, if the policy says so. Runs are named as in `compare`.

    Exit codes: 0 pass, or inconclusive (see --inconclusive); 1 fail; 2 if a run, a policy or an option
    cannot be used; 3 if there is no usable data: the runs cannot be compared, or errors could change the verdict.
    """
    if pr_comment is not None and not github:
        raise click.UsageError("--pr-comment says where --github writes its comment: add --github.")
    settings = read_settings(config_path)
    policy = policy_of(settings, policy_path)
    if plan:
        if baseline is not None or junit is not None or github:
            raise click.UsageError("--plan looks at RUN alone: leave out --baseline, --junit and --github.")
        found = plan_gate(settings, run, policy)
        return print_json(found) if as_json else print_lines(plan_lines(found, columns(sys.stdout)))
    request = GateRequest(run, baseline, policy, allow_different)
    gated = gate_runs(settings, request)
    gated = gated._replace(result=gated.result.with_inconclusive(inconclusive))
    comment = (pr_comment or COMMENT) if github else None
    sys.exit(conclude(gated, GateFiles(junit, comment), as_json=as_json))


def conclude(gated: Gated, files: GateFiles, *, as_json: bool) -> int:
    """Print a verdict, write its files, and return its exit code."""
    if files.junit is not None:
        from prompt_evaluator.app.gate_findings import write_gate_junit  # noqa: PLC0415 - only if asked for

        write_gate_junit(gated, files.junit)
    if as_json:
        print_json(gated.result)
    else:
        print_gate(gated)
    if files.comment is not None:
        from prompt_evaluator.app.gate_findings import tell_github  # noqa: PLC0415 - only for GitHub

        lines = tell_github(gated, files.comment, os.environ)
        if not as_json:
            print_lines(lines)
    if gated.result.verdict == "inconclusive" and gated.result.exit_code == PASSED:
        warning = "Warning: not decided, and let through: there is too little data to say whether this run got worse."
        click.secho(f"{warning} To stop here instead, add --inconclusive fail.", fg="yellow", bold=True, err=True)
    if gated.result.verdict is None:
        for reason in gated.result.reasons:
            click.echo(f"Error: {reason}", err=True)
    return gated.result.exit_code
