"""Labelling in a terminal: shows one answer after the other and takes a key for each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from prompt_evaluator.app.labelling.agreement import agreement_text, agrees
from prompt_evaluator.app.labelling.queues import GivenLabel
from prompt_evaluator.cli.case_view import blind_page
from prompt_evaluator.cli.text import SEPARATOR, clean, columns, wrap
from prompt_evaluator.model.labelling import DRAWN
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from prompt_evaluator.app.labelling.reviewing import Reviewing
    from prompt_evaluator.cli.single_keys import Keys
    from prompt_evaluator.model.labelling import LabelStep, Opinion

_HELP = (("s", "skip"), ("u", "undo"), ("c", "comment"), ("o", "show the judge"), ("?", "keys"), ("q", "quit"))
_WIDEST = 110


class LabelSession:
    """One reviewer with one queue."""

    def __init__(self, reviewing: Reviewing, keys: Keys) -> None:
        self._reviewing, self._keys = reviewing, keys
        self._queue, self._scale = reviewing.queue, reviewing.scale
        self._values = {key.key: key for key in self._scale.keys}
        self._width = columns(sys.stdout) - 1 if sys.stdout.isatty() else None

    def run(self, *, show_judge: bool) -> None:
        """Label until nothing is left or the reviewer stops, and say how far it is."""
        step = self._reviewing.next()
        self._head()
        while step.place is not None:
            following = self._one(step, step.place, show_judge=show_judge)
            if following is None:
                break
            step = following
        self._end(step)

    def _one(self, step: LabelStep, place: int, *, show_judge: bool) -> LabelStep | None:
        """Show one sample and do what the reviewer says; None to stop."""
        found = self._reviewing.sample(place)
        self._keys.forget()
        self._print(self._place(step, found.case.id, found.sample.sample), bold=True)
        click.echo("\n".join(blind_page(found.case, found.sample, self._width)))
        given = GivenLabel(place=place, value=0.0, judge_seen=show_judge, answer_hash=found.sample.answer_hash)
        if show_judge:
            self._print_opinion(self._reviewing.opinion(place))
        self._print(self._prompt())
        while (key := self._keys.key()) not in (None, "q"):
            acted = self._acted(key or "", given)
            if not isinstance(acted, GivenLabel):
                return acted
            given = acted
        return None

    def _acted(self, key: str, given: GivenLabel) -> LabelStep | GivenLabel:
        """What follows from a key: the next step, or the same sample with what is known of its label."""
        if key in self._values:
            given = msgspec.structs.replace(given, value=self._values[key].value)
            return self._labelled(self._reviewing.label(given), given.value)
        if key == "s":
            self._print("skipped")
            return self._reviewing.skip(given.place)
        if key == "u":
            return self._undone(self._reviewing.undo())
        if key == "c":
            given = msgspec.structs.replace(given, comment=self._keys.comment())
            self._print(f"The comment goes with your label: {given.comment}" if given.comment else "No comment.")
        elif key == "o":
            given = msgspec.structs.replace(given, judge_seen=True)
            self._print_opinion(self._reviewing.opinion(given.place))
        else:
            self._print(self._prompt())
        return given

    def _labelled(self, step: LabelStep, value: float) -> LabelStep:
        parts = [f"labelled {self._shown(value)}"]
        if step.opinion is not None:
            same = agrees(value, step.opinion, self._scale)
            parts.append("agrees with the judge" if same else "differs from the judge")
        self._print(SEPARATOR.join(parts), colour="green")
        self._print_opinion(step.opinion)
        return step

    def _undone(self, step: LabelStep) -> LabelStep:
        self._print("took back the last label" if step.label else "went back")
        return step

    def _head(self) -> None:
        scale = self._scale
        self._print(f"{scale.metric}: {scale.description}", bold=True)
        for line in scale.guidelines.splitlines():
            self._print(f"  {line}")
        queue = self._queue
        drawn = f"{queue.size:,} of {many(queue.population, 'answer')}, drawn {DRAWN[queue.draw]}"
        self._print(f"{drawn}; you are {self._reviewing.reviewer}.")

    def _end(self, step: LabelStep) -> None:
        progress = step.progress
        click.echo()
        left = f"; {many(progress.left, 'sample')} left" if progress.left else ""
        self._print(f"{progress.labelled:,} of {self._queue.size:,} labelled{left}.", bold=True)
        self._print(agreement_text(step.agreement, self._scale, self._queue.draw))

    def _place(self, step: LabelStep, case_id: str, sample: int) -> str:
        done = f"{step.progress.labelled:,} of {self._queue.size:,}"
        return f"\n{done}{SEPARATOR}{clean(case_id)}, sample {sample + 1}"

    def _prompt(self) -> str:
        scores = [f"[{key.key}] {key.text}".strip() for key in self._scale.keys]
        return SEPARATOR.join([*scores, *(f"[{key}] {what}" for key, what in _HELP)])

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
        leading = "\n" if text.startswith("\n") else ""
        lines = wrap(clean(text.lstrip("\n")), min(self._width, _WIDEST)) if self._width else [clean(text.lstrip("\n"))]
        click.echo(leading + "\n".join(click.style(line, bold=bold or None, fg=colour) for line in lines))
