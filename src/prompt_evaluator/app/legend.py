"""What the marks and words of a summary mean, for front ends."""

from prompt_evaluator.reports.legend import LEGEND

__all__ = ["LEGEND"]
