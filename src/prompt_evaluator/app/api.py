"""The Python API: `evaluate` and `evaluate_async`."""

from __future__ import annotations

import asyncio
import functools
import inspect
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from prompt_evaluator.app.evaluate import evaluate_dataset
from prompt_evaluator.app.export import score_column
from prompt_evaluator.app.outcomes import results
from prompt_evaluator.app.planning.options import evaluate_options, given_options, run_limits
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.datasets import in_memory_cases
from prompt_evaluator.errors import ConfigurationError, PromptEvaluatorError
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.run_limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunStatus, TestCase
    from prompt_evaluator.model.bars import MissedBar
    from prompt_evaluator.model.outcome import Outcome
    from prompt_evaluator.model.result import CaseResult, OverallFlag, OverallMetric, RunTotals


P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Evaluation:
    """A run with its statistics."""

    run_id: str
    status: RunStatus
    metrics: dict[str, OverallMetric]
    flags: dict[str, OverallFlag]
    totals: RunTotals
    missed_bars: tuple[MissedBar, ...]
    """What was below its `fail_under`, above its `fail_over`, or not measured, with the reason."""
    synthetic: bool
    """Whether any answer or judgement came from the offline mock."""
    error: PromptEvaluatorError | None
    """What ended the run early, if anything; `prompt-evaluator resume` continues the run."""
    settings: Settings = field(repr=False)

    def cases(self) -> list[CaseResult]:
        """Every case with its samples and statistics, in order, read from the store."""
        store = open_store(self.settings)
        try:
            return list(results(store, store.run(self.run_id)))
        finally:
            store.close()

    def rows(self) -> list[dict[str, Any]]:
        """One flat row per sample."""
        return [_row(case, number) for case in self.cases() for number in range(len(case.samples))]

    def to_pandas(self) -> Any:
        """One row per sample, as a pandas DataFrame."""
        try:
            import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: ICN001, PLC0415 - optional, and only here
        except ImportError:
            raise ConfigurationError("Install pandas to use to_pandas().") from None
        return pandas.DataFrame(self.rows())

    def to_polars(self) -> Any:
        """One row per sample, as a polars DataFrame."""
        try:
            import polars  # type: ignore[import-not-found,unused-ignore]  # noqa: ICN001, PLC0415 - optional, and only here
        except ImportError:
            raise ConfigurationError("Install polars to use to_polars().") from None
        return polars.DataFrame(self.rows(), infer_schema_length=None)


def _with_options(work: Callable[P, T]) -> Callable[P, T]:
    """Show the declared options in the function's signature and docstring instead of `**options`."""
    signature = inspect.signature(work)
    own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    names = {parameter.name for parameter in own}
    options = [option for option in (OPTIONS | LIMITS).values() if option.keyword not in names]
    shown = [
        inspect.Parameter(
            option.keyword, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=option.type
        )
        for option in options
    ]
    described: Any = work
    described.__signature__ = signature.replace(parameters=[*own, *shown])
    lines = "\n".join(f"        {option.keyword}: {option.help}" for option in options)
    described.__doc__ = (work.__doc__ or "").replace("        options: The command line's options.", lines)
    return work


@_with_options
async def evaluate_async(
    dataset: str | Path | Iterable[TestCase | Mapping[str, Any]],
    target: str | Callable[..., Any] | None = None,
    *,
    system_prompt: str | Path | None = None,
    workspace: Workspace | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate a target on a dataset, as `prompt-evaluator evaluate-dataset` does.

    Options that are not given or None come from the configuration (environment, `.env`, `prompt_evaluator.yaml`), else
    from built-in defaults. The exception is `rubric=None`, which means no rubric, only metrics. Options may also be
    named after their flags, such as `num_samples`.

    Args:
        dataset: A file's path, a configured name, or cases: `TestCase` objects, or mappings as they would be in a file.
        target: A model's name (`provider/model`), or a function that takes the input and returns the answer.
        system_prompt: The text, or the `Path` of a file.
        workspace: Lets several evaluations on one event loop share the store, connections and the limits of each key.
            The caller closes it. By default, nothing is shared.
        options: The command line's options.

    Raises:
        PromptEvaluatorError: An argument is wrong; no call has been made.
    """
    name = target if target is None or isinstance(target, str) else _adopted(target)
    given = given_options({**options, "target": name} if name is not None else options)
    fixed: dict[str, Any] = {}
    if isinstance(dataset, (str, Path)):
        given["dataset"] = dataset
    else:
        fixed["cases"] = in_memory_cases(dataset)
    if isinstance(system_prompt, Path):
        given["system_prompt"] = system_prompt
    else:
        fixed["system_text"] = system_prompt
    settings = read_settings(options=given)
    async with nullcontext(workspace) if workspace else Workspace(settings) as shared:
        session = Session(workspace=shared, limits=run_limits(settings))
        return _evaluation(await evaluate_dataset(evaluate_options(settings, given, **fixed), session), session)


def _without_loop(name: str, work: Callable[P, Coroutine[Any, Any, Evaluation]]) -> Callable[P, Evaluation]:
    @functools.wraps(work)
    def run(*given: P.args, **options: P.kwargs) -> Evaluation:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(work(*given, **options))
        # In a notebook a loop is already running and cannot be blocked, so run another loop in a thread.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(work(*given, **options))).result()

    run.__name__ = run.__qualname__ = name
    return run


evaluate = _without_loop("evaluate", evaluate_async)
"""Like `evaluate_async`, for callers without an event loop and for notebooks."""


def _adopted(function: Callable[..., Any]) -> str:
    from prompt_evaluator.providers.function import adopt  # noqa: PLC0415 - only for functions

    return adopt(function)


def _evaluation(outcome: Outcome, session: Session) -> Evaluation:
    result = outcome.result
    assert result is not None  # noqa: S101 - a run that has just ended has one
    return Evaluation(
        run_id=outcome.record.plan.run_id,
        status=outcome.record.status,
        metrics=result.overall_metric_stats,
        flags=result.overall_flag_stats,
        totals=result.totals,
        missed_bars=result.missed_bars,
        synthetic=outcome.record.plan.synthetic,
        error=outcome.stopped_by,
        settings=session.settings,
    )


def _row(case: CaseResult, number: int) -> dict[str, Any]:
    sample = case.samples[number]
    return {
        "test_case_id": case.test_case_id,
        "sample": number,
        "status": sample.status,
        "input": sample.input_text,
        "output": sample.generator_output,
        **{score_column(name): mark.score for name, mark in sample.judge_metrics.items()},
        **{score_column(name): raised for name, raised in sample.judge_flags.items()},
        **{score_column(name): score.score for name, score in sample.scores.items()},
        "attempt": sample.attempt,
        "model": sample.model,
        "input_tokens": sample.input_tokens,
        "output_tokens": sample.output_tokens,
        "cost": sample.cost,
        "latency_ms": sample.latency_ms,
        "error": sample.error.message if sample.error else None,
    }
