"""`prompt-evaluator list`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from prompt_evaluator.app.benchmarks import list_datasets, open_benchmark
from prompt_evaluator.app.metrics import list_metrics
from prompt_evaluator.app.providers import calls_at_once, list_providers
from prompt_evaluator.app.settings import find_rubric, list_rubrics, read_settings
from prompt_evaluator.app.suites import list_suites, metric_text
from prompt_evaluator.cli.output import json_option, print_json, print_lines
from prompt_evaluator.cli.settings_options import config_option
from prompt_evaluator.cli.text import cells, clean, columns, fit, flow, hang, pad
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.app.benchmarks import Benchmark
    from prompt_evaluator.app.metrics import MetricInfo
    from prompt_evaluator.app.providers import ProviderStatus
    from prompt_evaluator.app.settings import ListedRubric
    from prompt_evaluator.app.suites import ListedSuite
    from prompt_evaluator.model import Rubric

_LABELS = 10
"""Columns of the labels below a suite's name."""
_JUDGE = {"needed": "needs a judge", "optional": "a judge is optional", "no": "no judge", "unknown": "judge: unknown"}


def _datasets(config_path: Path | None) -> list[Benchmark]:
    return list_datasets(read_settings(config_path))


def _dataset(config_path: Path | None, name: str) -> dict[str, Any]:
    dataset = open_benchmark(read_settings(config_path), name)
    return {
        "name": dataset.name,
        "description": dataset.description,
        "hash": dataset.hash,
        "path": dataset.path,
        "tasks": list(dataset.cases),
    }


def _dataset_lines(found: Sequence[Benchmark]) -> Iterator[str]:
    widths = [
        max((cells(text) for text in texts), default=0) for texts in zip(*map(_dataset_cells, found), strict=True)
    ]
    for dataset in found:
        name, origin, size = map(pad, _dataset_cells(dataset), widths)
        if dataset.error:
            yield f"{name}  {origin}  {click.style(f'error: {clean(dataset.error)}', fg='red')}"
        else:
            yield fit(f"{name}  {origin}  {size}  {clean(dataset.title or '')}", columns(sys.stdout)).rstrip()


def _dataset_cells(dataset: Benchmark) -> tuple[str, str, str]:
    size = "" if dataset.error else many(dataset.count, "task")
    return clean(dataset.name), dataset.origin, size


def _task_lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"{clean(found['name'])}: {many(len(found['tasks']), 'task')}, sha256 {found['hash']}"
    if found["description"]:
        yield clean(found["description"].strip())
    for case in found["tasks"]:
        title = case.metadata.get("name") or case.description or ""
        level = case.metadata.get("difficulty")
        yield clean(f"  {case.id}  {title}{f'  ({level})' if level else ''}")


def _suites(config_path: Path | None) -> list[ListedSuite]:
    found = list_suites(read_settings(config_path))
    if not found:
        click.echo("There are no suites. Write them under `suites:` in prompt_evaluator.yaml.", err=True)
    return found


def _suite_lines(found: Sequence[ListedSuite]) -> Iterator[str]:
    for position, suite in enumerate(found):
        if position:
            yield ""
        runs = many(len(suite.datasets) * len(suite.models), "run")
        title = f": {clean(suite.title)}" if suite.title else ""
        yield f"{click.style(clean(suite.name), bold=True)}{title} ({runs})"
        width = columns(sys.stdout) - _LABELS - 2
        for label, parts in _suite_facts(suite).items():
            yield from hang(f"  {label}", flow(map(clean, parts), width, ", "), _LABELS + 2)
        if suite.error:
            yield click.style(f"  error: {clean(suite.error)}", fg="red")


def _suite_facts(suite: ListedSuite) -> dict[str, tuple[str, ...]]:
    facts = {
        "datasets": suite.datasets,
        "models": suite.models,
        "metrics": tuple(map(metric_text, suite.metrics)),
        "judge": (suite.judge,) if suite.judge else (),
        "rubric": (suite.rubric,) if suite.rubric else (),
        "samples": (str(suite.samples),) if suite.samples else (),
    }
    return {label: parts for label, parts in facts.items() if parts}


def _rubrics(config_path: Path | None) -> list[ListedRubric]:
    return list_rubrics(read_settings(config_path))


def _rubric(config_path: Path | None, name: str) -> Rubric:
    return find_rubric(read_settings(config_path), name)


def _rubric_lines(found: Sequence[ListedRubric]) -> Iterator[str]:
    width = max(len(rubric.name) for rubric in found)
    for rubric in found:
        yield f"{_bold(rubric.name, width)}  {rubric.path or 'built-in'}"
        flags = f"; flags: {', '.join(rubric.flags)}" if rubric.flags else ""
        yield f"{'':{width}}  {', '.join(rubric.metrics)}{flags}"


def _criterion_lines(found: Rubric) -> Iterator[str]:
    yield f"{_bold(found.name)}: {found.path or 'built-in'}"
    yield f"sha256 {found.hash}"
    for criterion in found.metrics:
        scale = f"{criterion.min_score:g} to {criterion.max_score:g}"
        yield from ("", f"{_bold(criterion.name)} ({scale})", f"  {criterion.description}")
        yield from (f"    {line}" for line in criterion.guidelines.splitlines())
    for flag in found.flags:
        yield from ("", f"{_bold(flag.name)} (yes or no)", f"  {flag.description}")


def _metrics(_config_path: Path | None) -> list[MetricInfo]:
    return list_metrics()


def _metric_lines(found: Sequence[MetricInfo]) -> Iterator[str]:
    width = max(len(metric.name) for metric in found)
    for metric in found:
        needs = f"needs {', '.join(metric.needs)}" if metric.needs else "needs nothing from the case"
        yield f"{_bold(metric.name, width)}  {metric.help or metric.error}"
        yield f"{'':{width}}  {click.style(f'{needs}; {_JUDGE[metric.judge]}', dim=True)}"


def _metric_details(found: MetricInfo) -> Iterator[str]:
    yield from _metric_lines([found])
    if found.options:
        yield f"{'':{len(found.name)}}  options: {', '.join(found.options)}"


def _providers(config_path: Path | None) -> list[ProviderStatus]:
    return list_providers(read_settings(config_path).providers)


def _provider_lines(found: Sequence[ProviderStatus]) -> Iterator[str]:
    width = max(len(status.name) for status in found)
    for status in found:
        source = f" (from {status.address_source})" if status.address_source else ""
        proxy = f", proxy {status.proxy}" if status.proxy else ""
        yield f"{_bold(status.name, width)}  {_key(status)}"
        yield f"{'':{width}}  {status.address or 'on this machine'}{source}{proxy}; {_limits(status)}"


def _key(status: ProviderStatus) -> str:
    if status.key_present is None:
        return "no key needed"
    if not (status.key_present or status.key_required):
        return f"key {status.key}: not set, and not required"
    mark = click.style("present", fg="green") if status.key_present else click.style("missing", fg="yellow")
    return f"key {status.key}: {mark}"


def _limits(status: ProviderStatus) -> str:
    limits = status.limits
    parts = [f"at most {calls_at_once(limits)} calls at once"]
    parts += [f"{limits.requests_per_minute:,} requests a minute"] if limits.requests_per_minute else []
    parts += [f"{limits.tokens_per_minute:,} tokens a minute"] if limits.tokens_per_minute else []
    return ", ".join(parts)


def _bold(name: str, width: int = 0) -> str:
    return click.style(name.ljust(width), bold=True)


class _Kind(NamedTuple):
    find_all: Callable[[Path | None], list[Any]]
    lines: Callable[[Any], Iterator[str]]
    find_one: Callable[[Path | None, str], Any] | None = None
    """None if a list has all that is known of each."""
    details: Callable[[Any], Iterator[str]] | None = None


_KINDS = {
    "datasets": _Kind(_datasets, _dataset_lines, _dataset, _task_lines),
    "suites": _Kind(_suites, _suite_lines),
    "rubrics": _Kind(_rubrics, _rubric_lines, _rubric, _criterion_lines),
    "metrics": _Kind(_metrics, _metric_lines, None, _metric_details),
    "providers": _Kind(_providers, _provider_lines),
}


@click.command("list")
@click.argument("kind", type=click.Choice(list(_KINDS)), metavar="datasets|suites|rubrics|metrics|providers")
@click.argument("name", required=False)
@json_option
@config_option
def list_command(kind: str, name: str | None, *, as_json: bool, config_path: Path | None) -> None:
    """List what there is by name, or show NAME alone.

    \b
    datasets   the project's own, those with a configured name, and the built-in ones; of one, its tasks
    suites     named sets of datasets, models and metrics in the configuration
    rubrics    built-in and configured ones; of one (a name or a file), what a judge looks for
    metrics    what each measures, what it needs from a case, and whether it asks a judge
    providers  keys (present or missing, never the value), addresses and limits
    """  # noqa: D301 - click's mark for text that keeps its lines
    chosen = _KINDS[kind]
    found = chosen.find_all(config_path) if name is None else _one(kind, chosen, config_path, name)
    if as_json:
        print_json({kind: found} if name is None else found)
    elif name is None or chosen.details is None:
        print_lines(chosen.lines(found if name is None else [found]))
    else:
        print_lines(chosen.details(found))


def _one(kind: str, chosen: _Kind, config_path: Path | None, name: str) -> Any:
    if chosen.find_one:
        return chosen.find_one(config_path, name)
    by_name = {each.name: each for each in chosen.find_all(config_path)}
    if name not in by_name:
        raise UnknownNameError(kind.removesuffix("s"), name, by_name)
    return by_name[name]
