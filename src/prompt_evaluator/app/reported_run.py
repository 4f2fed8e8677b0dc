"""The stored run that somebody wants a report on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.run_names import named_path, read_run
from prompt_evaluator.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.store import Store


def find_reported(store: Store, name: str) -> str:
    """The id of a stored run that is named as in other commands, or by the path of its file or folder.

    Raises:
        ConfigurationError: There is no such run.
        InputError: The file cannot be used, or its run is not in the store.
    """
    path = named_path(name)
    return store.full_id(name) if path is None else _in_file(store, path)


def _in_file(store: Store, path: Path) -> str:
    run_id = read_run(path).facts.run_id
    try:
        if run_id is not None:
            return store.run(run_id).plan.run_id
    except UnknownNameError:
        pass
    raise InputError(
        f"Run {run_id} is not in the store" if run_id else "The file does not say which run it is from",
        path=path,
        advice="A report needs the run's answers, which are in the store of the project where it was made. "
        "`prompt-evaluator compare` and `prompt-evaluator report A B` also read files made elsewhere.",
    )
