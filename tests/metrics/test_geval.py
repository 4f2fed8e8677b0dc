from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from entries import each
from hypothesis import given
from hypothesis import strategies as st
from scripted_judge import CASE, ScriptedJudge, said

from prompt_evaluator.errors import RateLimitedError
from prompt_evaluator.metrics.geval import CORRECTNESS, Correctness, Criteria, judge_tools, weighted_mark
from prompt_evaluator.model import Answer, Failed, Scored, TokenChoice, ToolCall

TRANSCRIPTS = json.loads((Path(__file__).parent / "transcripts" / "correctness.json").read_text("utf-8"))
STEPS = ("Compare.", "Weigh.")
OUTPUT = said("Three minutes.")
METRIC = Correctness(steps=STEPS)


def mark(score: Any, reason: str = "Fine.") -> str:
    return json.dumps({"reason": reason, "score": score})


def tokens(*choices: tuple[str, dict[str, float]]) -> tuple[TokenChoice, ...]:
    return tuple(TokenChoice(token=token, logprob=top.get(token, -20.0), top=top) for token, top in choices)


def replayed(script: dict[str, Any]) -> Answer:
    if "tokens" not in script:
        return said(mark(script["score"]))
    text = "".join(token for token, _ in script["tokens"])
    return said(text, logprobs=tokens(*script["tokens"]))


@each("script", TRANSCRIPTS["transcripts"], ids=lambda script: script["name"])
async def test_the_same_reply_gives_the_score_that_deepeval_gives(script: dict[str, Any]) -> None:
    reply = replayed(script)

    score = await METRIC.score(CASE, OUTPUT, ScriptedJudge(reply, reply))

    if "outside" in script.get("differs", ""):
        assert isinstance(score, Failed)
        assert score.kind == "InvalidJudgement"
    elif "differs" in script:
        assert isinstance(score, Scored)
        assert score.value != pytest.approx(script["deepeval"], abs=1e-6)
        assert score.details["method"] == "logprobs"
        assert 0 <= score.value <= 1
    else:
        assert isinstance(score, Scored)
        assert score.value == pytest.approx(script["deepeval"], abs=1e-9)


def test_there_are_recordings_with_and_without_log_probabilities() -> None:
    same = [script for script in TRANSCRIPTS["transcripts"] if "differs" not in script]

    assert sum("tokens" in script for script in same) >= 30
    assert sum("tokens" not in script for script in same) >= 7


async def test_a_number_beyond_the_scale_has_no_weight() -> None:
    top = {"9": math.log(0.5), "10": math.log(0.25), "100": math.log(0.25)}
    reply = said(mark(9), logprobs=tokens(('{"reason": "Fine.", "score": ', {}), ("9", top), ("}", {})))

    score = await METRIC.score(CASE, OUTPUT, ScriptedJudge(reply))

    assert isinstance(score, Scored)
    assert score.value == pytest.approx((9 * 0.5 + 10 * 0.25) / 0.75 / 10)


async def test_the_token_of_the_score_counts_also_where_the_reason_follows_and_has_the_same_number() -> None:
    sure, unsure = {"4": -0.01}, {"4": math.log(0.5), "6": math.log(0.5)}
    choices = tokens(('{"score": ', {}), ("4", unsure), (', "reason": "', {}), ("4", sure), (' points."}', {}))
    reply = said('{"score": 4, "reason": "4 points."}', logprobs=choices)

    score = await METRIC.score(CASE, OUTPUT, ScriptedJudge(reply))

    assert isinstance(score, Scored)
    assert score.value == pytest.approx(0.5)


marks = st.integers(0, 10)


@given(marks, st.dictionaries(st.one_of(marks.map(str), st.text(max_size=3)), st.floats(-30, 0), max_size=20))
def test_a_weighted_mark_stays_on_the_scale(value: int, top: dict[str, float]) -> None:
    weighted = weighted_mark(value, tokens(('{"score": ', {}), (str(value), top), ("}", {})))

    assert weighted is None or -1e-9 <= weighted <= 10 + 1e-9


# Several judgements


async def test_without_log_probabilities_the_mean_of_the_samples_counts() -> None:
    judge = ScriptedJudge(*map(mark, (8, 6, 7.5)))

    score = await msgspec.structs.replace(METRIC, samples=3).score(CASE, OUTPUT, judge)

    assert isinstance(score, Scored)
    assert score.value == pytest.approx((8 + 6 + 7.5) / 30)
    assert score.details == {"method": "samples", "steps": list(STEPS), "k": 3, "marks": [8, 6, 7.5]}
    assert [asked.sample for asked in judge.asked] == [0, 1, 2]


async def test_with_log_probabilities_one_judgement_is_enough() -> None:
    top = {"8": math.log(0.5), "6": math.log(0.5)}
    judge = ScriptedJudge(said(mark(8), logprobs=tokens(('"score": ', {}), ("8", top))))

    score = await msgspec.structs.replace(METRIC, samples=3).score(CASE, OUTPUT, judge)

    assert isinstance(score, Scored)
    assert score.value == pytest.approx(0.7)
    assert score.details == {"method": "logprobs", "steps": list(STEPS), "k": 1, "marks": [8]}
    assert judge.asked[0].top_logprobs == 20


async def test_a_sample_that_fails_fails_the_score() -> None:
    judge = ScriptedJudge(mark(8), RateLimitedError("Not now.", provider="p"))

    score = await msgspec.structs.replace(METRIC, samples=2).score(CASE, OUTPUT, judge)

    assert score == Failed("p: Not now.", kind="RateLimitedError")


# Evaluation steps


async def test_steps_are_written_once_and_become_part_of_the_definition() -> None:
    judge = ScriptedJudge({"steps": list(STEPS)}, mark(10))

    metric = await Correctness().prepared(judge)
    score = await metric.score(CASE, OUTPUT, judge)

    assert metric == Correctness(steps=STEPS)
    assert metric.definition()["steps"] == STEPS
    assert isinstance(score, Scored)
    assert score.details["steps"] == list(STEPS)
    assert CORRECTNESS in judge.asked[0].messages[-1].content
    assert "1. Compare.\n2. Weigh." in judge.asked[1].messages[0].content


async def test_a_metric_of_its_own_definition_is_the_same_metric() -> None:
    metric = await Correctness(criteria="Is it kind?").prepared(ScriptedJudge({"steps": ["Look for insults."]}))

    options = {key: value for key, value in metric.definition().items() if key not in {"metric", "prompts"}}

    assert msgspec.convert(msgspec.to_builtins(options), Correctness) == metric


async def test_criteria_of_ones_own_are_what_the_steps_are_made_from() -> None:
    judge = ScriptedJudge({"steps": ["Look for insults."]})

    await Correctness(criteria="Is it kind?").prepared(judge)

    asked = judge.asked[0].messages[-1].content
    assert "Is it kind?" in asked
    assert CORRECTNESS not in asked


async def test_a_metric_that_was_not_prepared_has_its_steps_written_on_the_way() -> None:
    judge = ScriptedJudge({"steps": list(STEPS)}, mark(5))

    score = await Correctness().score(CASE, OUTPUT, judge)

    assert isinstance(score, Scored)
    assert score.value == 0.5


# What is judged


async def test_an_empty_answer_is_judged_and_tool_calls_are_shown() -> None:
    calls = (ToolCall(name="brew", arguments={"minutes": 3}),)
    judge = ScriptedJudge(mark(0))

    score = await METRIC.score(CASE, said("", tool_calls=calls), judge)

    assert isinstance(score, Scored)
    assert score.value == 0
    assert '{"name": "brew", "arguments": {"minutes": 3}}' in judge.asked[0].messages[-1].content


# Tool calls


async def test_tool_calls_are_judged_side_by_side() -> None:
    expected = [{"name": "weather", "args": {"city": "Lisbon"}}]
    made = [ToolCall(name="weather", arguments={"city": "Lisboa"})]
    judge = ScriptedJudge(mark(9, "The same city."))

    score = await judge_tools(expected, made, judge, question="How warm is it?")

    assert isinstance(score, Scored)
    assert score.value == 0.9
    assert score.reason == "The same city."
    asked = judge.asked[0].messages[-1].content
    assert '{"name": "weather", "args": {"city": "Lisbon"}}' in asked
    assert '"arguments": {"city": "Lisboa"}' in asked
    assert "How warm is it?" in asked


# Criteria of one's own

KIND = Criteria(criteria="Is it kind?")
NO_REFERENCE = msgspec.structs.replace(CASE, reference=None)


async def test_criteria_need_no_reference() -> None:
    metric = await KIND.prepared(ScriptedJudge({"steps": ["Look for insults."]}))
    judge = ScriptedJudge(mark(9))

    score = await metric.score(NO_REFERENCE, OUTPUT, judge)

    assert isinstance(score, Scored)
    assert score.value == 0.9
    assert "<reference" not in judge.asked[0].messages[-1].content


async def test_criteria_are_judged_with_a_reference_where_there_is_one() -> None:
    judge = ScriptedJudge(mark(9))

    await Criteria(steps=STEPS).score(CASE, OUTPUT, judge)

    assert f"{CASE.reference}" in judge.asked[0].messages[-1].content


async def test_steps_for_criteria_are_written_once_and_promise_no_reference() -> None:
    judge = ScriptedJudge({"steps": ["Look for insults."]}, mark(9), mark(8))

    metric = await KIND.prepared(judge)
    for _ in range(2):
        await metric.score(NO_REFERENCE, OUTPUT, judge)

    assert judge.left == 0
    assert "Is it kind?" in judge.asked[0].messages[-1].content
    assert "reference" not in judge.asked[0].messages[0].content.partition("# The material")[0]


def test_steps_stand_in_for_criteria() -> None:
    assert Criteria(steps=STEPS).missing(NO_REFERENCE) is None


@pytest.mark.parametrize("metric", [METRIC, Criteria(steps=STEPS)], ids=lambda metric: metric.name)
async def test_several_references_are_shown_with_their_numbers(metric: Correctness | Criteria) -> None:
    judge = ScriptedJudge(mark(9))

    await metric.score(msgspec.structs.replace(CASE, reference="One.", references=("Two.",)), OUTPUT, judge)

    shown = judge.asked[0].messages[-1].content
    assert "<reference_1 nonce=" in shown
    assert "<reference_2 nonce=" in shown


async def test_a_weighted_mark_a_hair_above_the_scale_is_the_best_score() -> None:
    top = {"10": math.log(0.3), "9": -50.0}
    judge = ScriptedJudge(said(mark(10), logprobs=tokens(('"score": ', {}), ("10", top))))

    score = await METRIC.score(CASE, OUTPUT, judge)

    assert isinstance(score, Scored)
    assert score.value <= 1
