"""What a verdict of the gate says, as data for terminals, comments and pages to render.

Texts are raw: names in them may contain any character, so renderers must escape and wrap them.
"""

from __future__ import annotations

import msgspec

from prompt_evaluator.model.findings import Mark, NextStep


class GateRow(msgspec.Struct, frozen=True, kw_only=True):
    """A metric, a guardrail or a slice. Texts are empty if there is nothing to say."""

    name: str
    mark: Mark | None
    word: str
    """The verdict in a few words."""
    levels: str
    """`4.15 → 3.73`."""
    difference: str
    interval: str
    margin: str
    notes: tuple[str, ...] = ()


class GateFindings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything to say about a verdict, in reading order."""

    mark: Mark
    headline: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    metrics: tuple[GateRow, ...]
    guardrails: tuple[GateRow, ...]
    not_measured: str | None
    """Names the guardrails that neither run measured."""
    slices: tuple[GateRow, ...]
    """Those that fail."""
    other_slices: str | None
    policy: tuple[str, ...]
    """What had to be met, one sentence each."""
    next_steps: tuple[NextStep, ...]
