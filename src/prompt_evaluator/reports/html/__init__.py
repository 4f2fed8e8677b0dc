"""Reports as one HTML file."""

from prompt_evaluator.reports.html.compare_page import compare_html
from prompt_evaluator.reports.html.run_page import run_html

__all__ = ["compare_html", "run_html"]
