"""Which item is to blame for processes that die: the rule by itself."""

from __future__ import annotations

from prompt_evaluator.engines.ray.suspects import MOST_ALONE, Suspects
from prompt_evaluator.model import TestCase, Unit
from prompt_evaluator.model.work import WorkItem


def item(name: str, *units: Unit) -> WorkItem:
    return WorkItem(case=TestCase(id=name, input="?"), sample=0, own=units)


def unit(name: str, step: int = 0, *, ok: bool = True) -> Unit:
    return Unit(case_id=name, name=bytes([step]), kind="generation", sample=0, ok=ok, data=b"{}")


def test_two_deaths_raise_no_suspicion_and_further_ones_quarter_the_company_down_to_none() -> None:
    suspects, found = Suspects(64), list[int]()

    for _ in range(6):
        found.append(suspects.company(item("a")))
        suspects.died([item("a"), item("b")])

    assert found == [64, 64, 16, 4, 1, 1]
    assert suspects.company(item("c")) == 64


def test_an_item_is_blamed_for_deaths_while_it_was_alone_and_for_no_others() -> None:
    suspects = Suspects(4)

    crowded = [suspects.died([item("a"), item("b")]) for _ in range(100)]
    alone = [suspects.died([item("a")]) for _ in range(MOST_ALONE)]

    assert crowded == [None] * 100
    assert alone == [None] * (MOST_ALONE - 1) + [item("a")]


def test_an_item_that_got_further_since_its_last_death_starts_anew() -> None:
    suspects = Suspects(4)
    for _ in range(MOST_ALONE - 1):
        suspects.died([item("a")])

    further = item("a", unit("a"))

    assert suspects.company(further) == 4
    assert suspects.died([further]) is None
    assert suspects.deaths(further) == 1


def test_a_failed_unit_is_no_progress_because_it_may_be_made_again() -> None:
    suspects = Suspects(4)
    for _ in range(MOST_ALONE - 1):
        suspects.died([item("a")])

    assert suspects.died([item("a", unit("a", ok=False))]) is not None


def test_an_item_that_its_process_survives_is_no_longer_suspected() -> None:
    suspects = Suspects(4)
    for _ in range(4):
        suspects.died([item("a")])

    suspects.ended(item("a"))

    assert suspects.deaths(item("a")) == 0


def test_the_more_deaths_alone_an_innocent_item_survived_the_more_are_needed() -> None:
    suspects = Suspects(4)
    for _ in range(3):
        suspects.died([item("a")])
    suspects.ended(item("a"))

    found = [suspects.died([item("b")]) for _ in range(3 + MOST_ALONE)]

    assert found == [None] * (3 + MOST_ALONE - 1) + [item("b")]
