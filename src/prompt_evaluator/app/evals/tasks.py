"""Reads the harness's tasks and configurations from its folder, and chooses among them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from prompt_evaluator.app.planning.case_checks import problems_with_uses
from prompt_evaluator.datasets import DatasetReader
from prompt_evaluator.errors import ConfigurationError, InputError, UnknownNameError
from prompt_evaluator.harness.entries import read_entries
from prompt_evaluator.usercode.trust import check_found

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from prompt_evaluator.model import TestCase
    from prompt_evaluator.model.harness import ConfigEntry

T = TypeVar("T")

_encode = msgspec.json.Encoder(order="sorted").encode


class Choice(NamedTuple):
    """Which configurations and tasks to run; None means all."""

    config_ids: Sequence[str] | None = None
    categories: Sequence[str] | None = None
    task_ids: Sequence[str] | None = None


class Harness(NamedTuple):
    """What a harness run consists of."""

    folder: Path
    """Absolute."""
    entries: tuple[ConfigEntry, ...]
    tasks: tuple[TestCase, ...]

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def tasks_hash(self) -> str:
        """Hash of the tasks' ids, prompts and checks. Neither their order nor their files matter."""
        seen = sorted((task.id, _encode((task.input, task.messages, task.checks)).decode()) for task in self.tasks)
        return hashlib.sha256(_encode(seen)).hexdigest()


def open_harness(folder: Path, choice: Choice, *, is_named: bool = True) -> Harness:
    """Read a harness folder, and choose among its configurations and tasks.

    Args:
        folder: Contains `tasks` and `configs`.
        choice: Which of them.
        is_named: Whether the user named the folder. If not, its files and folders have to be the user's own.

    Raises:
        InputError: A file is missing or wrong.
        ConfigurationError: There is no task, or a chosen name is unknown.
    """
    where = folder.absolute()
    if not where.is_dir():
        raise ConfigurationError(
            f"There is no folder {folder}. Name the folder that contains `tasks` and `configs` with --evals-dir."
        )
    configs = where / "configs" / "providers.json"
    files = sorted(file for file in (where / "tasks").glob("*.json") if not file.name.startswith("."))
    if not is_named:
        _check_trust(where, [configs, *files])
    entries = read_entries(shown_path(configs))
    tasks = _tasks([shown_path(file) for file in files], where)
    return Harness(where, _chosen_entries(entries, choice), _chosen_tasks(tasks, choice))


def shown_path(path: Path) -> Path:
    """Return a path to name in messages: relative to the working directory, if it is below it."""
    try:
        return path.relative_to(Path.cwd())
    except ValueError:
        return path


def _check_trust(folder: Path, files: Collection[Path]) -> None:
    """Refuse files that belong to somebody else: the checks of a task can run programs."""
    instead = f"To use it anyway, name the folder: --evals-dir {quote(str(folder))}"
    for file in files:
        if file.exists():
            check_found(file, "harness file", instead=instead)


def _tasks(files: Sequence[Path], folder: Path) -> tuple[TestCase, ...]:
    """Read the tasks of all files, in order of the files' names. Ids have to be unique over all files."""
    if not files:
        raise ConfigurationError(
            f"There is no task file in {shown_path(folder / 'tasks')}. Add a .json file with a list of tasks; see "
            "docs/how-to/write-harness-tasks.md."
        )
    first: dict[str, tuple[Path, TestCase]] = {}
    for file in files:
        for task in DatasetReader(file, inspect=problems_with_uses):
            earlier, same = first.setdefault(task.id, (file, task))
            if same is not task:
                raise InputError(
                    f"The task id {task.id!r} is used twice",
                    path=file,
                    line=task.line,
                    field="id",
                    note=f"first at {earlier}:{same.line}",
                    advice="Give each task its own id, over all files.",
                )
    return tuple(task for _, task in first.values())


def _chosen_entries(entries: tuple[ConfigEntry, ...], choice: Choice) -> tuple[ConfigEntry, ...]:
    return _chosen(entries, choice.config_ids, "configuration", lambda entry: entry.id)


def _chosen_tasks(tasks: tuple[TestCase, ...], choice: Choice) -> tuple[TestCase, ...]:
    in_categories = _chosen(tasks, choice.categories, "task category", category)
    if choice.task_ids is not None:
        _chosen(tasks, choice.task_ids, "task", lambda task: task.id)  # to be found in other categories is no typo
    chosen = [task for task in in_categories if choice.task_ids is None or task.id in choice.task_ids]
    if not chosen:
        raise ConfigurationError("No task matches both --categories and --task-ids. Leave one of them out.")
    if not any(task.checks for task in chosen):
        raise ConfigurationError(
            "No chosen task has required phrases or signs of hallucination, so every answer would do. Add the phrases "
            "that good answers contain, or choose other tasks."
        )
    return tuple(chosen)


def category(task: TestCase) -> str:
    found = task.metadata.get("category")
    return found if isinstance(found, str) else ""


def _chosen(items: tuple[T, ...], names: Sequence[str] | None, kind: str, name_of: Callable[[T], str]) -> tuple[T, ...]:
    """Return the items with these names, in their own order. An unknown name is an error."""
    if names is None:
        return items
    known = dict.fromkeys(map(name_of, items))
    for name in names:
        if name not in known:
            raise UnknownNameError(kind, name, known)
    return tuple(item for item in items if name_of(item) in names)
