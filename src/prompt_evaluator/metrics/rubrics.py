"""Loads rubrics: built-in ones by name, and rubric files."""

from __future__ import annotations

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import InputError, UnknownNameError
from prompt_evaluator.model import Criterion, Flag, Rubric
from prompt_evaluator.model.bounds import out_of_bounds
from prompt_evaluator.syntax.jsontext import parse_json
from prompt_evaluator.syntax.source import read_bytes
from prompt_evaluator.syntax.wording import described
from prompt_evaluator.syntax.yamltext import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.syntax.document import Document

_FORMATS = {".json": parse_json, ".yaml": parse_yaml, ".yml": parse_yaml}
_SHOWN = 40
_SHAPE = (
    "A rubric has `metrics:`, a list of {name, description, min_score, max_score, guidelines, pass_at}, "
    "and may have `flags:`."
)


def preset_names() -> list[str]:
    """The built-in rubrics."""
    return sorted(item.name.removesuffix(".yaml") for item in _presets().iterdir() if item.name.endswith(".yaml"))


def load_rubric(name: str, named: Mapping[str, str] | None = None) -> Rubric:
    """Load a rubric.

    Args:
        name: The name of a built-in rubric, a name in `named`, or a path.
        named: Maps names from the configuration to paths.

    Raises:
        InputError: The file cannot be used; says where and why.
        UnknownNameError: `name` is neither a path nor a known name.
    """
    if path := (named or {}).get(name):
        return _read(Path(path), Path(path).stem)
    if name in preset_names():
        data = _presets().joinpath(f"{name}.yaml").read_bytes()
        return _rubric(data, Path(f"{name}.yaml"), name)
    if Path(name).suffix.lower() in _FORMATS or "/" in name:
        return _read(Path(name), Path(name).stem)
    raise UnknownNameError("rubric", name, [*preset_names(), *(named or {})])


def _presets() -> Any:
    return files(__package__).joinpath("rubrics")


def _read(path: Path, name: str) -> Rubric:
    if path.suffix.lower() not in _FORMATS:
        raise InputError(
            "A rubric must be a .yaml, .yml or .json file", path=path, advice="Give it one of these extensions."
        )
    rubric = _rubric(read_bytes(path), path, name)
    return msgspec.structs.replace(rubric, path=str(path.resolve()))


def _rubric(data: bytes, path: Path, name: str) -> Rubric:
    document = _FORMATS[path.suffix.lower()](data, path)
    root = document.root
    if not isinstance(root, dict) or not isinstance(root.get("metrics"), list) or not root["metrics"]:
        raise InputError("The rubric has no list of metrics", path=path, advice=_SHAPE)
    if unknown := sorted(set(root) - {"metrics", "flags", "name", "description"}):
        raise _unknown_field(unknown[0], root, document, path)
    metrics = tuple(_entry(item, Criterion, document, path) for item in root["metrics"])
    flags = tuple(_entry(item, Flag, document, path) for item in root.get("flags") or ())
    for criterion, item in zip(metrics, root["metrics"], strict=True):
        if criterion.min_score >= criterion.max_score:
            what = f"min_score of {criterion.name!r} is not below its max_score"
            raise _problem(what, "Correct the scale.", item, document, path)
        if not criterion.min_score <= criterion.scale.pass_at <= criterion.max_score:
            what = f"pass_at of {criterion.name!r} is not on its scale"
            raise _problem(what, "Give a score from min_score to max_score.", item, document, path)
    _check_names([*metrics, *flags], path)
    return Rubric(name=name, metrics=metrics, flags=flags, hash=hashlib.sha256(data).hexdigest())


def _entry(item: Any, kind: type[Any], document: Document, path: Path) -> Any:
    if isinstance(item, dict) and (wrong := out_of_bounds(kind, item)):
        field, bound, value = wrong
        what = f"{field} of {str(item.get('name'))[:_SHOWN]!r} has to be {bound.words}, not {described(value)}"
        raise _problem(what, "Correct the scale.", item, document, path)
    known = kind.__struct_encode_fields__
    if isinstance(item, dict) and (unknown := [name for name in item if name not in known]):
        raise _unknown_field(unknown[0], item, document, path)
    try:
        entry = msgspec.convert(item, kind)
    except msgspec.ValidationError as error:
        raise _problem(f"An entry of the rubric is wrong: {error}", _SHAPE, item, document, path) from None
    if not entry.name.strip() or not entry.description.strip():
        raise _problem("An entry of the rubric has an empty name or description", "Fill it in.", item, document, path)
    return entry


def _unknown_field(name: str, item: Any, document: Document, path: Path) -> InputError:
    line = document.places.get(id(item), {}).get(name)
    return InputError(f"The rubric has an unknown field {name[:_SHOWN]!r}", path=path, line=line, advice=_SHAPE)


def _check_names(entries: list[Criterion | Flag], path: Path) -> None:
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            what = f"Two entries of the rubric are named {entry.name!r}"
            raise InputError(what, path=path, advice="Give each metric and flag its own name.")
        seen.add(entry.name)


def _problem(what: str, advice: str, item: Any, document: Document, path: Path) -> InputError:
    lines = document.places.get(id(item), {})
    return InputError(what, path=path, advice=advice, line=min(lines.values(), default=None))
