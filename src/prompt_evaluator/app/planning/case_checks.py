"""Can the metrics that a case asks for be used?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.metrics.catalogue import build_metric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model import TestCase


def problems_with_uses(case: TestCase) -> Iterator[str]:
    """A sentence for each use whose name, option, pattern or schema is wrong."""
    for use in case.checks:
        try:
            build_metric(use)
        except ConfigurationError as error:
            yield str(error)
