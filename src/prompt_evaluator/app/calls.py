"""The part of the call machinery that front ends use."""

from prompt_evaluator.providers.calls.meter import CallEvent, Meter

__all__ = ["CallEvent", "Meter"]
