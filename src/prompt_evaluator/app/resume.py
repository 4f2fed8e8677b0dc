"""Resume a run: pay only for what is missing, and refuse if anything it was made from has changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.bars import check_bars, score_names, with_bars
from prompt_evaluator.app.clock import now
from prompt_evaluator.app.models import CODE_MARK
from prompt_evaluator.app.outcomes import rebuild, stored_cases
from prompt_evaluator.app.planning.plans import read_prompt
from prompt_evaluator.app.run_settings import refuse_other_settings
from prompt_evaluator.app.starting import asked_models, carry_out, check_models
from prompt_evaluator.app.wiring import make_executor
from prompt_evaluator.datasets import file_hash
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.metrics.rubrics import load_rubric
from prompt_evaluator.model.bars import Bars
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.outcome import Outcome
from prompt_evaluator.pipeline.loading import refuse_other_questions
from prompt_evaluator.store.artifacts import RunFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from prompt_evaluator.app.models import Models
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import Generation, Judgement, ModelConfig, RunPlan, RunRecord, Unit
    from prompt_evaluator.model.options import EvaluateOptions
    from prompt_evaluator.store import Store

_FINAL = ("completed", "partial", "failed")
_FILES = {"dataset", "system_prompt", "rubric"}
_NO_BARS = Bars()


async def resume_run(
    run_id: str,
    session: Session,
    *,
    retry_errors: bool = False,
    wanted: EvaluateOptions | None = None,
    names: Collection[str] | None = None,
) -> Outcome:
    """Resume a run with its own settings, paying only for what is missing.

    Args:
        run_id: The run, or the start of its id.
        session: Its workspace and limits.
        retry_errors: Whether to retry what failed.
        wanted: Settings given again, which must equal the run's own, even if it has ended; and bars, which are added
            to the run's own.
        names: Which options in `wanted` were given; None means all of them.

    Raises:
        ConfigurationError: Something the run was made from has changed, or a setting differs; says what.
    """
    async with session.models() as models:
        # Reads files and every case: in a thread, because other runs may be in progress in this process.
        found = await asyncio.to_thread(_checked, run_id, session, models, wanted, names, retry_errors)
        if isinstance(found, Outcome):
            return found
        return await carry_out(found, models, session, retry_errors=retry_errors)


def _checked(  # noqa: PLR0913, PLR0917 - what decides whether a run can be resumed
    run_id: str,
    session: Session,
    models: Models,
    wanted: EvaluateOptions | None,
    names: Collection[str] | None,
    retry_errors: bool,  # noqa: FBT001
) -> RunRecord | Outcome:
    """The run as it is to go on, or its outcome if it has ended."""
    store = session.store
    record = store.run(run_id)
    plan = record.plan
    bars: Bars = wanted or _NO_BARS
    check_bars(plan, bars, score_names(plan, (stored.case for stored in stored_cases(store, plan.run_id))))
    given = _kept(OPTIONS if names is None else names) if wanted else ()
    has_ended = record.status in _FINAL and not (retry_errors and store.has_failures(plan.run_id))
    if has_ended and not given:
        return _ended(record, bars, store)
    if not has_ended:
        _refuse_other_models(plan, models)
        _refuse_deleted_runs(plan, store)
    if wanted and given:
        refuse_other_settings(plan, wanted, given, models, session)
    _refuse_changed_files(plan, _FILES & set(given) if has_ended or plan.baseline_run_id else _FILES)
    if has_ended:
        return _ended(record, bars, store)
    check_models(plan, models, session)
    executor = make_executor(plan, models, store, _NoSink(), retry_errors=retry_errors)
    refuse_other_questions(store, executor)
    record = _held_to(bars, record, store)
    started_at = _started_at(record, store)
    return msgspec.structs.replace(record, status="running", started_at=started_at, ended_at=None, stop_reason=None)


def _started_at(record: RunRecord, store: Store) -> str:
    """When the run was started: now, if it only waited for a worker until now."""
    only_waited = record.status == "queued" and not store.known_cases(record.plan.run_id)
    return now() if only_waited else record.started_at


def _kept(names: Iterable[str]) -> list[str]:
    """Options that are stored in a run's plan."""
    return [name for name in names if OPTIONS[name].kept_in]


def _ended(record: RunRecord, bars: Bars, store: Store) -> Outcome:
    """Outcome of a run that has ended, with its bars checked again. Makes no calls."""
    held = _held_to(bars, record, store)
    if RunFolder(held).main_file.exists() and not (held.plan.fail_under or held.plan.fail_over):
        return Outcome(held, None)
    return rebuild(store, held)


def _held_to(bars: Bars, record: RunRecord, store: Store) -> RunRecord:
    plan = with_bars(record.plan, bars)
    if plan != record.plan:
        with store.own(plan.run_id):
            store.replace_plan(plan)
    return msgspec.structs.replace(record, plan=plan)


class _NoSink:
    """Takes no units: the executor is used only to name them."""

    def put(self, unit: Unit, done: Generation | Judgement | None = None) -> None: ...

    async def wait_for_capacity(self) -> None: ...


def _refuse_other_models(plan: RunPlan, models: Models) -> None:
    for model in asked_models(plan):
        _refuse_another_model(plan.run_id, model, models)


def _refuse_deleted_runs(plan: RunPlan, store: Store) -> None:
    """Raise an error if a run whose answers are compared is gone: they would count as missing."""
    for compared in (plan.baseline_run_id, plan.parent_run_id) if plan.baseline_run_id else ():
        try:
            store.run(compared or "")
        except UnknownNameError:
            raise ConfigurationError(
                f"Run {plan.run_id} compares the answers of run {compared}, which has been deleted, so it cannot be "
                "finished. Compare other runs."
            ) from None


def _refuse_changed_files(plan: RunPlan, names: Collection[str]) -> None:
    """Raise an error, with both hashes, if a file has changed since the run was started."""
    pairs: dict[str, tuple[str, str | None, str]] = {}
    if "dataset" in names and (path := plan.dataset.path) is not None:
        pairs["The dataset"] = (plan.dataset.hash, _hash_of(lambda: file_hash(path)), path)
    if "system_prompt" in names and (prompt := plan.target.prompt) is not None and prompt.path is not None:
        prompt_path = prompt.path
        current = _hash_of(lambda: read_prompt(Path(prompt_path), None).hash)
        pairs["The system prompt"] = (prompt.hash, current, prompt_path)
    if "rubric" in names and (rubric := plan.rubric) is not None:
        name = rubric.path or rubric.name
        pairs["The rubric"] = (rubric.hash, _hash_of(lambda: load_rubric(name).hash), name)
    for what, (before, after, where) in pairs.items():
        if before != after:
            was = f"sha256:{before}"
            is_now = f"sha256:{after}" if after else "unreadable"
            raise ConfigurationError(
                f"{what} {where} has changed since run {plan.run_id} was started: it was {was} and is now {is_now}. "
                "Restore it, or start a new run (with --reuse, unchanged results are not paid for again)."
            )


def _refuse_another_model(run_id: str, model: ModelConfig, models: Models) -> None:
    name = models.name(model.model)
    if (now_at := models.identity(name)) == model.identity:
        return
    service, _, code = model.identity.partition(CODE_MARK)
    service_now, _, code_now = now_at.partition(CODE_MARK)
    if code and not code_now:
        models.check(name)  # says why it is no longer there
    if service == service_now:
        raise ConfigurationError(
            f"The program's code has changed since run {run_id} was started: {model.model} was {code or 'unknown'} and "
            f"is now {code_now or 'unknown'}. Restore it, or start a new run."
        )
    raise ConfigurationError(
        f"{model.model} has changed since run {run_id} was started: it was {model.identity} "
        f"and is now {now_at}. Restore the provider's address, or start a new run."
    )


def _hash_of(read: Callable[[], str]) -> str | None:
    try:
        return read()
    except (ValueError, ConfigurationError):
        return None
