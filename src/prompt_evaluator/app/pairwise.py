"""Ask a judge which of two runs' stored answers are better, as a run of its own."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.outcomes import stored_cases
from prompt_evaluator.app.planning.prepared import Prepared, check_mock_judge
from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.app.starting import carry_out, create_run, refuse_pairwise
from prompt_evaluator.compare.pairwise import pairwise_result, strengths
from prompt_evaluator.errors import ConfigurationError, StoreError
from prompt_evaluator.metrics.preference import criteria_of
from prompt_evaluator.model import JudgeConfig, MetricUse
from prompt_evaluator.model.pairwise import BASELINE_FIRST, CANDIDATE_FIRST, PairwiseReport
from prompt_evaluator.pipeline.loading import BATCH
from prompt_evaluator.reports.pairwise import pairwise_findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.app.models import Models
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import CommandLine, RunPlan, RunRecord, TestCase
    from prompt_evaluator.model.comparison import RunFacts
    from prompt_evaluator.model.outcome import Outcome
    from prompt_evaluator.model.pairwise import PairwiseFindings, PairwiseResult
    from prompt_evaluator.providers.catalogue import ModelName
    from prompt_evaluator.store import Store

_METRIC = "pairwise:preference"
_ORDERS = {CANDIDATE_FIRST: "candidate", BASELINE_FIRST: "baseline"}
_ASKED = ("baseline_run_id", "metrics", "judge", "num_samples")
"""What decides which questions are asked about a candidate."""
_SPACE = uuid.UUID("6f1c0c52-0f1e-5d4b-9f52-6c7a3f0f2f11")
_in_order = msgspec.json.Encoder(order="deterministic").encode
_SHORT_ID = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseOptions:
    """How to ask; None for the runs' own."""

    judge_model: str | None = None
    allow_mock_judge: bool = False
    command: CommandLine | None = None
    """The command that asks, to be stored with the runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseOutcome:
    """What the judge prefers, and the runs in which it was asked."""

    report: PairwiseReport
    outcomes: tuple[Outcome, ...]

    @property
    def is_worse(self) -> bool:
        """Whether a run is worse than the first one."""
        first = self.report.runs[0]
        return any(result.verdict == "worse" and result.baseline == first for result in self.report.comparisons)


def stored_run_ids(runs: Sequence[RunFacts]) -> list[str]:
    """Ids of the runs to compare.

    Raises:
        ConfigurationError: One of them is a file.
    """
    for run in runs:
        if run.path is not None or run.run_id is None:
            raise ConfigurationError(
                f"{run.path or run.name}: --pairwise needs runs in the store, because a judge is shown their answers. "
                "Give the id of a run; `prompt-evaluator runs list` shows them."
            )
    return [run.run_id for run in runs if run.run_id is not None]


async def compare_pairwise(run_ids: Sequence[str], session: Session, options: PairwiseOptions) -> PairwiseOutcome:
    """Compare every two of some runs; of each two, the one named first is the baseline.

    Nothing is paid for twice: what has been asked before is reused, and an unfinished comparison is continued.

    Raises:
        ConfigurationError: Two runs have no unchanged case in common, or cannot be compared for another reason.
    """
    records = [session.store.run(run_id) for run_id in run_ids]
    for record in records:
        refuse_pairwise(record.plan)
    results: list[PairwiseResult] = []
    outcomes: list[Outcome] = []
    for baseline, candidate in combinations(records, 2):
        outcome = await _compared(baseline, candidate, session, options)
        outcomes.append(outcome)
        results.append(_result(session.store, outcome.record, baseline.plan, candidate.plan))
        if outcome.record.status == "aborted":
            break
    runs = tuple(record.plan.run_id for record in records)
    is_complete = all(result.status != "aborted" for result in results)
    found = strengths(runs, results) if len(runs) > 2 and is_complete else None  # noqa: PLR2004 - two need no ranking
    report = PairwiseReport(runs=runs, comparisons=tuple(results), strengths=found)
    return PairwiseOutcome(report=report, outcomes=tuple(outcomes))


def _result(store: Store, record: RunRecord, baseline: RunPlan, candidate: RunPlan) -> PairwiseResult:
    """The result of a pairwise comparison as far as it has come."""
    plan = record.plan
    return pairwise_result(
        store.pairs(plan.run_id),
        baseline=baseline.run_id,
        candidate=candidate.run_id,
        baseline_model=baseline.target.model,
        candidate_model=candidate.target.model,
        run_id=plan.run_id,
        status=record.status,
        judge_model=plan.judge.model if plan.judge else "",
        synthetic=plan.synthetic or baseline.synthetic,
    )


async def _compared(baseline: RunRecord, candidate: RunRecord, session: Session, options: PairwiseOptions) -> Outcome:
    if baseline.plan.run_id == candidate.plan.run_id:
        raise ConfigurationError(f"Run {baseline.plan.run_id} cannot be compared with itself. Name two runs.")
    async with session.models() as models:
        draft = _draft(baseline.plan, candidate.plan, models, options)
        run_id = _run_id(draft, baseline, candidate)
        record = _created(msgspec.structs.replace(draft, run_id=run_id, group_id=run_id), models, session, options)
        if record is not None:
            return await carry_out(record, models, session)
    return await resume_run(run_id, session)


def _created(draft: RunPlan, models: Models, session: Session, options: PairwiseOptions) -> RunRecord | None:
    """The new run; None if it has been started before, perhaps by another process at this moment."""
    store = session.store
    if store.has_run(draft.run_id):
        return None
    prepared = Prepared(draft, _common_cases(store, draft), models, allow_mock_judge=options.allow_mock_judge)
    try:
        return create_run(prepared, models, session)
    except StoreError:
        if store.has_run(draft.run_id):
            return None
        raise


def _draft(baseline: RunPlan, candidate: RunPlan, models: Models, options: PairwiseOptions) -> RunPlan:
    own = [judge for judge in (candidate.judge, baseline.judge) if judge]
    judge = models.name(options.judge_model or (own[0].model if own else candidate.target.model))
    if not options.allow_mock_judge and not baseline.synthetic:
        check_mock_judge(models.name(baseline.target.model), judge, models.settings)
    rubric = candidate.rubric or baseline.rubric
    criteria = {"criteria": criteria_of(rubric)} if rubric else {}
    return msgspec.structs.replace(
        candidate,
        parent_run_id=candidate.run_id,
        baseline_run_id=baseline.run_id,
        rubric=None,
        metrics=tuple(
            MetricUse(metric=_METRIC, name=name, options={"first": first, **criteria})
            for name, first in _ORDERS.items()
        ),
        judge=models.as_sent(
            JudgeConfig(model=str(judge), identity=models.identity(judge), temperature=_temperature(judge, own)),
            ("temperature",),
        ),
        judges={},
        num_samples=min(baseline.num_samples, candidate.num_samples),
        note=f"pairwise: {candidate.run_id[:_SHORT_ID]} against {baseline.run_id[:_SHORT_ID]}",
        tags={},
        filters={},
        fail_under={},
        fail_over={},
        reducers=(),
        reuse=True,
        command=options.command,
        harness=None,
    )


def _temperature(judge: ModelName, own: Sequence[JudgeConfig]) -> float | None:
    """As the runs asked this judge, because some models accept only one temperature; otherwise 0."""
    return next((each.temperature for each in own if each.model == str(judge)), 0.0)


def _run_id(draft: RunPlan, baseline: RunRecord, candidate: RunRecord) -> str:
    """The id of the run that asks this: the same for the same question, so that two processes never ask it both.

    A run that was resumed since may have answers that it did not have then, and one in progress gets more at any time.
    """
    ends = [record.ended_at for record in (baseline, candidate)]
    if None in ends:
        return str(uuid.uuid4())
    asked = [draft.parent_run_id, *ends, *(getattr(draft, name) for name in _ASKED)]
    return str(uuid.uuid5(_SPACE, _in_order(asked).decode()))


def _common_cases(store: Store, draft: RunPlan) -> Iterator[TestCase]:
    """The candidate's cases that the baseline has too, unchanged."""
    parent, baseline = draft.parent_run_id or "", draft.baseline_run_id or ""
    found = False
    cases = (stored.case for stored in stored_cases(store, parent))
    while batch := list(islice(cases, BATCH)):
        ids = [case.id for case in batch]
        own, other = store.content_hashes(parent, ids), store.content_hashes(baseline, ids)
        for case in batch:
            if case.id in other and own[case.id] == other[case.id]:
                found = True
                yield case
    if not found:
        raise ConfigurationError(
            f"Runs {baseline} and {parent} have no unchanged case in common, so there are no answers to compare."
        )


def findings(report: PairwiseReport) -> PairwiseFindings:
    """What to say about the result, for front ends."""
    return pairwise_findings(report)
