"""What the strict service knows of models, and what it answers in any protocol: a text, JSON of the shape that is
wanted, calls of tools, or a fault."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

THINKING = 64
"""Tokens of reasoning in an answer of a model that thinks, unless `[think:N]` says otherwise."""
FACTS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("strict_models.yaml").read_text("utf-8"))
_STATUSES = {  # status: type and code at OpenAI, type at Anthropic
    "401": ("invalid_request_error", "invalid_api_key", "authentication_error"),
    "402": ("billing_error", None, "billing_error"),
    "403": ("permission_error", None, "permission_error"),
    "413": ("invalid_request_error", None, "request_too_large"),
    "429": ("requests", "rate_limit_exceeded", "rate_limit_error"),
    "500": ("server_error", None, "api_error"),
    "503": ("server_error", "server_is_overloaded", "api_error"),
    "504": ("server_error", None, "timeout_error"),
    "529": ("server_error", "overloaded", "overloaded_error"),
}
_TRANSIENT = ("429", "500", "503", "504", "529")
_FOR_GOOD = re.compile(r"credit_balance_exhausted|\w+_limit_(exceeded|reached)")
_TELLS_WHEN = ("openai", "azure", "anthropic", "groq", "openrouter", "litellm", "litellm-drop")
_DIRECTIVE = re.compile(r"\s*\[(fault|think|say)(?: ([\w-]+))?(?::([\w.-]+))?(?: x(\d+))?\]\s*")
_VERDICTS = re.compile(r"\bGive (\d+) verdict")
_PREFIX = re.compile(r"^((us|eu|global)\.)?(anthropic\.|openai/|anthropic/)?")
_DATE = re.compile(r"-20\d\d-?\d\d-?\d\d$")


@dataclass(frozen=True)
class Family:
    """Models that take the same parameters; the words are explained in `strict_models.yaml`."""

    kind: str
    efforts: str = ""
    default: str | None = None
    samples: str = "always"
    chat_tools: str = "always"
    takes_max: bool = False
    """Responses takes the effort `max`, which chat does not."""
    chat: bool = True
    writes_cost: bool = False
    refuses: str = ""
    ignores: str = ""
    thinks: str = "asked"
    thinking: str = ""
    always_at: str = ""
    """Efforts at which thinking cannot be disabled."""
    forced_tools: str = "always"
    cache_minimum: int = 1_024
    most_output: int = 128_000
    prefill: bool = False
    first_version_on_bedrock: bool = False
    """Only the first version of the protocol is there for it."""
    context: int = 128_000
    thinking_field: str = "reasoning"
    one_system_message: bool = False


@dataclass(frozen=True)
class Service:
    """Where a service is, how it says no, and to what."""

    name: str
    base: str
    speaks: str
    messages: str = ""
    """The base of that protocol, if it is another."""
    shape: str = "openai"
    key: str = "bearer"
    relays: bool = False
    fields: str = ""
    refuses: str = ""
    ignores: str = ""
    models: Mapping[str, Any] = field(default_factory=dict)


def _families(table: Mapping[str, Any], kind: str) -> dict[str, Family]:
    return {name: Family(kind, **facts) for names, facts in table.items() for name in names.split()}


GPT, CLAUDE = _families(FACTS["gpt"], "gpt"), _families(FACTS["claude"], "claude")
SERVICES = {name: Service(name, **facts) for name, facts in FACTS["services"].items()}


class Refused(Exception):  # noqa: N818 - an answer, too
    """A request that is answered by an error."""

    status = 400
    kind = "invalid_request_error"
    drop: Sequence[str] = ()
    """The fields without which the request would do."""
    headers: Mapping[str, str] = {}

    def __init__(self, message: str, param: str | None = None, code: str | None = None, **more: Any) -> None:
        super().__init__(message)
        self.message, self.param, self.code = message, param, code
        self.__dict__.update(more)


class Bill(NamedTuple):
    """The tokens of a request that is charged."""

    input: int
    """All, whether read from a cache, written to one, or neither."""
    output: int
    """All, reasoning included."""
    cached: int = 0
    written: int = 0
    """For whatever time; `written_1h` is a part of it."""
    written_1h: int = 0
    reasoning: int = 0
    stated_cost: float | None = None


class Said(NamedTuple):
    """An answer, before it is written in a protocol."""

    text: str
    calls: tuple[dict[str, Any], ...] = ()
    thinking: int = 0
    end: str = "stop"
    """stop, tool_calls, length, or the name of a fault."""
    detail: str | None = None

    @property
    def output(self) -> int:
        shown = self.text + "".join(json.dumps(call) for call in self.calls)
        return self.thinking + (tokens(shown) if shown else 0)


@dataclass
class Ask:
    """A request, as its answer depends on it."""

    service: Service
    protocol: str
    body: dict[str, Any]
    headers: Mapping[str, str]
    key: str
    model: str = ""
    """Without prefix and date; of a deployment, what it is of."""
    family: Family = Family("other")
    prompt: str = ""
    """Tools, instructions and messages, as one text."""
    last: str = ""
    """The user's last message; empty if tools have answered since."""
    schema: dict[str, Any] | None = None
    tools: dict[str, Any] = field(default_factory=dict)
    """Maps name to the schema of the arguments."""
    forced: str | None = None
    """The tool that has to be called, or `*` for any."""
    limit: int | None = None
    thinks: bool = False
    ignored: list[str] = field(default_factory=list)
    """What was accepted and has no effect."""
    broken: bool = False
    """Only half of the reply is to be sent."""

    @property
    def judge(self) -> bool:
        """Whether JSON of some shape is wanted."""
        return self.schema is not None or "JSON object" in self.prompt


@dataclass
class State:
    """What the service was told, and what it remembers."""

    answer: Callable[[Ask], str | None] | None = None
    fault: Callable[[Ask], str | None] | None = None
    tool_answers: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    retry_after: str = "0.05"
    bad_keys: set[str] = field(default_factory=set)
    stored: dict[str, list[str]] = field(default_factory=dict)
    """Maps the id of a stored response to the ids of its calls."""
    seen: Counter[tuple[str, ...]] = field(default_factory=Counter)
    cached: set[tuple[str, ...]] = field(default_factory=set)
    """Service, model and beginning of a prompt."""


def tokens(text: str) -> int:
    return len(text) // 4 + 1


def bare(name: str, *, relayed: bool = False) -> str:
    return _DATE.sub("", _PREFIX.sub("", name) if relayed else name)


def said(ask: Ask, state: State) -> Said:
    """Answer.

    Raises:
        Refused: A fault was asked for that is an error.
    """
    told, rest = _told(ask.last)
    if state.fault and (wanted := state.fault(ask)):
        told |= _told(f"[fault {wanted}]")[0]
    name, detail, times = told.get("fault", ("", None, None))
    if name in _TRANSIENT and not _FOR_GOOD.fullmatch(detail or ""):
        times = times or "1"
    if times is not None:
        state.seen[(about := (ask.service.name, ask.model, ask.last))] += 1
        name = name if state.seen[about] <= int(times) else ""
    ask.broken = name == "broken"
    if name in _STATUSES:
        raise _status(name, detail, ask, state)
    thinking = int(told["think"][1]) if "think" in told else THINKING
    answer = _answer(ask, state, rest, literally="say" in told)._replace(thinking=thinking if ask.thinks else 0)
    return _faulty(_cut(answer, ask.limit), name, detail, ask.limit)


def _told(text: str) -> tuple[dict[str, Any], str]:
    found = {}
    while match := _DIRECTIVE.match(text):
        found[match[1]] = match.groups()[1:]
        text = text[match.end() :]
    return found, text


def _status(name: str, detail: str | None, ask: Ask, state: State) -> Refused:
    kind, code, of_anthropic = _STATUSES[name]
    headers = {}
    if name == "401":
        state.bad_keys.add(ask.key)
    if _FOR_GOOD.fullmatch(detail or ""):
        kind, headers = "insufficient_quota", {"x-should-retry": "false"}
    elif name in ("429", "503", "529") and ask.service.name == "azure":
        headers = {"retry-after-ms": f"{float(state.retry_after) * 1000:g}"}
    elif name in ("429", "503", "529") and ask.service.name in _TELLS_WHEN:
        headers = {"retry-after": state.retry_after}
    if ask.protocol == "messages":
        kind, code = of_anthropic, None
    return Refused(f"A fault: {detail or kind}.", code=detail or code, status=int(name), kind=kind, headers=headers)


def _answer(ask: Ask, state: State, rest: str, *, literally: bool) -> Said:
    text = state.answer(ask) if state.answer else None
    if text is not None or literally:
        return Said(rest if text is None else text)
    if calls := tuple(_calls(ask, state)):
        return Said("", calls, end="tool_calls")
    if ask.judge:
        shown, count = _example(ask.prompt), _VERDICTS.search(ask.prompt)
        reply = filled(ask.schema, shown, int(count[1]) if count else 1) if ask.schema else shown
        if reply is not None:
            return Said(json.dumps(reply))
    return Said(f"An answer to: {rest[:200]}")


def _calls(ask: Ask, state: State) -> Iterator[dict[str, Any]]:
    if ask.forced:
        name = next(iter(ask.tools)) if ask.forced == "*" else ask.forced
        yield {"name": name, "args": filled(ask.tools[name], _example(ask.prompt))}
    elif ask.last:
        for part, calls in state.tool_answers.items():
            if part in ask.last:
                yield from ({"name": c["name"], "args": c["args"]} for c in calls if c["name"] in ask.tools)


def _cut(answer: Said, limit: int | None) -> Said:
    if limit is None or answer.output <= limit:
        return answer
    room = limit - answer.thinking
    text = answer.text[: room * 4 - 1] if room > 0 else ""
    return answer._replace(text=text, calls=(), thinking=min(answer.thinking, limit), end="length")


def _faulty(answer: Said, name: str, detail: str | None, limit: int | None) -> Said:
    changes: dict[str, Any] = {
        "": {},
        "length": {"text": answer.text[: len(answer.text) // 2], "calls": (), "end": name},
        "thinking": {"text": "", "calls": (), "thinking": limit or 4_096, "end": "length"},
        "surrogate": {"text": f"Half of a pair: \ud83d. {answer.text}"},
        "prose": {"text": "I would say that this is a decent answer.", "calls": (), "end": "stop"},
        "refusal": {"text": "I cannot help with that.", "calls": (), "end": name, "detail": detail},
        **{kept: {"end": kept} for kept in ("context", "broken", "phases")},
    }
    return answer._replace(**changes.get(name, {"text": "", "calls": (), "end": name, "detail": detail}))


def _example(prompt: str) -> dict[str, Any] | None:
    """The object that a prompt shows as the shape of the reply, with its gaps filled."""
    shown = re.sub(r", *(\.\.\.|…)", "", prompt.partition("of this shape")[2] or prompt)
    shown = re.sub(r'"<([^">]*)>"', lambda gap: json.dumps(gap[1].partition(" or ")[0]), shown)
    shown = re.sub(
        r"<[^>\n]*?(-?[\d.]+) to (-?[\d.]+)>", lambda gap: f"{_within(float(gap[1]), float(gap[2])):g}", shown
    )
    shown = shown.replace("<true or false>", "false").replace("<n>", "1")
    for start in re.finditer(r"\{", shown):
        try:
            found, _ = json.JSONDecoder().raw_decode(shown, start.start())
        except ValueError:
            continue
        if found:
            return dict(found)
    return None


def _within(least: float, most: float) -> float:
    return min(max(4, least), most)


def filled(schema: Mapping[str, Any], shown: Any = None, count: int = 1, root: Mapping[str, Any] | None = None) -> Any:
    """A value of a schema; a number that the schema leaves open is the one that the prompt shows, else 4."""
    root = root or schema
    if "$ref" in schema or "anyOf" in schema:
        part = root["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema["anyOf"][0]
        return filled(part, shown, count, root)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else schema["enum"][0]
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        shown = shown if isinstance(shown, dict) else {}
        return {name: filled(part, shown.get(name), count, root) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        numbered = "number" in schema["items"].get("properties", {})
        wanted = max(schema.get("minItems", 1), count if numbered else 1)
        first = shown[0] if isinstance(shown, list) and shown else None
        items = [filled(schema["items"], first, 1, root) for _ in range(wanted)]
        return [{**item, "number": n} for n, item in enumerate(items, start=1)] if numbered else items
    if kind in ("integer", "number"):
        open_ended = not {"minimum", "maximum"} & schema.keys()
        given = shown if open_ended and isinstance(shown, int | float) else None
        return _within(schema.get("minimum", 4), schema.get("maximum", 4)) if given is None else given
    return {"boolean": False, "null": None}.get(kind, "Because it is so.".ljust(schema.get("minLength", 0), "."))


def logprobs(text: str, top: int) -> list[dict[str, Any]]:
    """Log-probabilities of an answer's tokens: the service is sure of each."""
    found = [{"token": token, "logprob": -0.01, "bytes": None} for token in re.findall(r"\w+|\W", text)]
    return [{**token, "top_logprobs": [token][:top]} for token in found]
