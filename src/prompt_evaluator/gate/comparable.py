"""May two runs of the harness be compared? What differs is named, and refused unless it is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.hints import some_of
from prompt_evaluator.model.harness_gate import Refusal
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.harness import HarnessRun

_SHORT = 8
_NAMED = 5


def refusals(baseline: HarnessRun, candidate: HarnessRun) -> list[Refusal]:
    """Everything that makes a comparison unfair or impossible. What a run does not state is not different."""
    return [
        *_same_run(baseline, candidate),
        *_incomplete(baseline, candidate),
        *_mock(baseline, candidate),
        *_tasks(baseline, candidate),
        *_configurations(baseline, candidate),
    ]


def remarks(baseline: HarnessRun, candidate: HarnessRun) -> list[str]:
    """Sentences on differences that do not prevent a comparison."""
    found = []
    before = {each.config_id: each for each in baseline.summaries}
    new = [each.config_id for each in candidate.summaries if each.config_id not in before]
    if new:
        found.append(f"Not in the baseline, so not compared: {_names(new)}.")
    for each in candidate.summaries:
        old = before.get(each.config_id)
        if old and old.total_tasks != each.total_tasks:
            found.append(f"{each.config_id} had {many(old.total_tasks, 'task')}, and has {each.total_tasks:,} now.")
    for run, name in ((baseline, "baseline"), (candidate, "latest run")):
        errors = sum(each.errors for each in run.summaries)
        if errors:
            found.append(f"The {name} has {many(errors, 'error')}; rates leave them out.")
    return found


def _same_run(baseline: HarnessRun, candidate: HarnessRun) -> Iterator[Refusal]:
    if baseline.run_id == candidate.run_id:
        text = f"the latest run {candidate.run_id} is the baseline itself; run `prompt-evaluator evals run` first"
        yield Refusal(text=text)


def _incomplete(baseline: HarnessRun, candidate: HarnessRun) -> Iterator[Refusal]:
    for run, name in ((baseline, "baseline"), (candidate, "latest run")):
        if run.status not in (None, "completed"):
            text = f"the {name} {run.run_id} is incomplete: its status is {run.status}"
            yield Refusal(text=text, allow="incomplete")


def _mock(baseline: HarnessRun, candidate: HarnessRun) -> Iterator[Refusal]:
    if {baseline.synthetic, candidate.synthetic} == {True, False}:
        mock, real = ("baseline", "latest run") if baseline.synthetic else ("latest run", "baseline")
        yield Refusal(text=f"the offline mock answered in the {mock}, and models answered in the {real}", allow="mock")


def _tasks(baseline: HarnessRun, candidate: HarnessRun) -> Iterator[Refusal]:
    before, after = baseline.tasks_hash, candidate.tasks_hash
    if before and after and before != after:
        yield Refusal(text=f"the tasks differ: hash {_short(before)} → {_short(after)}", allow="tasks")
    if baseline.samples != candidate.samples:
        text = f"the number of samples of each task differs: {baseline.samples:,} → {candidate.samples:,}"
        yield Refusal(text=text, allow="samples")


def _configurations(baseline: HarnessRun, candidate: HarnessRun) -> Iterator[Refusal]:
    before = [each.config_id for each in baseline.summaries]
    after = {each.config_id for each in candidate.summaries}
    common = [each for each in before if each in after]
    hashes = [(each, baseline.config_hashes.get(each), candidate.config_hashes.get(each)) for each in common]
    for config_id, old, new in hashes:
        if old and new and old != new:
            text = f"the configuration {config_id} differs: hash {_short(old)} → {_short(new)}"
            yield Refusal(text=text, allow="configs")
    if vanished := [each for each in before if each not in after]:
        what = "a configuration" if len(vanished) == 1 else f"{len(vanished)} configurations"
        yield Refusal(text=f"the latest run lacks {what} of the baseline: {_names(vanished)}", allow="vanished")
    if not common:
        yield Refusal(text="the runs have no configuration in common")


def _names(ids: list[str]) -> str:
    return some_of(ids, _NAMED)


def _short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:_SHORT]
