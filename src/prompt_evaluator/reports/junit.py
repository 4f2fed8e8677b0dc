"""JUnit XML, which CI services show as test results: a suite and its test cases, one at a time."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.reports.safe_text import plain, xml_attribute, xml_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO

_IN_MEMORY = 1_000_000
"""Bytes of test cases to hold before they go to a temporary file, which waits for the suite's counts."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Why a test case did not pass."""

    kind: Literal["failure", "error", "skipped"]
    """`failure`: the answer is not good enough. `error`: there is no answer or no score."""
    message: str
    """One line."""
    type: str = ""
    """The check that was missed, or the error class."""
    text: str = ""


class TestResult(msgspec.Struct, frozen=True, kw_only=True):
    """One test case."""

    __test__ = False  # keeps pytest from collecting this class

    classname: str
    name: str
    file: str | None = None
    line: int | None = None
    seconds: float | None = None
    properties: dict[str, str] = {}
    problem: Problem | None = None


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """What all test cases have in common."""

    name: str
    started_at: str | None
    """ISO 8601, UTC."""
    properties: dict[str, str]


def write_junit(file: BinaryIO, suite: Suite, results: Iterable[TestResult]) -> None:
    """Write a document with one suite. Its counts stand at the beginning, so test cases wait in a temporary file."""
    counts: Counter[str] = Counter()
    seconds = 0.0
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as body:
        for result in results:
            counts["tests"] += 1
            seconds += result.seconds or 0.0
            if result.problem:
                counts[result.problem.kind] += 1
            body.write("".join(_test_case(result)).encode())
        body.seek(0)
        file.write("".join(_head(suite, counts, seconds)).encode())
        shutil.copyfileobj(body, file)
    file.write(b"  </testsuite>\n</testsuites>\n")


def _head(suite: Suite, counts: Counter[str], seconds: float) -> Iterator[str]:
    totals = {
        "tests": str(counts["tests"]),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
        "time": f"{seconds:.3f}",
    }
    # Readers of this format expect neither fractions of seconds nor a time zone.
    when = {"timestamp": suite.started_at[:19]} if suite.started_at else {}
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_attributes({'name': 'prompt-evaluator', **totals})}>\n"
    yield f"  <testsuite{_attributes({'name': suite.name, **totals, **when})}>\n"
    yield from _properties(suite.properties, "    ")


def _test_case(result: TestResult) -> Iterator[str]:
    place = {"file": result.file, "line": str(result.line) if result.line is not None else None}
    time = f"{result.seconds:.3f}" if result.seconds is not None else None
    named = {"classname": result.classname, "name": result.name, **place, "time": time}
    yield f"    <testcase{_attributes(named)}>\n"
    yield from _properties(result.properties, "      ")
    if found := result.problem:
        type_ = found.type or None if found.kind != "skipped" else None
        text = xml_text(plain(found.text)) if found.kind != "skipped" else ""
        yield f"      <{found.kind}{_attributes({'message': found.message, 'type': type_})}>{text}</{found.kind}>\n"
    yield "    </testcase>\n"


def _properties(properties: Mapping[str, str], indent: str) -> Iterator[str]:
    if properties:
        yield f"{indent}<properties>\n"
        for name, value in properties.items():
            yield f"{indent}  <property{_attributes({'name': name, 'value': value})}/>\n"
        yield f"{indent}</properties>\n"


def _attributes(values: Mapping[str, str | None]) -> str:
    written = (f' {name}="{xml_attribute(plain(value))}"' for name, value in values.items() if value is not None)
    return "".join(written)
