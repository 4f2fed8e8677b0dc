"""Checks labels against their run: whether the answer exists and has such a score."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.export import metric_names
from prompt_evaluator.app.labelling.fields import as_number, as_truth, shown
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model import REDACTOR, Generation, Label
from prompt_evaluator.pipeline.loading import BATCH

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from prompt_evaluator.app.labelling.files import LabelLine
    from prompt_evaluator.errors import PromptEvaluatorError
    from prompt_evaluator.model import RunPlan, RunRecord
    from prompt_evaluator.store import Store

_generation = msgspec.json.Decoder(Generation).decode
_SHOWN = 12


class Scale(NamedTuple):
    """The range of a score."""

    low: float
    high: float
    yes_or_no: bool = False
    """Whether only 0 and 1 are allowed, as for flags."""
    of_rubric: bool = False


def score_scales(plan: RunPlan, metrics: Iterable[str]) -> dict[str, Scale]:
    """Maps name to scale for these metrics and for the scores of the run's rubric."""
    scales = {name: Scale(0, 1) for name in metrics}
    if rubric := plan.rubric:
        scales |= {each.name: Scale(each.min_score, each.max_score, of_rubric=True) for each in rubric.metrics}
        scales |= {flag.name: Scale(0, 1, yes_or_no=True, of_rubric=True) for flag in rubric.flags}
    return scales


def answer_hashes(store: Store, run_id: str, cases: Sequence[str]) -> dict[tuple[str, int, int], str]:
    """Maps (case, sample, attempt) to the SHA-256 of its answer. Samples without an answer are left out."""
    hashes = {}
    for start in range(0, len(cases), BATCH):
        found = store.units(run_id, cases[start : start + BATCH])
        for unit in (unit for units in found.values() for unit in units if unit.kind == "generation"):
            if answer := _generation(unit.data).answer:
                hashes[unit.case_id, unit.sample, unit.attempt] = hashlib.sha256(answer.text.encode()).hexdigest()
    return hashes


def hint(error: UnknownNameError) -> str:
    """The advice in the error: the name that was probably meant, or a few known names."""
    return str(error).removeprefix(f"There is no {error.kind} {error.name!r}.").strip()


def several_cases(store: Store, record: RunRecord, cases: Sequence[str]) -> LabelledRun:
    """Read what is needed to check many labels, which are about these cases. Looks at every case of the run."""
    run_id = record.plan.run_id
    known, answers = set(store.case_ids(run_id)), answer_hashes(store, run_id, cases)
    return LabelledRun(record.plan, score_scales(record.plan, metric_names(store, record)), known, answers)


def one_case(store: Store, record: RunRecord, case_id: str) -> LabelledRun:
    """Read what is needed to check a label of this case, from the rows of the case alone.

    Raises:
        UnknownNameError: The run has no such case.
    """
    plan = record.plan
    detail = store.case_detail(plan.run_id, case_id)
    (stored,) = store.cases(plan.run_id, start=detail.case.position, limit=1)
    answers = {(case_id, each.sample, each.attempt): each.answer_hash for each in detail.samples if each.answer_hash}
    names = [*(use.key for use in plan.metrics), *(use.key for use in stored.case.checks)]
    return LabelledRun(plan, score_scales(plan, names), {case_id}, answers)


class LabelledRun:
    """A run, with what is needed to check labels of some of its cases."""

    def __init__(
        self,
        plan: RunPlan,
        scales: Mapping[str, Scale],
        cases: Collection[str],
        answers: Mapping[tuple[str, int, int], str],
    ) -> None:
        """Keep what was read.

        Args:
            plan: The run's.
            scales: Of each score, by name.
            cases: The ids that a label may name.
            answers: Hashes of answers by case, sample and attempt; those of the cases that labels are about.
        """
        self._plan, self._scales, self._cases, self._answers = plan, scales, cases, answers

    def label(self, line: LabelLine, *, now: str) -> Label:
        """Turn a line into a label and fill in what it leaves out.

        Raises:
            InputError: The line does not fit the run.
            InvalidLabelError: The same, for a label that is not from a file.
        """
        answer_hash = self._answer_hash(line)
        if line.metric not in self._scales:
            raise self._has_no("score", line.metric, self._scales, line, "metric")
        scale = self._scales[line.metric]
        return Label(
            run_id=self._plan.run_id,
            case_id=line.case_id,
            sample=line.sample,
            attempt=self._attempt(line),
            metric=line.metric,
            value=_value(line, scale),
            reviewer=line.reviewer,
            created_at=line.created_at or now,
            comment=REDACTOR.text(line.comment),
            rubric_hash=self._rubric_hash(line, scale),
            answer_hash=answer_hash,
            probability=line.probability,
            judge_seen=line.judge_seen,
            withdrawn=line.withdrawn,
        )

    def _attempt(self, line: LabelLine) -> int:
        if line.attempt is not None:
            return line.attempt
        answered = (at for case_id, sample, at in self._answers if (case_id, sample) == (line.case_id, line.sample))
        return max(answered, default=0)

    def _answer_hash(self, line: LabelLine) -> str:
        if line.case_id not in self._cases:
            raise self._has_no("case", line.case_id, self._cases, line, "test_case_id")
        number, samples = line.sample + 1, self._plan.num_samples
        if not 1 <= number <= samples:
            what = f"Case {line.case_id!r} has no sample {number}"
            advice = f"Samples of this run are numbered from 1 to {samples}."
            raise line.where.problem(what, advice=advice, field="sample")
        stored = self._answers.get((line.case_id, line.sample, self._attempt(line)))
        if stored is None:
            attempt = f", attempt {line.attempt}," if line.attempt else ""
            what = f"Sample {number} of case {line.case_id!r}{attempt} has no answer"
            raise line.where.problem(what, advice="Remove the label: only answers can be labelled.", field="sample")
        if line.answer_hash not in (None, stored):
            advice = "Import it into the store that has that answer, or label the stored answer instead."
            raise _disagreement(line, "answer", line.answer_hash, stored, advice)
        return stored

    def _rubric_hash(self, line: LabelLine, scale: Scale) -> str | None:
        rubric = self._plan.rubric if scale.of_rubric else None
        if rubric is None and line.rubric_hash:
            what = f"{line.metric!r} is not a rubric score, but the label has a rubric_hash"
            raise line.where.problem(what, advice="Leave rubric_hash empty.", field="rubric_hash")
        if rubric is None or line.rubric_hash in (None, rubric.hash):
            return rubric.hash if rubric else None
        advice = "Import it into the store that used that rubric, or label by the rubric of this run."
        raise _disagreement(line, "rubric", line.rubric_hash, rubric.hash, advice)

    def _has_no(self, kind: str, name: str, known: Iterable[str], line: LabelLine, field: str) -> PromptEvaluatorError:
        what = f"Run {self._plan.run_id} has no {kind} {name!r}"
        return line.where.problem(what, advice=hint(UnknownNameError(kind, name, known)), field=field)


def _value(line: LabelLine, scale: Scale) -> float:
    if scale.yes_or_no:
        truth = as_truth(line.value)
        if truth is None:
            what = f"{line.metric!r} is a flag, but its value is {shown(line.value)}"
            raise line.where.problem(what, advice="Write true, false, yes, no, 1 or 0.", field="value")
        return float(truth)
    number, limits = as_number(line.value), f"from {scale.low:g} to {scale.high:g}"
    if number is None:
        what = f"The value is {shown(line.value)}, not a number {limits}"
        raise line.where.problem(what, advice="Write such a number.", field="value")
    if not scale.low <= number <= scale.high:
        what = f"The value {number:g} is outside the scale of {line.metric!r}"
        raise line.where.problem(what, advice=f"Write a number {limits}.", field="value")
    return number


def _disagreement(line: LabelLine, thing: str, given: str | None, stored: str, advice: str) -> PromptEvaluatorError:
    hashes = f"its {thing}_hash is {(given or '')[:_SHOWN]}…, but the stored run has {stored[:_SHOWN]}…"
    return line.where.problem(f"The label is for another {thing}: {hashes}", advice=advice, field=f"{thing}_hash")
