"""The part of the call machinery that front ends use."""

from prompt_evaluator.calls.meter import Meter, RetryEvent

__all__ = ["Meter", "RetryEvent"]
