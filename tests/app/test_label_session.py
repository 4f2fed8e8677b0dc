"""Which answers are drawn to be labelled, which one is next, and what is kept of each label."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from entries import each
from seeded_site import large_run, settings_of

from prompt_evaluator.app.labelling.drawing import draw
from prompt_evaluator.app.labelling.scales import label_scales
from prompt_evaluator.app.labelling.session import LabelSession
from prompt_evaluator.app.labels import list_labels
from prompt_evaluator.app.stores import ServedSettings, open_store
from prompt_evaluator.errors import InvalidLabelError, UnknownNameError
from prompt_evaluator.model import current_labels
from prompt_evaluator.model.label import AnswerKey
from prompt_evaluator.model.labelling import DRAWS, Candidate, LabelDraw, LabelScale
from prompt_evaluator.model.rubric import Criterion, Flag, Rubric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import Label

RUN = "large"
FIVE = LabelScale(metric="clarity", kind="criterion", description="", guidelines="", low=1, high=5, pass_at=4, keys=())
FLAG = LabelScale(metric="rude", kind="flag", description="", guidelines="", low=0, high=1, pass_at=0.5, keys=())


def candidates(*values: float | None) -> list[Candidate]:
    """One sample of each of several cases, whose ids are numbers."""
    passed = (None if value is None else value >= 4 for value in values)
    return [
        Candidate(AnswerKey(str(at), 0, 0), value, is_good)
        for at, (value, is_good) in enumerate(zip(values, passed, strict=True))
    ]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """With the store kept open, as a server has it."""
    found = ServedSettings.of(settings_of(tmp_path_factory.mktemp("labels")))
    large_run(found.opened, 30, samples=2)
    yield found
    found.opened.close_for_good()


def session(settings: Settings, reviewer: str, **asked: Any) -> LabelSession:
    return LabelSession(settings, LabelDraw(run_id=RUN, **{"metric": "clarity", "count": 6, **asked}), reviewer)


def labelled(own: LabelSession, value: float, **more: Any) -> Label:
    drawn = own.next()
    assert drawn
    return own.label(drawn, value, **{"answer_hash": None, **more})


def test_a_seed_draws_the_same_answers_in_the_same_order_for_all_counts() -> None:
    found = candidates(*[1.0, 5.0] * 50)

    first, more, other = (draw(found, "random", *how) for how in ((10, FIVE, 1), (20, FIVE, 1), (10, FIVE, 2)))

    assert [each.answer for each in first] == [each.answer for each in more[:10]] != [each.answer for each in other]
    assert {each.probability for each in first} == {0.1}
    assert len({each.answer for each in first}) == 10


def test_every_answer_is_drawn_with_the_probability_that_is_kept() -> None:
    found = candidates(*[1.0] * 5, *[5.0] * 15)
    hits = Counter(each.answer for seed in range(400) for each in draw(found, "random", 5, FIVE, seed))

    assert all(60 <= hits[each.answer] <= 145 for each in found)  # 100 expected, with a standard deviation of 8.7


@each(
    ("sizes", "count", "shares"),
    [
        ((500, 500), 100, (50, 50)),
        ((500, 500, 500, 500, 500), 100, (20, 20, 20, 20, 20)),
        ((500, 500, 500), 100, (34, 33, 33)),
        ((500, 10, 500, 500), 100, (30, 10, 30, 30)),
        ((2, 8, 0, 100, 1), 23, (2, 8, 0, 12, 1)),
    ],
)
def test_strata_get_equally_many_as_far_as_there_are_so_many(
    sizes: tuple[int, ...], count: int, shares: tuple[int, ...]
) -> None:
    found = candidates(*(level + 0.9 for level, size in enumerate(sizes) for _ in range(size)))
    values = {each.answer: each.value for each in found}

    drawn = draw(found, "stratified", count, FIVE, 7)

    levels = [level + 0.9 for level in range(len(sizes))]
    by_level = Counter(values[each.answer] for each in drawn)
    assert tuple(by_level[level] for level in levels) == shares
    probabilities = {(level, share / size) for level, size, share in zip(levels, sizes, shares, strict=True) if share}
    assert {(values[each.answer], each.probability) for each in drawn} == probabilities


@each("count", [1, 5, 6, 7, 111, 500])
def test_no_way_of_drawing_takes_an_answer_twice_or_too_many(count: int) -> None:
    found = candidates(*[float(at % 6) for at in range(110)], None)
    for how in DRAWS:
        answers = [each.answer for each in draw(found, how, count, FIVE, 3)]

        assert len(answers) == len(set(answers)) == min(count, 111)


def test_uncertain_begins_with_judgements_that_disagree_then_with_scores_near_the_pass_mark() -> None:
    torn = Candidate(AnswerKey("9", 0, 0), 4.0, passed=True, repeats=(5.0, 5.0, 2.0, 2.0))
    drawn = draw([*candidates(1.0, 3.9, 5.0, None, 2.5), torn], "uncertain", 5, FIVE, 1)

    assert [each.answer.case_id for each in drawn] == ["9", "1", "2", "4", "0"]
    assert {each.probability for each in drawn} == {None}


def test_a_flag_is_uncertain_where_the_samples_of_a_case_differ() -> None:
    flags = [("a", 1.0), ("a", 1.0), ("b", 0.0), ("b", 1.0), ("c", 0.0), ("c", 0.0)]
    found = [Candidate(AnswerKey(case, at, 0), value, value < 0.5) for at, (case, value) in enumerate(flags)]

    assert {each.answer.case_id for each in draw(found, "uncertain", 2, FLAG, 1)} == {"b"}


def test_scales_have_one_key_per_score(settings: Settings) -> None:
    with closing(open_store(settings)) as store:
        plan = store.run(RUN).plan
    criteria = [
        Criterion(name="five", description="", guidelines="- 5: complete\n1 = wrong"),
        Criterion(name="ten", description="", min_score=1, max_score=10),
        Criterion(name="binary", description="", min_score=0, max_score=1),
        Criterion(name="percent", description="", min_score=0, max_score=100),
    ]
    rubric = Rubric(name="r", metrics=tuple(criteria), flags=(Flag(name="rude", description=""),), hash="0")
    scales = label_scales(msgspec.structs.replace(plan, rubric=rubric), ["other"])

    assert {name: "".join(key.key for key in scale.keys) for name, scale in scales.items()} == {
        "five": "12345",
        "ten": "1234567890",
        "binary": "yn",
        "percent": "12345",
        "rude": "yn",
        "other": "yn",
    }
    assert [key.text for key in scales["five"].keys] == ["wrong", "", "", "", "complete"]
    assert [key.value for key in scales["percent"].keys] == [0, 25, 50, 75, 100]
    assert scales["ten"].keys[-1].value == 10


def test_a_label_has_all_that_a_correction_needs(settings: Settings) -> None:
    own = session(settings, "anna", how="stratified", count=12)
    drawn = own.next()
    label = labelled(own, 4, comment="fine")

    assert drawn
    assert label == list_labels(settings, RUN)[-1]
    assert (label.metric, label.value, label.reviewer, label.comment) == ("clarity", 4.0, "anna", "fine")
    assert (label.answer, label.probability) == (drawn.answer, drawn.probability)
    assert (label.judge_seen, label.withdrawn, label.rubric_hash) == (False, False, "ab" * 32)
    assert 0 < (label.probability or 0) <= 1
    assert own.opinion(drawn)
    assert (own.labelled, own.agreement().labels) == (1, 1)


def test_the_next_answer_is_the_first_that_the_reviewer_has_not_labelled_also_after_a_restart(
    settings: Settings,
) -> None:
    first = session(settings, "berta")
    for _ in range(2):
        labelled(first, 3)

    again, other = session(settings, "berta"), session(settings, "ben")
    assert (again.labelled, again.next()) == (2, again.drawn[2])
    assert again.next(again.drawn[2:4]) == again.drawn[4]
    assert (other.drawn, other.next()) == (first.drawn, first.drawn[0])  # a second opinion on the same answers
    for _ in range(4):
        labelled(again, 5)
    assert (again.labelled, again.next()) == (6, None)


def test_a_label_that_is_taken_back_is_kept_and_its_answer_is_next(settings: Settings) -> None:
    own = session(settings, "carl")
    drawn = own.next()
    own.withdraw(labelled(own, 5))

    assert (own.next(), own.labelled) == (drawn, 0)
    assert labelled(own, 5).judge_seen is True  # it was shown after the first label
    given = [label for label in list_labels(settings, RUN) if label.reviewer == "carl"]
    assert [(label.value, label.withdrawn) for label in given] == [(5.0, False), (5.0, True), (5.0, False)]
    assert [*current_labels(given).values()] == given[2:]


def test_answers_that_were_chosen_have_no_probability(settings: Settings) -> None:
    own = session(settings, "dora", how="uncertain", count=3, metric="rude")
    given = [labelled(own, value) for value in (0, 1, 0)]

    assert own.next() is None
    assert {label.probability for label in given} == {None}


def test_the_first_criterion_of_a_run_is_labelled_unless_another_is_named(settings: Settings) -> None:
    assert session(settings, "anna", metric=None).scale.metric == "clarity"


def test_what_cannot_be_labelled_is_refused_with_the_field(settings: Settings) -> None:
    with pytest.raises(UnknownNameError, match="clarity"):
        session(settings, "eve", metric="clairty")
    with pytest.raises(InvalidLabelError, match="Say who labels"):
        session(settings, "  ")
    own = session(settings, "eve")
    with pytest.raises(InvalidLabelError, match="not on the scale"):
        labelled(own, 6)
    with pytest.raises(InvalidLabelError, match="another answer"):
        labelled(own, 5, answer_hash="f" * 64)
    assert own.labelled == 0
