"""Collects the metrics of a run: from flags, Python, the configuration and metrics files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import ConfigurationError, InputError
from prompt_evaluator.metrics.catalogue import build_metric
from prompt_evaluator.syntax.jsontext import parse_json
from prompt_evaluator.syntax.metric_uses import parse_uses, parse_uses_text
from prompt_evaluator.syntax.source import read_bytes
from prompt_evaluator.syntax.yamltext import parse_yaml

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model import MetricUse
    from prompt_evaluator.model.options import EvaluateOptions
    from prompt_evaluator.syntax.document import Document

_FORMATS = {".json": parse_json, ".yaml": parse_yaml, ".yml": parse_yaml}
_SHAPE = "Write a list of metrics: names, or mappings with `metric` and its options; or `metrics:` with such a list."


def metric_uses(options: EvaluateOptions) -> tuple[MetricUse, ...]:
    """Every metric use of the run, those from a file first.

    Raises:
        ConfigurationError: One cannot be read, or two have the same name.
        InputError: The metrics file is invalid; says where.
    """
    found = list(_in_file(options.metrics_file)) if options.metrics_file else []
    for entry in options.metrics:
        try:
            found += _uses(entry)
        except ValueError as error:
            raise ConfigurationError(f"A metric cannot be used: {error}.") from None
    seen: set[str] = set()
    for use in found:
        if use.key in seen:
            raise ConfigurationError(f"Two metrics are called {use.key!r}. Give one of them another `name`.")
        seen.add(use.key)
        try:
            msgspec.json.encode(use)
        except (TypeError, ValueError, RecursionError) as error:
            raise ConfigurationError(f"The metric {use.key!r} has an option that cannot be stored: {error}.") from None
    return tuple(found)


def _uses(entry: str | dict[str, Any]) -> tuple[MetricUse, ...]:
    """Parse a text as one use, as in a file, if possible; otherwise as several, separated by commas."""
    if isinstance(entry, str):
        try:
            return parse_uses(entry)
        except ValueError:
            return parse_uses_text(entry)
    return parse_uses(entry)


def _in_file(path: Path) -> tuple[MetricUse, ...]:
    if path.suffix.lower() not in _FORMATS:
        advice = "Give it one of these extensions."
        raise InputError("A metrics file must be a .yaml, .yml or .json file", path=path, advice=advice)
    document = _FORMATS[path.suffix.lower()](read_bytes(path), path)
    listed = document.root
    if isinstance(listed, dict) and set(listed) == {"metrics"}:
        listed = listed["metrics"]
    if not listed:
        raise InputError("The file has no metrics", path=path, advice=_SHAPE)
    try:
        uses = parse_uses(listed)
    except ValueError as error:
        line = _line(listed, document)
        raise InputError(f"A metric cannot be used: {error}", path=path, line=line, advice=_SHAPE) from None
    for position, use in enumerate(uses):
        try:
            build_metric(use)
        except ConfigurationError as error:
            line = document.places.get(id(listed), {}).get(position)
            advice = "`prompt-evaluator list metrics` lists metrics and their options."
            raise InputError(str(error).rstrip("."), path=path, line=line, advice=advice) from None
    return uses


def _line(listed: Any, document: Document) -> int | None:
    """Line of the first item that cannot be read."""
    if not isinstance(listed, list):
        return None
    for position, item in enumerate(listed):
        try:
            parse_uses(item)
        except ValueError:
            return document.places.get(id(listed), {}).get(position)
    return None
