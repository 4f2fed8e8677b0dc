"""The release harness's router: `{prompt, config, attempt}` in, `{output}` out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.model import Answer
from prompt_evaluator.providers.conversation import written_arguments
from prompt_evaluator.providers.http_provider import HttpProvider
from prompt_evaluator.providers.transport.http import decode, encode

if TYPE_CHECKING:
    from prompt_evaluator.model import Message, ProviderSettings, Request
    from prompt_evaluator.providers.calls.shared import Resources


class _Reply(msgspec.Struct):
    output: str


_REPLY = msgspec.json.Decoder(_Reply)


def build(name: str, settings: ProviderSettings, resources: Resources) -> RouterProvider:
    """The factory that the registry names."""
    return RouterProvider(name, settings, resources)


class RouterProvider(HttpProvider):
    """Posts the prompt to the router, with the configuration entry under test as it stands."""

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - handed on to the transport
        prompt = _prompt(request.messages, self._name)
        config = request.options if "id" in request.options else {"id": request.model, **request.options}
        body = encode({"prompt": prompt, "config": config, "attempt": request.attempt}, self._name)
        reply = await self._post(body, timeout)
        output = decode(reply, _REPLY, self._name).output
        return Answer(text=output, latency_ms=reply.latency_ms, model=request.model)


def _prompt(messages: tuple[Message, ...], provider: str) -> str:
    """All messages in one text, because the router takes nothing else.

    What the system says and one question of the user are joined as they are. With more turns than that, each begins
    with its role, as in `user: …`, and the calls of an assistant follow its text as `weather({"city":"Rome"})`.
    """
    turns = [message.role for message in messages if message.role != "system"]
    if turns in ([], ["user"]):
        return "\n\n".join(message.content for message in messages)
    return "\n\n".join(_turn(message, provider) for message in messages)


def _turn(message: Message, provider: str) -> str:
    calls = [f"{call.name}({written_arguments(call, provider)})" for call in message.tool_calls]
    return f"{message.role}: " + "\n".join([message.content, *calls] if message.content else calls)
