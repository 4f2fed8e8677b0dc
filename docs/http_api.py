"""The reference page of the HTTP API, made from its OpenAPI document."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from prompt_evaluator.server.application import RESOURCES
from prompt_evaluator.server.openapi import openapi_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Schema = dict[str, Any]
_ROLE = re.compile(r"Needs the role `(\w+)`")
_PLAIN = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "null": "null",
    "object": "mapping",
}
_USUAL_LENGTH = 300


def http_api_page(note: str, texts: dict[str, Any]) -> str:
    """Every route with its role, parameters, body, answer and statuses, then every type."""
    document = openapi_document(RESOURCES)
    _explain(document, texts["parameters"])
    parts = [note, "# HTTP API", document["info"]["description"], texts["intro"].strip()]
    parts += ["## Statuses", _statuses(document)]
    for tag in document["tags"]:
        parts.append(f"## {tag['name']}")
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                if operation["tags"] == [tag["name"]]:
                    parts += [f"### {method.upper()} {path}", *_operation(operation)]
    parts.append("## Types")
    for name, schema in document["components"]["schemas"].items():
        parts += [f"### {name}", *_type(schema)]
    return "\n\n".join(parts) + "\n"


def _explain(document: Schema, texts: dict[str, str]) -> None:
    """Say of everything in a request what it means, if the code does not."""
    operations = [each for methods in document["paths"].values() for each in methods.values()]
    for operation in operations:
        asked = {each["name"]: each["schema"] for each in operation["parameters"] if each["in"] != "path"}
        if body := operation.get("requestBody"):
            name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            asked |= document["components"]["schemas"][name]["properties"]
        for name, schema in asked.items():
            if "description" not in schema and name not in texts:
                raise SystemExit(f"docs/texts.yaml: say under `http_api` what the parameter `{name}` means.")
            schema.setdefault("description", texts.get(name))


def _statuses(document: Schema) -> str:
    operations = [each for methods in document["paths"].values() for each in methods.values()]
    found = {status: answer["description"] for each in operations for status, answer in each["responses"].items()}
    rows = [f"| {status} | {found[status]} |" for status in sorted(found)]
    return "\n".join(["| Status | Meaning |", "|---|---|", *rows])


def _operation(operation: Schema) -> Iterator[str]:
    role = _ROLE.search(operation.get("description", ""))
    facts = [f"Role: `{role[1]}`" if role else "Role: none, also without a token"]
    if body := operation.get("requestBody"):
        facts.append(f"Body: {_words(body['content']['application/json']['schema'])}")
    statuses = operation["responses"]
    good = [status for status in statuses if status.startswith("2")]
    facts += [f"Answer: {status}, {_answer(statuses[status])}" for status in good]
    facts.append(f"Refused with: {', '.join(status for status in statuses if status not in good)}")
    yield f"{operation['summary']}."
    yield "\n".join(f"- {fact}" for fact in facts)
    shown = [each for each in operation["parameters"] if each["in"] != "path"]
    if shown:
        yield _table("Parameter", map(_parameter, shown))


def _parameter(parameter: Schema) -> tuple[str, str, str, str]:
    name, schema, place = parameter["name"], parameter["schema"], parameter["in"]
    words = _words(schema) if place == "query" else f"{_words(schema)}, in a header"
    return name, words.removesuffix(" or null"), _default(schema), schema.get("description", "")


def _answer(answer: Schema) -> str:
    content = answer.get("content", {})
    if not content:
        return "without a body"
    kinds = " or ".join(f"`{kind}`" for kind in content if kind != "application/json")
    schema = next(iter(content.values()))["schema"]
    if "text/event-stream" in content:
        data = schema["properties"]["data"]["contentSchema"]
        return f"`text/event-stream`; the `data` of an event is {_words(data)}"
    words = _words(schema).replace("mapping", "a document")
    if not kinds:
        return words
    return f"{words} as `application/json`, {kinds}" if "application/json" in content else kinds


def _type(schema: Schema) -> Iterator[str]:
    yield schema.get("description", "")
    if "properties" not in schema:
        yield f"In JSON: {_words({key: value for key, value in schema.items() if key != 'title'})}."
        return
    needed = schema.get("required", ())
    rows = (
        (name, _words(each), "always" if name in needed else _default(each), each.get("description", ""))
        for name, each in schema["properties"].items()
    )
    yield _table("Field", rows)


def _table(first: str, rows: Iterable[tuple[str, str, str, str]]) -> str:
    cells = [
        f"| `{name}` | {_in_a_cell(kind)} | {default} | {_in_a_cell(about)} |" for name, kind, default, about in rows
    ]
    return "\n".join([f"| {first} | Type | Default | Meaning |", "|---|---|---|---|", *cells])


def _default(schema: Schema) -> str:
    default = schema.get("default")
    return "none" if default in (None, [], {}, ()) else f"`{str(default).lower()}`"


def _words(schema: Schema) -> str:  # noqa: PLR0911 - one line a kind of schema
    """A schema in the words of somebody who reads JSON."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(map(_words, schema[several])))
    if "enum" in schema:
        *values, last = ("null" if value is None else f"`{value}`" for value in schema["enum"])
        return f"{', '.join(values)} or {last}" if values else last
    kind = schema.get("type")
    if kind == "array":
        if "prefixItems" in schema:
            return f"list of {len(schema['prefixItems'])}: {', '.join(map(_words, schema['prefixItems']))}"
        return f"list of {_words(schema.get('items') or {})}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        inner = _words(schema["additionalProperties"])
        return "mapping" if inner == "any value" else f"by name, {inner}"
    return _PLAIN[kind] + _bounds(schema) if kind else "any value"


def _bounds(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f" from {least:,} to {most:,}"
    longest = schema.get("maxLength")
    return f" of at most {longest:,} characters" if longest and longest != _USUAL_LENGTH else ""


def _in_a_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
