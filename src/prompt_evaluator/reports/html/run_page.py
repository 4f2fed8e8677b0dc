"""The report on one run: what came out, whether to believe it, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import decimal, many, money, percent
from prompt_evaluator.reports.facts import cached_share
from prompt_evaluator.reports.html.chart_figures import charts_section
from prompt_evaluator.reports.html.markup import Html, element, join
from prompt_evaluator.reports.html.page import page
from prompt_evaluator.reports.html.parts import facts, mark, name, next_step, paragraph, prose, section
from prompt_evaluator.reports.html.reproduction import reproduction
from prompt_evaluator.reports.html.run_cases import worst_cases
from prompt_evaluator.reports.html.run_tables import errors, flags, metrics, slices, stability
from prompt_evaluator.reports.run_verdict import run_mark, run_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.findings import Findings
    from prompt_evaluator.model.report import RunReport


def run_html(report: RunReport, *, bundle: str | None) -> Iterator[str]:
    """Yield the page in pieces.

    Args:
        report: What it says.
        bundle: JavaScript that draws its charts (vega-embed); None if it has none.
    """
    parts = [(id_, label, part) for id_, label, part in _parts(report) if part is not None]
    yield from page(
        report.title,
        [_head(report), _overview(report, [part for id_, _, part in parts if id_ in _BESIDE_ADVICE])]
        + [part for id_, _, part in parts if id_ not in _BESIDE_ADVICE],
        links=[(id_, label) for id_, label, _ in parts],
        made=f"Made by prompt-evaluator {report.reproduction.version} at {report.made_at}.",
        bundle=bundle,
    )


_BESIDE_ADVICE = ("metrics",)


def _parts(report: RunReport) -> Iterator[tuple[str, str, Html | None]]:
    found = report.findings
    yield "metrics", "Metrics", metrics(found)
    yield "stability", "Stability", stability(report)
    yield "flags", "Flags", flags(found.flags)
    yield "errors", "Errors", errors(found)
    yield "cases", "Worst cases", worst_cases(report)
    yield "slices", "Slices", slices(report.slices)
    yield "cost", "Cost", _cost(report)
    yield "charts", "Charts", charts_section(report.charts)
    reproduce = section("reproduce", "Reproduce", reproduction(report.reproduction))
    yield "reproduce", "Reproduce", reproduce


def _head(report: RunReport) -> Html:
    head = report.findings.headline
    warnings = [
        element("li", mark("warning"), element("span", prose(note.text)), class_=note.code) for note in head.notes
    ]
    return element(
        "div",
        element("p", *_crumbs(report), class_="crumbs"),
        element("h1", mark(run_mark(report)), element("span", prose(run_verdict(report))), class_="verdict"),
        paragraph(head.text, "dim"),
        element("ul", *warnings, class_="warnings", aria_label="Warnings") if warnings else None,
        class_="headline",
    )


def _crumbs(report: RunReport) -> Iterator[Html]:
    of = report.facts
    parts = (
        name(of.dataset_name) if of.dataset_name else None,
        name(of.generator_model) if of.generator_model else None,
        element("code", of.name),
        element("time", of.started_at[:16].replace("T", " ") + " UTC", datetime=of.started_at)
        if of.started_at
        else None,
        element("span", "synthetic", class_="badge warning") if report.findings.headline.synthetic else None,
    )
    yield from (element("span", part) for part in parts if part is not None)


def _overview(report: RunReport, beside: list[Html]) -> Html:
    """What to do next, beside the metrics if there is room, and before them if there is not."""
    found = report.findings
    return element("div", _advice(found), element("div", *beside, class_="beside"), class_="overview")


def _advice(found: Findings) -> Html | None:
    if not found.advice and found.next_step is None:
        return None
    advice = [element("li", prose(note.text)) for note in found.advice]
    step = found.next_step
    return element(
        "aside",
        element("h2", "What to do next", id="next-title"),
        element("ol", next_step(step), class_="steps") if step else None,
        element("ul", *advice, class_="advice") if advice else None,
        id="next",
        aria_labelledby="next-title",
    )


def _cost(report: RunReport) -> Html | None:
    found = report.findings.facts
    if found is None:
        return None
    usage, of = found.usage, report.facts
    samples = of.samples
    nothing = "unknown" if usage.input_tokens or usage.unpriced_calls else "none"
    cost = nothing if usage.cost is None else money(usage.cost)
    each = f" ({money(usage.cost / samples)} per sample)" if usage.cost and samples else ""
    return section(
        "cost",
        "Cost and usage",
        facts(
            [
                ("Cost", element("b", f"{cost}{each}")),
                ("Input tokens", f"{usage.input_tokens:,}{cached_share(usage.input_tokens, usage.cached_tokens)}"),
                ("Output tokens", f"{usage.output_tokens:,}"),
                ("Samples", f"{samples:,}" if samples else None),
                ("Mean latency", f"{decimal(of.latency_ms / 1000, 2)} s" if of.latency_ms is not None else None),
                ("Calls without a known price", f"{usage.unpriced_calls:,}" if usage.unpriced_calls else None),
                ("Timed out", many(usage.time_outs, "try", "tries") if usage.time_outs else None),
                ("Reused", many(usage.reused, "answer") if usage.reused else None),
                ("Failed samples", _failed(report)),
            ]
        ),
    )


def _failed(report: RunReport) -> Html | None:
    failed, samples = report.facts.failed_samples, report.facts.samples
    if not failed or not samples:
        return None
    return join([f"{failed:,} of {samples:,} ({percent(failed / samples)})"])
