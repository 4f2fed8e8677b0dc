"""What of a request's parameters a model takes: rules as data, and what its service has refused before."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

from prompt_evaluator.model import LeftOut, Rule
from prompt_evaluator.providers.presets import service_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from prompt_evaluator.model import ProviderSettings

ALIASES = {
    "reasoning_effort": "effort",
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "random_seed": "seed",
    "top_logprobs": "logprobs",
}
"""Names that parameters have in some protocol, and what they are called here."""

Reason = Literal["default", "rule", "learned", "protocol"]

_NO_RULE = Rule()
_FORCED = ("any", "tool", "required", "function")
"""Kinds of `tool_choice` that leave the model no choice."""
_NAMESPACE = re.compile(r"^((us|eu|apac|au|jp|global)\.)?(anthropic|openai|google|mistral|meta|amazon|deepseek)\.")
_VERSION = re.compile(r"([-@]20\d\d-?\d\d-?\d\d)?(-v\d+)?(:\w+)?$")
_KNOWN_FAMILY = re.compile(r"gpt-|o\d|claude-|gemini-")


def bare_name(model: str) -> str:
    """A model's name without prefixes and dates: `us.anthropic.claude-opus-4-8-20260401-v1:0` is `claude-opus-4-8`."""
    name = model.lower().rpartition("/")[2]
    if name.startswith("ft:"):
        base = name.split(":")[1]
        return _VERSION.sub("", base) if _KNOWN_FAMILY.match(base) else name
    name = _VERSION.sub("", _NAMESPACE.sub("", name))
    return name.replace(".", "-").removesuffix("-latest") if name.startswith("claude-") else name


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule makes of a request's parameters."""

    rule: Rule
    parameters: dict[str, Any]
    """By the names they have here, without those left out."""
    left_out: tuple[LeftOut, ...] = ()
    ignored: tuple[str, ...] = ()
    known: bool
    """Whether it is known which parameters the model takes, so that nothing has to be found out."""

    def without(self, names: Collection[str], api: str) -> Self:
        """Leave out parameters that a protocol does not have."""
        absent = [name for name in names if name in self.parameters]
        if not absent:
            return self
        detail = f"the {api} API has no such field"
        left = (LeftOut(field=name, value=self.parameters[name], reason="protocol", detail=detail) for name in absent)
        kept = {name: value for name, value in self.parameters.items() if name not in absent}
        return msgspec.structs.replace(self, parameters=kept, left_out=(*self.left_out, *left))


class RuleBook:
    """The rules of one entry: the user's, then the built-in ones."""

    def __init__(self, settings: ProviderSettings, *, own_address: bool = True) -> None:
        """Read the rules.

        Args:
            settings: The entry.
            own_address: Whether it is at an address of its service. If not, nothing is assumed of unknown models.
        """
        self._base, self._service = settings.base_model, settings.service
        self._takes_sampling = service_of(settings).takes_sampling
        self._rules = [
            (rule, re.compile(rule.match))
            for rule in (*settings.rules, *built_in_rules())
            if not rule.services or (settings.service in rule.services and (own_address or not rule.drop_default))
        ]
        self._known: dict[str, list[Rule]] = {}

    def choose(
        self,
        model: str,
        parameters: Mapping[str, Any],
        *,
        defaults: Collection[str] = (),
        version: str | None = None,
        learned: Mapping[str, str] | None = None,
    ) -> Chosen:
        """Leave out what the model does not take.

        Args:
            model: As its service calls it.
            parameters: By any of their names; those that are None are not asked for.
            defaults: Names of those that the user did not ask for.
            version: The protocol's version.
            learned: Parameters that the service has refused before, with its message.
        """
        asked = {ALIASES.get(name, name): value for name, value in parameters.items() if value is not None}
        rule = next((each for each in self._rules_of(model) if _holds(each, asked, version)), _NO_RULE)
        kept: dict[str, Any] = {}
        left: list[LeftOut] = []
        for name, value in asked.items():
            if reason := _reason(rule, name, value, defaults, learned or {}):
                detail = (learned or {}).get(name, rule.source)
                shown = None if name == "schema" else value
                left.append(LeftOut(field=name, value=shown, reason=reason, detail=detail))
            else:
                kept[name] = min(value, rule.cap[name]) if name in rule.cap else value
        return Chosen(
            rule=rule,
            parameters=kept,
            left_out=tuple(left),
            ignored=tuple(name for name in rule.ignored if name in kept),
            known=self._takes_sampling or (rule.match != _NO_RULE.match and not (rule.services and rule.drop_default)),
        )

    def _rules_of(self, model: str) -> list[Rule]:
        if (found := self._known.get(model)) is None:
            name = bare_name(self._base.get(model, model))
            found = self._known[model] = [rule for rule, pattern in self._rules if pattern.fullmatch(name)]
        return found


def _holds(rule: Rule, asked: Mapping[str, Any], version: str | None) -> bool:
    if not rule.when:
        return True
    seen = {"effort": rule.effort, "version": version, **asked}
    return all(_is(seen.get(name), wanted) for name, wanted in rule.when.items())


def _is(value: Any, wanted: str) -> bool:
    if wanted == "*":
        return value is not None
    return str(value) != wanted[1:] if wanted.startswith("!") else str(value) == wanted


def _reason(rule: Rule, name: str, value: Any, defaults: Collection[str], learned: Mapping[str, str]) -> Reason | None:
    """Why a parameter is left out; None if it is sent."""
    if name in defaults:
        return "default" if name in learned or name in rule.drop_default or _refuses(rule, name, value) else None
    if name in learned:
        return "learned"
    return "rule" if _refuses(rule, name, value) else None


def _refuses(rule: Rule, name: str, value: Any) -> bool:
    if name == "effort" and rule.efforts and value not in rule.efforts:
        return True
    if name == "tool_choice" and "forced_tools" in rule.drop:
        return (value.get("type") if isinstance(value, dict) else value) in _FORCED
    return name in rule.drop


@cache
def built_in_rules() -> tuple[Rule, ...]:
    """What vendors document of their models."""
    data = files(__package__).joinpath("rules.json").read_bytes()
    return msgspec.json.decode(data, type=tuple[Rule, ...])
