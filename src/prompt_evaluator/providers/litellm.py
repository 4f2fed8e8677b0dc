"""Other services through LiteLLM, an optional extra."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import math
import os
import time
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from prompt_evaluator.errors import (
    AuthenticationError,
    BadReplyError,
    ConfigurationError,
    ConnectionFailedError,
    HopelessError,
    ModelNotFoundError,
    ProviderError,
    QuotaExhaustedError,
    RateLimitedError,
    RequestRefusedError,
    TimedOutError,
    UnavailableError,
)
from prompt_evaluator.model import REDACTOR, message_of
from prompt_evaluator.providers.calls.waiting import retry_after
from prompt_evaluator.providers.conversation import chat_messages
from prompt_evaluator.providers.keys import Key
from prompt_evaluator.providers.request_options import with_options
from prompt_evaluator.providers.target_reply import answer_of, read_reply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.model import Answer, Message, ProviderSettings, Request, Secret
    from prompt_evaluator.providers.calls.shared import Resources

_MISSING = "Install prompt-evaluator[litellm] to use litellm/… models."
_ERRORS: dict[str, type[ProviderError]] = {
    "AuthenticationError": AuthenticationError,
    "PermissionDeniedError": AuthenticationError,
    "NotFoundError": ModelNotFoundError,
    "BudgetExceededError": QuotaExhaustedError,
    "RateLimitError": RateLimitedError,
    "BadRequestError": RequestRefusedError,
    "UnprocessableEntityError": RequestRefusedError,
    "Timeout": TimedOutError,
    "APITimeoutError": TimedOutError,
    "TimeoutError": TimedOutError,
    "TimeoutException": TimedOutError,
    "APIResponseValidationError": BadReplyError,
    "JSONSchemaValidationError": BadReplyError,
    "APIConnectionError": ConnectionFailedError,
    "ConnectionError": ConnectionFailedError,
    "TransportError": ConnectionFailedError,
    "ServiceUnavailableError": UnavailableError,
    "InternalServerError": UnavailableError,
    "BadGatewayError": UnavailableError,
}
"""Maps exception names of LiteLLM and its dependencies to ours; the first match in an exception's MRO counts."""
_STATUSES: dict[int, type[ProviderError]] = {
    401: AuthenticationError,
    402: QuotaExhaustedError,
    403: AuthenticationError,
    404: ModelNotFoundError,
    408: TimedOutError,
    429: RateLimitedError,
}
_NO_QUOTA = ("insufficient_quota", "exceeded your current quota", "credit balance is too low")
_NO_PROVIDER = "llm provider not provided"
_KEY_ENDINGS = ("_API_KEY", "_ACCESS_KEY", "_SECRET", "_TOKEN")
_SHORTEST_KEY = 16
"""Characters. Shorter values of variables that merely look like keys may be ordinary words."""
_SHOWN_MESSAGE = 2_000


class LiteLLMProvider:
    """Makes one LiteLLM request per try: its own retries, telemetry and lookups are turned off."""

    trusted: ClassVar[bool] = True
    structured_output: ClassVar[bool] = False
    """Only some of the services behind it guarantee that."""

    def __init__(self, name: str, settings: ProviderSettings, *, module: Any = None) -> None:
        """Use `module` as LiteLLM. By default the first call imports it, which takes seconds."""
        self.name = name
        self._settings = settings
        self._key = Key(name, settings)
        self.endpoint = _base_url(settings) or ""
        self._module: Any = module if module is None else _quiet(module)
        self._importing = asyncio.Lock()

    @property
    def key(self) -> Secret | None:
        """The current key, or None."""
        return self._key.resolve() if self._key.present else None

    async def close(self) -> None:
        """Ask LiteLLM to close its connections, if this version can."""
        if closing := getattr(self._module, "close_litellm_async_clients", None):
            await closing()

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - enforced here
        began = time.monotonic()
        try:
            async with asyncio.timeout(timeout):
                module = await self._loaded()
                response = await module.acompletion(**self._arguments(request, timeout))
        except ProviderError:
            raise
        except Exception as error:  # noqa: BLE001 - a library for a hundred services may raise anything
            raise self._translated(error) from None
        seconds = time.monotonic() - began
        try:
            reply = read_reply(msgspec.json.encode(_fields(response) | {"cost": self._cost(request.model, response)}))
        except Exception as error:  # noqa: BLE001 - the response object runs its own code
            sentence = f"LiteLLM did not return an answer: {message_of(error)}."
            raise BadReplyError(sentence, provider=self.name) from None
        return answer_of(reply, asked=request.model, seconds=seconds)

    async def _loaded(self) -> Any:
        async with self._importing:
            if self._module is None:
                try:
                    self._module = _quiet(await asyncio.to_thread(_import))
                except ImportError as error:
                    raise HopelessError(f"LiteLLM cannot be imported: {error}.", provider=self.name) from None
        return self._module

    def _arguments(self, request: Request, timeout_s: float) -> dict[str, Any]:
        key = self._key.resolve()
        wishes = {
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "seed": request.seed,
            "tools": [_tool(tool) for tool in request.tools] or None,
            "response_format": _response_format(request.response_schema),
            "logprobs": True if request.top_logprobs is not None else None,
            "top_logprobs": request.top_logprobs,
            "api_key": key.reveal() if key else None,
            "api_base": _base_url(self._settings),
            "extra_headers": self._settings.headers or None,
        }
        ours = {name: value for name, value in wishes.items() if value is not None}
        return {
            **with_options(self._settings.options | ours, request.options),
            "model": request.model,
            "messages": [_plain(message) for message in chat_messages(request.messages, self.name)],
            "timeout": timeout_s,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
        }

    def _cost(self, model: str, response: Any) -> float | None:
        """Cost by LiteLLM's table. None if a price is configured, or if it says 0: that may mean free or unknown."""
        if model in self._settings.prices or None in _usage(response).values():
            return None
        try:
            cost = float(self._module.completion_cost(completion_response=response))
        except Exception:  # noqa: BLE001 - it raises a bare Exception for unknown models
            return None
        return cost if math.isfinite(cost) and cost > 0 else None

    def _translated(self, error: Exception) -> ProviderError:
        message = message_of(error)
        status = _status(error)
        response = getattr(error, "response", None)
        return _class_of(error, message.lower(), status)(
            f"{type(error).__name__}: {message[:_SHOWN_MESSAGE] or 'no message'}.",
            provider=self.name,
            status=status,
            retry_after=retry_after(getattr(response, "headers", None) or {}, time.time()),
        )


def build(name: str, settings: ProviderSettings, _resources: Resources) -> LiteLLMProvider:
    """Create the provider without importing LiteLLM.

    Raises:
        ConfigurationError: The extra is not installed.
    """
    if importlib.util.find_spec("litellm") is None:
        raise ConfigurationError(_MISSING)
    return LiteLLMProvider(name, settings)


def _import() -> Any:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # otherwise the import fetches a price list from GitHub
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # otherwise the import reads a .env file
    return importlib.import_module("litellm")


def _quiet(module: Any) -> Any:
    module.telemetry = False
    module.suppress_debug_info = True
    module.drop_params = True
    module.num_retries = 0
    _register_keys(os.environ)
    return module


def _register_keys(environment: Mapping[str, str]) -> None:
    """Register keys that LiteLLM finds in the environment by itself, in case a service echoes one."""
    for name, value in environment.items():
        if name.upper().endswith(_KEY_ENDINGS) and len(value) >= _SHORTEST_KEY:
            REDACTOR.add(value)


def _base_url(settings: ProviderSettings) -> str | None:
    return os.environ.get(settings.base_url_env or "") or settings.base_url


def _plain(message: Message | dict[str, Any]) -> dict[str, Any]:
    """LiteLLM expects messages as dictionaries."""
    plain: dict[str, Any] = msgspec.to_builtins(message)
    return plain


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    return tool if "function" in tool else {"type": "function", "function": tool}


def _response_format(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    return schema and {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def _fields(response: Any) -> dict[str, Any]:
    if not response.choices:
        raise ValueError("there are no choices")
    choice = response.choices[0]
    calls = [
        {"id": call.id, "name": call.function.name, "arguments": call.function.arguments or {}}
        for call in getattr(choice.message, "tool_calls", None) or ()
    ]
    return {
        "text": choice.message.content,
        "tool_calls": calls,
        "finish_reason": getattr(choice, "finish_reason", None),
        "usage": _usage(response),
        "model": getattr(response, "model", None),
        "logprobs": _logprobs(getattr(choice, "logprobs", None)),
    }


def _usage(response: Any) -> dict[str, int | None]:
    """Token counts. 0 prompt tokens mean unknown: no prompt is empty, and LiteLLM fills in 0 for missing counts."""
    usage = getattr(response, "usage", None)
    if not getattr(usage, "prompt_tokens", None):
        usage = None
    return {
        "input_tokens": getattr(usage, "prompt_tokens", None),
        "output_tokens": getattr(usage, "completion_tokens", None),
    }


def _logprobs(logprobs: Any) -> list[dict[str, Any]] | None:
    tokens = getattr(logprobs, "content", None)
    return tokens and [
        {
            "token": each.token,
            "logprob": each.logprob,
            "top": {other.token: other.logprob for other in each.top_logprobs or ()},
        }
        for each in tokens
    ]


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _class_of(error: Exception, message: str, status: int | None) -> type[ProviderError]:
    found = next((_ERRORS[each.__name__] for each in type(error).__mro__ if each.__name__ in _ERRORS), None)
    if found is RateLimitedError and any(words in message for words in _NO_QUOTA):
        return QuotaExhaustedError
    if found is RequestRefusedError and _NO_PROVIDER in message:
        return ModelNotFoundError
    if found or status is None:
        return found or ProviderError
    by_status = UnavailableError if status >= 500 else RequestRefusedError  # noqa: PLR2004 - server errors
    return _STATUSES.get(status, by_status)
