"""What a front end sees of the calls that are being made."""

from prompt_evaluator.providers.calls.meter import CallEvent, Meter

__all__ = ["CallEvent", "Meter"]
