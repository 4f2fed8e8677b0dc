"""Callers name things. No spelling of a name opens a file, lists a folder or runs code."""

from __future__ import annotations

import json
import random
from contextlib import chdir
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import msgspec
import pytest
from asgi_site import AsgiSite, asgi_site
from entries import each
from reached import outside, reached
from route_calls import CASE, ROUTES, address, body, title
from traversals import CODE, plain, traversals

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from asgi_site import Answer

    from prompt_evaluator.server.routing import Route

CANARY = "canary-4711"
BENCHMARKS = "/api/v1/benchmarks"


class Walled(NamedTuple):
    """A site, and a folder beside its project that nobody must reach."""

    site: AsgiSite
    project: Path
    beside: Path


@pytest.fixture(scope="module")
def walled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walled]:
    top = tmp_path_factory.mktemp("walled")
    project, beside = top / "project", top / "beside"
    for folder in (project, beside):
        folder.mkdir()
    case = {"id": CANARY, "input": CANARY, "reference": CANARY}
    (beside / "secret.jsonl").write_text(json.dumps(case) + "\n")
    (beside / "secret.yaml").write_text(json.dumps({"name": CANARY, "metrics": [], "tasks": [case]}))
    (beside / "secret.json").write_text(json.dumps([{"runId": CANARY}]))
    (beside / "secret.py").write_text(f"raise RuntimeError('{CANARY}')\n")
    (beside / "secret.txt").write_text(CANARY)
    (beside / "secret").write_text(CANARY)
    (project / "prompt_evaluator.yaml").write_text(
        "suites:\n  nightly: {datasets: [basic-coding], models: [mock/a], metrics: [includes]}\n"
    )
    with asgi_site(project) as site, chdir(project):
        _warm(site)
        yield Walled(site, project, beside)


def _warm(site: AsgiSite) -> None:
    """Import what is imported when it is first used."""
    for route in ROUTES:
        if route.method != "DELETE":
            site.send(route.method, address(route, site), body(route, site))


_WAYS = 6
"""Plain ways for each parameter; all of them are tried, because each parameter gets others."""


def names(walled: Walled, seed: str, count: int) -> list[str]:
    """Some of the plain ways and of the many spellings, the same for the same seed."""
    chosen = random.Random(seed)
    every, ways = list(traversals(walled.beside)), list(plain(walled.beside))
    return [*chosen.sample(ways, min(len(ways), _WAYS)), *chosen.sample(every, count)]


def check(walled: Walled, answers: list[Answer], paths: list[str]) -> None:
    assert outside(paths, walled.project) == set()
    for answer in answers:
        assert answer.status < 500, answer
        assert CANARY.encode() not in answer.body


def encoded(name: str) -> str:
    return quote(name, safe="%", errors="surrogatepass")


with_placeholders = [
    (route, parameter) for route in ROUTES for parameter in route.parameters if route.path != "/{anything}"
]


def test_there_are_thousands_of_spellings(walled: Walled) -> None:
    assert len({*traversals(walled.beside)}) > 10_000


@each(("route", "parameter"), with_placeholders, ids=lambda part: part if isinstance(part, str) else title(part))
def test_no_address_leads_out_of_the_project(walled: Walled, route: Route, parameter: str) -> None:
    others = address(route, walled.site).split("/")
    place = route.path.split("/").index(f"{{{parameter}}}")
    answers = []
    with reached() as paths:
        for name in names(walled, f"{title(route)} {parameter}", 12):
            for spelling in (encoded(name), quote(name, safe="", errors="surrogatepass")):
                target = "/".join([*others[:place], spelling, *others[place + 1 :]])
                answers.append(walled.site.send(route.method, target, {} if route.body else None))

    check(walled, answers, paths)


def texts_in(struct: type) -> list[str]:
    """Fields that may be a text or a list of texts."""
    whole = msgspec.json.schema_components([struct])[1][struct.__name__]["properties"]
    return [name for name, schema in whole.items() if '"string"' in json.dumps(schema)]


@each("route", [route for route in ROUTES if route.query], ids=title)
def test_no_parameter_leads_out_of_the_project(walled: Walled, route: Route) -> None:
    assert route.query is not None
    answers = []
    with reached() as paths:
        for field in texts_in(route.query):
            for name in names(walled, f"{title(route)} {field}", 3):
                query = f"{field}={quote(name, safe='', errors='surrogatepass')}"
                answers.append(walled.site.send(route.method, f"{address(route, walled.site)}?{query}"))

    check(walled, answers, paths)


@each("route", [route for route in ROUTES if route.body], ids=title)
def test_no_body_leads_out_of_the_project(walled: Walled, route: Route) -> None:
    assert route.body is not None
    whole = body(route, walled.site)
    several = {"models", "metrics", "case_ids", "where", "slices", "candidates"}
    free = {"system_prompt", "note", "prompt_version", "comment", "reviewer", "tags"}
    answers = []
    with reached() as paths:
        for field in texts_in(route.body):
            if field in free:
                continue  # texts that are kept: see below
            for name in names(walled, f"{title(route)} {field}", 4):
                value = [name] if field in several else name
                target = address(route, walled.site)
                answers.append(walled.site.send(route.method, target, {**whole, field: value}))

    check(walled, answers, paths)


def test_texts_that_are_kept_are_only_texts(walled: Walled) -> None:
    asked = {"dataset": "basic-coding", "model": "mock/default", "max_cases": 1}
    with reached() as paths:
        answers = []
        for name in (f"@{walled.beside}/secret.txt", f"{walled.beside}/secret.txt", "../beside/secret.txt", "a\x00b"):
            texts = {"system_prompt": name, "note": name, "prompt_version": name, "tags": {"x": name}}
            answers.append(walled.site.send("POST", f"{BENCHMARKS}/runs", {**asked, **texts}))

    check(walled, answers, paths)
    assert {answer.status for answer in answers} == {201}


def refused(walled: Walled, field: str, value: Any, route: str = "runs") -> None:
    asked: dict[str, Any] = {"dataset": "basic-coding", "model": "mock/default", "max_cases": 1}
    answer = walled.site.send("POST", f"{BENCHMARKS}/{route}", {**asked, field: value})

    assert answer.status == 422, (field, value, answer)
    assert answer.json["field"].partition("[")[0] == field, value


@each("name", CODE)
def test_nobody_names_code_or_an_address(walled: Walled, name: str) -> None:
    with reached() as paths:
        for route in ("runs", "estimate"):
            for field in ("model", "judge", "dataset", "rubric"):
                refused(walled, field, name, route)
            refused(walled, "metrics", [name], route)
            refused(walled, "metrics", ["correctness", name], route)

    assert outside(paths, walled.project) == set()


@pytest.mark.parametrize("route", ["compare", "compare-multi", "gate"])
def test_a_run_to_compare_is_never_a_file(walled: Walled, route: str) -> None:
    run = walled.site.run_ids[0]
    with reached() as paths:
        for name in plain(walled.beside):
            for first, second in ((name, run), (run, name), (name, name)):
                every: dict[str, dict[str, Any]] = {
                    "compare": {"baseline": first, "candidate": second},
                    "compare-multi": {"baseline": first, "candidates": [run, second]},
                    "gate": {"run": first, "baseline": second},
                }
                answer = walled.site.send("POST", f"{BENCHMARKS}/{route}", every[route])
                assert answer.status in (404, 422), (name, answer)
                assert CANARY.encode() not in answer.body

    assert outside(paths, walled.project) == set()


def test_a_case_is_found_by_its_id_alone(walled: Walled) -> None:
    case = f"{BENCHMARKS}/runs/{walled.site.run_ids[0]}/cases"

    assert walled.site.send("GET", f"{case}/{CASE}").status == 200
    for spelling in (f"./{CASE}", f"{CASE}/", f"{CASE}%00", f"x/../{CASE}", "%2e%2fx", CASE.upper(), f" {CASE}"):
        answer = walled.site.send("GET", f"{case}/{spelling}")
        assert answer.status == (200 if spelling == f"{CASE}/" else 404), spelling
