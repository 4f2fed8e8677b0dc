"""What the wire formats share: schemas that services accept, and replies that refuse."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from prompt_evaluator.model import Outcome, Sent
from prompt_evaluator.providers.rules import ALIASES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prompt_evaluator.providers.rules import Chosen

_BOUNDS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    *("minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "format"),
)
"""Keywords of a schema that some services refuse. What a reply says is checked when it is read."""
_NOT_ACCEPTED = re.compile(
    r"(un|not |n't )support|unrecogni[sz]ed|unknown|unexpected|unavailable|forbidden"
    r"|not (permitted|allowed|enabled|available)|extra inputs|cannot (find|both)|deprecated",
    re.IGNORECASE,
)
_FILTERED_CODES = ("content_filter", "content_policy_violation", "ContentPolicyViolationError")
_REFUSED_CODES = ("invalid_prompt", "cyber_policy", "bio_policy", "misalignment_policy_violation")
_REFUSED_TEXTS = ("content filtering policy", "flagged as potentially violating")
_BELOW = {"effort": ("reasoning.effort", "output_config.effort"), "schema": ("text.format", "output_config.format")}
"""Parameters that are part of a larger field, and where."""
_SCHEMA_FIELDS = ("response_format", "text", "output_config", "output_format")


def closed(schema: Any, *, strip: bool) -> Any:
    """A schema as services want it: objects are closed and all of their properties required.

    Args:
        schema: A JSON schema, or a part of one.
        strip: Whether bounds have to go as well.
    """
    if isinstance(schema, list):
        return [closed(part, strip=strip) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(part, strip=strip) for name, part in schema.items() if not (strip and name in _BOUNDS)}
    if isinstance(properties := schema.get("properties"), dict):
        # A property may be called like a keyword.
        found["properties"] = {name: closed(part, strip=strip) for name, part in properties.items()}
        found.setdefault("additionalProperties", False)
        found.setdefault("required", list(properties))
    return found


def is_closed(schema: Any) -> bool:
    """Whether every object in a schema is closed and requires all its properties, as strict mode does."""
    if isinstance(schema, list):
        return all(map(is_closed, schema))
    if not isinstance(schema, dict):
        return True
    if "properties" in schema:
        properties = schema["properties"]
        if schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties):
            return False
        return all(map(is_closed, properties.values()))
    return all(map(is_closed, schema.values()))


def sent(body: Mapping[str, Any], content: tuple[str, ...], chosen: Chosen, path: str, version: str | None) -> Sent:
    """What of a body is a parameter."""
    parameters = {name: _without_schema(name, value) for name, value in body.items() if name not in content}
    return Sent(
        parameters={name: value for name, value in parameters.items() if value != {}},
        path=path,
        version=version,
        left_out=chosen.left_out,
        ignored=chosen.ignored,
    )


def _without_schema(name: str, value: Any) -> Any:
    if name in _SCHEMA_FIELDS and isinstance(value, dict):
        return {key: part for key, part in value.items() if key != "format"}
    return value


class Refusal(NamedTuple):
    """A request that the service declined because of what it says."""

    outcome: Outcome
    category: str


class ErrorReply(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of an error reply that say what was wrong."""

    message: str = ""
    code: str = ""
    field: str = ""
    """The field of the body that it is about."""

    @classmethod
    def read(cls, body: bytes) -> ErrorReply:
        """Read the error of any of the services, each of which has its own shape."""
        try:
            found: Any = msgspec.json.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return cls(message=body[:2_000].decode(errors="replace"))
        if isinstance(found, list) and found:
            found = found[0]
        if isinstance(found, dict) and "error" in found:
            found = found["error"]
        if isinstance(found, str):
            return cls(message=found)
        if not isinstance(found, dict):
            return cls()
        details = list(_details(found))
        return cls(
            message=_text(found.get("message")) or "; ".join(message for _, message in details),
            code=_text(found.get("code")) or _text(found.get("type")),
            field=_text(found.get("param")) or next((field for field, _ in details), ""),
        )

    def refusal(self) -> Refusal | None:
        """A refusal to answer, which is the model's answer; None if something else is wrong."""
        if self.code in _FILTERED_CODES:
            return Refusal("filtered", self.code)
        if self.code in _REFUSED_CODES:
            return Refusal("refused", self.code)
        if any(text in self.message for text in _REFUSED_TEXTS):
            return Refusal("filtered" if "filter" in self.message else "refused", self.code)
        return None

    @property
    def is_about_support(self) -> bool:
        """Whether something is not supported, unlike a value out of range."""
        return bool(_NOT_ACCEPTED.search(self.message)) and "invalid schema" not in self.message.lower()

    def refused_parameters(self, body: Mapping[str, Any], parameters: Mapping[str, Any]) -> list[str]:
        """The parameters that the service does not take at all.

        A parameter with a value out of range is the caller's mistake, which leaving it out would hide.
        """
        if not self.is_about_support:
            return []
        names = [name for name in parameters if name in body or name in ALIASES.values() or name in _BELOW]
        if self.field:
            return [name for name in names if self._is(name, self.field)][:1]
        named = [name for name in names if any(re.search(rf"\b{form}\b", self.message) for form in _forms(name))]
        return named if "unknown name" in self.message.lower() else named[:1]

    @staticmethod
    def _is(name: str, field: str) -> bool:
        return any(field == form or field.startswith(f"{form}.") for form in _forms(name))


def _forms(name: str) -> tuple[str, ...]:
    """All the ways in which services write a parameter."""
    aliases = tuple(alias for alias, known in ALIASES.items() if known == name)
    schema = _SCHEMA_FIELDS if name == "schema" else ()
    include = ("include",) if name == "logprobs" else ()
    return (name, *aliases, *_BELOW.get(name, ()), *schema, *include)


def _details(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The fields and messages of a list of problems, as FastAPI's services reply."""
    detail = found.get("detail")
    if not isinstance(detail, list) and isinstance(message := found.get("message"), dict):
        detail = message.get("detail")
    for each in detail if isinstance(detail, list) else ():
        if isinstance(each, dict) and isinstance(where := each.get("loc"), list) and where:
            yield str(where[-1]), _text(each.get("msg"))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
