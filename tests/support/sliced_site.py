"""A store with two runs whose groups and errors were planted: what pages about them have to show is known."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from case_results import WHEN
from compared_site import Planned, add_planned, store_of

if TYPE_CHECKING:
    from pathlib import Path


BAD = "<img src=x onerror=alert(1)>"
ENDED = {"started_at": WHEN, "status": "partial"}


class Sliced(NamedTuple):
    """The ids of the runs."""

    run: str
    """60 cases: `billing` is low on clarity, `rare` has six cases, and eight samples failed for three reasons."""
    other: str
    """29 of the same cases, with some of the same errors."""


def fill(folder: Path) -> Sliced:
    """Write both runs."""
    with closing(store_of(folder)) as store:
        run = add_planned(store, 0xAAAAAAAA, [_case(at) for at in range(60)], **ENDED)
        other = add_planned(store, 0xBBBBBBBB, [_case(at) for at in range(30) if at != 5], **ENDED)
    return Sliced(run, other)


def _case(at: int) -> Planned:
    topic = "rare" if at >= 54 else ("billing", "delivery", "account")[at % 3]
    low = 1.0 if topic == "billing" else 4.0
    scores = {"clarity": [low, low + at % 2], "warmth": [4.0, 4.0 + at % 2]}
    messages = _messages(at)
    if at == 5:
        scores = {}
    return Planned(
        scores,
        case_id=f"{topic}-{at:02}",
        metadata={
            "topic": topic,
            "difficulty": ("easy", "hard")[at // 3 % 2],
            "language": ("de", "en")[at // 6 % 2],
            "customer": at,
            "tags": ["refund", "urgent"] if at % 4 else ["refund"],
        },
        errors=len(messages),
        messages=messages,
    )


def _messages(at: int) -> list[str]:
    if at == 5:
        return [f"Quota of project {at}4711 is used up. {BAD}"] * 2
    if at % 10 == 3:
        return [f"No reply to req_8f3ac{at}d17b90e after {at}.5 s, since 2026-01-{at % 28 + 1:02}T10:00:00Z"]
    return []
