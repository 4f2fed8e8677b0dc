"""Anthropic's messages, as the strict service speaks them. Its errors name no parameter: all is in the text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from strict_answers import CLAUDE, FACTS, Ask, Bill, Family, Refused, Said, State, bare, said, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSIONS = ("2023-06-01", "2026-10-21")
_SAMPLING = ("temperature", "top_p", "top_k")
_BOUNDS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
)
_BILLED_REFUSALS = ("bio", "frontier_llm", "reasoning_extraction")
_MOST_BREAKPOINTS = 4


def messages(ask: Ask, state: State) -> tuple[dict[str, Any], Bill | None]:
    _resolve(ask)
    for refusal in _refusals(ask):
        raise Refused(refusal)
    body = ask.body
    blocks = [*_blocks(body)]
    ask.prompt = "\n".join(text for text, _ in blocks)
    ask.last = _text(body["messages"][-1]["content"]) if body["messages"][-1]["role"] == "user" else ""
    choice = body.get("tool_choice") or {}
    if choice.get("type") != "none":
        ask.tools = {tool["name"]: tool["input_schema"] for tool in body.get("tools") or ()}
    ask.forced = {"any": "*", "tool": choice.get("name")}.get(choice.get("type", ""))
    ask.schema = ((body.get("output_config") or {}).get("format") or {}).get("schema")
    ask.limit, ask.thinks = body["max_tokens"], _thinks(ask)
    if tokens(ask.prompt) > ask.family.context:
        raise Refused(f"prompt is too long: {tokens(ask.prompt)} tokens > {ask.family.context} maximum")
    answer = said(ask, state)
    if answer.end in ("policy", "content-filter"):
        raise Refused("Output blocked by content filtering policy")
    refused = answer.end == "refusal"
    bill = _bill(ask, answer._replace(text="", thinking=0) if refused else answer, blocks, state)
    return _reply(ask, answer, bill), None if refused and answer.detail not in _BILLED_REFUSALS else bill


def _resolve(ask: Ask) -> None:
    name = str(ask.body.get("model"))
    own = {each: Family("other", **facts) for names, facts in ask.service.models.items() for each in names.split()}
    ask.model = bare(name, relayed=ask.service.relays)
    found = own.get(name) or CLAUDE.get(ask.model)
    if found is None:
        raise Refused(f"model: {name}", status=404, kind="not_found_error")
    ask.family = found


def _thinks(ask: Ask) -> bool:
    asked = (ask.body.get("thinking") or {}).get("type")
    return asked in ("adaptive", "enabled") if asked else ask.family.thinks != "asked"


def _refusals(ask: Ask) -> Iterator[str]:
    body, family, version = ask.body, ask.family, ask.headers.get("anthropic-version")
    if version not in _VERSIONS:
        yield (
            "anthropic-version: header is required" if not version else f"anthropic-version: unknown version {version}"
        )
    if family.kind != "claude":
        return
    if ask.service.name == "bedrock" and family.first_version_on_bedrock and version == _VERSIONS[1]:
        yield f"anthropic-version: {version} is not supported for this model."
    known = [name for name in FACTS["messages_fields"].split() if version != _VERSIONS[1] or name not in _SAMPLING]
    yield from (f"{name}: Extra inputs are not permitted" for name in body if name not in known)
    yield from (f"{name}: Field required" for name in ("max_tokens", "messages") if name not in body)
    yield from _about_sampling(ask)
    if body["max_tokens"] > family.most_output:
        most = f"{family.most_output}, which is the maximum allowed number of output tokens for {ask.model}"
        yield f"max_tokens: {body['max_tokens']} > {most}"
    yield from _about_thinking(ask)
    yield from _about_turns(ask, newer=version == _VERSIONS[1])
    schema = ((body.get("output_config") or {}).get("format") or {}).get("schema")
    if schema is not None:
        yield from _about_schema(schema, schema)


def _about_sampling(ask: Ask) -> Iterator[str]:
    body, family = ask.body, ask.family
    given = [name for name in _SAMPLING if name in body and (name != "temperature" or body[name] != 1)]
    if not 0 <= body.get("temperature", 1) <= 1:
        yield "temperature: range: 0..1"
    if family.samples == "never":
        yield from (f"`{name}` is deprecated for this model." for name in given)
    elif "temperature" in body and "top_p" in body:
        yield "`temperature` and `top_p` cannot both be specified for this model. Please use only one."


def _about_thinking(ask: Ask) -> Iterator[str]:
    body, family = ask.body, ask.family
    asked, thinking = body.get("output_config") or {}, body.get("thinking") or {}
    effort, kind = asked.get("effort"), thinking.get("type")
    if effort and not family.efforts:
        yield "This model does not support the effort parameter."
    elif effort and effort not in family.efforts.split():
        yield f"output_config.effort: Input should be one of {', '.join(map(repr, family.efforts.split()))}"
    if kind and kind not in family.thinking.split():
        remedy = 'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        yield f'"thinking.type.{kind}" is not supported for this model. {remedy if kind == "enabled" else ""}'.strip()
    too_high = "xhigh max" if kind == "between_tools" else family.always_at if kind == "disabled" else ""
    if (effort or family.default) in too_high.split():
        yield f'"thinking.type.{kind}" is not supported at the effort {effort}.'
    if kind == "enabled" and not 1_024 <= thinking.get("budget_tokens", 0) < body["max_tokens"]:
        yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024, and less than max_tokens"
    if (body.get("tool_choice") or {}).get("type") in ("tool", "any"):
        if family.forced_tools == "never":
            yield 'tool_choice: type "tool" and "any" are not supported for this model.'
        if family.forced_tools == "if not enabled" and kind == "enabled":
            yield "Thinking may not be enabled when tool_choice forces tool use."


def _about_turns(ask: Ask, *, newer: bool) -> Iterator[str]:
    turns = ask.body["messages"]
    marked = sum(mark is not None for _, mark in _blocks(ask.body))
    if marked > _MOST_BREAKPOINTS:
        yield f"A maximum of {_MOST_BREAKPOINTS} blocks with cache_control may be provided. Found {marked}."
    if turns[-1]["role"] == "assistant" and not ask.family.prefill:
        yield "This model does not support assistant message prefill. The conversation must end with a user message."
    called: set[str] = set()
    for n, turn in enumerate(turns):
        if turn["role"] not in ("user", "assistant"):
            yield f'messages.{n}.role: Unexpected role "{turn["role"]}". Use the top-level `system` parameter.'
        parts = turn["content"] if isinstance(turn["content"], list) else [{"type": "text", "text": turn["content"]}]
        for part in parts:
            if part["type"] == "text" and not part["text"]:
                yield f"messages.{n}: text content blocks must be non-empty"
            if part["type"] == "tool_result" and part["tool_use_id"] not in called:
                yield f"messages.{n}: unexpected `tool_use_id` found in `tool_result` blocks: {part['tool_use_id']}."
            if newer and (turn["role"], part["type"]) == ("assistant", "document"):
                yield f"messages.{n}: `document` blocks are not permitted in assistant turns"
            if newer and turn["role"] == "user" and part["type"] == "text" and "citations" in part:
                yield f"messages.{n}.citations: Extra inputs are not permitted"
        called = {part["id"] for part in parts if part["type"] == "tool_use"}


def _about_schema(schema: Any, root: Any, inside: tuple[str, ...] = ()) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if kind == "object" and schema.get("additionalProperties") is not False:
        yield "output_format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false"
    bounds = [name for name in _BOUNDS if name in schema] + (["minItems"] if schema.get("minItems", 0) > 1 else [])
    if bounds:
        yield f"output_format.schema: For '{kind}' type, properties {', '.join(bounds)} are not supported"
    if (name := schema.get("$ref", "").rpartition("/")[2]) and name in inside:
        yield "output_format.schema: Recursive schemas are not supported"
    elif name:
        yield from _about_schema(root["$defs"][name], root, (*inside, name))
    for part in (*schema.get("properties", {}).values(), schema.get("items"), *schema.get("anyOf", ())):
        yield from _about_schema(part, root, inside)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _blocks(body: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Each block's text, in the order of the cache, and for how long what ends there is to be cached."""
    spoken = [part for turn in body["messages"] for part in _listed(turn["content"])]
    blocks = [*(body.get("tools") or ()), *_listed(body.get("system") or []), *spoken]
    if blocks and "cache_control" in body:
        blocks[-1] = {"cache_control": body["cache_control"], **blocks[-1]}
    for block in blocks:
        mark = block.get("cache_control")
        rest = {name: value for name, value in block.items() if name not in ("cache_control", "type")}
        yield rest["text"] if rest.keys() == {"text"} else json.dumps(rest), mark and mark.get("ttl", "5m")


def _listed(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _bill(ask: Ask, answer: Said, blocks: list[tuple[str, str | None]], state: State) -> Bill:
    """Count; read the longest prefix that is in the cache, and write those that end at a mark."""
    read = done = 0
    written = {"5m": 0, "1h": 0}
    last = max((n for n, (_, mark) in enumerate(blocks) if mark), default=-1)
    prefixes = ["\n".join(text for text, _ in blocks[: n + 1]) for n in range(last + 1)]
    for prefix in prefixes:
        if (ask.service.name, ask.model, prefix) in state.cached:
            read = done = len(prefix) // 4
    for prefix, (_, mark) in zip(prefixes, blocks, strict=False):
        size = len(prefix) // 4
        if mark and size > done and size >= ask.family.cache_minimum:
            written[mark] += size - done
            done = size
            state.cached.add((ask.service.name, ask.model, prefix))
    return Bill(tokens(ask.prompt), answer.output, read, sum(written.values()), written["1h"], answer.thinking)


def _reply(ask: Ask, answer: Said, bill: Bill) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if answer.thinking:
        shown = "" if ask.family.samples == "never" else "Let me think."
        content.append({"type": "thinking", "thinking": shown, "signature": "c2lnbmVk"})
    content += [{"type": "text", "text": answer.text}] if answer.text else []
    for n, call in enumerate(answer.calls):
        content.append({"type": "tool_use", "id": f"toolu_{n}", "name": call["name"], "input": call["args"]})
    stops = {"tool_calls": "tool_use", "length": "max_tokens", "context": "model_context_window_exceeded"}
    stops |= {"refusal": "refusal", "pause": "pause_turn"}
    details = {"type": "refusal", "category": answer.detail or "cyber", "explanation": answer.text}
    refused = answer.end == "refusal"
    usage = {
        "input_tokens": bill.input - bill.cached - bill.written,
        "cache_read_input_tokens": bill.cached,
        "cache_creation_input_tokens": bill.written,
        "cache_creation": {
            "ephemeral_5m_input_tokens": bill.written - bill.written_1h,
            "ephemeral_1h_input_tokens": bill.written_1h,
        },
        "output_tokens": bill.output,
        "output_tokens_details": {"thinking_tokens": bill.reasoning},
        "service_tier": "standard",
    }
    reply = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": ask.model, "usage": usage,
        "stop_reason": stops.get(answer.end, "end_turn"), "stop_sequence": None,
        "stop_details": details if refused else None,
    }  # fmt: skip
    return reply if answer.end == "unreadable" else reply | {"content": [] if refused else content}
