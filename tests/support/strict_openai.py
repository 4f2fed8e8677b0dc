"""Chat completions and Responses, as the strict service speaks them, with what each service refuses."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from strict_answers import (
    CLAUDE,
    FACTS,
    GPT,
    SERVICES,
    Ask,
    Bill,
    Family,
    Refused,
    Said,
    State,
    bare,
    logprobs,
    said,
    tokens,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SAMPLING = ("top_p", "logprobs", "top_logprobs", "presence_penalty", "frequency_penalty", "logit_bias")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CACHES = ("openai", "azure", "deepseek", "openrouter")
_CACHE_LEAST, _CACHE_STEP = 1_024, 128
_USER_PARTS, _ASSISTANT_PARTS = ("input_text", "input_image", "input_file"), ("output_text", "refusal")
_FINISH = {name: name for name in ("length", "tool_calls")}
_FINISH |= {"content-filter": "content_filter", "context": "model_length"}
_NOW = 1_795_046_400


def chat(ask: Ask, state: State) -> tuple[dict[str, Any], Bill]:
    _resolve(ask)
    body, turns = ask.body, ask.body["messages"]
    effort = body.get("reasoning_effort", ask.family.default)
    _check(ask, [*_unknown_fields(ask), *_refusals(ask, effort, sent="reasoning_effort" in body)])
    _check_turns(ask, turns)
    functions = [_needed(tool, f"tools[{n}]", "function") for n, tool in enumerate(body.get("tools") or ())]
    choice = body.get("tool_choice")
    _take_tools(ask, functions, choice["function"]["name"] if isinstance(choice, dict) else choice)
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        if ask.service.name == "deepseek":
            raise Refused("This response_format type is unavailable now")
        ask.schema = _schema(wanted["json_schema"], "response_format", ("response_format", None))
    limits = [
        body[name] for name in ("max_completion_tokens", "max_tokens") if name in body and name not in ask.ignored
    ]
    ask.limit = (limits or [None])[0]
    return _answered(ask, state, turns, functions, effort)


def responses(ask: Ask, state: State) -> tuple[dict[str, Any], Bill]:
    _resolve(ask)
    body = ask.body
    for name in body:
        if name in FACTS["moved"]:
            text = f"'{name}'. In the Responses API, this parameter has moved to '{FACTS['moved'][name]}'."
            raise Refused(f"Unsupported parameter: {text}", name, "unsupported_parameter")
        if name not in FACTS["responses_fields"].split():
            raise Refused(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    reasoning = body.get("reasoning") or {}
    effort = reasoning.get("effort", ask.family.default)
    _check(ask, [*_refusals(ask, effort, sent="effort" in reasoning)])
    functions = body.get("tools") or []
    for n, tool in enumerate(functions):
        for name in ("name", "parameters", "strict"):
            _needed(tool, f"tools[{n}]", name)
    choice = body.get("tool_choice")
    _take_tools(ask, functions, choice["name"] if isinstance(choice, dict) else choice)
    wanted = (body.get("text") or {}).get("format") or {}
    if wanted.get("type") == "json_schema":
        ask.schema = _schema(wanted, "text.format", ("text.format.schema", "invalid_json_schema"))
    items = body["input"] if isinstance(body["input"], list) else [{"role": "user", "content": body["input"]}]
    _check_items(items, body.get("previous_response_id"), state)
    told = [{"role": "system", "content": body.get("instructions") or ""}, *items]
    ask.limit = body.get("max_output_tokens")
    return _answered(ask, state, told, functions, effort)


def _answered(
    ask: Ask, state: State, turns: list[dict[str, Any]], functions: list[Any], effort: str | None
) -> tuple[dict[str, Any], Bill]:
    ask.prompt = "\n".join((json.dumps(functions), *map(_turn, turns)))
    ask.last = _text(turns[-1].get("content")) if turns[-1].get("role") == "user" else ""
    thinks = bool(ask.family.efforts) if ask.family.kind == "gpt" else ask.family.thinks != "asked"
    ask.thinks = thinks and effort != "none"
    size, most = tokens(ask.prompt), ask.family.context
    size += (ask.limit or 0) if ask.service.name == "vllm" else 0
    answer = said(ask, state)
    if (size > most and ask.service.name != "ollama") or (answer.end == "context" and ask.service.shape != "mistral"):
        text = f"This model's maximum context length is {most} tokens. However, you requested {size} tokens."
        raise Refused(text, "messages" if ask.protocol == "chat" else "input", "context_length_exceeded")
    if answer.end == "policy":
        code = answer.detail or ("content_filter" if ask.service.name == "azure" else "invalid_prompt")
        raise Refused("Invalid prompt: your prompt was flagged as potentially violating our usage policy.", code=code)
    bill = _bill(ask, answer, state)
    return (_completion(ask, answer, bill) if ask.protocol == "chat" else _response(ask, answer, bill, state)), bill


def _resolve(ask: Ask) -> None:
    """Find out which model is meant."""
    name, service = str(ask.body.get("model")), ask.service
    if service.name == "azure":
        if name not in FACTS["deployments"]:
            text = "The API deployment for this resource does not exist."
            raise Refused(text, code="DeploymentNotFound", status=404)
        name = FACTS["deployments"][name]
        if name.startswith("mistral"):
            ask.model, ask.service, ask.family = name, SERVICES["mistral"], Family("other")
            return
    own = {each: Family("other", **facts) for names, facts in service.models.items() for each in names.split()}
    shared = GPT | CLAUDE if service.relays else GPT if service.name in ("openai", "azure") else {}
    ask.model = bare(name, relayed=service.relays).removeprefix("models/" if service.shape == "gemini" else "")
    if name in FACTS["gone"].split() or not (family := own.get(name.removeprefix("models/")) or shared.get(ask.model)):
        text = f"The model `{name}` does not exist or you do not have access to it."
        raise Refused(text, code="model_not_found", status=404, kind="not_found_error")
    if service.name == "bedrock" and family.kind != "other":
        raise Refused(f"The model {name} isn't supported on this route.")
    ask.family = family


def _unknown_fields(ask: Ask) -> Iterator[Refused]:
    body, service, family = ask.body, ask.service, ask.family
    ask.ignored += [name for name in body if name in f"{service.ignores} {family.ignores}".split()]
    unknown = [name for name in body if service.fields and name not in service.fields.split()]
    if unknown and service.shape == "mistral":
        yield Refused("Extra inputs are not permitted", status=422, drop=unknown)
    elif unknown and service.shape == "gemini":
        lines = [f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.' for name in unknown]
        yield Refused("\n".join(lines))
    elif unknown and family.kind == "gpt" and not family.efforts:
        yield Refused(f"Unrecognized request argument supplied: {unknown[0]}")
    elif unknown:
        yield Refused(f"Unknown parameter: '{unknown[0]}'.", unknown[0], "unknown_parameter")
    if service.name == "groq":
        named = [f"messages.{n}.name" for n, turn in enumerate(body["messages"]) if "name" in turn]
        yield from map(_not_supported, (["n"] if body.get("n", 1) != 1 else []) + named)


def _refusals(ask: Ask, effort: str | None, *, sent: bool) -> Iterator[Refused]:
    family, body, on_chat = ask.family, ask.body, ask.protocol == "chat"
    if on_chat and not family.chat:
        text = "This model is only supported in v1/responses and not in v1/chat/completions."
        yield Refused(text, "model", status=404)
    yield from _out_of_range(body)
    yield from _sampling(family, effort, body, on_chat=on_chat)
    for name in [*family.refuses.split(), *ask.service.refuses.split()]:
        if name == "max_tokens" and name in body and ask.service.relays:
            continue  # a relay calls it by its other name
        if name in body:
            yield _not_supported(name, " Use 'max_completion_tokens' instead." if name == "max_tokens" else "")
    if sent and "reasoning_effort" not in ask.ignored:
        yield from _effort(ask, str(effort))
    fits = {"always": True, "never": False, "if none": effort == "none", "if not sent": not sent}[family.chat_tools]
    if on_chat and body.get("tools") and not fits and ask.service.shape != "openrouter":
        off = " or set reasoning_effort to 'none'" if family.takes_max and "none" in family.efforts else ""
        text = f"Function tools with reasoning_effort are not supported for {ask.model} in /v1/chat/completions. "
        text += f"To use function tools, use /v1/responses{off}." if off else "Please use /v1/responses instead."
        yield Refused(text, "reasoning_effort")


def _out_of_range(body: Mapping[str, Any]) -> Iterator[Refused]:
    """Values that are wrong for every model: nothing to learn about the field."""
    if (temperature := body.get("temperature", 1)) > 2:
        text = f"decimal above maximum value. Expected a value <= 2, but got {temperature} instead."
        yield Refused(f"Invalid 'temperature': {text}", "temperature", "decimal_above_max_value")
    if (limit := body.get("max_output_tokens", 16)) < 16:
        text = f"integer below minimum value. Expected a value >= 16, but got {limit} instead."
        yield Refused(f"Invalid 'max_output_tokens': {text}", "max_output_tokens", "integer_below_min_value")


def _sampling(family: Family, effort: str | None, body: Mapping[str, Any], *, on_chat: bool) -> Iterator[Refused]:
    if family.samples != "never" and not (family.samples == "if none" and effort != "none"):
        return
    temperature = body.get("temperature", 1)
    if temperature != 1 and on_chat:
        text = f"Unsupported value: 'temperature' does not support {temperature} with this model. "
        text += "Only the default (1) value is supported."
        yield Refused(text, "temperature", "unsupported_value", drop=["temperature"])
    elif temperature != 1:
        yield _not_supported("temperature", code=None)
    if any("logprobs" in name for name in body.get("include") or ()):
        text = "logprobs are not supported with reasoning models."
        yield Refused(text, "include", "unsupported_parameter", drop=["include"])
    code = "unsupported_parameter" if on_chat else None
    yield from (_not_supported(name, code=code) for name in _SAMPLING if name in body)


def _not_supported(name: str, more: str = "", code: str | None = "unsupported_parameter") -> Refused:
    return Refused(f"Unsupported parameter: '{name}' is not supported with this model.{more}", name, code, drop=[name])


def _effort(ask: Ask, effort: str) -> Iterator[Refused]:
    on_chat, efforts = ask.protocol == "chat", ask.family.efforts.split()
    name = "reasoning_effort" if on_chat else "reasoning.effort"
    if not efforts and ask.family.kind == "gpt" and on_chat:
        yield Refused(f"Unrecognized request argument supplied: {name}", drop=[name])
    elif not efforts:
        yield _not_supported(name)
    elif effort not in efforts and not (effort == "max" and ask.family.takes_max and not on_chat):
        text = f"Unsupported value: '{name}' does not support '{effort}' with this model."
        text = text if on_chat else f"'{effort}' is not supported with the '{ask.model}' model."
        text += f" Supported values are: {', '.join(map(repr, efforts))}."
        yield Refused(text, name, "unsupported_value", drop=[name])


def _check(ask: Ask, refusals: list[Refused]) -> None:
    """Refuse as the service does: by the first reason, by all at once, or not at all."""
    drop = [name for refused in refusals for name in refused.drop]
    if ask.service.relays and drop:
        refusals = [refused for refused in refusals if not refused.drop]
        if ask.service.name == "litellm":
            text = (
                f"litellm.UnsupportedParamsError: openai does not support parameters: {drop}, for model={ask.model}. "
            )
            refusals = [Refused(f"{text}To drop these, set `litellm.drop_params=True`.", kind="None", drop=drop)]
        ask.ignored += drop
    if ask.ignored and (ask.body.get("provider") or {}).get("require_parameters"):
        raise Refused("No endpoints found that can handle the requested parameters.", status=404)
    if refusals:
        raise refusals[0]


def _check_turns(ask: Ask, turns: list[dict[str, Any]]) -> None:
    called: set[str] = set()
    for n, turn in enumerate(turns):
        called |= {call["id"] for call in turn.get("tool_calls") or ()}
        if turn["role"] == "tool" and turn.get("tool_call_id") not in called:
            text = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
            raise Refused(f"Invalid parameter: {text}", f"messages.[{n}].role")
        if ask.service.name == "deepseek" and turn.get("tool_calls") and "reasoning_content" not in turn:
            raise Refused(f"Missing `reasoning_content` field in the assistant message at message index {n}.")
    if ask.service.shape == "gemini" and turns[-1]["role"] == "assistant":
        raise Refused("Please ensure that the last turn is of the user or of a function.")
    if ask.family.one_system_message and any(turn["role"] == "system" for turn in turns[1:]):
        raise Refused("System message must be at the beginning.")


def _check_items(items: list[dict[str, Any]], previous: str | None, state: State) -> None:
    if previous is not None and previous not in state.stored:
        text = f"Previous response with id '{previous}' not found."
        raise Refused(text, "previous_response_id", "previous_response_not_found")
    called = set(state.stored.get(previous or "", ()))
    for n, item in enumerate(items):
        kind = item.get("type", "message")
        called |= {item["call_id"]} if kind == "function_call" else set()
        if kind == "function_call_output" and item["call_id"] not in called:
            raise Refused(f"No tool call found for function call output with call_id {item['call_id']}.", "input")
        if kind == "reasoning" and not item.get("encrypted_content") and item.get("id") not in state.stored:
            text = f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is set to false."
            raise Refused(text, "input", status=404)
        parts = item.get("content") if kind == "message" and isinstance(item.get("content"), list) else ()
        right = _ASSISTANT_PARTS if item.get("role") == "assistant" else _USER_PARTS
        for m, part in enumerate(parts or ()):
            if part["type"] not in right:
                text = f"Invalid value: '{part['type']}'. Supported values are: {', '.join(map(repr, right))}."
                raise Refused(text, f"input[{n}].content[{m}].type", "invalid_value")


def _needed(tool: Mapping[str, Any], where: str, name: str) -> Any:
    if name not in tool:
        raise Refused(f"Missing required parameter: '{where}.{name}'.", f"{where}.{name}", "missing_required_parameter")
    return tool[name]


def _take_tools(ask: Ask, functions: list[dict[str, Any]], choice: str | None) -> None:
    for n, function in enumerate(functions):
        if function.get("strict"):
            named = f"tools[{n}].parameters", "invalid_function_parameters"
            _check_strict(function["parameters"], (), f"Invalid schema for function '{function['name']}'", named)
    ask.tools = {function["name"]: function.get("parameters") or {} for function in functions if choice != "none"}
    ask.forced = {None: None, "auto": None, "none": None, "required": "*"}.get(choice, choice)
    if ask.forced not in (None, "*", *ask.tools):
        raise Refused(f"Tool choice '{choice}' is not among the tools.", "tool_choice")


def _schema(wanted: Mapping[str, Any], at: str, named: tuple[str, str | None]) -> dict[str, Any]:
    name, schema = wanted.get("name", ""), wanted["schema"]
    if not _NAME.fullmatch(name):
        raise Refused(f"Invalid '{at}.name': string does not match pattern.", f"{at}.name", "invalid_value")
    if wanted.get("strict"):
        _check_strict(schema, (), f"Invalid schema for response_format '{name}'", named)
    return dict(schema)


def _check_strict(schema: Any, path: tuple[str, ...], text: str, named: tuple[str, str | None]) -> None:
    """Every object must be closed, and every property required."""
    if not isinstance(schema, dict):
        return
    properties = schema.get("properties", {})
    if schema.get("type") == "object":
        where, needed = f"{text}: In context={path!r}, ", "is required to be supplied and to be"
        if schema.get("additionalProperties") is not False:
            raise Refused(f"{where}'additionalProperties' {needed} false.", *named)
        if missing := [name for name in properties if name not in schema.get("required", ())]:
            key = f"{where}'required' {needed} an array including every key in properties. Missing '{missing[0]}'."
            raise Refused(key, *named)
    inner = [
        (("items",), schema.get("items")),
        *((("anyOf", str(n)), s) for n, s in enumerate(schema.get("anyOf", ()))),
    ]
    inner += [((key, name), part) for key in ("properties", "$defs") for name, part in schema.get(key, {}).items()]
    for step, part in inner:
        _check_strict(part, (*path, *step), text, named)


def _text(content: Any) -> str:
    return "".join(part.get("text", "") for part in content) if isinstance(content, list) else content or ""


def _turn(turn: Mapping[str, Any]) -> str:
    more = [turn[name] for name in ("tool_calls", "name", "arguments", "output") if turn.get(name)]
    return f"{turn.get('role', '')}: {_text(turn.get('content'))}{json.dumps(more) if more else ''}"


def _bill(ask: Ask, answer: Said, state: State) -> Bill:
    """Count, and cache the prompt from a least length on, in steps."""
    total, cached, written = tokens(ask.prompt), 0, 0
    if ask.service.name in _CACHES:
        ends = range(_CACHE_LEAST, len(ask.prompt) // 4 + 1, _CACHE_STEP)
        steps = {(ask.service.name, ask.model, ask.prompt[: end * 4]): end for end in ends}
        cached = max((end for step, end in steps.items() if step in state.cached), default=0)
        state.cached.update(steps)
        written = max(steps.values(), default=0) - cached if ask.family.writes_cost else 0
    if ask.service.name == "ollama" and total > ask.family.context:
        total = ask.family.context
        ask.ignored.append("the beginning of the prompt")
    stated = (total * 2 + answer.output * 8) / 1_000_000 if ask.service.shape in ("openrouter", "litellm") else None
    return Bill(total, answer.output, cached, written, reasoning=answer.thinking, stated_cost=stated)


def _completion(ask: Ask, answer: Said, bill: Bill) -> dict[str, Any]:
    error = {"code": 502, "message": "The upstream service has failed."}
    if answer.end == "error-200":
        return {"error": error}
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None}
    if ask.family.kind == "other" and answer.thinking:
        message[ask.family.thinking_field] = "Let me think."
    calls = [{"name": call["name"], "arguments": json.dumps(call["args"])} for call in answer.calls]
    if calls:
        called = [{"id": f"call_{n}", "type": "function", "function": call} for n, call in enumerate(calls)]
        message |= {"content": None, "tool_calls": called}
    if answer.end == "refusal":
        message |= {"content": None, "refusal": answer.text}
    if answer.end == "content-filter":
        message["content"] = "" if answer.detail == "empty" else None
    choice = {"index": 0, "message": message, "finish_reason": _FINISH.get(answer.end, "stop"), "logprobs": None}
    if answer.end == "error":
        choice |= {"finish_reason": "error", "error": error}
    if ask.body.get("logprobs") and "logprobs" not in ask.ignored:
        choice["logprobs"] = {"content": logprobs(answer.text, ask.body.get("top_logprobs") or 0)}
    usage: dict[str, Any] = {
        "prompt_tokens": bill.input,
        "completion_tokens": bill.output,
        "total_tokens": bill.input + bill.output,
        "prompt_tokens_details": {"cached_tokens": bill.cached, "cache_write_tokens": bill.written},
        "completion_tokens_details": {"reasoning_tokens": bill.reasoning},
    }
    if ask.service.name == "deepseek":
        usage |= {"prompt_cache_hit_tokens": usage.pop("prompt_tokens_details")["cached_tokens"]}
    choices = [] if answer.end == "unreadable" else [choice]
    reply = {"id": "chatcmpl-1", "object": "chat.completion", "created": _NOW, "model": ask.model, "choices": choices}
    routed = {"provider": "Upstream", "usage": usage | {"cost": bill.stated_cost}}
    return reply | (routed if ask.service.shape == "openrouter" else {"usage": usage})


def _response(ask: Ask, answer: Said, bill: Bill, state: State) -> dict[str, Any]:
    body, end = ask.body, answer.end
    reason = {"length": "max_output_tokens", "content-filter": "content_filter"}.get(end)
    error = {"code": answer.detail or "bio_policy", "message": "This request was stopped."} if end == "failed" else None
    output = [] if end in ("content-filter", "failed") else [*_output(ask, answer)]
    number = f"resp_{len(state.stored) + 1}"
    if body.get("store", True):
        state.stored[number] = [item["call_id"] for item in output if item["type"] == "function_call"]
    cached = {"cached_tokens": bill.cached, "cache_write_tokens": bill.written}
    usage = {
        "input_tokens": bill.input,
        "input_tokens_details": {
            **cached,
            "cache_write_tokens_details": {"ttl_30m_tokens": bill.written, "ttl_12h_tokens": 0},
        },
        "output_tokens": bill.output,
        "output_tokens_details": {"reasoning_tokens": bill.reasoning},
        "total_tokens": bill.input + bill.output,
    }
    reply = {
        "id": number, "object": "response", "created_at": _NOW, "model": ask.model, "error": error, "usage": usage,
        "status": "incomplete" if reason else "failed" if error else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "store": body.get("store", True), "tools": body.get("tools", []),
        "tool_choice": body.get("tool_choice", "auto"), "parallel_tool_calls": True,
    }  # fmt: skip
    return reply if end == "unreadable" else reply | {"output": output}


def _output(ask: Ask, answer: Said) -> Iterator[dict[str, Any]]:
    included = ask.body.get("include") or ()
    if answer.thinking:
        shown = ask.family.kind == "gpt" or "reasoning.encrypted_content" in included
        secret = {"encrypted_content": "gAAAAA=="} if shown else {}
        yield {"id": "rs_1", "type": "reasoning", "summary": [], **secret}
    for n, call in enumerate(answer.calls):
        called = {"call_id": f"call_{n}", "name": call["name"], "arguments": json.dumps(call["args"])}
        yield {"id": f"fc_{n}", "type": "function_call", "status": "completed", **called}
    if answer.calls or (answer.end == "length" and not answer.text):
        return
    message = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    part: dict[str, Any] = {"type": "output_text", "text": answer.text, "annotations": []}
    if answer.end == "phases":
        yield {**message, "phase": "commentary", "content": [{**part, "text": "Let me look at it first."}]}
        message["phase"] = "final_answer"
    if any("logprobs" in name for name in included):
        part["logprobs"] = logprobs(answer.text, ask.body.get("top_logprobs") or 0)
    if answer.end == "refusal":
        part = {"type": "refusal", "refusal": answer.text}
    yield {**message, "status": "incomplete" if answer.end == "length" else "completed", "content": [part]}
