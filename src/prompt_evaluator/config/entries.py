"""Checks the entries under `providers:` field by field, so that each error names its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import inspect

from prompt_evaluator.model import ProviderSettings
from prompt_evaluator.model.bounds import SERVICE_PORT, bound_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.config.problems import Place
    from prompt_evaluator.model.bounds import Bound

_HELP = "See docs/how-to/configure-providers.md."
_SHAPE = inspect.type_info(ProviderSettings)
_LEAVES: dict[type, tuple[type, str]] = {
    inspect.StrType: (str, "a text"),
    inspect.BoolType: (bool, "true or false"),
}
_PATHS = {"ca_file", "cert_file", "key_file"}
"""Relative to the configuration file's folder."""
_PORT = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://)?[^/?#]*:([0-9]+)(?:[/?#]|$)")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOOKS_LIKE_A_KEY = re.compile(r"(?=.*[a-z])(?=.*\d).{20,}")


def providers(
    found: dict[str, Any], place: Place, built_in: Mapping[str, ProviderSettings]
) -> dict[str, ProviderSettings]:
    """Convert each entry to settings.

    An entry without `kind` overrides fields of the built-in provider of that name; one with `kind` replaces it.
    """
    return {name: _provider(name, entry, place / name, built_in) for name, entry in found.items()}


def _provider(name: str, entry: Any, place: Place, built_in: Mapping[str, ProviderSettings]) -> ProviderSettings:
    given = place.mapping(entry, f"Write its fields below it, indented. {_HELP}")
    base = built_in.get(name) if given.get("kind") is None else None
    if base is not None:
        given = {**given, "kind": base.kind}
    checked = _checked(given, _SHAPE, place)
    for field in ("api_key_env", "base_url_env"):
        _check_variable(checked.get(field), place / field)
    for field in ("base_url", "proxy"):
        _check_port(checked.get(field, ""), place / field)
    for number, rule in enumerate(checked.get("rules", ()), 1):
        _check_pattern(rule.get("match", ""), place / "rules" / str(number) / "match")
    for field in _PATHS & checked.keys():
        if path := checked.pop(field):
            checked[field] = _path(path, place / field)
    fields = {**(msgspec.to_builtins(base) if base is not None else {}), **checked}
    return msgspec.convert(fields, ProviderSettings)


def _path(written: str, place: Place) -> str:
    try:
        return str(place.path.parent / Path(written).expanduser())
    except RuntimeError:
        raise place.problem(f"`{place.name}` is in the home of an unknown user", "Correct the path.") from None


def _checked(value: Any, shape: inspect.Type, place: Place) -> Any:
    """Return the value without its empty fields. Raise `InputError` for the first part that is wrong."""
    match shape:
        case inspect.StructType():
            return _struct(place.mapping(value, _HELP), shape, place)
        case inspect.DictType():
            mapping = place.mapping(value, _HELP)
            return {name: _checked(item, shape.value_type, place / name) for name, item in mapping.items()}
        case inspect.UnionType():
            (inner,) = (kind for kind in shape.types if not isinstance(kind, inspect.NoneType))
            return _checked(value, inner, place)
        case inspect.VarTupleType():
            if not isinstance(value, list):
                raise place.wrong("a list", value, advice=_HELP, shown=False)
            return [_checked(item, shape.item_type, place / str(number)) for number, item in enumerate(value, 1)]
        case inspect.AnyType():
            return value
        case _:
            bound = bound_of(shape)
            return _number(value, bound, place) if bound else _leaf(value, shape, place)


def _struct(mapping: dict[str, Any], shape: inspect.StructType, place: Place) -> dict[str, Any]:
    fields = {field.encode_name: field for field in shape.fields}
    for name in mapping:
        if name == "api_key" and "api_key_env" in fields:
            what = f"`{(place / name).name}`: keys do not belong in the file"
            raise (place / name).problem(what, "Put it in an environment variable and name that in `api_key_env`.")
        if name not in fields:
            raise (place / name).unknown(fields)
    given = {name: item for name, item in mapping.items() if item is not None}
    for name, field in fields.items():
        if field.required and name not in given:
            raise place.problem(f"`{place.name}` has no `{name}`", _HELP)
    return {name: _checked(item, fields[name].type, place / name) for name, item in given.items()}


def _leaf(value: Any, shape: inspect.Type, place: Place) -> Any:
    if isinstance(shape, inspect.LiteralType):
        if value not in shape.values:
            raise place.wrong(" or ".join(map(str, shape.values)), value, advice=_HELP, shown=False)
        return value
    kind, words = _LEAVES[type(shape)]
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        raise place.wrong(words, value, advice=_HELP, shown=False) from None


def _number(value: Any, bound: Bound, place: Place) -> int | float:
    try:
        return bound.read(value)
    except ValueError:  # a text instead of a number may be a misplaced key
        raise place.wrong(bound.words, value, advice=_HELP, shown=not isinstance(value, str)) from None


def _check_port(address: str, place: Place) -> None:
    """Refuse a port that no service has. It is not quoted: in a malformed address it may be part of a password."""
    if found := _PORT.match(address.strip()):
        try:
            SERVICE_PORT.read_text(found[1])
        except ValueError:
            raise place.problem(f"The port in `{place.name}` has to be {SERVICE_PORT.words}", _HELP) from None


def _check_pattern(pattern: str, place: Place) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise place.problem(f"`{place.name}` is not a regular expression: {error}", _HELP) from None


def _check_variable(name: str | None, place: Place) -> None:
    """Refuse a value that looks like the key itself instead of a variable's name, without quoting it."""
    if name is not None and (not _VARIABLE.fullmatch(name) or _LOOKS_LIKE_A_KEY.fullmatch(name)):
        advice = "Write the variable's name, such as OPENAI_API_KEY, and put the value in that variable."
        raise place.problem(f"`{place.name}` is not the name of an environment variable", advice)
