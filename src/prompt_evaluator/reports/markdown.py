"""Reports in Markdown, block by block: each one is complete, so that a file may end after any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.reports.markdown_compare import CompareSections, case_block
from prompt_evaluator.reports.markdown_parts import block, bullets, details, figures, said
from prompt_evaluator.reports.markdown_run import RunSections

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.model.chart import Chart
    from prompt_evaluator.model.report import CompareReport, Reproduction, RunReport

_BETWEEN = "\n\n"


def run_markdown(report: RunReport) -> Iterator[str]:
    """A report on one run; blocks end with a blank line."""
    page = RunSections(report)
    yield from _section(f"# {said(report.title)}", page.verdict())
    yield from _section("## Metrics", page.metrics(), page.flags())
    yield from _section("## What to do", page.advice(), page.next())
    yield from _section("## Errors, cost and samples", page.facts())
    yield from _section("## Stability", page.varying())
    yield from _section("## Slices", page.slices())
    yield from _section("## Cases to read", page.worst(), *page.cases())
    yield from _section("## Charts", _charts(report.charts))
    yield from _section("## How to run this again", *_reproduction(report.reproduction))
    yield _footer(report.made_at, report.reproduction.version)


def compare_markdown(report: CompareReport) -> Iterator[str]:
    """A report on two runs; blocks end with a blank line."""
    page = CompareSections(report)
    yield from _section(f"# {said(report.title)}", page.verdict(), page.runs(), page.warnings())
    yield from _section("## Metrics", page.metrics(), page.flags())
    yield from _section("## What to do", page.next())
    yield from _section("## What differs", page.differs())
    yield from _section("## Errors, cost and time", page.amounts())
    yield from _section("## Cases", page.flipped(), *map(case_block, report.flipped))
    yield from _section("## Slices", page.slices())
    yield from _section("## Charts", _charts(report.charts))
    again = [*_reproduction(report.baseline), *_reproduction(report.candidate)]
    yield from _section("## How to run this again", *again)
    yield _footer(report.made_at, report.candidate.version)


def _section(title: str, *parts: str) -> Iterator[str]:
    """The title and its parts, or nothing if all of them are empty."""
    filled = [part for part in parts if part]
    if filled:
        yield title + _BETWEEN
        yield from (part + _BETWEEN for part in filled)


def _charts(charts: Sequence[Chart]) -> str:
    """What they show: Markdown cannot hold them."""
    return bullets(said(chart.alternative) for chart in charts)


def _reproduction(found: Reproduction) -> Iterator[str]:
    facts = found.facts
    if found.command:
        folder = f" in {said(found.folder)}" if found.folder else ""
        yield f"**{said(facts.name)}** was started{folder} with:{_BETWEEN}{block(found.command)}"
    lines = [f"{name}: {said(_value(value))}" for name, value in _known(found).items() if value not in (None, "", {})]
    yield details(f"Hashes, models and versions of {said(facts.name)}", [bullets(lines)])


def _known(found: Reproduction) -> dict[str, Any]:
    facts = found.facts
    return {
        "Run": facts.run_id or facts.path,
        "Started": facts.started_at,
        "Dataset": _named(facts.dataset_name, facts.dataset_hash),
        "Prompt": _named(facts.prompt_path, facts.prompt_hash),
        "Prompt version": facts.prompt_version,
        "Model": facts.generator_model,
        "Parameters": facts.parameters,
        "Judge": _named(facts.judge_model, facts.judge_hash),
        "Judge's parameters": facts.judge_parameters,
        "Rubric": _named(facts.rubric_name, facts.rubric_hash),
        "Metrics": found.metrics,
        "Samples per case": facts.num_samples,
        "Tags": facts.tags,
        "Note": facts.note,
        "Versions": f"prompt-evaluator {found.version}, Python {found.python}",
    }


def _named(name: str | None, hash_: str | None) -> str:
    return " ".join(part for part in (name, f"(hash {hash_})" if hash_ else None) if part)


def _value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _footer(made_at: str, version: str) -> str:
    return f"<sub>Made by prompt-evaluator {figures(version)} at {said(made_at)}.</sub>\n"
