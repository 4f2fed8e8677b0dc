"""Evaluate a dataset: new runs, resumed runs, and new judgements of old answers."""

from __future__ import annotations

import uuid
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.estimate import estimate
from prompt_evaluator.app.models import CODE_MARK
from prompt_evaluator.app.outcomes import Outcome, now, rebuild, stored_cases
from prompt_evaluator.app.planning.plans import completed, prepare, read_prompt
from prompt_evaluator.app.runs import Run
from prompt_evaluator.datasets import survey
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.rubrics import load_rubric
from prompt_evaluator.model import JudgeConfig, MetricUse, RunRecord
from prompt_evaluator.model.declaration import NO_RUBRIC
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.store.artifacts import RunFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from prompt_evaluator.app.estimate import Estimate
    from prompt_evaluator.app.models import Models
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import ModelConfig, Rubric, RunPlan, TestCase
    from prompt_evaluator.model.options import EvaluateOptions
    from prompt_evaluator.store import Store

FINAL = ("completed", "partial", "failed")


async def evaluate_dataset(options: EvaluateOptions, session: Session) -> Outcome:
    """Plan a new run and carry it out."""
    async with session.models() as models:
        prepared = prepare(options, models, session.settings.rubrics)
        return await _carry_out(session.store, models, prepared.plan, prepared.cases, session, source=None)


async def check_evaluation(options: EvaluateOptions, session: Session) -> None:
    """Raise what would keep a run from starting. No call is made and nothing is stored."""
    async with session.models() as models:
        _check_models(prepare(options, models, session.settings.rubrics).plan, models, session)


async def estimate_evaluation(options: EvaluateOptions, session: Session) -> Estimate:
    """Plan a run and work out what it would take. No call is made and nothing is stored."""
    async with session.models() as models:
        prepared = prepare(options, models, session.settings.rubrics)
        plan = prepared.plan
        names = {model.model: models.name(model.model) for model in _asked(plan)}
        settings = {full: models.settings[name.provider] for full, name in names.items()}
        prices = {full: models.price(name) for full, name in names.items()}
        return estimate(
            plan,
            prepared.cases,
            {full: price for full, price in prices.items() if price is not None},
            {full: found.limits for full, found in settings.items()},
        )


async def resume_run(
    run_id: str, session: Session, *, retry_errors: bool = False, wanted: EvaluateOptions | None = None
) -> Outcome:
    """Continue a run with its own settings: only what is missing is paid for.

    Args:
        run_id: The run, or the start of its id.
        session: What the outside world lends.
        retry_errors: Whether to do again what failed.
        wanted: Settings given once more; they have to be the run's own.

    Raises:
        ConfigurationError: Something the run was made from has changed; says what.
    """
    store = session.store
    record = store.run(run_id)
    if record.status in FINAL and not (retry_errors and store.has_failures(record.plan.run_id)):
        if RunFolder(record).main_file.exists() and not record.plan.fail_under:
            return Outcome(record, None)
        return rebuild(store, record)
    async with session.models() as models:
        _refuse_changes(record.plan, models, prepare(wanted, models, session.settings.rubrics).plan if wanted else None)
        _check_models(record.plan, models, session)
        record = msgspec.structs.replace(record, status="running", ended_at=None, stop_reason=None)
        run = Run(store, record, models, watcher=session.watcher, on_commit=session.on_commit)
        run.refuse_other_questions()
        if session.on_run:
            session.on_run(run)
        return await run.carry_out(retry_errors=retry_errors, source=_source(record.plan))


async def score_run(  # noqa: PLR0913 - each is a flag of the command
    run_id: str,
    session: Session,
    *,
    rubric: str | None = None,
    judge_model: str | None = None,
    judge_temperature: float = 0.0,
    judge_repeats: int = 1,
    allow_mock_judge: bool = False,
) -> Outcome:
    """Judge the stored answers of a run again, as a new run, without generating anything."""
    store = session.store
    parent = store.run(run_id).plan
    async with session.models() as models:
        judge = models.name(judge_model or (parent.judge.model if parent.judge else parent.target.model))
        draft = msgspec.structs.replace(
            parent,
            run_id=str(uuid.uuid4()),
            parent_run_id=parent.run_id,
            rubric=_rubric(rubric, parent, session),
            judge=JudgeConfig(
                model=str(judge),
                identity=models.identity(judge),
                temperature=judge_temperature,
                seed=parent.target.seed,
                system_prompt=parent.judge.system_prompt if parent.judge else None,
                repeats=judge_repeats,
            ),
            judges={},
            fail_under={},
            reuse=False,
        )
        cases = _StoredCases(store, parent.run_id)
        plan = completed(draft, cases, models, allow_mock_judge=allow_mock_judge)
        return await _carry_out(store, models, plan, cases, session, source=parent.run_id)


class _StoredCases:
    """The cases of a run, as often as they are gone through."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store, self._run_id = store, run_id

    def __iter__(self) -> Iterator[TestCase]:
        return (stored.case for stored in stored_cases(self._store, self._run_id))


def _rubric(name: str | None, parent: RunPlan, session: Session) -> Rubric | None:
    """The rubric of that name; the parent's own when none is named."""
    if name is None:
        return parent.rubric
    return None if name == NO_RUBRIC else load_rubric(name, session.settings.rubrics)


async def _carry_out(  # noqa: PLR0913, PLR0917 - the parts of a run
    store: Store, models: Models, plan: RunPlan, cases: Iterable[TestCase], session: Session, source: str | None
) -> Outcome:
    _check_models(plan, models, session)
    record = RunRecord(plan=plan, status="running", started_at=now())
    RunFolder(record).make_parent()
    store.create_run(record, cases)
    run = Run(store, record, models, watcher=session.watcher, on_commit=session.on_commit)
    if session.on_run:
        session.on_run(run)
    return await run.carry_out(source=source)


def _source(plan: RunPlan) -> str | None:
    """A run that judges another's answers goes on doing that."""
    return plan.parent_run_id


def _asked(plan: RunPlan) -> list[ModelConfig]:
    """The models that a run calls: one that judges another's answers has no use for the generator."""
    return [model for model in (None if _source(plan) else plan.target, plan.judge, *plan.judges.values()) if model]


def _check_models(plan: RunPlan, models: Models, session: Session) -> None:
    """Without a key every call would fail: that is said before there is a run."""
    names = [models.name(model.model) for model in _asked(plan)]
    for name in names:
        models.check(name)
    session.check_budget(names, models)


def _refuse_changes(plan: RunPlan, models: Models, wanted: RunPlan | None) -> None:
    """Say, with both hashes, what is no longer what the run was made from."""
    for model in _asked(plan):
        _refuse_another_model(plan.run_id, model, models)
    pairs: dict[str, tuple[str, str | None, str]] = {}
    if (path := plan.dataset.path) is not None:
        pairs["The dataset"] = (plan.dataset.hash, survey(path).hash, path)
    if (prompt := plan.target.prompt) is not None and prompt.path is not None:
        path = prompt.path
        pairs["The system prompt"] = (prompt.hash, _hash_of(lambda: read_prompt(Path(path), None).hash), path)
    if (rubric := plan.rubric) is not None:
        name = rubric.path or rubric.name
        pairs["The rubric"] = (rubric.hash, _hash_of(lambda: load_rubric(name).hash), name)
    for what, (before, after, where) in pairs.items():
        if before != after:
            was = f"sha256:{before}"
            is_now = f"sha256:{after}" if after else "not readable"
            raise ConfigurationError(
                f"{what} {where} has changed since run {plan.run_id} was started: it was {was} and is now {is_now}. "
                "Restore it, or start a new run (with --reuse, what did not change is not paid for again)."
            )
    if wanted is not None:
        _refuse_other_settings(plan, wanted)


def _refuse_another_model(run_id: str, model: ModelConfig, models: Models) -> None:
    name = models.name(model.model)
    if (now_at := models.identity(name)) == model.identity:
        return
    service, _, code = model.identity.partition(CODE_MARK)
    service_now, _, code_now = now_at.partition(CODE_MARK)
    if code and not code_now:
        models.check(name)  # knows best why it is not there any more
    if service == service_now:
        raise ConfigurationError(
            f"The program's code has changed since run {run_id} was started: {model.model} was {code or 'unknown'} and "
            f"is now {code_now or 'unknown'}. Restore it, or start a new run."
        )
    raise ConfigurationError(
        f"{model.model} is no longer what it was when run {run_id} was started: it was {model.identity} "
        f"and is now {now_at}. Restore the provider's address, or start a new run."
    )


def _refuse_other_settings(plan: RunPlan, wanted: RunPlan) -> None:
    for field in dict.fromkeys(option.kept_in for option in OPTIONS.values() if option.kept_in):
        before, after = attrgetter(field)(plan), attrgetter(field)(wanted)
        if msgspec.json.encode(before) != msgspec.json.encode(after):
            what = field.rpartition(".")[2].replace("_", " ")
            raise ConfigurationError(
                f"Run {plan.run_id} was started with other settings: {what} was {_shown(before)}, not {_shown(after)}. "
                "Resume it without these settings, or start a new run."
            )


def _shown(value: Any) -> str:
    """A part of a plan in as few words as tell it from another."""
    if isinstance(value, tuple) and all(isinstance(item, MetricUse) for item in value):
        return ", ".join(use.key for use in value) or "none"
    for name in ("path", "model", "name"):
        if isinstance(found := getattr(value, name, None), str):
            return found
    return msgspec.json.encode(value).decode()


def _hash_of(read: Callable[[], str]) -> str | None:
    try:
        return read()
    except (ValueError, ConfigurationError):
        return None
