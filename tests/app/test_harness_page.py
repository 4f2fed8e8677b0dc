"""The page of the release harness: which tasks count as failing."""

from __future__ import annotations

from typing import Any

from harness_runs import evaluation, harness_run

from prompt_evaluator.app.serving.harness_page import failing_tasks
from prompt_evaluator.model.harness import HarnessAttempt


def test_a_task_fails_by_its_last_answers_and_not_by_earlier_attempts() -> None:
    bad = HarnessAttempt(attempt=0, completion_pass=False, hallucination_incident=True, latency_ms=1.0)
    good = HarnessAttempt(attempt=1, completion_pass=True, hallucination_incident=False, latency_ms=1.0)
    tasks: dict[str, dict[str, Any]] = {
        "good at last": {"hallucination_incident": True, "hallucination_incidents": 1, "attempts": (bad, good)},
        "triggered at last": {"hallucination_incident": True, "attempts": (good, bad)},
        "missing": {"completion_pass": False, "attempts": (good,)},
        "no answer": {"completion_pass": None, "attempts": (good,)},
        "triggered, no attempts listed": {"hallucination_incident": True, "attempts": ()},
    }
    run = harness_run(evaluations=tuple(evaluation(task_id=name, **more) for name, more in tasks.items()))

    found = {task.task_id: (task.missing, task.triggered, task.errors) for task in failing_tasks(run, "a", set())}

    assert found == {
        "triggered at last": (0, 1, 0),
        "missing": (1, 0, 0),
        "no answer": (0, 0, 1),
        "triggered, no attempts listed": (0, 1, 0),
    }
