"""Reading cases: bytes in, checked cases out, or an error that says where and what to do."""

from prompt_evaluator.datasets.given import given_cases
from prompt_evaluator.datasets.loading import load_dataset
from prompt_evaluator.datasets.reading import open_dataset
from prompt_evaluator.datasets.survey import Survey, survey

__all__ = ["Survey", "given_cases", "load_dataset", "open_dataset", "survey"]
