"""Suites: named sets of datasets, models and metrics from the configuration, run as one group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.benchmarks import benchmark_parts, dataset_names, find_dataset
from prompt_evaluator.app.dataset_facts import read_facts
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.suite import Suite
from prompt_evaluator.syntax.metric_uses import parse_uses, parse_uses_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prompt_evaluator.app.benchmarks import ReadFacts
    from prompt_evaluator.app.groups import Part
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import CommandLine
    from prompt_evaluator.model.options import EvaluateOptions

_OPTION_FIELDS = {"metrics": "metrics", "judge_model": "judge", "rubric": "rubric", "num_samples": "samples"}
"""Options of a run, and the fields of a suite that set them."""


class ListedSuite(Suite, frozen=True, kw_only=True):
    """A suite, and why it cannot be run."""

    error: str | None = None


def list_suites(settings: Settings) -> list[ListedSuite]:
    """Every suite in the order of the file. One that names an unknown dataset has an error. Reads no dataset."""
    known = dataset_names(settings) if settings.suites else []
    found = []
    for suite in settings.suites.values():
        unknown = next((name for name in suite.datasets if name not in known), None)
        error = str(UnknownNameError("dataset", unknown, known)) if unknown is not None else None
        found.append(ListedSuite(**msgspec.structs.asdict(suite), error=error))
    return found


def find_suite(settings: Settings, name: str) -> Suite:
    """Look up a suite by name. Raise `UnknownNameError` with the nearest name if there is none."""
    if name not in settings.suites:
        raise UnknownNameError("suite", name, settings.suites)
    return settings.suites[name]


def with_suite(suite: Suite, given: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in options that were not given, by option name, from the suite. None means not given.

    A file of metrics takes the place of the suite's metrics.
    """
    fields = {option: getattr(suite, field) or None for option, field in _OPTION_FIELDS.items()}
    if given.get("metrics_file") is not None:
        fields["metrics"] = None
    return {**given, **{option: value for option, value in fields.items() if given.get(option) is None}}


def suite_parts(
    settings: Settings,
    suite: Suite,
    options: EvaluateOptions,
    models: Sequence[str] = (),
    *,
    read: ReadFacts = read_facts,
) -> list[Part]:
    """Every model on every dataset of a suite, as parts of one group.

    Args:
        settings: Where datasets are looked up.
        suite: The suite.
        options: Options of every run; `with_suite` gives those of the suite.
        models: Models to use instead of the suite's.
        read: Reads what a dataset contains.

    Raises:
        UnknownNameError: A dataset is unknown.
        ConfigurationError: A dataset is broken.
    """
    datasets = [find_dataset(settings, name, read) for name in suite.datasets]
    alone = msgspec.structs.replace(options, command=_written_out(options.command, suite))
    return benchmark_parts(alone, datasets, list(dict.fromkeys(models or suite.models)))


def metric_text(use: str | dict[str, Any]) -> str:
    """A metric as it is written on the command line."""
    if isinstance(use, str):
        return use
    (found,) = parse_uses(use)
    about = {"name": found.name, "judge": found.judge, "not": found.negated}
    options = {name: value for name, value in about.items() if value is not None} | found.options
    written = ", ".join(f"{name}={msgspec.json.encode(value).decode()}" for name, value in options.items())
    return f"{found.metric}({written})" if written else found.metric


def _written_out(command: CommandLine | None, suite: Suite) -> CommandLine | None:
    """Return the command with flags in place of the suite, so that it can be changed to start one of its runs.

    None if a metric cannot be written on the command line.
    """
    if command is None or not all(map(_can_be_typed, suite.metrics)):
        return None
    typed = {option[0] for option in command.options}
    values = with_suite(suite, {"metrics_file": command.value("--metrics-file")})
    added = [
        (OPTIONS[name].flag, metric_text(each) if name == "metrics" else str(each))
        for name, value in values.items()
        if value is not None and OPTIONS[name].flag not in typed
        for each in (value if isinstance(value, tuple) else (value,))
    ]
    others = [option for option in command.options if option[0] != "--suite"]
    return msgspec.structs.replace(command, options=(*added, *others))


def _can_be_typed(use: str | dict[str, Any]) -> bool:
    if isinstance(use, str):
        return True
    try:
        return parse_uses_text(metric_text(use)) == parse_uses(use)
    except ValueError:
        return False
