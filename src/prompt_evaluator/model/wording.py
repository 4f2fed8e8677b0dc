"""Formats numbers and names for people, in terminals, pages and comments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def many(number: int, thing: str, things: str | None = None) -> str:
    """`1 case`, `1,200 cases`."""
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def listed(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def decimal(value: float, digits: int) -> str:
    """`4.30`, `61,235`."""
    return f"{value:,.{digits}f}"


def money(dollars: float) -> str:
    """With only the digits that matter: `$0`, `$0.0031`, `$0.42`, `$1,234.50`."""
    if not dollars:
        return "$0"
    if dollars < 0.0001:  # noqa: PLR2004
        return "under $0.0001"
    return f"${dollars:,.2f}" if dollars >= 0.1 else f"${dollars:,.4f}"  # noqa: PLR2004


def percent(share: float) -> str:
    """`0 %`, `0.4 %`, `12 %`; only exactly none is `0 %`, and only exactly all is `100 %`."""
    if 0 < share < 0.001:  # noqa: PLR2004
        return "<0.1 %"
    if 0.999 < share < 1:  # noqa: PLR2004
        return ">99.9 %"
    number = share * 100
    return f"{number:.1f} %" if (0 < number < 10 or 99 < number < 100) and round(number, 1) % 1 else f"{number:.0f} %"  # noqa: PLR2004


def signed(value: float, digits: int) -> str:
    """`+0.42`, with a proper minus sign if negative; `0.00` if nothing is left after rounding."""
    text = decimal(abs(value), digits)
    if not text.strip("0.,"):
        return text
    return f"+{text}" if value > 0 else f"\N{MINUS SIGN}{text}"


def points(share: float) -> str:
    """A difference of shares in percentage points: `+5 points`, `+0.4 points`, `0 points`."""
    number = share * 100
    text = signed(number, 1 if abs(number) < 10 else 0).removesuffix(".0")  # noqa: PLR2004
    return f"{text} point{'' if text[1:] == '1' else 's'}"


def p_value(value: float) -> str:
    """`p = 0.03`, `p < 0.001`; never rounded across 0.05, which decides."""
    if value < 0.001:  # noqa: PLR2004
        return "p < 0.001"
    if value > 0.99:  # noqa: PLR2004
        return "p > 0.99"
    text = f"{value:.2f}" if value >= 0.1 else f"{value:.3f}".rstrip("0")  # noqa: PLR2004
    return "p < 0.05" if value < 0.05 and text == "0.05" else f"p = {text}"  # noqa: PLR2004


def short_number(value: float) -> str:
    """With the digits that matter: `0.1`, `0.025`, `4`, `2,500`."""
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}"  # noqa: PLR2004


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def alike(values: Sequence[float]) -> list[str]:
    """Numbers of one kind, with the same number of decimal places: `3.40`, `4.72`; whole ones without."""
    shown = [short_number(value) for value in values]
    plain = [float(each.replace(",", "")) for each in shown]
    places = max((len(each.partition(".")[2]) for each in shown if "e" not in each), default=0)
    return [
        each if "e" in each or "," in each else f"{value:.{places}f}" for each, value in zip(shown, plain, strict=True)
    ]


_KINDS = {
    "RateLimitedError": "rate limited",
    "UnavailableError": "unavailable",
    "ConnectionFailedError": "no connection",
    "UnreachableError": "unreachable",
    "ProxyUnreachableError": "proxy unreachable",
    "TimedOutError": "timed out",
    "BadReplyError": "unusable reply",
    "OversizedReplyError": "oversized reply",
    "RedirectedError": "redirected",
    "DeadlineError": "past the deadline",
    "RequestRefusedError": "refused",
    "TargetFailedError": "target failed",
    "AuthenticationError": "key rejected",
    "ProxyLoginError": "proxy login rejected",
    "ModelNotFoundError": "no such model",
    "QuotaExhaustedError": "out of quota",
    "CircuitOpenError": "calls stopped",
    "InvalidJudgement": "unreadable reply",
    "NotGenerated": "no stored answer",
}


def kind(name: str) -> str:
    """Describe an error class in plain words."""
    if name in _KINDS:
        return _KINDS[name]
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Error")).lower()
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in words)


def is_known(name: str) -> bool:
    """Whether an error class is the program's own, and so has a description in plain words."""
    return name in _KINDS


def kinds(counts: Mapping[str, int]) -> str:
    """`18 rate limited, 5 unreadable replies`, most frequent first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(many(number, kind(name), kind(name).replace("reply", "replies")) for name, number in ordered)
