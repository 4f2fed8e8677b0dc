"""A good request for every route, so that tests can spoil one thing at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.server.application import all_routes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asgi_site import Answer, AsgiSite

    from prompt_evaluator.server.routing import Route

MISSING = "00000000-0000-0000-0000-000000000000"
CASE = "py-lru-cache"
ROUTES = all_routes()
CHANGING = [route for route in ROUTES if route.changes]
WITH_BODY = [route for route in ROUTES if route.body]
_NAMES = {"/datasets/": "basic-coding", "/rubrics/": "default", "/assets/": "site.css"}


def title(route: Route) -> str:
    return f"{route.method} {route.path}"


def address(route: Route, site: AsgiSite | None = None) -> str:
    """Where the route answers; without a site, with the id of a run that does not exist."""
    run = MISSING if site is None else site.run_ids[0]
    name = next((name for part, name in _NAMES.items() if part in route.path), "x")
    values = {"{run_id}": run, "{case_id}": CASE, "{name}": name, "{version}": "1"}
    path = route.path
    for placeholder, value in values.items():
        path = path.replace(placeholder, value)
    return path


def body(route: Route, site: AsgiSite) -> Any:
    """What the route takes; None if nothing."""
    if route.body is None:
        return None
    first, second = site.run_ids[:2]
    bodies: Mapping[str, Any] = {
        "RunSettings": {"dataset": "basic-coding", "model": "mock/default", "max_cases": 1},
        "RunChange": {},
        "CompareRequest": {"baseline": first, "candidate": second},
        "CompareManyRequest": {"baseline": first, "candidates": [second]},
        "GateRunRequest": {"run": second, "baseline": first},
        "LabelRequest": {"run": first, "case_id": CASE, "sample": 0, "metric": "correctness", "value": 1.0},
        "SignIn": {"token": "pe_00000000_" + "x" * 43},
    }
    return bodies[route.body.__name__]


def is_refusal(answer: Answer) -> bool:
    """Whether it is the documented envelope."""
    if answer.header("content-type") != "application/json":
        return False
    found = answer.json
    return set(found) == {"error", "field"} and isinstance(found["error"], str) and bool(found["error"])
