"""The end of a run, for people: how good, how sure, how stable, and what to do next."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from prompt_evaluator.app.advice import advice, confidence, is_poor, is_spread
from prompt_evaluator.cli.next_step import next_step, shown_path
from prompt_evaluator.cli.text import (
    cells,
    clean,
    coloured,
    columns,
    fit,
    flow,
    hang,
    kinds,
    many,
    money,
    pad,
    percent,
    plain,
    squeeze,
    wrap,
    writable,
)
from prompt_evaluator.stats import FEWEST_CASES
from prompt_evaluator.stats.bands import wide_range
from prompt_evaluator.store.artifacts import RunFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prompt_evaluator.app.outcomes import Outcome
    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.result import OverallFlag, OverallMetric, RunResult, WorstCase

_GUTTER = 10
_WIDEST_TEXT = 110
"""Sentences are not read well on longer lines, however wide the terminal is."""
_SHOWN_FAILURES = 3
_SHOWN_CASES = 3
_LONGEST_NAME = 28
_MARK_COLOURS = {"✓": "green", "⚠": "yellow", "✗": "red"}
_GUIDE_SCALE = (1.0, 5.0)
_NO_INTERVAL = f"needs {FEWEST_CASES} cases"


def print_summary(outcome: Outcome) -> None:
    """Everything a person wants to know first, and where to look next."""
    width = columns(sys.stdout)
    text = summary_text(outcome, width)
    if not coloured(sys.stdout):
        text = plain(text)
    if sys.stdout.isatty() and sys.stderr.isatty():
        click.echo()  # after the last line of progress
    click.echo(writable(text, sys.stdout.encoding), color=True)


def summary_text(outcome: Outcome, width: int) -> str:
    """The summary in lines of less than so many columns, in colour. Only paths and commands may be longer."""
    record, result = outcome.record, outcome.result
    if result is None:
        return "\n".join(_ended_before(record, width))
    page = _Page(record, result, width - 1)
    parts = (page.headline(), page.metrics(), page.flags(), page.facts(), page.advice(), page.files(outcome))
    return "\n\n".join("\n".join(part) for part in parts if part)


def _ended_before(record: RunRecord, width: int) -> list[str]:
    sentence = f"Run {record.plan.run_id} had ended before: {record.status}. Nothing was missing or paid for."
    return [*wrap(sentence, width - 1), *hang("Results", [shown_path(RunFolder(record).main_file)], _GUTTER)]


class _Row(NamedTuple):
    """One line of a table. What there is no room for goes to the notes below it."""

    mark: str
    name: str
    values: tuple[str, ...]
    notes: tuple[str, ...]


class _Page:
    """A result being written down at one width."""

    def __init__(self, record: RunRecord, result: RunResult, width: int) -> None:
        self._record, self._plan, self._result, self._width = record, record.plan, result, width
        self._text_width = min(width, _WIDEST_TEXT)

    def headline(self) -> list[str]:
        plan, status = self._plan, self._record.status
        judge = f", judged by {' and '.join(plan.judge_models)}" if plan.judge_models else ""
        rubric = f" with the rubric {plan.rubric.name}" if plan.rubric and plan.judge else ""
        size = f"{many(plan.dataset.selected, 'case')} × {many(plan.num_samples, 'sample')}"
        sentence = clean(f"Run {plan.run_id} {status}: {size} of {plan.target.model}{judge}{rubric}.")
        lines = wrap(sentence, self._text_width)
        colour = {"completed": "green", "partial": "yellow"}.get(status, "red")
        lines = [line.replace(f" {status}:", f" {click.style(status, fg=colour, bold=True)}:", 1) for line in lines]
        if status == "aborted":
            lines += self._coloured(self._stopped(), "yellow")
        if plan.synthetic:
            lines += self._coloured(
                "SYNTHETIC: made up offline by the mock. These are not a model's results.", "yellow"
            )
        return lines

    def _stopped(self) -> str:
        samples = self._result.totals.samples
        total = sum(samples.values())
        why = f" ({clean(self._record.stop_reason).rstrip('.')})" if self._record.stop_reason else ""
        done = f"{total - samples.get('pending', 0):,} of {many(total, 'sample')}"
        return f"Stopped after {done}{why}. The numbers below are of the cases that are finished."

    def _coloured(self, sentence: str, colour: str) -> list[str]:
        return [click.style(line, fg=colour) for line in wrap(sentence, self._text_width)]

    def metrics(self) -> list[str]:
        found = self._result.overall_metric_stats
        if not found:
            return ["No scores: no sample was judged."]
        scales = {stats.scale for stats in found.values()}
        shared = scales.pop() if len(scales) == 1 else None
        mean = "Mean" if shared in (None, _GUIDE_SCALE) else f"Mean ({_scale(shared)})"
        titles = [mean, "95 % interval", "Spread", "Case means"]
        rates = any(stats.pass_rate is not None for stats in found.values())
        if rates:
            titles.insert(1, "Passed")
        rows = [self._metric_row(name, stats, rates=rates, scale=not shared) for name, stats in found.items()]
        return _table("Metric", titles, rows, self._width)

    def _metric_row(self, name: str, stats: OverallMetric, *, rates: bool, scale: bool) -> _Row:
        show = _number(stats.scale)
        values = [
            show(stats.mean_of_means),
            _interval(stats, show),
            "one sample" if stats.std is None else f"{show(stats.std)} {stats.variability or ''}".strip(),
            f"{show(stats.min_of_means)} to {show(stats.max_of_means)}",
        ]
        if rates:
            values.insert(1, "" if stats.pass_rate is None else percent(stats.pass_rate))
        notes = [f"from {_scale(stats.scale)}"] if scale else []
        return _Row(_metric_mark(stats), name, tuple(values), (*notes, *self._metric_notes(stats, show)))

    def _metric_notes(self, stats: OverallMetric, show: Callable[[float], str]) -> Iterable[str]:
        if is_poor(stats):
            yield "poor"
        if stats.below or stats.near:
            yield _about_bar(stats)
        if stats.high_variability_cases:
            yield f"high variability in {many(stats.high_variability_cases, 'case')}"
        elif stats.variability == "high":
            yield "high variability"
        if stats.flaky_cases:
            yield f"{many(stats.flaky_cases, 'case')} flaky"
        if wide_range(stats.min_of_means, stats.max_of_means, stats.scale):
            yield "wide range between cases"
        yield from self._coverage(stats, show)

    def _coverage(self, stats: OverallMetric, show: Callable[[float], str]) -> Iterable[str]:
        """How much of the run the numbers are about."""
        cases = sum(number for status, number in self._result.totals.cases.items() if status != "pending")
        for reducer, value in stats.reduced.items():
            yield f"{clean(reducer)} {show(value)}"
        if stats.skipped:
            yield f"{many(stats.skipped, 'sample')} skipped"
        if stats.num_cases < cases:
            yield f"scored in {stats.num_cases:,} of {many(cases, 'case')}"
        if stats.bounds:
            yield f"{show(stats.bounds[0])} to {show(stats.bounds[1])} if the errors had scores"

    def flags(self) -> list[str]:
        found = self._result.overall_flag_stats
        rows = [_flag_row(name, stats) for name, stats in found.items()]
        judged = any(stats.total_count for stats in found.values())
        return _table("Flag", ["Share", "95 % interval", "Raised", "Band"], rows, self._width) if judged else []

    def facts(self) -> list[str]:
        """Labelled lines about cases, errors, money and samples."""
        result = self._result
        bottom = {name: stats.scale[1] for name, stats in result.overall_metric_stats.items()}
        worst = [case for case in result.worst if case.mean < bottom.get(case.metric, float("inf"))]
        facts = (
            ("Worst", self._cases(worst, _worst_text)),
            ("Flakiest", self._cases(result.flakiest, _flaky_text)),
            ("Errors", self._errors()),
            ("Skipped", self._skipped()),
            ("Missed", self._unmeasured()),
            ("Judge", self._judge()),
            ("Tokens", self._sentences(self._tokens())),
            ("Samples", self._confidence()),
        )
        return [line for label, lines in facts for line in hang(label, lines, _GUTTER)]

    def _unmeasured(self) -> list[str]:
        """A bar on something that was not measured is missed."""
        lines = []
        for name in self._result.missed_bars:
            if name not in self._result.overall_metric_stats:
                bar = self._plan.fail_under[name]
                lines += self._sentences(f"{clean(name)} was not measured, so its bar of {bar:g} is missed.")
        return [click.style(line, fg="red") for line in lines]

    def _skipped(self) -> list[str]:
        """Metrics that no case has what they need for; of the others the table says how many samples were skipped."""
        totals = self._result.totals
        names = [clean(name) for name in totals.skipped if name not in self._result.overall_metric_stats]
        if not names:
            return []
        return self._sentences(f"{', '.join(names)}: no case has what it needs. See `prompt-evaluator metrics`.")

    def _confidence(self) -> list[str]:
        if not self._result.overall_metric_stats:
            return []
        return self._sentences(confidence(self._plan.num_samples, self._plan.dataset.selected))

    def _sentences(self, text: str) -> list[str]:
        return wrap(text, self._text_width - _GUTTER)

    def _cases(
        self, cases: Sequence[WorstCase], describe: Callable[[WorstCase, Callable[[float], str]], str]
    ) -> list[str]:
        """The first few cases, each on one line with every metric it is in the list for."""
        by_case: dict[str, list[str]] = {}
        for case in cases:
            stats = self._result.overall_metric_stats.get(case.metric)
            by_case.setdefault(case.test_case_id, []).append(describe(case, _number(stats.scale if stats else None)))
        shown = dict(list(by_case.items())[:_SHOWN_CASES])
        room = self._width - _GUTTER
        names = {case_id: squeeze(clean(case_id), max(12, room * 2 // 5)) for case_id in shown}
        width = max(map(cells, names.values()), default=0)
        return [f"{pad(names[case_id], width)}  {_joined(texts, room - width - 2)}" for case_id, texts in shown.items()]

    def _errors(self) -> list[str]:
        totals = self._result.totals
        if not totals.errors and not totals.error_share:
            return []
        tried = sum(number for status, number in totals.samples.items() if status != "pending")
        without = tried - totals.samples.get("completed", 0)
        named = f": {kinds(totals.errors)}" if totals.errors else ""
        lacks = "lack a score" if self._result.overall_metric_stats else "have no score"
        text = f"{without:,} of {many(tried, 'sample')} ({percent(totals.error_share)}) {lacks}{named}."
        lines = self._sentences(text)
        for failure in totals.failures[:_SHOWN_FAILURES]:
            message = fit(" ".join(clean(failure.message).split()), 2 * (self._text_width - _GUTTER))
            lines += hang("", wrap(f"{failure.count:,} × {message}", self._text_width - _GUTTER - 2), 2)
        return [click.style(line, fg="yellow") for line in lines]

    def _judge(self) -> list[str]:
        found = [
            f"{name} {_number(stats.scale)(stats.repeat_std)}"
            for name, stats in self._result.overall_metric_stats.items()
            if stats.repeat_std is not None
        ]
        if not found:
            return []
        return self._sentences(f"Differs from itself on the same answer by (std): {clean(', '.join(found))}.")

    def _tokens(self) -> str:
        totals = self._result.totals
        if totals.cost is None:
            cost = "cost unknown" if totals.unpriced_calls else "no cost"
        else:
            cost = money(totals.cost)
            if totals.unpriced_calls:
                cost += f" and {many(totals.unpriced_calls, 'call')} of unknown price"
        reused = f"; {many(totals.reused_units, 'answer')} reused" if totals.reused_units else ""
        return f"{totals.input_tokens:,} in, {totals.output_tokens:,} out; {cost}{reused}."

    def advice(self) -> list[str]:
        found = [clean(text) for text in advice(self._plan, self._result)]
        return [line for text in found for line in hang("→", wrap(text, self._text_width - 2), 2)]

    def files(self, outcome: Outcome) -> list[str]:
        folder = RunFolder(self._record)
        lines = hang("Results", [shown_path(folder.main_file), "test_case_<id>.json beside it"], _GUTTER)
        step = next_step(outcome, self._width - _GUTTER)
        return [*lines, *hang("Next", [click.style(line, bold=True) for line in step], _GUTTER)]


def _joined(texts: Sequence[str], width: int) -> str:
    """As many as there is room for, and how many more there are."""
    for shown in range(len(texts), 1, -1):
        more = f", {len(texts) - shown} more" if shown < len(texts) else ""
        text = clean(", ".join(texts[:shown])) + more
        if cells(text) <= width:
            return text
    return squeeze(clean(texts[0]), width)  # the end is the number


def _metric_mark(stats: OverallMetric) -> str:
    if stats.below or is_poor(stats):
        return "✗"
    return "⚠" if stats.near or is_spread(stats) or stats.bounds or stats.flaky_cases else "✓"


def _interval(stats: OverallMetric, show: Callable[[float], str]) -> str:
    if stats.interval:
        return f"{show(stats.interval[0])} to {show(stats.interval[1])}"
    return _NO_INTERVAL if stats.num_cases < FEWEST_CASES else "all the same"


def _about_bar(stats: OverallMetric) -> str:
    bar = f"{stats.fail_under:g}"
    if stats.near:
        return f"just below {bar}, may be chance" if stats.below else f"above {bar}, but close to it"
    return f"below {bar}"


def _flag_row(name: str, stats: OverallFlag) -> _Row:
    if stats.true_proportion is None:
        return _Row(" ", name, ("", "", "", "not judged"), ())
    interval = f"{percent(stats.interval[0])} to {percent(stats.interval[1])}" if stats.interval else _NO_INTERVAL
    band = stats.band or "never"
    mark = {"never": "✓", "rare": " ", "majority": "✗"}.get(band, "⚠")
    raised = f"{stats.true_count:,} of {stats.total_count:,}"
    word = {"never": "never raised", "majority": "most samples"}.get(band, band)
    return _Row(mark, name, (percent(stats.true_proportion), interval, raised, word), ())


def _worst_text(case: WorstCase, show: Callable[[float], str]) -> str:
    return f"{case.metric} {show(case.mean)}"


def _flaky_text(case: WorstCase, show: Callable[[float], str]) -> str:
    return f"{case.metric} {show(case.mean)} (std {show(case.std or 0.0)})"


def _number(scale: tuple[float, float] | None) -> Callable[[float], str]:
    """As many digits as a scale of that size deserves."""
    size = scale[1] - scale[0] if scale else 4.0
    digits = 3 if size <= 1 else 2 if size <= 10 else 1 if size <= 100 else 0  # noqa: PLR2004
    return lambda value: f"{value:,.{digits}f}"


def _scale(scale: tuple[float, float] | None) -> str:
    return f"{scale[0]:,g} to {scale[1]:,g}" if scale else ""


def _table(title: str, titles: Sequence[str], rows: Sequence[_Row], width: int) -> list[str]:
    """A table as wide as it may be: first the notes move below their rows, then columns move to the notes."""
    longest = max(cells(clean(row.name)) for row in rows)
    for shown in range(len(titles), 0, -1):
        widths = [max(cells(text) for text in column) for column in _columns(titles, rows, shown)]
        room = width - 2 - sum(2 + each for each in widths)
        if room >= min(longest, _LONGEST_NAME) or shown == 1:
            break
    names = max(4, min(longest, room, max(_LONGEST_NAME, width // 4)), cells(title))
    used = 2 + names + sum(2 + each for each in widths)
    lines = [click.style(_cells("  ", title, titles[:shown], names, widths).rstrip(), dim=True)]
    beside = width - used - 2 >= max((cells(note) for row in rows for note in _notes(row, titles, shown)), default=0)
    for row in rows:
        mark = click.style(row.mark, fg=_MARK_COLOURS.get(row.mark)) + " "
        line = _cells(mark, squeeze(clean(row.name), names), row.values[:shown], names, widths)
        notes = _notes(row, titles, shown)
        if beside:
            first, *more = flow(notes, width - used - 2) or [""]
            lines.append(f"{line}  {first}".rstrip())
            lines += [f"{'':{used + 2}}{note}" for note in more]
        else:
            lines.append(line.rstrip())
            lines += [f"    {note}" for note in flow(notes, width - 4)]
    return lines


def _columns(titles: Sequence[str], rows: Sequence[_Row], shown: int) -> list[list[str]]:
    return [[titles[at], *(row.values[at] for row in rows)] for at in range(shown)]


def _notes(row: _Row, titles: Sequence[str], shown: int) -> list[str]:
    hidden = zip(titles[shown:], row.values[shown:], strict=True)
    return [*(f"{title[0].lower()}{title[1:]} {value}" for title, value in hidden if value), *row.notes]


def _cells(mark: str, name: str, values: Sequence[str], names: int, widths: Sequence[int]) -> str:
    """Numbers stand to the right, so that their points are below each other; words to the left."""
    texts = (pad(value, width, right=not at) for at, (value, width) in enumerate(zip(values, widths, strict=True)))
    return f"{mark}{pad(name, names)}  {'  '.join(texts)}"
