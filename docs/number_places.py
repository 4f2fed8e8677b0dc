"""Where users can give numbers, found by walking through what commands, settings, files and options declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

import click
import msgspec
from msgspec import inspect

from prompt_evaluator.app.metrics import list_metrics
from prompt_evaluator.cli.main import cli
from prompt_evaluator.config.settings import SETTINGS
from prompt_evaluator.metrics.catalogue import METRICS
from prompt_evaluator.metrics.command import CommandMetric
from prompt_evaluator.metrics.function import FunctionMetric
from prompt_evaluator.model import Criterion, ProviderSettings
from prompt_evaluator.model.bounds import (
    ATTEMPT_INDEX,
    PATTERN_REPEATS,
    PROBABILITY,
    RESULTS_PER_CASE,
    SAMPLES,
    SERVICE_PORT,
    TOKEN_HOURS,
    Bound,
)
from prompt_evaluator.model.gate import GatePolicy
from prompt_evaluator.model.harness import ConfigEntry
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.run_limits import LIMITS
from prompt_evaluator.model.suite import Suite
from prompt_evaluator.providers.mock.provider import MockOptions
from prompt_evaluator.server.application import all_routes

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN_METRICS: dict[str, type[msgspec.Struct]] = {
    "python:module:function": FunctionMetric,
    "command:program": CommandMetric,
}


class Place(NamedTuple):
    """Somewhere that takes a number. Without a bound it is one that somebody forgot."""

    words: str
    bound: Bound | None


class Flag(NamedTuple):
    """A numeric flag of a command."""

    command: tuple[str, ...]
    flag: str
    bound: Bound | None


def all_places() -> Iterator[Place]:
    """Every place, the flags first; one that several commands or metrics have is named once."""
    yield from dict.fromkeys(Place(f"`{flag}`", bound) for _, flag, bound in flags())
    for name in ("fail_under", "fail_over"):
        yield Place(f"`{OPTIONS[name].flag}`", OPTIONS[name].kind.bound)
    yield from settings()
    for name, bound in numbers(ProviderSettings):
        yield Place(f"`providers.NAME.{name}`", bound)
    for name, bound in numbers(Suite):
        yield Place(f"`suites.NAME.{name}`", bound)
    for name, bound in numbers(MockOptions):
        yield Place(f"`options.{name}` of the mock", bound)
    for name, bound in numbers(ConfigEntry):
        yield Place(f"`{name}` of a harness configuration", bound)
    for name, bound in numbers(Criterion):
        yield Place(f"`{name}` of a rubric", bound)
    for name, bound in policy_numbers():
        yield Place(f"`{name}` in gates.yaml", bound)
    yield from dict.fromkeys(
        Place(f"the option `{name}` of metrics", bound)
        for kind in metric_kinds().values()
        for name, bound in numbers(kind)
    )
    yield Place("`pattern` of `regex`: the least counts in braces, such as `{5}` or `{5,}`", PATTERN_REPEATS)
    yield Place("`probability` of labels", PROBABILITY)
    yield Place("`sample` of labels", SAMPLES)
    yield Place("`attempt` of labels", ATTEMPT_INDEX)
    yield Place("K and N in `--reducers`", SAMPLES)
    yield Place("the port in `providers.NAME.base_url` and `providers.NAME.proxy`", SERVICE_PORT)
    yield Place("`--expires` of a token, such as `12h` or `30d`", TOKEN_HOURS)
    yield from dict.fromkeys(
        Place(f"`{name}` over HTTP", bound)
        for route in all_routes()
        for kind in (route.query, route.body)
        for name, bound in (numbers(kind) if kind else ())
    )
    yield Place("`--num-samples` × `--attempts` × `--judge-repeats`", RESULTS_PER_CASE)


def settings() -> Iterator[Place]:
    for setting in SETTINGS.values():
        if setting.kind.bound or _is_number(setting.kind.type):
            yield Place(f"`{setting.name}`", setting.kind.bound)


def options() -> Iterator[tuple[str, Bound]]:
    """Options that are numbers, by the names that Python callers use."""
    for option in (OPTIONS | LIMITS).values():
        if option.kind.bound and get_origin(option.kind.type) is not dict:
            yield option.keyword, option.kind.bound


def policy_numbers() -> Iterator[tuple[str, Bound | None]]:
    """Those of `gates.yaml`, as they are written there: margins of single flags are below `flags`."""
    for name, bound in numbers(GatePolicy):
        yield name.replace("flag_margins", "flags"), bound


def flags(group: click.Command = cli, command: tuple[str, ...] = ()) -> Iterator[Flag]:
    """Numeric flags of all commands; how often `-v` is given is no number that somebody writes."""
    if isinstance(group, click.Group):
        context = click.Context(group)
        for name in group.list_commands(context):
            if found := group.get_command(context, name):
                yield from flags(found, (*command, name))
        return
    for parameter in group.params:
        bound = getattr(parameter.type, "bound", None)
        is_number = isinstance(parameter.type, (click.types.IntParamType, click.types.FloatParamType))
        if bound or (is_number and not getattr(parameter, "count", False)):
            yield Flag(command, parameter.opts[0], bound)


def metric_kinds() -> dict[str, type[msgspec.Struct]]:
    """The metrics that ship, by name."""
    found = {info.name: OWN_METRICS.get(info.name) or METRICS.get(info.name) for info in list_metrics()}
    return {name: kind for name, kind in found.items() if issubclass(kind, msgspec.Struct)}


def numbers(kind: type[msgspec.Struct]) -> Iterator[tuple[str, Bound | None]]:
    """The numbers in a struct and in the structs within it, by the way of keys that leads there."""
    yield from _numbers(inspect.type_info(kind), ())


def _numbers(shape: inspect.Type, way: tuple[str, ...]) -> Iterator[tuple[str, Bound | None]]:
    match shape:
        case inspect.Metadata():
            bound = (shape.extra or {}).get("bound")
            yield from [(".".join(way), bound)] if bound else _numbers(shape.type, way)
        case inspect.IntType() | inspect.FloatType():
            yield ".".join(way), None
        case inspect.StructType():
            for field in shape.fields:
                yield from _numbers(field.type, (*way, field.encode_name))
        case inspect.UnionType():
            for each in shape.types:
                yield from _numbers(each, way)
        case inspect.DictType():
            yield from _numbers(shape.value_type, (*way, "NAME"))
        case inspect.VarTupleType() | inspect.ListType():
            yield from _numbers(shape.item_type, way)
        case _:
            return


def _is_number(kind: Any) -> bool:
    return kind in (int, float) or (get_args(kind)[:1] or (None,))[0] in (int, float)
