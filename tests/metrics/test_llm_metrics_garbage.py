from __future__ import annotations

from typing import TYPE_CHECKING, Any

from entries import each
from scripted_judge import CASE, ScriptedJudge, about_numbers, about_texts, said

from prompt_evaluator.metrics.decomposition import (
    AnswerRelevancy,
    ContextualPrecision,
    ContextualRecall,
    ContextualRelevancy,
    Faithfulness,
)
from prompt_evaluator.metrics.geval import Correctness, Criteria, judge_tools
from prompt_evaluator.model import (
    Failed,
    Score,
    Scored,
    Scores,
)

if TYPE_CHECKING:
    from prompt_evaluator.ports import JudgeClient, Metric

OUTPUT = said("Three minutes.")
CLAIMS = {"claims": ["A.", "B."]}
STATEMENTS = {"statements": ["A.", "B."]}
TRUTHS = {"truths": ["A."]}
TWO = about_numbers(["yes", "no"])
STEPS = {"steps": ["Compare.", "Weigh."]}
MARK = {"reason": "Fine.", "score": 7}
TOOLS = "tool_correctness"
METRICS: dict[str, Metric] = {
    "faithfulness": Faithfulness(),
    "answer_relevancy": AnswerRelevancy(),
    "contextual_precision": ContextualPrecision(),
    "contextual_recall": ContextualRecall(),
    "contextual_relevancy": ContextualRelevancy(),
    "correctness": Correctness(),
    "criteria": Criteria(criteria="Is it right?"),
}
SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "faithfulness": [CLAIMS, TRUTHS, TWO],
    "answer_relevancy": [STATEMENTS, TWO],
    "contextual_precision": [TWO],
    "contextual_recall": [about_texts("sentence", ["yes", "no"])],
    "contextual_relevancy": [about_texts("statement", ["yes", "no"])],
    "correctness": [STEPS, MARK],
    "criteria": [STEPS, MARK],
    TOOLS: [MARK],
}
"""What a good judge says to each step."""
PLACES = [(metric, step) for metric, script in SCRIPTS.items() for step in range(len(script))]

WRONG_VALUES: dict[str, list[Any]] = {
    "claims": [{"claims": [1, 2]}, {"claims": "A."}, {"claims": None}, {"claims": [None]}, {"claims": [["A."]]}],
    "statements": [{"statements": [True]}, {"statements": {"1": "A."}}],
    "truths": [{"truths": [0]}, {"truths": 3}],
    "steps": [{"steps": []}, {"steps": [""]}, {"steps": [{"step": "Compare."}]}],
    "score": [MARK | {"score": value} for value in (11, -1, 1e300, True, None, "7", [7], float("nan"), float("inf"))],
    "numbered": [
        {"verdicts": []},
        {"verdicts": None},
        {"verdicts": ["yes", "no"]},
        about_numbers(["yes"]),
        about_numbers(["yes", "no", "no"]),
        about_numbers(["yes", "perhaps"]),
        about_numbers(["yes", ""]),
        {"verdicts": [TWO["verdicts"][0], TWO["verdicts"][0]]},
        {"verdicts": [{"number": 0, "verdict": "yes"}, {"number": 1, "verdict": "yes"}]},
        {"verdicts": [{"number": True, "verdict": "yes"}, {"number": 2, "verdict": "yes"}]},
        {"verdicts": [{"number": 1.5, "verdict": "yes"}, {"number": 2, "verdict": "yes"}]},
        {"verdicts": [{"number": 1, "verdict": True}, {"number": 2, "verdict": "yes"}]},
        {"verdicts": [{"verdict": "yes"}, {"verdict": "yes"}]},
        {"verdicts": [{"number": 1, "verdict": "yes", "reason": 3}, {"number": 2, "verdict": "yes"}]},
    ],
    "sentence": [
        {"verdicts": []},
        {"verdicts": "yes"},
        {"verdicts": [{}]},
        about_texts("sentence", ["idk"]),
        {"verdicts": [{"sentence": 1, "verdict": "yes"}]},
    ],
    "statement": [{"verdicts": 1}, {"verdicts": [{}]}, about_texts("statement", ["idk"]), about_texts("text", ["yes"])],
}


def kind_of(metric: str, step: int) -> str:
    """Which wrong values there are for a step."""
    key = next(key for key in SCRIPTS[metric][step] if key != "reason")
    named = {"contextual_recall": "sentence", "contextual_relevancy": "statement"}
    return named.get(metric, "numbered") if key == "verdicts" else key


async def scored(metric: str, judge: JudgeClient) -> Score | Scores:
    if metric == TOOLS:
        return await judge_tools([{"name": "f"}], [], judge)
    return await METRICS[metric].score(CASE, OUTPUT, judge)


@each(("metric", "step"), PLACES)
async def test_a_reply_that_cannot_be_read_is_asked_for_once_more_and_then_a_failure(metric: str, step: int) -> None:
    plain = await scored(metric, ScriptedJudge(*SCRIPTS[metric]))
    before, rest = SCRIPTS[metric][:step], SCRIPTS[metric][step:]
    twice = ScriptedJudge(*before, "It is fine.", "It is fine.")

    score = await scored(metric, twice)

    assert isinstance(score, Failed)
    assert score.kind == "InvalidJudgement"
    assert "no JSON object" in score.reason
    assert twice.left == 0
    assert await scored(metric, ScriptedJudge(*before, "It is fine.", *rest)) == plain


@each(
    ("metric", "step", "value"),
    [(metric, step, value) for metric, step in PLACES for value in WRONG_VALUES[kind_of(metric, step)]],
)
async def test_values_out_of_range_are_asked_for_once_more_and_then_a_failure(
    metric: str, step: int, value: dict[str, Any]
) -> None:
    judge = ScriptedJudge(*SCRIPTS[metric][:step], value, value)

    score = await scored(metric, judge)

    assert isinstance(score, Failed)
    assert score.kind == "InvalidJudgement"
    assert judge.left == 0


async def test_half_of_a_surrogate_pair_does_not_reach_the_result() -> None:
    judge = ScriptedJudge('{"reason": "half \\ud83d", "score": 7}')

    score = await judge_tools([], [], judge)

    assert isinstance(score, Scored)
    assert score.reason.encode("utf-8")
