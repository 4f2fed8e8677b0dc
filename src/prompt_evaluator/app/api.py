"""The same use cases for Python: `evaluate` and `evaluate_async`."""

from __future__ import annotations

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

from prompt_evaluator.app.evaluate import evaluate_dataset
from prompt_evaluator.app.outcomes import results
from prompt_evaluator.app.plans import DEFAULT_MODEL, DEFAULT_SAMPLES, EvaluateOptions
from prompt_evaluator.app.run_records import score_column
from prompt_evaluator.app.session import Session, open_store
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.datasets import in_memory_cases
from prompt_evaluator.errors import ConfigurationError, PromptEvaluatorError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence

    from prompt_evaluator.app.outcomes import Outcome
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunStatus, TestCase
    from prompt_evaluator.model.result import CaseResult, OverallFlag, OverallMetric, RunTotals


P = ParamSpec("P")


@dataclass(frozen=True)
class Evaluation:
    """A run that was carried out, with its statistics."""

    run_id: str
    status: RunStatus
    metrics: dict[str, OverallMetric]
    flags: dict[str, OverallFlag]
    totals: RunTotals
    synthetic: bool
    """Whether the offline mock had any part in it."""
    error: PromptEvaluatorError | None
    """What ended the run early, if something did; `prompt-evaluator resume` continues it."""
    settings: Settings = field(repr=False)

    def cases(self) -> list[CaseResult]:
        """Every case with its samples and statistics, in order, read from the store."""
        store = open_store(self.settings)
        try:
            return list(results(store, store.run(self.run_id)))
        finally:
            store.close()

    def rows(self) -> list[dict[str, Any]]:
        """One flat row a sample."""
        return [_row(case, number) for case in self.cases() for number in range(len(case.samples))]

    def to_pandas(self) -> Any:
        """One row a sample, as a pandas DataFrame."""
        try:
            import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: ICN001, PLC0415 - optional, and only here
        except ImportError:
            raise ConfigurationError("Install pandas to use to_pandas().") from None
        return pandas.DataFrame(self.rows())

    def to_polars(self) -> Any:
        """One row a sample, as a polars DataFrame."""
        try:
            import polars  # type: ignore[import-not-found,unused-ignore]  # noqa: ICN001, PLC0415 - optional, and only here
        except ImportError:
            raise ConfigurationError("Install polars to use to_polars().") from None
        return polars.DataFrame(self.rows(), infer_schema_length=None)


async def evaluate_async(  # noqa: PLR0913 - each is something a caller may want to say
    dataset: str | Path | Iterable[TestCase | Mapping[str, Any]],
    target: str | Callable[..., Any] = DEFAULT_MODEL,
    *,
    system_prompt: str | Path | None = None,
    rubric: str | None = "default",
    metrics: Sequence[str | dict[str, Any]] = (),
    judge: str | None = None,
    samples: int = DEFAULT_SAMPLES,
    temperature: float = 0.7,
    judge_temperature: float = 0.0,
    judge_repeats: int = 1,
    max_tokens: int | None = None,
    seed: int | None = None,
    max_concurrency: int | None = None,
    max_calls: int | None = None,
    max_cost: float | None = None,
    output_dir: str | Path = "runs",
    note: str | None = None,
    tags: Mapping[str, str] | None = None,
    reuse: bool = False,
    allow_mock_judge: bool = False,
) -> Evaluation:
    """Evaluate a target on a dataset, as `prompt-evaluator evaluate-dataset` does.

    Args:
        dataset: A file's path, or cases: `TestCase` objects, or mappings as they would stand in a file.
        target: A model's name (`provider/model`), or a function that takes the input and returns the answer.
        system_prompt: A text, or the `Path` of a file.
        rubric: The name of a rubric that ships, or a file's path; None for metrics alone.
        metrics: Names, or mappings `{"metric": name, …options}`, beside the rubric.
        judge: The judging model. The target's own when it is not named, which a function cannot be.
        samples: Answers per case.
        temperature: Of the target.
        judge_temperature: Of the judge.
        judge_repeats: How often each answer is judged.
        max_tokens: Of each answer.
        seed: Sample k uses seed + k.
        max_concurrency: Calls in flight at most, per key. This limit and the next two: the settings' when not given.
        max_calls: Ends the run before it makes more calls than this.
        max_cost: Ends the run before it spends more US dollars than this.
        output_dir: Where the artifacts go.
        note: A sentence to remember the run by.
        tags: Labels.
        reuse: Whether to take over what earlier runs asked in the very same way.
        allow_mock_judge: Whether the mock may judge a real target.

    Raises:
        PromptEvaluatorError: Something that was given is wrong; nothing has been paid for.
    """
    options = EvaluateOptions(
        dataset=Path(dataset) if isinstance(dataset, (str, Path)) else None,
        cases=None if isinstance(dataset, (str, Path)) else in_memory_cases(dataset),
        system_prompt=system_prompt if isinstance(system_prompt, Path) else None,
        system_text=system_prompt if isinstance(system_prompt, str) else None,
        rubric=rubric,
        metrics=tuple(metrics),
        generator_model=target if isinstance(target, str) else _adopted(target),
        judge_model=judge,
        num_samples=samples,
        temperature=temperature,
        judge_temperature=judge_temperature,
        judge_repeats=judge_repeats,
        max_tokens=max_tokens,
        seed=seed,
        output_dir=Path(output_dir),
        run_note=note,
        tags=dict(tags or {}),
        reuse=reuse,
        allow_mock_judge=allow_mock_judge,
    )
    limits = {"max_concurrency": max_concurrency, "max_calls": max_calls, "max_cost": max_cost}
    settings = read_settings(flags=limits)
    session = Session(settings=settings, **{name: settings.value(name) for name in limits})
    return _evaluation(await evaluate_dataset(options, session), session)


def _without_loop(name: str, work: Callable[P, Coroutine[Any, Any, Evaluation]]) -> Callable[P, Evaluation]:
    @functools.wraps(work)
    def run(*given: P.args, **options: P.kwargs) -> Evaluation:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(work(*given, **options))
        # In a notebook a loop is running already, and cannot be waited for from within: a thread brings its own.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(work(*given, **options))).result()

    run.__name__ = run.__qualname__ = name
    return run


evaluate = _without_loop("evaluate", evaluate_async)
"""`evaluate_async` for callers without an event loop, and for notebooks."""


def _adopted(function: Callable[..., Any]) -> str:
    from prompt_evaluator.providers.function import adopt  # noqa: PLC0415 - only for functions

    return adopt(function)


def _evaluation(outcome: Outcome, session: Session) -> Evaluation:
    result = outcome.result
    assert result is not None  # noqa: S101 - a run that was just carried out has one
    return Evaluation(
        run_id=outcome.record.plan.run_id,
        status=outcome.record.status,
        metrics=result.overall_metric_stats,
        flags=result.overall_flag_stats,
        totals=result.totals,
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
        "model": sample.model,
        "input_tokens": sample.input_tokens,
        "output_tokens": sample.output_tokens,
        "cost": sample.cost,
        "latency_ms": sample.latency_ms,
        "error": sample.error.message if sample.error else None,
    }
