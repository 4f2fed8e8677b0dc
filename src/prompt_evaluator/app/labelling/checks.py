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
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.app.labelling.files import LabelLine
    from prompt_evaluator.errors import InputError
    from prompt_evaluator.model import RunRecord
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


def score_scales(store: Store, record: RunRecord) -> dict[str, Scale]:
    """Maps name to scale for every score of a run, including those that single cases ask for."""
    scales = {name: Scale(0, 1) for name in metric_names(store, record)}
    if rubric := record.plan.rubric:
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


class LabelledRun:
    """A run, with what is needed to check labels of some of its cases."""

    def __init__(self, store: Store, record: RunRecord, cases: Sequence[str]) -> None:
        run_id = record.plan.run_id
        self._plan = record.plan
        self._scales = score_scales(store, record)
        self._cases = set(store.case_ids(run_id))
        self._answers = answer_hashes(store, run_id, cases)

    def label(self, line: LabelLine, *, now: str) -> Label:
        """Turn a line into a label and fill in what it leaves out.

        Raises:
            InputError: The line does not fit the run.
        """
        answer_hash = self._answer_hash(line)
        if line.metric not in self._scales:
            raise self._has_no("score", line.metric, self._scales, line)
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
        )

    def _attempt(self, line: LabelLine) -> int:
        if line.attempt is not None:
            return line.attempt
        answered = (at for case_id, sample, at in self._answers if (case_id, sample) == (line.case_id, line.sample))
        return max(answered, default=0)

    def _answer_hash(self, line: LabelLine) -> str:
        if line.case_id not in self._cases:
            raise self._has_no("case", line.case_id, self._cases, line)
        number, samples = line.sample + 1, self._plan.num_samples
        if not 1 <= number <= samples:
            what = f"Case {line.case_id!r} has no sample {number}"
            raise line.where.problem(what, advice=f"Samples of this run are numbered from 1 to {samples}.")
        stored = self._answers.get((line.case_id, line.sample, self._attempt(line)))
        if stored is None:
            attempt = f", attempt {line.attempt}," if line.attempt else ""
            what = f"Sample {number} of case {line.case_id!r}{attempt} has no answer"
            raise line.where.problem(what, advice="Remove the line: only answers can be labelled.")
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

    def _has_no(self, kind: str, name: str, known: Iterable[str], line: LabelLine) -> InputError:
        what = f"Run {self._plan.run_id} has no {kind} {name!r}"
        return line.where.problem(what, advice=hint(UnknownNameError(kind, name, known)))


def _value(line: LabelLine, scale: Scale) -> float:
    if scale.yes_or_no:
        truth = as_truth(line.value)
        if truth is None:
            what = f"{line.metric!r} is a flag, but its value is {shown(line.value)}"
            raise line.where.problem(what, advice="Write true, false, yes, no, 1 or 0.", field="value")
        return float(truth)
    number, limits = as_number(line.value), f"from {scale.low:g} to {scale.high:g}"
    if number is None:
        what = f"The value is {shown(line.value)}, not a number"
        raise line.where.problem(what, advice=f"Write a number {limits}.", field="value")
    if not scale.low <= number <= scale.high:
        what = f"The value {number:g} is outside the scale of {line.metric!r}"
        raise line.where.problem(what, advice=f"Write a number {limits}.", field="value")
    return number


def _disagreement(line: LabelLine, thing: str, given: str | None, stored: str, advice: str) -> InputError:
    hashes = f"its {thing}_hash is {(given or '')[:_SHOWN]}…, but the stored run has {stored[:_SHOWN]}…"
    return line.where.problem(f"The label is for another {thing}: {hashes}", advice=advice, field=f"{thing}_hash")
