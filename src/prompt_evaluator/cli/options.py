"""Turns declared options into flags: commands only name the ones they have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args, get_origin

import click
import msgspec

from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.model.bounds import SCORE, SHARE
from prompt_evaluator.model.declaration import (
    CONDITIONS,
    DATASET,
    FILE,
    FOLDER,
    LABELS,
    MAPPING,
    METRICS,
    NUMBERS,
    PATH,
    SHARES,
    SWITCH,
    WORDS,
)
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.run_limits import LIMITS
from prompt_evaluator.model.several import REPEATED, SEVERAL, split_pairs, split_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model.bounds import Bound
    from prompt_evaluator.model.declaration import Kind, Option

_SHOWN = 40
_TAG = re.compile(r"[^\s=]+")
F = TypeVar("F", bound="Callable[..., Any] | click.Command")


def options(*names: str) -> Callable[[F], F]:
    """Add options to a command as they are declared."""

    def with_options(command: F) -> F:
        for name in reversed(names):
            command = option(name)(command)
        return command

    return with_options


def option(  # noqa: PLR0913 - ways to differ from the declaration, all optional
    name: str,
    *,
    help: str | None = None,  # noqa: A002 - click's name for it
    default: Any = None,
    otherwise: str | None = None,
    required: bool = False,
    several: bool = False,
) -> Callable[[F], F]:
    """Add one option to a command, with changes to its declaration.

    The command receives None if the option is not given, so that the settings can supply a value.

    Args:
        name: Name of the option, such as `num_samples`.
        help: Replaces the declared help text.
        default: Default value; takes precedence over the settings.
        otherwise: Replaces the declared default in the help text.
        required: Whether the command needs it.
        several: Whether the command accepts several values of an option that otherwise has one. It receives a tuple.
    """
    found = (OPTIONS | LIMITS)[name]
    remark, arguments = (
        _of_several(found.kind) if several else (_REMARKS.get(found.kind), _CLICK_ARGUMENTS.get(found.kind, {}))
    )
    default_text = None if default is not None or required else otherwise or found.default_text
    return click.option(
        *_flags(found),
        found.name,
        type=_type(found.kind),
        default=default,
        show_default=default is not None,
        required=required,
        metavar=found.metavar,
        help=" ".join(filter(None, (help or found.help, remark)))
        + (f"  [default: {default_text}]" if default_text else ""),
        **arguments,
    )


def several_words(
    _context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Collect the words of a repeatable, comma-separated option. Each use must contain at least one."""
    found = [split_words(value) for value in values]
    if not all(found):
        raise click.BadParameter("name at least one", param=parameter)
    return tuple(word for words in found for word in words) or None


def several_paths(
    _context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Collect the paths of a repeatable option. They may contain commas."""
    if not all(values):
        raise click.BadParameter("name at least one", param=parameter)
    return values or None


def several_conditions(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Collect conditions. An empty one is kept: the code that parses conditions has the better error message."""
    return tuple(part for value in values for part in split_pairs(value) or [value]) or None


def _metrics(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return metrics as written. Their parser splits them, because options of metrics contain commas too."""
    if not all(text.strip(" ,") for text in values):
        raise click.BadParameter("name at least one", param=parameter)
    return values or None


def several_tags(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str] | None:
    """Collect tags: pairs `name=value`, or a name alone, which is `name=true`."""
    parts = [part for value in values for part in (_pairs(value) if "=" in value else split_words(value) or [value])]
    return _named(parameter, [f"{part}=true" if _TAG.fullmatch(part) else part for part in parts])


def _pairs(value: str) -> list[str]:
    """Split at commas if another `name=` follows."""
    return split_pairs(value) or [value]


def _named(parameter: click.Parameter, parts: list[str]) -> dict[str, str] | None:
    found = {}
    for part in parts:
        name, equals, text = part.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{part!r} is not of the form name=value", param=parameter)
        found[name] = text
    return found or None


def _bars(bound: Bound, example: str) -> Callable[..., dict[str, float] | None]:
    """Return a callback for `name=4.0`. Numbers contain no commas, so every comma separates."""

    def read(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, float] | None:
        found: dict[str, float] = {}
        for part in (part for value in values for part in split_words(value) or [value]):
            name, equals, text = part.rpartition("=")
            if not equals or not name:
                raise click.BadParameter(f"{part!r} is not of the form {example}", param=parameter)
            try:
                bar = bound.read_text(text)
            except ValueError:
                what = f"{text[:_SHOWN]!r} is not {bound.words}; write {example}"
                raise click.BadParameter(what, param=parameter) from None
            if found.setdefault(name, bar) != bar:
                raise click.BadParameter(f"{name!r} is given twice with different values", param=parameter)
        return found or None

    return read


def _values(_context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, Any] | None:
    """Read `name=value`, where the value is JSON or else text."""
    pairs = _named(parameter, [part for value in values for part in _pairs(value)])
    try:
        return None if pairs is None else {name: _json_or_text(text) for name, text in pairs.items()}
    except RecursionError:
        raise click.BadParameter("a value is nested too deeply", param=parameter) from None


def _json_or_text(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


_CLICK_ARGUMENTS: dict[Kind, dict[str, Any]] = {
    SWITCH: {"is_flag": True},
    WORDS: {"multiple": True, "callback": several_words},
    CONDITIONS: {"multiple": True, "callback": several_conditions},
    METRICS: {"multiple": True, "callback": _metrics},
    LABELS: {"multiple": True, "callback": several_tags},
    NUMBERS: {"multiple": True, "callback": _bars(SCORE, "metric=4.0")},
    SHARES: {"multiple": True, "callback": _bars(SHARE, "flag=0.05")},
    MAPPING: {"multiple": True, "callback": _values},
}
_REMARKS = {
    **dict.fromkeys((WORDS, METRICS, CONDITIONS, LABELS, NUMBERS, SHARES), SEVERAL),
    MAPPING: f"A value is JSON or text. {SEVERAL}",
}


def _of_several(kind: Kind) -> tuple[str, dict[str, Any]]:
    if kind is FILE:
        return REPEATED, {"multiple": True, "callback": several_paths}
    return SEVERAL, _CLICK_ARGUMENTS[WORDS]


def _flags(found: Option) -> tuple[str, ...]:
    """Add `--no-…` to a switch that a setting can turn on."""
    if found.kind is SWITCH and found.setting:
        return (f"{found.flag}/--no-{found.flag.removeprefix('--')}", *found.flags[1:])
    return found.flags


def _type(kind: Kind) -> Any:
    if kind in (DATASET, FILE, PATH, FOLDER):
        return click.Path()  # stays text: `./name` is a file, but `name` may be a configured name
    if get_origin(kind.type) is Literal:
        return click.Choice(get_args(kind.type))
    return number_type(kind.bound) if kind.bound and kind not in (NUMBERS, SHARES) else None
