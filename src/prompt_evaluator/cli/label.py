"""`prompt-evaluator label`."""

from __future__ import annotations

import getpass
import shlex
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.labelling.reviewing import go_on
from prompt_evaluator.app.labelling.samples import first_metric
from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.stores import ServedSettings
from prompt_evaluator.cli.command_line import program
from prompt_evaluator.cli.label_session import LabelSession
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.single_keys import single_keys
from prompt_evaluator.cli.text import clean
from prompt_evaluator.model.bounds import QUEUE_SIZE, SEED
from prompt_evaluator.model.labelling import DRAWS, USUAL_SIZE, NewQueue
from prompt_evaluator.model.run_facts import SHORT_ID

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.labelling import Draw


@click.command("label")
@click.argument("run")
@click.option("--metric", metavar="NAME", help="A metric, criterion or flag.  [default: the first one of the run]")
@click.option(
    "--draw",
    type=click.Choice(DRAWS),
    default="random",
    show_default=True,
    help="Which answers: any, equally many of each score, or those that the judge is least sure of.",
)
@click.option("--count", type=number_type(QUEUE_SIZE), metavar="N", help=f"Draw N answers.  [default: {USUAL_SIZE}]")
@click.option("--seed", type=number_type(SEED), metavar="N", help="Draw the same answers again, for a second opinion.")
@click.option("--reviewer", metavar="NAME", help="Who labels.  [default: your user name]")
@click.option(
    "--show-judge", is_flag=True, help="Show the judge's score before the label. Labels keep that it was seen."
)
@settings_options
def label_command(  # noqa: PLR0913 - one keyword per option
    run: str,
    *,
    metric: str | None,
    draw: Draw,
    count: int | None,
    seed: int | None,
    reviewer: str | None,
    show_judge: bool,
    config_path: Path | None,
) -> None:
    """Score answers of RUN (an id, its beginning, @last or a tag) yourself, one key each.

    Answers are drawn once, into a queue that is kept: the next call goes on where the last one stopped, also if it
    was killed, and several people share it without getting the same answer. The judge's score is hidden until after
    your label. Without a terminal, keys are read from standard input, one line each.
    """
    who = (reviewer or _user()).strip()
    with ExitStack() as stack:
        settings = ServedSettings.of(read_settings(config_path))  # kept open, so that a key is answered at once
        stack.callback(settings.opened.close_for_good)
        run_id = whole_id(settings, run)
        new = NewQueue(
            run_id=run_id,
            metric=metric or first_metric(settings, run_id),
            draw=draw,
            size=count or USUAL_SIZE,
            seed=seed,
        )
        reviewing = go_on(settings, new, who, same_size=count is not None)
        LabelSession(reviewing, stack.enter_context(single_keys())).run(show_judge=show_judge)
    click.echo(f"Write them to a file: {shlex.join(program())} labels export {clean(run_id[:SHORT_ID])} -o labels.csv")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise click.UsageError("Your user name is not known. Say who labels: --reviewer NAME.") from None
