"""Benchmarks: datasets that have names, run against models and scored by metrics."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from prompt_evaluator.app.dataset_facts import read_facts
from prompt_evaluator.app.groups import Part, command_alone
from prompt_evaluator.config.loading import BUILT_IN
from prompt_evaluator.datasets import open_dataset
from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.group import Member
from prompt_evaluator.model.several import quoted_word
from prompt_evaluator.syntax.source import absolute, stem
from prompt_evaluator.usercode.trust import check_found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from prompt_evaluator.app.dataset_facts import DatasetFacts
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import Dataset
    from prompt_evaluator.model.options import EvaluateOptions

    ReadFacts = Callable[[Path], DatasetFacts]

_EXTENSIONS = (".yaml", ".yml", ".jsonl", ".json")
Origin = Literal["project", "configured", "shipped"]


class Benchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset that has a name: its file's stem, or the short name in the configuration."""

    name: str
    title: str | None = None
    """The `name:` written inside the file."""
    description: str | None = None
    path: Path
    origin: Origin
    """Where it was found. An earlier one of these hides a later one of the same name."""
    count: int = 0
    hash: str | None = None
    error: str | None = None
    """Why it cannot be used. A broken file does not hide the others."""


class _NamedFile(NamedTuple):
    name: str
    path: Path
    origin: Origin
    clash: bool = False
    """Whether another file in the same folder has the same name."""


def datasets_folder(settings: Settings) -> Path:
    """Folder of the project's own benchmarks.

    Raises:
        InputError: The folder was not set explicitly, and one of its datasets belongs to somebody else.
    """
    folder = Path(settings.value("benchmark.datasets_dir"))
    if settings.origin("benchmark.datasets_dir") == BUILT_IN:
        instead = f"To use the folder anyway, set PROMPT_EVALUATOR_BENCHMARK_DATASETS_DIR={quote(str(folder))}"
        for path in _files(folder):
            check_found(path, "benchmark", instead=instead)
    return folder


def dataset_names(settings: Settings) -> list[str]:
    """Every name that `find_dataset` knows. Reads no file."""
    return sorted({each.name for each in _named_files(settings)})


def list_datasets(settings: Settings, read: ReadFacts = read_facts) -> list[Benchmark]:
    """Every dataset that has a name, by name: the project's own, the configured and the shipped ones.

    A broken file is listed with its error, and so are two files of the same name.
    """
    found = sorted(_named_files(settings), key=lambda each: (each.name, each.path.name))
    return [_benchmark(each, read) for each in found]


def find_dataset(settings: Settings, name: str, read: ReadFacts = read_facts) -> Benchmark:
    """Look up a dataset by name. Only its own file is read; a path is not a name.

    Raises:
        UnknownNameError: No dataset has this name; suggests the nearest.
        ConfigurationError: The file is broken, or two have this name.
    """
    known = list(_named_files(settings))
    named = next((each for each in known if each.name == name), None)
    if named is None:
        raise UnknownNameError("dataset", name, {each.name for each in known})
    found = _benchmark(named, read)
    if found.error:
        raise ConfigurationError(f"The dataset {name!r} cannot be used: {found.error}")
    return found


def open_benchmark(settings: Settings, name: str) -> Dataset:
    return open_dataset(find_dataset(settings, name).path)


def benchmark_parts(options: EvaluateOptions, benchmarks: Sequence[Benchmark], models: Sequence[str]) -> list[Part]:
    """Every model on every dataset, as parts of one group."""
    return [_part(options, benchmark, model) for benchmark in benchmarks for model in models]


def _part(options: EvaluateOptions, benchmark: Benchmark, model: str) -> Part:
    command = command_alone(options.command, {"--model": quoted_word(model), "--dataset": quoted_word(benchmark.name)})
    each = msgspec.structs.replace(options, dataset=benchmark.path, generator_model=model, command=command)
    return Part(Member(dataset=benchmark.name, model=model), each)


def _named_files(settings: Settings) -> Iterator[_NamedFile]:
    """All files by name. Names come from listing folders, never from a caller, so no caller can reach other files."""
    seen: set[str] = set()
    configured = (
        _NamedFile(name, Path(sourced.value), "configured") for name, sourced in settings.names["dataset_paths"].items()
    )
    for files_of_one_origin in (
        list(_in_folder(datasets_folder(settings), "project")),
        list(configured),
        list(_in_folder(_shipped(), "shipped")),
    ):
        new = [each for each in files_of_one_origin if each.name not in seen]
        seen |= {each.name for each in new}
        yield from new


def _in_folder(folder: Path, origin: Origin) -> Iterator[_NamedFile]:
    paths = _files(folder)
    counts = Counter(map(stem, paths))
    for path in paths:
        yield _NamedFile(stem(path), path, origin, clash=counts[stem(path)] > 1)


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in _EXTENSIONS and path.is_file())


def _benchmark(named: _NamedFile, read: ReadFacts) -> Benchmark:
    name, path, origin, clash = named
    if clash:
        why = f"Two files in {absolute(path.parent)} are called {name!r}. Rename one of them."
        return Benchmark(name=name, path=path, origin=origin, error=why)
    facts = read(path)
    about = {field: getattr(facts, field) for field in ("title", "description", "count", "hash", "error")}
    return Benchmark(name=name, path=path, origin=origin, **about)


def _shipped() -> Path:
    return Path(str(files("prompt_evaluator").joinpath("benchmarks")))
