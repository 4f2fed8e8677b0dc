"""The one place that picks implementations and turns a plan into a driver that can run it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.remote.desk import SharedDesk
from prompt_evaluator.engines.local import LocalEngine
from prompt_evaluator.metrics.catalogue import build_metric
from prompt_evaluator.metrics.rubric_metric import RubricMetric
from prompt_evaluator.pipeline.driver import Driver
from prompt_evaluator.pipeline.events import Events
from prompt_evaluator.pipeline.execute import Executor, Generators
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.preparing import NO_CASE, Preparer
from prompt_evaluator.pipeline.scoring import RecordedJudge, Scorer
from prompt_evaluator.pipeline.uses import Uses
from prompt_evaluator.store.run_files import RunFiles

if TYPE_CHECKING:
    from prompt_evaluator.app.models import Models
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import JudgeConfig, RunPlan, RunRecord, TestCase, Unit
    from prompt_evaluator.model.work import WorkerSource
    from prompt_evaluator.pipeline.scoring import Replies
    from prompt_evaluator.ports import Engine, UnitSink
    from prompt_evaluator.store import Store


def make_driver(record: RunRecord, models: Models, session: Session, *, retry_errors: bool) -> Driver:
    """A driver with everything it needs to run in this process."""
    plan, store = record.plan, session.store
    run_id = plan.run_id
    events = Events(run_id)
    for subscriber in session.subscribers:
        events.subscribe(subscriber)
    desk = SharedDesk(session.budget, session.meter)

    def executor_for(sink: UnitSink) -> Executor:
        desk.executor = make_executor(plan, models, store, sink, retry_errors=retry_errors)
        return desk.executor

    return Driver(
        record,
        store=store,
        engine=_engine(plan, models, session, desk),
        events=events,
        make_files=lambda: RunFiles(record, lambda: store.case_ids(run_id)),
        make_executor=executor_for,
        make_ledger=lambda: store.writer(
            run_id, flush_at=max(1, models.max_concurrency // 2), on_commit=session.on_commit
        ),
        now=now,
        on_stop=models.stop,
        throttled=lambda: session.meter.throttled_share if session.meter else 0.0,
    )


def make_executor(plan: RunPlan, models: Models, store: Store, sink: UnitSink, *, retry_errors: bool) -> Executor:
    """The executor for the samples of a run; prepared metrics are written to the sink."""
    return put_together(plan, models, _preparer(plan, models, store, sink), retry_errors=retry_errors)


def put_together(plan: RunPlan, models: Models, preparer: Preparer, *, retry_errors: bool) -> Executor:
    """The executor for the samples of a run. One that judges another run's answers has no generators."""
    name = models.name(plan.target.model)
    generators = None
    if plan.parent_run_id is None:
        generators = Generators(models.client(name.provider), models.client(name.provider, urgent=True))
    return Executor(
        plan,
        requests=RequestBuilder(plan.target, name.model),
        generators=generators,
        uses=make_uses(plan),
        scorer=_scorer(models),
        preparer=preparer,
        admission=models.admission,
        now=now,
        retry_errors=retry_errors,
    )


def make_uses(plan: RunPlan) -> Uses:
    """Decides which metrics apply to a case of this run."""
    return Uses(plan, build_metric, _rubric_metric)


def _rubric_metric(plan: RunPlan) -> RubricMetric | None:
    if plan.rubric is None:
        return None
    return RubricMetric(plan.rubric, plan.judge.system_prompt if plan.judge else None)


def _scorer(models: Models) -> Scorer:
    """Applies metrics, with the judges they name."""

    def judge(config: JudgeConfig, case: TestCase, repeat: int, kept: Replies | None) -> RecordedJudge:
        name = models.name(config.model)
        return RecordedJudge(models.client(name.provider, urgent=True), config, name.model, case, repeat, kept)

    return Scorer(judge)


def _preparer(plan: RunPlan, models: Models, store: Store, sink: UnitSink) -> Preparer:
    """Prepares metrics; reuses what this or any other run has already prepared."""
    own = {unit.name: unit for unit in store.units(plan.run_id, [NO_CASE])[NO_CASE] if unit.ok}

    def judge(config: JudgeConfig) -> RecordedJudge:
        name = models.name(config.model)
        return RecordedJudge(models.client(name.provider, urgent=True), config, name.model, None)

    def find(name: bytes) -> Unit | None:
        return own.get(name) or store.prepared([name]).get(name)

    return Preparer(judge, build_metric, find, sink)


def _engine(plan: RunPlan, models: Models, session: Session, desk: SharedDesk) -> Engine:
    """Where the samples of a run are made."""
    limits, window = session.limits, _window(plan, models)
    if limits.engine == "local":
        return LocalEngine(window)
    from prompt_evaluator.app.remote.source import make_source  # noqa: PLC0415 - for Ray alone
    from prompt_evaluator.engines.ray.engine import RayEngine  # noqa: PLC0415 - an optional extra

    def source(workers: int) -> WorkerSource:
        assert desk.executor is not None  # noqa: S101 - the driver makes it before the engine runs
        return make_source(desk.executor, models, workers, session.budget.limits)

    return RayEngine(
        session.workspace.ray(limits.ray_address),
        source,
        desk,
        window=window,
        workers=limits.ray_workers,
        most_workers=_most_processes(plan, models),
        gpus=limits.ray_gpus or 0.0,
    )


def _most_processes(plan: RunPlan, models: Models) -> int:
    """No more processes than calls may be in flight: each makes at least one call at a time."""
    names = {
        models.name(config.model).provider for config in (plan.target, plan.judge, *plan.judges.values()) if config
    }
    known = (models.settings[name].limits.max_concurrency for name in names)
    return min([models.max_concurrency, *(limit for limit in known if limit)])


def _window(plan: RunPlan, models: Models) -> int:
    """As many samples as calls may be in flight, or twice that if generator and judge do not share a limit."""
    judges = [*([plan.judge] if plan.judge else ()), *plan.judges.values()]
    others = any(judge.identity != plan.target.identity for judge in judges)
    return models.max_concurrency * 2 if others else models.max_concurrency
