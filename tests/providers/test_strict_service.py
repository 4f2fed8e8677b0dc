"""The strict service refuses, answers and counts as the services' documentation says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml
from strict_answers import CLAUDE, GPT
from strict_service import StrictService, billed, list_price, strict_service, tool_answers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

GALLERIES = yaml.safe_load(Path(__file__).with_name("strict_gallery.yaml").read_text("utf-8"))
NAMES = [name for name in GALLERIES if name != "parts"]
SUITE = Path(__file__).parents[2] / "src/prompt_evaluator/benchmarks/tool-use-basic.yaml"


@pytest.fixture
def service() -> Iterator[StrictService]:
    with strict_service(tool_answers=tool_answers_of(SUITE)) as running:
        yield running


def asked(service: StrictService, at: str, model: str, **fields: Any) -> tuple[int, Any]:
    """Ask with the least that the protocol wants, and `fields`."""
    name, _, protocol = at.partition(" ")
    headers = {"authorization": "Bearer k", "anthropic-version": "2023-06-01", **fields.pop("headers", {})}
    turns = [{"role": "user", "content": fields.pop("say", "Hi")}]
    body: dict[str, Any] = {"model": model, "messages": turns}
    path = "/chat/completions"
    if protocol == "responses":
        path, body = "/responses", {"model": model, "input": turns}
    elif name == "anthropic":
        path, body = "/v1/messages", {**body, "max_tokens": 1_000}
    data = json.dumps({**body, **fields}).encode()
    try:
        with urlopen(Request(service.base(name) + path, data, headers), timeout=20) as reply:
            return reply.status, json.load(reply)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


@pytest.mark.parametrize("gallery", NAMES)
def test_the_services_reply_as_documented(service: StrictService, gallery: str) -> None:
    wrong = []
    for at, models, fields, status, words in GALLERIES[gallery]:
        for model in models.split() if models != "*" else CLAUDE:
            found, reply = asked(service, at, model, **fields)
            text = json.dumps(reply).replace('\\"', "").replace('"', "")
            if found != status or not all(word in text for word in words.split("|")):
                wrong.append((at, model, fields, found, text))

    assert wrong == []


def test_every_model_answers_a_plain_request(service: StrictService) -> None:
    places = [("openai responses", model) for model in GPT] + [("anthropic", model) for model in CLAUDE]
    places += [("openai", model) for model in GPT if GPT[model].chat]

    assert [place for place in places if asked(service, *place)[0] != 200] == []


def test_a_repeated_beginning_is_read_from_the_cache_and_priced(service: StrictService) -> None:
    system = [{"type": "text", "text": "rule " * 2_000, "cache_control": {"type": "ephemeral"}}]
    for text in ("one", "two"):
        asked(service, "openai", "gpt-6.1-sol", say="rule " * 2_000 + text)
        asked(service, "anthropic", "claude-opus-5-5", system=system, say=text)
    bills = billed(service.log)

    assert [(bill.cached, bill.written) for bill in bills] == [(0, 2_432), (0, 2_500), (2_432, 0), (2_500, 0)]
    price = (2_500 * 0.2 + (bills[3].input - 2_500) * 4 + bills[3].output * 20) / 1e6
    assert list_price(service.log[3]) == pytest.approx(price)


def test_the_expected_tools_are_called(service: StrictService) -> None:
    function = {"name": "get_weather", "description": "", "parameters": {"type": "object"}, "strict": False}
    said, tools = "What is the weather in Lisbon right now? Celsius, please.", [{"type": "function", **function}]
    _, reply = asked(service, "openai responses", "gpt-6.1-sol", say=said, tools=tools)

    assert json.loads(reply["output"][-1]["arguments"]) == {"city": "Lisbon", "unit": "celsius"}


def test_a_judge_replies_in_the_shape_that_a_prompt_shows(service: StrictService) -> None:
    shape = '{"metrics": {"a": {"rationale": "<why>", "score": <number, 0 to 1>}}, "flags": {"b": <true or false>}}'
    _, reply = asked(
        service, "mistral", "mistral-large-latest", say=f"Reply with a JSON object of this shape:\n{shape}"
    )

    said = json.loads(reply["choices"][0]["message"]["content"])
    assert said == {"metrics": {"a": {"rationale": "why", "score": 1}}, "flags": {"b": False}}


def test_a_key_is_refused_until_it_is_another(service: StrictService) -> None:
    first = asked(service, "openai", "gpt-6-sol", say="[fault 401]")[0], asked(service, "openai", "gpt-6-sol")[0]

    assert first == (401, 401)
    assert asked(service, "openai", "gpt-6-sol", headers={"authorization": "Bearer another"})[0] == 200
