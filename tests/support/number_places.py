"""Where users can give numbers, found by walking through what commands, settings, files and options declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, get_origin

import click
import msgspec
from msgspec import inspect

from prompt_evaluator.app.metrics import list_metrics
from prompt_evaluator.cli.main import cli
from prompt_evaluator.metrics.catalogue import METRICS
from prompt_evaluator.metrics.command import CommandMetric
from prompt_evaluator.metrics.function import FunctionMetric
from prompt_evaluator.model.bounds import Bound, bound_of
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.run_limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN_METRICS: dict[str, type[msgspec.Struct]] = {
    "python:module:function": FunctionMetric,
    "command:program": CommandMetric,
}


FIRST = "1"
"""Stands for an item of a list in a way of keys."""


class Flag(NamedTuple):
    """A numeric flag of a command."""

    command: tuple[str, ...]
    flag: str
    bound: Bound | None


def options() -> Iterator[tuple[str, Bound]]:
    """Options that are numbers, by the names that Python callers use."""
    for option in (OPTIONS | LIMITS).values():
        if option.kind.bound and get_origin(option.kind.type) is not dict:
            yield option.keyword, option.kind.bound


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
        case inspect.IntType() | inspect.FloatType():
            yield ".".join(way), bound_of(shape)
        case inspect.Metadata():
            yield from _numbers(shape.type, way)
        case inspect.StructType():
            for field in shape.fields:
                yield from _numbers(field.type, (*way, field.encode_name))
        case inspect.UnionType():
            for each in shape.types:
                yield from _numbers(each, way)
        case inspect.DictType():
            yield from _numbers(shape.value_type, (*way, "NAME"))
        case inspect.VarTupleType(item_type=inspect.StructType()):
            yield from _numbers(shape.item_type, (*way, FIRST))
        case inspect.VarTupleType() | inspect.ListType():
            yield from _numbers(shape.item_type, way)
        case _:
            return
