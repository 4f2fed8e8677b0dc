"""Checks labels against their run: whether the answer exists and has such a score."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.export import metric_names
from prompt_evaluator.app.labelling.scales import label_scales
from prompt_evaluator.errors import InvalidLabelError, UnknownNameError
from prompt_evaluator.model import REDACTOR, Generation, Label
from prompt_evaluator.model.bounds import number_in
from prompt_evaluator.model.label import AnswerKey
from prompt_evaluator.pipeline.loading import BATCH

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from prompt_evaluator.model import RunPlan, RunRecord
    from prompt_evaluator.model.labelling import LabelScale
    from prompt_evaluator.store import Store

_generation = msgspec.json.Decoder(Generation).decode
_TRUTHS = {"true": 1.0, "yes": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "no": 0.0, "0": 0.0, "0.0": 0.0}
_SHOWN = 12


class NewLabel(msgspec.Struct, frozen=True, kw_only=True):
    """A person's score of one sample, before it is checked."""

    run_id: str
    """A run's name."""
    case_id: str
    sample: int
    """Starts at 0."""
    metric: str
    """The name of a metric, or of one of the rubric's criteria or flags."""
    value: float | bool | str
    """On the metric's scale; for a flag, yes or no as people and spreadsheets write them."""
    reviewer: str
    attempt: int | None = None
    """By default, the attempt that counts, which is the one that exports show."""
    created_at: str | None = None
    """By default, now."""
    comment: str = ""
    judge_seen: bool | None = None
    probability: float | None = None
    answer_hash: str | None = None
    """Of the answer that the reviewer saw. If it is given, a label of another answer is refused."""
    rubric_hash: str | None = None
    """The same for the rubric."""
    withdrawn: bool = False


class LabelledRun:
    """A run, with what is needed to check labels of some of its cases."""

    def __init__(
        self,
        plan: RunPlan,
        scales: Mapping[str, LabelScale],
        cases: Collection[str],
        answers: Mapping[AnswerKey, str],
        *,
        first_sample: int,
    ) -> None:
        """Keep what was read.

        Args:
            plan: The run's.
            scales: Of each score, by name.
            cases: The ids that a label may name.
            answers: Hashes of answers; those of the cases that labels are about.
            first_sample: The number of the first sample where the labels come from, for messages.
        """
        self._plan, self._scales, self._cases, self._answers = plan, scales, cases, answers
        self._first = first_sample
        self._decided = {each[:2]: each.attempt for each in sorted(answers)}
        """The last attempt at each sample, which is the one that counts."""

    def label(self, new: NewLabel, *, now: str) -> Label:
        """Fill in what a label leaves out.

        Raises:
            UnknownNameError: The run has no such case or score.
            InvalidLabelError: The label does not fit the run.
        """
        if not new.reviewer.strip():
            raise InvalidLabelError("The label has no reviewer", advice="Say who gave it.", field="reviewer")
        for name, text in (("reviewer", new.reviewer), ("comment", new.comment)):
            if "\0" in text:
                raise InvalidLabelError(f"{name} contains a NUL character", advice="Remove it.", field=name)
        if new.case_id not in self._cases:
            raise UnknownNameError("test case", new.case_id, self._cases)
        answer, answer_hash = self._answer(new)
        if new.metric not in self._scales:
            raise UnknownNameError("score", new.metric, self._scales)
        scale = self._scales[new.metric]
        return Label(
            run_id=self._plan.run_id,
            **answer._asdict(),
            metric=new.metric,
            value=_value(new, scale),
            reviewer=new.reviewer.strip(),
            created_at=new.created_at or now,
            comment=REDACTOR.text(new.comment),
            rubric_hash=self._rubric_hash(new, scale),
            answer_hash=answer_hash,
            probability=new.probability,
            judge_seen=new.judge_seen,
            withdrawn=new.withdrawn,
        )

    def _answer(self, new: NewLabel) -> tuple[AnswerKey, str]:
        samples = self._plan.num_samples
        number = f"{new.sample + self._first}"
        if not 0 <= new.sample < samples:
            advice = f"Samples are numbered from {self._first} to {samples - 1 + self._first}."
            raise InvalidLabelError(f"Case {new.case_id!r} has no sample {number}", advice=advice, field="sample")
        attempt = self._decided.get((new.case_id, new.sample), 0) if new.attempt is None else new.attempt
        answer = AnswerKey(new.case_id, new.sample, attempt)
        if answer not in self._answers:
            named = f", attempt {attempt}," if new.attempt else ""
            what = f"Sample {number} of case {new.case_id!r}{named} has no answer"
            raise InvalidLabelError(what, advice="Remove the label: only answers can be labelled.", field="sample")
        stored = self._answers[answer]
        if new.answer_hash not in (None, stored):
            advice = "Import it into the store that has that answer, or label the stored answer instead."
            raise _for_another("answer", new.answer_hash, stored, advice)
        return answer, stored

    def _rubric_hash(self, new: NewLabel, scale: LabelScale) -> str | None:
        rubric = self._plan.rubric if scale.kind != "metric" else None
        if rubric is None and new.rubric_hash:
            what = f"{new.metric!r} is not a rubric score, but the label has a rubric_hash"
            raise InvalidLabelError(what, advice="Leave rubric_hash empty.", field="rubric_hash")
        if rubric is None or new.rubric_hash in (None, rubric.hash):
            return rubric.hash if rubric else None
        advice = "Import it into the store that used that rubric, or label by the rubric of this run."
        raise _for_another("rubric", new.rubric_hash, rubric.hash, advice)


def several_cases(store: Store, record: RunRecord, cases: Sequence[str]) -> LabelledRun:
    """Read what is needed to check labels of a file, which are about these cases. Looks at every case of the run."""
    plan = record.plan
    known, answers = set(store.case_ids(plan.run_id)), _answer_hashes(store, plan.run_id, cases)
    return LabelledRun(plan, label_scales(plan, metric_names(store, record)), known, answers, first_sample=1)


def one_case(store: Store, record: RunRecord, case_id: str) -> LabelledRun:
    """Read what is needed to check a label of this case, from the rows of the case alone.

    Raises:
        UnknownNameError: The run has no such case.
    """
    plan = record.plan
    detail = store.case_detail(plan.run_id, case_id)
    (stored,) = store.cases(plan.run_id, start=detail.case.position, limit=1)
    answers = {
        AnswerKey(case_id, each.sample, each.attempt): each.answer_hash for each in detail.samples if each.answer_hash
    }
    scales = label_scales(plan, [use.key for use in stored.case.checks])
    return LabelledRun(plan, scales, {case_id}, answers, first_sample=0)


def _answer_hashes(store: Store, run_id: str, cases: Sequence[str]) -> dict[AnswerKey, str]:
    """The SHA-256 of each answer. Samples without an answer are left out."""
    hashes = {}
    for start in range(0, len(cases), BATCH):
        found = store.units(run_id, cases[start : start + BATCH])
        for unit in (unit for units in found.values() for unit in units if unit.kind == "generation"):
            if answer := _generation(unit.data).answer:
                key = AnswerKey(unit.case_id, unit.sample, unit.attempt)
                hashes[key] = hashlib.sha256(answer.text.encode()).hexdigest()
    return hashes


def _value(new: NewLabel, scale: LabelScale) -> float:
    if scale.kind == "flag":
        truth = _TRUTHS.get(str(new.value).strip().lower())
        if truth is None:
            what = f"{new.metric!r} is a flag, but its value is {_shown(new.value)}"
            raise InvalidLabelError(what, advice="Write true, false, yes, no, 1 or 0.", field="value")
        return truth
    number = number_in(new.value) if isinstance(new.value, str) else new.value
    if number is None or isinstance(number, bool) or not scale.low <= number <= scale.high:
        what = f"The value {_shown(new.value)} is not on the scale of {new.metric!r}"
        advice = f"Write a number from {scale.low:g} to {scale.high:g}."
        raise InvalidLabelError(what, advice=advice, field="value")
    return number


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)[:40]


def _for_another(thing: str, given: str | None, stored: str, advice: str) -> InvalidLabelError:
    hashes = f"its {thing}_hash is {(given or '')[:_SHOWN]}…, but the stored run has {stored[:_SHOWN]}…"
    return InvalidLabelError(f"The label is for another {thing}: {hashes}", advice=advice, field=f"{thing}_hash")
