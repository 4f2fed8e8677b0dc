"""A run whose cases show everything that the page of a case can show, written straight into result rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from case_results import WHEN, case_result, failed_sample, flag, plan_of, sample, stats
from hostile import HTML, MARK, MARKDOWN

from prompt_evaluator.model import DatasetRef, JudgeConfig, Message, RunRecord, TestCase, ToolCall
from prompt_evaluator.model.result import AttemptResult, CriterionScore
from prompt_evaluator.model.rubric import Criterion, Flag, Rubric
from prompt_evaluator.pipeline.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.result import CaseResult, SampleResult
    from prompt_evaluator.store import Store

RUN = "gallery"
FAILING = 37
REFUND = (
    "I'm sorry about the double charge. I can see both payments of $42.00 on 3 March. "
    "I have refunded one of them; it takes three to five working days."
)
BOTH = "I'm sorry about the double charge. I have refunded both payments of $42.00 on 3 March."
LIST = """# Where is my parcel?

It is **on its way**. You can:

1. open *Orders*
2. press `Track`
   - or read [the help](https://example.test/help)

| day | place |
|---|---|
| Monday | depot |

```
status: <b>late</b>
```
"""
HOSTILE = (*HTML.values(), *MARKDOWN.values())
RUBRIC = Rubric(
    name="house",
    metrics=(
        Criterion(name="correct", description="Is it right?"),
        Criterion(name="tone", description="Is it friendly and plain?"),
    ),
    flags=(Flag(name="leaks_data", description="It tells something about another customer."),),
    hash="cd" * 32,
)


def write_gallery(store: Store, run_id: str = RUN) -> str:
    """Write the run and return its id."""
    cases = [*_special(), *_hostile(), *_failing()]
    plan = plan_of(
        run_id,
        len(cases),
        dataset=DatasetRef(path="/data/gallery.yaml", hash="1" * 64, count=len(cases), selected=len(cases)),
        rubric=RUBRIC,
        judge=JudgeConfig(model="openai/judge", identity="https://example.test"),
        num_samples=5,
    )
    totals = Totals(plan)
    store.create_run(RunRecord(plan=plan, status="running", started_at=WHEN), [case for case, _ in cases])
    results = [(at, result) for at, (_, result) in enumerate(cases) if result is not None]
    for at, result in results:
        totals.add(at, result)
    store.replace_results(
        run_id,
        results,
        lambda: totals.result("partial"),
        judges=dict.fromkeys(("correct", "tone"), "openai/judge"),
    )
    store.update_run(run_id, status="partial", ended_at=WHEN.replace("12:00", "12:09"))
    return run_id


def answered(  # noqa: PLR0913 - a short way to write a whole sample
    case_id: str,
    number: int,
    text: str,
    correct: float,
    why: str = "",
    *,
    tone: float = 4.0,
    raised: bool = False,
    **more: Any,
) -> SampleResult:
    reason = why or ("Refunds exactly one charge and says when it arrives." if correct >= 4 else "Refunds too much.")
    values = {
        "generator_output": text,
        "judge_metrics": {
            "correct": CriterionScore(correct, reason, passed=correct >= 4),
            "tone": CriterionScore(tone, "Friendly.", passed=tone >= 4),
        },
        "judge_flags": {"leaks_data": raised},
        "judge_overall_comment": None,
        "scores": {},
        "tool_calls": (),
        "earlier_attempts": (),
        "cost": 0.0002,
        "judge_cost": 0.0011,
        "latency_ms": 1_100.0 + 37 * number,
        "input_tokens": 412,
        "output_tokens": 38,
    }
    return sample(case_id, number, **{**values, **more})


def result_of(case_id: str, samples: Sequence[SampleResult], **more: Any) -> CaseResult:
    """A case whose statistics are those of its samples."""
    scores: dict[str, list[float]] = {}
    for each in samples:
        for name, score in each.judge_metrics.items():
            scores.setdefault(name, []).append(score.score)
    raised = sum(each.judge_flags.get("leaks_data", False) for each in samples)
    failed = sum(each.generator_output is None for each in samples)
    status = "failed" if failed == len(samples) else "partial" if failed else "completed"
    values: dict[str, Any] = {
        "num_samples": len(samples),
        "samples": tuple(samples),
        "per_metric_stats": {name: stats(*values) for name, values in scores.items()},
        "missing_scores": {"correct": failed, "tone": failed} if failed else {},
        "per_flag_stats": {"leaks_data": flag(raised, max(1, len(samples) - failed))},
        "status": status,
        "error_message": "TimedOutError happened" if failed else None,
    }
    return case_result(case_id, **{**values, **more})


def _special() -> list[tuple[TestCase, CaseResult | None]]:
    twice = TestCase(
        id="charged-twice",
        input="My card was charged twice for the same order. What now?",
        reference="Apologise, confirm both charges, refund exactly one, say three to five working days.",
        expected_constraints="At most three sentences.",
        metadata={"topic": "billing", "difficulty": "easy", "customer": "gold & silver", "seen": ["web", "phone"]},
        file="/data/gallery.yaml",
        line=14,
    )
    alike = [
        answered("charged-twice", 0, REFUND, 4.6, tone=5.0),
        answered("charged-twice", 1, "Both charges are valid.", 1.8, "Refuses; the policy refunds one of two charges."),
        answered("charged-twice", 2, REFUND, 4.4, "Refunds one charge; does not apologise for the wait.", tone=5.0),
        answered("charged-twice", 3, BOTH, 2.4, raised=True, finish_reason="length", tries=3),
        answered("charged-twice", 4, REFUND, 4.6, tone=4.5),
    ]
    found: list[tuple[TestCase, CaseResult | None]] = [(twice, result_of("charged-twice", alike))]
    found.append(
        _simple("one-sample", "Where is my parcel?", [answered("one-sample", 0, LIST, 4.0)], reference=LIST[:60])
    )
    fifty = [
        answered("fifty", at, f"Answer number {at % 23}: the parcel is at stop {at % 23}.", 1 + (at * 7 % 9) / 2)
        for at in range(50)
    ]
    found.append(_simple("fifty", "Where is my parcel?", fifty, reference="Answer number 3: it is at the depot."))
    lines = "".join(
        f"{at:05} A line of a very long answer about parcels, refunds and returns.\n" for at in range(1_500)
    )
    long = [
        answered("long", at, lines.replace("00500 A", f"00500 {at} a"), 3.0 + at / 2, "long " * 900) for at in range(3)
    ]
    found.append(_simple("long", "word " * 6_000, long, reference=lines))
    broken = [failed_sample("broken", at, ("TimedOutError", "RateLimitedError")[at % 2]) for at in range(4)]
    found.append(_simple("broken", "Does it answer?", broken, reference="Yes."))
    found.append(_conversation())
    found.append(_tools())
    json_answers = [
        answered("json", at, f'{{"order": 42, "refund": {at}, "days": [3, 5]}}', 5.0 - at * 2) for at in (0, 1, 1)
    ]
    json_answers = [answered("json", at, each.generator_output or "", 4.0) for at, each in enumerate(json_answers)]
    found.append(_simple("json", "As JSON, please.", json_answers, reference='{"order": 42, "refund": 1, "days": [3]}'))
    found.append((TestCase(id="pending", input="Not yet."), None))
    return found


def _simple(
    case_id: str, text: str, samples: Sequence[SampleResult], **more: Any
) -> tuple[TestCase, CaseResult | None]:
    case = TestCase(id=case_id, input=text, metadata={"topic": "delivery"}, **more)
    return case, result_of(case_id, samples)


def _conversation() -> tuple[TestCase, CaseResult | None]:
    turns = (
        Message("system", "You are the assistant of a shop."),
        Message("user", "Hello, I have a problem."),
        Message("assistant", "I am sorry to hear that. What happened?"),
        Message("user", "My parcel is late."),
    )
    case = TestCase(id="conversation", input="My parcel is late.", messages=turns, metadata={"topic": "delivery"})
    earlier = (AttemptResult(attempt=0, generator_output="No.", failed_checks=("tone",), error=None),)
    samples = [
        answered("conversation", at, "We send a new one.", 4.0, earlier_attempts=earlier if at else ()) for at in (0, 1)
    ]
    return case, result_of("conversation", samples)


def _tools() -> tuple[TestCase, CaseResult | None]:
    expected = [{"name": "find_order", "args": {"id": 42}}, {"name": "refund", "args": {"order": 42, "amount": 42.0}}]
    case = TestCase(id="tools", input="Refund order 42.", metadata={"topic": "billing", "expected_tools": expected})
    made = (
        ToolCall(name="find_order", arguments={"id": 42}, id="1"),
        ToolCall(name="send_mail", arguments='{"to": broken', id="2"),
    )
    samples = [
        answered("tools", 0, "", 2.0, tool_calls=made),
        answered(
            "tools", 1, "Done.", 4.5, tool_calls=(made[0], ToolCall(name="refund", arguments={"order": 42}, id="3"))
        ),
    ]
    return case, result_of("tools", samples)


def _hostile() -> list[tuple[TestCase, CaseResult | None]]:
    found: list[tuple[TestCase, CaseResult | None]] = []
    for at, text in enumerate(HOSTILE):
        case_id = f"{at} {text[:60]}"
        samples = [
            answered(case_id, number, f"{text} {number}", 2.0 + number * 2, f"{text} is not an answer", tone=number + 2)
            for number in (0, 1)
        ]
        case = TestCase(
            id=case_id,
            input=text,
            reference=f"{text} 1",
            description=text,
            expected_constraints=text,
            metadata={"topic": text, text[:30]: MARK},
            messages=(Message("user", text), Message("assistant", text), Message("user", text)) if at % 2 else (),
        )
        found.append((case, result_of(case_id, samples)))
    return found


def _failing() -> list[tuple[TestCase, CaseResult | None]]:
    """Every second one fails, `FAILING` of them with the topic `triage`."""
    found: list[tuple[TestCase, CaseResult | None]] = []
    for at in range(FAILING * 2):
        case_id = f"triage-{at:02}"
        value = 1.0 + at % 4 / 2 if at % 2 else 4.5
        samples = [answered(case_id, number, f"Answer {number} of {case_id}", value) for number in range(3)]
        case = TestCase(id=case_id, input=f"Question {at}", reference="Answer 1", metadata={"topic": "triage"})
        found.append((case, result_of(case_id, samples)))
    return found
