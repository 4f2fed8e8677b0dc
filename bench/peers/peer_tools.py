"""The tools to measure: where each is installed, and how it is asked to do the same work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
INSTALLED = ROOT / ".peers"
"""An environment for each, made by `make peers`."""
PROMPT = "You are a helpful assistant."
WORD = "plain"
"""What a right answer contains."""
QUIET = {
    "OPENAI_API_KEY": "none",
    "HTTPS_PROXY": "http://127.0.0.1:9",  # nobody listens there: only http on loopback works
    "NO_PROXY": "127.0.0.1",
    "DO_NOT_TRACK": "1",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "CONFIDENT_METRIC_LOGGING_ENABLED": "NO",
    "ERROR_REPORTING": "NO",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_SHARING": "1",
    "PROMPTFOO_DISABLE_DEBUG_LOG": "1",  # with 2,000 cases it wrote to its log after closing it, and failed
    "PROMPTFOO_DISABLE_ERROR_LOG": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "OTEL_SDK_DISABLED": "true",
}
"""No telemetry, no search for updates, no downloads: only the service on loopback is called."""


class Work(NamedTuple):
    """What a command has to do."""

    kind: str
    """`checked`: the answer contains a word. `judged`: a further call judges the answer."""
    cases: int
    concurrency: int
    address: str
    folder: Path = Path()
    """Empty but for the files of `write_cases`; results go here."""

    @property
    def calls(self) -> int:
        return self.cases * (2 if self.kind == "judged" else 1)


def write_cases(work: Work) -> None:
    """The same cases in the formats of all tools."""
    rows = [
        {"id": f"task-{at:05d}", "input": f"Explain item {at} in simple terms.", "target": WORD}
        for at in range(work.cases)
    ]
    _write_lines(work.folder / "cases.jsonl", rows)
    check = {} if work.kind == "judged" else {"checks": [{"includes": {"phrases": [WORD]}}]}
    _write_lines(work.folder / "ours.jsonl", [{"id": row["id"], "input": row["input"], **check} for row in rows])
    _write_lines(work.folder / "promptfoo.jsonl", [{"vars": {"input": row["input"]}} for row in rows])
    (work.folder / "prompt.txt").write_text(PROMPT, encoding="utf-8")


def _write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


class Tool:
    """A tool in a Python environment of its own."""

    def __init__(self, name: str, folder: str, *, package: str, imported: str, help_: str | None = None) -> None:
        """Take what it is called.

        Args:
            name: In the table.
            folder: Of its environment, below `.peers`.
            package: Whose version is shown.
            imported: What a script that evaluates has to import; empty for a command only.
            help_: Its command, if it has one, whose `--help` is timed.
        """
        self.name, self.folder, self._package = name, INSTALLED / folder, package
        self._imported, self._help = imported, help_

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def is_installed(self) -> bool:
        return bool(self.version)

    @cached_property
    def version(self) -> str:
        """Empty if it is not installed."""
        if not (self.bin / "python").exists():
            return ""
        asked = f"from importlib.metadata import version; print(version({self._package!r}))"
        found = subprocess.run([self.bin / "python", "-c", asked], check=False, capture_output=True, text=True)
        return found.stdout.strip()

    @property
    def size(self) -> Path | None:
        """The folder whose size counts."""
        return next(self.folder.glob("lib/python3*/site-packages"), None)

    def start(self) -> list[str] | None:
        return [str(self.bin / self._help), "--help"] if self._help else None

    def importing(self) -> list[str] | None:
        return [str(self.bin / "python"), "-c", self._imported] if self._imported else None

    def nothing(self) -> list[str]:
        """The interpreter alone."""
        return [str(self.bin / "python"), "-c", "pass"]

    def command(self, work: Work) -> list[str] | None:
        """The whole command; None if the tool cannot do this."""
        raise NotImplementedError

    def environment(self, work: Work) -> dict[str, str]:
        home = {"HOME": str(work.folder), "HF_HOME": str(work.folder), "PROMPTFOO_CONFIG_DIR": str(work.folder / "pf")}
        return os.environ | QUIET | home | {"OPENAI_BASE_URL": work.address}


class Script(Tool):
    """Used through a script of ours, because it is a library."""

    def __init__(self, script: str, *given: str, **more: str) -> None:
        super().__init__(*given, **more)
        self._script = script

    def command(self, work: Work) -> list[str] | None:
        arguments = ["cases.jsonl", str(work.concurrency), work.kind, work.address]
        return [str(self.bin / "python"), str(HERE / self._script), *arguments]


class Bare(Script):
    """Runs in the environment of the measurement itself."""

    @property
    def bin(self) -> Path:
        return Path(sys.executable).parent

    @property
    def size(self) -> Path | None:
        return None


class Ours(Tool):
    def command(self, work: Work) -> list[str] | None:
        options = ["-d", "ours.jsonl", "-s", "prompt.txt", "-n", "1", "--generator-model", "openai/bench"]
        judge = ["--judge-model", "openai/bench"] if work.kind == "judged" else ["--rubric", "none"]
        whole = [str(self.bin / "prompt-evaluator"), "evaluate-dataset", *options, *judge]
        return [*whole, "-j", str(work.concurrency)]


class Inspect(Tool):
    def command(self, work: Work) -> list[str] | None:
        task = [f"{HERE / 'inspect_task.py'}@{work.kind}", "-T", f"path={work.folder / 'cases.jsonl'}"]
        at_once = ["--max-connections", str(work.concurrency), "--max-samples", str(work.concurrency)]
        model = ["--model", "openai/bench", "-M", "responses_api=false"]
        return [str(self.bin / "inspect"), "eval", *task, *model, *at_once, "--display", "none"]


class LmEval(Tool):
    def command(self, work: Work) -> list[str] | None:
        if work.kind == "judged":
            return None
        task = {
            "task": "bench",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(work.folder / "cases.jsonl")}},
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": "{{input}}",
            "doc_to_target": "{{target}}",
            "generation_kwargs": {"until": [], "max_gen_toks": 64},
            "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
        }
        (work.folder / "tasks").mkdir(exist_ok=True)
        (work.folder / "tasks" / "bench.yaml").write_text(json.dumps(task), encoding="utf-8")  # JSON is YAML
        model = f"model=bench,base_url={work.address}/chat/completions,num_concurrent={work.concurrency}"
        return [
            *(str(self.bin / "lm_eval"), "run", "--model", "local-chat-completions"),
            *("--model_args", f"{model},tokenizer_backend=None"),
            *("--tasks", "bench", "--include_path", "tasks", "--system_instruction", PROMPT),
            *("--apply_chat_template", "--output_path", "results", "--log_samples"),
        ]


class Promptfoo(Tool):
    """Of npm."""

    @property
    def bin(self) -> Path:
        return self.folder / "node_modules" / ".bin"

    @cached_property
    def version(self) -> str:
        found = self.folder / "node_modules" / "promptfoo" / "package.json"
        return str(json.loads(found.read_bytes())["version"]) if found.exists() else ""

    @property
    def size(self) -> Path | None:
        return self.folder / "node_modules"

    def nothing(self) -> list[str]:
        return ["node", "-e", "0"]

    def command(self, work: Work) -> list[str] | None:
        provider = {"id": "openai:chat:bench", "config": {"apiBaseUrl": work.address, "apiKey": "none"}}
        messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": "{{input}}"}]
        wanted: dict[str, object] = {"type": "icontains", "value": WORD}
        if work.kind == "judged":
            wanted = {"type": "llm-rubric", "value": "The answer is plain and complete.", "provider": provider}
        config = {
            "prompts": [json.dumps(messages)],
            "providers": [provider],
            "defaultTest": {"assert": [wanted]},
            "tests": "file://promptfoo.jsonl",
        }
        (work.folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")
        options = ["--no-cache", "--no-progress-bar", "--no-table", "--no-share"]
        return [
            str(self.bin / "promptfoo"),
            "eval",
            "-c",
            "promptfooconfig.json",
            "-j",
            str(work.concurrency),
            *options,
        ]


TOOLS: tuple[Tool, ...] = (
    Ours(
        "prompt-evaluator",
        "prompt-evaluator",
        package="prompt-evaluator",
        imported="import prompt_evaluator.app.evaluate",
        help_="prompt-evaluator",
    ),
    Bare("bare.py", "bare aiohttp loop", "", package="aiohttp", imported="import aiohttp"),
    Inspect(
        "inspect-ai",
        "inspect",
        package="inspect-ai",
        imported="from inspect_ai import Task, eval; from inspect_ai.scorer import includes",
        help_="inspect",
    ),
    Promptfoo("promptfoo", "promptfoo", package="promptfoo", imported="", help_="promptfoo"),
    Script(
        "pydantic_evals_run.py",
        "pydantic-evals",
        "pydantic-evals",
        package="pydantic-evals",
        imported="import pydantic_evals, pydantic_ai.models.openai",
    ),
    LmEval("lm-eval", "lm-eval", package="lm-eval", imported="from lm_eval import simple_evaluate", help_="lm_eval"),
    Script(
        "deepeval_run.py",
        "DeepEval",
        "deepeval",
        package="deepeval",
        imported="from deepeval import evaluate; from deepeval.metrics import GEval",
        help_="deepeval",
    ),
)
