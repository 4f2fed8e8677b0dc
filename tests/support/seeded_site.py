"""A folder as a team has it after a few weeks: a dataset, two versions of a prompt, and runs of them in the store.

Everything is made by the real engine with the mock, in this process, in a few seconds. Texts of the last cases, a tag,
a note and the name of a dataset are hostile.
"""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from case_results import JUDGES, WHEN, case_result, failed_sample, flag, plan_of, sample, stats
from hostile import HTML

from prompt_evaluator.app.baselines import pin_baseline
from prompt_evaluator.app.benchmarks import find_dataset
from prompt_evaluator.app.evaluate import evaluate_dataset
from prompt_evaluator.app.planning.options import evaluate_options
from prompt_evaluator.app.run_edits import edit_run
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.config.loading import load_settings
from prompt_evaluator.model import DatasetRef, JudgeConfig, RunRecord, TestCase
from prompt_evaluator.model.result import CriterionScore
from prompt_evaluator.model.rubric import Criterion, Flag, Rubric
from prompt_evaluator.model.run import CommandLine
from prompt_evaluator.model.run_limits import RunLimits
from prompt_evaluator.pipeline.totals import Totals
from prompt_evaluator.providers.catalogue import BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.result import CaseResult
    from prompt_evaluator.store import Store

DATASET = "support"
TOPICS = ("billing", "delivery", "account", "returns")
DIFFICULTIES = ("easy", "medium", "hard")
HOSTILE = tuple(HTML.values())
_QUESTIONS = (
    "How do I get a refund for order {at}?",
    "My parcel {at} is late. Where is it?",
    "I cannot sign in since step {at} of the update.",
    "Can I send item {at} back without the box?",
)
_REFERENCES = (
    "Open Orders, choose the order and press Refund. The money is back within five days.",
    "Open Orders and press Track. If the date has passed, we send a new one for free.",
    "Press Forgot password on the sign-in page and follow the link in the message.",
    "Yes. Use any sturdy box, and put the return label on the outside.",
)
_RUBRIC = {
    "metrics": [
        {"name": name, "description": about, "min_score": 1, "max_score": 5, "guidelines": "5: yes\n1: no\n"}
        for name, about in (
            ("correct", "Is the answer right, compared with the reference?"),
            ("complete", "Does it answer the whole question?"),
            ("tone", "Is it friendly and plain?"),
        )
    ],
    "flags": [
        {"name": "leaks_data", "description": "It tells something about another customer."},
        {"name": "promises", "description": "It promises something that the shop does not offer."},
    ],
}
_FAULTS = {"timeout": 0.05, "refused": 0.04, "unavailable": 0.03}
_CONVERSATIONS = 4
_SECONDS = 240


class Seeded(NamedTuple):
    """A seeded folder, with the ids of its runs."""

    folder: Path
    settings: Settings
    baseline: str
    """Prompt version 1, pinned as the baseline of `support`."""
    better: str
    """Prompt version 2 on the same cases."""
    other_model: str
    """Version 2 with another model."""
    with_errors: str
    """Version 2, some samples of which failed."""
    aborted: str
    """Version 2, stopped by its limit of calls."""
    benchmark: str
    """The shipped benchmark about tool calls, without a rubric."""
    hostile: str
    """Cases, metadata, tags, note and dataset's name that try to break out of a page."""


def seed(folder: Path, cases: int = 48, samples: int = 5, *, called: str | None = None) -> Seeded:
    """Fill an empty folder. May be called while an event loop is running.

    Args:
        folder: Where to.
        cases: Of the dataset.
        samples: Of each case.
        called: What runs say the folder was, for pictures; by default what it is.
    """
    write_files(folder, cases)
    made = _seeded(folder, samples, called or str(folder))
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(asyncio.wait_for(made, _SECONDS))).result()


def write_files(folder: Path, cases: int = 48) -> None:
    """The configuration, the datasets, the prompts and the rubric, without runs."""
    _write(folder / "prompts/v1.txt", "Answer the customer.\n")
    _write(folder / "prompts/v2.txt", "Answer the customer in two sentences. Name the page to open and the button.\n")
    _write(folder / "rubrics/house.yaml", yaml.safe_dump(_RUBRIC, sort_keys=False))
    _write(folder / f"benchmarks/{DATASET}.jsonl", _lines(_case(at) for at in range(cases)))
    _write(folder / "benchmarks/hostile.jsonl", _lines(_hostile_case(at) for at in range(len(HOSTILE))))
    _configure(folder)


def settings_of(folder: Path) -> Settings:
    """The settings of a seeded folder, whatever the tester's own environment says."""
    return load_settings(None, {}, {}, folder, BUILT_IN)


def large_run(store: Store, cases: int, run_id: str = "large", samples: int = 5) -> str:
    """Write a run of any size straight into result rows: every tenth case fails, every seventh is flaky."""
    plan = plan_of(
        run_id,
        cases,
        dataset=DatasetRef(path="/data/large.jsonl", hash="0" * 64, count=cases, selected=cases),
        rubric=_LARGE_RUBRIC,
        judge=JudgeConfig(model="openai/judge", identity="https://example.test"),
        num_samples=samples,
    )
    totals = Totals(plan)

    def results() -> Iterator[tuple[int, CaseResult]]:
        for at in range(cases):
            result = _large_case(at, samples)
            totals.add(at, result)
            yield at, result

    written = (
        TestCase(
            id=f"case-{at:05}",
            input=f"Question {at}: {_QUESTIONS[at % len(_QUESTIONS)].format(at=at)}",
            metadata={"topic": TOPICS[at % len(TOPICS)], "difficulty": DIFFICULTIES[at % 3], "customer": f"c{at}"},
        )
        for at in range(cases)
    )
    store.create_run(RunRecord(plan=plan, status="running", started_at=WHEN), written)
    store.replace_results(run_id, results(), lambda: totals.result("completed"), judges=JUDGES)
    store.update_run(run_id, status="completed", ended_at=WHEN.replace("12:00", "12:14"))
    return run_id


_LARGE_RUBRIC = Rubric(
    name="house",
    metrics=(Criterion(name="clarity", description="Is it clear?"),),
    flags=(Flag(name="rude", description="Is it rude?"),),
    hash="ab" * 32,
)


def _large_case(at: int, samples: int) -> CaseResult:
    case_id = f"case-{at:05}"
    low, high = (1.0, 1.5) if at % 10 == 0 else (2.0, 5.0) if at % 7 == 0 else (4.0, 4.5)
    values = [high if number % 2 else low for number in range(samples)]
    raised = int(at % 101 == 0)
    answers = [
        sample(
            case_id,
            number,
            judge_metrics={"clarity": CriterionScore(value, "because", passed=value >= 4)},
            judge_flags={"rude": number < raised},
            scores={},
            tool_calls=(),
            earlier_attempts=(),
            cost=0.0002,
            judge_cost=0.0004,
        )
        for number, value in enumerate(values)
    ]
    if at % 97 == 0:
        answers[-1], values = failed_sample(case_id, samples - 1), values[:-1]
    return case_result(
        case_id,
        num_samples=samples,
        samples=tuple(answers),
        per_metric_stats={"clarity": stats(*values)},
        per_flag_stats={"rude": flag(raised, samples)},
        status="partial" if at % 97 == 0 else "completed",
    )


async def _seeded(folder: Path, samples: int, called: str) -> Seeded:
    async def run(version: str, /, *, quality: float, dataset: str = DATASET, **given: Any) -> str:
        _configure(folder, quality=quality, faults=given.pop("faults", {}))
        limits = RunLimits(max_calls=given.pop("max_calls", None))
        async with Workspace(settings_of(folder)) as workspace:
            named = find_dataset(workspace.settings, dataset).path
            options = evaluate_options(
                workspace.settings,
                {},
                dataset=named,
                num_samples=samples,
                system_prompt=folder / "prompts" / f"{version}.txt",
                prompt_version=version,
                command=_command(called, dataset, version),
                **{"rubric": "house", "judge_model": "mock/judge", **given},
            )
            outcome = await evaluate_dataset(options, Session(workspace=workspace, limits=limits))
        return outcome.record.plan.run_id

    baseline = await run("v1", quality=0.55, tags={"branch": "main"}, run_note="Before the rewrite.")
    better = await run("v2", quality=0.95, tags={"branch": "short-answers"}, run_note="Names page and button.")
    other = await run("v2", quality=0.8, generator_model="mock/small")
    errors = await run("v2", quality=0.9, faults=_FAULTS)
    aborted = await run("v2", quality=0.95, max_calls=200)
    benchmark = await run("v1", quality=0.85, dataset="tool-use-basic", rubric=None, judge_model=None)
    hostile = await run("v2", quality=0.7, dataset="hostile", tags={"owner": HOSTILE[0]}, run_note=HOSTILE[4])
    _configure(folder)
    settings = settings_of(folder)
    pin_baseline(settings, baseline)
    edit_run(settings, better, tags={"reviewed": "yes"})
    return Seeded(folder, settings, baseline, better, other, errors, aborted, benchmark, hostile)


def _command(folder: str, dataset: str, version: str) -> CommandLine:
    options = (("--dataset", dataset), ("--system-prompt", f"prompts/{version}.txt"), ("--prompt-version", version))
    return CommandLine(name=("evaluate-dataset",), options=options, folder=folder)


def _case(at: int) -> dict[str, Any]:
    kind = at % len(TOPICS)
    question = _QUESTIONS[kind].format(at=at)
    case: dict[str, Any] = {
        "id": f"{TOPICS[kind]}-{at:03}",
        "input": question,
        "reference": _REFERENCES[kind],
        "topic": TOPICS[kind],
        "difficulty": DIFFICULTIES[at // len(TOPICS) % len(DIFFICULTIES)],
        "customer": f"customer {at}",
    }
    if at < _CONVERSATIONS:
        del case["input"]
        case["messages"] = [
            {"role": "user", "content": "Hello, I have a problem."},
            {"role": "assistant", "content": "I am sorry to hear that. What happened?"},
            {"role": "user", "content": question},
        ]
    return case


def _hostile_case(at: int) -> dict[str, Any]:
    text = HOSTILE[at]
    return {
        "id": f"hostile {at} {text[:40]}",
        "input": f"What does this do? {text}",
        "reference": f"Nothing. {text}",
        "topic": text,
        "kind": ("markup", "script")[at % 2],
        text[:30]: "a key",
    }


def _configure(folder: Path, **options: Any) -> None:
    mock = {"kind": "mock", "options": options, "limits": {"max_tries": 1}}
    text = yaml.safe_dump({"version": 1, "rubrics": {"house": "rubrics/house.yaml"}, "providers": {"mock": mock}})
    _write(folder / "prompt_evaluator.yaml", text)


def _lines(cases: Iterator[dict[str, Any]]) -> str:
    return "".join(json.dumps(case) + "\n" for case in cases)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
