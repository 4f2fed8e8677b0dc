"""The JSON schema of the configuration file, for completion and checks in editors."""

from __future__ import annotations

from typing import Any

import msgspec

from prompt_evaluator.config.settings import NAME_TABLES, SETTINGS, VERSION, Setting
from prompt_evaluator.config.suites import ABOUT_SUITES, NEEDED_FIELDS, SUITE_FIELDS
from prompt_evaluator.model import ProviderSettings

Schema = dict[str, Any]


def config_schema() -> Schema:
    """Return the schema of the whole file."""
    properties: Schema = {"version": _nullable({"const": VERSION})}
    for name, setting in SETTINGS.items():
        group, _, last = name.rpartition(".")
        level = properties.setdefault(group, _object({}))["properties"] if group else properties
        level[last] = _setting(setting)
    for table, (_, help_text) in NAME_TABLES.items():
        paths = {"type": "string", "minLength": 1}
        properties[table] = {"description": help_text, "type": ["object", "null"], "additionalProperties": paths}
    (_,), parts = msgspec.json.schema_components([ProviderSettings], ref_template="#/$defs/{name}")
    for part in parts.values():
        part["additionalProperties"] = False
    parts["ProviderSettings"]["required"] = []  # an entry without `kind` overrides a built-in provider
    properties["providers"] = {
        "description": "How to reach models. An entry's name is the part of a model's name before the slash.",
        "type": ["object", "null"],
        "additionalProperties": {"$ref": "#/$defs/ProviderSettings"},
    }
    properties["suites"] = {
        "description": ABOUT_SUITES,
        "type": ["object", "null"],
        "additionalProperties": _suite(),
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "prompt_evaluator.yaml",
        **_object(properties),
        "$defs": parts,
    }


def _suite() -> Schema:
    fields = {
        name: {"description": text, **_nullable(msgspec.json.schema(kind.type))}
        for name, (kind, text) in SUITE_FIELDS.items()
    }
    for name in NEEDED_FIELDS:
        fields[name] |= fields[name].pop("anyOf")[0]
    return {**_object(fields), "type": "object", "required": list(NEEDED_FIELDS)}


def _setting(setting: Setting) -> Schema:
    default = {} if setting.default is None else {"default": setting.default}
    return {"description": setting.help, **_nullable(msgspec.json.schema(setting.kind.type)), **default}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(properties: Schema) -> Schema:
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}
