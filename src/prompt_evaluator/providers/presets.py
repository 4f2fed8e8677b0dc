"""Services as data: where they are, what their key is called, and how they differ from the protocol they speak."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from prompt_evaluator.model import ProviderSettings


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """How a service differs from others with its protocol."""

    apis: tuple[str, ...] = ("chat",)
    """Of OpenAI's protocols, those it has; the first is used unless a model needs the other."""
    hosts: tuple[str, ...] = ()
    """Its own addresses: what is known of its models is not assumed of others behind its name."""
    fields: Mapping[str, str] = MappingProxyType({})
    """Its names for parameters, where they are not those of the protocol."""
    extra: Mapping[str, Any] = MappingProxyType({})
    """Sent with every request."""
    takes_sampling: bool = False
    """Whether its models are known to take a temperature, whatever they are called."""
    schemas: bool = True
    """Whether it can enforce a JSON schema."""


_NEW_NAME = {"max_tokens": "max_completion_tokens"}

SERVICES: dict[str, Service] = {
    "openai": Service(apis=("chat", "responses"), hosts=("api.openai.com",), fields=_NEW_NAME),
    "azure": Service(apis=("chat", "responses"), hosts=(".openai.azure.com",), fields=_NEW_NAME),
    "anthropic": Service(hosts=("api.anthropic.com",)),
    "gemini": Service(),
    "vertex": Service(),
    "bedrock": Service(apis=("chat", "responses")),
    "mistral": Service(fields={"seed": "random_seed"}, takes_sampling=True),
    # It ignores what the chosen upstream does not take, unless it is told to choose another.
    "openrouter": Service(extra={"provider": {"require_parameters": True}, "usage": {"include": True}}),
    "groq": Service(fields=_NEW_NAME, takes_sampling=True),
    "xai": Service(),
    "deepseek": Service(schemas=False),
    "together": Service(takes_sampling=True),
    "fireworks": Service(takes_sampling=True),
    "ollama": Service(takes_sampling=True),
    "vllm": Service(takes_sampling=True),
    "llamacpp": Service(takes_sampling=True),
    "lmstudio": Service(takes_sampling=True),
    "litellm": Service(),
}
"""By the name that `service:` of a provider gives."""
UNKNOWN = Service()


def service_of(settings: ProviderSettings) -> Service:
    """What is known of an entry's service."""
    return SERVICES.get(settings.service or "", UNKNOWN)


def _http(service: str, address: str, key: str | None, kind: str = "openai", **more: Any) -> ProviderSettings:
    return ProviderSettings(kind=kind, service=service, base_url=address, api_key_env=key, **more)


def _local(service: str, port: int, key: str | None = None) -> ProviderSettings:
    """A service on this machine; `OLLAMA_BASE_URL` and the like say where else it is."""
    variable = f"{service.upper()}_BASE_URL"
    return _http(service, f"http://localhost:{port}/v1", key, base_url_env=variable, key_required=False)


PRESETS: dict[str, ProviderSettings] = {
    "openai": _http("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", base_url_env="OPENAI_BASE_URL"),
    "anthropic": _http(
        "anthropic", "https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic", base_url_env="ANTHROPIC_BASE_URL"
    ),
    "gemini": _http("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "vertex": _http(
        "vertex",
        "https://{GOOGLE_CLOUD_LOCATION}-aiplatform.googleapis.com/v1/projects/{GOOGLE_CLOUD_PROJECT}"
        "/locations/{GOOGLE_CLOUD_LOCATION}/endpoints/openapi",
        None,
        api_key_command="gcloud auth print-access-token",
    ),
    "azure": _http(
        "azure",
        "https://{AZURE_OPENAI_RESOURCE}.openai.azure.com/openai/v1",
        "AZURE_OPENAI_API_KEY",
        api_key_header="api-key",
        base_url_env="AZURE_OPENAI_BASE_URL",
    ),
    "bedrock": _http(
        "bedrock", "https://bedrock-runtime.{AWS_REGION}.amazonaws.com/openai/v1", "AWS_BEARER_TOKEN_BEDROCK"
    ),
    "mistral": _http("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openrouter": _http("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "groq": _http("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "xai": _http("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    "deepseek": _http("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY"),
    "together": _http("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "fireworks": _http("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "ollama": _local("ollama", 11434, "OLLAMA_API_KEY"),
    "vllm": _local("vllm", 8000, "VLLM_API_KEY"),
    "llamacpp": _local("llamacpp", 8080),
    "lmstudio": _local("lmstudio", 1234),
    "litellm": _local("litellm", 4000, "LITELLM_API_KEY"),
    "router": ProviderSettings(
        kind="router", base_url_env="EVAL_ROUTER_URL", api_key_env="EVAL_ROUTER_API_KEY", key_required=False
    ),
    "mock": ProviderSettings(kind="mock"),
    "python": ProviderSettings(kind="python"),
    "command": ProviderSettings(kind="command"),
}
"""Providers available without configuration. A configured entry of the same name takes precedence."""
