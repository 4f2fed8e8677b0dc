"""Runs to be compared, by name: stored runs, and files."""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.compare.artifact import read_artifact
from prompt_evaluator.errors import ConfigurationError, InputError
from prompt_evaluator.model.outcome import MAIN_FILE
from prompt_evaluator.syntax.source import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.ports import ComparedRun
    from prompt_evaluator.store import Store


@contextmanager
def open_compared(settings: Settings, names: Sequence[str]) -> Iterator[list[ComparedRun]]:
    """Open the runs with these names, in their order. The store is opened only if a name is not a file.

    A name is a path to a `dataset_evaluation.json` or its folder; or an id or its beginning, `@last`, `@last~1`, the
    name of a baseline, a tag (`tag:KEY=VALUE`, `KEY=VALUE`, a key or a value: the newest run that has it).

    Raises:
        ConfigurationError: There is no such run, or the same run is named twice.
        InputError: A file cannot be used.
    """
    paths = [_path(name) for name in names]
    with ExitStack() as stack:
        store = stack.enter_context(closing(_opened(settings))) if None in paths else None
        runs = [_run(store, name, path) for name, path in zip(names, paths, strict=True)]
        _refuse_repeated(names, runs)
        yield runs


def stored_name(settings: Settings, name: str) -> str:
    """The name of a run in the store: the name itself, or the id of the run that a folder or a file belongs to.

    Raises:
        ConfigurationError: The file belongs to a run that is not in the store.
        InputError: The file cannot be used.
    """
    path = _path(name)
    if path is None:
        return name
    run_id = _read(path).facts.run_id
    if run_id is not None:
        with closing(_opened(settings)) as store:
            if store.has_run(run_id):
                return run_id
    what = f"{name}: the run of this file is not in the store, where its single samples would be."
    raise ConfigurationError(f"{what} Give the name of a stored run; `runs list` shows them.")


def _opened(settings: Settings) -> Store:
    from prompt_evaluator.app.stores import open_store  # noqa: PLC0415 - files are compared without a database

    return open_store(settings)


def _run(store: Store | None, name: str, path: Path | None) -> ComparedRun:
    if store is not None and path is None:
        return store.compared(name)
    return _read(path or Path(name))


def _path(name: str) -> Path | None:
    """The path that a name is, or None for the name of a stored run."""
    if name.startswith(("@", "tag:")):
        return None
    path = Path(name)
    try:
        exists = path.exists()
    except (OSError, ValueError):  # too long, or with a NUL
        exists = False
    if exists:
        return path
    if "=" in name:  # such as branch=feature/x
        return None
    return path if "/" in name or "\\" in name or path.suffix == ".json" else None


def _read(path: Path) -> ComparedRun:
    if path.is_dir():
        if not (path / MAIN_FILE).exists():
            raise InputError(f"The folder has no {MAIN_FILE}", path=path, advice=_a_folder_inside(path))
        path /= MAIN_FILE
    return read_artifact(path, read_bytes(path))


def _a_folder_inside(path: Path) -> str:
    found = next(path.glob(f"*/{MAIN_FILE}"), None)
    if found is not None:
        return f"Give one of the folders in it, such as {found.parent}."
    return f"Give the folder of a run. For the newest run with this tag, write tag:{path.name}."


def _refuse_repeated(names: Sequence[str], runs: Sequence[ComparedRun]) -> None:
    """Refuse to compare a run with itself. Files with the same run id may differ, as somebody may have edited one."""
    seen: dict[str, str] = {}
    for name, run in zip(names, runs, strict=True):
        facts = run.facts
        key = str(Path(facts.path).resolve()) if facts.path else str(facts.run_id)
        if key in seen:
            both = f"{name} is given twice" if seen[key] == name else f"{seen[key]} and {name} are the same run, {key}"
            raise ConfigurationError(f"{both}. Give two different runs to compare.")
        seen[key] = name
