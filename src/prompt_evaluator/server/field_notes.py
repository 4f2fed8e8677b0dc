"""What the code says about the fields of structs, for the OpenAPI document."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

_OURS = "prompt_evaluator."


def add_notes(schemas: dict[str, Any], kinds: Iterable[Any]) -> None:
    """Add the texts below the fields of structs to the schemas of these types, and of all types within them."""
    for kind in _structs(kinds):
        properties = schemas.get(kind.__name__, {}).get("properties", {})
        notes = _notes(kind)
        for field in msgspec.structs.fields(kind):
            if field.name in notes and field.encode_name in properties:
                properties[field.encode_name].setdefault("description", notes[field.name])


def _structs(kinds: Iterable[Any]) -> list[type[msgspec.Struct]]:
    found: dict[type[msgspec.Struct], None] = {}
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            if kind not in found:
                found[kind] = None
                waiting += [field.type for field in msgspec.structs.fields(kind)]
        else:
            waiting += get_args(kind)
    return list(found)


def _notes(kind: type) -> dict[str, str]:
    """The texts below the fields of a class, also of those that it inherits."""
    found: dict[str, str] = {}
    for owner in reversed(kind.__mro__):
        if owner.__module__.startswith(_OURS):
            found |= _in_module(owner.__module__).get(owner.__name__, {})
    return found


@cache
def _in_module(name: str) -> dict[str, dict[str, str]]:
    """The same for every class of a module: its source is read once."""
    tree = ast.parse(inspect.getsource(sys.modules[name]))
    return {each.name: _below_fields(each) for each in tree.body if isinstance(each, ast.ClassDef)}


def _below_fields(body: ast.ClassDef) -> dict[str, str]:
    found: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = " ".join(text.split())
    return found
