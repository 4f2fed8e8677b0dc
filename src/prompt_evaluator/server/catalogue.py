"""What runs can be made of: datasets, suites, metrics, providers, rubrics."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.benchmarks import list_datasets, open_benchmark
from prompt_evaluator.app.metrics import MetricInfo, list_metrics
from prompt_evaluator.app.providers import ProviderStatus, list_providers
from prompt_evaluator.app.settings import find_rubric, rubric_names
from prompt_evaluator.app.suites import list_suites, metric_text
from prompt_evaluator.errors import PromptEvaluatorError, UnknownNameError
from prompt_evaluator.model import Rubric, TestCase
from prompt_evaluator.model.api import ApiDataset, ApiDatasets
from prompt_evaluator.model.api_requests import CasesQuery
from prompt_evaluator.server.refusals import Refusal
from prompt_evaluator.server.routing import BENCHMARKS, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes(BENCHMARKS, "What runs are made of")
_NOT_OVER_HTTP = ("python", "command")


class DatasetCases(msgspec.Struct, frozen=True, kw_only=True):
    """Some cases of a dataset, in the order of its file."""

    name: str
    title: str | None
    hash: str
    count: int
    start: int
    cases: tuple[TestCase, ...]


class ApiSuite(msgspec.Struct, frozen=True, kw_only=True):
    """Datasets, models and metrics that are run together: every model on every dataset."""

    name: str
    title: str | None
    datasets: tuple[str, ...]
    models: tuple[str, ...]
    metrics: tuple[str, ...]
    judge: str | None
    samples: int | None
    error: str | None
    """Why it cannot be run."""


class Suites(msgspec.Struct, frozen=True):
    """All suites."""

    suites: tuple[ApiSuite, ...]


class Metrics(msgspec.Struct, frozen=True):
    """All metrics that can be used by name."""

    metrics: tuple[MetricInfo, ...]


class Providers(msgspec.Struct, frozen=True):
    """All providers whose models can be used."""

    providers: tuple[ProviderStatus, ...]


class ApiRubric(msgspec.Struct, frozen=True, kw_only=True):
    """A rubric that can be used by name."""

    name: str
    metrics: tuple[str, ...]
    flags: tuple[str, ...]
    error: str | None
    """Why it cannot be used."""


class Rubrics(msgspec.Struct, frozen=True):
    """All rubrics."""

    rubrics: tuple[ApiRubric, ...]


@ROUTES.add("GET", "/datasets", role="viewer", summary="List datasets, also broken ones", answer=ApiDatasets)
def datasets(call: Call[None, None]) -> ApiDatasets:
    found = list_datasets(call.site.settings, call.site.facts)
    return ApiDatasets(
        datasets=tuple(
            ApiDataset(
                name=each.name,
                title=each.title,
                description=each.description,
                origin=each.origin,
                cases=each.count,
                hash=f"sha256:{each.hash}" if each.hash else None,
                error=each.error and each.error.replace(f"{each.path.parent}/", ""),
            )
            for each in found
        )
    )


@ROUTES.add(
    "GET",
    "/datasets/{name}/cases",
    role="viewer",
    summary="List the cases of a dataset",
    query=CasesQuery,
    answer=DatasetCases,
)
def dataset_cases(call: Call[CasesQuery, None]) -> DatasetCases:
    name, query = call.path["name"], call.query
    try:
        dataset = open_benchmark(call.site.settings, name)
    except UnknownNameError as error:
        raise Refusal(404, str(error)) from None
    return DatasetCases(
        name=name,
        title=dataset.name,
        hash=f"sha256:{dataset.hash}",
        count=dataset.count,
        start=query.start,
        cases=tuple(islice(dataset.cases, query.start, query.start + query.limit)),
    )


@ROUTES.add("GET", "/suites", role="viewer", summary="List suites", answer=Suites)
def suites(call: Call[None, None]) -> Suites:
    return Suites(
        tuple(
            ApiSuite(
                name=each.name,
                title=each.title,
                datasets=each.datasets,
                models=each.models,
                metrics=tuple(map(metric_text, each.metrics)),
                judge=each.judge,
                samples=each.samples,
                error=each.error,
            )
            for each in list_suites(call.site.settings)
        )
    )


@ROUTES.add("GET", "/metrics", role="viewer", summary="List metrics", answer=Metrics)
def metrics(_call: Call[None, None]) -> Metrics:
    return Metrics(tuple(metric for metric in list_metrics() if ":" not in metric.name))


@ROUTES.add("GET", "/providers", role="viewer", summary="List providers, without keys", answer=Providers)
def providers(call: Call[None, None]) -> Providers:
    found = list_providers(call.site.settings.providers)
    return Providers(tuple(each for each in found if each.kind not in _NOT_OVER_HTTP))


@ROUTES.add("GET", "/rubrics", role="viewer", summary="List rubrics", answer=Rubrics)
def rubrics(call: Call[None, None]) -> Rubrics:
    return Rubrics(tuple(_rubric(call, name) for name in rubric_names(call.site.settings)))


@ROUTES.add("GET", "/rubrics/{name}", role="viewer", summary="Show a rubric", answer=Rubric)
def rubric(call: Call[None, None]) -> Rubric:
    name, known = call.path["name"], rubric_names(call.site.settings)
    if name not in known:
        raise Refusal(404, str(UnknownNameError("rubric", name, known)))
    return find_rubric(call.site.settings, name)


def _rubric(call: Call[None, None], name: str) -> ApiRubric:
    try:
        found = find_rubric(call.site.settings, name)
    except PromptEvaluatorError as error:
        return ApiRubric(name=name, metrics=(), flags=(), error=str(error))
    criteria, flags = (tuple(each.name for each in part) for part in (found.metrics, found.flags))
    return ApiRubric(name=name, metrics=criteria, flags=flags, error=None)
