"""What the marks and words of a summary mean, for front ends."""

from prompt_evaluator.reports.legend import COMPARISON_LEGEND, LEGEND, Part

__all__ = ["COMPARISON_LEGEND", "LEGEND", "Part"]
