from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from calling import Calls
from entries import each
from scripted_judge import CASE, ScriptedJudge, about_numbers, about_texts, said

from prompt_evaluator.datasets.loading import load_dataset
from prompt_evaluator.metrics.decomposition import (
    AnswerRelevancy,
    ContextualPrecision,
    ContextualRecall,
    ContextualRelevancy,
    Faithfulness,
)
from prompt_evaluator.metrics.geval import Correctness, Criteria, judge_tools
from prompt_evaluator.model import (
    Answer,
    Failed,
    Message,
    ProviderSettings,
    Request,
    Score,
    Scored,
    Scores,
    Skipped,
    TestCase,
)

if TYPE_CHECKING:
    from prompt_evaluator.ports import JudgeClient, Metric, ModelClient

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

READABLE = {
    "bare": "{0}",
    "fenced": "```json\n{0}\n```",
    "fenced without a language": "```\n{0}\n```",
    "in prose": "Here you are:\n\n{0}\n\nI hope that helps!",
    "after a byte order mark": "\ufeff{0}",
    "beside another object": 'I called {{"tool": "x"}}. {0}',
    "with a further key": '{1}, "confidence": 0.9}}',
}
GARBAGE = {
    "prose": ("I would say that all of it is fine.", "no JSON object"),
    "empty": ("", "empty"),
    "blank": (" \n\t", "empty"),
    "refusal": ("I'm sorry, but I can't help with that.", "no JSON object"),
    "truncated": ("{1}", "ends in the middle"),
    "truncated in a fence": ("```json\n{1}\n```", "broken at"),
    "array": ("[{0}]", "array"),
    "two objects": ("{0}\n{0}", "2 objects"),
    "duplicate key": ("{1}, {2}}}", "occurs twice"),
    "NaN": ('{1}, "confidence": NaN}}', "NaN"),
    "another object": ('{{"error": "overloaded"}}', 'has no "'),
    "Python": ("{3}", ""),
    "web page": ("<html><body>502</body></html>", "web page"),
}
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


def spoiled(metric: str, step: int, form: str) -> str:
    reply = json.dumps(SCRIPTS[metric][step])
    return form.format(reply, reply[:-1], reply[1:-1], SCRIPTS[metric][step])


@each("form", READABLE.values(), ids=list(READABLE))
@each(("metric", "step"), PLACES)
async def test_text_around_a_verdict_does_not_matter(metric: str, step: int, form: str) -> None:
    plain = await scored(metric, ScriptedJudge(*SCRIPTS[metric]))
    script: list[Any] = list(SCRIPTS[metric])
    script[step] = spoiled(metric, step, form)

    assert isinstance(plain, Scored)
    assert await scored(metric, ScriptedJudge(*script)) == plain


@each(("form", "reason"), GARBAGE.values(), ids=list(GARBAGE))
@each(("metric", "step"), PLACES)
async def test_garbage_is_asked_for_once_more_and_then_a_failure(
    metric: str, step: int, form: str, reason: str
) -> None:
    bad = spoiled(metric, step, form)
    judge = ScriptedJudge(*SCRIPTS[metric][:step], bad, bad)

    score = await scored(metric, judge)

    assert isinstance(score, Failed)
    assert score.kind == "InvalidJudgement"
    assert reason in score.reason
    assert judge.left == 0


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


@each("form", [form for form, _ in GARBAGE.values()], ids=list(GARBAGE))
@each(("metric", "step"), PLACES)
async def test_a_judge_that_does_better_the_second_time_is_believed(metric: str, step: int, form: str) -> None:
    plain = await scored(metric, ScriptedJudge(*SCRIPTS[metric]))
    bad = spoiled(metric, step, form)

    again = await scored(metric, ScriptedJudge(*SCRIPTS[metric][:step], bad, *SCRIPTS[metric][step:]))

    assert again == plain


async def test_half_of_a_surrogate_pair_does_not_reach_the_result() -> None:
    judge = ScriptedJudge('{"reason": "half \\ud83d", "score": 7}')

    score = await judge_tools([], [], judge)

    assert isinstance(score, Scored)
    assert score.reason.encode("utf-8")


# The offline judge


class MockJudge:
    """The shipped offline provider as a judge."""

    def __init__(self, provider: ModelClient, case: TestCase | None) -> None:
        self._provider, self._case = provider, case

    async def ask(
        self,
        messages: tuple[Message, ...],
        *,
        schema: dict[str, Any] | None = None,
        top_logprobs: int | None = None,
        sample: int = 0,
    ) -> Answer:
        request = Request(
            model="judge",
            messages=messages,
            temperature=0.0,
            response_schema=schema,
            top_logprobs=top_logprobs,
            sample=sample,
            case=self._case,
        )
        return await self._provider.complete(request)


@each("dataset", ["retrieval-qa", "basic-coding"])
@each("name", METRICS)
async def test_the_offline_judge_answers_every_metric_on_the_shipped_benchmarks(name: str, dataset: str) -> None:
    provider = Calls().open(ProviderSettings(kind="mock"), "mock")
    cases, _ = load_dataset(str(files("prompt_evaluator").joinpath(f"benchmarks/{dataset}.yaml")))
    metric = await METRICS[name].prepared(MockJudge(provider, None))
    scores: list[Score | Scores] = []
    for case in cases:
        answer = await provider.complete(Request(model="m", messages=(Message("user", case.input),), case=case))
        scores.append(await metric.score(case, answer, MockJudge(provider, case)))

    if dataset == "basic-coding" and name not in {"answer_relevancy", "correctness", "criteria"}:
        assert scores == [Skipped("the case has no context")] * len(cases)
        return
    values = [score.value for score in scores if isinstance(score, Scored)]
    assert len(values) == len(cases)
    assert 0.6 <= sum(values) / len(values) <= 1
    assert len(set(values)) > 1
