"""The log of commands that run for long."""

from __future__ import annotations

import logging
import sys

from prompt_evaluator.model import REDACTOR


class _Formatter(logging.Formatter):
    """Masks secrets, also in tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        return REDACTOR.message(super().format(record))


def log_to_stderr() -> None:
    """Write what the product logs to standard error, one line each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter("%(asctime)s %(name)s: %(message)s"))
    logger = logging.getLogger("prompt_evaluator")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
