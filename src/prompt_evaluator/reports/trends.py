"""Findings about a metric over time: where it changed, and what else changed there."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from prompt_evaluator.hints import some_of
from prompt_evaluator.model.findings import NextStep, Note
from prompt_evaluator.model.trend import FEWEST_RUNS, MetricFindings, TrendFindings
from prompt_evaluator.model.wording import decimal, listed, many, p_value, signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prompt_evaluator.model.trend import (
        LeftOutRun,
        MetricTrend,
        RunVersion,
        TrendChange,
        TrendDifference,
        Trends,
    )

SHORT_ID = 8
_NOISE: dict[str | None, str] = {
    "all_runs": "Not every run has enough samples to tell its own error, so the errors come from all runs together.",
    "neighbours": "The samples of a case are all alike, or there is only one: the errors are estimated from how much "
    "each case differs from one run to the next.",
    "series": "The errors are rough: they are estimated from how much the mean differs from one run to the next.",
}
_SAME_PROMPT = (
    "Prompt, model, parameters and rubric are the same as in the run before.{near} What answers under these names may "
    "have changed: the model behind the service, the judge, or the code."
)


def trend_findings(
    trends: Trends, *, program: Sequence[str], options: Sequence[str] = (), filters: Sequence[str] = ()
) -> TrendFindings:
    """Return what to say about runs over time.

    Args:
        trends: The runs.
        program: What starts this program.
        options: Options that the next command repeats, such as `--config`.
        filters: Options that say which runs to show, repeated if the next command shows them again.
    """
    return TrendFindings(
        heading=_heading(trends),
        metrics={metric.name: _metric(metric, trends.version) for metric in trends.metrics},
        notes=tuple(_notes(trends)),
        next_step=_next_step(trends, program, (options, filters)),
    )


def day(started_at: str) -> str:
    """`2026-11-12`."""
    return started_at[:10]


def minute(started_at: str) -> str:
    """`2026-11-12 09:30`."""
    return started_at[:16].replace("T", " ")


def _heading(trends: Trends) -> str:
    version = trends.version
    dataset = _dataset(version) + (f" ({version.dataset_hash[:SHORT_ID]})" if version.dataset_hash else "")
    judge = f"judge {version.judge_model}" if version.judge_model else "no judge"
    times = [point.started_at for metric in trends.metrics for point in metric.points]
    first, last = (day(end(times)) for end in (min, max)) if times else ("", "")
    when = f", {first} to {last}" if first != last else f" on {first}" if first else ""
    return f"{dataset} · {judge} · {many(trends.runs, 'run')}{when}"


def _dataset(version: RunVersion) -> str:
    return version.dataset_name or "in memory"


def _metric(metric: MetricTrend, version: RunVersion) -> MetricFindings:
    parts = ("prompt", "model", *(["rubric"] if version.judge_hash else []))
    return MetricFindings(
        sentence=_sentence(metric),
        changes=tuple(_change(metric, change, parts) for change in metric.changes),
        notes=tuple(_metric_notes(metric)),
    )


def _sentence(metric: MetricTrend) -> str:
    runs, last = len(metric.points), metric.points[-1]
    if runs < FEWEST_RUNS:
        now = decimal(last.mean, metric.digits)
        where = f"last of {runs} runs" if runs > 1 else "only run"
        return f"{metric.name} is {now} in the {where}. Finding changes needs {FEWEST_RUNS} runs."
    if not metric.changes:
        kept = [point.mean for point in metric.points if not point.blip]
        mean = decimal(sum(kept) / len(kept), metric.digits)
        return f"No change of {metric.name} seen in {many(runs, 'run')}; it is {mean} on average."
    change = metric.changes[-1]
    several = f"{metric.name} changed {len(metric.changes)} times. Last, it" if len(metric.changes) > 1 else metric.name
    run = f"run {change.run_id[:SHORT_ID]} ({day(change.started_at)})"
    return f"{several} {_moved(metric, change)} at {run}, {_where(change)}."


def _moved(metric: MetricTrend, change: TrendChange) -> str:
    before, after = (decimal(value, metric.digits) for value in (change.before, change.after))
    return f"{'fell' if change.after < change.before else 'rose'} from {before} to {after}"


def _where(change: TrendChange) -> str:
    if change.differences:
        return f"where {_changed(change.differences)} changed"
    if change.nearby:
        return f"where nothing changed that is recorded, but {_changed(change.nearby)} did one run away"
    return "where nothing changed that is recorded"


def _changed(differences: Iterable[TrendDifference]) -> str:
    return f"the {listed(dict.fromkeys(each.what.replace('_', ' ') for each in differences))}"


def _change(metric: MetricTrend, change: TrendChange, parts: Sequence[str]) -> str:
    before, after = (decimal(value, metric.digits) for value in (change.before, change.after))
    low, difference, high = (
        signed(value, metric.digits) for value in (change.low, change.after - change.before, change.high)
    )
    text = (
        f"{before} → {after} at run {change.run_id[:SHORT_ID]} ({minute(change.started_at)}): {difference} "
        f"({low} to {high} with 95 % confidence), {p_value(change.p_value)}. {_suspects(change, parts)}"
    )
    return text + (" It is the newest run: the next one confirms it or shows a blip." if change.newest else "")


def _suspects(change: TrendChange, parts: Sequence[str]) -> str:
    if not change.differences:
        near = f" One run away: {', '.join(each.text for each in change.nearby)}." if change.nearby else ""
        return _SAME_PROMPT.format(near=near)
    changed = {each.what for each in change.differences}
    same = [part for part in parts if part not in changed]
    texts = ", ".join(each.text for each in change.differences)
    return f"Changed there: {texts}." + (f" The same: {listed(same)}." if same else "")


def _metric_notes(metric: MetricTrend) -> Iterator[Note]:
    for point in metric.points:
        if point.blip:
            yield Note(
                code="blip",
                text=f"Run {point.run_id[:SHORT_ID]} ({minute(point.started_at)}) is far off at "
                f"{decimal(point.mean, metric.digits)}, and the next run is back: a blip, not a change.",
                values={"run_id": point.run_id, "mean": point.mean},
            )
    if metric.excess_std:
        extra = f"Runs differ more than their samples explain, by about ±{decimal(metric.excess_std, metric.digits)}"
        included = "; repeats of the same configuration show it, and the errors include it."
        seen = ": the model, the judge or the service varies from run to run, so read small changes with care."
        text = extra + (included if metric.excess_included else seen)
        yield Note(code="excess", text=text, values={"std": metric.excess_std})
    if metric.common_cases is not None:
        cases = many(metric.common_cases, "case")
        yield Note(code="common_cases", text=f"Means are over the {cases} that all these runs have scored.")
    yield from left_out_notes(metric.left_out)
    if metric.noise in _NOISE and len(metric.points) >= FEWEST_RUNS:
        yield Note(code=f"errors_from_{metric.noise}", text=_NOISE[metric.noise])


def left_out_notes(runs: Sequence[LeftOutRun]) -> Iterator[Note]:
    """Say which runs are left out, and why."""
    reasons: dict[str, list[str]] = {}
    for run in runs:
        reasons.setdefault(run.reason, []).append(run.run_id[:SHORT_ID])
    for reason, names in reasons.items():
        if len(names) == 1:
            text = f"Run {names[0]} is left out: it {reason}."
        else:
            text = f"{len(names)} runs ({some_of(names, 3)}) are left out: each {reason}."
        yield Note(code="left_out", text=text)


def _notes(trends: Trends) -> Iterator[Note]:
    yield from left_out_notes(trends.left_out)
    if trends.more_runs:
        yield Note(code="more_runs", text="There are older runs: use --limit to see more.")
    models = list(dict.fromkeys(trends.models))
    switches = sum(one != other for one, other in zip(trends.models, trends.models[1:], strict=False))
    if switches >= len(models) > 1:
        names = some_of(models, 3)
        yield Note(
            code="models", text=f"These runs are of {len(models)} models in turn: see one with --model ({names})."
        )
    yield from _others(trends)


def _others(trends: Trends) -> Iterator[Note]:
    version = trends.version
    datasets = [each for each in trends.others if each.dataset_hash != version.dataset_hash]
    if datasets:
        texts = _versions((each.dataset_hash, each) for each in datasets)
        yield Note(code="other_datasets", text=f"Other versions of this dataset, for --dataset: {texts}.")
    judges = [each for each in trends.others if each.dataset_hash == version.dataset_hash]
    if judges:
        texts = _versions((each.judge_hash, each) for each in judges)
        yield Note(code="other_judges", text=f"Runs with another judge, for --judge: {texts}.")


def _versions(found: Iterable[tuple[str | None, RunVersion]]) -> str:
    counts: dict[str, int] = {}
    for digest, version in found:
        name = digest[:SHORT_ID] if digest else "none"
        counts[name] = counts.get(name, 0) + version.runs
    return some_of([f"{name} ({many(runs, 'run')})" for name, runs in counts.items()], 3)


def _next_step(
    trends: Trends, program: Sequence[str], repeated: tuple[Sequence[str], Sequence[str]]
) -> NextStep | None:
    options, filters = repeated
    changed = [metric for metric in trends.metrics if metric.changes]
    if len(trends.metrics) > 1:
        dataset = trends.version.dataset_name or trends.version.dataset_hash or ""
        parts: tuple[str, ...] = (
            "trends",
            "--dataset",
            dataset,
            "--metric",
            (changed or trends.metrics)[0].name,
            *filters,
        )
    elif changed:
        change = changed[0].changes[-1]
        parts = ("compare", change.previous_run_id[:SHORT_ID], change.run_id[:SHORT_ID])
    else:
        return None
    arguments = (*program, *parts, *options)
    return NextStep(code="compare", arguments=arguments, text=shlex.join(arguments))
