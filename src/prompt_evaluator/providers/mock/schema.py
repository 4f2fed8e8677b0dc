"""Makes up a value that follows a JSON schema; an `Author` chooses plausible content."""

from __future__ import annotations

import math
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Path: TypeAlias = tuple[str | int, ...]
"""Property names and array positions, from the root to a value."""

_OPTIONAL_DEPTH = 5
"""Below this depth only required properties are written, so that recursive schemas end."""
_DEEPEST = 40
_REFERENCES = 32
_FORMATS = {
    "date": "2024-05-17",
    "date-time": "2024-05-17T09:30:00Z",
    "email": "someone@example.com",
    "time": "09:30:00Z",
    "uri": "https://example.com/",
    "uuid": "5b1c7e0e-3f0a-4c57-9d0b-2f6f5d8f7a11",
}


class Author(Protocol):
    """Chooses the values; the schema constrains them."""

    def enter(self, path: Path, names: Sequence[str]) -> None:
        """Note that an object with these properties starts."""

    def text(self, path: Path) -> str: ...

    def number(self, path: Path, low: float | None, high: float | None) -> float: ...

    def choice(self, path: Path, options: Sequence[Any]) -> Any: ...

    def flag(self, path: Path) -> bool: ...

    def size(self, path: Path) -> int:
        """How many items an array should have."""


def fill(schema: dict[str, Any], author: Author) -> Any:
    """Return a valid instance of a schema made of types, enumerations, references, unions and limits.

    `pattern`, `not`, `if` and `dependentSchemas` are ignored.
    """
    return _Filling(schema, author).value(schema, ())


def name_of(path: Path) -> str:
    """Return the value's property; items of an array belong to the array's property."""
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def index_of(path: Path) -> int:
    """Return the position in the innermost array."""
    return next((part for part in reversed(path) if isinstance(part, int)), 0)


class _Filling:
    def __init__(self, root: dict[str, Any], author: Author) -> None:
        self._root, self._author = root, author
        self._makers: dict[str, Callable[[dict[str, Any], Path], Any]] = {
            "object": self._object,
            "array": self._array,
            "integer": lambda schema, path: _whole(schema, self._number(schema, path)),
            "number": lambda schema, path: _real(schema, self._number(schema, path)),
            "boolean": lambda _, path: author.flag(path),
            "null": lambda _schema, _path: None,
        }

    def value(self, schema: Any, path: Path) -> Any:
        schema = self._resolved(schema, len(path))
        if "const" in schema:
            return schema["const"]
        if options := schema.get("enum"):
            return self._author.choice(path, options)
        if len(path) > _DEEPEST:
            return None
        make = self._makers.get(_type_of(schema)) or self._string
        return make(schema, path)

    def _resolved(self, schema: Any, depth: int) -> dict[str, Any]:
        """Follow references, merge `allOf` and choose one branch of each union."""
        for _ in range(_REFERENCES):
            if not isinstance(schema, dict):
                return {} if schema is True else {"type": "null"}
            if reference := schema.get("$ref"):
                schema = _merged([self._target(reference), _without(schema, "$ref")])
            elif parts := schema.get("allOf"):
                schema = _merged([_without(schema, "allOf"), *(self._resolved(part, depth) for part in parts)])
            elif union := next((key for key in ("anyOf", "oneOf") if schema.get(key)), None):
                branch = self._branch(schema[union], depth)
                schema = _merged([_without(schema, union), branch])
            else:
                return schema
        return {"type": "null"}

    def _target(self, reference: str) -> dict[str, Any]:
        found: Any = self._root
        for part in reference.removeprefix("#").strip("/").split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, dict) and key else found
        return found if isinstance(found, dict) else {}

    def _branch(self, branches: Sequence[Any], depth: int) -> Any:
        """Choose the first branch that is not null or, at depth, the first that does not nest further."""

        def rank(branch: Any) -> int:
            kind = _type_of(branch) if isinstance(branch, dict) else "null"
            ends = kind not in {"object", "array"} and not (isinstance(branch, dict) and "$ref" in branch)
            return (0 if ends else 1) if depth >= _OPTIONAL_DEPTH else int(kind == "null")

        return min(branches, key=rank)

    def _object(self, schema: dict[str, Any], path: Path) -> dict[str, Any]:
        properties, required = schema.get("properties") or {}, schema.get("required") or []
        rest = schema.get("additionalProperties", True)
        names = [name for name in properties if name in required or len(path) < _OPTIONAL_DEPTH]
        names += [name for name in required if name not in properties]
        names += [f"item_{n + 1}" for n in range(schema.get("minProperties", 0) - len(names))]
        self._author.enter(path, names)
        return {name: self.value(properties.get(name, rest), (*path, name)) for name in names}

    def _array(self, schema: dict[str, Any], path: Path) -> list[Any]:
        first, rest = schema.get("prefixItems") or [], schema.get("items", True)
        low, high = schema.get("minItems", 0), schema.get("maxItems", math.inf)
        count = int(max(low, min(self._author.size(path) if len(path) < _OPTIONAL_DEPTH else low, high)))
        if first:
            count = max(low, len(first))
        make = (self.value(first[n] if n < len(first) else rest, (*path, n)) for n in range(4 * count))
        if not schema.get("uniqueItems"):
            return list(islice(make, count))
        options = self._resolved(rest, len(path)).get("enum", []) if not first else []
        return list(islice(_distinct(chain(make, options)), count))

    def _string(self, schema: dict[str, Any], path: Path) -> str:
        text = _FORMATS.get(schema.get("format", ""), self._author.text(path))
        return text[: schema.get("maxLength")].ljust(schema.get("minLength", 0), ".")

    def _number(self, schema: dict[str, Any], path: Path) -> float:
        return self._author.number(path, _low(schema), _high(schema))


def _type_of(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if kind is None and ("properties" in schema or "required" in schema):
        return "object"
    return kind or ("array" if "items" in schema else "string")


def _without(schema: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != key}


def _merged(schemas: Sequence[Any]) -> Any:
    merged: dict[str, Any] = {}
    for schema in schemas:
        if not isinstance(schema, dict):
            return schema
        properties = {**merged.get("properties", {}), **schema.get("properties", {})}
        required = [*merged.get("required", []), *schema.get("required", [])]
        merged |= schema
        merged |= {"properties": properties} if properties else {}
        merged |= {"required": list(dict.fromkeys(required))} if required else {}
    return merged


def _low(schema: dict[str, Any]) -> float | None:
    limits = [schema[key] for key in ("minimum", "exclusiveMinimum") if key in schema]
    return max(limits, default=None)


def _high(schema: dict[str, Any]) -> float | None:
    limits = [schema[key] for key in ("maximum", "exclusiveMaximum") if key in schema]
    return min(limits, default=None)


def _whole(schema: dict[str, Any], value: float) -> int:
    step = max(1, int(schema.get("multipleOf", 1)))
    low, high = _low(schema), _high(schema)
    least = None if low is None else math.floor(low) + 1 if schema.get("exclusiveMinimum") == low else math.ceil(low)
    most = None if high is None else math.ceil(high) - 1 if schema.get("exclusiveMaximum") == high else math.floor(high)
    whole = round(value / step) * step
    if most is not None and whole > most:
        whole = most // step * step
    if least is not None and whole < least:
        whole = -(-least // step) * step
    return whole


def _real(schema: dict[str, Any], value: float) -> float:
    low, high, step = _low(schema), _high(schema), schema.get("multipleOf")
    real = round(value / step) * step if step else round(value, 2)
    width = (high - low if low is not None and high is not None else 1.0) * 0.01
    if low is not None and real <= low:
        real = low + (step or width) if schema.get("exclusiveMinimum") == low else low
    if high is not None and real >= high:
        real = high - (step or width) if schema.get("exclusiveMaximum") == high else high
    return float(real)


def _distinct(values: Iterable[Any]) -> Iterator[Any]:
    seen: set[bytes] = set()
    for value in values:
        key = msgspec.json.encode(value)
        if key not in seen:
            seen.add(key)
            yield value
