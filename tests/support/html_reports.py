"""Reports on runs that never were: with a little in them, with all there can be, with far too much, and hostile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from chart_samples import EVERY_KIND
from comparisons import answer, case, compared_by, everything, facts, flag, metric, slice_
from summaries import flag as flag_stats
from summaries import metric as stats
from summaries import outcome, plan, totals, worst

from prompt_evaluator.app.findings import findings
from prompt_evaluator.model.chart import SliceCell
from prompt_evaluator.model.comparison import Change
from prompt_evaluator.model.findings import CaseFindings, CaseMetricFinding, FlagFinding
from prompt_evaluator.model.report import CompareReport, ReportCase, Reproduction, RunReport, VaryingCase
from prompt_evaluator.model.result import FailureCount
from prompt_evaluator.reports.charts import make_chart
from prompt_evaluator.reports.comparison import comparison_findings
from prompt_evaluator.reports.comparison_answers import shown_case
from prompt_evaluator.reports.comparison_verdicts import Letters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.chart import Chart
    from prompt_evaluator.model.comparison import ComparedAnswer, Comparison

FOLDER = Path("/home/me/support-replies")
COMMAND = (
    "prompt-evaluator evaluate-dataset --dataset data.yaml --system-prompt prompt.txt "
    "--generator-model openai/gpt-4o --judge-model anthropic/claude-sonnet-4-0"
)
QUESTION = "I was charged twice for my subscription this month. What do I have to do to get my money back?"
ANSWER = (
    "I am sorry about that.\n\nA second charge is usually a pre-authorisation that disappears within three to five "
    "working days. If it does not, reply with the date and the amount of both charges and we will refund one of them."
)
RUN_CHARTS = ("metrics", "distribution", "trend", "cost")
COMPARE_CHARTS = ("differences", "scatter")


def charts(kinds: Sequence[str]) -> tuple[Chart, ...]:
    return tuple(make_chart(EVERY_KIND[kind]()) for kind in kinds)


def reproduction(**more: Any) -> Reproduction:
    known: dict[str, Any] = {
        "started_at": "2026-01-01T09:30:00Z",
        "dataset_hash": "5f" * 32,
        "prompt_path": "prompt.txt",
        "prompt_hash": "a1" * 32,
        "prompt_text": "You answer customers of a software company.\nBe short and polite.\n",
        "parameters": {"temperature": 0.7, "max_tokens": 1024, "stop": ["\n\n\n"]},
        "judge_model": "anthropic/claude-sonnet-4-0",
        "judge_hash": "9c" * 32,
        "judge_parameters": {"temperature": 0},
        "rubric_name": "default",
        "rubric_hash": "77" * 32,
        "rubric_text": "accuracy (1 to 5): Is it right?\nclarity (1 to 5): Is it?\n",
        "tags": {"branch": "main"},
        "note": "before the new refund policy",
        **more,
    }
    return Reproduction(
        facts=facts("0b6f3a52", **known),
        version="1.2.3",
        python="3.11.7",
        command=COMMAND,
        folder=str(FOLDER),
        metrics={"polite": {"metric": "regex", "pattern": "(?i)please|thank"}},
    )


def metric_finding(name: str, mean: float, std: float, low: float, high: float) -> CaseMetricFinding:
    wide = high - low > 2
    return CaseMetricFinding(
        name=name,
        mark="warning" if wide else "good",
        label="WIDE RANGE" if wide else None,
        text=f"{mean:.2f} ± {std:.2f} (min {low:g}, max {high:g}, 5 samples)",
        digits=2,
        mean=mean,
        std=std,
        min=low,
        max=high,
        count=5,
        variability="high" if wide else "low",
        notes=(),
    )


def raised(name: str, count: int = 2) -> FlagFinding:
    return FlagFinding(
        name=name,
        mark="bad",
        raised=count,
        judged=5,
        share=count / 5,
        interval=None,
        no_interval=None,
        band="some",
        text="some samples",
    )


def samples(text: str = ANSWER, reason: str = "It names no date.", count: int = 5) -> tuple[ComparedAnswer, ...]:
    found = [
        answer(
            text,
            at,
            scores={"accuracy": float(1 + at), "clarity": 4.0},
            reasons={"accuracy": reason},
            flags=("invented_facts",) if at < 2 else (),
        )
        for at in range(count)
    ]
    failed = answer(None, count, error="The service answered 503 (unavailable) four times. Try again later.")
    return (*found, failed)


def report_case(case_id: str = "charged-twice", **more: Any) -> ReportCase:
    known: dict[str, Any] = {
        "file": "data.yaml",
        "line": 12,
        "input": QUESTION,
        "reference": "Explain pre-authorisations, then offer a refund after five working days.",
        "findings": CaseFindings(
            test_case_id=case_id,
            mark="bad",
            metrics=(
                metric_finding("accuracy", 2.2, 1.3, 1.0, 5.0),
                metric_finding("clarity", 4.0, 0.0, 4.0, 4.0),
            ),
            flags=(raised("invented_facts"),),
        ),
        "answers": samples(),
        "answers_left_out": 0,
        **more,
    }
    return ReportCase(test_case_id=case_id, **known)


def varying(case_id: str = "charged-twice", metric: str = "accuracy", **more: Any) -> VaryingCase:
    known: dict[str, Any] = {
        "mean": 2.2,
        "std": 1.3,
        "count": 5,
        "low": 1.0,
        "high": 5.0,
        "passes": 2,
        "repeat_std": 0.2,
        "cause": "samples",
        **more,
    }
    return VaryingCase(test_case_id=case_id, metric=metric, **known)


def slice_cell(value: str = "billing", metric: str = "accuracy", **more: Any) -> SliceCell:
    known: dict[str, Any] = {
        "key": "topic",
        "mean": 3.1,
        "low": 2.7,
        "high": 3.5,
        "scale": (1.0, 5.0),
        "cases": 12,
        "difference": -0.9,
        "p_value": 0.003,
        **more,
    }
    return SliceCell(value=value, metric=metric, **known)


def _outcome(folder: Path = FOLDER) -> Any:
    failures = (
        FailureCount(
            kind="UnavailableError", metric=None, message="api.openai.com answered 503 (unavailable)", count=4
        ),
        FailureCount(kind="InvalidJudgement", metric="clarity", message="the judge's reply is not JSON", count=2),
    )
    return outcome(
        plan(folder),
        {
            "accuracy": stats(3.62, 0.9, fail_under=4.0, below=True, high_variability_cases=3, wide_range_cases=2),
            "clarity": stats(4.31, 0.2),
            "polite": stats(0.94, 0.1, scale=(0.0, 1.0), pass_rate=0.94),
        },
        {"invented_facts": flag_stats(7, 250, (0.012, 0.06)), "leaks_data": flag_stats(0, 250, (0.0, 0.015))},
        totals=totals(244, errors={"UnavailableError": 4, "InvalidJudgement": 2}, failures=failures, error_share=0.024),
        worst=(worst("charged-twice", "accuracy", 2.2, 1.3), worst("refund-late", "accuracy", 2.4, 0.5)),
        flakiest=(worst("charged-twice", "accuracy", 2.2, 1.3),),
    )


def run_report(**more: Any) -> RunReport:
    """A run with something of everything."""
    found = findings(_outcome(), seen_from=FOLDER)
    known: dict[str, Any] = {
        "title": "support: accuracy 3.62, below its bar",
        "made_at": "2026-01-01T10:00:00Z",
        "findings": found,
        "facts": reproduction().facts,
        "varying": (
            varying(),
            varying("refund-late", cause="judge", low=2.0, high=4.0, mean=3.0, std=0.8, repeat_std=0.9),
            varying("hello", "clarity", cause="unknown", low=3.0, high=5.0, mean=4.2, std=0.8, repeat_std=None),
        ),
        "varying_cases": 3,
        "worst": (report_case(), report_case("refund-late", line=31), report_case("no-reference", reference=None)),
        "failing_cases": 9,
        "slices": (
            slice_cell(),
            slice_cell("accounts", difference=0.1, p_value=0.6, mean=3.9, low=3.5, high=4.3),
            slice_cell("legal", cases=3, difference=0.4, p_value=None, mean=4.1, low=None, high=None),
        ),
        "reproduction": reproduction(),
        "charts": charts(RUN_CHARTS),
        **more,
    }
    return RunReport(**known)


def little_report() -> RunReport:
    """One case, one sample, one metric, nothing else known."""
    one = stats(4.0, None, num_cases=1, interval=None, min_of_means=4.0, max_of_means=4.0)
    made = findings(outcome(plan(FOLDER), {"accuracy": one}, None), seen_from=FOLDER)
    return run_report(
        title="One case",
        findings=msgspec.structs.replace(made, advice=(), next_step=None),
        varying=(),
        varying_cases=0,
        worst=(),
        failing_cases=0,
        slices=(),
        charts=(),
    )


def big_report(text: str = ANSWER * 16, name: str = "a-metric-with-a-name-of-one-hundred-characters-") -> RunReport:
    """Twenty metrics with long names, many flags, twenty long cases, a hundred slices."""
    names = [f"{name * 2}{at:06}"[-100:] for at in range(20)]
    ids = [f"{'case-with-a-very-long-id/' * 4}{at}" for at in range(20)]
    changes = {"fail_under": 4.0, "below": True, "high_variability_cases": 12, "wide_range_cases": 7, "flaky_cases": 3}
    found = findings(
        outcome(
            plan(FOLDER),
            {each: stats(1.2 + at * 0.19, 0.9, **changes) for at, each in enumerate(names)},
            {f"flag_{each}": flag_stats(at, 100_000, (0.0, 0.02)) for at, each in enumerate(names)},
        ),
        seen_from=FOLDER,
    )
    cases = tuple(report_case(each, input=text[:4_000], answers=samples(text[:4_000], text[:600])) for each in ids)
    return run_report(
        title=names[0],
        findings=found,
        varying=tuple(varying(each, names[at]) for at, each in enumerate(ids)),
        varying_cases=61_203,
        worst=cases,
        failing_cases=91_001,
        slices=tuple(slice_cell(f"{each}-{at}", each) for each in names for at in range(5)),
    )


def hostile_report(texts: Sequence[str]) -> RunReport:
    """Each text wherever somebody else's text may stand."""
    short = [text[:4_000] for text in texts]
    base = run_report()
    head = msgspec.structs.replace(base.findings.headline, text=" ".join(short)[:4_000])
    metric_ = base.findings.metrics[0]
    flag_ = base.findings.flags[0]
    found = msgspec.structs.replace(
        base.findings,
        headline=head,
        metrics=tuple(msgspec.structs.replace(metric_, name=text) for text in short),
        flags=tuple(msgspec.structs.replace(flag_, name=text, text=text) for text in short),
        advice=tuple(msgspec.structs.replace(note, text=text) for note in base.findings.advice[:1] for text in short),
    )
    known = base.facts
    named = msgspec.structs.replace(
        known, dataset_name=short[0], generator_model=short[1], note=short[2], tags={short[3]: short[4]}
    )
    return run_report(
        title=short[0],
        findings=found,
        facts=named,
        varying=tuple(varying(text, text) for text in short),
        worst=tuple(
            report_case(
                text, input=text, reference=text, file=text, answers=samples(text, text, 1), findings=_named(text)
            )
            for text in short
        ),
        slices=tuple(slice_cell(text, text, key=text) for text in short),
        reproduction=msgspec.structs.replace(
            reproduction(), facts=named, command=short[0], metrics={short[1]: short[2]}
        ),
    )


def _named(text: str) -> CaseFindings:
    return CaseFindings(
        test_case_id=text, mark="bad", metrics=(metric_finding(text, 2.0, 1.0, 1.0, 5.0),), flags=(raised(text),)
    )


def compare_report(compared: Comparison | None = None, text: str = ANSWER, **more: Any) -> CompareReport:
    """Two runs with something of everything."""
    of = compared or everything()
    found = comparison_findings(of, compared_by(answers_shown=True))
    other = text.replace("three to five", "up to ten").replace("refund", "return") + " Thank you."
    flipped = tuple(
        shown_case(
            each.test_case_id,
            [each],
            (samples(text, text[:80], 3)[:3], samples(other, text[:80], 3)[:3]),
            Letters("A", "B"),
            QUESTION,
        )
        for each in found.flipped.cases[:3]
    )
    known: dict[str, Any] = {
        "title": found.headline,
        "made_at": "2026-01-01T10:00:00Z",
        "flipped": flipped,
        "baseline": reproduction(),
        "candidate": reproduction(parameters={"temperature": 0.2}),
        "charts": charts(COMPARE_CHARTS),
        **more,
    }
    return CompareReport(comparison=of, findings=found, **known)


def hostile_comparison(texts: Sequence[str]) -> CompareReport:
    """Each text wherever somebody else's text may stand."""
    short = [text[:4_000] for text in texts]
    base = everything()
    of = type(base)(
        **{
            **{field: getattr(base, field) for field in base.__slots__},
            "metrics": {text: metric("worse", case_classes={"worse": 1}) for text in short},
            "flags": {text: flag("worse") for text in short},
            "cases": [case(text, of=text) for text in short],
            "slices": tuple(slice_(text, key=text, of=text) for text in short),
            "differs": {
                "prompt": Change(baseline=short[0], candidate=short[1], diff="--- a\n+++ b\n" + "\n".join(short)),
                **{f"parameters.{text}": Change(baseline=text, candidate=text[::-1]) for text in short},
            },
            "warnings": tuple(short),
        }
    )
    flipped = tuple(
        shown_case(text, [], (samples(text, text, 1)[:1], samples(text[::-1], text, 1)), Letters("A", "B"), text)
        for text in short
    )
    return compare_report(of, flipped=flipped, title=short[0])
