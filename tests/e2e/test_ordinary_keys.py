"""A key that is also a word, a name or a number, such as the `ollama` that local services want, damages nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Workspace

ANSWER = "ollama run llama3"
LOCAL = ("--generator-model", "ollama/llama3", "--rubric", "none", "--metrics", "exact_match", "-n", "1")


@pytest.fixture
def local(online: Workspace, service: ChatService) -> Workspace:
    online.configure(
        providers={"ollama": {"kind": "openai", "base_url": f"{service.url}/v1", "api_key_env": "OLLAMA_API_KEY"}}
    )
    online.environment["OLLAMA_API_KEY"] = "ollama"
    online.cases([{"id": f"ollama-{at}", "input": f"Question {at}", "reference": ANSWER} for at in range(2)])
    service.set(rules=[{"text": ANSWER}])
    return online


def answers(artifact: Any) -> list[tuple[str, float]]:
    samples = [sample for case in artifact["test_case_results"] for sample in case["samples"]]
    return [(sample["generator_output"], sample["scores"]["exact_match"]["score"]) for sample in samples]


def test_an_answer_with_the_word_is_stored_scored_and_shown_as_it_came(local: Workspace) -> None:
    done = local.evaluate(*LOCAL)

    assert answers(done.artifact) == [(ANSWER, 1.0)] * 2
    stored = [json.loads(data) for data in local.units(done.run_id).values()]
    assert [unit["answer"]["text"] for unit in stored if "answer" in unit] == [ANSWER] * 2
    assert ANSWER in local.run("runs", "show", "@last", "--case", "ollama-0").out


def test_names_stay_as_they_are_and_the_run_can_be_resumed(local: Workspace, service: ChatService) -> None:
    service.set(rules=[{"match": "Question 1", "status": 400}, {"text": ANSWER}])
    begun = local.evaluate(*LOCAL)
    service.set(rules=[{"text": ANSWER}])

    done = local.run("resume", "@last", "--retry-errors", "--json")

    assert begun.artifact["generator_config"]["model"] == "ollama/llama3"
    assert [run["generator_model"] for run in local.run("runs", "list", "--json").json["runs"]] == ["ollama/llama3"]
    assert done.code == 0
    assert answers(done.artifact) == [(ANSWER, 1.0)] * 2
    assert "[secret]" not in local.run("runs", "show", "@last").out + json.dumps(done.artifact)


@pytest.mark.parametrize("key", ["completed", "000000", "123456"])
def test_states_and_numbers_stay_as_they_are(local: Workspace, service: ChatService, key: str) -> None:
    local.environment["OLLAMA_API_KEY"] = key
    service.set(rules=[{"text": f"{key} 0.{key}"}])

    done = local.evaluate(*LOCAL)

    assert done.artifact["status"] == "completed"
    assert answers(done.artifact) == [(f"{key} 0.{key}", 0.0)] * 2
    assert "[secret]" not in json.dumps(done.artifact)
    assert local.run("runs", "show", "@last", "--json").json["status"] == "completed"
