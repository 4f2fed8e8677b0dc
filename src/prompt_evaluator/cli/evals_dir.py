"""`--evals-dir`, for every command of the release harness."""

from __future__ import annotations

from pathlib import Path

import click

evals_dir_option = click.option(
    "--evals-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("evals"),
    help="The harness's folder, with `tasks`, `configs` and `results`.  [default: evals]",
)
