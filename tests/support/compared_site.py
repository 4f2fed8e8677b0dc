"""Small stored runs to compare, written straight into result rows, with scores and answers as a test wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from case_results import case_result, failed_sample, flag, plan_of, sample, stats
from seeded_site import settings_of

from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model import DatasetRef, PromptRef, RunRecord, Target, TestCase
from prompt_evaluator.model.result import CriterionScore
from prompt_evaluator.model.rubric import Criterion, Flag, Rubric
from prompt_evaluator.model.run import CallFailure
from prompt_evaluator.pipeline.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from random import Random

    from prompt_evaluator.store import Store

METRICS = ("clarity", "warmth")
_PASS = 4.0
RUBRIC = Rubric(
    name="house",
    metrics=tuple(Criterion(name=name, description="Is it?", guidelines="5: yes\n1: no") for name in METRICS),
    flags=(Flag(name="rude", description="Is it rude?"),),
    hash="ab" * 32,
)


class Planned(NamedTuple):
    """One case of a run: a score for each sample, by metric."""

    scores: Mapping[str, Sequence[float]]
    answers: Sequence[str] = ()
    """One for each sample; made up where there are none."""
    case_id: str | None = None
    metadata: Mapping[str, Any] = {}
    raised: int = 0
    errors: int = 0
    """Samples that failed, after those that have scores."""
    messages: Sequence[str] = ()
    """Of the errors; made up where there are none."""


def run_id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def store_of(folder: Path) -> Store:
    return open_store(settings_of(folder))


def random_cases(random: Random, count: int, *, samples: int, spread: float, drift: float) -> list[Planned]:
    """Cases with whole scores; each has a level of its own, the same in every run, plus a drift of this run."""

    def drawn(at: int) -> list[float]:
        level = 2 + ((at * 7919) % 101) / 101 * 2.5 + random.choice((0.0, 0.0, drift))
        return [float(min(5, max(1, round(random.gauss(level, spread))))) for _ in range(samples)]

    return [
        Planned({name: drawn(at) for name in METRICS}, metadata={"topic": ("billing", "delivery")[at % 2]})
        for at in range(count)
    ]


def add_planned(store: Store, number: int, cases: Sequence[Planned], **given: Any) -> str:
    """A finished run.

    Args:
        store: Where to.
        number: Which one; decides the id and the day.
        cases: In order.
        given: `prompt`, `version`, `note`, `tags`, `model`, `dataset`, `status`, `started_at`, `cost`.
    """
    prompt = given.get("prompt", "Answer.")
    ids = [case.case_id or f"case-{at:03}" for at, case in enumerate(cases)]
    plan = plan_of(
        run_id(number),
        len(cases),
        group_id="group",
        dataset=DatasetRef(
            path=f"/data/{given.get('dataset', 'support')}.jsonl",
            hash=given.get("dataset", "d1")[:1].encode().hex() * 32,
            count=len(cases),
            selected=len(cases),
        ),
        target=Target(
            model=given.get("model", "openai/small"),
            identity="https://example.test",
            prompt=PromptRef(path=None, hash=prompt[:1].encode().hex() * 32, text=prompt, version=given.get("version")),
        ),
        rubric=RUBRIC,
        num_samples=max(len(scores) for case in cases for scores in case.scores.values()),
        tags=given.get("tags", {}),
        note=given.get("note"),
    )
    day = given.get("started_at") or f"2026-{1 + number // 28:02}-{1 + number % 28:02}T09:30:00.000Z"
    status = given.get("status", "completed")
    written = [
        TestCase(id=name, input=f"Question about {name}?", metadata=dict(case.metadata))
        for name, case in zip(ids, cases, strict=True)
    ]
    store.create_run(RunRecord(plan=plan, status="running", started_at=day), written)
    totals = Totals(plan)
    writer = store.writer(plan.run_id)
    for at, case in enumerate(cases):
        result = planned_result(ids[at], case)
        totals.add(at, result)
        writer.put_case(at, result, {})
    writer.close()
    found = totals.result(status)
    if "cost" in given:
        found = msgspec.structs.replace(found, totals=msgspec.structs.replace(found.totals, cost=given["cost"]))
    store.update_run(plan.run_id, status=status, ended_at=day, summary=found)
    return plan.run_id


def planned_result(case_id: str, case: Planned) -> Any:
    """What a run found for a case."""
    count = max(map(len, case.scores.values()), default=0)
    answers = [
        sample(
            case_id,
            at,
            generator_output=case.answers[at] if at < len(case.answers) else f"Answer to {case_id}.",
            judge_metrics={
                name: CriterionScore(scores[at], f"because of {case_id}", passed=scores[at] >= _PASS)
                for name, scores in case.scores.items()
                if at < len(scores)
            },
            scores={},
            judge_flags={"rude": at < case.raised},
            tool_calls=(),
            earlier_attempts=(),
        )
        for at in range(count)
    ]
    answers += [_failed(case_id, count + at, case.messages[at : at + 1]) for at in range(case.errors)]
    return case_result(
        case_id,
        num_samples=len(answers),
        samples=tuple(answers),
        per_metric_stats={name: stats(*scores) for name, scores in case.scores.items() if scores},
        missing_scores=dict.fromkeys(METRICS, case.errors) if case.errors else {},
        per_flag_stats={"rude": flag(case.raised, count)},
        status="partial" if case.errors else "completed",
    )


def _failed(case_id: str, number: int, messages: Sequence[str]) -> Any:
    made = failed_sample(case_id, number)
    return (
        msgspec.structs.replace(made, error=CallFailure(kind="TimedOutError", message=messages[0]))
        if messages
        else made
    )
