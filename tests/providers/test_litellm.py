"""LiteLLM behind the policy, played by a stand-in: what it is asked, what it may say, and that it keeps quiet."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from calling import Calls

from prompt_evaluator import errors
from prompt_evaluator.errors import BadReplyError, ConfigurationError, ProviderError, TimedOutError
from prompt_evaluator.model import (
    Limits,
    Message,
    Price,
    ProviderSettings,
    Request,
    TokenChoice,
    ToolCall,
    Usage,
)
from prompt_evaluator.providers.litellm import LiteLLMProvider

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from prompt_evaluator.model import Answer
    from prompt_evaluator.providers.calls.client import Client

ONE_TRY = Limits(max_tries=1)


def response(**changes: Any) -> SimpleNamespace:
    message = SimpleNamespace(content=changes.pop("content", "4"), tool_calls=changes.pop("tool_calls", None))
    choice = SimpleNamespace(message=message, finish_reason="stop", logprobs=changes.pop("logprobs", None))
    usage = SimpleNamespace(prompt_tokens=10, completion_tokens=2)
    return SimpleNamespace(**{"choices": [choice], "usage": usage, "model": "gpt-4o-2024", **changes})


class FakeLiteLLM:
    """Answers with what it is given, or raises it."""

    def __init__(self, reply: Any = None, *, cost: Callable[[], float] = lambda: 0.002) -> None:
        self.reply, self.cost = reply or response(), cost
        self.asked: list[dict[str, Any]] = []
        self.telemetry, self.suppress_debug_info, self.drop_params, self.num_retries = True, False, False, 5
        self.closed = False

    async def acompletion(self, **arguments: Any) -> Any:
        self.asked.append(arguments)
        if self.reply == "hang":
            await asyncio.sleep(600)
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    def completion_cost(self, *, completion_response: Any) -> float:
        assert completion_response is self.reply
        return self.cost()

    async def close_litellm_async_clients(self) -> None:
        self.closed = True


@pytest.fixture
async def calls() -> AsyncIterator[Calls]:
    board = Calls()
    yield board
    await board.close()


def provider(calls: Calls, fake: FakeLiteLLM, **settings: Any) -> Client:
    entry = ProviderSettings(**{"kind": "litellm", "limits": ONE_TRY, **settings})
    return calls.around(LiteLLMProvider("litellm", entry, module=fake), entry)


async def ask(calls: Calls, fake: FakeLiteLLM, **settings: Any) -> Answer:
    request = Request(model="azure/gpt-4o", messages=(Message("user", "2+2"),))
    return await provider(calls, fake, **settings).complete(request)


async def test_an_answer_carries_what_litellm_reports(calls: Calls) -> None:
    answer = await ask(calls, FakeLiteLLM())

    assert (answer.text, answer.model, answer.finish_reason) == ("4", "gpt-4o-2024", "stop")
    assert (answer.usage, answer.cost) == (Usage(input_tokens=10, output_tokens=2), 0.002)
    assert answer.latency_ms >= 0


async def test_litellm_is_asked_for_one_try_and_only_for_what_was_requested(calls: Calls) -> None:
    fake = FakeLiteLLM()

    await ask(calls, fake)

    assert fake.asked == [
        {
            "model": "azure/gpt-4o",
            "messages": [{"role": "user", "content": "2+2"}],
            "timeout": 600.0,
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
        }
    ]


async def test_every_parameter_of_a_request_reaches_litellm(calls: Calls) -> None:
    fake = FakeLiteLLM()
    tool = {"name": "add", "parameters": {}}
    request = Request(
        model="m",
        messages=(Message("user", "2+2"),),
        temperature=0.0,
        max_tokens=5,
        seed=0,
        tools=(tool, {"type": "function", "function": tool}),
        response_schema={"type": "object"},
        top_logprobs=3,
        options={"api_version": "2"},
    )

    await provider(calls, fake, base_url="http://localhost:1", headers={"x-a": "b"}).complete(request)

    asked = fake.asked[0]
    assert (asked["temperature"], asked["max_tokens"], asked["seed"]) == (0.0, 5, 0)
    assert asked["tools"] == [{"type": "function", "function": tool}] * 2
    assert asked["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert (asked["logprobs"], asked["top_logprobs"]) == (True, 3)
    assert (asked["api_base"], asked["extra_headers"], asked["api_version"]) == (
        "http://localhost:1",
        {"x-a": "b"},
        "2",
    )


async def test_a_parameter_given_by_the_user_wins_over_ours_but_not_over_the_policy(calls: Calls) -> None:
    fake = FakeLiteLLM()
    given = {"temperature": 0.1, "seed": None, "num_retries": 9, "timeout": 1}
    request = Request(model="m", messages=(Message("user", "2+2"),), temperature=0.7, seed=3, options=given)

    await provider(calls, fake, options={"temperature": 0.5, "top_p": 0.9}).complete(request)

    asked = fake.asked[0]
    assert (asked["temperature"], asked["top_p"], asked["num_retries"]) == (0.1, 0.9, 0)
    assert asked["timeout"] > 1
    assert "seed" not in asked


async def test_an_exception_that_cannot_say_what_it_is_about_is_a_provider_error(calls: Calls) -> None:
    class BrokenError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    with pytest.raises(ProviderError, match="BrokenError: its message cannot be read"):
        await ask(calls, FakeLiteLLM(BrokenError()))


async def test_litellm_is_silenced_before_it_is_used(calls: Calls) -> None:
    fake = FakeLiteLLM()

    provider(calls, fake)

    assert (fake.telemetry, fake.suppress_debug_info, fake.drop_params, fake.num_retries) == (False, True, True, 0)


async def test_tool_calls_are_parsed_where_they_are_json_objects(calls: Calls) -> None:
    made = [
        SimpleNamespace(id=f"c{number}", function=SimpleNamespace(name="add", arguments=arguments))
        for number, arguments in enumerate(['{"a": 1}', "[1", "", None])
    ]

    answer = await ask(calls, FakeLiteLLM(response(content=None, tool_calls=made)))

    assert answer.text == ""
    assert answer.tool_calls == (
        ToolCall(name="add", arguments={"a": 1}, id="c0"),
        ToolCall(name="add", arguments="[1", id="c1"),
        ToolCall(name="add", arguments={}, id="c2"),
        ToolCall(name="add", arguments={}, id="c3"),
    )


async def test_log_probabilities_are_kept(calls: Calls) -> None:
    other = SimpleNamespace(token="5", logprob=-3.0)
    logprobs = SimpleNamespace(content=[SimpleNamespace(token="4", logprob=-0.1, top_logprobs=[other])])

    answer = await ask(calls, FakeLiteLLM(response(logprobs=logprobs)))

    assert answer.logprobs == (TokenChoice(token="4", logprob=-0.1, top={"5": -3.0}),)


@pytest.mark.parametrize(
    "usage", [None, SimpleNamespace(prompt_tokens=0, completion_tokens=0)], ids=["no usage", "zeros"]
)
async def test_usage_that_the_service_did_not_give_is_unknown_and_so_is_the_cost(calls: Calls, usage: Any) -> None:
    answer = await ask(calls, FakeLiteLLM(response(usage=usage)))

    assert (answer.usage, answer.cost) == (Usage(), None)


def _unknown_model() -> float:
    raise Exception("This model isn't mapped yet")  # noqa: TRY002 - what LiteLLM raises


@pytest.mark.parametrize("cost", [_unknown_model, lambda: 0.0, lambda: float("nan")], ids=["unknown", "zero", "nan"])
async def test_a_price_that_litellm_does_not_know_is_unknown(calls: Calls, cost: Callable[[], float]) -> None:
    answer = await ask(calls, FakeLiteLLM(cost=cost))

    assert answer.cost is None


async def test_a_configured_price_comes_before_litellms(calls: Calls) -> None:
    prices = {"azure/gpt-4o": Price(input=1.0, output=10.0)}

    answer = await ask(calls, FakeLiteLLM(), prices=prices)

    assert answer.cost == pytest.approx(30 / 1_000_000)


@pytest.mark.parametrize(
    "reply",
    [
        response(choices=[]),
        response(content=None),
        response(content=3),
        SimpleNamespace(),
        response(choices=[SimpleNamespace()]),
        response(content="\ud800"),
    ],
    ids=["no choices", "null content", "a number", "nothing", "no message", "no text"],
)
async def test_a_response_without_an_answer_is_a_bad_reply(calls: Calls, reply: Any) -> None:
    with pytest.raises(BadReplyError, match="LiteLLM did not return an answer"):
        await ask(calls, FakeLiteLLM(reply))


def _raised(name: str, status: int | None = None, *, base: str | None = None, text: str = "why") -> Exception:
    parent = type(base, (Exception,), {}) if base else Exception
    error: Exception = type(name, (parent,), {"status_code": status})(text)
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (_raised("RateLimitError", 429), errors.RateLimitedError),
        (_raised("RateLimitError", 429, text="insufficient_quota"), errors.QuotaExhaustedError),
        (_raised("BudgetExceededError"), errors.QuotaExhaustedError),
        (_raised("AuthenticationError", 401), errors.AuthenticationError),
        (_raised("PermissionDeniedError", 403), errors.AuthenticationError),
        (_raised("NotFoundError", 404), errors.ModelNotFoundError),
        (_raised("BadRequestError", 400), errors.RequestRefusedError),
        (_raised("BadRequestError", 400, text="LLM Provider NOT provided."), errors.ModelNotFoundError),
        (_raised("ContextWindowExceededError", 400, base="BadRequestError"), errors.RequestRefusedError),
        (_raised("UnprocessableEntityError", 422), errors.RequestRefusedError),
        (_raised("Timeout", 408, base="APIConnectionError"), errors.TimedOutError),
        (_raised("APIConnectionError", 500), errors.ConnectionFailedError),
        (_raised("ConnectError", base="TransportError"), errors.ConnectionFailedError),
        (ConnectionResetError("reset"), errors.ConnectionFailedError),
        (_raised("ServiceUnavailableError", 503), errors.UnavailableError),
        (_raised("InternalServerError", 500), errors.UnavailableError),
        (_raised("APIResponseValidationError", 500), errors.BadReplyError),
        (_raised("SomethingNew", 413), errors.RequestRefusedError),
        (_raised("SomethingNew", 402), errors.QuotaExhaustedError),
        (_raised("SomethingNew", 529), errors.UnavailableError),
        (_raised("SomethingNew"), errors.ProviderError),
    ],
    ids=lambda value: f"{type(value).__name__} {value}" if isinstance(value, Exception) else value.__name__,
)
async def test_litellms_errors_become_ours(calls: Calls, error: Exception, expected: type[ProviderError]) -> None:
    with pytest.raises(ProviderError) as caught:
        await ask(calls, FakeLiteLLM(error))

    assert type(caught.value) is expected
    assert caught.value.status == getattr(error, "status_code", None)
    assert f"{type(error).__name__}: {error}" in str(caught.value)


async def test_the_wait_that_a_service_asks_for_is_known(calls: Calls) -> None:
    error = _raised("RateLimitError", 429)
    error.response = SimpleNamespace(headers={"retry-after": "7"})  # type: ignore[attr-defined] # as LiteLLM's have it

    with pytest.raises(errors.RateLimitedError) as caught:
        await ask(calls, FakeLiteLLM(error))

    assert caught.value.retry_after == 7


async def test_time_is_limited_although_litellm_ignores_its_time_out(calls: Calls) -> None:
    with pytest.raises(TimedOutError):
        await ask(calls, FakeLiteLLM("hang"), limits=Limits(max_tries=1, try_timeout=0.05))


async def test_a_key_that_litellm_finds_by_itself_is_in_no_error_and_no_answer(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = "canary-azure-1234567890"
    monkeypatch.setenv("AZURE_API_KEY", canary)
    with pytest.raises(ProviderError) as caught:
        await ask(calls, FakeLiteLLM(_raised("BadRequestError", 400, text=f"bad key {canary}")))

    answer = await ask(calls, FakeLiteLLM(response(content=f"it is {canary}")))

    assert canary not in str(caught.value)
    assert answer.text == "it is [secret]"


async def test_a_configured_key_is_handed_to_litellm_and_a_missing_one_is_said_before_any_call(
    calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeLiteLLM()
    with pytest.raises(errors.AuthenticationError, match="Set MY_SERVICE_KEY"):
        await ask(calls, fake, api_key_env="MY_SERVICE_KEY")
    monkeypatch.setenv("MY_SERVICE_KEY", "key-1234567890")

    await ask(calls, fake, api_key_env="MY_SERVICE_KEY")

    assert [asked["api_key"] for asked in fake.asked] == ["key-1234567890"]


async def test_closing_lets_litellm_close_its_connections(calls: Calls) -> None:
    fake = FakeLiteLLM()

    provider(calls, fake)
    await calls.close()

    assert fake.closed


async def test_without_the_extra_the_error_says_what_to_install(calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)

    with pytest.raises(ConfigurationError, match=r"^Install prompt-evaluator\[litellm\] to use litellm/… models\.$"):
        calls.open(ProviderSettings(kind="litellm"))


async def test_litellm_is_imported_by_the_first_call_and_configured_to_stay_off_the_network(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "False")
    monkeypatch.setenv("LITELLM_MODE", "PRODUCTION")
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "litellm.py").write_text(
        "import os\n"
        "from types import SimpleNamespace as N\n"
        "seen = os.environ['LITELLM_LOCAL_MODEL_COST_MAP']\n"
        "async def acompletion(**_):\n"
        "    return N(choices=[N(message=N(content=f'{seen} {telemetry}'))])\n"
    )
    made = calls.open(ProviderSettings(kind="litellm", limits=ONE_TRY), "litellm")
    early = "litellm" in sys.modules

    answer = await made.complete(Request(model="m", messages=(Message("user", "2+2"),)))

    monkeypatch.delitem(sys.modules, "litellm")
    assert not early
    assert (answer.text, answer.model) == ("True False", "m")
