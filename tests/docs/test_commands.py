"""Every command block of the pages works in the order given, and prints what the page says it prints.

The blocks of a page run one after the other in one folder: a project as `init` makes it beside the files of a clone.
Real models are a service on loopback, and ids of runs that pages use as examples stand for the run before. A `text`
block is what the commands before it print, shortened; numbers, ids and widths of columns may differ.
"""

from __future__ import annotations

import os
import re
import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from doc_pages import ROOT, Block, Shell, blocks, missing_line, renewed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chat_service import ChatService

SHIPPED = [ROOT / "src/prompt_evaluator" / name for name in ("app/project/EVALUATION.md", "benchmarks/README.md")]
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *SHIPPED)
    if any(block.kind == "bash" for block in blocks(page))
]
NOT_RUN = {
    "pip install ": "the command is installed already",
    "docker run ": "needs Docker and an image",
    "prompt-evaluator evaluate-dataset -d support -s system --engine ray": "starts a Ray: tests/e2e/test_ray.py does",
    "prompt-evaluator providers update-prices": "needs a network: tests/providers/test_price_update.py",
    "export ": "names a proxy that does not exist",
}
ENDS = {
    "--fail-under": {0, 1},  # scores of the mock decide
    "--max-calls 20": {3},  # stopped by its budget
    "prompt-evaluator gate ": {0, 1, 4},  # scores of the mock decide
    'basic-codin"': {22},  # refused
    '"action": ': {0, 22},  # the run has ended meanwhile
}
"""Exit codes other than 0, by what is in the command."""
NOT_OUTPUT = {
    "OPENAI_API_KEY=": "the file .env",
    "# a comment": "the file .env",
    "Customer ({{": "a template",
    "Answer with the help of these passages": "what a model is sent",
    "Prices of 612 models": "needs a network: tests/providers/test_price_update.py",
    "correct fell from": "takes weeks of runs: tests/cli/test_trends.py",
    "                    Baseline  Latest": "takes a regression: tests/cli/test_evals_gate.py",
    "prompt-evaluator label RUN": "takes keys: tests/cli/test_label.py",
    "Error: Run 2d65dcae-… is in use by": "takes two processes: tests/e2e/test_together.py",
}
"""`text` blocks that show something else than what a command prints, by how they start."""
ENTRIES = ("providers:", "suites:", "server:")
"""How `yaml` blocks start that show a part of the configuration."""
FILES = {"run_id,test_case_id": "labels.csv", "Answer in at most two sentences": "prompts/brief.txt"}
"""`text` blocks that show a file, by how they start."""
CONFIGURATION = "prompt_evaluator.yaml"
_HOW = "UPDATE_SNAPSHOTS=1 pytest tests/docs/test_commands.py renews the blocks; look at the difference."
_USUAL = "prompt-evaluator evaluate-dataset -d support -s system"
"""What a page is about that shows a summary, or a run, without saying of what."""
_EXAMPLE_RUN = re.compile(r"\b(?:RUN|BASELINE)\b|\b(?:2d65|091a)(?:[0-9a-f]{4}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?\b")


class Reader:
    """Somebody who follows a page to the letter."""

    def __init__(self, shell: Shell, page: Path) -> None:
        self.shell, self.page = shell, page
        self.printed = ""

    def read(self, block: Block) -> None:
        if block.kind == "bash":
            self.printed = ""
            for command in block.commands:
                self._run(command)
        elif block.kind == "yaml":
            self._write(block)
        elif block.kind == "text" and (name := _starts(block, FILES)):
            Path(name).write_text(self._with_a_run(block.text), encoding="utf-8")
        elif block.kind == "text" and not _starts(block, NOT_OUTPUT):
            if not self.printed:
                self._run(_USUAL)
            self._compare(block.text)

    def _compare(self, claimed: str) -> None:
        if os.environ.get("UPDATE_SNAPSHOTS"):
            text = self.page.read_text(encoding="utf-8")
            self.page.write_text(text.replace(claimed, renewed(claimed, self.printed)), encoding="utf-8")
            return
        line = missing_line(claimed, self.printed)
        assert line is None, f"{_HOW}\nNot printed: {line!r}\n{self.printed}"

    def _run(self, command: str) -> None:
        if any(command.startswith(start) for start in NOT_RUN):
            return
        if command.startswith("prompt-evaluator runs"):
            self._last_run()  # there is one
        done = self.shell.run(command, self._with_a_run)
        expected = next((codes for part, codes in ENDS.items() if part in command), {0})
        assert done.code in expected, f"{command}\nended with {done.code}\n{done.out}{done.err}"
        self.printed += done.out + done.err

    def _with_a_run(self, text: str) -> str:
        return _EXAMPLE_RUN.sub(lambda found: self._last_run(2 if found[0] == "BASELINE" else 1), text)

    def _last_run(self, back: int = 1) -> str:
        """The last run, or one before it."""
        if self.shell.server is not None:
            return self._last_served(back)
        if not _runs():
            assert self.shell.run(_USUAL).code == 0
        return _runs()[-back].parent.name

    def _last_served(self, back: int) -> str:
        assert self.shell.server is not None
        client = self.shell.server.client
        for run in client.all_runs():
            client.wait(run.id, timeout=60)
        return sorted(client.all_runs(), key=lambda run: run.created_at)[-back].id

    def _write(self, block: Block) -> None:
        """A file where the block names one, or entries for the configuration."""
        if block.file is not None:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.text.startswith(ENTRIES):
            path = Path(CONFIGURATION)
            settings = yaml.safe_load(path.read_text(encoding="utf-8"))
            for name, entries in yaml.safe_load(block.text).items():
                settings[name] = {**settings.get(name, {}), **entries}
            path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
            assert self.shell.run("prompt-evaluator config show").code == 0


def _runs() -> list[Path]:
    """The runs of the project that the working directory is in, which may be a folder below it; the newest last."""
    here = Path.cwd()
    project = next(folder for folder in (here, *here.parents) if (folder / "prompt_evaluator.yaml").exists())
    return sorted(project.glob("runs/*/dataset_evaluation.json"), key=lambda path: path.stat().st_mtime)


def _starts(block: Block, table: dict[str, str]) -> str | None:
    return next((value for start, value in table.items() if block.text.startswith(start)), None)


@pytest.fixture
def shell(tmp_path: Path, service: ChatService, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    for folder in ("examples", "prompts", "evals"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    with closing(Shell(tmp_path, service.environment, monkeypatch)) as shell:
        assert shell.run("prompt-evaluator init --force .").code == 0
        yield shell


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_work_in_order_and_print_what_it_says(page: Path, shell: Shell) -> None:
    reader = Reader(shell, page)
    for block in blocks(page):
        reader.read(block)


def test_what_is_not_run_or_compared_is_on_some_page() -> None:
    """Lists of exceptions do not outlive what they are for."""
    found = [block for page in PAGES for block in blocks(page)]
    commands = [command for block in found if block.kind == "bash" for command in block.commands]
    texts = [block.text for block in found if block.kind == "text"]

    assert [start for start in NOT_RUN if not any(command.startswith(start) for command in commands)] == []
    assert [part for part in ENDS if not any(part in command for command in commands)] == []
    assert [start for start in (*NOT_OUTPUT, *FILES) if not any(text.startswith(start) for text in texts)] == []


@pytest.mark.parametrize(
    ("claimed", "missing"),
    [
        ("correct  4.12   68 %\nDone after 3 s.\n", None),
        ("Done after 3 s.\ncorrect  4.12  68 %\n", "correct  4.12  68 %"),
        ("correct  4.12  low\n", "correct  4.12  low"),
    ],
    ids=["other numbers", "another order", "other words"],
)
def test_a_claim_holds_when_its_lines_are_printed_in_order(claimed: str, missing: str | None) -> None:
    printed = "Run 1\n\ncorrect  3.9  7 %\ntone  4.1  60 %\nDone after 12 min.\n"

    assert missing_line(claimed, printed) == missing


def test_a_stale_claim_is_renewed_from_what_is_printed_and_keeps_its_examples() -> None:
    claimed = "Metric  Mean\ncorrect  4\n091a7e6f  done  2 h\n"
    printed = "Run 1\nMetric  Mean  Passed\ncorrect  4  70 %\n5c266a23  done well  1 s\n"

    assert renewed(claimed, printed) == "Metric  Mean  Passed\ncorrect  4  70 %\n091a7e6f  done well  2 h\n"
