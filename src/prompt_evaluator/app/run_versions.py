"""Finds versions of a dataset among those that runs have, by what a user calls it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.trend import RunVersion

SHORTEST_HASH = 4
"""Fewer characters could be the beginning of any hash."""


def of_dataset(settings: Settings, every: Sequence[RunVersion], asked: str | None) -> list[RunVersion]:
    """The versions of a dataset, given its name, its path or the beginning of a hash; of the newest run's if None.

    Raises:
        UnknownNameError: No run has this dataset.
    """
    if asked is None:
        return alike(every, every[0])
    text = asked.removeprefix("sha256:")
    configured = settings.names["dataset_paths"].get(asked)
    paths = {str(Path(os.path.abspath(settings.cwd / asked)))}  # noqa: PTH100 - the file may be gone
    if configured is not None:
        paths.add(str(Path(os.path.abspath(configured.value))))  # noqa: PTH100
    tests: list[Callable[[RunVersion], bool]] = [
        lambda each: each.dataset_name == asked,
        lambda each: (
            each.dataset_path is not None and {each.dataset_path, os.path.realpath(each.dataset_path)} & paths != set()
        ),
        lambda each: len(text) >= SHORTEST_HASH and (each.dataset_hash or "").startswith(text),
    ]
    for test in tests:
        if found := [each for each in every if test(each)]:
            return found
    names = {each.dataset_name for each in every if each.dataset_name}
    raise UnknownNameError("dataset", asked, names or [each.dataset_hash or "" for each in every])


def alike(every: Iterable[RunVersion], version: RunVersion) -> list[RunVersion]:
    """The versions of the same dataset, by its path or name; one in memory has only its hash."""
    if version.dataset_name is None:
        return [each for each in every if each.dataset_hash == version.dataset_hash]
    return [each for each in every if each.dataset_name == version.dataset_name]
