"""`prompt-evaluator init`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from prompt_evaluator.app.init import create_project
from prompt_evaluator.cli.command_line import PROGRAM, program


@click.command("init")
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace existing files.")
def init_command(folder: Path, *, force: bool) -> None:
    """Create a project in DIR (default: this folder): configuration, dataset, prompt, rubric and a CI example.

    The project runs offline right away. If files exist already, nothing is written; they are listed, with exit code 2.
    """
    project = create_project(folder, force=force)
    command = project.command.replace(PROGRAM, shlex.join(program(folder)), 1)
    for name in project.written:
        click.echo(f"  {folder / name}")
    click.echo()
    if folder.resolve() != Path.cwd():
        click.echo(f"Next: cd {shlex.quote(str(folder))}")
        click.echo(f"      {command}")
    else:
        click.echo(f"Next: {command}")
