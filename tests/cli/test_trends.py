"""`prompt-evaluator trends`: what it prints, at any width, for any number of runs."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from entries import each
from trend_runs import METRIC, add_run, drawn, run_id
from workspace import Workspace

from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from workspace import Done

STORE = ".prompt_evaluator/store.db"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Twelve runs; the prompt changed after the seventh and the metric fell."""
    found = Workspace(tmp_path_factory.mktemp("trends"))
    store = Store.open(found.folder / STORE)
    rng = Random(2)
    for at in range(12):
        later = at >= 7
        add_run(
            store, at, drawn(rng, 3.8 if later else 4.2), prompt="9" if later else "3", version="v2" if later else "v1"
        )
    store.close()
    return found


def shown(project: Workspace, *arguments: str, columns: int = 80, **environment: str) -> Done:
    there = Workspace.__new__(Workspace)
    there.folder = project.folder
    there.environment = {**project.environment, "COLUMNS": str(columns), **environment}
    return there.run("trends", *arguments)


def test_a_sentence_comes_first_and_the_comparison_of_both_sides_last(project: Workspace) -> None:
    done = shown(project, "--dataset", "support", "--metric", METRIC, columns=160)

    first, *_, last = done.out.splitlines()
    assert first == "clarity fell from 4.15 to 3.76 at run 00000007 (2026-01-08), where the prompt changed."
    assert last.split()[-3:] == ["compare", "00000006", "00000007"]
    assert (done.code, done.err) == (0, "")


def test_the_table_marks_the_change_and_what_changed_there(project: Workspace) -> None:
    out = shown(project, "--metric", METRIC, columns=160).out

    rows = [line for line in out.splitlines() if "2026-01-0" in line and " ± " in line]
    (marked,) = [line for line in rows if line.startswith("▼")]
    assert " ".join(marked.split()) == "▼ 2026-01-08 09:30 00000007 3.75 ± 0.09 v2 prompt v1 (3333) → v2 (9999)"
    assert sum("prompt" in line for line in rows) == 1
    assert "│" in out


@each("columns", [40, 80, 160])
@each("arguments", [("--metric", METRIC), ()])
def test_no_line_is_wider_than_the_terminal(project: Workspace, columns: int, arguments: tuple[str, ...]) -> None:
    done = shown(project, *arguments, columns=columns)

    assert max(map(len, done.out.splitlines())) < columns
    assert "\x1b" not in done.out


def test_all_metrics_are_shown_in_short_with_the_command_for_one(project: Workspace) -> None:
    out = shown(project, columns=160).out

    assert "clarity fell from 4.15 to 3.76" in out
    assert "No change of brevity seen in 12 runs; it is 1.000 on average." in out
    assert out.splitlines()[-1].endswith("trends --dataset support --metric clarity")


def test_a_terminal_without_bars_gets_digits(project: Workspace) -> None:
    out = shown(project, "--metric", METRIC, PYTHONIOENCODING="ascii").out

    assert "?" not in out
    assert "|" in out


def test_json_has_points_changes_and_suspects(project: Workspace) -> None:
    found = shown(project, "--metric", METRIC, "--json").json

    assert found["dataset"] == {"name": "support", "hash": f"sha256:{'d1' * 32}"}
    assert (found["judge"]["model"], found["runs"]) == ("openai/judge", 12)
    metric = found["metrics"][METRIC]
    (change,) = metric["changes"]
    assert change["run_id"] == run_id(7)
    assert change["low"] < change["difference"] < change["high"] < 0
    assert [each["what"] for each in change["differences"]] == ["prompt"]
    assert [point["run_id"] for point in metric["points"]] == [run_id(at) for at in range(12)]
    assert set(metric["points"][0]) >= {"timestamp_start", "mean", "standard_error", "prompt_version_id", "blip"}
    assert found["next_step"]["arguments"][-3:] == ["compare", "00000006", "00000007"]


def test_a_configuration_file_and_a_store_that_were_named_are_named_again(project: Workspace) -> None:
    project.write("other.yaml", "version: 1\n")

    out = shown(project, "--metric", METRIC, "--config", "other.yaml", columns=160).out

    assert out.splitlines()[-1].endswith("compare 00000006 00000007 --config other.yaml")
    named = shown(project, "--metric", METRIC, "--store", ".prompt_evaluator/store.db", columns=160).out
    assert named.splitlines()[-1].endswith("compare 00000006 00000007 --store .prompt_evaluator/store.db")


def test_no_runs_say_how_to_start_one(offline: Workspace) -> None:
    done = offline.run("trends")

    assert done.code == 0
    assert done.out.startswith("No finished runs yet. Start one: prompt-evaluator evaluate-dataset")
    assert offline.run("trends", "--json").json["runs"] == 0


def test_an_error_too_small_for_its_digits_is_not_shown_as_none(offline: Workspace) -> None:
    store = Store.open(offline.folder / STORE)
    for at in range(4):
        add_run(store, at, drawn(Random(at), 4.0, spread=0.001))
    store.close()

    out = shown(offline, "--metric", METRIC).out

    assert out.count(" ± <0.01") == 4


def test_a_run_with_errors_is_marked_as_partial_and_a_blip_as_a_blip(offline: Workspace) -> None:
    store = Store.open(offline.folder / STORE)
    for at in range(8):
        scores = drawn(Random(at), 3.0 if at == 4 else 4.0)
        add_run(store, at, [*scores[:-1], []] if at == 2 else scores, status="partial" if at == 2 else "completed")
    store.close()

    lines = shown(offline, "--metric", METRIC).out.splitlines()

    assert [line.split()[-1] for line in lines if "00000002" in line] == ["partial"]
    (blip,) = [line for line in lines if line.startswith("○")]
    assert "00000004" in blip
    assert lines[0].startswith("No change of clarity seen in 8 runs")


def test_two_hundred_runs_show_what_is_worth_seeing(offline: Workspace) -> None:
    store = Store.open(offline.folder / STORE)
    rng = Random(5)
    for at in range(200):
        add_run(store, at, drawn(rng, 4.2 if at < 120 else 3.6, cases=4, samples=8))
    store.close()

    out = shown(offline, "--metric", METRIC, "--limit", "200").out

    lines = out.splitlines()
    assert lines[0].startswith("clarity fell")
    assert len(lines) < 40
    assert any(line.strip().startswith("… ") and line.endswith(" runs more") for line in lines)
    assert max(map(len, lines)) <= 79


def test_the_command_for_one_metric_shows_the_same_runs(project: Workspace) -> None:
    out = shown(project, "--judge", "judge", "--model", "small", "--where", "status=completed", columns=160).words

    assert out.endswith("--metric clarity --judge judge --model small --where status=completed")
