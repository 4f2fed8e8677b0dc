"""`prompt-evaluator evaluate-dataset`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from prompt_evaluator.app.evaluate import estimate_evaluation, evaluate_dataset, resume_run
from prompt_evaluator.app.plans import DEFAULT_SAMPLES, QUICK_SAMPLES, EvaluateOptions
from prompt_evaluator.cli.config_option import config_option
from prompt_evaluator.cli.estimate import print_estimate
from prompt_evaluator.cli.running import RunCommand, RunFlags, print_json, run_options

if TYPE_CHECKING:
    from prompt_evaluator.config.loading import Settings

_PATH = click.Path(path_type=Path)


def pairs(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """`name=value`, as often as it is given."""
    found = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{value!r} is not of the form name=value", param=parameter)
        found[name] = text
    return found


def numbers(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """`name=4.0`, as often as it is given."""
    found = {}
    for name, text in pairs(context, parameter, values).items():
        try:
            found[name] = float(text)
        except ValueError:
            found[name] = math.nan
        if not math.isfinite(found[name]):  # no mean is below NaN: such a bar would always be passed
            raise click.BadParameter(f"{text!r} is not a number; write metric=4.0", param=parameter)
    return found


def commas(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Words separated by commas."""
    return None if value is None else tuple(part.strip() for part in value.split(",") if part.strip())


@click.command("evaluate-dataset")
@click.option("--dataset", "-d", help="The cases: a .yaml, .yml, .jsonl or .json file, or a configured name.")
@click.option("--system-prompt", "-s", help="The system prompt, sent verbatim: a file, or a configured name.")
@click.option("--num-samples", "-n", type=click.IntRange(1), help=f"Samples per case.  [default: {DEFAULT_SAMPLES}]")
@click.option("--quick", is_flag=True, help=f"A smoke test: {QUICK_SAMPLES} samples per case.")
@click.option("--case-ids", callback=commas, help="Only these cases, by id, separated by commas.")
@click.option("--where", multiple=True, metavar="KEY=VALUE", help="Only cases whose metadata fits. May be repeated.")
@click.option("--max-cases", type=click.IntRange(1), help="Only the first so many of the cases that pass.")
@click.option("--rubric", help="A rubric that ships, a file, or a configured name.  [default: default]")
@click.option("--metrics", callback=commas, help="Metrics beside the rubric, separated by commas.")
@click.option("--reducers", callback=commas, help="Of metrics: pass@3, pass^3, majority, best-of or 2-of-3.")
@click.option("--generator-model", help="The model under test.  [default: mock/default]")
@click.option("--judge-model", help="The model that judges.  [default: the generator's]")
@click.option("--temperature", "-t", type=click.FloatRange(0), help="Of the generator.  [default: 0.7]")
@click.option("--judge-temperature", type=click.FloatRange(0), help="Of the judge.  [default: 0.0]")
@click.option("--max-tokens", type=click.IntRange(1), help="Of each answer.")
@click.option("--seed", type=int, help="Makes runs repeatable where the model can: sample k uses seed + k.")
@click.option("--template", type=_PATH, help="A file with {{field}} places, sent in place of the case's input.")
@click.option("--judge-system-prompt", type=_PATH, help="Instructions to the judge, in place of the built-in ones.")
@click.option("--judge-repeats", type=click.IntRange(1), help="Judge each answer so often.  [default: 1]")
@click.option("--allow-mock-judge", is_flag=True, help="Let the mock judge a real model's answers.")
@click.option("--output-dir", "-o", type=_PATH, help="Where results go.  [default: runs]")
@click.option("--resume", metavar="RUN", help="Continue this run instead of starting a new one.")
@click.option("--retry-errors", is_flag=True, help="With --resume: do again what failed.")
@click.option("--reuse", is_flag=True, help="Take over what earlier runs asked and got in the very same way.")
@click.option("--estimate", is_flag=True, help="Say what the run would take, and make no call.")
@click.option("--fail-under", multiple=True, callback=numbers, metavar="METRIC=4.0", help="Exit 1 below this mean.")
@click.option("--prompt-version", help="Your own name for this version of the prompt.")
@click.option("--run-note", help="A sentence to remember the run by.")
@click.option("--tag", "tags", multiple=True, callback=pairs, metavar="KEY=VALUE", help="A label. May be repeated.")
@config_option
@run_options
def evaluate_dataset_command(  # noqa: PLR0913 - the flags that decide what is done; the others say how
    *,
    flags: RunFlags,
    config_path: Path | None,
    dataset: str | None,
    system_prompt: str | None,
    quick: bool,
    resume: str | None,
    retry_errors: bool,
    estimate: bool,
    **given: Any,
) -> None:
    """Evaluate every case of a dataset: N samples each, judged by a rubric, with statistics and artifacts.

    Offline (the mock) unless a generator is named. Exits 0 when the run completed, 1 below --fail-under, 2 for
    wrong usage or input, 3 when the run failed, 130 or 143 when it was interrupted and can be resumed.
    """
    _check_resuming(resume, retry_errors=retry_errors, estimate=estimate)
    if quick and given["num_samples"] is not None:
        click.echo(f"Warning: --quick is ignored, because --num-samples {given['num_samples']} is given.", err=True)
    given["num_samples"] = given["num_samples"] or (QUICK_SAMPLES if quick else None)
    command = RunCommand(flags, config_path, given)
    options = _options(command.settings, dataset, system_prompt, given, needed=resume is None)
    if estimate and options is not None:
        found = command.wait_for(estimate_evaluation(options, command.session))
        print_json(found) if flags.as_json else print_estimate(found)
    elif resume is not None:
        command.carry_out(lambda session: resume_run(resume, session, retry_errors=retry_errors, wanted=options))
    elif options is not None:
        command.carry_out(lambda session: evaluate_dataset(options, session))


def _options(
    settings: Settings, dataset: str | None, system_prompt: str | None, given: dict[str, Any], *, needed: bool
) -> EvaluateOptions | None:
    """None only where a run is resumed with its own settings."""
    missing = [flag for flag, value in (("--dataset", dataset), ("--system-prompt", system_prompt)) if value is None]
    if missing and needed:
        raise click.UsageError(f"Missing option {missing[0]!r}.")
    if missing and _given_on_the_command_line({*given, "dataset", "system_prompt", "quick"}):
        what = f"with --resume give none of them or all; {missing[0]} is missing"
        raise click.UsageError(f"A run keeps its settings: {what}.")
    if dataset is None or system_prompt is None:
        return None
    return evaluate_options(
        settings,
        given,
        dataset=settings.named("dataset_paths", dataset),
        system_prompt=settings.named("prompt_templates", system_prompt),
    )


def _check_resuming(resume: str | None, *, retry_errors: bool, estimate: bool) -> None:
    if retry_errors and resume is None:
        raise click.UsageError("--retry-errors goes with --resume RUN: a new run has no errors yet.")
    if estimate and resume is not None:
        raise click.UsageError("--estimate is about a new run: it does not go with --resume.")


def _given_on_the_command_line(names: set[str]) -> bool:
    source = click.get_current_context().get_parameter_source
    return any(source(name) == ParameterSource.COMMANDLINE for name in names)


def evaluate_options(settings: Settings, given: dict[str, Any], **fixed: Any) -> EvaluateOptions:
    """Options from the flags that were given and, where they were not, from the settings."""
    known = EvaluateOptions.__struct_fields__
    decided = {name: value for name, value in settings.parameters().items() if name in known}
    flags = {name: value for name, value in given.items() if name in known and value is not None}
    return EvaluateOptions(**{**flags, **decided, **fixed})
