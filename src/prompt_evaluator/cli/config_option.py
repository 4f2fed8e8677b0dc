"""`--config`, for every command that reads settings."""

from __future__ import annotations

from pathlib import Path

import click

config_option = click.option(
    "--config",
    "-c",
    "config_path",
    type=click.Path(path_type=Path),
    help="The configuration file.  [default: prompt_evaluator.yaml in this folder or a parent]",
)
