"""The OpenAPI document and the server agree: schemathesis sends what the document allows and what it forbids."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import schemathesis
from entries import each
from hypothesis import HealthCheck, Phase, given, seed, settings
from route_calls import MISSING, ROUTES, title
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from prompt_evaluator.server.application import RESOURCES
from prompt_evaluator.server.openapi import openapi_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asgi_site import AsgiSite

DOCUMENT = openapi_document(RESOURCES)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]
_RUN = "run_id"


def parts(value: Any) -> Iterator[dict[str, Any]]:
    """All objects in the document."""
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(part)


def test_every_reference_leads_somewhere() -> None:
    found = [part["$ref"] for part in parts(DOCUMENT) if isinstance(part.get("$ref"), str)]

    assert found
    for reference in found:
        *_, room, name = reference.split("/")
        assert reference == f"#/components/{room}/{name}"
        assert name in DOCUMENT["components"][room]


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [operation["operationId"] for methods in DOCUMENT["paths"].values() for operation in methods.values()]

    assert sorted(names) == sorted({*names})


def test_every_route_of_the_api_is_documented_with_its_parameters_and_refusals() -> None:
    for route in ROUTES:
        if not route.is_api or route.media_types[0].startswith("text/html"):
            continue
        operation = DOCUMENT["paths"][route.path][route.method.lower()]
        in_path = [each["name"] for each in operation["parameters"] if each["in"] == "path"]
        assert in_path == route.parameters, title(route)
        in_query = [each["name"] for each in operation["parameters"] if each["in"] == "query"]
        assert in_query == [each.encode_name for each in (msgspec.structs.fields(route.query) if route.query else ())]
        assert {*operation["responses"]} >= {str(status) for status in (route.status, *route.statuses)}
        assert ("requestBody" in operation) == (route.body is not None)
        for status in route.statuses:
            content = operation["responses"][str(status)]["content"]
            assert content == {"application/json": {"schema": {"$ref": "#/components/schemas/ApiError"}}}
        for parameter in operation["parameters"]:
            assert parameter["required"] if parameter["in"] == "path" else not parameter.get("required")
            assert parameter["schema"]


def test_the_document_is_what_the_server_answers_and_names_no_other_host(site: AsgiSite) -> None:
    answer = site.send("GET", "/api/v1/openapi.json")

    assert answer.json == json.loads(json.dumps(DOCUMENT))
    assert b"://" not in answer.body


@pytest.mark.hypothesis  # more examples in `make nightly`
@each(("path", "method"), OPERATIONS)
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_the_server_answers_as_documented(site: AsgiSite, path: str, method: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_dict(DOCUMENT)
    schema.app = site.application
    operation = schema[path][method]
    raw = operation.definition.raw
    if mode.is_negative and "requestBody" not in raw and all(each["in"] != "query" for each in raw["parameters"]):
        return  # there is nothing to send wrongly: every text is allowed in a path and in a header
    run = site.run_ids[0]

    @seed(17)
    @settings(
        max_examples=settings().max_examples // 3,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def answers(case: Any) -> None:
        if mode.is_positive and _RUN in (case.path_parameters or {}):
            case.path_parameters[_RUN] = run if method != "delete" else MISSING
        # A parameter that is left empty is as if it was not sent.
        is_wrong = mode.is_negative and all(value not in ("", [], [""], None) for value in (case.query or {}).values())
        checks = [*CHECKS, *([negative_data_rejection] if is_wrong else [])]
        case.call_and_validate(base_url="http://localhost:8080", headers={"Host": "localhost:8080"}, checks=checks)

    answers()
