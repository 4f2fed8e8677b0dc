"""The release harness's router: takes `{prompt, config, attempt}`, returns `{output}`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.model import Answer
from prompt_evaluator.providers.conversation import written_arguments
from prompt_evaluator.providers.http import decode, encode
from prompt_evaluator.providers.http_provider import HttpProvider

if TYPE_CHECKING:
    from prompt_evaluator.model import Message, ProviderSettings, Request
    from prompt_evaluator.providers.opened import Resources


class _Reply(msgspec.Struct):
    output: str


_REPLY = msgspec.json.Decoder(_Reply)


def build(name: str, settings: ProviderSettings, resources: Resources) -> RouterProvider:
    """Factory named in `catalogue.KINDS`."""
    return RouterProvider(name, settings, resources)


class RouterProvider(HttpProvider):
    """Posts the prompt to the router, along with the unchanged configuration entry under test."""

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - passed to the transport
        prompt = _prompt(request.messages, self._name)
        config = request.options if "id" in request.options else {"id": request.model, **request.options}
        body = encode({"prompt": prompt, "config": config, "attempt": request.attempt}, self._name)
        reply = await self._post(body, timeout)
        output = decode(reply, _REPLY, self._name).output
        return Answer(text=output, latency_ms=reply.latency_ms, model=request.model)


def _prompt(messages: tuple[Message, ...], provider: str) -> str:
    """Join all messages into one text, because the router accepts nothing else.

    System messages and a single user message are joined as they are. In longer conversations each message is prefixed
    with its role, as in `user: …`, and the assistant's tool calls follow its text as `weather({"city":"Rome"})`.
    """
    turns = [message.role for message in messages if message.role != "system"]
    if turns in ([], ["user"]):
        return "\n\n".join(message.content for message in messages)
    return "\n\n".join(_turn(message, provider) for message in messages)


def _turn(message: Message, provider: str) -> str:
    calls = [f"{call.name}({written_arguments(call, provider)})" for call in message.tool_calls]
    return f"{message.role}: " + "\n".join([message.content, *calls] if message.content else calls)
