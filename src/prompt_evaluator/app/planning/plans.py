"""Makes a plan from options: reads every file except the dataset, and checks every name."""

from __future__ import annotations

import hashlib
import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from prompt_evaluator.app.planning.case_checks import problems_with_uses
from prompt_evaluator.app.planning.metric_options import metric_uses
from prompt_evaluator.app.planning.prepared import Prepared
from prompt_evaluator.datasets import DatasetReader, InMemoryDataset
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.rubrics import load_rubric
from prompt_evaluator.model import DatasetRef, JudgeConfig, PromptRef, RunPlan, Target
from prompt_evaluator.model.bounds import SAMPLES
from prompt_evaluator.model.secret import is_secret_name
from prompt_evaluator.pipeline.filters import Selection
from prompt_evaluator.pipeline.messages import CONTEXT_TEMPLATE
from prompt_evaluator.stats.reducers import Samples, numbers_in, reducer
from prompt_evaluator.syntax.source import check_text, read_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.app.models import Models
    from prompt_evaluator.model.options import EvaluateOptions
    from prompt_evaluator.providers.catalogue import ModelName

_SHOWN = 40
_OWN_PARAMS = ("model", "messages", "stream")
_Source: TypeAlias = DatasetReader | InMemoryDataset


def prepare(options: EvaluateOptions, models: Models, rubrics: Mapping[str, str] | None = None) -> Prepared:
    """Read everything except the cases. Raise an error about the first thing that is wrong.

    Cases are read while the caller iterates over the result's: once, and all of them, even if only some are selected.
    """
    generator = models.name(options.generator_model)
    judge = models.name(options.judge_model) if options.judge_model else generator
    source = _source(options)
    selection = Selection(
        case_ids=options.case_ids, where=options.where, max_cases=options.max_cases, among=options.among
    )
    draft = _draft(options, models, generator, judge, source, rubrics)

    def dataset() -> DatasetRef:
        selection.refuse_unknown(source.again)
        return _reference(source, options)

    return Prepared(draft, selection.of(source), models, allow_mock_judge=options.allow_mock_judge, dataset=dataset)


def _draft(  # noqa: PLR0913, PLR0917 - what a plan is made from
    options: EvaluateOptions,
    models: Models,
    generator: ModelName,
    judge: ModelName,
    source: _Source,
    rubrics: Mapping[str, str] | None,
) -> RunPlan:
    """The plan before the cases are read: which judges are needed is not known yet."""
    run_id = str(uuid.uuid4())
    return RunPlan(
        run_id=run_id,
        group_id=options.group_id or run_id,
        dataset=_reference(source, options),
        target=target_of(options, generator, models),
        rubric=load_rubric(options.rubric, rubrics) if options.rubric else None,
        metrics=metric_uses(options),
        judge=judge_of(judge, options, models),
        num_samples=options.num_samples,
        output_dir=str(options.output_dir.resolve()),
        note=options.run_note,
        tags=options.tags,
        filters=_filters(options),
        fail_under=options.fail_under,
        fail_over=options.fail_over,
        reducers=_checked_reducers(options),
        reuse=options.reuse,
        command=options.command,
        harness=options.harness,
    )


def _source(options: EvaluateOptions) -> _Source:
    if options.dataset is not None:
        return DatasetReader(options.dataset, inspect=problems_with_uses)
    return InMemoryDataset(options.cases or ())


def _reference(source: _Source, options: EvaluateOptions) -> DatasetRef:
    """What is known of the dataset; for a file, hash and count only once it has been read."""
    path = str(source.path) if source.path else None
    name = Path(options.harness.folder).name if options.harness else None
    return DatasetRef(path=path, name=name, hash=source.hash, count=source.count, selected=0)


def target_of(options: EvaluateOptions, name: ModelName, models: Models) -> Target:
    target = Target(
        model=str(name),
        identity=models.identity(name),
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        seed=options.seed,
        effort=options.effort,
        response_schema=_schema(options.schema) if options.schema else None,
        strict_params=options.strict_params,
        params=_checked_params(options.params, models.settings[name.provider].kind),
        prompt=_prompt(options),
        render_prompt=options.render_prompt,
        template=_text(options.template) if options.template else None,
        context_template=None if options.template else CONTEXT_TEMPLATE,
        attempts=options.attempts,
    )
    return models.as_sent(target, () if "temperature" in options.stated else ("temperature",))


def _schema(path: Path) -> dict[str, Any]:
    """A JSON schema for answers. Raises an error if the file is not one of an object."""
    try:
        found = json.loads(_text(path))
    except ValueError as error:
        raise ConfigurationError(f"{path}: this is not JSON: {error}.") from None
    if not isinstance(found, dict) or "type" not in found:
        raise ConfigurationError(f'{path}: this is not a JSON schema. Write an object such as {{"type": "object", …}}.')
    return found


def _checked_params(params: dict[str, Any], kind: str) -> dict[str, Any]:
    """Refuse parameters that the run sets itself, and secrets, which would be stored with the results."""
    for name in params:
        if name.lower() in _OWN_PARAMS and kind != "router":  # there they are the configuration to route to
            raise ConfigurationError(f"The parameter {name!r} cannot be passed through: the run sets it itself.")
        if is_secret_name(name):
            what = f"The parameter {name!r} looks like a secret, but parameters are stored with the results."
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
        raise ConfigurationError(f"The system prompt contains a character that cannot be sent: {error}.") from None
    return PromptRef(path=None, hash=digest, text=options.system_text, version=options.prompt_version)


def judge_of(judge: ModelName, options: EvaluateOptions, models: Models) -> JudgeConfig:
    config = JudgeConfig(
        model=str(judge),
        identity=models.identity(judge),
        temperature=options.judge_temperature,
        max_tokens=options.judge_max_tokens,
        seed=options.seed,
        effort=options.judge_effort,
        strict_params=options.strict_params,
        params=_checked_params(options.judge_params, models.settings[judge.provider].kind),
        system_prompt=_text(options.judge_system_prompt) if options.judge_system_prompt else None,
        repeats=options.judge_repeats,
    )
    # The seed is the generator's: a judge that takes none is no reason for a remark.
    return models.as_sent(config, ("seed",) if "judge_temperature" in options.stated else ("seed", "temperature"))


def read_prompt(path: Path, version: str | None) -> PromptRef:
    data = read_bytes(path)
    text = check_text(data, path).decode()
    return PromptRef(path=str(path.resolve()), hash=hashlib.sha256(data).hexdigest(), text=text, version=version)


def _text(path: Path) -> str:
    return check_text(read_bytes(path), path).decode()


def _filters(options: EvaluateOptions) -> dict[str, Any]:
    chosen = {
        "case_ids": options.case_ids,
        "where": options.where or None,
        "max_cases": options.max_cases,
        "only": options.only,
        "of": options.of,
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _checked_reducers(options: EvaluateOptions) -> tuple[str, ...]:
    ones = Samples([1.0] * options.num_samples, [True] * options.num_samples)
    for name in options.reducers:
        try:
            _check_numbers(name)
            reducer(name)(ones)
        except ValueError as error:
            raise ConfigurationError(f"The reducer {name[:_SHOWN]!r} cannot be used: {error}.") from None
    return options.reducers


def _check_numbers(reducer_name: str) -> None:
    for number in numbers_in(reducer_name):
        try:
            SAMPLES.read_text(number)
        except ValueError:
            raise ValueError(f"{number[:_SHOWN]} has to be {SAMPLES.words}") from None
