from __future__ import annotations

import asyncio
import json
import math
import time
from collections import Counter
from statistics import mean
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from calling import Calls

from prompt_evaluator.errors import (
    AuthenticationError,
    BadReplyError,
    ConfigurationError,
    ConnectionFailedError,
    ProviderError,
    QuotaExhaustedError,
    RateLimitedError,
    RequestRefusedError,
    TimedOutError,
    UnavailableError,
)
from prompt_evaluator.model import Answer, Limits, Message, MetricUse, ProviderSettings, Request, TestCase
from prompt_evaluator.providers.mock.judge import RATIONALES

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.ports import ModelClient

ONE_TRY = Limits(max_tries=1)
REFERENCE = (
    "A hash table stores pairs of keys and values. It finds a value quickly because the key is hashed. "
    "However, collisions have to be handled. Many languages have one built in."
)
CASE = TestCase(id="hash", input="What is a hash table?", reference=REFERENCE)
GRADE: dict[str, Any] = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 5}, "rationale": {"type": "string"}},
    "required": ["score", "rationale"],
}
RUBRIC: dict[str, Any] = {
    "type": "object",
    "$defs": {"grade": GRADE},
    "properties": {
        "metrics": {
            "type": "object",
            "properties": {"fidelity": {"$ref": "#/$defs/grade"}, "quality": {"$ref": "#/$defs/grade"}},
            "required": ["fidelity", "quality"],
        },
        "flags": {"type": "object", "properties": {"invented": {"type": "boolean"}}, "required": ["invented"]},
        "overall_comment": {"type": "string"},
    },
    "required": ["metrics", "flags", "overall_comment"],
}
WEATHER = {
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"enum": ["celsius", "fahrenheit"]},
        },
        "required": ["city", "days", "unit"],
    },
}


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


def judge_prompt(output: str) -> str:
    return f"<input>\n{CASE.input}\n</input>\n<reference>\n{REFERENCE}\n</reference>\n<output>\n{output}\n</output>"


async def judged(provider: ModelClient, prompt: str, schema: dict[str, Any], **fields: Any) -> Any:
    return json.loads((await ask(provider, asking(prompt, response_schema=schema, **fields))).text)


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


@pytest.mark.parametrize("change", [{"seed": 2}, {"sample": 1}, {"attempt": 1}, {"temperature": 0.9}], ids=str)
async def test_what_names_a_generation_changes_the_answer(change: dict[str, Any]) -> None:
    case = TestCase(id="a", input="Plan a garden.")
    base = {"case": case, "seed": 1, "temperature": 0.5}

    pairs = [
        (
            await ask(mock(quality=1), asking(f"{n}", **base)),
            await ask(mock(quality=1), asking(f"{n}", **base | change)),
        )
        for n in range(10)
    ]

    assert sum(one.text != other.text for one, other in pairs) >= 9


async def test_samples_differ_in_wording() -> None:
    found = await texts(mock(), 20, case=CASE)

    assert len(set(found)) >= 15


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


async def test_another_attempt_is_more_often_good() -> None:
    check = MetricUse(metric="includes", options={"phrases": ["rollback"]})
    case = TestCase(id="a", input="How do I deploy?", checks=(check,))

    first, second = [
        mean("rollback" in text for text in await texts(mock(quality=0.5), 300, case=case, attempt=attempt))
        for attempt in (0, 1)
    ]

    assert second > first + 0.1


async def test_code_in_a_reference_is_kept_as_it_is() -> None:
    code = "```python\ndef often(many):\n    return many  # because\n```"
    case = TestCase(id="a", input="Write it.", reference=f"Use this function. It also helps.\n\n{code}\n\nThat is it.")

    found = await texts(mock(quality=1), 30, case=case)

    assert all(code in text for text in found)
    assert len(set(found)) > 5


@pytest.mark.parametrize("reference", ["42", '{"a": [1, 2]}', "x = 1"], ids=str)
async def test_a_reference_is_repeated_word_for_word_where_the_wording_counts(reference: str) -> None:
    case = TestCase(id="a", input="?", reference=reference, checks=(MetricUse(metric="exact_match"),))

    assert set(await texts(mock(quality=1), 10, case=case)) == {reference}


async def test_without_a_reference_the_answer_comes_from_the_context() -> None:
    context = ["Bees live in hives. The moon is far away.", "Honey is made by bees from nectar."]
    case = TestCase(id="a", input="How do bees make honey?", metadata={"context": context})

    found = await texts(mock(quality=1), 10, case=case)

    assert all("bees" in text.lower() and "moon" not in text for text in found)


@pytest.mark.parametrize(
    "case",
    [
        TestCase(id="a", input=""),
        TestCase(id="a", input="{} {0} %s\ud800 \x00", reference=""),
        TestCase(id="a", input="?", reference="```", metadata={"context": [], "expected_tools": "none"}),
        TestCase(id="a", input="?", metadata={"context": [1, ""]}, checks=(MetricUse(metric="includes"),)),
        TestCase(id="a", input="?", checks=(MetricUse(metric="excludes", options={"phrases": [3, ""]}),)),
    ],
    ids=["empty", "odd characters", "open fence", "odd context", "odd phrases"],
)
@pytest.mark.parametrize("quality", [0, 1])
async def test_odd_cases_still_get_an_answer(case: TestCase, quality: float) -> None:
    for sample in range(20):
        answer = await ask(mock(quality=quality), asking(case.input, case=case, sample=sample))

        assert isinstance(answer.text, str)


async def test_a_request_without_any_message_gets_an_answer() -> None:
    assert (await ask(mock(), Request(model="default", messages=()))).text


async def test_few_tokens_cut_the_answer_short() -> None:
    answer = await ask(mock(), asking(case=CASE, max_tokens=5))

    assert len(answer.text) == 20
    assert (answer.finish_reason, answer.usage.output_tokens) == ("length", 5)


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


async def test_arguments_that_are_not_given_follow_the_schema_and_the_question() -> None:
    case = tool_case({"name": "get_weather"})
    tool = {"type": "function", "function": WEATHER}

    answer = await ask(mock(quality=1), asking(case.input, case=case, tools=(tool,)))

    assert answer.tool_calls[0].arguments == {"city": "Lisbon", "days": 3, "unit": "celsius"}


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


async def test_tools_expected_in_metadata_are_called_too() -> None:
    case = TestCase(id="t", input="Go.", metadata={"expected_tools": [{"name": "go", "args": {"far": True}}]})

    answer = await ask(mock(quality=1), asking("Go.", case=case, tools=({"name": "go"},)))

    assert [(call.name, call.arguments) for call in answer.tool_calls] == [("go", {"far": True})]


async def test_where_no_call_is_expected_only_bad_answers_make_one() -> None:
    request = asking(case=tool_case(), tools=(WEATHER,))

    good, bad = await ask(mock(quality=1), request), await ask(mock(quality=0), request)

    assert (good.tool_calls, len(bad.tool_calls)) == ((), 1)


# The judge


async def test_a_rubric_is_answered_in_its_shape_with_high_but_varying_scores() -> None:
    outputs = await texts(mock(), 200, case=CASE)
    replies = [await judged(mock(), judge_prompt(text), RUBRIC, case=CASE, temperature=0.0) for text in outputs]

    scores = [metric["score"] for reply in replies for metric in reply["metrics"].values()]
    assert all(type(score) is int and 1 <= score <= 5 for score in scores)
    assert 0.7 <= (mean(scores) - 1) / 4 <= 0.9
    assert len(set(scores)) >= 3
    assert all(metric["rationale"] for reply in replies for metric in reply["metrics"].values())
    assert 0.01 <= mean(reply["flags"]["invented"] for reply in replies) <= 0.15


async def test_a_rationale_fits_its_score() -> None:
    schema = {**GRADE, "properties": {**GRADE["properties"], "score": {"type": "number", "minimum": 0, "maximum": 1}}}
    outputs = await texts(mock(quality=0.5), 100, case=CASE)
    replies = [await judged(mock(), judge_prompt(text), schema, case=CASE) for text in outputs]

    fitting = [next(row for row in RATIONALES if reply["score"] < row[0]) for reply in replies]

    assert all(reply["rationale"] in row for reply, row in zip(replies, fitting, strict=True))
    assert len(set(fitting)) == 4


async def test_where_a_flag_is_raised_scores_and_rationales_are_not_good_and_the_comment_names_it() -> None:
    outputs = await texts(mock(), 400, case=CASE)
    replies = [await judged(mock(), judge_prompt(text), RUBRIC, case=CASE) for text in outputs]
    praise = [text for row in RATIONALES[2:] for text in row[1:]]

    flagged = [reply for reply in replies if reply["flags"]["invented"]]

    assert flagged
    assert all(grade["score"] <= 3 for reply in flagged for grade in reply["metrics"].values())
    assert not any(grade["rationale"] in praise for reply in flagged for grade in reply["metrics"].values())
    assert all(reply["overall_comment"].endswith("Flagged: invented.") for reply in flagged)
    assert not any("Flagged" in reply["overall_comment"] for reply in replies if not reply["flags"]["invented"])


async def test_filler_is_never_excellent() -> None:
    case = TestCase(id="a", input="How do I return a lamp?")
    outputs = await texts(mock(quality=1), 100, case=case)
    prompts = [f"<input>\n{case.input}\n</input>\n<output>\n{text}\n</output>" for text in outputs]

    scores = [(await judged(mock(), prompt, GRADE, case=case))["score"] for prompt in prompts]

    assert set(scores) <= {2, 3, 4}


async def test_a_poor_output_is_scored_below_a_good_one() -> None:
    [good], [bad] = await texts(mock(quality=1), 1, case=CASE), await texts(mock(quality=0), 1, case=CASE)

    first, second = [
        mean([(await judged(mock(), judge_prompt(text), GRADE, case=CASE, seed=n))["score"] for n in range(20)])
        for text in (good, bad)
    ]

    assert first > second + 1


async def test_an_output_that_is_the_reference_itself_is_good() -> None:
    scores = [(await judged(mock(), judge_prompt(REFERENCE), GRADE, case=CASE, seed=n))["score"] for n in range(20)]

    assert mean(scores) >= 4


async def test_repeats_of_a_judgement_vary_a_little() -> None:
    schema = {"type": "object", "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}}}

    scores = [
        (await judged(mock(), judge_prompt(REFERENCE), schema, case=CASE, temperature=0.0, sample=n))["score"]
        for n in range(20)
    ]

    assert len(set(scores)) > 5
    assert max(scores) - min(scores) < 0.35


SCHEMAS: list[dict[str, Any]] = [
    {"type": "integer", "minimum": 0, "maximum": 10},
    {"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5},
    {"type": "integer", "multipleOf": 5, "minimum": 6, "maximum": 11},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001},
    {"type": "string", "minLength": 300},
    {"type": "string", "maxLength": 3},
    {"const": {"a": 1}},
    {"enum": ["a", 3, None]},
    {"type": ["null", "boolean"]},
    {"anyOf": [{"type": "null"}, {"type": "integer"}]},
    {"allOf": [{"properties": {"a": {"type": "null"}}, "required": ["a"]}, {"required": ["b"]}]},
    {"type": "array", "items": {"enum": ["x", "y", "z"]}, "minItems": 3, "uniqueItems": True},
    {"type": "array", "items": {"type": "boolean"}, "minItems": 7, "maxItems": 9},
    {"type": "array", "prefixItems": [{"type": "integer"}, {"const": 1}], "items": False},
    {"type": "array", "items": {"type": "string"}, "maxItems": 0},
    {
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {
                    "left": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]},
                    "kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
                },
                "required": ["left"],
            }
        },
        "$ref": "#/$defs/tree",
    },
]


def fits(value: Any, schema: Any, root: dict[str, Any]) -> bool:
    """Whether a value is an instance of a schema, as far as the schemas above go."""
    if isinstance(schema, bool):
        return schema
    if "$ref" in schema:
        return fits(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    kinds["number"] = float
    named = schema.get("type", [])
    limits: dict[str, Callable[[Any], bool]] = {
        "minimum": lambda limit: value >= limit,
        "maximum": lambda limit: value <= limit,
        "exclusiveMinimum": lambda limit: value > limit,
        "exclusiveMaximum": lambda limit: value < limit,
        "multipleOf": lambda limit: value % limit == 0,
        "minLength": lambda limit: len(value) >= limit,
        "maxLength": lambda limit: len(value) <= limit,
        "minItems": lambda limit: len(value) >= limit,
        "maxItems": lambda limit: len(value) <= limit,
        "uniqueItems": lambda _: len(set(value)) == len(value),
        "const": lambda limit: value == limit,
        "enum": lambda limit: value in limit,
        "anyOf": lambda parts: any(fits(value, part, root) for part in parts),
        "allOf": lambda parts: all(fits(value, part, root) for part in parts),
        "required": lambda names: all(name in value for name in names),
        "properties": lambda parts: all(fits(value[k], part, root) for k, part in parts.items() if k in value),
        "items": lambda part: all(fits(item, part, root) for item in value[len(schema.get("prefixItems", [])) :]),
        "prefixItems": lambda parts: all(fits(item, part, root) for item, part in zip(value, parts, strict=False)),
    }
    return (
        not named or type(value) in {kinds[kind] for kind in ([named] if isinstance(named, str) else named)}
    ) and all(holds(schema[key]) for key, holds in limits.items() if key in schema)


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: json.dumps(schema)[:60])
async def test_a_reply_is_an_instance_of_the_schema(schema: dict[str, Any]) -> None:
    for sample in range(30):
        value = await judged(mock(), f"Rate this {sample}.", schema, sample=sample)

        assert fits(value, schema, schema), value


def listing(name: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "array", "items": item}}, "required": [name]}


async def test_there_is_one_verdict_for_each_numbered_item() -> None:
    item = {"type": "object", "properties": {"verdict": {"enum": ["yes", "no", "idk"]}, "reason": {"type": "string"}}}
    prompt = "Instructions:\n1. Read.\n2. Decide.\n\nStatements:\n" + "\n".join(f"{n}. It is so." for n in range(1, 6))

    replies = [await judged(mock(), f"{prompt}\n\n{n}", listing("verdicts", item)) for n in range(100)]

    assert {len(reply["verdicts"]) for reply in replies} == {5}
    verdicts = Counter(verdict["verdict"] for reply in replies for verdict in reply["verdicts"])
    assert 0.8 <= verdicts["yes"] / 500 <= 0.97
    assert set(verdicts) == {"yes", "no", "idk"}


async def test_there_is_one_verdict_for_each_string_of_a_json_list() -> None:
    prompt = 'Claims: ["Water is wet.", "Fire is \\"hot\\".", "Ice is cold."]'

    reply = await judged(mock(), prompt, listing("verdicts", {"type": "string"}))

    assert len(reply["verdicts"]) == 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("statements", ["Bees make honey.", "They live in hives."]),
        ("claims", ["Bees make honey.", "They live in hives."]),
        ("truths", ["Honey is made by bees."]),
    ],
)
@pytest.mark.parametrize("form", ["<{0}>\n{1}\n</{0}>", "{0}:\n{1}\n", "## {0}\n\n{1}\n", "{0}: {1}"])
async def test_statements_are_taken_from_the_text_they_are_about(form: str, name: str, expected: list[str]) -> None:
    parts = {"context": "Honey is made by bees.", "actual output": "Bees make honey. They live in hives."}
    prompt = "Take it apart. Be exact.\n\n" + "\n\n".join(form.format(*part) for part in parts.items())

    reply = await judged(mock(), prompt, listing(name, {"type": "string"}))

    assert reply[name] == expected


async def test_there_are_three_or_four_evaluation_steps() -> None:
    replies = [await judged(mock(), f"Criteria {n}", listing("steps", {"type": "string"})) for n in range(20)]

    assert {len(set(reply["steps"])) for reply in replies} == {3, 4}


@pytest.mark.parametrize(
    "example",
    [
        '```json\n{"metrics": {"tone": {"score": 1, "rationale": "why"}}, "flags": {"rude": true}, "comment": ""}\n```',
        '{"metrics": {"tone": {"score": <1-5>, "rationale": "<why>"}}, "flags": {"rude": true|false}, "comment": "…"}',
    ],
    ids=["fenced", "with blanks"],
)
async def test_a_rubrics_json_is_returned_also_when_it_is_only_shown(example: str) -> None:
    prompt = f"Judge the tone from 1 to 5.\n\nAnswer like this:\n{example}\n\n<output>\n```json\n{{}}\n```\n</output>"

    reply = json.loads((await ask(mock(), asking(prompt))).text)

    assert set(reply) == {"metrics", "flags", "comment"}
    assert reply["metrics"]["tone"]["score"] in range(1, 6)
    assert type(reply["flags"]["rude"]) is bool


async def test_a_scale_stands_next_to_its_metric() -> None:
    prompt = (
        "tone: from 1 to 5\ndepth: from 50 to 90\nReturn JSON only:\n"
        '```json\n{"tone": {"score": 0}, "depth": {"score": 0}}\n```'
    )

    reply = json.loads((await ask(mock(), asking(prompt))).text)

    assert 1 <= reply["tone"]["score"] <= 5
    assert 50 <= reply["depth"]["score"] <= 90


async def test_a_cases_own_question_about_json_is_answered_with_its_reference() -> None:
    question = 'Return JSON like this:\n```json\n{"a": 1}\n```'
    case = TestCase(id="a", input=question, reference='{"a": 7}')

    assert (await ask(mock(quality=1), asking(question, case=case))).text == '{"a": 7}'


async def test_unreadable_judge_replies_come_at_the_chosen_rate() -> None:
    provider = mock(bad_judge=0.3)

    replies = [(await ask(provider, asking("Judge.", response_schema=GRADE, sample=n))).text for n in range(300)]

    assert 0.2 <= mean("{" not in reply for reply in replies) <= 0.4


async def test_log_probabilities_add_up_to_the_text_and_weigh_a_score_by_its_neighbours() -> None:
    schema = {"type": "integer", "minimum": 5, "maximum": 9}

    answer = await ask(mock(), asking("Score it.", response_schema=schema, top_logprobs=4))
    [choice] = answer.logprobs or ()

    assert choice.token == answer.text
    assert choice.top[choice.token] == choice.logprob
    assert {int(token) - int(choice.token) for token in choice.top} == {0, -1, 1, -2}
    assert 0.8 < sum(map(math.exp, choice.top.values())) <= 1


async def test_a_score_inside_json_is_a_token_of_its_own() -> None:
    answer = await ask(mock(), asking("Score it.", response_schema=GRADE, top_logprobs=5))

    tokens = [choice.token for choice in answer.logprobs or ()]
    assert "".join(tokens) == answer.text
    assert str(json.loads(answer.text)["score"]) in tokens


# Bad days


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("rate_limited", RateLimitedError),
        ("unavailable", UnavailableError),
        ("connection", ConnectionFailedError),
        ("timeout", TimedOutError),
        ("bad_reply", BadReplyError),
        ("refused", RequestRefusedError),
        ("authentication", AuthenticationError),
        ("quota", QuotaExhaustedError),
    ],
)
async def test_each_kind_of_fault_raises_its_error(kind: str, error: type[ProviderError]) -> None:
    with pytest.raises(error, match="simulated") as caught:
        await ask(mock(faults={kind: 1}), asking())

    assert caught.value.provider == "mock"


async def test_a_simulated_rate_limit_asks_to_wait() -> None:
    with pytest.raises(RateLimitedError) as caught:
        await ask(mock(faults={"rate_limited": 1}, retry_after_s=0.2), asking())

    assert (caught.value.retry_after, caught.value.status) == (0.2, 429)


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


async def test_a_simulated_time_out_takes_the_time_only_when_that_is_short() -> None:
    took = []
    for timeout in (0.05, 30.0):
        start = time.perf_counter()
        with pytest.raises(TimedOutError):
            await ask(mock(Limits(max_tries=1, try_timeout=timeout), faults={"timeout": 1}), asking())
        took.append(time.perf_counter() - start)

    assert 0.04 < took[0] < 1
    assert took[1] < 1


async def test_latency_is_spent_and_reported() -> None:
    answer = await ask(mock(latency_ms=30), asking())

    assert 29 < answer.latency_ms < 500


async def test_jitter_makes_latencies_differ() -> None:
    provider = mock(latency_ms=20, latency_jitter=0.9)

    took = [(await ask(provider, asking(f"{n}"))).latency_ms for n in range(8)]

    assert max(took) - min(took) > 5


async def test_a_simulated_latency_is_reported_and_not_waited_for() -> None:
    requests = [asking("a", options={"simulated_latency_ms": 60_000}, attempt=attempt) for attempt in range(20)]

    reported = [(await ask(mock(), request)).latency_ms for request in requests]

    assert reported == [(await ask(mock(), request)).latency_ms for request in requests]
    assert 15_000 < min(reported) < max(reported) < 240_000


async def test_a_simulated_latency_differs_by_model_sample_and_question() -> None:
    first = asking("a", options={"simulated_latency_ms": 800})
    changes: list[dict[str, Any]] = [
        {}, {"model": "other"}, {"sample": 1}, {"attempt": 1}, {"messages": asking("b").messages}
    ]  # fmt: skip

    requests = [msgspec.structs.replace(first, **each) for each in changes]
    reported = {(await ask(mock(), request)).latency_ms for request in requests}

    assert len(reported) == 5


@pytest.mark.parametrize(
    "options", [{"simulated_latency_ms": "fast"}, {"simulated_latency_ms": -1}, {"simulated_quality": 2}], ids=repr
)
async def test_a_simulation_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(RequestRefusedError, match=next(iter(options))):
        await ask(mock(), asking(options=options))


async def test_a_latency_beyond_the_time_out_is_a_time_out() -> None:
    with pytest.raises(TimedOutError):
        await ask(mock(Limits(max_tries=1, try_timeout=0.02), latency_ms=60_000), asking())


async def test_cancelling_takes_effect_at_once() -> None:
    task = asyncio.create_task(ask(mock(latency_ms=60_000), asking()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"latencyms": 5}, "Did you mean 'latency_ms'"),
        ({"faults": {"rate_limit": 0.1}}, "Did you mean 'rate_limited'"),
        ({"faults": {"refused": 1.5}}, "`faults.refused`"),
        ({"faults": {"refused": 0.7, "quota": 0.7}}, "add up to 1.4"),
        ({"faults": ["refused"]}, r"\$.faults"),
        ({"quality": "high"}, "`quality`"),
        ({"quality": True}, "`quality`"),
        ({"quality": math.nan}, r"quality"),
        ({"latency_ms": -1}, "`latency_ms`"),
        ({"latency_ms": math.inf}, "`latency_ms`"),
        ({"bad_judge": 2}, "`bad_judge`"),
    ],
    ids=str,
)
def test_a_wrong_option_is_refused_with_its_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        mock(**options)
