"""Tells a team whether a prompt or a model is good, stable and safe to release."""

from typing import TYPE_CHECKING, Any

from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from prompt_evaluator.app.api import Evaluation, evaluate, evaluate_async
    from prompt_evaluator.datasets import load_dataset
    from prompt_evaluator.model import TestCase

__all__ = ["Evaluation", "TestCase", "__version__", "evaluate", "evaluate_async", "load_dataset"]

_HOMES = {
    "Evaluation": "prompt_evaluator.app.api",
    "TestCase": "prompt_evaluator.model",
    "evaluate": "prompt_evaluator.app.api",
    "evaluate_async": "prompt_evaluator.app.api",
    "load_dataset": "prompt_evaluator.datasets",
}
"""Modules of the public names, which are imported on first use so that `--help` stays fast."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
