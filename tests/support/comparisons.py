"""Comparisons made by hand, with just what a test is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from prompt_evaluator.model.comparison import (
    CaseComparison,
    Change,
    ComparedAnswer,
    Comparison,
    DatasetChange,
    FlagComparison,
    MetricComparison,
    RunFacts,
    SliceComparison,
)
from prompt_evaluator.reports.comparison_next import ComparedBy
from prompt_evaluator.reports.next_step import Reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.comparison import CaseClass, CompareVerdict

BASELINE, CANDIDATE = "2d65dcae", "091af3b2"
PROMPT = """\
--- baseline
+++ candidate
@@ -1,3 +1,3 @@
 You answer customers.
-Be polite.
+Be polite and brief.
 Never promise refunds.
"""
_PAIRED: dict[str, Any] = {
    "cases": 50,
    "low": -0.6,
    "high": -0.24,
    "p_value": 0.0004,
    "method": "paired_t",
    "effect_size": -0.85,
    "wins": 4,
    "losses": 40,
    "ties": 6,
    "missing": None,
    "more_cases_needed": 0,
    "more_samples_needed": 0,
    "detectable": 0.08,
}
_NOTHING: dict[str, Any] = dict.fromkeys(
    ("low", "high", "p_value", "method", "effect_size", "detectable", "more_cases_needed", "more_samples_needed")
)


def metric(verdict: CompareVerdict, before: float | None = 4.15, after: float | None = 3.73, **more: Any) -> Any:
    """Means, and whatever else a test changes."""
    difference = None if before is None or after is None else after - before
    values = {**_PAIRED, "difference": difference, "threshold": 0.1, "scale": (1.0, 5.0), "case_classes": {}, **more}
    return MetricComparison(verdict=verdict, baseline_mean=before, candidate_mean=after, **values)


def same(**more: Any) -> Any:
    values = {"low": -0.03, "high": 0.07, "p_value": 0.44, "effect_size": 0.1, **more}
    return metric("no_difference", 4.4, 4.42, **values)


def undecided(**more: Any) -> Any:
    values = {"cases": 20, "detectable": 0.35, "more_cases_needed": 57, "more_samples_needed": None, **more}
    values = {"low": -0.31, "high": 0.17, "p_value": 0.55, "effect_size": -0.14, **values}
    return metric("inconclusive", 3.9, 3.83, **values)


def too_few(cases: int = 3) -> Any:
    won = {"wins": 1, "losses": cases - 1, "ties": 0}
    return metric("inconclusive", 4.0, 3.5, **{**_NOTHING, **won, "cases": cases})


def missing(side: str = "candidate") -> Any:
    values = {**_NOTHING, "cases": 0, "wins": 0, "losses": 0, "ties": 0, "missing": side}
    before, after = (4.0, None) if side == "candidate" else (None, 4.0)
    return metric("worse", before, after, **values)


def flag(verdict: CompareVerdict, before: float = 0.02, after: float = 0.09, **more: Any) -> Any:
    values = {**_PAIRED, "low": 0.01, "high": 0.13, "p_value": 0.012, "effect_size": 0.4, "threshold": 0.05, **more}
    return FlagComparison(
        verdict=verdict, baseline_share=before, candidate_share=after, difference=after - before, **values
    )


def quiet_flag(verdict: CompareVerdict = "no_difference") -> Any:
    return flag(verdict, 0.0, 0.01, low=-0.01, high=0.03, p_value=0.32)


def case(
    case_id: str, kind: CaseClass = "worse", before: float = 4.8, after: float = 2.2, *, of: str = "correctness"
) -> CaseComparison:
    p_value = None if kind == "too_few" else 0.004
    return CaseComparison(
        test_case_id=case_id, metric=of, baseline=before, candidate=after, class_=kind, p_value=p_value
    )


def slice_(value: str, verdict: CompareVerdict = "worse", key: str = "topic", of: str = "correctness") -> Any:
    return SliceComparison(
        key=key,
        value=value,
        metric=of,
        cases=12,
        baseline_mean=4.2,
        candidate_mean=3.1,
        difference=-1.1,
        low=-1.5,
        high=-0.7,
        p_value=0.002,
        verdict=verdict,
    )


def facts(name: str = BASELINE, **more: Any) -> RunFacts:
    known: dict[str, Any] = {
        "run_id": f"{name}-4f4e-4c1d-9a50-7c1d4b7b7f0e",
        "status": "completed",
        "dataset_name": "support",
        "generator_model": "gpt-4o",
        "prompt_version": "v1",
        "num_samples": 5,
        "cases": 50,
        "samples": 250,
        "failed_samples": 0,
        "cost": 0.78,
        "input_tokens": 103_000,
        "output_tokens": 30_000,
        "latency_ms": 1_240.0,
    }
    return RunFacts(name=name, **{**known, **more})


def comparison(
    metrics: dict[str, Any] | None = None,
    flags: dict[str, Any] | None = None,
    cases: Sequence[CaseComparison] = (),
    **more: Any,
) -> Comparison:
    found: dict[str, Any] = {
        "baseline": facts(),
        "candidate": facts(CANDIDATE, prompt_version="v2", cost=0.64, output_tokens=24_600, latency_ms=1_290.0),
        "common_cases": 50,
        "slices": (),
        "slice_comparisons": 0,
        "differs": {"prompt": Change(baseline="v1", candidate="v2", diff=PROMPT)},
        "warnings": (),
        **more,
    }
    return Comparison(metrics=metrics or {}, flags=flags or {}, cases=cases, **found)


def rows(added: int = 0, removed: int = 0, changed: int = 0) -> DatasetChange:
    ids = {
        f"{kind}_ids": tuple(f"{kind}-{at}" for at in range(min(number, 20)))
        for kind, number in (("added", added), ("removed", removed), ("changed", changed))
    }
    return DatasetChange(added=added, removed=removed, changed=changed, **ids)


def compared_by(
    names: tuple[str, str] = (BASELINE, CANDIDATE),
    *,
    answers_shown: bool = False,
) -> ComparedBy:
    return ComparedBy(Reader(Path("/home/me/project")), names, answers_shown)


def answer(text: str | None, sample: int = 0, **more: Any) -> ComparedAnswer:
    values: dict[str, Any] = {"error": None, "scores": {}, "reasons": {}, "flags": (), **more}
    return ComparedAnswer(sample=sample, answer=text, **values)


def everything() -> Comparison:
    """A drop, a gain, something small, something open, flags, flipped cases, slices and warnings."""
    classes = {"worse": 7, "better": 2, "same": 38, "too_few": 3}
    drops = [case(f"charged-twice-{at}") for at in range(7)]
    gains = [case(f"refund-{at}", "better", 2.2, 4.6) for at in range(2)]
    return comparison(
        {
            "clarity": same(case_classes={"same": 47, "too_few": 3}),
            "correctness": metric("worse", case_classes=classes),
            "tone": undecided(case_classes={"same": 50}),
            "brevity": metric(
                "better", 3.1, 3.9, low=0.6, high=1.0, effect_size=1.1, wins=40, losses=4, case_classes={"same": 50}
            ),
        },
        {
            "leaks_data": flag("worse"),
            **{f"flag_{at}": quiet_flag() for at in range(4)},
            "rude": quiet_flag("inconclusive"),
        },
        [*drops, *(case("hello", "same") for _ in range(3)), *reversed(gains)],
        differs={
            "prompt": Change(baseline="v1", candidate="v2", diff=PROMPT),
            "parameters.temperature": Change(baseline=0.7, candidate=0.2),
            "cases": rows(added=3, changed=21),
        },
        slices=(slice_("billing"), slice_("accounts", "inconclusive")),
        slice_comparisons=24,
        warnings=("B is unfinished: 12 of 250 samples are missing.",),
    )
