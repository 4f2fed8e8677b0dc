"""A model behind HTTP, in another process: answers by content, gives verdicts, counts what is paid for.

usage: chat_service_program.py
A line `open PORT` on standard input starts a service, which shares nothing with others, and prints its port;
`close PORT` ends it and its connections. POST /v1/chat/completions is a paid call; POST /set changes how it behaves;
GET /state tells what it was asked. The same request always gets the same answer, whoever asks, however often.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
import time
from collections import Counter
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_ANSWER = re.compile(r"^<answer_(\d) nonce=\w+>\n(.*?)\n</answer_\1 nonce=\w+>$", re.DOTALL | re.MULTILINE)


class Brain:
    """What the service does with a call."""

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {
            "latency": 0.0, "padding": 0, "rules": [], "keep": False, "drop": False, "hold": False, "prefer": "",
            "times": False,
        }  # fmt: skip
        self.transports: set[asyncio.Transport] = set()
        self.held: list[Callable[[], None]] = []
        self.paid: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        self.kept: list[Any] = []
        self.times: list[tuple[float, str]] = []
        self.at_once = self.most_at_once = self.connections = 0

    def reply(self, body: bytes) -> tuple[int, dict[str, Any]]:
        """Status and body for a call, which counts as paid from the moment it has arrived; 0 for no reply at all."""
        asked = json.loads(body)
        digest = hashlib.sha256(body).hexdigest()
        kind = "judge" if "response_format" in asked else "generate"
        self.paid[digest] += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.kinds[kind] += 1
        self.models[asked["model"]] += 1
        if self.settings["keep"]:
            self.kept.append(asked)
        if self.settings["times"]:
            self.times.append((time.monotonic(), asked["model"]))
        texts = [message["content"] for message in asked["messages"]]
        for rule in self.settings["rules"]:
            meant = rule.get("kind", kind) == kind and rule.get("model", asked["model"]) == asked["model"]
            if meant and any(rule.get("match", "") in said for said in texts):
                if "times" in rule:
                    rule["times"] -= 1
                    if rule["times"] < 0:
                        continue
                if rule.get("hang"):
                    return 0, {}
                if "status" in rule:
                    error = {"error": {"message": rule.get("message", "as told")}}
                    return rule["status"], error | {"headers": rule.get("headers", {})}
                return 200, _completion(asked, rule["text"], rule.get("tool_calls"))
        if kind == "generate":
            text = f"Answer {digest[:12]}. " + "x" * self.settings["padding"]
        else:
            text = (self.settings["prefer"] and _longer(asked)) or _verdict(asked, digest)
        return 200, _completion(asked, text)

    def send(self, reply: Callable[[], None]) -> None:
        self.held.append(reply)
        self.release()

    def release(self) -> None:
        """Send the replies that wait, unless they are to be held back."""
        if not self.settings["hold"]:
            held, self.held = self.held, []
            for reply in held:
                reply()

    def state(self) -> dict[str, Any]:
        return {
            "paid": self.paid.total(),
            "distinct": len(self.paid),
            "most": max(self.paid.values(), default=0),
            "kinds": dict(self.kinds),
            "kept": self.kept,
            "times": self.times,
            "models": dict(self.models),
            "most_at_once": self.most_at_once,
            "connections": self.connections,
        }


def _completion(asked: dict[str, Any], text: str, tool_calls: list[Any] | None = None) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, **({"tool_calls": tool_calls} if tool_calls else {})}
    return {
        "model": asked["model"],
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": len(text) // 4},
    }


def _verdict(asked: dict[str, Any], digest: str) -> str:
    """Scores and flags that follow from what is judged."""
    whole = asked["response_format"]["json_schema"]["schema"]
    schema = whole["properties"]
    if "metrics" not in schema:
        return _by_the_mock(asked, whole, digest)
    numbers = iter(bytes.fromhex(digest))
    metrics = {}
    for name, mark in schema["metrics"]["properties"].items():
        least, most = mark["properties"]["score"]["minimum"], mark["properties"]["score"]["maximum"]
        score = round(least + (most - least) * next(numbers) / 255, 2)
        metrics[name] = {"rationale": f"because of {digest[:6]}", "score": score}
    flags = {name: next(numbers) < 32 for name in schema["flags"]["properties"]}
    return json.dumps({"metrics": metrics, "flags": flags, "overall_comment": "judged"})


def _longer(asked: dict[str, Any]) -> str | None:
    """The longer of two answers, as a judge that was asked which is better; None if it was asked something else."""
    found = dict(_ANSWER.findall(asked["messages"][-1]["content"]))
    if found.keys() != {"1", "2"}:
        return None
    one, two = len(found["1"]), len(found["2"])
    return json.dumps({"reason": "By length.", "better": "tie" if one == two else "1" if one > two else "2"})


def _by_the_mock(asked: dict[str, Any], schema: dict[str, Any], digest: str) -> str:
    """What metrics other than rubrics ask a judge."""
    from prompt_evaluator.model import Message, Request  # noqa: PLC0415 - most tests need nothing of it, and start sooner
    from prompt_evaluator.providers.mock.judge import judgement  # noqa: PLC0415

    messages = tuple(Message(message["role"], message["content"]) for message in asked["messages"])
    request = Request(model=asked["model"], messages=messages, response_schema=schema)
    return judgement(request, Random(digest), Random(digest))


class _Connection(asyncio.Protocol):
    """Just enough HTTP for clients that send one request at a time."""

    def __init__(self, brain: Brain) -> None:
        self.brain, self.buffer, self.used = brain, b"", False
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.brain.transports.add(transport)

    def connection_lost(self, _error: Exception | None) -> None:
        assert self.transport is not None
        self.brain.transports.discard(self.transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        end = self.buffer.find(b"\r\n\r\n") + 4
        if end < 4:
            return
        found = _LENGTH.search(self.buffer, 0, end)
        length = int(found[1]) if found else 0
        if len(self.buffer) < end + length:
            return
        head, body, self.buffer = self.buffer[:end], self.buffer[end : end + length], b""
        if head.startswith(b"GET /state"):
            self._write(200, self.brain.state())
        elif head.startswith(b"POST /set"):
            self.brain.settings |= json.loads(body)
            self.brain.release()
            self._write(200, {})
        elif self.brain.settings["drop"]:
            assert self.transport is not None
            self.transport.abort()
        else:
            self.brain.connections += not self.used
            self.used = True
            reply = partial(self._answer, *self.brain.reply(body))
            asyncio.get_running_loop().call_later(self.brain.settings["latency"], self.brain.send, reply)

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        self.brain.at_once -= 1
        if status:
            self._write(status, body)

    def _write(self, status: int, body: dict[str, Any]) -> None:
        headers = "".join(f"{name}: {value}\r\n" for name, value in body.pop("headers", {}).items())
        data = json.dumps(body).encode()
        if self.transport is not None and not self.transport.is_closing():
            head = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n" % (
                status,
                headers.encode(),
                len(data),
            )
            self.transport.write(head + data)


async def _serve() -> None:
    services: dict[int, tuple[asyncio.Server, Brain]] = {}
    while line := await asyncio.to_thread(sys.stdin.readline):
        order, number = line.split()
        port = int(number)
        if order == "open":
            brain = Brain()
            make = asyncio.get_running_loop().create_server
            server = await make(partial(_Connection, brain), "127.0.0.1", port, backlog=1024)
            port = server.sockets[0].getsockname()[1]
            services[port] = server, brain
        else:
            server, brain = services.pop(port)
            server.close()
            for transport in [*brain.transports]:
                transport.abort()
        print(port, flush=True)  # noqa: T201 - how the port is made known


if __name__ == "__main__":
    asyncio.run(_serve())
