"""The table of a run's cases: every count is the number of rows that a click on it shows."""

from __future__ import annotations

import struct
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from entries import each
from hostile import HTML
from seeded_site import large_run, seed, settings_of

from prompt_evaluator.app.serving.case_table import ROWS, Found, case_counts, case_table
from prompt_evaluator.app.serving.changes import NO_BASELINE
from prompt_evaluator.app.serving.facets import FacetIndex, facet_index
from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.app.serving.run_grid import MOST_SQUARES, run_grid
from prompt_evaluator.app.serving.run_page import run_cells, run_overview, shown_slices
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.api import RunPageQuery
from prompt_evaluator.model.case_columns import CaseKinds
from prompt_evaluator.model.case_filter import filter_word, read_filter, toggled, words_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from seeded_site import Seeded

    from prompt_evaluator.app.serving.case_table import CaseTable
    from prompt_evaluator.config.loading import Settings

_WORDS = (
    "failing",
    "flaky",
    "flagged",
    "errors",
    "correct<4.2",
    "tone>=3.9",
    "flag:promises",
    "topic:billing",
    "difficulty:hard",
    "difficulty!=easy",
    "customer~1",
    "text~refund",
    "error:TimedOutError",
    "status:completed",
)


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    return seed(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder: Path = tmp_path_factory.mktemp("large")
    settings = settings_of(folder)
    store = open_store(settings)
    large_run(store, 4_500, samples=2)
    store.close()
    return settings


def _table(settings: Settings, run_id: str, q: str = "", **more: object) -> CaseTable:
    run = run_answer(settings, run_id)
    index = facet_index(settings, run.id)
    query = RunPageQuery(q=q, **more)  # type: ignore[arg-type]
    changes = NO_BASELINE.cases
    found = Found(lambda text: case_counts(settings, run, text, index, changes), changes)
    return case_table(settings, run, query, index, found)


def test_every_count_is_the_number_of_rows_that_its_filter_has(seeded: Seeded) -> None:
    random = Random(5)
    store = open_store(seeded.settings)
    for run_id in (seeded.with_errors, seeded.better, seeded.aborted):
        metrics = tuple(run_answer(seeded.settings, run_id).scores)

        def rows(text: str, run_id: str = run_id, metrics: tuple[str, ...] = metrics) -> int:
            return store.count_cases(read_filter(text, metrics).query(run_id))

        for _ in range(12):
            q = " ".join(random.sample(_WORDS, random.randint(0, 2)))
            table = _table(seeded.settings, run_id, q)
            assert table.problem is None
            assert table.counts.cases == rows(q) == len(table.rows)
            facets = [chip for _, chips in table.facets for chip in chips]
            for chip in (*table.chips, *facets):
                assert chip.on or chip.count == rows(chip.q), (q, chip)
            for flag, count in table.counts.flags.items():
                assert count == rows(f"{q} flag:{flag}")
    store.close()


def test_pages_follow_each_other_without_gap_or_repetition_and_know_their_place(large: Settings) -> None:
    seen: list[str] = []
    cursor, after = None, 0
    while True:
        table = _table(large, "large", "failing", sort="-clarity", cursor=cursor, after=after)
        assert table.first == len(seen) + 1
        seen += [row.line.case_id for row in table.rows]
        if table.next is None:
            break
        cursor, after = table.next, len(seen)
        assert len(table.rows) == ROWS

    assert len(seen) == len(set(seen)) == table.counts.cases


def test_a_filter_that_cannot_be_read_is_told_and_all_cases_stay(seeded: Seeded) -> None:
    for q in ("correct<much", 'topic:"billing', "flag:unheard_of", "changed:worse"):
        table = _table(seeded.settings, seeded.better, q)

        assert table.problem
        assert len(table.rows) == 48

    assert "corect" in (_table(seeded.settings, seeded.better, sort="corect").problem or "")


def test_samples_without_a_score_are_ticks_without_a_value(seeded: Seeded) -> None:
    table = _table(seeded.settings, seeded.with_errors, "errors")

    for row in table.rows:
        for name, scores in row.line.metrics.items():
            assert sum(tick.value is None for tick in row.samples[name]) == scores.missing
            assert sum(tick.passed is True for tick in row.samples[name]) == scores.passes


def test_columns_are_any_metadata_by_commas_or_one_by_one(seeded: Seeded) -> None:
    by_commas = _table(seeded.settings, seeded.better, columns=("topic,customer",))
    one_by_one = _table(seeded.settings, seeded.better, columns=("topic", "customer"))

    assert by_commas.rows == one_by_one.rows
    assert by_commas.rows[0].values == ("billing", "customer 0")
    assert {"topic", "difficulty", "customer"} <= set(by_commas.keys)


def _kinds(metadata: Sequence[dict[str, Any]]) -> CaseKinds:
    """Cases that are each of a kind of their own."""
    texts = [msgspec.json.encode(each).decode() if each else "" for each in metadata]
    return CaseKinds(len(texts), texts, struct.pack(f"<{len(texts)}I", *range(len(texts))))


def test_only_keys_that_divide_the_cases_into_a_few_groups_are_counted() -> None:
    metadata: list[dict[str, Any]] = [
        {"half": at % 2, "own": f"c{at}", "same": "x", "list": ["a"], "a b": "no word", "status": "s"}
        for at in range(50)
    ]
    index = FacetIndex([_kinds(metadata), _kinds([{}] * 10 + [{"half": True}])])

    (facet,) = index.facets(range(61))
    assert {(each.value, each.count) for each in facet.values} == {("0", 25), ("1", 25), ("true", 1)}
    assert {"half", "own", "same", "list"} <= set(index.keys)


@each("text", [*HTML.values(), "it's", 'say "hi" \\ there', "a b", "ü=é"], ids=repr)
def test_a_word_of_any_text_is_written_so_that_it_is_read_again(text: str) -> None:
    word = filter_word("topic", text)
    assert word is not None
    written = toggled("failing", word)

    assert words_of(written) == ("failing", word)
    assert toggled(written, word) == "failing"
    (condition,) = read_filter(written, ()).metadata
    assert (condition.field, condition.operator, condition.value) == ("topic", "=", text)


def test_of_very_many_cases_one_square_stands_for_several_and_shows_the_worst(large: Settings) -> None:
    grid = run_grid(large, "large")

    assert grid.per_square == 3
    assert len(grid.states) == 1_500 <= MOST_SQUARES
    assert grid.done == grid.cases == 4_500
    assert grid.states[0] == "f"
    assert "." not in grid.states
    assert len(grid.problems) == 8


def test_the_stability_map_shows_the_cases_that_vary_most_and_how_many_there_are(large: Settings) -> None:
    overview = run_overview(large, run_answer(large, "large"))

    assert len(overview.squares) == 200
    assert overview.scored == 4_500
    assert {square.shade for square in overview.squares} == {4}


def test_groups_are_marked_only_if_they_differ_by_more_than_chance(large: Settings) -> None:
    slices = shown_slices(run_cells(large, "large"))

    assert {(each.cell.key, each.differs) for each in slices} == {("topic", True), ("difficulty", False)}
    assert {each.q for each in slices} >= {"topic:billing", "difficulty:easy"}


def test_a_run_with_a_command_can_be_reproduced_and_its_errors_say_what_they_could_move(seeded: Seeded) -> None:
    overview = run_overview(seeded.settings, run_answer(seeded.settings, seeded.with_errors))

    assert overview.command
    assert overview.command.startswith("prompt-evaluator evaluate-dataset")
    assert overview.folder == str(seeded.folder)
    for card in overview.cards:
        assert card.bounds is not None
        assert card.bounds[0] < card.finding.mean < card.bounds[1]
        assert card.baseline is not None
        assert len(card.before) > 1
