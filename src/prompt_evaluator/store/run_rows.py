"""Columns of runs and cases to filter and group by, in addition to the full record as bytes."""

from __future__ import annotations

from hashlib import sha256
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.model import REDACTOR
from prompt_evaluator.store.texts import as_json, clean, clean_or_none

if TYPE_CHECKING:
    from prompt_evaluator.model import RunPlan, RunProgress, RunRecord, TestCase
    from prompt_evaluator.model.result import RunResult

_encode = msgspec.json.Encoder().encode
_in_order = msgspec.json.Encoder(order="deterministic").encode


def run_row(record: RunRecord) -> dict[str, Any]:
    """All columns known when a run begins."""
    return {
        "run_id": record.plan.run_id,
        "group_id": record.plan.group_id,
        "parent_run_id": record.plan.parent_run_id,
        "status": record.status,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "stop_reason": clean_or_none(record.stop_reason),
        "plan": plan_bytes(record.plan),
        **plan_columns(record.plan),
    }


def plan_bytes(plan: RunPlan) -> bytes:
    return REDACTOR.json(_encode(plan))


def plan_columns(plan: RunPlan) -> dict[str, Any]:
    """The columns derived from the plan."""
    prompt, judges = plan.target.prompt, plan.judge_models
    path = plan.dataset.path
    name = PurePath(path).stem if path else plan.dataset.name
    return {
        "kind": "pairwise" if plan.baseline_run_id else "scoring" if plan.parent_run_id else "evaluation",
        "dataset_name": clean_or_none(name),
        "dataset_path": clean_or_none(path),
        "dataset_hash": plan.dataset.hash,
        "prompt_hash": prompt.hash if prompt else None,
        "prompt_version": clean_or_none(prompt.version) if prompt else None,
        "rubric_hash": plan.rubric.hash if plan.rubric else None,
        "judge_hash": judge_hash(plan),
        "generator_model": clean(plan.target.model),
        "judge_model": clean(judges[0]) if judges else None,
        "synthetic": plan.synthetic,
        "tags": as_json(plan.tags),
        "note": clean_or_none(plan.note),
        "cases": plan.dataset.selected,
        "num_samples": plan.num_samples,
    }


def summary_columns(result: RunResult) -> dict[str, Any]:
    """The columns derived from the summary."""
    totals = result.totals
    return {
        "cost": totals.cost,
        "input_tokens": totals.input_tokens,
        "output_tokens": totals.output_tokens,
        "errors": as_json(totals.errors),
        "summary": as_json(result),
    }


def progress_columns(progress: RunProgress) -> dict[str, Any]:
    """The progress column. The cost comes with the summary."""
    return {"progress": as_json(progress)}


def case_row(run_id: str, position: int, case: TestCase) -> tuple[Any, ...]:
    """All columns, in order."""
    place, texts = (clean_or_none(case.file), case.line), (clean(case.input), as_json(case.metadata))
    return (run_id, position, case.id, _encode(case), content_hash(case), *place, *texts)


def content_hash(case: TestCase) -> str:
    """Hash a case, independently of its file, its line and the order of its fields."""
    bare = case if case.file is None and case.line is None else msgspec.structs.replace(case, file=None, line=None)
    return sha256(_in_order(bare)).hexdigest()


def judge_hash(plan: RunPlan) -> str | None:
    """Hash everything that determines how judges are asked, except the rubric and the metrics.

    Seeds are left out: they draw other judgements by the same standard.
    """
    if plan.judge is None and not plan.judges:
        return None
    judge = plan.judge and msgspec.structs.replace(plan.judge, seed=None)
    others = {name: msgspec.structs.replace(other, seed=None) for name, other in plan.judges.items()}
    return sha256(_in_order((judge, others))).hexdigest()
