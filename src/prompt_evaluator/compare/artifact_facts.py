"""What a `dataset_evaluation.json` says about its run; what it leaves out is unknown."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from statistics import fmean
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.compare.artifact_parts import mapping, number, score_of, text, whole
from prompt_evaluator.compare.scales import guess_scale
from prompt_evaluator.model.comparison import RunFacts
from prompt_evaluator.model.run_facts import definitions, judge_parameters, parameters, rubric_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.compare.artifact_parts import Case, Head, Sample
    from prompt_evaluator.model.comparison import ComparedCase

_HASH = "sha256:"
_SHARE = (0.0, 1.0)


class Survey:
    """What can be learned about a run from its cases, added one at a time."""

    def __init__(self) -> None:
        self.ranges: dict[str, tuple[float, float]] = {}
        """Lowest and highest score, by metric."""
        self.shares: set[str] = set()
        """Metrics outside the rubric, which are scored from 0 to 1."""
        self.samples: Counter[str] = Counter()
        """By status."""
        self.without_status: Counter[bool] = Counter()
        """Samples whose status is not stated, by whether they have a score."""
        self.errors: Counter[str] = Counter()
        self.latencies: list[float] = []
        """The mean of each case."""

    def add(self, case: Case, compared: ComparedCase) -> None:
        for name, scores in compared.scores.items():
            values = (scores.mean, *(scores.values or ()), *self.ranges.get(name, ()))
            self.ranges[name] = (min(values), max(values))
        latencies = []
        for sample in case.samples or ():
            self.shares.update(sample.scores or ())
            if sample.latency_ms is not None:
                latencies.append(sample.latency_ms)
            self._count(sample)
        if latencies:
            self.latencies.append(fmean(latencies))

    def _count(self, sample: Sample) -> None:
        if sample.status is None:
            entries = (*(sample.judge_metrics or {}).values(), *(sample.scores or {}).values())
            self.without_status[any(score_of(entry) is not None for entry in entries)] += 1
            return
        self.samples[sample.status] += 1
        if sample.status not in ("completed", "pending"):
            self.errors[text(mapping(sample.error).get("kind")) or sample.status] += 1

    def counts(self) -> dict[str, int]:
        """Samples by status; a sample with a score is completed. Empty if the status of others is not stated."""
        if not self.samples or self.without_status[False]:
            return {}
        return dict(self.samples + Counter(completed=self.without_status[True]))


def file_facts(head: Head, survey: Survey, path: Path, cases: int) -> RunFacts:
    rubric, judge = mapping(head.rubric_metadata), mapping(head.judge_config)
    generator, judges = mapping(head.generator_config), _mappings(head.judge_configs)
    templates = {"template": head.template, "context_template": head.context_template}
    scales, guessed = _scales(head, rubric, survey)
    dataset = text(head.dataset_path)
    return RunFacts(
        name=str(path),
        path=str(path),
        run_id=text(head.run_id),
        status=text(head.status),
        started_at=text(head.timestamp_start),
        dataset_name=PurePath(dataset).stem if dataset else None,
        dataset_hash=_hash(head.dataset_hash),
        prompt_path=text(head.system_prompt_path),
        prompt_hash=_hash(head.prompt_hash),
        prompt_version=text(head.prompt_version_id),
        prompt_text=head.system_prompt if isinstance(head.system_prompt, str) else None,
        generator_model=_model(generator),
        parameters=parameters({**generator, **templates}),
        judge_model=next((model for each in (judge, *judges.values()) if (model := _model(each))), None),
        judge_parameters=judge_parameters(judge, judges),
        rubric_name=text(rubric.get("rubric_name")) or text(rubric.get("name")),
        rubric_hash=_hash(rubric.get("rubric_hash") or rubric.get("hash")),
        rubric_text=rubric_text(rubric.get("metrics"), rubric.get("flags")),
        metric_definitions=None if head.metrics_config is msgspec.UNSET else definitions(head.metrics_config),
        tags={str(key): str(value) for key, value in mapping(head.tags).items()},
        note=text(head.run_notes),
        num_samples=whole(head.num_samples_per_case),
        cases=cases,
        synthetic=head.synthetic if isinstance(head.synthetic, bool) else None,
        scales=scales,
        guessed_scales=guessed,
        latency_ms=fmean(survey.latencies) if survey.latencies else None,
        **_totals(mapping(head.totals), survey),
    )


def _totals(totals: dict[str, Any], survey: Survey) -> dict[str, Any]:
    """Counts as stated, or else as found in the samples."""
    samples = _counts(totals.get("samples")) or survey.counts()
    attempted = sum(samples.values()) - samples.get("pending", 0)
    errors = _counts(totals.get("errors")) if "errors" in totals else dict(survey.errors)
    return {
        "samples": attempted if samples else None,
        "failed_samples": attempted - samples.get("completed", 0) if samples else None,
        "errors": errors if samples else None,
        "cost": number(totals.get("cost")),
        "input_tokens": whole(totals.get("input_tokens")),
        "output_tokens": whole(totals.get("output_tokens")),
    }


def _scales(
    head: Head, rubric: dict[str, Any], survey: Survey
) -> tuple[dict[str, tuple[float, float]], tuple[str, ...]]:
    """The scale of each metric, widened to include its scores, and the metrics for which that was a guess."""
    stated = dict(_stated_scales(head, rubric))
    for name in (*definitions(head.metrics_config), *sorted(survey.shares)):
        stated.setdefault(name, _SHARE)
    scales, guessed = dict(stated), []
    for name, (lowest, highest) in survey.ranges.items():
        low, high = stated.get(name) or guess_scale(lowest, highest)
        scales[name] = (min(low, lowest), max(high, highest))
        if scales[name] != stated.get(name):
            guessed.append(name)
    return scales, tuple(guessed)


def _stated_scales(head: Head, rubric: dict[str, Any]) -> Iterator[tuple[str, tuple[float, float]]]:
    listed = rubric.get("metrics")
    criteria = {text(mapping(each).get("name")): mapping(each) for each in (listed if isinstance(listed, list) else ())}
    for name, criterion in criteria.items():
        if name and (scale := _scale(criterion.get("min_score"), criterion.get("max_score"))):
            yield name, scale
    for name, overall in mapping(head.overall_metric_stats).items():
        ends = mapping(overall).get("scale")
        if name not in criteria and isinstance(ends, list) and len(ends) == 2 and (scale := _scale(*ends)):  # noqa: PLR2004 - its two ends
            yield name, scale


def _scale(low: Any, high: Any) -> tuple[float, float] | None:
    least, most = number(low), number(high)
    return (float(least), float(most)) if least is not None and most is not None and least < most else None


def _model(config: dict[str, Any]) -> str | None:
    return text(config.get("model")) or text(config.get("model_name"))


def _hash(value: Any) -> str | None:
    found = text(value)
    return found.removeprefix(_HASH).lower() if found else None


def _counts(value: Any) -> dict[str, int]:
    return {name: count for name, found in mapping(value).items() if (count := whole(found)) is not None}


def _mappings(value: Any) -> dict[str, dict[str, Any]]:
    return {name: mapping(each) for name, each in mapping(value).items()}
