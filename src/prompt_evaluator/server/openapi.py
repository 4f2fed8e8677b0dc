"""The OpenAPI document, made from what the routes declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.model.api import ApiError
from prompt_evaluator.server.field_notes import add_notes
from prompt_evaluator.server.routing import EVENTS, JSON
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.server.routing import Route, Routes

_REF = "#/components/schemas/{name}"
_ABOUT = (
    "The same use cases as the command line, over the same store. Callers name datasets, models, metrics and rubrics; "
    "they send no paths, addresses or keys. Every refusal is an object with a sentence in `error` and, if something in "
    "the request is wrong, its place in `field`."
)
_STATUSES = {
    200: "The answer",
    201: "Made",
    204: "Done; there is no answer",
    400: "The request cannot be read",
    401: "A token is missing or not valid",
    403: "Not allowed: the host, the origin or the role",
    404: "There is no such thing",
    409: "Not possible in its present state",
    413: "The body is too large",
    415: "The body is not JSON",
    422: "A value in the request cannot be used",
    503: "The store cannot be used at the moment",
}


def openapi_document(resources: Sequence[Routes]) -> dict[str, Any]:
    """The whole document."""
    shown = [(resource.tag, route) for resource in resources for route in resource if not _for_people(route)]
    types = [kind for _, route in shown for kind in _types(route)]
    distinct = list({repr(kind): kind for kind in [ApiError, *types]}.values())
    schemas, components = msgspec.json.schema_components(distinct, ref_template=_REF)
    add_notes(components, distinct)
    by_type = dict(zip(map(repr, distinct), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for tag, route in shown:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(tag, route, by_type, components)
    for name in {route.query.__name__ for _, route in shown if route.query is not None}:
        del components[name]  # its fields are parameters
    return {
        "openapi": "3.1.0",
        "info": {"title": "prompt-evaluator", "version": __version__, "description": _ABOUT},
        "tags": [{"name": tag} for tag in dict.fromkeys(tag for tag, _ in shown)],
        "security": [{"token": []}, {}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _for_people(route: Route) -> bool:
    """Pages and what they load are not part of the API."""
    return route.is_page or route.path.startswith("/assets/")


def _types(route: Route) -> Iterable[Any]:
    yield from (kind for kind in (route.query, route.body) if kind is not None)
    yield from _answers(route)


def _answers(route: Route) -> tuple[Any, ...]:
    """An answer may be one of several types."""
    if route.answer is None:
        return ()
    return route.answer if isinstance(route.answer, tuple) else (route.answer,)


def _operation(tag: str, route: Route, by_type: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": _operation_id(route),
        "tags": [tag],
        "summary": route.summary,
        "parameters": [*_in_path(route), *_in_query(route, components), *_in_headers(route)],
        "responses": {
            str(route.status): _answer(route, by_type),
            **{str(each): _refusal(each) for each in route.statuses},
        },
    }
    if EVENTS in route.media_types:
        found["responses"]["204"] = {"description": "The watcher has seen the end"}
    if route.role is not None:
        found["description"] = f"Needs the role `{route.role}` where tokens are needed."
    if route.body is not None:
        found["requestBody"] = {"required": True, "content": {JSON: {"schema": by_type[repr(route.body)]}}}
    return found


def _operation_id(route: Route) -> str:
    """The function's name with its module's: several modules have a `metrics` or a `gate`."""
    return f"{route.run.__module__.rpartition('.')[2]}_{route.run.__name__}"


def _in_path(route: Route) -> list[dict[str, Any]]:
    text = {"type": "string", "minLength": 1}
    return [{"name": name, "in": "path", "required": True, "schema": text} for name in route.parameters]


def _in_query(route: Route, components: dict[str, Any]) -> list[dict[str, Any]]:
    if route.query is None:
        return []
    lists = {field.encode_name for field in msgspec.structs.fields(route.query) if field.default == ()}
    return [
        {
            "name": name,
            "in": "query",
            "allowEmptyValue": True,  # as if it was not sent
            "schema": schema,
            **({"explode": True} if name in lists else {}),
        }
        for name, schema in components[route.query.__name__]["properties"].items()
    ]


def _in_headers(route: Route) -> list[dict[str, Any]]:
    return [{"name": name, "in": "header", "schema": {"type": "string"}} for name in route.headers]


def _answer(route: Route, by_type: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {"description": _STATUSES[route.status]}
    schemas = [by_type[repr(each)] for each in _answers(route)]
    if schemas:
        schema = schemas[0] if len(schemas) == 1 else {"oneOf": schemas}
        found["content"] = {
            kind.partition(";")[0]: {"schema": _event(schema) if kind == EVENTS else schema}
            for kind in route.media_types
        }
    return found


def _event(data: dict[str, Any]) -> dict[str, Any]:
    """One event of a stream, by its fields; OpenAPI 3.1 has no other place to say what is in a stream."""
    text = {"type": "string"}
    return {
        "type": "object",
        "description": "Each event of the stream",
        "required": ["event", "data"],
        "properties": {
            "id": text,
            "event": text,
            "data": {**text, "contentMediaType": JSON, "contentSchema": data},
        },
    }


def _refusal(status: int) -> dict[str, Any]:
    content = {JSON: {"schema": {"$ref": _REF.format(name="ApiError")}}}
    return {"description": _STATUSES[status], "content": content}
