"""From what somebody asked for to a plan: everything is looked at before the first call is made."""

from __future__ import annotations

import hashlib
import re
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.planning.case_checks import problems_with_uses
from prompt_evaluator.app.planning.metric_options import metric_uses
from prompt_evaluator.app.run_parts import make_uses
from prompt_evaluator.datasets import open_dataset
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.metrics.rubrics import load_rubric
from prompt_evaluator.model import Dataset, DatasetRef, JudgeConfig, PromptRef, RunPlan, Target
from prompt_evaluator.pipeline.filters import check_ids, select
from prompt_evaluator.pipeline.messages import CONTEXT_TEMPLATE, RequestBuilder
from prompt_evaluator.pipeline.uses import rubric_key
from prompt_evaluator.stats.reducers import Samples, reducer
from prompt_evaluator.syntax.source import check_text, read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from prompt_evaluator.app.models import Models
    from prompt_evaluator.model import ProviderSettings, TestCase
    from prompt_evaluator.model.options import EvaluateOptions
    from prompt_evaluator.pipeline.uses import AppliedMetric, Uses
    from prompt_evaluator.providers.catalogue import ModelName

_OWN_PARAMS = ("model", "messages", "stream")
_SECRET_PARAM = re.compile(r"api[-_]?key|authorization|password|secret|(^|[-_])token$", re.IGNORECASE)
_NO_JUDGES = ("command", "python", "router")
"""Targets that answer questions, not rubrics."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan, and the cases it is about."""

    plan: RunPlan
    cases: Iterable[TestCase]


def prepare(options: EvaluateOptions, models: Models, rubrics: Mapping[str, str] | None = None) -> Prepared:
    """Read every file and check every name; raises a sentence about the first thing that is wrong."""
    generator = models.name(options.generator_model)
    judge = models.name(options.judge_model) if options.judge_model else generator
    dataset = _dataset(options)
    draft = _draft(options, models, generator, judge, dataset, rubrics)
    cases = _Selected(dataset, options)
    if options.case_ids is not None:
        check_ids(options.case_ids, (case.id for case in dataset.cases))
    return Prepared(completed(draft, cases, models, allow_mock_judge=options.allow_mock_judge), cases)


def _draft(  # noqa: PLR0913, PLR0917 - what a plan is made from
    options: EvaluateOptions,
    models: Models,
    generator: ModelName,
    judge: ModelName,
    dataset: Dataset,
    rubrics: Mapping[str, str] | None,
) -> RunPlan:
    """The plan before the cases were looked at: which judges are needed is not known yet."""
    run_id = str(uuid.uuid4())
    return RunPlan(
        run_id=run_id,
        group_id=options.group_id or run_id,
        dataset=DatasetRef(
            path=str(dataset.path) if options.dataset else None, hash=dataset.hash, count=dataset.count, selected=0
        ),
        target=_target(options, generator, models),
        rubric=load_rubric(options.rubric, rubrics) if options.rubric else None,
        metrics=metric_uses(options),
        judge=_judge_config(judge, options, models),
        num_samples=options.num_samples,
        output_dir=str(options.output_dir.resolve()),
        note=options.run_note,
        tags=options.tags,
        filters=_filters(options),
        fail_under=options.fail_under,
        reducers=_checked_reducers(options),
        reuse=options.reuse,
    )


def completed(draft: RunPlan, cases: Iterable[TestCase], models: Models, *, allow_mock_judge: bool) -> RunPlan:
    """The plan with what a look at its cases shows: which judges are needed, each of which has to be able to judge.

    Raises:
        ConfigurationError: Something cannot be used, or nothing would be scored.
    """
    looked = _look(cases, draft)
    if not looked.selected:
        hint = "Loosen --case-ids or --where." if draft.dataset.count else "Give at least one."
        what = "No case passes the filters" if draft.dataset.count else "There are no cases"
        raise ConfigurationError(f"{what}. {hint}")
    looked.refuse_nothing_to_score()
    _check_bars(draft.fail_under, looked.scores)
    generator = models.name(draft.target.model)
    names = {text: models.name(text) for text in looked.judges}
    asked = [*([models.name(draft.judge.model)] if draft.judge and looked.asks_judge else ()), *names.values()]
    for judge in asked:
        _check_can_judge(judge, models.settings)
        if not allow_mock_judge:
            check_mock_judge(generator, judge, models.settings)
    return msgspec.structs.replace(
        draft,
        dataset=msgspec.structs.replace(draft.dataset, selected=looked.selected),
        judge=draft.judge if looked.asks_judge else None,
        judges={text: _named_judge(name, draft, models) for text, name in names.items()},
        synthetic=is_synthetic([generator, *asked], models.settings),
    )


def _named_judge(name: ModelName, draft: RunPlan, models: Models) -> JudgeConfig:
    """A judge that a metric names is asked as the run's own is."""
    assert draft.judge is not None  # noqa: S101 - a draft always has one
    return msgspec.structs.replace(draft.judge, model=str(name), identity=models.identity(name))


def _dataset(options: EvaluateOptions) -> Dataset:
    if options.dataset is not None:
        return open_dataset(options.dataset, inspect=problems_with_uses)
    cases = options.cases or ()
    placeless = [msgspec.structs.replace(case, file=None, line=None) for case in cases]
    digest = hashlib.sha256(msgspec.json.encode(placeless)).hexdigest()
    return Dataset(name="cases", path=Path(), hash=digest, count=len(cases), format="", dialect="given", cases=cases)


def _target(options: EvaluateOptions, name: ModelName, models: Models) -> Target:
    return Target(
        model=str(name),
        identity=models.identity(name),
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        seed=options.seed,
        params=_checked_params(options.params),
        prompt=_prompt(options),
        render_prompt=options.render_prompt,
        template=_text(options.template) if options.template else None,
        context_template=None if options.template else CONTEXT_TEMPLATE,
        attempts=options.attempts,
    )


def _checked_params(params: dict[str, Any]) -> dict[str, Any]:
    """What a run decides itself is not a parameter, and a key would be kept with every result."""
    for name in params:
        if name.lower() in _OWN_PARAMS:
            raise ConfigurationError(f"The parameter {name!r} cannot be passed through: the run sets it itself.")
        if _SECRET_PARAM.search(name):
            what = f"The parameter {name!r} looks like a secret, and parameters are kept with the results."
            raise ConfigurationError(f"{what} Configure keys and headers under `providers:`.")
    return params


def _prompt(options: EvaluateOptions) -> PromptRef | None:
    if options.system_prompt is not None:
        return read_prompt(options.system_prompt, options.prompt_version)
    if options.system_text is None:
        return None
    try:
        digest = hashlib.sha256(options.system_text.encode()).hexdigest()
    except UnicodeEncodeError as error:
        raise ConfigurationError(f"The system prompt has a character that cannot be sent: {error}.") from None
    return PromptRef(path=None, hash=digest, text=options.system_text, version=options.prompt_version)


def _judge_config(judge: ModelName, options: EvaluateOptions, models: Models) -> JudgeConfig:
    return JudgeConfig(
        model=str(judge),
        identity=models.identity(judge),
        temperature=options.judge_temperature,
        seed=options.seed,
        system_prompt=_text(options.judge_system_prompt) if options.judge_system_prompt else None,
        repeats=options.judge_repeats,
    )


def read_prompt(path: Path, version: str | None) -> PromptRef:
    data = read_bytes(path)
    text = check_text(data, path).decode()
    return PromptRef(path=str(path.resolve()), hash=hashlib.sha256(data).hexdigest(), text=text, version=version)


def check_mock_judge(generator: ModelName, judge: ModelName, settings: Mapping[str, ProviderSettings]) -> None:
    """The mock makes its judgements up: on a real model's answers they would look like results."""
    if settings[judge.provider].kind == "mock" and settings[generator.provider].kind != "mock":
        what = f"The mock would judge the answers of {generator}, with scores that mean nothing."
        raise ConfigurationError(f"{what} Name a real --judge-model, or pass --allow-mock-judge.")


def is_synthetic(names: Iterable[ModelName], settings: Mapping[str, ProviderSettings]) -> bool:
    return "mock" in {settings[name.provider].kind for name in names}


def _check_can_judge(judge: ModelName, settings: Mapping[str, ProviderSettings]) -> None:
    if settings[judge.provider].kind in _NO_JUDGES:
        raise ConfigurationError(
            f"{judge} cannot judge answers. Name a judge model (--judge-model), or score by metrics that need no judge "
            "(--rubric none --metrics ...)."
        )


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


def _check_bars(bars: Mapping[str, float], known: Iterable[str]) -> None:
    names = list(known)
    for name in bars:
        if name not in names:
            raise UnknownNameError("metric", name, names)


class _Selected:
    """The cases that pass the filters, as often as they are gone through."""

    def __init__(self, dataset: Dataset, options: EvaluateOptions) -> None:
        self._dataset, self._options = dataset, options

    def __iter__(self) -> Iterator[TestCase]:
        options = self._options
        return select(self._dataset.cases, case_ids=options.case_ids, where=options.where, max_cases=options.max_cases)


@dataclass(slots=True)
class _Looked:
    """What a look at all selected cases has shown."""

    selected: int = 0
    scores: dict[str, None] = field(default_factory=dict)
    """The names of all scores, in the order in which they appear."""
    asks_judge: bool = False
    """Whether anything asks the run's own judge."""
    judges: dict[str, None] = field(default_factory=dict)
    """Judges that uses of metrics name for themselves."""
    scorable: bool = False
    missing: dict[str, str] = field(default_factory=dict)
    """By metric, why it would be skipped; of use while nothing can be scored."""

    def add(self, applied: AppliedMetric) -> None:
        self.scores.update(dict.fromkeys(applied.score_names))
        if applied.use.judge:
            self.judges[applied.use.judge] = None
        elif applied.metric.needs_judge:
            self.asks_judge = True

    def look_for_scores(self, case: TestCase, applied: Iterable[AppliedMetric]) -> None:
        for each in applied:
            missing = each.metric.missing(case)
            if missing is None:
                self.scorable = True
                return
            self.missing.setdefault(each.key, missing)

    def refuse_nothing_to_score(self) -> None:
        """A run without a single score would only cost money."""
        if self.scorable:
            return
        if not self.scores:
            what = "There is nothing to score the answers by."
            raise ConfigurationError(f"{what} Name a rubric or --metrics, or give the cases `checks`.")
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.missing.items())
        what = f"Every metric would be skipped for every case ({reasons})."
        raise ConfigurationError(f"{what} Choose other metrics, or give the cases what these need.")


def _look(cases: Iterable[TestCase], draft: RunPlan) -> _Looked:
    """Refuses a template that does not fit, metrics that cannot be used, and two scores of one name."""
    uses, requests, looked = make_uses(draft), RequestBuilder(draft.target, draft.target.model), _Looked()
    taken = {rubric_key(draft), *(flag.name for flag in draft.rubric.flags)} if draft.rubric else set()
    kinds: dict[str, str] = {}
    renders = draft.target.template is not None or draft.target.render_prompt
    common_is_checked = False
    for case in cases:
        looked.selected += 1
        if renders:
            requests.request(case, 0)
        applied = _applied(uses, case)
        if case.checks or not common_is_checked:
            common_is_checked = common_is_checked or not case.checks
            _check_names(applied, taken, draft)
            for each in applied:
                looked.add(each)
                if kinds.setdefault(each.key, each.use.metric) != each.use.metric:
                    both = f"{kinds[each.key]!r} and {each.use.metric!r}"
                    raise ConfigurationError(f"Two metrics, {both}, are called {each.key!r}. Give one another `name`.")
        if not looked.scorable:
            looked.look_for_scores(case, applied)
    return looked


def _applied(uses: Uses, case: TestCase) -> tuple[AppliedMetric, ...]:
    try:
        return uses.of(case)
    except ConfigurationError as error:
        if not case.checks:
            raise
        where = f" ({case.file}, line {case.line})" if case.file and case.line else ""
        raise ConfigurationError(f"The case {case.id!r}{where} has a check that cannot be used: {error}") from None


def _check_names(applied: Iterable[AppliedMetric], taken: set[str], plan: RunPlan) -> None:
    """Two scores, or a score and a flag, of one name would be mistaken for each other in every result."""
    seen = set(taken)
    for each in applied:
        for name in each.score_names:
            if name in seen:
                owner = f"The rubric {plan.rubric.name!r}" if plan.rubric else "Another metric"
                what = f"{owner} has a score or flag called {name!r}, like the metric."
                raise ConfigurationError(f"{what} Give the metric another `name`, or rename the criterion.")
            seen.add(name)
