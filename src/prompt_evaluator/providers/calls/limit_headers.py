"""What services say about their limits in the headers of every reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.providers.calls.traits import OnLimits

_REQUESTS = ("x-ratelimit-limit-requests", "anthropic-ratelimit-requests-limit")
_TOKENS = ("x-ratelimit-limit-tokens", "anthropic-ratelimit-tokens-limit")


def report_limits(headers: Mapping[str, str], on_limits: OnLimits | None) -> None:
    """Pass on the limits per minute, if the reply names any."""
    requests, tokens = _first(headers, _REQUESTS), _first(headers, _TOKENS)
    if on_limits is not None and (requests or tokens):
        on_limits(requests, tokens)


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> float | None:
    for name in names:
        value = headers.get(name)
        if value and value.isascii() and value.isdigit() and len(value) < 12:  # noqa: PLR2004 - more is no limit at all
            return float(value)
    return None
