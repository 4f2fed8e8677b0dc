"""The release harness's router: `{prompt, config, attempt}` in, `{output}` out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.model import Answer
from prompt_evaluator.providers.http import decode, encode
from prompt_evaluator.providers.http_provider import HttpProvider

if TYPE_CHECKING:
    from prompt_evaluator.model import ProviderSettings, Request
    from prompt_evaluator.providers.call_context import CallContext


class _Reply(msgspec.Struct):
    output: str


_REPLY = msgspec.json.Decoder(_Reply)


def build(name: str, settings: ProviderSettings, calls: CallContext) -> RouterProvider:
    """The factory that the registry names."""
    return RouterProvider(name, settings, calls)


class RouterProvider(HttpProvider):
    """Posts the prompt to the router, with the configuration entry under test as it stands."""

    async def _send(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - handed on to the transport
        prompt = "\n\n".join(message.content for message in request.messages)
        config = request.options or {"id": request.model}
        body = encode({"prompt": prompt, "config": config, "attempt": request.attempt}, self._name)
        reply = await self._post(body, timeout)
        output = decode(reply, _REPLY, self._name).output
        return Answer(text=output, latency_ms=reply.latency_ms, model=request.model)
