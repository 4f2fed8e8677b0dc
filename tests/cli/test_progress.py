"""What is shown while a run is in progress."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from summaries import RUN_ID, plan
from workspace import Workspace

from prompt_evaluator.calls.meter import Meter
from prompt_evaluator.cli.live import Terminal, final_text, line_cells, line_text, live_lines
from prompt_evaluator.cli.progress import LinesOutlet, make_watcher, plain_line
from prompt_evaluator.cli.tally import Tally, View, Waiting
from prompt_evaluator.cli.text import cells, clean, clock, fit, flow, span, squeeze, tokens
from prompt_evaluator.errors import ConfigurationError, RateLimitedError
from prompt_evaluator.model import RunRecord, Secret
from prompt_evaluator.model.event import SampleDone
from prompt_evaluator.model.wording import money, percent

if TYPE_CHECKING:
    from pathlib import Path

BUSY: dict[str, Any] = {
    "seconds": 75.0,
    "samples": 250,
    "samples_done": 120,
    "cases": 50,
    "cases_done": 23,
    "rate": 1.6,
    "in_flight": 8,
    "limit": 11,
    "queued": 3,
    "input_tokens": 123_456,
    "output_tokens": 45_678,
    "cost": 0.4321,
    "answers": 230,
    "throttled": 0.31,
    "retries": {"RateLimitedError": 18, "UnavailableError": 5},
    "errors": {"RequestRefusedError": 2, "InvalidJudgement": 1},
    "unscored": 3,
}


def view(**changes: Any) -> View:
    return View(**(BUSY | changes))


def block(shown: View, width: int) -> list[str]:
    return [line_text(line) for line in live_lines(shown, width)]


def record(folder: Path) -> RunRecord:
    return RunRecord(plan=plan(folder), status="running", started_at="2026-01-01T00:00:00.000Z")


class Watch:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_block_at_80_columns() -> None:
    assert block(view(), 80) == [
        "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━─────────────────────────────────  48 %  ETA 1:21",
        "done     120/250 samples · 23/50 cases · 1.6/s · 1:15",
        "calls    8 in flight of 11 · 3 queued · throttled 31 % (rate limits, 429s)",
        "spent    123k tokens in · 45.7k out · $0.43",
        "retries  23: 18 rate limited, 5 unavailable",
        "errors   3 samples without a score · 2 refused, 1 unreadable reply",
    ]


@each("width", [40, 41, 47, 59, 80, 99, 119, 120, 121, 160, 250])
def test_no_line_reaches_the_edge_of_the_terminal(width: int) -> None:
    waiting = tuple(Waiting("日本語の長い識別子" * 9, 2, 31.0, "ConnectionFailedError", 12.0) for _ in range(64))
    huge = view(
        samples=10**9,
        samples_done=10**9 - 5,
        cases=10**8,
        cases_done=10**8 - 1,
        cost=1e7,
        unpriced=10**6,
        waiting=waiting,
    )

    assert [line for line in live_lines(huge, width) if line_cells(line) >= width] == []
    assert [line for line in live_lines(view(), width) if line_cells(line) >= width] == []


def test_fields_stay_where_they_are_while_nothing_is_known() -> None:
    before = view(samples_done=0, cases_done=0, rate=None, limit=0, in_flight=0, retries={}, errors={}, unscored=0)

    assert [line[:8].strip() for line in block(before, 80)[1:]] == ["done", "calls", "spent", "retries"]


@each(
    ("changes", "line", "expected"),
    [
        ({"samples_done": 250}, -1, "waiting  writing the results"),
        (
            {
                "samples_done": 248,
                "waiting": (Waiting("t4", 2, 31.2, "RateLimitedError", 12.0), Waiting("t9", 1, 4.0)),
            },
            -1,
            "waiting  for 2 samples · t4 #2 (31 s), retrying after 429 in 12 s · t9 #1 (4 s)",
        ),
        ({"throttled": 0.0}, 2, "calls    8 in flight of 11 · 3 queued · not throttled"),
        ({"unpriced": 5, "answers": 5}, 3, "spent    123k tokens in · 45.7k out · cost unknown"),
        ({"unpriced": 2, "answers": 5}, 3, "spent    123k tokens in · 45.7k out · $0.43 + 2 calls of unknown price"),
    ],
)
def test_a_line_says_what_is_known(changes: dict[str, Any], line: int, expected: str) -> None:
    assert block(view(**changes), 119)[line] == expected


def test_a_stall_is_explained_in_the_middle_of_a_run_too() -> None:
    waiting = tuple(Waiting(f"test-{at}", 1, 20.0 - at) for at in range(5))

    assert "waiting" not in block(view(waiting=waiting, idle=9.0), 80)[-1]
    assert " ".join(block(view(waiting=waiting, idle=10.0), 80)).endswith("more")


def test_a_plain_line_says_it_all() -> None:
    assert plain_line(view()) == (
        "120/250 samples (48 %) · 23/50 cases · 1:15 · 1.6/s · ETA 1:21 · 8 of 11 in flight, 3 queued · "
        "123k tokens in, 45.7k out · $0.43 · throttled 31 % (rate limits, 429s) · "
        "23 retries (18 rate limited, 5 unavailable) · 3 samples without a score (2 refused, 1 unreadable reply)"
    )


def test_the_last_line_says_how_long_it_took() -> None:
    done = final_text(view(samples_done=250, retries={}, throttled=0.0))

    assert done == "Done: 250 samples in 1:15 · 3.3/s"
    assert final_text(view()).startswith("Stopped after 120 of 250 samples in 1:15 · 1.6/s · 23 retries (")


def test_the_last_line_explains_throttling_and_counts_time_outs() -> None:
    done = final_text(view(samples_done=250, retries={}, throttled=0.31, time_outs=2))

    assert done.endswith(
        "throttled 31 % of the time (rate limits, 429s) · 2 tries timed out and may have been paid for"
    )


def test_plain_lines_come_after_5_10_20_40_and_70_seconds() -> None:
    stream = io.StringIO()
    outlet = LinesOutlet(stream)
    shown = []
    for second in range(120):
        before = len(stream.getvalue())
        outlet.tick(view(seconds=float(second)), ())
        if len(stream.getvalue()) > before:
            shown.append(second)

    assert shown == [5, 10, 20, 40, 70, 100]


async def test_a_retry_is_shown_with_the_sample_it_belongs_to() -> None:
    watch = Watch()
    meter = Meter()
    tally = Tally(meter, watch)
    tally.started(samples=2, cases=1)

    async def sample(number: int, *, retried: bool) -> None:
        tally.sample_started("case", number)
        await asyncio.sleep(0)
        if retried:
            meter.retrying(RateLimitedError("slow down", provider="mock"), 12.0)
        await asyncio.sleep(0)

    await asyncio.gather(sample(0, retried=False), sample(1, retried=True))
    watch.now += 2

    assert tally.view().waiting == (
        Waiting("case", 1, 2.0),
        Waiting("case", 2, 2.0, "RateLimitedError", 10.0),
    )


def test_the_rate_is_of_late_so_a_resumed_run_does_not_boast() -> None:
    watch = Watch()
    tally = Tally(Meter(), watch)
    tally.started(samples=1000, cases=10)
    for sample in range(900):
        tally.sample_done("case", sample, "completed")
    for sample in range(60):
        watch.now += 1
        tally.sample_done("case", 900 + sample, "completed")
        tally.view()

    assert tally.view().rate == pytest.approx(1.0, abs=0.05)


def test_a_log_file_has_times_and_no_secrets(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "run.log"
    Secret("sk-very-secret-indeed")
    watcher = make_watcher(Meter(), stream=io.StringIO(), verbose=0, quiet=True, log_file=log)
    watcher.started(record(tmp_path), samples=250)
    watcher.note("the key is sk-very-secret-indeed\nreally")
    watcher.ended()

    lines = log.read_text().splitlines()
    assert all(line[:4].isdigit() and line[23] == "Z" for line in lines)
    assert f"Run {RUN_ID}: 50 cases × 5 samples of openai/gpt-4o" in lines[0]
    assert lines[1].endswith("the key is [secret]�really")
    assert "Stopped after 0 of 250 samples" in lines[-1]


def test_a_log_file_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written"):
        make_watcher(Meter(), stream=io.StringIO(), verbose=0, quiet=False, log_file=tmp_path)


def test_quiet_says_only_what_has_to_be_said(tmp_path: Path) -> None:
    stream = io.StringIO()
    watcher = make_watcher(Meter(), stream=stream, verbose=0, quiet=True, log_file=None)
    watcher.started(record(tmp_path), samples=250)
    watcher.note("SIGINT: finishing.")
    watcher.ended()

    assert stream.getvalue() == "SIGINT: finishing.\n"


def test_a_reader_that_has_gone_does_not_end_the_run(tmp_path: Path) -> None:
    stream = io.StringIO()
    watcher = make_watcher(Meter(), stream=stream, verbose=1, quiet=False, log_file=None)
    stream.close()

    watcher.started(record(tmp_path), samples=250)
    watcher(SampleDone(run_id="r", sequence=1, case_id="a", sample=0, status="completed"))
    watcher.ended()
    watcher.ended()


def test_a_narrower_terminal_is_cleared_of_the_lines_it_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    terminal = Terminal(stream, colour=False)
    monkeypatch.setenv("COLUMNS", "80")
    terminal.draw(view())
    drawn = [line_cells(line) for line in live_lines(view(), 80)]
    monkeypatch.setenv("COLUMNS", "40")
    stream.truncate(0)
    terminal.draw(view())

    rows = sum(-(-width // 40) for width in drawn)
    assert f"\x1b[{rows}A" in stream.getvalue()


def on_a_terminal(workspace: Workspace, *arguments: str, **environment: str) -> str:
    """Everything that a command writes to a terminal of 80 columns."""
    command = [sys.executable, "-m", "prompt_evaluator", *arguments]
    pid, fd = pty.fork()
    if not pid:
        os.chdir(workspace.folder)
        os.execvpe(command[0], command, {**workspace.environment, "TERM": "xterm", "COLUMNS": "80", **environment})
    written = b""
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:  # Linux says EIO when the other side has gone
            break
        if not data:
            break
        written += data
    os.close(fd)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return written.decode()


EVALUATE = ("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "-n", "2")


def test_a_terminal_gets_a_block_and_is_left_with_lines(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.configure(providers={"mock": {"kind": "mock", "options": {"latency_ms": 300}}})

    written = on_a_terminal(workspace, *EVALUATE)

    assert "──────" in written
    assert "samples ·" in written
    assert "Done: 6 samples in 0:0" in written
    after = written.partition("Done: 6 samples")[2]
    assert "\x1b[J" in after
    assert "A\x1b" not in after.partition("\x1b[J")[2], "nothing is drawn over the summary"


def test_no_color_is_honoured_on_a_terminal(tmp_path: Path) -> None:
    written = on_a_terminal(Workspace(tmp_path), *EVALUATE, NO_COLOR="1")

    assert "\x1b[2K" in written
    assert not re.search(r"\x1b\[[0-9;]*m", written)


def test_a_dumb_terminal_gets_plain_lines(tmp_path: Path) -> None:
    written = on_a_terminal(Workspace(tmp_path), *EVALUATE, TERM="dumb")

    assert "\x1b" not in written


def test_json_is_all_there_is_on_standard_output(tmp_path: Path) -> None:
    done = Workspace(tmp_path).evaluate("-v")

    assert done.json["status"] == "completed"
    assert "case-001: 5/5 samples · semantic_fidelity" in done.err


@each(
    ("shown", "expected"),
    [
        (clock(7), "0:07"),
        (clock(3 * 3600 + 5 * 60), "3:05:00"),
        (clock(2 * 86_400 + 3 * 3600), "2 d 3 h"),
        (span(8), "8 s"),
        (span(240), "4 min"),
        (span(9000), "2.5 h"),
        (span(3 * 86_400), "3 days"),
        (tokens(950), "950"),
        (tokens(12_345), "12.3k"),
        (tokens(999_999), "1,000k"),
        (tokens(2.5e12), "2.5T"),
        (money(0), "$0"),
        (money(0.00001), "under $0.0001"),
        (money(0.0031), "$0.0031"),
        (money(1234.5), "$1,234.50"),
        (percent(0), "0 %"),
        (percent(0.0004), "<0.1 %"),
        (percent(0.004), "0.4 %"),
        (percent(0.12), "12 %"),
        (percent(0.9999), ">99.9 %"),
        (percent(1), "100 %"),
        (clean("a\x1b[2J\nb"), "a�[2J�b"),
        (str(cells("日本e\u0301")), "5"),
        (fit("日本語", 5), "日本…"),
        (squeeze("abcdefghij", 5), "ab…ij"),
        (str(flow(["aa", "bb", "cc"], 7)), "['aa · bb', 'cc']"),
    ],
)  # fmt: skip
def test_words_and_numbers(shown: str, expected: str) -> None:
    assert shown == expected
