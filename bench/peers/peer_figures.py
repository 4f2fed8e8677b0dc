"""What was measured, as it is stored, and how it is said: as a table in the terminal and as `docs/benchmarks.md`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DOCS = Path(__file__).parents[2] / "docs"
STORED = DOCS / "benchmarks.json"
PAGE = DOCS / "benchmarks.md"
NO = "\N{EN DASH}"


class Cell(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value of one tool."""

    value: float | None = None
    """None if there is none; then the note says why."""
    note: str = ""


class ToolFigures(msgspec.Struct, frozen=True):
    """One tool."""

    name: str
    version: str
    """Empty if it is not installed."""
    cells: dict[str, Cell]


class Growth(msgspec.Struct, frozen=True):
    """Our own command with the mock and one check."""

    cases: int
    seconds: float
    megabytes: float


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Everything from one run of the benchmark."""

    date: str
    machine: str
    load: float
    """Processes that wanted to run on average in the minute before, our own not counted."""
    python: str
    cases: int
    """Of each rate."""
    tools: tuple[ToolFigures, ...]
    growth: tuple[Growth, ...]


class Measure(msgspec.Struct, frozen=True):
    """A row of the table."""

    key: str
    title: str
    more_is_better: bool
    digits: int = 0


MEASURES = (
    Measure("rate_50_100", "samples/s, 50 ms latency, 100 at once", more_is_better=True),
    Measure("rate_50_1000", "samples/s, 50 ms latency, 1,000 at once", more_is_better=True),
    Measure("rate_0_100", "samples/s, no latency, 100 at once", more_is_better=True),
    Measure("rate_0_1000", "samples/s, no latency, 1,000 at once", more_is_better=True),
    Measure("judge", "samples/s with an LLM judge, 50 ms, 100 at once", more_is_better=True),
    Measure("start", "start-up, seconds (`--help`)", more_is_better=False, digits=2),
    Measure("import", "import, seconds above the bare interpreter", more_is_better=False, digits=2),
    Measure("size", "installed, MB", more_is_better=False),
    Measure("memory_1000", "peak memory at 1,000 samples, MB", more_is_better=False),
    Measure("memory_10000", "peak memory at 10,000 samples, MB", more_is_better=False),
)


def load() -> Figures:
    """What was stored last."""
    return msgspec.json.decode(STORED.read_bytes(), type=Figures)


def store(figures: Figures) -> None:
    """Keep the figures, and write the page anew."""
    STORED.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=2) + b"\n")
    PAGE.write_text(page(figures), encoding="utf-8")


class Table:
    """The table of all tools, with a number behind each value that has a note."""

    def __init__(self, figures: Figures) -> None:
        self.notes: list[str] = []
        self.head = ["", *(tool.name for tool in figures.tools)]
        self.rows = [
            ["version", *(tool.version or "not installed" for tool in figures.tools)],
            *([measure.title, *(self._text(tool, measure) for tool in figures.tools)] for measure in MEASURES),
        ]

    def _text(self, tool: ToolFigures, measure: Measure) -> str:
        cell = tool.cells.get(measure.key)
        if cell is None:
            return "" if not tool.version else NO
        text = NO if cell.value is None else f"{cell.value:,.{measure.digits}f}"
        if not cell.note:
            return text
        if cell.note not in self.notes:
            self.notes.append(cell.note)
        return f"{text} ({self.notes.index(cell.note) + 1})"


def text_table(figures: Figures) -> str:
    """For the terminal."""
    table = Table(figures)
    rows = [table.head, *table.rows]
    widths = [max(len(row[at]) for row in rows) for at in range(len(table.head))]
    lines = [
        "  ".join(
            text.ljust(width) if not at else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([*lines, *(f"({at}) {note}" for at, note in enumerate(table.notes, 1))])


def page(figures: Figures) -> str:
    """`docs/benchmarks.md`."""
    return "\n".join(_page(figures)) + "\n"


def _page(figures: Figures) -> Iterator[str]:
    yield "<!-- Written by bench/bench_peers.py from docs/benchmarks.json. Run `make peers bench` to measure again. -->"
    yield "# Beside the field"
    yield ""
    yield (
        "How fast this product is, and how much it needs, beside other tools that do the same work: whole "
        "commands from start to exit, against a chat service on the same machine."
    )
    yield ""
    yield (
        f"Measured on {figures.date} on {figures.machine}, Python {figures.python}, all in one run. "
        f"{_load(figures.load)} Only figures of the same run can be compared."
    )
    yield ""
    yield from _markdown_table(figures)
    yield ""
    yield "## Where others are better"
    yield ""
    yield from _better(figures)
    yield ""
    yield from _growth(figures.growth)
    yield ""
    yield from _METHOD.format(cases=figures.cases).splitlines()


def _load(load: float) -> str:
    return f"Other programs were running: {load:.1f} processes wanted the processors on average when it began."


def _markdown_table(figures: Figures) -> Iterator[str]:
    table = Table(figures)
    yield _row(table.head)
    yield _row(["---", *("---:" for _ in table.head[1:])])
    yield from map(_row, table.rows)
    if table.notes:
        yield ""
        yield from (f"{at}. {note}" for at, note in enumerate(table.notes, 1))


def _row(texts: Sequence[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _better(figures: Figures) -> Iterator[str]:
    """A line for every measure on which another tool beats us; the bare loop is no tool."""
    ours, others = figures.tools[0], [tool for tool in figures.tools[1:] if not tool.name.startswith("bare")]
    found = False
    for measure in MEASURES:
        own = ours.cells.get(measure.key, Cell()).value
        for tool in others:
            value = tool.cells.get(measure.key, Cell()).value
            if own is None or value is None or value == own or (value > own) != measure.more_is_better:
                continue
            found = True
            yield f"- {tool.name}, {measure.title}: {value:,.{measure.digits}f} against our {own:,.{measure.digits}f}."
    if not found:
        yield "On none of these measures, among the tools that were installed."


def _growth(growth: Sequence[Growth]) -> Iterator[str]:
    yield "## How our own command grows"
    yield ""
    yield "`evaluate-dataset` with the mock, one sample per case and one check, measured after the table above:"
    yield ""
    yield "| cases | seconds | ms per case | peak memory, MB |"
    yield "| ---: | ---: | ---: | ---: |"
    for row in growth:
        each = row.seconds * 1e3 / row.cases
        yield f"| {row.cases:,} | {row.seconds:,.1f} | {each:.2f} | {row.megabytes:,.0f} |"
    yield ""
    yield "![Seconds of the whole command by the number of cases](pictures/growth-time.svg)"
    yield ""
    yield "![Peak memory of the command by the number of cases](pictures/growth-memory.svg)"


_METHOD = """## How it is measured

- Every tool is installed in an environment of its own (`make peers`), with the latest version that was there.
- The service is `bench/peers/openai_service.py` on loopback: it answers every request after the latency and counts
  them. A value counts only if the service has seen at least one call per sample, two with a judge.
- The work is {cases:,} cases with a system prompt, one answer each, and a check that the answer contains a word. With a
  judge, a second call grades each answer. Each tool writes its results as it does by default.
- Samples per second are cases over the seconds of the whole command, its start and its files included. A tool that
  does not end within the time limit gets fewer cases, as noted; its start then weighs more.
- The bare aiohttp loop reads the cases, asks, checks and writes a line for each, and does nothing else: no store, no
  retries, no statistics, nothing to resume from.
- Memory is that of all processes of the command together, with pages that processes share divided among them (PSS),
  looked at ten times a second.
- Start-up and import are the median of five; import is that of what a script needs to evaluate.
- Telemetry and searches for updates are switched off by environment variables, and nothing but loopback is called.
- DeepEval does not ask for answers, so a client of openai does that first, with the same number of requests at once.
- lm-eval compares answers by exact match, because it has no check for a part of an answer.
- promptfoo writes no log files: with them, it failed at the end of 2,000 cases because it wrote to a closed one."""
