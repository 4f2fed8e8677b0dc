"""Reading cases: bytes in, checked cases out, or an error that says where and what to do."""

from prompt_evaluator.datasets.loading import load_dataset
from prompt_evaluator.datasets.reading import open_dataset
from prompt_evaluator.datasets.survey import Survey, survey

__all__ = ["Survey", "load_dataset", "open_dataset", "survey"]
