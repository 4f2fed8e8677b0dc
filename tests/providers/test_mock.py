from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from statistics import mean
from typing import TYPE_CHECKING, Any

import pytest
from calling import Calls
from entries import each

from prompt_evaluator.errors import (
    ConfigurationError,
    ProviderError,
    TimedOutError,
)
from prompt_evaluator.metrics.catalogue import METRICS
from prompt_evaluator.metrics.judge_prompt import judgement_schema, object_schema, system_message, user_message
from prompt_evaluator.metrics.preference import Preference
from prompt_evaluator.model import (
    Answer,
    Criterion,
    Flag,
    Limits,
    Message,
    MetricUse,
    ProviderSettings,
    Request,
    Rubric,
    Scored,
    Skipped,
    TestCase,
)
from prompt_evaluator.providers.mock.provider import FAULTS, MockOptions, MockProvider

if TYPE_CHECKING:
    from prompt_evaluator.ports import ModelClient

ONE_TRY = Limits(max_tries=1)
REFERENCE = (
    "A hash table stores pairs of keys and values. It finds a value quickly because the key is hashed. "
    "However, collisions have to be handled. Many languages have one built in."
)
CASE = TestCase(id="hash", input="What is a hash table?", reference=REFERENCE)
WEATHER = {"name": "get_weather"}


def mock(limits: Limits = ONE_TRY, **options: Any) -> ModelClient:
    return Calls().open(ProviderSettings(kind="mock", limits=limits, options=options), "mock")


def asking(text: str = CASE.input, **fields: Any) -> Request:
    return Request(model="default", messages=(Message("user", text),), **fields)


async def ask(provider: ModelClient, request: Request) -> Answer:
    return await provider.complete(request)


async def texts(provider: ModelClient, count: int, **fields: Any) -> list[str]:
    case = fields.get("case")
    question = case.input if case else "Tell me about hash tables."
    return [(await ask(provider, asking(question, sample=n, **fields))).text for n in range(count)]


RUBRIC = Rubric(
    name="r",
    hash="h",
    metrics=(Criterion(name="fidelity", description="Same meaning"), Criterion(name="quality", description="Good")),
    flags=(Flag(name="invented_facts", description="Made up"),),
)


class Judge:
    """The mock, as metrics ask it."""

    def __init__(self, case: TestCase = CASE, model: str = "default", **fields: Any) -> None:
        self._case, self._model, self._fields = case, model, {"temperature": 0.0, **fields}
        self._provider = MockProvider("mock", MockOptions())

    async def ask(self, messages: tuple[Message, ...], *, schema: Any = None, **_: object) -> Answer:
        request = Request(model=self._model, messages=messages, response_schema=schema, case=self._case, **self._fields)
        return await self._provider.answer(request, 10)


def said(text: str) -> Answer:
    return Answer(text=text, latency_ms=1, model="m")


async def marked(metric: Any, text: str, **fields: Any) -> Scored:
    score = await metric.score(CASE, said(text), Judge(**fields))
    assert isinstance(score, Scored)
    return score


async def by_rubric(text: str, **fields: Any) -> Any:
    messages = (system_message(RUBRIC, None), user_message(CASE, said(text)))
    return json.loads((await Judge(**fields).ask(messages, schema=judgement_schema(RUBRIC))).text)


# Answers


async def test_an_answer_says_that_it_is_synthetic_and_what_it_would_have_used() -> None:
    answer = await ask(mock(), asking("x" * 400))

    assert answer.synthetic
    assert answer.usage.input_tokens == 100
    assert answer.usage.output_tokens == math.ceil(len(answer.text) / 4)
    assert (answer.cost, answer.finish_reason, answer.model, answer.tries) == (0.0, "stop", "default", 1)


async def test_the_same_request_gets_the_same_answer_from_another_provider_object() -> None:
    request = asking(case=CASE, seed=3, sample=2, temperature=0.7)

    first, second = await ask(mock(), request), await ask(mock(), request)

    assert first.text == second.text


async def test_samples_hardly_differ_at_temperature_0() -> None:
    found = await texts(mock(), 100, case=CASE, temperature=0.0)

    assert 80 <= Counter(found).most_common(1)[0][1] <= 100


async def test_most_answers_meet_the_required_and_forbidden_phrases_and_some_do_not() -> None:
    checks = (
        MetricUse(metric="includes", options={"phrases": ["Bucket", "collisions"]}),
        MetricUse(metric="excludes", options={"phrases": ["a value", "binary tree"]}),
    )
    case = TestCase(id="a", input=CASE.input, reference=REFERENCE, checks=checks)

    def met(text: str) -> bool:
        low = text.lower()
        return all(p in low for p in ("bucket", "collisions")) and not any(p in low for p in ("a value", "binary tree"))

    shares = {
        quality: mean(met(text) for text in await texts(mock(quality=quality), 400, case=case))
        for quality in (0, 0.88, 1)
    }

    assert shares[0] == 0
    assert 0.82 <= shares[0.88] <= 0.94
    assert shares[1] == 1


@each("reference", ["42", '{"a": [1, 2]}', "x = 1"], ids=str)
async def test_a_reference_is_repeated_word_for_word_where_the_wording_counts(reference: str) -> None:
    case = TestCase(id="a", input="?", reference=reference, checks=(MetricUse(metric="exact_match"),))

    assert set(await texts(mock(quality=1), 10, case=case)) == {reference}


async def test_odd_cases_still_get_an_answer() -> None:
    odd = [
        TestCase(id="a", input="{} {0} %s\ud800 \x00", reference=""),
        TestCase(id="b", input="", metadata={"expected_tools": "none"}, checks=(MetricUse(metric="includes"),)),
        TestCase(id="c", input="?", checks=(MetricUse(metric="excludes", options={"phrases": [3, ""]}),)),
    ]
    for case in odd:
        assert all(await texts(mock(quality=0.5), 10, case=case)), case.id


# Tools


def tool_case(*calls: dict[str, Any], **options: Any) -> TestCase:
    check = MetricUse(metric="tool_correctness", options={"expected_tools": list(calls), **options})
    return TestCase(id="t", input="What is the weather in Lisbon for 3 days?", reference="Sunny.", checks=(check,))


async def test_the_expected_tools_are_mostly_called_with_the_expected_arguments() -> None:
    args = {"city": "Lisbon", "days": 3, "unit": "celsius"}
    case = tool_case({"name": "get_weather", "args": args})

    answers = [await ask(mock(), asking(case.input, case=case, tools=(WEATHER,), sample=n)) for n in range(300)]

    right = [[(call.name, call.arguments) for call in a.tool_calls] == [("get_weather", args)] for a in answers]
    assert 0.8 <= mean(right) <= 0.95
    assert all((a.finish_reason == "tool_calls") == bool(a.tool_calls) for a in answers)
    assert {len(a.tool_calls) for a in answers} == {0, 1}


async def test_no_tool_is_called_that_was_not_offered() -> None:
    case = tool_case({"name": "get_weather"}, {"name": "book_flight"})

    without = await ask(mock(quality=1), asking(case.input, case=case))
    one = await ask(mock(quality=1), asking(case.input, case=case, tools=(WEATHER,)))

    assert (without.tool_calls, [call.name for call in one.tool_calls]) == ((), ["get_weather"])


async def test_a_wanted_order_is_kept_and_takes_its_arguments_from_the_other_wish() -> None:
    tools = tuple({"name": name} for name in "abc")
    checks = (
        MetricUse(
            metric="tool_correctness", options={"expected_tools": [{"name": "b", "args": {"x": 1}}, {"name": "c"}]}
        ),
        MetricUse(
            metric="tool_correctness", options={"expected_tools": [{"name": "a"}, {"name": "b"}], "mode": "ordered"}
        ),
    )
    case = TestCase(id="t", input="Go.", checks=checks)

    answer = await ask(mock(quality=1), asking("Go.", case=case, tools=tools))

    assert [(call.name, call.arguments) for call in answer.tool_calls] == [("a", {}), ("b", {"x": 1}), ("c", {})]


async def test_where_no_call_is_expected_only_bad_answers_make_one() -> None:
    request = asking(case=tool_case(), tools=(WEATHER,))

    good, bad = await ask(mock(quality=1), request), await ask(mock(quality=0), request)

    assert (good.tool_calls, len(bad.tool_calls)) == ((), 1)


# The judge


async def test_a_rubric_is_answered_with_high_but_varying_scores() -> None:
    replies = [await by_rubric(text) for text in await texts(mock(), 200, case=CASE)]

    scores = [metric["score"] for reply in replies for metric in reply["metrics"].values()]
    assert all(1 <= score <= 5 for score in scores)
    assert 0.7 <= (mean(scores) - 1) / 4 <= 0.9
    assert len(set(scores)) >= 3
    assert 0.01 <= mean(reply["flags"]["invented_facts"] for reply in replies) <= 0.25


async def test_a_poor_output_is_scored_below_a_good_one_and_the_reference_itself_is_good() -> None:
    [good], [bad] = await texts(mock(quality=1), 1, case=CASE), await texts(mock(quality=0), 1, case=CASE)

    means = [
        mean([(await by_rubric(text, seed=n))["metrics"]["quality"]["score"] for n in range(20)])
        for text in (good, bad, REFERENCE)
    ]

    assert means[0] > means[1] + 1
    assert means[2] > 3.8


async def test_every_metric_that_asks_a_judge_gets_a_reply_that_it_can_read() -> None:
    case = TestCase(
        id="a", input=CASE.input, reference=REFERENCE, metadata={"context": [REFERENCE, "Bees make honey."]}
    )
    names = [name for name in METRICS.names() if getattr(METRICS.get(name), "needs_judge", False) is True]
    assert {"correctness", "faithfulness", "answer_relevancy", "contextual_recall"} <= set(names)
    for name in names:
        judge = Judge(case)
        metric = await METRICS.get(name)().prepared(judge)
        score = await metric.score(case, said("A hash table stores pairs. It also has 1. keys and 2. values."), judge)
        assert isinstance(score, Scored | Skipped), (name, score)


async def test_a_question_that_no_metric_asks_is_answered_in_prose() -> None:
    schema = {"type": "object", "properties": {"colour": {"type": "string"}}}

    answer = await ask(mock(), asking("Which?", response_schema=schema))

    assert "{" not in answer.text


async def test_unreadable_judge_replies_come_at_the_chosen_rate() -> None:
    provider, schema = mock(bad_judge=0.3), judgement_schema(RUBRIC)

    replies = [(await ask(provider, asking("Judge.", response_schema=schema, sample=n))).text for n in range(300)]

    assert 0.2 <= mean("{" not in reply for reply in replies) <= 0.4


@each("first", ["candidate", "baseline"])
async def test_the_better_answer_is_preferred_in_either_place(first: Any) -> None:
    poor = "It depends on several things that I cannot go into."

    assert (await marked(Preference(first=first, rival=said(poor)), REFERENCE)).value == 1
    assert (await marked(Preference(first=first, rival=said(REFERENCE)), poor)).value == 0


async def test_log_probabilities_add_up_to_the_text_and_weigh_a_score_by_its_neighbours() -> None:
    schema = object_schema({"reason": {"type": "string"}, "score": {"type": "integer", "minimum": 5, "maximum": 9}})

    answer = await ask(mock(), asking("Score it.", response_schema=schema, top_logprobs=4))

    tokens = {choice.token: choice for choice in answer.logprobs or ()}
    choice = tokens[str(json.loads(answer.text)["score"])]
    assert "".join(each.token for each in answer.logprobs or ()) == answer.text
    assert {int(token) - int(choice.token) for token in choice.top} == {0, -1, 1, -2}
    assert 0.8 < sum(map(math.exp, choice.top.values())) <= 1


# Bad days


async def test_each_kind_of_fault_raises_its_error() -> None:
    for kind, fault in FAULTS.items():
        with pytest.raises(fault.error, match="simulated") as caught:
            await ask(mock(faults={kind: 1}), asking())

        assert caught.value.provider == "mock", kind


async def failures(**options: Any) -> list[int]:
    provider, failed = mock(**options), []
    for n in range(300):
        try:
            await ask(provider, asking(f"{n}"))
        except ProviderError:
            failed.append(n)
    return failed


async def test_faults_come_at_the_chosen_rate_and_can_be_repeated() -> None:
    faults = {"bad_reply": 0.1, "refused": 0.1}

    first, again = await failures(faults=faults), await failures(faults=faults)

    assert 40 <= len(first) <= 80
    assert first == again
    assert first != await failures(faults=faults, fault_seed=1)


async def test_another_try_draws_anew() -> None:
    provider = mock(Limits(max_tries=20), faults={"rate_limited": 0.5}, retry_after_s=0.001)

    answers = await asyncio.gather(*(ask(provider, asking(f"{n}")) for n in range(10)))

    assert len({answer.tries for answer in answers}) > 1


async def test_a_simulated_latency_is_reported_and_not_waited_for() -> None:
    requests = [asking("a", options={"simulated_latency_ms": 60_000}, attempt=attempt) for attempt in range(20)]

    reported = [(await ask(mock(), request)).latency_ms for request in requests]

    assert reported == [(await ask(mock(), request)).latency_ms for request in requests]
    assert 15_000 < min(reported) < max(reported) < 240_000


async def test_a_latency_beyond_the_time_out_is_a_time_out() -> None:
    with pytest.raises(TimedOutError):
        await ask(mock(Limits(max_tries=1, try_timeout=0.02), latency_ms=60_000), asking())


# Options


@each(
    ("options", "message"),
    [
        ({"latencyms": 5}, "Did you mean 'latency_ms'"),
        ({"faults": {"rate_limit": 0.1}}, "Did you mean 'rate_limited'"),
        ({"faults": {"refused": 0.7, "quota": 0.7}}, "add up to 1.4"),
        ({"quality": True}, "`quality`"),
        ({"latency_ms": math.inf}, "`latency_ms`"),
    ],
    ids=str,
)
def test_a_wrong_option_is_refused_with_its_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        mock(**options)
