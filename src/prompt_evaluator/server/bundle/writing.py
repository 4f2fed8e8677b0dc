"""Writes a bundle: the pages of a few runs as files that need no server."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.app.run_names import stored_name
from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.app.server_settings import server_settings
from prompt_evaluator.app.serving.run_rows import named_runs
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.api import RunTableQuery
from prompt_evaluator.server.bundle.addresses import Addresses
from prompt_evaluator.server.bundle.compare_files import CompareFiles, compared_runs
from prompt_evaluator.server.bundle.folder import replaced_folder
from prompt_evaluator.server.bundle.run_files import RunFiles, numbered_cases
from prompt_evaluator.server.bundle.static_pages import StaticPages
from prompt_evaluator.server.feeds import Feeds
from prompt_evaluator.server.pages.benchmarks import benchmarks
from prompt_evaluator.server.site import Site

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from prompt_evaluator.app.stores import ServedSettings

MOST_RUNS = 8


class Written(NamedTuple):
    """What was written."""

    files: int
    size: int
    """In bytes."""


def write_bundle(settings: ServedSettings, names: Sequence[str], out: Path, *, cases: int | None) -> Written:
    """Write the pages of runs to a folder, and those that compare the first of them with the others.

    Args:
        settings: With the store.
        names: Of runs, the baseline first.
        out: The folder; an earlier bundle in it is replaced.
        cases: How many cases of each run get a page, those with problems first; None for all.

    Raises:
        ConfigurationError: A run is named twice, there are too many, or the folder cannot be used.
        UnknownNameError: There is no such run.
    """
    run_ids = [whole_id(settings, stored_name(settings, name)) for name in names]
    _refuse(run_ids, names)
    site = Site(settings=settings, server=server_settings(settings), needs_token=False, feeds=Feeds(settings))
    with replaced_folder(out) as folder:
        pages = StaticPages(site, Addresses(run_ids), folder)
        numbers = {run_id: numbered_cases(pages, run_id, cases) for run_id in run_ids}
        for run_id, found in numbers.items():
            pages.addresses.add_cases(run_id, found)
        comparisons = [_comparison(pages, run_ids, at, numbers[run_ids[at]]) for at in range(1, len(run_ids))]
        for run_id, found in numbers.items():
            RunFiles(pages, run_id, found).write()
        for comparison in comparisons:
            comparison.write()
        _write_index(pages, run_ids)
        pages.write_assets()
    return Written(folder.files, folder.size)


def _comparison(pages: StaticPages, run_ids: Sequence[str], at: int, numbers: Mapping[str, int]) -> CompareFiles:
    """The first run and the one at this place, to be written once all links are known."""
    pair = run_ids[0], run_ids[at]
    compared = compared_runs(pages, pair, f"compare/{at}", numbers)
    pages.addresses.add_comparison(pair, compared)
    return CompareFiles(pages, [*pair, *(each for each in run_ids[1:] if each != pair[1])], compared)


def _refuse(run_ids: Sequence[str], names: Sequence[str]) -> None:
    for at, run_id in enumerate(run_ids):
        if run_id in run_ids[:at]:
            raise ConfigurationError(f"{names[at]} is given twice. Name different runs.")
    if len(run_ids) > MOST_RUNS:
        raise ConfigurationError(f"A bundle shows at most {MOST_RUNS} runs. Leave some out, or write two bundles.")


def _write_index(pages: StaticPages, run_ids: Sequence[str]) -> None:
    site = pages.site
    page = benchmarks(pages.call(RunTableQuery()))
    changes = {run_id: site.changes(run_id, run_ids[0]).run for run_id in run_ids[1:]}
    shown = {"table": named_runs(site.settings, run_ids, site.problems), "changes": changes}
    pages.write(page._replace(values=page.values | shown), "index.html")
