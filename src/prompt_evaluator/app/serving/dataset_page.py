"""Everything that the page of one dataset says: its cases, its problems, and the runs that used it."""

from __future__ import annotations

from shlex import join
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.benchmarks import Benchmark, list_datasets
from prompt_evaluator.app.dataset_facts import DatasetFacts
from prompt_evaluator.app.serving.dataset_cases import (
    DatasetFile,
    DatasetTable,
    FieldCount,
    KnownCases,
    ShownCase,
    dataset_table,
    field_counts,
    shown_case,
)
from prompt_evaluator.app.serving.dataset_list import without_folder
from prompt_evaluator.app.serving.run_answers import answers_of
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.api import ApiRun
from prompt_evaluator.model.case_filter import toggled
from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.wording import many
from prompt_evaluator.syntax.source import stem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.dataset_api import DatasetPageQuery, DatasetUse

_RUNS = 20
_NO_FACTS = DatasetFacts()


class Version(NamedTuple):
    """A content of the file that runs have used."""

    use: DatasetUse
    is_now: bool
    """Whether the file has this content now."""
    filter: str
    """Finds its runs among all runs."""


class DatasetPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page."""

    name: str
    stem: str
    """What runs call it."""
    file: str | None
    """The name of the file; None if there is none any more."""
    origin: str | None
    facts: DatasetFacts
    fields: tuple[FieldCount, ...]
    error: str | None
    """Why it cannot be used."""
    headline: str
    versions: tuple[Version, ...]
    is_unused: bool
    """Whether runs used other versions, but none the file as it is now."""
    runs: tuple[ApiRun, ...]
    """The newest of all versions."""
    all_runs: int
    table: DatasetTable | None
    """None if there are no cases to show."""
    case: ShownCase | None
    last_run: str | None
    """The newest run, if it has the case that is shown."""
    command: str
    """Gives the same numbers."""


def dataset_page(
    settings: Settings,
    name: str,
    query: DatasetPageQuery,
    read: Callable[[Path], DatasetFacts],
    known: KnownCases,
) -> DatasetPage:
    """What the page says.

    Args:
        settings: Name the store and the datasets.
        name: Of a dataset, or one that only runs know.
        query: What to show.
        read: Reads the facts of a file, or remembers them.
        known: Remembers cases.

    Raises:
        UnknownNameError: No dataset has this name.
    """
    found, facts = _found(settings, name, read)
    called = stem(found.path) if found else name
    versions = open_store(settings).dataset_versions(called)
    if found is None and not versions:
        uses = open_store(settings).dataset_uses()
        raise UnknownNameError("dataset", name, {*_names(settings), *(use.name for use in uses)})
    file = DatasetFile(found.path, facts) if found and facts.count else None
    case = shown_case(file, query, known) if file and query.at else None
    return DatasetPage(
        name=name,
        stem=called,
        file=found.path.name if found else None,
        origin=found.origin if found else None,
        facts=facts,
        fields=field_counts(facts),
        error=without_folder(found.error, found.path) if found and found.error else None,
        headline=_headline(found, facts, versions),
        versions=tuple(_versions(called, facts.hash, versions)),
        is_unused=bool(file and versions) and all(each.hash != facts.hash for each in versions),
        runs=_newest(settings, called) if versions else (),
        all_runs=sum(each.runs for each in versions),
        table=dataset_table(file, query, known) if file else None,
        case=case,
        last_run=_run_with(settings, versions, case),
        command=join(["prompt-evaluator", "validate", found.path.name]) if found else _runs_command(called),
    )


def _runs_command(called: str) -> str:
    return join(["prompt-evaluator", "runs", "list", "--where", f"dataset={called}"])


def _names(settings: Settings) -> set[str]:
    return {each.name for each in list_datasets(settings, lambda _: _NO_FACTS)}


def _found(
    settings: Settings, name: str, read: Callable[[Path], DatasetFacts]
) -> tuple[Benchmark | None, DatasetFacts]:
    """The dataset with this name. Only its own file is read."""
    plain = next((each for each in list_datasets(settings, lambda _: _NO_FACTS) if each.name == name), None)
    if plain is None or plain.error:  # two files have this name
        return plain, _NO_FACTS
    facts = read(plain.path)
    return msgspec.structs.replace(plain, error=facts.error), facts


def _headline(found: Benchmark | None, facts: DatasetFacts, versions: Sequence[DatasetUse]) -> str:
    if found is None:
        return "There is no file of this name here; these are the runs that used one."
    if facts.problem_count:
        it = "it is fixed" if facts.problem_count == 1 else "they are fixed"
        usable = f" {many(facts.count, 'case')} could be read." if facts.count else ""
        return f"{many(facts.problem_count, 'problem')}: the dataset cannot be used until {it}.{usable}"
    if found.error:
        return "The dataset cannot be used."
    return f"{many(facts.count, 'case')}. {_used(facts, versions)}"


def _used(facts: DatasetFacts, versions: Sequence[DatasetUse]) -> str:
    """Whether the newest run used what is in the file now."""
    if not versions:
        return "No run has used them yet."
    if versions[0].hash == facts.hash:
        return "The newest run used the file as it is now."
    if any(each.hash == facts.hash for each in versions):
        return "The newest run used another version of the file than there is now."
    return "The file has changed since the newest run; no run has used it as it is now."


def _versions(called: str, now: str | None, uses: Sequence[DatasetUse]) -> list[Version]:
    return [Version(use, use.hash is not None and use.hash == now, _filter(called, use)) for use in uses]


def _filter(called: str, use: DatasetUse) -> str:
    return toggled(toggled("", f"dataset:{called}"), f"dataset_hash:{use.hash or 'null'}")


def _newest(settings: Settings, called: str) -> tuple[ApiRun, ...]:
    return answers_of(settings, (Condition("dataset", "=", called),), "age", _RUNS, None)[1].runs


def _run_with(settings: Settings, versions: Sequence[DatasetUse], case: ShownCase | None) -> str | None:
    if case is None or not versions:
        return None
    newest = versions[0].newest_run
    return newest if open_store(settings).content_hashes(newest, [case.case.id]) else None
