"""Checks whether the metrics that a case asks for can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.catalogue import build_metric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model import TestCase


def problems_with_uses(case: TestCase) -> Iterator[str]:
    """Yield a sentence for each use with a wrong name, option, pattern or schema."""
    for use in case.checks:
        try:
            build_metric(use)
        except ConfigurationError as error:
            yield str(error)
