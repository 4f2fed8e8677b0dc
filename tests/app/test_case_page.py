"""What the page of a case shows: alike answers, ticks, badges, differences, and the place in a list."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Protocol

import pytest
from case_gallery import BOTH, FAILING, REFUND, RUN, write_gallery
from entries import each
from seeded_site import settings_of

from prompt_evaluator.app.serving.answer_views import answer_view, clipped
from prompt_evaluator.app.serving.case_page import CasePage, List, case_page
from prompt_evaluator.app.serving.changes import NO_BASELINE
from prompt_evaluator.app.stores import ServedSettings
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.case_api import CasePageQuery
from prompt_evaluator.server.remembering import Remembered
from prompt_evaluator.server.strips import strip

if TYPE_CHECKING:
    from collections.abc import Iterator


class Shows(Protocol):
    """Collects a page."""

    def __call__(self, case_id: str, **query: object) -> CasePage: ...


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedSettings]:
    folder = tmp_path_factory.mktemp("gallery")
    (folder / "prompt_evaluator.yaml").write_text("version: 1\n")
    served = ServedSettings.of(settings_of(folder))
    with closing(served.opened):
        write_gallery(served.opened)
        yield served
    served.opened.close_for_good()


@pytest.fixture(scope="module")
def within() -> List:
    return List(Remembered(8), NO_BASELINE.cases)


@pytest.fixture
def show(settings: ServedSettings, within: List) -> Shows:
    def shown(case_id: str, **query: object) -> CasePage:
        return case_page(settings, RUN, case_id, CasePageQuery(**query), within)  # type: ignore[arg-type]

    return shown


def test_equal_answers_are_one_card_with_the_range_of_their_scores(show: Shows) -> None:
    first, second, third = show("charged-twice").cards

    assert first.group.numbers == (1, 3, 5)
    assert first.group.answer == REFUND
    correct = first.group.scores[0]
    assert (correct.low, correct.high, correct.passes, correct.count, correct.kind) == (4.4, 4.6, 3, 3, "pass")
    assert [reason.samples for reason in correct.reasons] == [(1, 5), (3,)]
    assert (second.group.numbers, second.group.kind) == ((2,), "fail")
    assert (third.group.numbers, third.group.flags) == ((4,), {"leaks_data": 1})
    assert show("charged-twice").summary == "5 samples, 3 different answers"


def test_badges_say_what_is_wrong_and_find_cases_with_the_same(show: Shows) -> None:
    assert [(badge.text, badge.filter) for badge in show("charged-twice").badges] == [
        ("flaky 3/5", "flaky"),
        ("leaks_data 1/5", "flag:leaks_data"),
    ]
    assert [(badge.kind, badge.filter) for badge in show("broken").badges] == [
        ("error", "error:RateLimitedError"),
        ("error", "error:TimedOutError"),
        ("pending", "status:pending"),
    ]
    assert ("fail", "failing 0/3") in [(badge.kind, badge.text) for badge in show("triage-01").badges]


def test_an_error_is_not_a_wrong_answer(show: Shows) -> None:
    page = show("broken")

    assert [card.group.kind for card in page.cards] == ["error", "error"]
    assert page.summary == "4 samples, 4 without an answer"
    assert page.cards[0].group.error == "No answer: timed out. TimedOutError happened"
    assert {tick.kind for axis in page.axes for tick in axis.ticks} == {"error"}


def test_every_sample_is_one_mark_and_equal_values_do_not_hide_each_other(show: Shows) -> None:
    for case_id in ("charged-twice", "fifty", "broken", "one-sample"):
        page = show(case_id)
        for axis in page.axes:
            drawn = strip(axis)
            places = {(mark.x, mark.y) for mark in drawn.marks}
            assert len(drawn.marks) == len(axis.ticks) == page.samples
            assert len(places) == page.samples
            assert all(0 <= mark.x <= drawn.width and 0 <= mark.y <= drawn.height for mark in drawn.marks)


def test_tool_calls_are_expected_and_made_side_by_side(show: Shows) -> None:
    lines = show("tools").cards[0].group.tools

    assert [(line.expected, line.made) for line in lines] == [
        ('find_order({"id":42})', 'find_order({"id":42})'),
        ('refund({"order":42,"amount":42.0})', None),
        (None, 'send_mail({"to": broken)'),
    ]


def test_a_difference_is_to_the_reference_or_to_another_sample(show: Shows) -> None:
    to_sample = show("charged-twice", view="diff", against="sample-1")

    assert to_sample.compared is not None
    assert to_sample.compared.title == "sample 1"
    view = to_sample.cards[2].view
    assert view is not None
    assert view.parts is not None
    parts = [part for part in view.parts if not isinstance(part, int)]
    assert "".join(part.text for part in parts if part.op != "added") == REFUND
    assert "".join(part.text for part in parts if part.op != "removed") == BOTH
    own = to_sample.cards[0].view
    assert own is not None
    assert own.parts is None
    for against in ("", "nonsense", "reference"):
        found = show("charged-twice", view="diff", against=against).compared
        assert found is not None
        assert found.name == "reference"


def test_json_is_compared_by_path(show: Shows) -> None:
    view = show("json", view="diff").cards[1].view

    assert view is not None
    assert view.changes is not None
    assert [change.path for change in view.changes] == ["refund", "days[1]"]


def test_the_place_is_within_the_filter_and_the_order(show: Shows) -> None:
    first = show("triage-01", q="failing topic:triage")

    assert (first.list.place, first.list.total, first.list.previous) == (1, FAILING, None)
    assert first.list.next == "triage-03"
    assert show("triage-03", q="failing topic:triage").list.place == 2
    assert show("triage-03", q="failing topic:triage", sort="-correct").list.place != 2
    outside = show("charged-twice", q="failing topic:triage").list
    assert (outside.place, outside.next, outside.total) == (None, "triage-01", FAILING)


def test_a_filter_that_cannot_be_used_is_said_and_the_whole_list_is_shown(show: Shows) -> None:
    page = show("charged-twice", q="corect<3", sort="nonsense")

    assert page.problem is not None
    assert "nonsense" in page.problem
    assert page.list.place == 1


def test_a_case_that_is_not_answered_yet_has_no_cards(show: Shows) -> None:
    page = show("pending")

    assert (page.cards, page.axes) == ((), ())
    assert [badge.text for badge in page.badges] == ["not answered yet"]


def test_one_sample_alone_is_whole(show: Shows) -> None:
    page = show("long", sample=2)

    (card,) = page.cards
    assert card.group.numbers == (2,)
    assert card.view is not None
    assert card.view.text is not None
    assert (card.view.text.shown, card.view.missing) == (card.group.answer, 0)


def test_an_unknown_case_or_sample_is_refused(show: Shows) -> None:
    with pytest.raises(UnknownNameError, match=r"There is no test case 'charged-twicee'. Did you mean 'charged-twice'"):
        show("charged-twicee")
    with pytest.raises(UnknownNameError, match="There is no sample '9'"):
        show("charged-twice", sample=9)


@each("text", ["", "short", "word " * 5_000, "x" * 50_000, "line\n" * 9_000])
def test_a_clipped_text_is_all_there_and_says_what_is_missing(text: str) -> None:
    found = clipped(text, 900, 4_000)

    assert text.startswith(found.shown + found.more)
    assert len(found.shown) + len(found.more) + found.missing == len(text)
    assert len(found.shown) <= 1_101


def test_forms_of_a_huge_answer_are_bounded() -> None:
    answer, other = "a new word " * 60_000, "an old word " * 60_000

    for form in ("text", "markdown", "diff"):
        view = answer_view(answer, form, other, shown=900, folded=2_000)
        assert view.missing > 600_000
