"""Benchmarks: datasets in known folders, run against models and scored by metrics."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.app.groups import Part, command_alone
from prompt_evaluator.config.loading import BUILT_IN
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.group import Member
from prompt_evaluator.model.several import quoted_word
from prompt_evaluator.usercode.trust import check_found

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import Dataset
    from prompt_evaluator.model.options import EvaluateOptions

_EXTENSIONS = (".yaml", ".yml", ".jsonl", ".json")


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset that is named by its file's stem."""

    name: str
    path: Path
    origin: Literal["project", "shipped"]
    count: int = 0
    hash: str | None = None
    error: str | None = None
    """Why it cannot be used. A broken file does not hide the others."""


def datasets_folder(settings: Settings) -> Path:
    """Folder of the project's own benchmarks.

    Raises:
        InputError: The folder was not set explicitly, and other users may have written one of its datasets.
    """
    folder = Path(settings.value("benchmark.datasets_dir"))
    if settings.origin("benchmark.datasets_dir") == BUILT_IN:
        instead = f"To use the folder anyway, set PROMPT_EVALUATOR_BENCHMARK_DATASETS_DIR={quote(str(folder))}"
        for path in _files(folder):
            check_found(path, "benchmark", instead=instead)
    return folder


def find_benchmarks(datasets_dir: Path) -> list[Benchmark]:
    """The project's own benchmarks and the shipped ones, unless shadowed, by name. Reads the files each time."""
    found = _in_folder(datasets_dir, "project")
    own = {benchmark.name for benchmark in found}
    with_shipped = found + [item for item in _in_folder(_shipped(), "shipped") if item.name not in own]
    return sorted(with_shipped, key=lambda benchmark: (benchmark.name, benchmark.path.name))


def get_benchmarks(names: Iterable[str], datasets_dir: Path) -> list[Benchmark]:
    """Look up benchmarks by name. Raise an error about the first that is unknown or broken."""
    known = find_benchmarks(datasets_dir)
    by_name = {benchmark.name: benchmark for benchmark in reversed(known)}
    found = []
    for name in names:
        if name not in by_name:
            raise UnknownNameError("benchmark", name, [benchmark.name for benchmark in known])
        if by_name[name].error:
            raise ConfigurationError(f"The benchmark {name!r} cannot be used: {by_name[name].error}")
        found.append(by_name[name])
    return found


def get_benchmark(name: str, datasets_dir: Path) -> Benchmark:
    """Look up one benchmark, as `get_benchmarks` does."""
    return get_benchmarks([name], datasets_dir)[0]


def open_benchmark(name: str, datasets_dir: Path) -> Dataset:
    return open_dataset(get_benchmark(name, datasets_dir).path)


def benchmark_parts(options: EvaluateOptions, benchmarks: Sequence[Benchmark], models: Sequence[str]) -> list[Part]:
    """Every model on every dataset, as parts of one group."""
    return [_part(options, benchmark, model) for benchmark in benchmarks for model in models]


def _part(options: EvaluateOptions, benchmark: Benchmark, model: str) -> Part:
    command = command_alone(options.command, {"--model": quoted_word(model), "--dataset": quoted_word(benchmark.name)})
    each = msgspec.structs.replace(options, dataset=benchmark.path, generator_model=model, command=command)
    return Part(Member(dataset=benchmark.name, model=model), each)


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
