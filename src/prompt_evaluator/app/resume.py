"""Continue a run: only what is missing is paid for, and nothing when what it was made from has changed."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.models import CODE_MARK
from prompt_evaluator.app.outcomes import rebuild
from prompt_evaluator.app.planning.earlier_run import with_earlier_run
from prompt_evaluator.app.planning.plans import prepare, read_prompt
from prompt_evaluator.app.planning.prepared import with_known_cases
from prompt_evaluator.app.starting import asked_models, carry_out, check_models
from prompt_evaluator.app.wiring import make_executor
from prompt_evaluator.datasets import file_hash
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.rubrics import load_rubric
from prompt_evaluator.model import MetricUse
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.outcome import Outcome
from prompt_evaluator.pipeline.loading import refuse_other_questions
from prompt_evaluator.store.artifacts import RunFolder

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.app.models import Models
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import Generation, Judgement, ModelConfig, RunPlan, Unit
    from prompt_evaluator.model.options import EvaluateOptions

_FINAL = ("completed", "partial", "failed")


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
    plan = record.plan
    if record.status in _FINAL and not (retry_errors and store.has_failures(plan.run_id)):
        if RunFolder(record).main_file.exists() and not plan.fail_under:
            return Outcome(record, None)
        return rebuild(store, record)
    async with session.models() as models:
        if wanted:
            wanted = with_earlier_run(wanted, session)
        draft = prepare(wanted, models, session.settings.rubrics).draft if wanted else None
        _refuse_changes(plan, models, with_known_cases(draft, plan) if draft else None)
        check_models(plan, models, session)
        executor = make_executor(plan, models, store, _NoSink(), retry_errors=retry_errors)
        refuse_other_questions(store, executor)
        record = msgspec.structs.replace(record, status="running", ended_at=None, stop_reason=None)
        return await carry_out(record, models, session, retry_errors=retry_errors)


class _NoSink:
    """For asking what units are called: nothing is done, so there is nothing to keep."""

    def put(self, unit: Unit, done: Generation | Judgement | None = None) -> None: ...

    async def wait_for_capacity(self) -> None: ...


def _refuse_changes(plan: RunPlan, models: Models, wanted: RunPlan | None) -> None:
    """Say, with both hashes, what is no longer what the run was made from."""
    for model in asked_models(plan):
        _refuse_another_model(plan.run_id, model, models)
    pairs: dict[str, tuple[str, str | None, str]] = {}
    if (path := plan.dataset.path) is not None:
        pairs["The dataset"] = (plan.dataset.hash, _hash_of(lambda: file_hash(path)), path)
    if (prompt := plan.target.prompt) is not None and prompt.path is not None:
        prompt_path = prompt.path
        now = _hash_of(lambda: read_prompt(Path(prompt_path), None).hash)
        pairs["The system prompt"] = (prompt.hash, now, prompt_path)
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
