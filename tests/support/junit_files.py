"""JUnit files: checked against a schema, and read back."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from typing import NamedTuple

import xmlschema


class Read(NamedTuple):
    """A test case as a CI service reads it."""

    classname: str
    name: str
    place: tuple[str | None, str | None]
    problem: str | None
    message: str
    text: str
    properties: dict[str, str]


@cache
def _schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(Path(__file__).with_name("junit.xsd")))


def suite_of(path: Path) -> ET.Element:
    """The only suite of a file that keeps to the schema, and whose counts are right."""
    _schema().validate(str(path))
    root = ET.parse(path).getroot()
    (suite,) = root
    for element in (root, suite):
        counted = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
        assert {name: int(element.attrib[name]) for name in counted} == {
            name: sum(1 for _ in suite.iter(tag)) for name, tag in counted.items()
        }
    return suite


def read_junit(path: Path) -> list[Read]:
    return [_read(each) for each in suite_of(path).iter("testcase")]


def properties_of(element: ET.Element) -> dict[str, str]:
    return {each.attrib["name"]: each.attrib["value"] for each in element.iterfind("properties/property")}


def _read(element: ET.Element) -> Read:
    problem = next((each for each in element if each.tag != "properties"), None)
    return Read(
        element.attrib["classname"],
        element.attrib["name"],
        (element.get("file"), element.get("line")),
        problem.tag if problem is not None else None,
        problem.attrib["message"] if problem is not None else "",
        (problem.text or "") if problem is not None else "",
        properties_of(element),
    )
