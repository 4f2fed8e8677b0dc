"""`prompt-evaluator evaluate-dataset`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from prompt_evaluator.app.evaluate import evaluate_dataset, resume_run
from prompt_evaluator.app.plans import DEFAULT_SAMPLES, QUICK_SAMPLES, EvaluateOptions
from prompt_evaluator.cli.running import RunCommand

_PATH = click.Path(path_type=Path)


def _pairs(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r} is not of the form name=value", param=parameter)
        found[name] = text
    return found


def _numbers(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    found = {}
    for name, text in _pairs(context, parameter, values).items():
        try:
            found[name] = float(text)
        except ValueError:
            found[name] = math.nan
        if not math.isfinite(found[name]):
            raise click.BadParameter(f"{text!r} is not a number; write metric=4.0", param=parameter)
    return found


def _ids(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(part.strip() for part in value.split(",") if part.strip())


@click.command("evaluate-dataset")
@click.option("--dataset", "-d", type=_PATH, help="The cases: .yaml, .yml, .jsonl, or a .json task list.")
@click.option("--system-prompt", "-s", type=_PATH, help="The system prompt, sent verbatim.")
@click.option("--num-samples", "-n", type=click.IntRange(1), help=f"Samples per case.  [default: {DEFAULT_SAMPLES}]")
@click.option("--quick", is_flag=True, help=f"A smoke test: {QUICK_SAMPLES} samples per case.")
@click.option("--case-ids", callback=_ids, help="Only these cases, by id, separated by commas.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only cases whose metadata fits. May be repeated.")
@click.option("--max-cases", type=click.IntRange(1), help="Only the first so many of the cases that pass.")
@click.option("--rubric", default="default", show_default=True, help="A rubric that ships, or a file.")
@click.option("--generator-model", default="mock/default", show_default=True, help="The model under test.")
@click.option("--judge-model", help="The model that judges.  [default: the generator's]")
@click.option("--temperature", "-t", type=click.FloatRange(0), default=0.7, show_default=True, help="Of the generator.")
@click.option("--judge-temperature", type=click.FloatRange(0), default=0.0, show_default=True, help="Of the judge.")
@click.option("--max-tokens", type=click.IntRange(1), help="Of each answer.")
@click.option("--seed", type=int, help="Makes runs repeatable where the model can: sample k uses seed + k.")
@click.option("--template", type=_PATH, help="A file with {{field}} places, sent in place of the case's input.")
@click.option("--judge-system-prompt", type=_PATH, help="Instructions to the judge, in place of the built-in ones.")
@click.option(
    "--judge-repeats", type=click.IntRange(1), default=1, show_default=True, help="Judge each answer so often."
)
@click.option("--allow-mock-judge", is_flag=True, help="Let the mock judge a real model's answers.")
@click.option("--output-dir", "-o", type=_PATH, default=Path("runs"), show_default=True, help="Where results go.")
@click.option("--max-concurrency", "-j", type=click.IntRange(1), help="Calls in flight at most, per key.")
@click.option("--resume", metavar="RUN", help="Continue this run instead of starting a new one.")
@click.option("--retry-errors", is_flag=True, help="With --resume: do again what failed.")
@click.option("--reuse", is_flag=True, help="Take over what earlier runs asked and got in the very same way.")
@click.option("--fail-under", multiple=True, callback=_numbers, metavar="METRIC=4.0", help="Exit 1 below this mean.")
@click.option("--prompt-version", help="Your own name for this version of the prompt.")
@click.option("--run-note", help="A sentence to remember the run by.")
@click.option("--tag", "tags", multiple=True, callback=_pairs, metavar="KEY=VALUE", help="A label. May be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output and nothing else.")
@click.option("--strict", is_flag=True, help="Exit 3 when a sample has no score.")
def evaluate_dataset_command(  # noqa: PLR0913 - one parameter a flag
    *,
    quick: bool,
    num_samples: int | None,
    resume: str | None,
    retry_errors: bool,
    max_concurrency: int | None,
    as_json: bool,
    strict: bool,
    **given: Any,
) -> None:
    """Evaluate every case of a dataset: N samples each, judged by a rubric, with statistics and artifacts.

    Offline (the mock) unless a generator is named. Exits 0 when the run completed, 1 below --fail-under, 2 for
    wrong usage or input, 3 when the run failed, 130 or 143 when it was interrupted and can be resumed.
    """
    if quick and num_samples is not None:
        click.echo(f"Warning: --quick is ignored, because --num-samples {num_samples} is given.", err=True)
    if retry_errors and resume is None:
        raise click.UsageError("--retry-errors goes with --resume RUN: a new run has no errors yet.")
    samples = num_samples or (QUICK_SAMPLES if quick else DEFAULT_SAMPLES)
    command = RunCommand(max_concurrency=max_concurrency, as_json=as_json, strict=strict)
    options = _options(given, samples, needed=resume is None)
    if resume is None:
        assert options is not None  # noqa: S101 - or a usage error was raised
        command.carry_out(lambda session: evaluate_dataset(options, session))
    else:
        command.carry_out(lambda session: resume_run(resume, session, retry_errors=retry_errors, wanted=options))


def _options(given: dict[str, Any], samples: int, *, needed: bool) -> EvaluateOptions | None:
    """What to run; None where a run is to be continued with its own settings and none is given once more."""
    missing = [name for name in ("dataset", "system_prompt") if given[name] is None]
    if not missing:
        return EvaluateOptions(num_samples=samples, **given)
    name = f"--{missing[0].replace('_', '-')}"
    if needed:
        raise click.UsageError(f"Missing option {name!r}.")
    if _given_on_the_command_line({*given, "num_samples", "quick"}):
        raise click.UsageError(f"A run keeps its settings: with --resume give none of them or all; {name} is missing.")
    return None


def _given_on_the_command_line(names: set[str]) -> bool:
    source = click.get_current_context().get_parameter_source
    return any(source(name) == ParameterSource.COMMANDLINE for name in names)
