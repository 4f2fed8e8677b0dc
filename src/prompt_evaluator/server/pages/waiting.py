"""The page that is shown while runs are being compared: it shows what was asked for once that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.server.routing import Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.api import ApiRun

PATIENCE = 0.7
"""Seconds. A comparison that takes longer goes on while a page says so."""


def waiting_page(runs: Sequence[ApiRun], instead: str) -> Page:
    """Say that these runs are being compared.

    Args:
        runs: Those that a person knows to be looked at.
        instead: The address of a page that can be read meanwhile.
    """
    return Page("waiting.html", {"runs": runs, "cases": max(run.cases or 0 for run in runs), "instead": instead})
