"""What models do with parameters is data: which rule holds, the user's own ones, and what is learned."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from service import refuses, service

from prompt_evaluator.errors import AuthenticationError, ConfigurationError, RequestRefusedError
from prompt_evaluator.model import ProviderSettings, Rule
from prompt_evaluator.providers.keys import Key, endpoint
from prompt_evaluator.providers.learned import Learned
from prompt_evaluator.providers.presets import PRESETS, SERVICES
from prompt_evaluator.providers.rules import RuleBook, bare_name, built_in_rules

if TYPE_CHECKING:
    from pathlib import Path

OPENAI = ProviderSettings(kind="openai", service="openai")


def test_a_name_is_known_whatever_is_around_it() -> None:
    names = {
        "openai/gpt-6-luna": "gpt-6-luna",
        "gpt-5.1-2025-11-13": "gpt-5.1",
        "models/gemini-3.8-flash": "gemini-3.8-flash",
        "us.anthropic.claude-opus-4-8-20260401-v1:0": "claude-opus-4-8",
        "claude-haiku-4-5@20251001": "claude-haiku-4-5",
        "anthropic/claude-opus-4.8": "claude-opus-4-8",
        "meta-llama/Llama-3.3-70B:free": "llama-3.3-70b",
        "ft:gpt-4.1:acme::x1": "gpt-4.1",
        "ft:mistral-small:acme": "ft:mistral-small:acme",
    }

    assert {name: bare_name(name) for name in names} == names


def test_the_first_rule_that_holds_decides_and_the_users_come_first() -> None:
    own = Rule(match="gpt-6-luna", drop=("seed",))
    book = RuleBook(ProviderSettings(kind="openai", service="openai", rules=(own,)))

    asked = {"temperature": 0.3, "seed": 1}
    assert book.choose("gpt-6-luna", asked).parameters == {"temperature": 0.3}
    assert RuleBook(OPENAI).choose("gpt-6-luna", asked).parameters == {"seed": 1}


def test_a_rule_may_depend_on_other_parameters() -> None:
    choose = RuleBook(OPENAI).choose

    assert "temperature" not in choose("gpt-6-luna", {"temperature": 0.3}).parameters
    assert choose("gpt-6-luna", {"temperature": 0.3, "effort": "none"}).parameters["temperature"] == 0.3
    assert "effort" not in choose("gpt-4o", {"effort": "high"}).parameters
    claude = RuleBook(ProviderSettings(kind="anthropic", service="anthropic")).choose
    assert "temperature" in claude("claude-sonnet-4-6", {"temperature": 0.3}).parameters
    assert "temperature" not in claude("claude-sonnet-4-6", {"temperature": 0.3, "top_p": 0.5}).parameters
    assert "temperature" not in claude("claude-sonnet-4-6", {"temperature": 0.3}, version="2026-10-21").parameters


def test_a_default_goes_to_unknown_models_only_where_models_take_it() -> None:
    def is_sent(service: str, model: str, *, own_address: bool = True) -> bool:
        settings = ProviderSettings(kind="openai", service=service)
        chosen = RuleBook(settings, own_address=own_address).choose(
            model, {"temperature": 0.7}, defaults=["temperature"]
        )
        return "temperature" in chosen.parameters

    for local in ("ollama", "vllm", "llamacpp", "lmstudio", "mistral", "groq", "together", "fireworks", "litellm"):
        assert is_sent(local, "a-new-model"), local
    assert not is_sent("openai", "gpt-9")
    assert not is_sent("anthropic", "claude-new")
    assert is_sent("openai", "ft:a-model:acme::x1")
    assert is_sent("openai", "a-new-model", own_address=False)


def test_a_default_that_a_service_has_refused_is_left_out_as_a_default() -> None:
    learned = {"temperature": "is deprecated"}
    chosen = RuleBook(ProviderSettings(kind="openai")).choose(
        "new", {"temperature": 0.7}, defaults=["temperature"], learned=learned
    )

    assert [(left.reason, left.detail) for left in chosen.left_out] == [("default", "is deprecated")]


def test_a_deployment_has_the_rules_of_the_model_behind_it() -> None:
    settings = ProviderSettings(kind="openai", service="azure", base_model={"prod": "gpt-6-luna"})

    assert RuleBook(settings).choose("prod", {"temperature": 0.3}).parameters == {}


def test_every_rule_is_of_a_known_service_and_says_where_it_is_from() -> None:
    wrong = [rule for rule in built_in_rules() if not rule.source or set(rule.services) - set(SERVICES)]
    presets = [name for name, preset in PRESETS.items() if preset.service and preset.service not in SERVICES]

    assert not wrong + presets


def test_what_was_learned_is_known_to_the_next_process_for_a_month(tmp_path: Path) -> None:
    now = 1_000_000.0
    Learned(tmp_path / "known.json", lambda: now).add("here", "temperature", "is deprecated")

    def known(days: int) -> dict[str, str]:
        return Learned(tmp_path / "known.json", lambda: now + timedelta(days=days).total_seconds()).about("here")

    assert known(29) == {"temperature": "is deprecated"}
    assert known(31) == {}


async def test_whoever_wants_no_parameter_left_out_gets_the_refusal() -> None:
    async with service("openai", refuses("Unsupported parameter: 'temperature'", param="temperature")) as svc:
        with pytest.raises(RequestRefusedError):
            await svc.ask(temperature=0.2, strict=True)

    assert len(svc.server.received) == 1


def test_an_address_is_filled_from_the_environment_and_says_what_is_missing() -> None:
    known = {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "europe-west4"}

    address = endpoint("vertex", PRESETS["vertex"], known)

    assert address.host == "europe-west4-aiplatform.googleapis.com"
    assert address.path == "/v1/projects/p/locations/europe-west4/endpoints/openapi"
    with pytest.raises(ConfigurationError, match=r"no address\. Set GOOGLE_CLOUD_LOCATION and GOOGLE_CLOUD_PROJECT\."):
        endpoint("vertex", PRESETS["vertex"], {})


@pytest.mark.parametrize(("command", "said"), [("no-such-program", "could not be run"), ("false", "ended with 1")])
def test_a_command_without_a_key_is_named(command: str, said: str) -> None:
    key = Key("svc", ProviderSettings(kind="openai", api_key_command=command))

    with pytest.raises(AuthenticationError, match=f"`{command}`,? .*{said}"):
        key.resolve()
