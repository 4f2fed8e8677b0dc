"""The metrics of a run, made ready: what a judge writes once, such as evaluation steps, is kept with the run."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.metrics.catalogue import build_metric
from prompt_evaluator.model import Preparation, Unit
from prompt_evaluator.pipeline.scoring import Scorer, Voice

if TYPE_CHECKING:
    from prompt_evaluator.app.models import Models
    from prompt_evaluator.model import Answer, RunPlan, TestCase
    from prompt_evaluator.pipeline.scoring import Replies
    from prompt_evaluator.ports import Ledger, Metric
    from prompt_evaluator.store import Store

_preparation = msgspec.json.Decoder(Preparation).decode
_NO_CASE = ""
"""What the run as a whole has made is kept under the id that no case can have."""


async def make_scorer(plan: RunPlan, models: Models, store: Store, ledger: Ledger) -> Scorer:
    """The scorer of a run; judges nothing that was judged before, and prepares nothing twice."""
    kept = {unit.name: unit for unit in store.units(plan.run_id, [_NO_CASE])[_NO_CASE]}
    metrics = [await _prepared(build_metric(spec), plan, models, kept, ledger) for spec in plan.metrics]
    voice = None if plan.judge is None else lambda case, kept: _voice(plan, models, case, kept)
    judge = msgspec.to_builtins(plan.judge) if plan.judge else None
    return Scorer(metrics, build_metric, voice, judge)


async def _prepared(metric: Metric, plan: RunPlan, models: Models, kept: dict[bytes, Unit], ledger: Ledger) -> Metric:
    if not metric.needs_judge or plan.judge is None:
        return metric
    decides = msgspec.json.encode(("prepared", metric.definition(), plan.judge), order="sorted")
    name = hashlib.blake2b(decides, digest_size=16).digest()
    if name in kept:
        return build_metric(_preparation(kept[name].data).spec)
    voice = _voice(plan, models, None)
    ready = await metric.prepared(voice)
    if ready != metric:
        spec = {"metric": ready.name, **msgspec.to_builtins(ready)}
        data = msgspec.json.encode(Preparation(spec=spec, replies=tuple(voice.replies)))
        ledger.put(Unit(case_id=_NO_CASE, name=name, kind="score", sample=0, ok=True, data=data))
    return ready


def replies_of_preparation(store: Store, run_id: str) -> list[Answer]:
    """What a run has paid for before its first sample."""
    units = store.units(run_id, [_NO_CASE])[_NO_CASE]
    return [reply for unit in units for reply in _preparation(unit.data).replies]


def _voice(plan: RunPlan, models: Models, case: TestCase | None, kept: Replies | None = None) -> Voice:
    assert plan.judge is not None  # noqa: S101 - asked for only where there is one
    name = models.name(plan.judge.model)
    return Voice(models.provider(name.provider), plan.judge, name.model, case, kept)
