"""Benchmarks: datasets that are found by themselves, run against models, scored by metrics."""

from __future__ import annotations

import uuid
from collections import deque
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.app.evaluate import begin_run, plan_evaluation
from prompt_evaluator.config.loading import BUILT_IN
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.usercode.trust import check_found

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from prompt_evaluator.app.session import Session
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import Dataset, RunRecord
    from prompt_evaluator.model.options import EvaluateOptions
    from prompt_evaluator.model.outcome import Outcome

_EXTENSIONS = (".yaml", ".yml", ".jsonl", ".json")


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset that can be named by its file's stem."""

    name: str
    path: Path
    origin: Literal["project", "shipped"]
    count: int = 0
    hash: str | None = None
    error: str | None = None
    """Why it cannot be used; a broken file hides no other."""


def datasets_folder(settings: Settings) -> Path:
    """Where the project's own benchmarks are.

    Raises:
        InputError: Nobody has named the folder, and somebody else may have written one of its datasets.
    """
    folder = Path(settings.value("benchmark.datasets_dir"))
    if settings.origin("benchmark.datasets_dir") == BUILT_IN:
        instead = f"Name the folder on purpose with PROMPT_EVALUATOR_BENCHMARK_DATASETS_DIR={quote(str(folder))}"
        for path in _files(folder):
            check_found(path, "benchmark", instead=instead)
    return folder


def find_benchmarks(datasets_dir: Path) -> list[Benchmark]:
    """The project's own, then those that ship and are not shadowed. Files are read anew each time."""
    found = _in_folder(datasets_dir, "project")
    own = {benchmark.name for benchmark in found}
    with_shipped = found + [item for item in _in_folder(_shipped(), "shipped") if item.name not in own]
    return sorted(with_shipped, key=lambda benchmark: (benchmark.name, benchmark.path.name))


def get_benchmark(name: str, datasets_dir: Path) -> Benchmark:
    """The benchmark of that name, or an error that says what is wrong with it or which is nearest."""
    known = find_benchmarks(datasets_dir)
    for benchmark in known:
        if benchmark.name == name:
            if benchmark.error:
                raise ConfigurationError(f"The benchmark {name!r} cannot be used: {benchmark.error}")
            return benchmark
    raise UnknownNameError("benchmark", name, [benchmark.name for benchmark in known])


def open_benchmark(name: str, datasets_dir: Path) -> Dataset:
    return open_dataset(get_benchmark(name, datasets_dir).path)


async def run_benchmarks(
    options: EvaluateOptions, session: Session, *, datasets: Sequence[Path], models: Sequence[str]
) -> AsyncIterator[Outcome]:
    """Every model meets every dataset, one run after the other, all in one group.

    What is wrong with any of them is said before the first begins.
    """
    group = str(uuid.uuid4())
    planned: deque[RunRecord] = deque()
    try:
        for dataset in datasets:
            for model in models:
                each = msgspec.structs.replace(options, dataset=dataset, generator_model=model, group_id=group)
                planned.append(await plan_evaluation(each, session))
        while planned:
            outcome = await begin_run(planned.popleft(), session)
            yield outcome
            if outcome.record.status == "aborted":
                return
    finally:
        for record in planned:
            session.store.delete_run(record.plan.run_id)


def _in_folder(folder: Path, origin: Literal["project", "shipped"]) -> list[Benchmark]:
    paths = _files(folder)
    stems = [path.stem for path in paths]
    return [_benchmark(path, origin, clash=stems.count(path.stem) > 1) for path in paths]


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in _EXTENSIONS and path.is_file())


def _benchmark(path: Path, origin: Literal["project", "shipped"], *, clash: bool) -> Benchmark:
    if clash:
        why = f"Two files in {path.parent} are called {path.stem!r}. Rename one of them."
        return Benchmark(name=path.stem, path=path, origin=origin, error=why)
    found = survey(path)
    error = None if found.ok else str(found.problems[0].first_of(found.problem_count))
    return Benchmark(name=path.stem, path=path, origin=origin, count=found.count, hash=found.hash, error=error)


def _shipped() -> Path:
    return Path(str(files("prompt_evaluator").joinpath("benchmarks")))
