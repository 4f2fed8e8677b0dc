"""Contents of a run's main file and index entry, as mappings ready to encode as JSON."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model import JudgeConfig, ModelConfig, Preparation, PromptRef, Rubric, RunRecord, Target
    from prompt_evaluator.model.result import RunResult

_encode = msgspec.json.Encoder().encode


def head(record: RunRecord, prepared: Sequence[Preparation]) -> dict[str, Any]:
    """The part of the main file before the cases: what was requested."""
    plan, prompt = record.plan, record.plan.target.prompt
    return {
        "run_id": plan.run_id,
        "dataset_path": plan.dataset.path,
        "dataset_hash": f"sha256:{plan.dataset.hash}",
        "dataset_count": plan.dataset.count,
        "dataset_selected": plan.dataset.selected,
        "num_samples_per_case": plan.num_samples,
        "status": record.status,
        "timestamp_start": record.started_at,
        "timestamp_end": record.ended_at,
        "duration_seconds": _duration(record),
        "stop_reason": record.stop_reason,
        "system_prompt_path": prompt.path if prompt else None,
        "system_prompt": prompt.text if prompt else None,
        "prompt_version_id": prompt.version if prompt else None,
        "prompt_hash": _hash(prompt),
        "run_notes": plan.note,
        "tags": plan.tags,
        "group_id": plan.group_id,
        "parent_run_id": plan.parent_run_id,
        **({"baseline_run_id": plan.baseline_run_id} if plan.baseline_run_id else {}),
        "synthetic": plan.synthetic,
        "filters": plan.filters,
        "template": plan.target.template,
        "context_template": plan.target.context_template,
        "generator_config": _target(plan.target),
        "judge_config": _judge(plan.judge) if plan.judge else None,
        "judge_configs": {name: _judge(judge) for name, judge in plan.judges.items()},
        "rubric_metadata": _rubric(plan.rubric),
        "metrics_config": [*plan.metrics] or None,
        "prepared_metrics": _prepared(prepared),
        "reducers": plan.reducers,
        "prices": plan.prices,
    }


def tail(record: RunRecord, result: RunResult | None) -> dict[str, Any]:
    """The part of the main file after the cases: the overall results."""
    return {
        "overall_metric_stats": result.overall_metric_stats if result else {},
        "overall_flag_stats": result.overall_flag_stats if result else {},
        "totals": result.totals if result else None,
        "worst_cases": result.worst if result else [],
        "flakiest_cases": result.flakiest if result else [],
        "not_measured": result.not_measured if result else {},
        "fail_under": record.plan.fail_under,
        "fail_over": record.plan.fail_over,
        "missed_bars": result.missed_bars if result else [],
    }


def index_entry(record: RunRecord, result: RunResult | None) -> dict[str, Any]:
    plan, prompt = record.plan, record.plan.target.prompt
    return {
        "run_id": plan.run_id,
        "description": plan.note,
        "status": record.status,
        "timestamp_start": record.started_at,
        "timestamp_end": record.ended_at,
        "dataset_hash": f"sha256:{plan.dataset.hash}",
        "rubric_hash": _hash(plan.rubric),
        "prompt_hash": _hash(prompt),
        "prompt_version_id": prompt.version if prompt else None,
        "generator_model": plan.target.model,
        "judge_model": plan.judge.model if plan.judge else None,
        "num_samples_per_case": plan.num_samples,
        "tags": plan.tags,
        "synthetic": plan.synthetic,
        "overall_metrics": result.overall_metric_stats if result else {},
        "overall_flags": result.overall_flag_stats if result else {},
    }


def _duration(record: RunRecord) -> float | None:
    """Seconds from the first start to the end, including any pause before a resume."""
    if record.ended_at is None:
        return None
    start, end = (datetime.fromisoformat(text) for text in (record.started_at, record.ended_at))
    return round((end - start).total_seconds(), 3)


def _model(config: ModelConfig) -> dict[str, Any]:
    return {
        "model": config.model,
        "temperature": config.temperature,
        "max_tokens": config.max_tokens,
        "seed": config.seed,
        "effort": config.effort,
        "params": config.params,
        "left_out": config.left_out,
        "ignored": config.ignored,
    }


def _target(target: Target) -> dict[str, Any]:
    return {
        **_model(target),
        "response_schema": target.response_schema,
        "render_prompt": target.render_prompt,
        "attempts": target.attempts,
    }


def _prepared(prepared: Sequence[Preparation]) -> list[dict[str, Any]]:
    """Options that a judge wrote for each metric. Runs with equal hashes were judged by the same criteria."""
    return [
        {
            "metric": made.metric,
            "options": made.options,
            "hash": f"sha256:{hashlib.sha256(_encode(made.options)).hexdigest()}",
            "reused": made.reused,
        }
        for made in sorted(prepared, key=lambda made: made.metric)
        if made.options
    ]


def _judge(config: JudgeConfig) -> dict[str, Any]:
    return {**_model(config), "repeats": config.repeats, "system_prompt": config.system_prompt}


def _rubric(rubric: Rubric | None) -> dict[str, Any] | None:
    if rubric is None:
        return None
    return {
        "rubric_name": rubric.name,
        "rubric_path": rubric.path,
        "rubric_hash": _hash(rubric),
        "metrics": rubric.metrics,
        "flags": rubric.flags,
    }


def _hash(part: PromptRef | Rubric | None) -> str | None:
    return f"sha256:{part.hash}" if part else None
