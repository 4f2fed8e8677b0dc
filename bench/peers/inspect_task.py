"""The work as tasks of inspect-ai: `inspect eval inspect_task.py@checked -T path=cases.jsonl`."""

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import includes, model_graded_qa
from inspect_ai.solver import generate, system_message

_PROMPT = "You are a helpful assistant."


@task
def checked(path: str) -> Task:
    """Every answer contains the expected word."""
    return Task(dataset=json_dataset(path), solver=[system_message(_PROMPT), generate()], scorer=includes())


@task
def judged(path: str) -> Task:
    """Every answer is graded by the model."""
    return Task(dataset=json_dataset(path), solver=[system_message(_PROMPT), generate()], scorer=model_graded_qa())
