"""What a caller may ask for: everything by name, within the server's limits, and nothing that runs a caller's code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.benchmarks import benchmark_parts, find_dataset
from prompt_evaluator.app.dataset_facts import read_facts
from prompt_evaluator.app.groups import Part
from prompt_evaluator.app.metrics import list_metrics
from prompt_evaluator.app.models import Models
from prompt_evaluator.app.planning.options import evaluate_options, given_options
from prompt_evaluator.app.settings import rubric_names
from prompt_evaluator.app.suites import find_suite
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model import CommandLine
from prompt_evaluator.model.run_limits import RunLimits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.benchmarks import Benchmark, ReadFacts
    from prompt_evaluator.app.server_settings import ServerSettings
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.api import RunSettings

_DEFAULT_METRICS = ("correctness",)
_CODE = ("python", "command")
"""Kinds of providers whose models name code to run."""
_PLAIN = ("samples", "temperature", "max_tokens", "seed", "prompt_version", "case_ids", "max_cases", "where", "note")
_SHOWN = ",.15g"
"""How numbers are written in sentences: 1,000,000,000 rather than 1e+09."""
_LIMITS = ("max_cost", "max_calls", "max_concurrency")


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request that may be carried out."""

    parts: list[Part]
    limits: RunLimits
    in_group: bool
    """Whether the caller asked for a group, which may have one run."""


class RefusedFieldError(ConfigurationError):
    """A field of a request that cannot be used."""

    def __init__(self, field: str, what: str) -> None:
        """Keep the field.

        Args:
            field: As in the request.
            what: A sentence.
        """
        super().__init__(what)
        self.field = field


def read_request(
    settings: Settings, server: ServerSettings, request: RunSettings, read: ReadFacts = read_facts
) -> Asked:
    """The runs that a request asks for. What a suite names comes from the configuration and is not restricted.

    Args:
        settings: Say what there is.
        server: Says how much of it a caller may use.
        request: As it was sent.
        read: Reads what a dataset contains.

    Raises:
        RefusedFieldError: A value is not allowed.
        UnknownNameError: There is no dataset, model, metric, rubric or suite of this name; says the nearest.
    """
    _check_models(request, settings)
    _check_metrics(request.metrics or ())
    _check_rubric(request.rubric, settings)
    datasets, models, metrics, request = _chosen(settings, request, read)
    given, limits = _options(request), limits_of(request, server, settings)
    _check_caps(request, server)
    options = evaluate_options(
        settings,
        {},
        **given,
        metrics=metrics,
        rubric=request.rubric,
        system_text=request.system_prompt,
        command=_command(request, settings),
    )
    return Asked(
        parts=benchmark_parts(options, datasets, models),
        limits=limits,
        in_group=request.suite is not None or bool(request.models),
    )


def _chosen(
    settings: Settings, request: RunSettings, read: ReadFacts
) -> tuple[list[Benchmark], list[str], tuple[str | dict[str, Any], ...], RunSettings]:
    """Datasets, models and metrics: the request's own, or else its suite's."""
    suite = find_suite(settings, request.suite) if request.suite is not None else None
    if request.dataset is not None and suite is not None:
        raise RefusedFieldError("dataset", "Give either a dataset or a suite, which names its datasets.")
    if request.model is not None and request.models:
        raise RefusedFieldError("models", "Give either one model or several models.")
    models = list(request.models) if request.model is None else [request.model]
    metrics: Sequence[str | dict[str, Any]] | None = request.metrics
    names: Sequence[str] = () if request.dataset is None else (request.dataset,)
    if suite is not None:
        names, models = suite.datasets, models or list(suite.models)
        metrics = suite.metrics if metrics is None else metrics
        request = msgspec.structs.replace(
            request,
            judge=request.judge or suite.judge,
            rubric=request.rubric or suite.rubric,
            samples=request.samples if request.samples is not None else suite.samples,
        )
    if not names:
        raise RefusedFieldError("dataset", "The dataset is missing: GET /api/v1/benchmarks/datasets lists them.")
    if not models:
        raise RefusedFieldError("model", "The model is missing. Write PROVIDER/MODEL, such as openai/gpt-4o.")
    if len(set(models)) < len(models):
        raise RefusedFieldError("models", "A model is named twice. Name it once.")
    if metrics is None:
        metrics = () if request.rubric else _DEFAULT_METRICS
    if not metrics and not request.rubric:
        raise RefusedFieldError("metrics", "There is nothing to score by. Name at least one metric, or a rubric.")
    return [find_dataset(settings, name, read) for name in names], models, tuple(metrics), request


def _check_models(request: RunSettings, settings: Settings) -> None:
    models = Models(settings.providers)
    named = [("model", request.model), ("judge", request.judge), *(("models", each) for each in request.models)]
    for field, text in named:
        if text is None:
            continue
        try:
            kind = models.settings[models.name(text).provider].kind
        except ConfigurationError as error:
            raise RefusedFieldError(field, str(error)) from None
        if kind in _CODE:
            raise RefusedFieldError(
                field, f"{text[:100]} would run code on the server. Choose a model of another provider."
            )


def _check_metrics(names: Sequence[str]) -> None:
    known = [metric.name for metric in list_metrics() if ":" not in metric.name]
    for name in names:
        if name not in known:
            raise UnknownNameError("metric", name, known)
    if len(set(names)) < len(names):
        raise RefusedFieldError("metrics", "A metric is named twice. Name it once.")


def _check_rubric(name: str | None, settings: Settings) -> None:
    if name is not None and name not in (known := rubric_names(settings)):
        raise UnknownNameError("rubric", name, known)


def _check_caps(request: RunSettings, server: ServerSettings) -> None:
    caps = {
        "samples": server.max_samples,
        "max_cases": server.max_cases,
        "max_cost": server.max_cost,
        "max_calls": server.max_calls,
        "max_concurrency": server.max_concurrency,
    }
    for field, cap in caps.items():
        value = getattr(request, field)
        if cap is not None and value is not None and value > cap:
            asked, most = format(value, _SHOWN), format(cap, _SHOWN)
            raise RefusedFieldError(field, f"{field} is {asked}, but this server allows at most {most}.")


def _options(request: RunSettings) -> dict[str, Any]:
    """The values by name of the option, checked like flags."""
    wanted: dict[str, Any] = {"samples": 1, "temperature": 0.0, "reuse": request.reuse, "tags": request.tags}
    wanted |= {name: value for name in _PLAIN if (value := getattr(request, name)) not in (None, ())}
    if request.judge is not None:
        wanted["judge"] = request.judge
    found: dict[str, Any] = {}
    for field, value in wanted.items():
        try:
            found |= given_options({field: list(value) if isinstance(value, tuple) else value})
        except ConfigurationError as error:
            raise RefusedFieldError(field, str(error)) from None
    return found


def limits_of(request: RunSettings, server: ServerSettings, settings: Settings) -> RunLimits:
    """The caller's limits, or else those of the configuration, never beyond the server's."""
    chosen: dict[str, Any] = {}
    for field in _LIMITS:
        value = getattr(request, field)
        try:
            given = given_options({field: value}).get(field)
        except ConfigurationError as error:
            raise RefusedFieldError(field, str(error)) from None
        known = [each for each in (given or settings.value(field), getattr(server, field)) if each is not None]
        chosen[field] = min(known, default=None)
    return RunLimits(**chosen, assume_price=settings.value("assume_price"))


def _command(request: RunSettings, settings: Settings) -> CommandLine | None:
    """The command that starts the same runs in a terminal; None if there is none, because a text was sent."""
    if request.system_prompt is not None or request.dataset is None:
        return None
    values: dict[str, Any] = {
        "--dataset": request.dataset,
        "--model": request.model or ",".join(request.models),
        "--metrics": ",".join(request.metrics or ()) or None,
        "--judge-model": request.judge,
        "--rubric": request.rubric,
        "--num-samples": request.samples,
        "--temperature": request.temperature,
        "--max-tokens": request.max_tokens,
        "--seed": request.seed,
        "--max-cases": request.max_cases,
        "--max-cost": request.max_cost,
        "--max-calls": request.max_calls,
    }
    options = [(flag, str(value)) for flag, value in values.items() if value is not None]
    options += [("--where", text) for text in request.where]
    return CommandLine(name=("benchmark", "run"), options=tuple(options), folder=str(settings.cwd))
