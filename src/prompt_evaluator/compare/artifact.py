"""A run to be compared that was read from its `dataset_evaluation.json`.

The fields that the dataset guide shows have to be there; everything that our own files have besides is optional.
"""

from __future__ import annotations

from collections import Counter
from math import fsum
from pathlib import PurePath
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from prompt_evaluator.errors import InputError
from prompt_evaluator.model import MetricUse
from prompt_evaluator.model.comparison import CaseScores, ComparedAnswer, ComparedCase, RunFacts
from prompt_evaluator.model.outcome import MAIN_FILE
from prompt_evaluator.model.query import CaseFlag
from prompt_evaluator.model.rubric import Criterion, Flag
from prompt_evaluator.model.run_facts import definitions, input_hash, judge_parameters, parameters, rubric_text
from prompt_evaluator.model.score import ScoreScale
from prompt_evaluator.syntax.decoding import decoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.ports import ComparedRun

_CASES_AT_ONCE = 256
_ADVICE = f"Give the {MAIN_FILE} of a run."
_HASH = "sha256:"
_GUIDES_SCALE = (1.0, 5.0)
"""Of every metric, in a file that does not state the criteria of its rubric."""
_ROUNDING = 1e-9
_Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
_Score = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]
"""Far beyond any scale, and small enough to be squared and added up."""


class _Rubric(msgspec.Struct, frozen=True, kw_only=True):
    rubric_name: str | None = None
    rubric_hash: str | None = None
    metrics: tuple[Criterion, ...] | None = None
    flags: tuple[Flag, ...] = ()


class _Overall(msgspec.Struct, frozen=True, kw_only=True):
    scale: tuple[_Score, _Score] | None = None


class _Totals(msgspec.Struct, frozen=True, kw_only=True):
    samples: dict[str, _Count]
    errors: dict[str, _Count]
    cost: _Score | None
    input_tokens: _Count
    output_tokens: _Count


class _Head(msgspec.Struct, frozen=True, kw_only=True):
    """What the file says about the run."""

    run_id: str
    dataset_path: str | None
    dataset_hash: str
    num_samples_per_case: _Count
    status: str
    timestamp_start: str
    system_prompt_path: str | None
    generator_config: dict[str, Any]
    judge_config: dict[str, Any] | None
    rubric_metadata: _Rubric | None
    test_case_results: list[msgspec.Raw]
    overall_metric_stats: dict[str, _Overall]
    overall_flag_stats: dict[str, Any]
    system_prompt: str | None = None
    prompt_version_id: str | None = None
    prompt_hash: str | None = None
    run_notes: str | None = None
    tags: dict[str, str] = {}
    synthetic: bool | None = None
    template: str | None = None
    context_template: str | None = None
    judge_configs: dict[str, dict[str, Any]] = {}
    metrics_config: tuple[MetricUse, ...] | msgspec.UnsetType | None = msgspec.UNSET
    """None in a file whose run has no metrics outside the rubric; absent if that is unknown."""
    totals: _Totals | None = None


class _Stats(msgspec.Struct, frozen=True, kw_only=True):
    mean: _Score | None
    std: _Score | None
    count: _Count
    passed: _Count | None = None


class _FlagStats(msgspec.Struct, frozen=True, kw_only=True):
    true_count: _Count
    total_count: _Count


class _SampleScore(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `judge_metrics`, which has a rationale, or of `scores`, which has a reason."""

    score: _Score | None
    rationale: str = ""
    reason: str = ""


class _Error(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    message: str


class _Sample(msgspec.Struct, frozen=True, kw_only=True):
    status: str
    generator_output: str | None = None
    judge_metrics: dict[str, _SampleScore] = {}
    judge_flags: dict[str, bool] = {}
    scores: dict[str, _SampleScore] = {}
    latency_ms: _Score | None = None
    cost: _Score | None = None
    judge_cost: _Score | None = None
    error: _Error | None = None

    @property
    def every_score(self) -> dict[str, _SampleScore]:
        return self.judge_metrics | self.scores


class _Case(msgspec.Struct, frozen=True, kw_only=True):
    test_case_id: Annotated[str, msgspec.Meta(min_length=1)]
    test_case_input: str | None = None
    test_case_metadata: dict[str, Any] = {}
    samples: list[_Sample] = []
    per_metric_stats: dict[str, _Stats] = {}
    per_flag_stats: dict[str, _FlagStats] = {}
    missing_scores: dict[str, _Count] | None = None
    """Samples that should have a score but do not, by metric; None if that is not stated."""


_head = msgspec.json.Decoder(_Head).decode
_case = msgspec.json.Decoder(_Case).decode


def read_artifact(path: Path, data: bytes) -> ComparedRun:
    """Read a run from the bytes of its file. Everything is checked now; cases are decoded again when needed.

    Args:
        path: Where the bytes are from, for messages.
        data: The whole file.

    Raises:
        InputError: It is not the main file of a run.
    """
    head = decoded(_head, data, path, advice=_ADVICE)
    survey = _Survey(head, path)
    cases: dict[str, msgspec.Raw] = {}
    for at, raw in enumerate(head.test_case_results, start=1):
        case = decoded(_case, bytes(raw), path, where=f"Case {at:,}", advice=_ADVICE)
        if case.test_case_id in cases:
            what = f"Case {at:,} has the id {case.test_case_id[:60]!r} of an earlier case"
            raise InputError(what, path=path, field="test_case_id", advice="Give each case an id of its own.")
        cases[case.test_case_id] = raw
        survey.add(case)
    return _FileRun(survey.facts(len(cases)), cases)


class _FileRun:
    """A run in a file. Holds the bytes of its cases."""

    def __init__(self, facts: RunFacts, cases: dict[str, msgspec.Raw]) -> None:
        self.facts, self._cases = facts, cases

    def case_ids(self) -> Iterator[str]:
        return iter(self._cases)

    def batches(self) -> Iterator[Sequence[ComparedCase]]:
        raws = list(self._cases.values())
        for start in range(0, len(raws), _CASES_AT_ONCE):
            yield [_compared(_case(raw)) for raw in raws[start : start + _CASES_AT_ONCE]]

    def find(self, case_ids: Sequence[str]) -> dict[str, ComparedCase]:
        return {each: _compared(_case(self._cases[each])) for each in case_ids if each in self._cases}

    def answers(self, case_id: str) -> Sequence[ComparedAnswer]:
        raw = self._cases.get(case_id)
        return [_answer(sample, at) for at, sample in enumerate(_case(raw).samples)] if raw is not None else ()

    def input(self, case_id: str) -> str | None:
        raw = self._cases.get(case_id)
        return _case(raw).test_case_input if raw is not None else None


class _Survey:
    """What is known of a run: what the file states, and what its cases add up to."""

    def __init__(self, head: _Head, path: Path) -> None:
        self._head, self._path = head, path
        self._scales = dict(_stated_scales(head))
        rubric = head.rubric_metadata
        self._usual = _GUIDES_SCALE if rubric and rubric.metrics is None else _scale(ScoreScale())
        self._samples: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._latencies: list[float] = []

    def add(self, case: _Case) -> None:
        """Count a case, whose scores have to be on the scales of their metrics."""
        for name, stats in case.per_metric_stats.items():
            if stats.mean is not None:
                self._check(case, name, stats.mean)
        for sample in case.samples:
            for name, found in sample.every_score.items():
                if found.score is not None:
                    self._check(case, name, found.score)
            self._samples[sample.status] += 1
            if sample.status not in ("completed", "pending"):
                self._errors[sample.error.kind if sample.error else sample.status] += 1
        for name, flag in case.per_flag_stats.items():
            if flag.true_count > flag.total_count:
                raise self._wrong(case, f"the flag {name} is raised more often than it was asked for")
        if latencies := [sample.latency_ms for sample in case.samples if sample.latency_ms is not None]:
            self._latencies.append(fmean(latencies))

    def _check(self, case: _Case, metric: str, score: float) -> None:
        low, high = self._scales.setdefault(metric, self._usual)
        slack = _ROUNDING * (high - low)
        if not low - slack <= score <= high + slack:
            raise self._wrong(case, f"{metric} is {score:g}, and its scale is from {low:g} to {high:g}")

    def _wrong(self, case: _Case, what: str) -> InputError:
        return InputError(f"Case {case.test_case_id[:60]!r}: {what}", path=self._path, advice=_ADVICE)

    def facts(self, cases: int) -> RunFacts:
        head, totals = self._head, self._head.totals
        rubric = head.rubric_metadata or _Rubric()
        templates = {"template": head.template, "context_template": head.context_template}
        samples = totals.samples if totals else self._samples
        errors = totals.errors if totals else dict(self._errors)
        attempted = sum(samples.values()) - samples.get("pending", 0)
        judges = [*([head.judge_config] if head.judge_config else ()), *head.judge_configs.values()]
        plain = msgspec.to_builtins
        return RunFacts(
            name=str(self._path),
            path=str(self._path),
            run_id=head.run_id,
            status=head.status,
            started_at=head.timestamp_start,
            dataset_name=PurePath(head.dataset_path).stem if head.dataset_path else None,
            dataset_hash=_bare(head.dataset_hash),
            prompt_path=head.system_prompt_path,
            prompt_hash=_bare(head.prompt_hash),
            prompt_version=head.prompt_version_id,
            prompt_text=head.system_prompt,
            generator_model=head.generator_config.get("model"),
            parameters=parameters({**head.generator_config, **templates}),
            judge_model=next((model for each in judges if (model := each.get("model"))), None),
            judge_parameters=judge_parameters(head.judge_config, head.judge_configs),
            rubric_name=rubric.rubric_name,
            rubric_hash=_bare(rubric.rubric_hash),
            rubric_text=rubric_text(plain(rubric.metrics), plain(rubric.flags)),
            metric_definitions=None if head.metrics_config is msgspec.UNSET else definitions(head.metrics_config or ()),
            tags=head.tags,
            note=head.run_notes,
            num_samples=head.num_samples_per_case,
            cases=cases,
            synthetic=head.synthetic,
            scales=self._scales,
            samples=attempted if samples else None,
            failed_samples=attempted - samples.get("completed", 0) if samples else None,
            errors=errors if samples else None,
            cost=totals.cost if totals else None,
            input_tokens=totals.input_tokens if totals else None,
            output_tokens=totals.output_tokens if totals else None,
            latency_ms=fmean(self._latencies) if self._latencies else None,
        )


def _stated_scales(head: _Head) -> Iterator[tuple[str, tuple[float, float]]]:
    """By metric, in the order of the run: of the rubric's criteria, and of everything else with an overall result."""
    criteria = (head.rubric_metadata.metrics if head.rubric_metadata else None) or ()
    for criterion in criteria:
        yield criterion.name, _scale(criterion.scale)
    for name, overall in head.overall_metric_stats.items():
        if overall.scale is not None and all(name != criterion.name for criterion in criteria):
            yield name, overall.scale


def _scale(found: ScoreScale) -> tuple[float, float]:
    return float(found.low), float(found.high)


def _bare(digest: str | None) -> str | None:
    return digest.removeprefix(_HASH).lower() if digest else None


def _compared(case: _Case) -> ComparedCase:
    scores = {
        name: _scores(case, name, stats.mean, stats)
        for name, stats in case.per_metric_stats.items()
        if stats.mean is not None and stats.count
    }
    costs = [cost for sample in case.samples for cost in (sample.cost, sample.judge_cost) if cost is not None]
    latencies = [sample.latency_ms for sample in case.samples if sample.latency_ms is not None]
    return ComparedCase(
        case.test_case_id,
        None,
        case.test_case_metadata,
        scores,
        {
            name: CaseFlag(raised=each.true_count, asked=each.total_count)
            for name, each in case.per_flag_stats.items()
            if each.total_count
        },
        input_hash(case.test_case_input) if case.test_case_input is not None else None,
        {name: count for name, count in (case.missing_scores or {}).items() if count and name not in scores},
        fsum(costs) if costs else None,
        fmean(latencies) if latencies else None,
    )


def _scores(case: _Case, metric: str, mean: float, stats: _Stats) -> CaseScores:
    """The scores of a case; those of single samples are used if they are the ones that were counted."""
    found = [sample.every_score.get(metric) for sample in case.samples]
    values = [each.score for each in found if each is not None and each.score is not None]
    if case.missing_scores is None:
        missing = max(0, sum(sample.status != "pending" for sample in case.samples) - stats.count)
    else:
        missing = case.missing_scores.get(metric, 0)
    known = tuple(values) if len(values) == stats.count else None
    return CaseScores(mean, stats.std, stats.count, stats.passed, missing, known)


def _answer(sample: _Sample, at: int) -> ComparedAnswer:
    found = sample.every_score
    return ComparedAnswer(
        sample=at,
        answer=sample.generator_output,
        error=sample.error.message if sample.error else None,
        scores={name: each.score for name, each in found.items() if each.score is not None},
        reasons={name: text for name, each in found.items() if (text := each.rationale or each.reason)},
        flags=tuple(name for name, raised in sample.judge_flags.items() if raised),
    )
