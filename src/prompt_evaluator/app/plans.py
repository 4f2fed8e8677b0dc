"""From what somebody asked for to a plan: everything is looked at before the first call is made."""

from __future__ import annotations

import hashlib
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from prompt_evaluator.app.case_checks import problems_with_uses
from prompt_evaluator.datasets import open_dataset
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.metrics.catalogue import build_metric
from prompt_evaluator.metrics.rubrics import load_rubric
from prompt_evaluator.model import Dataset, DatasetRef, JudgeConfig, ModelConfig, PromptRef, RunPlan, TestCase
from prompt_evaluator.pipeline.filters import check_ids, select
from prompt_evaluator.pipeline.messages import fill
from prompt_evaluator.stats.reducers import Samples, reducer
from prompt_evaluator.syntax.source import check_text, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prompt_evaluator.app.models import Models
    from prompt_evaluator.model import ProviderSettings, Rubric
    from prompt_evaluator.ports import Metric
    from prompt_evaluator.providers.catalogue import ModelName

DEFAULT_MODEL = "mock/default"
_NO_JUDGES = ("command", "python", "router")
"""Targets that answer questions, not rubrics."""
QUICK_SAMPLES, DEFAULT_SAMPLES = 2, 5


class EvaluateOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What an evaluation can be told."""

    dataset: Path | None = None
    cases: tuple[TestCase, ...] | None = None
    """In place of a dataset."""
    system_prompt: Path | None = None
    system_text: str | None = None
    """In place of a file with the system prompt."""
    num_samples: int = DEFAULT_SAMPLES
    case_ids: tuple[str, ...] | None = None
    where: tuple[str, ...] = ()
    max_cases: int | None = None
    rubric: str | None = "default"
    metrics: tuple[str | dict[str, Any], ...] = ()
    """Beside the rubric, or in its place."""
    generator_model: str = DEFAULT_MODEL
    judge_model: str | None = None
    temperature: float = 0.7
    judge_temperature: float = 0.0
    max_tokens: int | None = None
    seed: int | None = None
    template: Path | None = None
    judge_system_prompt: Path | None = None
    judge_repeats: int = 1
    output_dir: Path = Path("runs")
    prompt_version: str | None = None
    run_note: str | None = None
    tags: dict[str, str] = {}
    fail_under: dict[str, float] = {}
    reducers: tuple[str, ...] = ()
    reuse: bool = False
    allow_mock_judge: bool = False
    group_id: str | None = None
    """Of runs that are made together; a run alone is its own group."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan, and the cases it is about."""

    plan: RunPlan
    cases: Iterable[TestCase]


def prepare(options: EvaluateOptions, models: Models, rubrics: Mapping[str, str] | None = None) -> Prepared:
    """Read every file and check every name; raises a sentence about the first thing that is wrong."""
    generator, judge = _model_names(options, models)
    dataset = _dataset(options)
    rubric = load_rubric(options.rubric, rubrics) if options.rubric else None
    metrics = [build_metric(spec) for spec in options.metrics]
    template = _text(options.template) if options.template else None
    cases = _Selected(dataset, options)
    looked = _check_cases(cases, template, dataset, options)
    metrics += looked.metrics
    _check_names(rubric, metrics)
    _check_bars(options.fail_under, rubric, metrics)
    if rubric or any(metric.needs_judge for metric in metrics):
        _check_can_judge(judge, models.settings)
    run_id = str(uuid.uuid4())
    plan = RunPlan(
        run_id=run_id,
        group_id=options.group_id or run_id,
        dataset=DatasetRef(
            path=str(dataset.path) if options.dataset else None,
            hash=dataset.hash,
            count=dataset.count,
            selected=looked.selected,
        ),
        prompt=_prompt(options),
        template=template,
        rubric=rubric,
        metrics=tuple({"metric": spec} if isinstance(spec, str) else spec for spec in options.metrics),
        generator=ModelConfig(
            model=str(generator),
            identity=identity(generator, models.settings),
            temperature=options.temperature,
            max_tokens=options.max_tokens,
            seed=options.seed,
        ),
        judge=judge_config(judge, options, models.settings),
        num_samples=options.num_samples,
        output_dir=str(options.output_dir.resolve()),
        note=options.run_note,
        tags=options.tags,
        filters=_filters(options),
        fail_under=options.fail_under,
        reducers=_checked_reducers(options),
        reuse=options.reuse,
        synthetic=is_synthetic(generator, judge, models.settings),
    )
    return Prepared(plan, cases)


def _dataset(options: EvaluateOptions) -> Dataset:
    if options.dataset is not None:
        return open_dataset(options.dataset, inspect=problems_with_uses)
    cases = options.cases or ()
    digest = hashlib.sha256(msgspec.json.encode(cases)).hexdigest()
    return Dataset(name="cases", path=Path(), hash=digest, count=len(cases), format="", dialect="given", cases=cases)


def _prompt(options: EvaluateOptions) -> PromptRef | None:
    if options.system_prompt is not None:
        return read_prompt(options.system_prompt, options.prompt_version)
    if options.system_text is None:
        return None
    digest = hashlib.sha256(options.system_text.encode()).hexdigest()
    return PromptRef(path=None, hash=digest, text=options.system_text, version=options.prompt_version)


def judge_config(judge: ModelName, options: EvaluateOptions, settings: Mapping[str, ProviderSettings]) -> JudgeConfig:
    return JudgeConfig(
        model=str(judge),
        identity=identity(judge, settings),
        temperature=options.judge_temperature,
        seed=options.seed,
        system_prompt=_text(options.judge_system_prompt) if options.judge_system_prompt else None,
        repeats=options.judge_repeats,
    )


def identity(name: ModelName, settings: Mapping[str, ProviderSettings]) -> str:
    """Which service answers, without secrets: the address may name the same model somewhere else."""
    found = settings[name.provider]
    address = (os.environ.get(found.base_url_env) if found.base_url_env else None) or found.base_url or ""
    scheme, _, rest = address.partition("://")
    return f"{found.kind}|{scheme}://{rest.rpartition('@')[2].partition('?')[0].rstrip('/')}"


def read_prompt(path: Path, version: str | None) -> PromptRef:
    data = read_bytes(path)
    text = check_text(data, path).decode()
    return PromptRef(path=str(path.resolve()), hash=hashlib.sha256(data).hexdigest(), text=text, version=version)


def check_mock_judge(generator: ModelName, judge: ModelName, settings: Mapping[str, ProviderSettings]) -> None:
    """The mock makes its verdicts up: on a real model's answers they would look like results."""
    if settings[judge.provider].kind == "mock" and settings[generator.provider].kind != "mock":
        what = f"The mock would judge the answers of {generator}, with scores that mean nothing."
        raise ConfigurationError(f"{what} Name a real --judge-model, or pass --allow-mock-judge.")


def is_synthetic(generator: ModelName, judge: ModelName, settings: Mapping[str, ProviderSettings]) -> bool:
    return "mock" in {settings[name.provider].kind for name in (generator, judge)}


def _model_names(options: EvaluateOptions, models: Models) -> tuple[ModelName, ModelName]:
    generator = models.name(options.generator_model)
    judge = models.name(options.judge_model) if options.judge_model else generator
    if not options.allow_mock_judge:
        check_mock_judge(generator, judge, models.settings)
    return generator, judge


def _check_can_judge(judge: ModelName, settings: Mapping[str, ProviderSettings]) -> None:
    if settings[judge.provider].kind in _NO_JUDGES:
        raise ConfigurationError(f"{judge} cannot judge answers. Name a judge model (--judge-model).")


def _text(path: Path) -> str:
    return check_text(read_bytes(path), path).decode()


def _filters(options: EvaluateOptions) -> dict[str, Any]:
    chosen = {"case_ids": options.case_ids, "where": options.where or None, "max_cases": options.max_cases}
    return {name: value for name, value in chosen.items() if value is not None}


def _checked_reducers(options: EvaluateOptions) -> tuple[str, ...]:
    ones = Samples([1.0] * options.num_samples, [True] * options.num_samples)
    for name in options.reducers:
        try:
            reducer(name)(ones)
        except ValueError as error:
            raise ConfigurationError(f"The reducer {name!r} cannot be used: {error}.") from None
    return options.reducers


def _check_names(rubric: Rubric | None, metrics: Iterable[Metric]) -> None:
    """A rubric's criterion and a metric of one name would be mistaken for each other in every result."""
    criteria = {criterion.name for criterion in rubric.metrics} if rubric else set()
    for metric in metrics:
        if metric.name in criteria:
            what = (
                f"The rubric {rubric.name!r} has a criterion called {metric.name!r}, like the metric." if rubric else ""
            )
            raise ConfigurationError(f"{what} Leave the metric out, or rename the criterion.")


def _check_bars(bars: Mapping[str, float], rubric: Rubric | None, metrics: Iterable[Metric]) -> None:
    known = [criterion.name for criterion in rubric.metrics] if rubric else []
    known += [metric.name for metric in metrics]
    for name in bars:
        if name not in known:
            raise UnknownNameError("metric", name, known)


class _Selected:
    """The cases that pass the filters, as often as they are gone through."""

    def __init__(self, dataset: Dataset, options: EvaluateOptions) -> None:
        self._dataset, self._options = dataset, options

    def __iter__(self) -> Iterator[TestCase]:
        options = self._options
        return select(self._dataset.cases, case_ids=options.case_ids, where=options.where, max_cases=options.max_cases)


class _Looked(NamedTuple):
    """What a look at all selected cases has shown."""

    selected: int
    metrics: list[Metric]
    """Those that single cases ask for: one of each name, and another if it needs a judge."""


def _check_cases(cases: _Selected, template: str | None, dataset: Dataset, options: EvaluateOptions) -> _Looked:
    """Refuses unknown ids, an empty selection, a template that does not fit, and checks that cannot be used."""
    if options.case_ids is not None:
        check_ids(options.case_ids, (case.id for case in dataset.cases))
    count = 0
    asked: dict[tuple[str, bool], Metric] = {}
    for case in cases:
        if template is not None:
            fill(template, case)
        asked.update(((metric.name, metric.needs_judge), metric) for metric in _metrics(case))
        count += 1
    if not count:
        hint = "Loosen --case-ids or --where." if dataset.count else "Give at least one."
        raise ConfigurationError(f"{'No case passes the filters' if dataset.count else 'There are no cases'}. {hint}")
    return _Looked(count, list(asked.values()))


def _metrics(case: TestCase) -> list[Metric]:
    """What the case asks for itself; refuses what cannot be used."""
    try:
        return [build_metric({"metric": check.metric, **check.options}) for check in case.checks]
    except ConfigurationError as error:
        raise ConfigurationError(f"The case {case.id!r} has a check that cannot be used: {error}") from None
