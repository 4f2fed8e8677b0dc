"""Reads `gates.yaml`: what a run has to meet to pass the gate."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from prompt_evaluator.config.lines import Lines
from prompt_evaluator.config.problems import Place
from prompt_evaluator.errors import InputError
from prompt_evaluator.model.bounds import GATE_LEVEL, GATE_MARGIN, SCORE
from prompt_evaluator.model.gate import GatePolicy, Guardrails
from prompt_evaluator.syntax.source import check_text, read_bytes
from prompt_evaluator.syntax.yamltext import parse_yaml
from prompt_evaluator.usercode.trust import check_found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from prompt_evaluator.model.bounds import Bound

POLICY_FILE = "gates.yaml"
_KEYS = ("metrics", "level", "guardrails", "slices", "case_minimum", "baseline")
_RAILS = ("level", "flags", "errors", "cost", "latency")


def find_policy(folder: Path, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The policy file of a folder, if there is one.

    Raises:
        InputError: Someone else may have written it.
    """
    path = folder / POLICY_FILE
    if not path.is_file():
        return None
    check_found(path, "policy", instead=f"Name it explicitly with --policy {POLICY_FILE}", environment=environment)
    return path


def read_policy(path: Path) -> GatePolicy:
    """Read and check the whole file.

    Raises:
        InputError: Something in it is unknown or wrong.
    """
    data = read_bytes(path)
    root = parse_yaml(data, path).root
    if root is None:
        return GatePolicy(path=str(path))
    if not isinstance(root, dict):
        raise InputError("The policy is not a mapping", path=path, advice=f"Write any of: {', '.join(_KEYS)}.")
    top = Place(path, Lines(check_text(data, path).decode()))
    _check_keys(root, top, _KEYS)
    level = GatePolicy().level
    return GatePolicy(
        metrics=_metrics(root.get("metrics"), top / "metrics"),
        level=_level(root["level"], top / "level") if root.get("level") is not None else level,
        guardrails=_guardrails(root.get("guardrails"), top / "guardrails"),
        slices=tuple(_names(root.get("slices"), top / "slices", "metadata keys")),
        case_minimum=dict(_minimums(root.get("case_minimum"), top / "case_minimum")),
        baseline=_text(root.get("baseline"), top / "baseline"),
        path=str(path),
    )


def _check_keys(found: Mapping[str, Any], place: Place, known: tuple[str, ...]) -> None:
    for name in found:
        if name not in known:
            raise (place / str(name)).unknown(known)


def _metrics(found: Any, place: Place) -> dict[str, float | None] | None:
    if found is None:
        return None
    if isinstance(found, list | str):
        return dict.fromkeys(_names(found, place, "metrics"))
    margins = place.mapping(found, "Write `metric: margin` below it, or a list of metrics.")
    if not margins:
        raise place.wrong("at least one metric", found, advice="Leave it out to decide on all metrics.")
    return {str(name): None if value is None else _margin(value, place / str(name)) for name, value in margins.items()}


def _guardrails(found: Any, place: Place) -> Guardrails:
    if found is None:
        return Guardrails()
    if found is False:
        return Guardrails(flags=None, errors=None, cost=None, latency=None)
    rails = place.mapping(found, f"Write any of {', '.join(_RAILS)} below it, or false for none.")
    _check_keys(rails, place, _RAILS)
    given: dict[str, Any] = {}
    for name, value in rails.items():
        if value is None:
            continue
        if name == "level":
            given[name] = _level(value, place / name)
        elif name == "flags" and isinstance(value, dict):
            given["flag_margins"] = {
                str(flag): _optional(each, place / name / str(flag)) for flag, each in value.items()
            }
        else:
            given[name] = _optional(value, place / name)
    return Guardrails(**given)


def _optional(found: Any, place: Place) -> float | None:
    """A margin, or false to turn a guardrail off."""
    return None if found is False else _margin(found, place, alternative=", or false to turn it off")


def _margin(found: Any, place: Place, *, alternative: str = "") -> float:
    advice = "A margin is the largest drop that may pass."
    return _number(GATE_MARGIN, found, place, advice=advice, alternative=alternative)


def _level(found: Any, place: Place) -> float:
    advice = "It is how often a run that did not get worse may fail; 0.05 is usual."
    return _number(GATE_LEVEL, found, place, advice=advice)


def _minimums(found: Any, place: Place) -> Iterator[tuple[str, float]]:
    for name, value in (place.mapping(found, "Write `metric: minimum` below it.") if found is not None else {}).items():
        yield str(name), _number(SCORE, value, place / str(name))


def _number(bound: Bound, found: Any, place: Place, *, advice: str = "", alternative: str = "") -> float:
    try:
        return bound.read(found)
    except ValueError:
        raise place.wrong(f"{bound.words}{alternative}", found, advice=advice) from None


def _names(found: Any, place: Place, what: str) -> Iterator[str]:
    for name in (
        [] if found is None else [found] if isinstance(found, str) else found if isinstance(found, list) else [None]
    ):
        if not isinstance(name, str) or not name.strip():
            raise place.wrong(f"a list of {what}", found if not isinstance(found, list) else name)
        yield name


def _text(found: Any, place: Place) -> str | None:
    if found is not None and (not isinstance(found, str) or not found.strip()):
        raise place.wrong("the name of a run or of a pinned baseline", found)
    return found
