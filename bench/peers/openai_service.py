"""The service of `chat_server.py`, with every field that strict clients ask for, for tools other than ours.

usage: openai_service.py LATENCY_MS
One text answers every question, as a plain answer and as the judge of each tool: a rubric's judgement of ours,
`GRADE: C`, `pass`, and `score` from 0 to 1. A request that offers a tool is answered by a call of that tool. A GET
returns how many requests there were and sets the number back to 0.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import chat_server

_JUDGED = {"reason": "A plain and complete answer.", "pass": True, "score": 1.0}
_TEXT = json.dumps({**chat_server.VERDICT, **_JUDGED, "grade": "GRADE: C"})
_TOOL = re.compile(rb'"tools": ?\[.*?"name": ?"([^"]+)"', re.DOTALL)


def _reply(message: dict[str, Any], finish_reason: str) -> bytes:
    body = json.dumps(
        {
            "id": "chatcmpl-bench",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "bench",
            "choices": [{"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", **message}}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 30, "total_tokens": 50},
        }
    ).encode()
    return chat_server.response(body)


def _tool_call(name: str) -> bytes:
    called = {"name": name, "arguments": json.dumps(_JUDGED)}
    return _reply(
        {"content": None, "tool_calls": [{"id": "call-1", "type": "function", "function": called}]}, "tool_calls"
    )


_ANSWER = _reply({"content": _TEXT}, "stop")


class Connection(chat_server.Connection):
    """Counts the requests of all connections."""

    requests = 0

    def reply(self, request: bytes) -> bytes:
        if request.startswith(b"GET"):
            return self._counts()
        Connection.requests += 1
        if b'"tools"' in request and (tool := _TOOL.search(request)):
            return _tool_call(tool[1].decode())
        return _ANSWER

    def _counts(self) -> bytes:
        body = json.dumps({"requests": Connection.requests}).encode()
        Connection.requests = 0
        return chat_server.response(body)


if __name__ == "__main__":
    asyncio.run(chat_server.serve(float(sys.argv[1]), Connection))
