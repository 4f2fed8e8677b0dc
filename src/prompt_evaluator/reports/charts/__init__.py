"""Charts as Vega-Lite specifications, one module for each kind."""

from prompt_evaluator.reports.charts.making import make_chart

__all__ = ["make_chart"]
