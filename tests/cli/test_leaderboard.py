"""`prompt-evaluator leaderboard`: what it prints, at any width."""

from __future__ import annotations

import pytest
from entries import each
from ranked_runs import add_ranked
from workspace import Workspace

from prompt_evaluator.store import Store

STORE = ".prompt_evaluator/store.db"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two datasets; one has three models, and a run by another judge."""
    found = Workspace(tmp_path_factory.mktemp("leaderboard"), {"COLUMNS": "80"})
    store = Store.open(found.folder / STORE)
    add_ranked(store, 1, 4.31, 0.12, model="openai/gpt-4o")
    add_ranked(store, 2, 4.25, 0.15, model="anthropic/claude-sonnet", totals={"cost": None, "unpriced_calls": 3})
    add_ranked(store, 3, 2.75, 0.2, model="openai/gpt-4o-mini", totals={"samples": {"completed": 9, "judge_error": 1}})
    add_ranked(store, 4, 4.9, 0.1, model="openai/gpt-4o", judge="openai/other")
    add_ranked(store, 5, 3.0, 0.5, model="mock/default", name="search", dataset="d2" * 32, synthetic=True)
    store.close()
    return found


def test_models_are_ranked_below_their_dataset(project: Workspace) -> None:
    done = project.run("leaderboard")

    rows = [" ".join(line.split()) for line in done.out.splitlines()]
    assert (done.code, done.err) == (0, "")
    assert rows[:7] == [
        "Mean (95 %) Pass $ Tokens Errors",
        "search: clarity, 1 to 5 · 10 cases · judge openai/judge",
        "1. mock/default* 3.00 (2.50 to 3.50) 50 % $0.15 80 0",
        "support: clarity, 1 to 5 · 10 cases · judge openai/judge",
        "1. openai/gpt-4o 4.31 (4.19 to 4.43) 50 % $0.15 80 0",
        "1. anthropic/claude-sonnet 4.25 (4.10 to 4.40) 50 % – 80 0",  # noqa: RUF001
        "3. openai/gpt-4o-mini 2.75 (2.55 to 2.95) 50 % $0.15 80 1",
    ]


@each("columns", [60, 80, 160])
def test_no_line_is_wider_than_the_terminal(project: Workspace, columns: int) -> None:
    there = Workspace.__new__(Workspace)
    there.folder, there.environment = project.folder, {**project.environment, "COLUMNS": str(columns)}

    out = there.run("leaderboard").out

    assert max(map(len, out.splitlines())) < columns


def test_what_was_left_out_is_said_with_the_reason(project: Workspace) -> None:
    words = project.run("leaderboard").words

    assert "support: left out 1 run that was judged by openai/other. --json lists them." in words
    assert "* synthetic: the offline mock answered or judged." in words


def test_one_dataset_can_be_chosen_and_a_mistyped_one_gets_a_suggestion(project: Workspace) -> None:
    assert "support" not in project.run("leaderboard", "--dataset", "search").out
    done = project.run("leaderboard", "--dataset", "serch")
    assert done.code == 2
    assert "There is no dataset 'serch'. Did you mean 'search'?" in done.err


def test_json_has_all_numbers_and_the_runs_left_out(project: Workspace) -> None:
    search, support = project.run("leaderboard", "--json").json["boards"]

    assert search["runs"][0]["synthetic"] is True
    first = support["runs"][0]
    assert (first["rank"], first["model"], first["scores"]["clarity"]["interval"]) == (
        1,
        "openai/gpt-4o",
        pytest.approx([4.19, 4.43]),
    )
    assert support["dataset_hash"] == f"sha256:{'d1' * 32}"
    assert [run["reason"] for run in support["left_out"]] == ["was judged by openai/other"]
    assert support["left_out"][0]["prompt_hash"].startswith("sha256:")


def test_without_runs_the_next_command_is_shown(tmp_path_factory: pytest.TempPathFactory) -> None:
    done = Workspace(tmp_path_factory.mktemp("empty")).run("leaderboard")

    assert (done.code, done.out.partition(".")[0]) == (0, "No finished runs yet")
