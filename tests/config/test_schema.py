"""The schema knows what the reader knows."""

from __future__ import annotations

from typing import Any

from prompt_evaluator.config.reading import TOP_LEVEL
from prompt_evaluator.config.schema import config_schema
from prompt_evaluator.config.settings import SETTINGS
from prompt_evaluator.model import Limits, Price, ProviderSettings, Rule


def test_the_schema_has_every_setting_and_nothing_else() -> None:
    schema = config_schema()

    assert set(schema["properties"]) == TOP_LEVEL
    for name, setting in SETTINGS.items():
        found = _property(schema, name)
        assert found["description"] == setting.help
        assert found.get("default") == setting.default


def test_no_part_of_the_schema_lets_an_unknown_key_pass() -> None:
    schema = config_schema()

    assert {name: part["additionalProperties"] for name, part in schema["$defs"].items()} == dict.fromkeys(
        (kind.__name__ for kind in (Limits, Price, ProviderSettings, Rule)), False
    )
    assert schema["additionalProperties"] is False
    assert schema["properties"]["judge"]["additionalProperties"] is False


def _property(schema: dict[str, Any], name: str) -> dict[str, Any]:
    for part in name.split("."):
        schema = schema["properties"][part]
    return schema
