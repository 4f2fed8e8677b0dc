"""`prompt-evaluator render-report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from prompt_evaluator.app.report_writing import ReportRequest, compared_names, report_files, write_reports
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.cli.compare_options import compare_options, comparing
from prompt_evaluator.cli.report import DEFAULT, making, output_option, print_written, report_options
from prompt_evaluator.cli.settings_options import config_option


@click.command("render-report")
@click.option(
    "--run", "run_folder", type=click.Path(path_type=Path), metavar="DIR", help="The folder of the run to report on."
)
@click.option(
    "--compare",
    "comparison_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The comparison to report on, as `compare-runs --output` wrote it.",
)
@output_option(f"{DEFAULT} beside the run or the comparison")
@report_options
@compare_options
@config_option
def render_report_command(
    *,
    run_folder: Path | None,
    comparison_file: Path | None,
    outputs: tuple[Path, ...],
    config_path: Path | None,
    **options: Any,
) -> None:
    """Write a report on the run in a folder, or on a comparison in a file.

    The same as `report`, which takes names of runs. The comparison is made again: its file says which runs to compare.

    Exit codes: 0; 2 if a file or an option cannot be used; 3 if the runs cannot be compared.
    """
    given = [path for path in (run_folder, comparison_file) if path is not None]
    if len(given) != 1:
        raise click.UsageError("Give either --run DIR or --compare FILE.")
    runs = compared_names(comparison_file) if comparison_file else (_as_path(given[0]),)
    beside = given[0] if given[0].is_dir() else given[0].parent
    files = report_files(outputs or (beside / DEFAULT,))
    request = ReportRequest(runs=runs, compare=comparing(options), options=making(options))
    print_written(write_reports(read_settings(config_path), request, files))


def _as_path(folder: Path) -> str:
    """Write a folder so that it is not taken for the id of a run that does not exist as a folder."""
    return str(folder) if folder.is_absolute() else f"./{folder}"
