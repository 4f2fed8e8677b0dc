"""`evals leaderboard`, `evals trends` and `evals baseline`: what they print."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from harness_runs import evaluation, foreign_run, foreign_summary, harness_run, summary, write_history

from prompt_evaluator.harness.results import add_run

if TYPE_CHECKING:
    from workspace import Workspace

TASKS = 24


def history(workspace: Workspace, runs: int = 10, change: int = 6) -> None:
    """Runs of two configurations; the first answers far fewer tasks from one run on."""
    rng = Random(5)
    for at in range(runs):
        passed = {name: [rng.random() < rate for _ in range(TASKS)] for name, rate in rates(at, change).items()}
        add_run(
            workspace.folder / "evals" / "results",
            harness_run(
                f"{at:08}-run",
                *(
                    summary(name, total_tasks=TASKS, task_completion_rate=100 * sum(each) / TASKS)
                    for name, each in passed.items()
                ),
                timestamp=f"2026-11-{at + 1:02}T06:00:00.000Z",
                status="completed",
                config_hashes={"falls": "2" if at >= change else "1", "stays": "1"},
                evaluations=tuple(
                    evaluation(name, str(task), completion_pass=ok)
                    for name, each in passed.items()
                    for task, ok in enumerate(each)
                ),
            ),
        )


def rates(at: int, change: int) -> dict[str, float]:
    return {"falls": 0.95 if at < change else 0.5, "stays": 0.9}


def test_trends_say_where_a_configuration_changed_and_what_changed_there(offline: Workspace) -> None:
    history(offline)

    done = offline.run("evals", "trends")

    assert (done.code, done.err) == (0, "")
    assert "at run 00000006 (2026-11-07), where the configuration changed." in done.words
    stays = done.out.split("stays\n")[1]
    assert "rose" not in stays
    assert "fell" not in stays


def test_one_metric_is_shown_in_full(offline: Workspace) -> None:
    history(offline)

    done = offline.run("evals", "trends", "--config-ids", "falls", "--metric", "task_completion_rate")

    assert done.out.startswith("completion fell from ")
    assert "▼ 2026-11-07 06:00  00000006" in done.out
    assert "stays" not in done.out


def test_trends_as_json_have_points_with_errors_and_changes(offline: Workspace) -> None:
    history(offline)

    found = offline.run("evals", "trends", "--json").json

    falls = next(each for each in found["configs"] if each["config_id"] == "falls")
    completion = next(each for each in falls["metrics"] if each["name"] == "task_completion_rate")
    assert [change["run_id"] for change in completion["changes"]] == ["00000006-run"]
    assert all(point["error"] > 0 for point in completion["points"])
    assert found["runs"] == 10


def test_runs_with_other_tasks_or_samples_are_left_out_of_trends(offline: Workspace) -> None:
    runs = [foreign_run("x", tasksHash="1"), foreign_run("y", samples=3), foreign_run("z", tasksHash="2")]
    write_history(offline.folder / "evals" / "results", runs)

    done = offline.run("evals", "trends")

    assert "1 run on 2026-11-16" in done.out
    assert "Run x is left out: it has other tasks than the newest run." in done.words
    assert "Run y is left out: it has another number of samples than the newest run." in done.words


@pytest.mark.parametrize("command", ["trends", "leaderboard"])
def test_without_runs_the_next_command_is_named(offline: Workspace, command: str) -> None:
    done = offline.run("evals", command)

    assert (done.code, done.err) == (0, "")
    assert "prompt-evaluator evals run" in done.out


@pytest.mark.parametrize("command", ["trends", "leaderboard"])
def test_a_history_that_cannot_be_read_is_an_error(offline: Workspace, command: str) -> None:
    offline.write("evals/results/history.json", b"{}")

    done = offline.run("evals", command)

    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("Error: evals/results/history.json: The file is an object, not a list.")


def test_the_leaderboard_ranks_the_latest_run(offline: Workspace) -> None:
    second = foreign_summary("second", hallucinationIncidents=2)
    failed: dict[str, Any] = {"taskCompletionRate": None, "retriesPerTask": None, "latencyAvgMs": None, "errors": 20}
    last = foreign_summary("last", **failed)
    write_history(offline.folder / "evals" / "results", [foreign_run("x", last, second, foreign_summary("first"))])

    done = offline.run("evals", "leaderboard")

    assert [line.split()[1] for line in done.out.splitlines()[3:]] == ["first", "second", "last"]
    assert max(map(len, done.out.splitlines())) < 80
    assert offline.run("evals", "leaderboard", "--json").json["leaderboard"][2]["configId"] == "last"


def test_an_unknown_run_is_a_usage_error(offline: Workspace) -> None:
    write_history(offline.folder / "evals" / "results", [foreign_run("only-run")])

    done = offline.run("evals", "leaderboard", "onlyrun")

    assert done.code == 2
    assert done.err == "Error: There is no run 'onlyrun'. Did you mean 'only-run'?\n"


def test_a_run_is_pinned_and_shown(offline: Workspace) -> None:
    write_history(offline.folder / "evals" / "results", [foreign_run("first-run"), foreign_run("second-run")])

    before = offline.run("evals", "baseline", "show")
    pinned = offline.run("evals", "baseline", "set", "first", "--note", "Release 4")
    after = offline.run("evals", "baseline", "show")

    assert before.out.startswith("No run is pinned.")
    assert pinned.out == "Pinned run first-run in evals/baseline.json.\n"
    assert "Run first-run (2026-11-16 06:00, 1 configuration)" in after.words
    assert "Release 4" in after.words
    assert offline.run("evals", "gate", "--baseline", "pinned").code == 0
