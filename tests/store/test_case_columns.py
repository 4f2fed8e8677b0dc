"""Cases as columns: what they say is what the rows say, stored or not."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any

import pytest
from case_results import JUDGES, case_result, failed_sample, flag, run_result, sample, stats
from stores import sql

from prompt_evaluator.compare.comparing import compare
from prompt_evaluator.model import TestCase
from prompt_evaluator.model.case_columns import CASES_AT_ONCE
from prompt_evaluator.model.comparison import ComparedCase, CompareOptions
from prompt_evaluator.model.result import MetricScore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.comparison import Comparison, RunFacts
    from prompt_evaluator.model.result import CaseResult
    from prompt_evaluator.store import Store
    from prompt_evaluator.store.compared_run import StoredRun

    MakeRecord = Callable[..., RunRecord]

TOPICS = ("tea", "cake", "salt")
ENDED = "2025-01-01T01:00:00Z"


class WithoutColumns:
    """A stored run that is read case by case, as a file is."""

    def __init__(self, run: StoredRun) -> None:
        self._run = run

    @property
    def facts(self) -> RunFacts:
        return self._run.facts

    def case_ids(self) -> Iterator[str]:
        return self._run.case_ids()

    def batches(self) -> Iterator[Sequence[ComparedCase]]:
        return self._run.batches()

    def find(self, case_ids: Sequence[str]) -> dict[str, ComparedCase]:
        return self._run.find(case_ids)

    def answers(self, case_id: str) -> Any:
        return self._run.answers(case_id)

    def input(self, case_id: str) -> str | None:
        return self._run.input(case_id)


def scored(case_id: str, clarity: Sequence[float], *, length: float | None = None, rude: int = 0) -> CaseResult:
    """A case with one score of `length`, if any, beside those of `clarity`."""
    measured = {"clarity": stats(*clarity)} | ({"length": stats(length)} if length is not None else {})
    samples = [
        sample(
            case_id,
            at,
            judge_metrics={},
            scores={"clarity": MetricScore(status="scored", score=value, passed=value >= 4, reason="")}
            | ({"length": _single(length)} if length is not None and not at else {}),
        )
        for at, value in enumerate(clarity)
    ]
    return case_result(
        case_id,
        num_samples=len(clarity),
        samples=tuple(samples),
        per_metric_stats=measured,
        per_flag_stats={"rude": flag(rude, len(clarity))},
    )


def _single(value: float) -> MetricScore:
    return MetricScore(status="scored", score=value, passed=None, reason="")


def cases(count: int = 12) -> list[TestCase]:
    return [
        TestCase(id=f"ça-{at}", input=f"Question {at}", metadata={"topic": TOPICS[at % 3]} if at else {})
        for at in range(count)
    ]


def results(drop: float = 0.0, count: int = 12) -> list[CaseResult]:
    """Cases with one to four samples; one has errors only, and the last has not been started."""
    found = []
    for at in range(count - 1):
        values = [min(5.0, 2.0 + (at * 7 + sample * 3) % 4 - drop * (at % 2)) for sample in range(1 + at % 4)]
        found.append(scored(f"ça-{at}", values, length=at / 10 if at % 3 else None, rude=at % 2))
    found[5] = case_result(
        "ça-5",
        samples=(failed_sample("ça-5", 0),),
        per_metric_stats={},
        per_flag_stats={},
        missing_scores={"clarity": 1},
        status="failed",
    )
    return found


def add_run(store: Store, record: RunRecord, results: Sequence[CaseResult], given: Sequence[TestCase]) -> StoredRun:
    run_id = record.plan.run_id
    store.create_run(record, given)
    write(store, run_id, results)
    return store.compared(run_id)


def write(store: Store, run_id: str, results: Sequence[CaseResult]) -> None:
    writer = store.writer(run_id)
    for at, result in enumerate(results):
        writer.put_case(at, result, JUDGES)
    writer.close()


def end(store: Store, run_id: str) -> None:
    store.update_run(run_id, status="completed", ended_at=ENDED, summary=run_result(run_id))


def stored(location: Path | str) -> int:
    return int(sql(location, "SELECT count(*) FROM case_columns")[0][0])


def measured(comparison: Comparison) -> dict[tuple[str, str], Any]:
    """Everything that was found out about metrics and flags, by name and field."""
    both = comparison.metrics | comparison.flags
    return {(name, field): getattr(each, field) for name, each in both.items() for field in each.__struct_fields__}


def floats(found: dict[tuple[str, str], Any]) -> dict[tuple[str, str], float]:
    return {key: value for key, value in found.items() if isinstance(value, float)}


def test_columns_are_stored_when_a_run_has_ended_and_say_the_same(
    store: Store, record: MakeRecord, location: Path | str
) -> None:
    run = add_run(store, record("run-a"), results(), cases())
    made = list(run.columns()), list(run.id_columns()), run.digests(), run.facts.latency_ms
    before = stored(location)
    end(store, "run-a")
    run = store.compared("run-a")

    kept = list(run.columns()), list(run.id_columns()), run.digests(), run.facts.latency_ms

    assert (before, stored(location)) == (0, 1)
    assert kept[:3] == made[:3]
    assert kept[3] == pytest.approx(made[3])


def test_columns_have_every_score_whether_those_of_a_case_differ_or_not(store: Store, record: MakeRecord) -> None:
    given = [(4.0, 4.0, 4.0), (3.0, 5.0), (0.1, 0.1, 0.1), (2.0,), (1.0, 1.0, 2.0)]
    run = add_run(store, record("run-a"), [scored(f"ça-{at}", each) for at, each in enumerate(given)], cases(5))

    (piece,) = run.columns()

    assert array("I", piece.metrics["clarity"].sizes).tolist() == [len(each) for each in given]
    assert array("d", piece.metrics["clarity"].values).tolist() == [value for each in given for value in each]


def test_a_comparison_by_columns_is_that_of_the_cases_one_by_one(store: Store, record: MakeRecord) -> None:
    baseline = add_run(store, record("run-a"), results(), cases())
    candidate = add_run(store, record("run-b"), results(drop=1.0), cases())
    end(store, "run-a")  # the other is read from its rows
    options = CompareOptions(metric_threshold=0.1)

    found = compare(baseline, candidate, options)
    expected = compare(WithoutColumns(baseline), WithoutColumns(candidate), options)

    assert found.common_cases == expected.common_cases == 12
    ours, theirs = measured(found), measured(expected)
    assert {name for name, _ in ours} == {"clarity", "length", "rude"}
    assert floats(ours) == pytest.approx(floats(theirs), rel=1e-12)
    assert {key: ours[key] for key in ours.keys() - floats(ours)} == {
        key: theirs[key] for key in theirs.keys() - floats(theirs)
    }
    assert list(found.cases) == list(expected.cases)
    assert [(each.key, each.value, each.metric, each.cases) for each in found.slices] == [
        (each.key, each.value, each.metric, each.cases) for each in expected.slices
    ]
    assert found.warnings == expected.warnings


def test_a_changed_case_or_another_order_has_another_digest(store: Store, record: MakeRecord) -> None:
    first, *others = cases()
    runs = {
        "run-a": [first, *others],
        "run-b": [*others, first],
        "run-c": [TestCase(id=first.id, input="Something else"), *others],
    }

    found = [add_run(store, record(name), (), given).digests() for name, given in runs.items()]

    assert len({tuple(digests) for digests in found}) == 3


def test_a_run_that_goes_on_is_read_from_its_rows_again(store: Store, record: MakeRecord, location: Path | str) -> None:
    run = add_run(store, record("run-a"), results(), cases())
    end(store, "run-a")
    before = list(run.columns())

    write(store, "run-a", [scored("ça-0", [1.0])])

    (after,) = run.columns()
    assert stored(location) == 0
    assert after != before[0]


def test_many_cases_come_in_pieces_of_the_same_size(store: Store, record: MakeRecord) -> None:
    many = [TestCase(id=f"c{at}", input="x") for at in range(CASES_AT_ONCE + 3)]
    run = add_run(store, record("run-a"), [scored("c0", [4.0])], many)
    end(store, "run-a")

    pieces = list(run.columns())

    assert [piece.size for piece in pieces] == [CASES_AT_ONCE, 3]
    assert [set(piece.metrics) for piece in pieces] == [{"clarity"}, set()]
    assert len(run.digests()) == 2
    assert [len(ids.sizes) for ids in run.id_columns()] == [4 * CASES_AT_ONCE, 12]
