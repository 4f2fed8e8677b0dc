"""What was run, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.findings import Headline, Note
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model import RunPlan, RunRecord, RunStatus
    from prompt_evaluator.model.findings import Mark
    from prompt_evaluator.model.result import RunResult

_MARKS: dict[RunStatus, Mark] = {"completed": "good", "partial": "warning", "running": "warning", "queued": "warning"}
_WORDS: dict[RunStatus, str] = {"running": "is still running", "queued": "is queued"}


def headline(record: RunRecord, result: RunResult | None, stopped_by: Exception | None) -> Headline:
    plan = record.plan
    return Headline(
        run_id=plan.run_id,
        status=record.status,
        mark=_MARKS.get(record.status, "bad"),
        text=_sentence(plan, record.status) if result else _ended_before(record),
        cases=plan.dataset.selected,
        samples=plan.num_samples,
        model=plan.target.model,
        judges=plan.judge_models,
        rubric=_rubric(plan),
        synthetic=plan.synthetic,
        stopped_by=str(stopped_by) if stopped_by else None,
        notes=tuple(_notes(record, result)) if result else (),
    )


def _sentence(plan: RunPlan, status: RunStatus) -> str:
    how = _WORDS.get(status, status)
    judge = f", judged by {' and '.join(plan.judge_models)}" if plan.judge_models else ""
    rubric = f" using rubric {name}" if (name := _rubric(plan)) else ""
    size = f"{many(plan.dataset.selected, 'case')} × {many(plan.num_samples, 'sample')}"
    if plan.baseline_run_id:
        both = f"run {plan.parent_run_id} compared with run {plan.baseline_run_id}"
        return f"Run {plan.run_id} {how}: {size} of {both}{judge}."
    return f"Run {plan.run_id} {how}: {size} of {plan.target.model}{judge}{rubric}."


def _ended_before(record: RunRecord) -> str:
    return f"Run {record.plan.run_id} had already ended: {record.status}. Nothing was missing or paid for."


def _rubric(plan: RunPlan) -> str | None:
    return plan.rubric.name if plan.rubric and plan.judge else None


def _notes(record: RunRecord, result: RunResult) -> Iterator[Note]:
    if record.status == "aborted":
        yield _stopped(record, result)
    if record.status == "running":
        yield _running(result)
    if record.status == "queued":
        yield Note(code="queued", text="Waiting in the queue: the next free worker of a server starts it.")
    if record.plan.synthetic:
        text = "SYNTHETIC: made up offline by the mock. These are not a model's results."
        yield Note(code="synthetic", text=text)
    elif result.overall_metric_stats and (note := judges_itself(record.plan)):
        yield note


def judges_itself(plan: RunPlan) -> Note | None:
    """Return a note if the model under test is also a judge, except for the mock, whose scores mean nothing anyway."""
    model = plan.target.model
    if plan.synthetic or model not in plan.judge_models:
        return None
    text = f"{model} judges its own answers, and models tend to favour their own: choose another with --judge-model."
    return Note(code="judges_itself", text=text, values={"model": model})


def _stopped(record: RunRecord, result: RunResult) -> Note:
    samples = result.totals.samples
    total = sum(samples.values())
    done = total - samples.get("pending", 0)
    why = f" ({record.stop_reason.rstrip('.')})" if record.stop_reason else ""
    return Note(
        code="stopped",
        text=f"Stopped after {done:,} of {many(total, 'sample')}{why}. The numbers below cover only finished cases.",
        values={"done": done, "samples": total, "reason": record.stop_reason},
    )


def _running(result: RunResult) -> Note:
    samples = result.totals.samples
    total = sum(samples.values())
    done = total - samples.get("pending", 0)
    text = f"Still running: {done:,} of {many(total, 'sample')} done. The numbers below cover only finished cases."
    return Note(code="running", text=text, values={"done": done, "samples": total})
