"""The nouns of the product: immutable values, no input or output."""

from prompt_evaluator.model.case import Check, TestCase
from prompt_evaluator.model.dataset import Dataset

__all__ = ["Check", "Dataset", "TestCase"]
