"""Benchmarks: datasets in known folders, run against models and scored by metrics."""

from __future__ import annotations

import time
import uuid
from collections import deque
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.app.evaluate import begin_run, estimate_evaluation, plan_evaluation
from prompt_evaluator.app.group_estimate import MemberEstimate, group_estimate
from prompt_evaluator.config.loading import BUILT_IN
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import (
    BudgetSpentError,
    ConfigurationError,
    PromptEvaluatorError,
    StoreError,
    UnknownNameError,
)
from prompt_evaluator.model.group import Member
from prompt_evaluator.reports.group import group_findings
from prompt_evaluator.usercode.trust import check_found

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

    from prompt_evaluator.app.group_estimate import GroupEstimate
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import Dataset, RunRecord
    from prompt_evaluator.model.group import GroupFindings
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


async def run_benchmarks(
    options: EvaluateOptions, session: Session, *, benchmarks: Sequence[Benchmark], models: Sequence[str]
) -> AsyncIterator[Member]:
    """Run every model on every dataset, one run after the other, all in one group.

    All runs are planned first, so that errors are raised before the first one starts. After that, a run that fails does
    not affect the others. Only an interrupt, a spent budget or a store that cannot be written ends the group; runs that
    were not started are yielded without an outcome.
    """
    planned: deque[tuple[Member, RunRecord]] = deque()
    try:
        for member, each in _members(options, benchmarks, models):
            planned.append((member, await plan_evaluation(each, session)))
        ended = False
        while planned and not ended:
            member, record = planned.popleft()
            done = await _run_member(member, record, session)
            ended = _ends_the_group(done)
            yield done
        for member, _ in planned:
            yield member
    finally:
        for _, record in planned:
            session.store.delete_run(record.plan.run_id)


async def estimate_benchmarks(
    options: EvaluateOptions, session: Session, *, benchmarks: Sequence[Benchmark], models: Sequence[str]
) -> GroupEstimate:
    """Estimate what every model on every dataset would take. Makes no calls and stores nothing."""
    found, written = [], set[bytes]()
    for member, each in _members(options, benchmarks, models):
        estimate = await estimate_evaluation(each, session, written=written)
        found.append(MemberEstimate(dataset=member.dataset, model=member.model, estimate=estimate))
    return group_estimate(found)


def benchmark_findings(members: Sequence[Member]) -> GroupFindings:
    """Findings about the runs of a group together."""
    return group_findings(members)


def _members(
    options: EvaluateOptions, benchmarks: Sequence[Benchmark], models: Sequence[str]
) -> Iterator[tuple[Member, EvaluateOptions]]:
    group = str(uuid.uuid4())
    for benchmark in benchmarks:
        for model in models:
            each = msgspec.structs.replace(options, dataset=benchmark.path, generator_model=model, group_id=group)
            yield Member(dataset=benchmark.name, model=model), each


async def _run_member(member: Member, record: RunRecord, session: Session) -> Member:
    began = time.monotonic()
    outcome = error = None
    try:
        outcome = await begin_run(record, session)
    except PromptEvaluatorError as raised:
        error = raised
    return replace(member, outcome=outcome, error=error, seconds=time.monotonic() - began)


def _ends_the_group(done: Member) -> bool:
    """Whether the remaining runs cannot or may not be run. An error of one service does not affect others."""
    if done.outcome is None:
        return isinstance(done.error, StoreError)
    if done.outcome.record.status != "aborted":
        return False
    stopped_by = done.outcome.stopped_by
    return stopped_by is None or isinstance(stopped_by, (BudgetSpentError, StoreError))


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
