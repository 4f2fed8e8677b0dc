"""Writes reports to files. The name of a file says which format is wanted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from prompt_evaluator.app.compare import comparison_document
from prompt_evaluator.app.report import ReportOptions, collect_compare_report, collect_run_report
from prompt_evaluator.app.report_files import table_kind, write_tables, written_file
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.hints import nearest
from prompt_evaluator.model.comparison import CompareOptions
from prompt_evaluator.model.report import CompareReport, RunReport
from prompt_evaluator.reports.chart_files import javascript_bundle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.app.report_files import TableKind
    from prompt_evaluator.config.loading import Settings

ENDINGS = (".html", ".md", ".csv", ".jsonl", ".json", ".junit.xml")
_PAGES: dict[str, PageKind] = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json"}
_DEFAULTS = CompareOptions()
PageKind = Literal["html", "markdown", "json"]


class ReportFile(NamedTuple):
    """A file to write."""

    path: Path
    page: PageKind | None
    table: TableKind | None


class ReportRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Which report to write."""

    runs: tuple[str, ...]
    """One name, or two: the baseline first."""
    compare: CompareOptions = _DEFAULTS
    options: ReportOptions = ReportOptions()


def report_files(paths: Sequence[Path]) -> list[ReportFile]:
    """The files to write, if all of them can be written. Nothing is written yet.

    Raises:
        ConfigurationError: A file name has an unknown ending, or a path cannot be written or is given twice.
    """
    files = [_file(path) for path in paths]
    seen: set[Path] = set()
    for file in files:
        if (resolved := _checked(file.path)) in seen:
            raise ConfigurationError(f"{file.path} is given twice. Give each file once with -o.")
        seen.add(resolved)
    return files


def write_reports(
    settings: Settings,
    request: ReportRequest,
    files: Sequence[ReportFile],
    report: RunReport | CompareReport | None = None,
) -> None:
    """Write a report to all these files, each as a whole or not at all.

    Args:
        settings: Where runs are stored.
        request: Which report.
        files: Where to.
        report: The same report, if it was collected before.

    Raises:
        ConfigurationError: There is no such run, or a file cannot be written.
        InputError: The file of a run cannot be used.
        IncomparableError: The runs cannot be compared.
    """
    if report is None and any(file.page for file in files):
        report = collect_report(settings, request)
    for path, page, table in files:
        if report is not None and page is not None:
            _write(path, page_bytes(report, page))
        if table is not None:
            write_tables(settings, request.runs, table, path, options=request.compare)


def _file(path: Path) -> ReportFile:
    page, table = _PAGES.get(path.suffix.lower()), table_kind(path)
    if page is None and table is None:
        near = nearest(path.suffix, ENDINGS) if path.suffix else None
        meant = f" Did you mean {near}?" if near else ""
        raise ConfigurationError(
            f"{path}: the end of the file name says which format to write.{meant} Use one of {', '.join(ENDINGS)}."
        )
    return ReportFile(path, page, table)


def _checked(path: Path) -> Path:
    """The absolute path, unless it cannot be written, which is found out before any work is done."""
    try:
        resolved = path.resolve()
        if path.is_dir():
            raise ConfigurationError(f"{path} is a folder. Give the path of a file with -o.")
        folder = next(parent for parent in resolved.parents if parent.exists())
        if not folder.is_dir():
            raise ConfigurationError(f"{path}: {folder} is not a folder. Choose another path with -o.")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigurationError(f"{path}: cannot write the file: {reason}. Choose another path with -o.") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigurationError(f"{path}: the folder {folder} is read-only. Choose another path with -o.")
    return resolved


def collect_report(settings: Settings, request: ReportRequest) -> RunReport | CompareReport:
    """Everything that the report says; raises as `write_reports`."""
    if len(request.runs) == 1:
        options = msgspec.structs.replace(request.options, slices=request.compare.slices)
        return collect_run_report(settings, request.runs[0], options)
    return collect_compare_report(settings, request.runs, request.compare, request.options)


def page_bytes(report: RunReport | CompareReport, kind: PageKind) -> Iterator[bytes]:
    """The report in one of its formats, piece by piece."""
    if kind == "json":
        return _json(report)
    return map(_encoded, _html(report) if kind == "html" else _markdown(report))


def chart_bundle(report: RunReport | CompareReport) -> str | None:
    """The JavaScript that draws the report's charts; None if it has none."""
    return javascript_bundle() if report.charts else None


def _html(report: RunReport | CompareReport) -> Iterator[str]:
    from prompt_evaluator.reports.html import compare_html, run_html  # noqa: PLC0415 - only for this format

    bundle = chart_bundle(report)
    return run_html(report, bundle=bundle) if isinstance(report, RunReport) else compare_html(report, bundle=bundle)


def _markdown(report: RunReport | CompareReport) -> Iterator[str]:
    from prompt_evaluator.reports.markdown import compare_markdown, run_markdown  # noqa: PLC0415 - only for this format

    return run_markdown(report) if isinstance(report, RunReport) else compare_markdown(report)


def _json(report: RunReport | CompareReport) -> Iterator[bytes]:
    yield msgspec.json.format(msgspec.json.encode(report_document(report)), indent=2)
    yield b"\n"


def report_document(report: RunReport | CompareReport) -> dict[str, Any]:
    """A report as a JSON object. Of two runs, it leaves out the list of all cases, which may be long."""
    if isinstance(report, RunReport):
        return msgspec.structs.asdict(report)
    names = ("title", "made_at", "findings", "flipped", "charts")
    comparison = comparison_document(report.comparison)
    del comparison["cases"]
    sides = {"baseline": report.baseline, "candidate": report.candidate}
    return {**{name: getattr(report, name) for name in names}, "comparison": comparison, "reproduction": sides}


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    with written_file(path) as file:
        for piece in pieces:
            file.write(piece)
