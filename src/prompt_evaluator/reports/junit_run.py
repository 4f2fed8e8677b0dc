"""A run as test results: each case is a test case, and so is each bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.wording import decimal, listed, many
from prompt_evaluator.reports.junit import Problem, Suite, TestResult
from prompt_evaluator.reports.levels import digits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.query import CaseLine, CaseMetric, RunLine
    from prompt_evaluator.model.result import RunResult
    from prompt_evaluator.model.worst_sample import WorstSample

MOST_TEXT = 2_000
"""Characters of an answer or a reason that a failure shows."""
_NO_FILE = "in memory"
_BARS = "bars"
_FACTS = ("status", "generator_model", "judge_model", "prompt_version", "num_samples", "cost")
_HASHES = ("dataset_hash", "prompt_hash", "rubric_hash", "judge_hash")


def run_suite(line: RunLine) -> Suite:
    """The run itself: what was run, and the scores over all cases."""
    facts = {name: getattr(line, name) for name in _FACTS}
    hashes = {name: f"sha256:{value}" for name in _HASHES if (value := getattr(line, name))}
    known = {"run_id": line.run_id, "dataset": line.dataset_path, **facts, **hashes, **_overall(line.summary)}
    return Suite(
        name=f"{line.dataset_name or _NO_FILE}: {line.generator_model}",
        started_at=line.started_at,
        properties={name: _written(value) for name, value in known.items() if value is not None},
    )


def bar_results(plan: RunPlan, summary: RunResult | None) -> Iterator[TestResult]:
    """Each bar of the run, missed or not."""
    missed = {(bar.kind, bar.name): bar.reason for bar in summary.missed_bars} if summary else {}
    kinds: tuple[Literal["fail_under", "fail_over"], ...] = ("fail_under", "fail_over")
    for kind in kinds:
        bars: dict[str, float] = getattr(plan, kind)
        for name, bar in bars.items():
            reason = missed.get((kind, name))
            if summary is None:
                reason = f"{name} was not measured, so its bar is missed: the run has no results yet."
            problem = Problem(kind="failure", type="missed_bar", message=reason) if reason else None
            yield TestResult(classname=_BARS, name=f"{OPTIONS[kind].flag} {name}={bar:g}", problem=problem)


def case_result(plan: RunPlan, line: RunLine, case: CaseLine, worst: WorstSample | None) -> TestResult:
    """A case. It fails by the same rule as in lists: fewer than half of its samples pass on some metric."""
    return TestResult(
        classname=line.dataset_name or _NO_FILE,
        name=case.case_id,
        file=case.file,
        line=case.line,
        seconds=case.latency_ms / 1_000 if case.latency_ms is not None else None,
        properties=dict(_scores(case)),
        problem=_problem(plan, line, case, worst),
    )


def _problem(plan: RunPlan, line: RunLine, case: CaseLine, worst: WorstSample | None) -> Problem | None:
    if missed := [name for name, metric in case.metrics.items() if metric.passes * 2 < metric.count]:
        message = "; ".join(_missed(name, case.metrics[name], plan) for name in missed)
        text = "\n\n".join(_failure_text(message, case, worst))
        return Problem(kind="failure", type="missed_check", message=message, text=text)
    if case.status == "pending":
        return Problem(kind="skipped", message="The run ended before this case was finished.")
    lacking = {name: metric.missing for name, metric in case.metrics.items() if metric.missing}
    if case.error_kinds or lacking or case.status != "completed":
        message = case.error_message or _lacking(lacking)
        return Problem(kind="error", type=", ".join(case.error_kinds), message=_first_line(message), text=message)
    if not case.metrics and line.summary and line.summary.overall_metric_stats:
        return Problem(kind="skipped", message="No metric applies to this case.")
    return None


def _missed(name: str, metric: CaseMetric, plan: RunPlan) -> str:
    scale = plan.scale(name)
    mean = decimal(metric.mean, digits((scale.low, scale.high))) if metric.mean is not None else "unknown"
    mark = _pass_mark(name, plan)
    known = f"mean {mean}, pass mark {mark:g}" if mark is not None else f"mean {mean}"
    verb = "passes" if 1 in (metric.passes, metric.count) else "pass"
    return f"{name}: {metric.passes:,} of {many(metric.count, 'sample')} {verb} ({known})"


def _pass_mark(name: str, plan: RunPlan) -> float | None:
    """The pass mark, if the plan says so: a metric outside the rubric may have one of its own."""
    if plan.rubric and any(criterion.name == name for criterion in plan.rubric.metrics):
        return plan.scale(name).pass_at
    given = next((use.options.get("threshold") for use in plan.metrics if use.key == name), None)
    return float(given) if isinstance(given, (int, float)) else None


def _failure_text(message: str, case: CaseLine, worst: WorstSample | None) -> Iterator[str]:
    yield message
    if worst:
        scores = ", ".join(f"{name} {value:g}" for name, value in worst.values.items())
        yield f"Worst answer (sample {worst.sample + 1}; {scores}):\n{_cut(worst.answer or '')}"
        yield from (f"{name}: {_cut(reason)}" for name, reason in worst.reasons.items())
    if case.error_message:
        yield f"Also: {case.error_message}"


def _cut(text: str) -> str:
    return text if len(text) < MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"


def _lacking(missing: Mapping[str, int]) -> str:
    if not missing:
        return "Samples of this case are missing."
    return f"No score in some samples: {listed(f'{name} in {number:,}' for name, number in missing.items())}."


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text.strip() else text


def _scores(case: CaseLine) -> Iterator[tuple[str, str]]:
    for name, metric in case.metrics.items():
        if metric.mean is not None:
            yield f"{name}.mean", _written(metric.mean)
        if metric.std is not None:
            yield f"{name}.std", _written(metric.std)
        yield f"{name}.count", str(metric.count)
    for name, flag in case.flags.items():
        yield f"{name}.raised", f"{flag.raised} of {flag.asked}"


def _overall(summary: RunResult | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, metric in summary.overall_metric_stats.items() if summary else ():
        values = {"mean": metric.mean_of_means, "std": metric.std, "cases": metric.num_cases}
        low, high = metric.interval or (None, None)
        values |= {"low": low, "high": high, "pass_rate": metric.pass_rate}
        found |= {f"{name}.{key}": _written(value) for key, value in values.items() if value is not None}
    for name, flag in summary.overall_flag_stats.items() if summary else ():
        if flag.true_proportion is not None:
            found[f"{name}.share"] = _written(flag.true_proportion)
    return found


def _written(value: object) -> str:
    """Numbers with all their digits: this is for programs."""
    return repr(value) if isinstance(value, float) else str(value)
