"""`prompt-evaluator label`: shows one answer after the other and takes a key for each."""

from __future__ import annotations

import getpass
import shlex
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.labelling.agreement import agreement_text, agrees
from prompt_evaluator.app.labelling.session import LabelSession
from prompt_evaluator.app.run_cases import show_case
from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.stores import ServedSettings
from prompt_evaluator.cli.case_view import blind_page
from prompt_evaluator.cli.command_line import program
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.settings_options import settings_options
from prompt_evaluator.cli.single_keys import single_keys
from prompt_evaluator.cli.text import SEPARATOR, clean, columns, wrap
from prompt_evaluator.model.bounds import LABEL_COUNT, SEED
from prompt_evaluator.model.labelling import DRAWN, DRAWS, USUAL_COUNT, LabelDraw
from prompt_evaluator.model.run_facts import SHORT_ID
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.cli.single_keys import Keys
    from prompt_evaluator.model import Label
    from prompt_evaluator.model.labelling import Draw, Drawn, Opinion

_HELP = (("s", "skip"), ("u", "undo"), ("c", "comment"), ("o", "show the judge"), ("?", "keys"), ("q", "quit"))
_WIDEST = 110


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
@click.option(
    "--count",
    type=number_type(LABEL_COUNT),
    metavar="N",
    default=USUAL_COUNT,
    show_default=True,
    help="Draw N answers.",
)
@click.option(
    "--seed",
    type=number_type(SEED),
    metavar="N",
    default=1,
    show_default=True,
    help="The same seed draws the same answers, for a second opinion; another one draws others.",
)
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
    count: int,
    seed: int,
    reviewer: str | None,
    show_judge: bool,
    config_path: Path | None,
) -> None:
    """Score answers of RUN (an id, its beginning, @last or a tag) yourself, one key each.

    The next call goes on with the first answer that you have not labelled, also after a kill. The judge's score is
    hidden until after your label. Without a terminal, keys are read from standard input, one line each.
    """
    who = reviewer or _user()
    with ExitStack() as stack:
        settings = ServedSettings.of(read_settings(config_path))  # kept open, so that a key is answered at once
        stack.callback(settings.opened.close_for_good)
        asked = LabelDraw(run_id=whole_id(settings, run), metric=metric, how=draw, count=count, seed=seed)
        session = LabelSession(settings, asked, who)
        _Terminal(settings, session, stack.enter_context(single_keys())).run(show_judge=show_judge)
    run_id = clean(session.run_id[:SHORT_ID])
    click.echo(f"Write them to a file: {shlex.join(program())} labels export {run_id} -o labels.csv")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise click.UsageError("Your user name is not known. Say who labels: --reviewer NAME.") from None


class _Terminal:
    """Labels one answer after the other."""

    def __init__(self, settings: ServedSettings, session: LabelSession, keys: Keys) -> None:
        self._settings, self._session, self._keys = settings, session, keys
        self._scale = session.scale
        self._values = {key.key: key.value for key in self._scale.keys}
        self._skipped: list[Drawn] = []
        self._last: Label | None = None
        """The last label of this call, which can be taken back."""
        self._width = columns(sys.stdout) - 1 if sys.stdout.isatty() else None

    def run(self, *, show_judge: bool) -> None:
        """Label until nothing is left or the reviewer stops, and say how far it is."""
        self._head()
        while (drawn := self._session.next(self._skipped)) and self._one(drawn, judge_seen=show_judge):
            pass
        self._end()

    def _one(self, drawn: Drawn, *, judge_seen: bool) -> bool:
        """Show one answer and do what the reviewer says; False to stop."""
        found = show_case(self._settings, self._session.run_id, drawn.answer.case_id)
        (sample,) = (each for each in found.view.samples or () if each.sample == drawn.answer.sample)
        self._keys.forget()
        done = f"{self._session.labelled:,} of {len(self._session.drawn):,}"
        click.echo()
        self._print(f"{done}{SEPARATOR}{clean(found.case.id)}, sample {sample.sample + 1}", bold=True)
        click.echo("\n".join(blind_page(found.case, sample, self._width)))
        if judge_seen:
            self._print_opinion(self._session.opinion(drawn))
        self._print_keys()
        comment = ""
        while (key := self._keys.key()) not in (None, "q"):
            if key in self._values:
                value = self._values[key]
                self._last = self._session.label(
                    drawn, value, answer_hash=sample.answer_hash, comment=comment, judge_seen=judge_seen
                )
                self._print_labelled(value, self._session.opinion(drawn))
                return True
            if key == "s":
                self._skipped.append(drawn)
                self._print("skipped")
                return True
            if key == "u" and self._last:
                self._session.withdraw(self._last)
                self._last = None
                self._print("took back the last label")
                return True
            if key == "c":
                comment = self._keys.comment()
                self._print(f"The comment goes with your label: {comment}" if comment else "No comment.")
            elif key == "o":
                judge_seen = True
                self._print_opinion(self._session.opinion(drawn))
            else:
                self._print_keys()
        return False

    def _head(self) -> None:
        scale, session = self._scale, self._session
        self._print(f"{scale.metric}: {scale.description}", bold=True)
        for line in scale.guidelines.splitlines():
            self._print(f"  {line}")
        drawn = f"{len(session.drawn):,} of {many(session.population, 'answer')}, drawn {DRAWN[session.how]}"
        self._print(f"{drawn}; you are {session.reviewer}.")

    def _end(self) -> None:
        labelled, drawn = self._session.labelled, len(self._session.drawn)
        click.echo()
        left = f"; {many(drawn - labelled, 'sample')} left" if drawn > labelled else ""
        self._print(f"{labelled:,} of {drawn:,} labelled{left}.", bold=True)
        self._print(agreement_text(self._session.agreement(), self._scale, self._session.how))

    def _print_keys(self) -> None:
        scores = [f"[{key.key}] {key.text}".strip() for key in self._scale.keys]
        self._print(SEPARATOR.join([*scores, *(f"[{key}] {what}" for key, what in _HELP)]))

    def _print_labelled(self, value: float, opinion: Opinion | None) -> None:
        parts = [f"labelled {self._shown(value)}"]
        if opinion:
            same = agrees(value, opinion, self._scale)
            parts.append("agrees with the judge" if same else "differs from the judge")
        self._print(SEPARATOR.join(parts), colour="green")
        self._print_opinion(opinion)

    def _print_opinion(self, opinion: Opinion | None) -> None:
        if opinion is None or opinion.value is None:
            self._print("judge: no score")
            return
        value = self._shown(opinion.value)
        passed = "" if self._scale.kind == "flag" else " passes" if opinion.passed else " does not pass"
        reason = f": {opinion.reason}" if opinion.reason else ""
        self._print(f"judge {opinion.judge or ''}".strip() + f" {value}{passed}{reason}")

    def _shown(self, value: float) -> str:
        if self._scale.kind == "flag":
            return "yes" if value else "no"
        return f"{value:g}"

    def _print(self, text: str, *, bold: bool = False, colour: str | None = None) -> None:
        lines = wrap(clean(text), min(self._width, _WIDEST)) if self._width else [clean(text)]
        click.echo("\n".join(click.style(line, bold=bold or None, fg=colour) for line in lines))
