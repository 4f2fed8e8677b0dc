"""What marks and words of a summary mean, for whoever shows one."""

from prompt_evaluator.reports.legend import LEGEND

__all__ = ["LEGEND"]
