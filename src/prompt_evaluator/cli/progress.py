"""Progress of a run, on standard error and in a log file: a live block on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from prompt_evaluator.cli.live import Terminal, cost, final_text, throttled, waiting_for
from prompt_evaluator.cli.tally import Tally
from prompt_evaluator.cli.text import SEPARATOR, clean, clock, coloured, tokens, writable
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.event import CaseDone, RunEnded, RunStarted, SampleDone, SampleStarted
from prompt_evaluator.model.secret import REDACTOR
from prompt_evaluator.model.wording import kinds, many, percent

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from prompt_evaluator.app.calls import Meter
    from prompt_evaluator.cli.tally import View
    from prompt_evaluator.model import RunPlan, RunRecord
    from prompt_evaluator.model.event import AnyEvent
    from prompt_evaluator.model.result import CaseResult

_TICK = 0.25
_INTERVALS = (5.0, 5.0, 10.0, 20.0, 30.0)
"""Seconds before the first plain line, before the second, and so on; the last value repeats."""


class Outlet(Protocol):
    """Where progress is shown. Used by one thread at a time."""

    only_notes: bool
    """Whether it shows only notes, no progress lines."""

    def tick(self, view: View, lines: Sequence[str]) -> None:
        """Show the lines, and the progress if it is due."""

    def end(self, view: View, lines: Sequence[str]) -> None:
        """Show the lines and the final result. Another run may follow."""


class LiveOutlet:
    """A block on a terminal."""

    only_notes = False

    def __init__(self, stream: TextIO) -> None:
        self._terminal = Terminal(stream, colour=coloured(stream))

    def tick(self, view: View, lines: Sequence[str]) -> None:
        self._terminal.draw(view, lines)

    def end(self, view: View, lines: Sequence[str]) -> None:
        self._terminal.clear([*lines, final_text(view)])

    def leave(self, lines: Sequence[str]) -> None:
        """Replace the block with the lines."""
        self._terminal.clear(lines)


class LinesOutlet:
    """A line now and then; none for a run that ends before the first is due."""

    only_notes = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = 0
        self._due = _INTERVALS[0]

    def tick(self, view: View, lines: Sequence[str]) -> None:
        output = list(lines)
        if view.seconds >= self._due:
            self._shown += 1
            self._due = view.seconds + _INTERVALS[min(self._shown, len(_INTERVALS) - 1)]
            output.append(plain_line(view))
        self._write(output)

    def end(self, view: View, lines: Sequence[str]) -> None:
        self._write([*lines, *([final_text(view)] if self._shown else [])])
        self._shown, self._due = 0, _INTERVALS[0]

    def leave(self, lines: Sequence[str]) -> None:
        """Show the lines, without a final result."""
        self._write(lines)

    def _write(self, lines: Sequence[str]) -> None:
        if lines:
            self._stream.write("".join(f"{writable(line, self._stream.encoding)}\n" for line in lines))
            self._stream.flush()


class LogOutlet(LinesOutlet):
    """The same lines with times, in a file. Secrets are redacted, and the file is open only while writing."""

    def __init__(self, path: Path) -> None:
        super().__init__(sys.stderr)
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("a", encoding="utf-8").close()
        except OSError as error:
            raise ConfigurationError(f"The log file {path} cannot be written: {error.strerror or error}.") from None

    def end(self, view: View, lines: Sequence[str]) -> None:
        self._shown += 1
        super().end(view, lines)

    def _write(self, lines: Sequence[str]) -> None:
        if not lines:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.writelines(f"{now} {REDACTOR.message(clean(line))}\n" for line in lines)


class SilentOutlet(LinesOutlet):
    """Shows notes but no progress."""

    only_notes = True

    def tick(self, view: View, lines: Sequence[str]) -> None:  # noqa: ARG002 - an outlet's signature
        self._write(lines)

    def end(self, view: View, lines: Sequence[str]) -> None:
        self.tick(view, lines)


class Progress:
    """Shows the progress of a run. Counts on the run's thread; draws on its own thread, four times a second.

    A terminal that accepts no output, for example after Ctrl-S, does not block the run.
    """

    def __init__(self, meter: Meter, outlets: Sequence[Outlet], *, verbose: bool = False) -> None:
        self._tally = Tally(meter)
        self._outlets = list(outlets)
        self._verbose = verbose
        self._lines: deque[tuple[bool, str]] = deque()
        """Whether the line is a note, and its text."""
        self._wake, self._over = threading.Event(), True
        self._thread: threading.Thread | None = None

    def __call__(self, event: AnyEvent) -> None:
        """Handle an event of the run."""
        match event:
            case SampleStarted():
                self._tally.sample_started(event.case_id, event.sample)
            case SampleDone():
                self._tally.sample_done(event.case_id, event.sample, event.status)
            case CaseDone():
                self.case_done(event.result)
            case RunStarted():
                self.started(event.record, samples=event.samples)
            case RunEnded():
                self.ended()

    def started(self, record: RunRecord, *, samples: int) -> None:
        self.ended()
        self._over = False
        self._tally.started(samples=samples, cases=record.plan.dataset.selected)
        self._lines.append((False, started_line(record.plan)))
        self._show(ended=False)
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def case_done(self, result: CaseResult) -> None:
        self._tally.case_done()
        if self._verbose:
            self._lines.append((False, case_line(result)))

    def note(self, text: str) -> None:
        """Show a message, such as that a signal was caught, without disturbing the block."""
        self._lines.append((True, text))
        if self._thread is None:
            self._show(ended=False)
        self._wake.set()

    def ended(self) -> None:
        """Stop drawing and leave the cursor on a new line. Does nothing if called again."""
        self._over = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
            self._show(ended=True)

    def close(self) -> None:
        """Stop drawing before anything else is printed."""
        self.ended()

    def _run(self) -> None:
        while not self._over:
            self._wake.wait(_TICK)
            self._wake.clear()
            if not self._over:
                self._show(ended=False)

    def _show(self, *, ended: bool) -> None:
        view = self._tally.view()
        pending = [self._lines.popleft() for _ in range(len(self._lines))]
        for outlet in list(self._outlets):
            lines = [REDACTOR.message(text) for note, text in pending if note or not outlet.only_notes]
            try:
                (outlet.end if ended else outlet.tick)(view, lines)
            except (OSError, ValueError):  # the stream is closed or the disk is full; the run must go on
                self._outlets.remove(outlet)


def make_outlet(stream: TextIO) -> LiveOutlet | LinesOutlet:
    """A live block on a terminal that can redraw it, plain lines elsewhere."""
    return LiveOutlet(stream) if stream.isatty() and os.environ.get("TERM") != "dumb" else LinesOutlet(stream)


def make_watcher(meter: Meter, *, stream: TextIO, verbose: int, quiet: bool, log_file: Path | None) -> Progress:
    """Shows a run's progress on this stream, and in the log file if given.

    Raises:
        ConfigurationError: The log file cannot be written.
    """
    outlets: list[Outlet] = [SilentOutlet(stream) if quiet else make_outlet(stream)]
    if log_file is not None:
        outlets.append(LogOutlet(log_file))
    return Progress(meter, outlets, verbose=verbose > 0)


def started_line(plan: RunPlan) -> str:
    size = f"{many(plan.dataset.selected, 'case')} × {many(plan.num_samples, 'sample')}"
    judge = f", judged by {' and '.join(plan.judge_models)}" if plan.judge_models else ""
    synthetic = " (SYNTHETIC)" if plan.synthetic else ""
    return clean(f"Run {plan.run_id}: {size} of {plan.target.model}{_in_group(plan)}{judge}{synthetic}")


def _in_group(plan: RunPlan) -> str:
    """Return what tells the runs of a group apart."""
    if plan.harness and not plan.target.model.endswith(f"/{plan.harness.config_id}"):
        return f" as {plan.harness.config_id}"
    path = plan.target.prompt.path if plan.target.prompt else None
    return f" with {Path(path).name}" if path and plan.group_id != plan.run_id else ""


def plain_line(view: View) -> str:
    """Everything the live block shows, on one line."""
    parts = [
        f"{view.samples_done:,}/{view.samples:,} samples ({percent(int(view.share * 100) / 100)})",
        f"{view.cases_done:,}/{view.cases:,} cases",
        clock(view.seconds),
        *([] if view.rate is None else [f"{view.rate:,.1f}/s"]),
        *([] if view.eta is None else [f"ETA {clock(view.eta)}"]),
        *([] if view.elsewhere else [f"{view.in_flight:,} of {view.limit:,} in flight, {view.queued:,} queued"]),
        f"{tokens(view.input_tokens)} tokens in, {tokens(view.output_tokens)} out",
        cost(view),
        *([] if view.elsewhere else [throttled(view)]),
    ]
    if view.retries:
        parts.append(f"{many(sum(view.retries.values()), 'retry', 'retries')} ({kinds(view.retries)})")
    if view.unscored or view.errors:
        named = f" ({kinds(view.errors)})" if view.errors else ""
        parts.append(f"{many(view.unscored, 'sample')} without a score{named}")
    if view.in_tail:
        parts.append(f"waiting {'; '.join(waiting_for(view))}")
    return SEPARATOR.join(parts)


def case_line(result: CaseResult) -> str:
    """`test-004: 5/5 samples · accuracy 4.20 ± 0.30 · …`."""
    scored = sum(sample.status == "completed" for sample in result.samples)
    parts = [f"{scored}/{result.num_samples} samples"]
    parts += [
        f"{name} {stats.mean:.2f}" + ("" if stats.std is None else f" (std {stats.std:.2f})")
        for name, stats in result.per_metric_stats.items()
    ]
    raised = [name for name, stats in result.per_flag_stats.items() if stats.true_count]
    if raised:
        parts.append(f"flags: {', '.join(raised)}")
    if result.error_message:
        parts.append(result.error_message)
    return clean(f"{result.test_case_id}: {SEPARATOR.join(parts)}")
