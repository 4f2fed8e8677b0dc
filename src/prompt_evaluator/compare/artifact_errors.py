"""Says in a sentence why a `dataset_evaluation.json` cannot be used, and where."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.compare.artifact_parts import LARGEST_COUNT, LARGEST_SCORE
from prompt_evaluator.errors import InputError
from prompt_evaluator.model.outcome import MAIN_FILE, PACK_FILE
from prompt_evaluator.syntax.jsontext import parse_json
from prompt_evaluator.syntax.source import check_text

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.compare.artifact_parts import Head

_PROBLEM = re.compile(r"Expected `([^`]+)`(?:, got `([^`]+)`)?")
_PLACE = re.compile(r"at `\$([^`]*)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|(\[\.\.\.\])")
_KINDS = {"str": "a text", "bool": "true or false", "array": "a list", "object": "an object", "null": "null"}
_WANTED = {"float": "a number", "int": "a whole number"} | _KINDS
_GZIP = b"\x1f\x8b"
_CORRECT = "Correct the file, or have it written again."
_EXPECTED = f"Give the {MAIN_FILE} of a run."


def malformed(error: Exception, data: bytes, path: Path) -> InputError:
    """Explain bytes that are not JSON, or JSON that is too deep."""
    if data.startswith(_GZIP):
        return InputError("The file is compressed", path=path, advice="Decompress it with gunzip, and give the result.")
    if path.suffix == ".jsonl":
        what = f"This is a file with one value per line, not a {MAIN_FILE}"
        return InputError(what, path=path, advice=_near_main_file(path))
    if not isinstance(error, RecursionError):
        try:
            check_text(data, path)
            if parse_json(data, path).root is None:
                return InputError("The file is empty", path=path, advice=_EXPECTED)
        except InputError as found:
            advice = _EXPECTED if "more than one value" in found.what else found.advice
            return InputError(found.what, path=path, line=found.line, advice=advice)
        return InputError(f"The file cannot be read: {error}", path=path, advice=_CORRECT)
    return InputError("Values are nested too deep", path=path, advice=_EXPECTED)


def not_a_run(head: Head, path: Path) -> InputError:
    """Explain an object without cases: perhaps another file of a run."""
    if head.test_case_id is not None:
        return InputError("This is the file of one case, not of a run", path=path, advice=_near_main_file(path))
    if isinstance(head.runs, list):
        what, advice = "This is an index of runs, not a run", f"Give the {MAIN_FILE} of one of them."
        ids = [run.get("run_id") for run in head.runs if isinstance(run, dict)]
        if ids and isinstance(ids[-1], str):
            advice = f"Give the file of one of its runs, such as {path.parent / ids[-1] / MAIN_FILE}."
        return InputError(what, path=path, advice=advice)
    return InputError("The file has no `test_case_results`", path=path, field="test_case_results", advice=_EXPECTED)


def wrong_head(error: Exception, path: Path) -> InputError:
    """Explain a file of another shape."""
    place = _PLACE.search(str(error))
    field = place[1].lstrip(".") if place else ""
    wanted, got = _wanted_and_got(str(error))
    where = f"`{field}`" if field else "The file"
    return InputError(f"{where} is {got}, not {wanted}", path=path, field=field or None, advice=_EXPECTED)


def wrong_case(error: Exception, raw: bytes, at: int, path: Path) -> InputError:
    """Explain a case in which something has the wrong type."""
    message = str(error)
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        value = None
    place = _PLACE.search(message)
    field = _named(place[1] if place else "", value, message)
    named = value.get("test_case_id") if isinstance(value, dict) else None
    case = f"Case {named[:60]!r}" if isinstance(named, str) else f"The case at position {at + 1}"
    what = f"{case} has {_problem(message)} in `{field}`" if field else f"{case} is {_is_not(message)}"
    return InputError(what, path=path, index=at, field=field or None, advice=_CORRECT)


def no_id(at: int, path: Path) -> InputError:
    what = f"The case at position {at + 1} has no `test_case_id`"
    return InputError(what, path=path, index=at, field="test_case_id", advice="Cases are matched by it; add one.")


def repeated_id(case_id: str, first: int, at: int, path: Path) -> InputError:
    what = f"Two cases have the id {case_id[:60]!r}"
    note = f"at positions {first + 1} and {at + 1}"
    advice = "Give each case an id of its own."
    return InputError(what, path=path, index=at, field="test_case_id", note=note, advice=advice)


def _near_main_file(path: Path) -> str:
    beside = path.with_name(MAIN_FILE)
    return f"Give {beside} instead." if path.name.startswith("test_case") or path.name == PACK_FILE else _EXPECTED


def _wanted_and_got(message: str) -> tuple[str, str]:
    found = _PROBLEM.search(message)
    options = found[1].split(" | ") if found else []
    wanted = next((word for kind, word in _WANTED.items() if kind in options), "as expected")
    got = found[2] if found and found[2] else ""
    return wanted, "a number" if got in ("int", "float") else _KINDS.get(got, "something else")


def _is_not(message: str) -> str:
    wanted, got = _wanted_and_got(message)
    return f"{got}, not {wanted}"


def _problem(message: str) -> str:
    if "got `" in message:
        wanted, got = _wanted_and_got(message)
        return f"{got} instead of {wanted}"
    return "a number that is out of range"


def _named(place: str, value: Any, message: str) -> str:
    """Replace `[...]`, which means any key of an object, with the key whose value is the problem."""
    found = [("", value)]
    for name, index, anywhere in _STEP.findall(place):
        if anywhere:
            found = [
                (f"{at}.{key}", each) for at, part in found if isinstance(part, dict) for key, each in part.items()
            ]
        elif index:
            found = [(f"{at}[{index}]", part[int(index)]) for at, part in found if isinstance(part, list)]
        else:
            found = [(f"{at}.{name}", part[name]) for at, part in found if isinstance(part, dict) and name in part]
    wanted = _PROBLEM.search(message)
    bounds = _bounds(place, wanted[1] if wanted else None)
    bad = [at for at, each in found if _fits(each, wanted[2] if wanted else None, bounds)]
    return (bad[0] if bad else place).lstrip(".")


def _bounds(place: str, wanted: str | None) -> tuple[float, float]:
    if place.endswith(".true_proportion"):
        return 0.0, 1.0
    return (0.0, LARGEST_COUNT) if wanted == "int" else (-LARGEST_SCORE, LARGEST_SCORE)


def _fits(value: Any, got: str | None, bounds: tuple[float, float]) -> bool:
    """Whether this is the value that msgspec calls `got`; without that, whether it is out of bounds."""
    if got is not None:
        return msgspec.json.encode(value)[:1] in _STARTS.get(got, b"") if not _is_number(value) else got in _NUMBERS
    return _is_number(value) and not bounds[0] <= value <= bounds[1]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_NUMBERS = ("int", "float")
_STARTS = {"str": b'"', "bool": b"tf", "null": b"n", "array": b"[", "object": b"{"}
