"""A stored run as a comparison sees it, from its result rows alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from case_results import JUDGES, case_result, failed_sample, flag, run_result, sample, stats

from prompt_evaluator.model import DatasetRef, JudgeConfig, MetricUse, PromptRef, Target, TestCase
from prompt_evaluator.model.comparison import CaseScores
from prompt_evaluator.model.query import CaseFlag
from prompt_evaluator.model.result import CriterionScore, MetricScore
from prompt_evaluator.model.rubric import Criterion, Flag, Rubric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.result import CaseResult, SampleResult
    from prompt_evaluator.store import Store

    MakeRecord = Callable[..., RunRecord]

RUN = "run-0001"
RUBRIC = Rubric(
    name="house",
    metrics=(Criterion(name="clarity", description="Is it clear?", guidelines="5: yes\n1: no", max_score=10),),
    flags=(Flag(name="rude", description="Is it rude?"),),
    hash="ab" * 32,
)


def judged(case_id: str, at: int, clarity: float, length: float | None = 1.0) -> SampleResult:
    outcome: Any = "skipped" if length is None else "scored"
    return sample(
        case_id,
        at,
        judge_metrics={"clarity": CriterionScore(clarity, f"{clarity} points", passed=clarity >= 4)},
        scores={"length": MetricScore(status=outcome, score=length, passed=None, reason="")},
        judge_flags={"rude": clarity < 2, "leaks": False},
    )


def finished(case_id: str, *clarity: float) -> CaseResult:
    return case_result(
        case_id,
        num_samples=len(clarity),
        samples=tuple(judged(case_id, at, value) for at, value in enumerate(clarity)),
        per_metric_stats={"length": stats(*[1.0] * len(clarity)), "clarity": stats(*clarity)},
        per_flag_stats={"rude": flag(sum(value < 2 for value in clarity), len(clarity))},
    )


@pytest.fixture
def filled(store: Store, record: MakeRecord) -> Store:
    cases = [
        TestCase(id="good", input="How?", metadata={"topic": "tea", "deep": {"er": [1]}}),
        TestCase(id="half", input="Why?"),
        TestCase(id="broken", input="Who?"),
        TestCase(id="pending", input="When?"),
    ]
    plan = {
        "dataset": DatasetRef(path="/data/tea.yaml", hash="cd" * 32, count=9, selected=4),
        "target": Target(
            model="mock/default",
            identity="mock|://",
            temperature=0.5,
            params={"top_p": 0.9, "temperature": "x"},
            prompt=PromptRef(path="/p.txt", hash="ef" * 32, text="Be kind.", version="v2"),
        ),
        "rubric": RUBRIC,
        "metrics": (MetricUse(metric="max_words", name="length", options={"words": 5}),),
        "judge": JudgeConfig(model="mock/judge", identity="judge", temperature=0.0, repeats=3, system_prompt="Judge."),
        "judges": {"mock/other": JudgeConfig(model="mock/other", identity="other", seed=4)},
        "num_samples": 2,
        "tags": {"team": "docs"},
        "note": "a note",
    }
    store.create_run(record(RUN, **plan), cases)
    broken = case_result(
        "broken",
        samples=(failed_sample("broken", 0), failed_sample("broken", 1)),
        per_metric_stats={},
        per_flag_stats={},
        missing_scores={"clarity": 2},
        status="failed",
    )
    half = case_result(
        "half",
        samples=(judged("half", 0, 3.0, None), failed_sample("half", 1)),
        per_metric_stats={"clarity": stats(3.0)},
        per_flag_stats={"rude": flag(0, 1)},
        missing_scores={"clarity": 1},
        status="partial",
    )
    writer = store.writer(RUN)
    for at, result in enumerate((finished("good", 4.0, 5.0), half, broken)):
        writer.put_case(at, result, JUDGES)
    writer.close()
    totals: dict[str, Any] = {"samples": {"completed": 3, "generation_error": 2, "judge_error": 1, "pending": 2}}
    summary = run_result(RUN, errors={"TimedOutError": 2, "BadReplyError": 1}, **totals)
    store.update_run(RUN, status="partial", summary=summary)
    return store


def test_a_run_is_known_by_its_plan_and_its_summary(filled: Store) -> None:
    facts = filled.compared(RUN[:6]).facts

    assert (facts.name, facts.run_id, facts.path, facts.status) == (RUN, RUN, None, "partial")
    assert (facts.dataset_name, facts.dataset_hash, facts.cases) == ("tea", "cd" * 32, 4)
    assert (facts.prompt_path, facts.prompt_hash, facts.prompt_version) == ("/p.txt", "ef" * 32, "v2")
    assert (facts.prompt_text, facts.generator_model) == ("Be kind.", "mock/default")
    assert (facts.judge_model, facts.rubric_name, facts.rubric_hash) == ("mock/judge", "house", "ab" * 32)
    assert (facts.tags, facts.note, facts.num_samples, facts.synthetic) == ({"team": "docs"}, "a note", 2, False)
    assert facts.judge_hash is not None


def test_parameters_are_those_that_are_set_and_one_that_hides_another_keeps_its_own_name(filled: Store) -> None:
    facts = filled.compared(RUN).facts

    assert facts.parameters == {
        "temperature": 0.5,
        "service": "mock|://",
        "top_p": 0.9,
        "params.temperature": "x",
    }
    assert facts.judge_parameters == {
        "temperature": 0.0,
        "repeats": 3,
        "system_prompt": "Judge.",
        "service": "judge",
        "mock/other seed": 4,
        "mock/other service": "other",
    }
    assert facts.metric_definitions == {
        "length": {"metric": "max_words", "name": "length", "options": {"words": 5}},
    }


def test_a_rubric_is_text_with_a_line_for_everything_that_can_change(filled: Store) -> None:
    text = filled.compared(RUN).facts.rubric_text

    assert text is not None
    assert text.splitlines() == [
        "metrics:",
        "  - name: clarity",
        "    description: Is it clear?",
        "    min_score: 1",
        "    max_score: 10",
        "    guidelines:",
        "      5: yes",
        "      1: no",
        "flags:",
        "  - name: rude",
        "    description: Is it rude?",
        "    default: no",
    ]


def test_scales_are_the_rubrics_own_and_otherwise_0_to_1_in_the_order_of_the_run(filled: Store) -> None:
    facts = filled.compared(RUN).facts

    assert list(facts.scales.items()) == [("clarity", (1.0, 10.0)), ("length", (0.0, 1.0))]


def test_errors_cost_tokens_and_latency_come_from_what_was_stored(filled: Store) -> None:
    facts = filled.compared(RUN).facts

    assert facts.errors == {"TimedOutError": 2, "BadReplyError": 1}
    assert (facts.samples, facts.failed_samples) == (6, 3)
    assert (facts.cost, facts.input_tokens, facts.output_tokens) == (1.5, 2**40, 7)
    assert facts.latency_ms == pytest.approx((150.0 + 100.0) / 2)


def test_a_run_without_a_summary_has_unknown_totals(store: Store, record: MakeRecord) -> None:
    store.create_run(record(RUN), [TestCase(id="a", input="x")])

    facts = store.compared(RUN).facts

    assert (facts.errors, facts.samples, facts.failed_samples, facts.cost, facts.latency_ms) == (None,) * 5
    assert (facts.rubric_text, facts.judge_model, facts.judge_parameters, facts.scales) == (None, None, {}, {})


def test_a_run_left_behind_by_its_process_is_interrupted(store: Store, record: MakeRecord) -> None:
    store.create_run(record(RUN), [TestCase(id="a", input="x")])

    assert store.compared(RUN).facts.status == "interrupted"
    with store.own(RUN):
        assert store.compared(RUN).facts.status == "running"


def test_cases_come_in_file_order_with_every_sample_score(filled: Store) -> None:
    run = filled.compared(RUN)

    good, half, broken, pending = [case for batch in run.batches() for case in batch]

    assert list(run.case_ids()) == ["good", "half", "broken", "pending"]
    assert list(good.scores) == ["clarity", "length"]
    assert good.scores["clarity"] == CaseScores(4.5, 0.5**0.5, 2, 2, 0, (4.0, 5.0))
    assert (good.metadata, good.flags) == ({"topic": "tea", "deep": {"er": [1]}}, {"rude": CaseFlag(raised=0, asked=2)})
    assert half.scores == {"clarity": CaseScores(3.0, None, 1, 0, 1, (3.0,))}
    assert half.metadata == {}
    assert (broken.case_id, broken.scores, broken.flags) == ("broken", {}, {})
    assert (pending.case_id, pending.scores) == ("pending", {})


def test_a_flag_that_was_never_judged_is_left_out(store: Store, record: MakeRecord) -> None:
    store.create_run(record(RUN), [TestCase(id="a", input="x")])
    writer = store.writer(RUN)
    asked = {"rude": flag(1, 3), "leaks": msgspec.structs.replace(flag(0, 1), total_count=0)}
    writer.put_case(0, msgspec.structs.replace(finished("a", 1.0, 3.0), per_flag_stats=asked), {})
    writer.close()

    (case,) = store.compared(RUN).find(["a"]).values()

    assert case.flags == {"rude": CaseFlag(raised=1, asked=3)}


def test_a_changed_case_is_noticed_and_a_moved_one_is_not_changed(store: Store, record: MakeRecord) -> None:
    store.create_run(record("run-a"), [TestCase(id="a", input="x", line=1), TestCase(id="b", input="y")])
    store.create_run(record("run-b"), [TestCase(id="b", input="y", reference="z"), TestCase(id="a", input="x", line=7)])

    first, second = (store.compared(run_id).find(["a", "b"]) for run_id in ("run-a", "run-b"))

    assert not first["a"].is_changed(second["a"])
    assert first["b"].is_changed(second["b"])


def test_cases_are_found_by_id_and_unknown_ones_are_left_out(filled: Store) -> None:
    run = filled.compared(RUN)

    found = run.find(["half", "nobody", "good"])

    assert found.keys() == {"good", "half"}
    assert found == {case.case_id: case for batch in run.batches() for case in batch if case.case_id in found}
    assert run.find([]) == {}


def test_answers_come_with_scores_reasons_flags_and_errors(filled: Store) -> None:
    run = filled.compared(RUN)

    first, second = run.answers("half")

    assert (first.sample, first.answer, first.error) == (0, "Answer 0 to half", None)
    assert (first.scores, first.reasons, first.flags) == ({"clarity": 3.0}, {"clarity": "3.0 points"}, ())
    assert (second.answer, second.error, second.scores) == (None, "TimedOutError happened", {})
    assert run.answers("pending") == []
    assert run.answers("nobody") == ()


def test_another_runs_rows_are_never_mixed_in(filled: Store, record: MakeRecord) -> None:
    filled.create_run(record("run-0002"), [TestCase(id="good", input="How?")])
    writer = filled.writer("run-0002")
    writer.put_case(0, finished("good", 1.0, 1.0, 1.0), {})
    writer.close()

    (other,) = filled.compared("run-0002").find(["good"]).values()

    assert other.scores["clarity"].values == (1.0, 1.0, 1.0)
    assert filled.compared(RUN).find(["good"])["good"].scores["clarity"].values == (4.0, 5.0)


def _many(count: int) -> Iterator[TestCase]:
    return (TestCase(id=f"c{at}", input="x") for at in range(count))


def test_many_cases_come_in_batches_and_none_is_lost(store: Store, record: MakeRecord) -> None:
    store.create_run(record(RUN), _many(700))
    writer = store.writer(RUN)
    for at in range(700):
        writer.put_case(at, finished(f"c{at}", float(at % 5), 2.0), {})
    writer.close()
    run = store.compared(RUN)

    batches = list(run.batches())

    assert [len(batch) for batch in batches] == [512, 188]
    assert [case.case_id for batch in batches for case in batch] == [f"c{at}" for at in range(700)]
    assert [case.scores["clarity"].values for case in batches[1][:2]] == [(2.0, 2.0), (3.0, 2.0)]
    assert len(run.find([f"c{at}" for at in range(600)])) == 600
