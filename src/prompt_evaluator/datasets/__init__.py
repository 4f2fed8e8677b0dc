"""Reads cases from files and checks them; errors say where the problem is and what to do."""

from prompt_evaluator.datasets.case_pages import cases_at, usable_cases
from prompt_evaluator.datasets.in_memory import InMemoryDataset, in_memory_cases
from prompt_evaluator.datasets.loading import load_dataset
from prompt_evaluator.datasets.opening import open_dataset
from prompt_evaluator.datasets.reader import DatasetReader, file_hash
from prompt_evaluator.datasets.survey import CaseBlock, Survey, survey

__all__ = [
    "CaseBlock",
    "DatasetReader",
    "InMemoryDataset",
    "Survey",
    "cases_at",
    "file_hash",
    "in_memory_cases",
    "load_dataset",
    "open_dataset",
    "survey",
    "usable_cases",
]
