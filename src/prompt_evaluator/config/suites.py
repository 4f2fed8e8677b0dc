"""Reads the entries under `suites:`, so that each error names its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from prompt_evaluator.config.values import converted
from prompt_evaluator.model.bounds import SAMPLES
from prompt_evaluator.model.declaration import METRICS, NO_RUBRIC, RUBRIC, TEXT, Kind, number
from prompt_evaluator.model.suite import Suite
from prompt_evaluator.syntax.metric_uses import parse_uses, parse_uses_text

if TYPE_CHECKING:
    from prompt_evaluator.config.problems import Place

ABOUT_SUITES = "Named sets of datasets, models and metrics: every model is run on every dataset."
_NAMES = Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(min_length=1)]
_HELP = 'See "Suites" in docs/how-to/run-benchmarks.md.'

SUITE_FIELDS: dict[str, tuple[Kind, str]] = {
    "title": (TEXT, "What people see as its name."),
    "datasets": (Kind(_NAMES, "a list of names of datasets"), "Names of benchmark datasets, or configured ones."),
    "models": (Kind(_NAMES, "a list of models"), "Models under test, as PROVIDER/MODEL."),
    "metrics": (METRICS, "Metrics to score by. May be left out if there is a rubric."),
    "judge": (TEXT, "The model that judges, as PROVIDER/MODEL."),
    "rubric": (RUBRIC, "Also judge by a rubric: a built-in one, a file, or a configured name."),
    "samples": (number(SAMPLES), "Samples per case."),
}
"""The kind and the help text of each field."""
NEEDED_FIELDS = ("datasets", "models")


def suites(found: dict[str, Any], place: Place) -> dict[str, Suite]:
    """Convert each entry."""
    return {name: _suite(name, entry, place / name) for name, entry in found.items()}


def _suite(name: str, entry: Any, place: Place) -> Suite:
    if not name.strip():
        raise place.problem("A suite has no name", _HELP)
    given = place.mapping(entry, f"Write its fields below it, indented: {', '.join(SUITE_FIELDS)}. {_HELP}")
    for key in given:
        if key not in SUITE_FIELDS:
            raise (place / key).unknown(SUITE_FIELDS)
    values = {key: _value(value, place / key) for key, value in given.items() if value is not None}
    values["rubric"] = None if values.get("rubric") == NO_RUBRIC else values.get("rubric")
    for key in NEEDED_FIELDS:
        if key not in values:
            raise place.problem(f"`{place.name}` has no `{key}`", f"{SUITE_FIELDS[key][1]} {_HELP}")
    if not values.get("metrics") and values["rubric"] is None:
        raise place.problem(f"`{place.name}` has neither `metrics` nor a `rubric`", _HELP)
    for key in NEEDED_FIELDS:
        values[key] = tuple(dict.fromkeys(values[key]))
    return Suite(name=name, origin=place.origin, **values)


def _value(value: Any, place: Place) -> Any:
    kind, text = SUITE_FIELDS[place.keys[-1]]
    try:
        found = converted(kind, value)
    except ValueError:
        raise place.wrong(kind.words, value, advice=text) from None
    if kind is METRICS:
        for use in found:
            _check_metric(use, place)
    return found


def _check_metric(use: str | dict[str, Any], place: Place) -> None:
    try:
        parse_uses(use)
    except ValueError as error:
        if isinstance(use, str) and _are_several(use):
            return
        advice = "`prompt-evaluator list metrics` lists metrics and their options."
        raise place.problem(f"A metric in `{place.name}` cannot be used: {error}", advice) from None


def _are_several(text: str) -> bool:
    """Whether a text is several metrics, separated by commas."""
    try:
        return bool(parse_uses_text(text))
    except ValueError:
        return False
