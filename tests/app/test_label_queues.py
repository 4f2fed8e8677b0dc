"""Which sample is labelled next, how it was drawn, and what is kept of each label."""

from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from labelling import LINE, add_run, jsonl
from seeded_site import large_run, settings_of

from prompt_evaluator.app.labelling.drawing import Marks, draw
from prompt_evaluator.app.labelling.queues import (
    GivenLabel,
    label_step,
    next_step,
    open_queue,
    skip_step,
    start_queue,
    undo_step,
)
from prompt_evaluator.app.labelling.scales import label_scales
from prompt_evaluator.app.labels import export_labels, import_labels, list_labels
from prompt_evaluator.app.stores import ServedSettings, open_store
from prompt_evaluator.errors import InvalidLabelError, UnknownNameError
from prompt_evaluator.model import current_labels
from prompt_evaluator.model.labelling import Candidate, NewQueue
from prompt_evaluator.model.rubric import Criterion, Flag, Rubric

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.labelling import Draw, LabelStep

FIVE = Marks(1, 5, 4)
RUN = "large"


def candidates(*values: float | None) -> list[Candidate]:
    return [Candidate(at, 0, 0, value, None if value is None else value >= 4) for at, value in enumerate(values)]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """With the store kept open, as a server has it."""
    found = ServedSettings.of(settings_of(tmp_path_factory.mktemp("labels")))
    large_run(found.opened, 30, samples=2)
    yield found
    found.opened.close_for_good()


def started(settings: Settings, draw_: Draw = "random", size: int = 6, metric: str = "clarity", **more: Any) -> int:
    new = NewQueue(run_id=RUN, metric=metric, draw=draw_, size=size, **more)
    return start_queue(settings, new, created_by="anna").queue.id


def labelled(settings: Settings, queue: int, value: float, who: str = "anna", **more: Any) -> LabelStep:
    place = next_step(settings, queue, who).place
    assert place
    return label_step(settings, queue, who, GivenLabel(place=place, value=value, **more))


def test_the_same_seed_draws_the_same_samples_in_the_same_order() -> None:
    found = candidates(*[1.0, 5.0] * 50)

    first, again, other = (draw(found, "random", 10, FIVE, seed) for seed in (1, 1, 2))

    assert first == again != other
    assert {each.probability for each in first} == {0.1}
    assert len({each.position for each in first}) == 10


def test_every_sample_is_drawn_with_the_probability_that_is_kept() -> None:
    found = candidates(*[1.0] * 5, *[5.0] * 15)
    hits = Counter(each.position for seed in range(400) for each in draw(found, "random", 5, FIVE, seed))

    assert all(60 <= hits[at] <= 145 for at in range(20))  # 100 expected, with a standard deviation of 8.7


def test_strata_get_equally_many_as_far_as_there_are_so_many() -> None:
    found = candidates(1.2, 0.9, *[3.1] * 8, *[4.9] * 100, None)
    drawn = draw(found, "stratified", 23, FIVE, 7)
    by_level = Counter(found[each.position].value for each in drawn)

    assert (by_level[1.2] + by_level[0.9], by_level[3.1], by_level[4.9], by_level[None]) == (2, 8, 12, 1)
    assert {(found[each.position].value, each.probability) for each in drawn} == {
        (1.2, 1.0),
        (0.9, 1.0),
        (3.1, 1.0),
        (4.9, 0.12),
        (None, 1.0),
    }


@each("size", [1, 5, 6, 7, 111, 500])
def test_no_way_of_drawing_takes_a_sample_twice_or_too_many(size: int) -> None:
    found = candidates(*[float(at % 6) for at in range(110)], None)
    for how in ("random", "stratified", "uncertain"):
        places = [each.position for each in draw(found, how, size, FIVE, 3)]

        assert len(places) == len(set(places)) == min(size, 111)


def test_uncertain_begins_with_judgements_that_disagree_then_with_scores_near_the_pass_mark() -> None:
    torn = Candidate(9, 0, 0, 4.0, passed=True, repeats=(5.0, 5.0, 2.0, 2.0))
    drawn = draw([*candidates(1.0, 3.9, 5.0, None, 2.5), torn], "uncertain", 5, FIVE, 1)

    assert [each.position for each in drawn] == [9, 1, 2, 4, 0]
    assert {each.probability for each in drawn} == {None}


def test_a_flag_is_uncertain_where_the_samples_of_a_case_differ() -> None:
    flags = [(0, 1.0), (0, 1.0), (1, 0.0), (1, 1.0), (2, 0.0), (2, 0.0)]
    found = [Candidate(case, at, 0, value, value < 0.5) for at, (case, value) in enumerate(flags)]

    drawn = draw(found, "uncertain", 2, Marks(0, 1, 0.5), 1)

    assert {each.position for each in drawn} == {1}


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
    scales = label_scales(_with_rubric(plan, rubric), ["other"])

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


def _with_rubric(plan: Any, rubric: Rubric) -> Any:
    from msgspec.structs import replace  # noqa: PLC0415

    return replace(plan, rubric=rubric)


def test_a_label_has_all_that_a_correction_needs(settings: Settings) -> None:
    queue = started(settings, "stratified", 12)
    step = labelled(settings, queue, 4, comment="fine", answer_hash=None)
    label = step.label

    assert label
    assert label == list_labels(settings, RUN)[-1]
    assert (label.metric, label.value, label.reviewer, label.comment) == ("clarity", 4.0, "anna", "fine")
    assert (label.judge_seen, label.withdrawn, label.rubric_hash) == (False, False, "ab" * 32)
    assert label.probability
    assert 0 < label.probability <= 1
    assert step.opinion
    assert (step.done, step.place, step.progress.labelled, step.agreement.labels) == (1, 2, 1, 1)


def test_undo_adds_a_withdrawal_and_brings_the_sample_back(settings: Settings) -> None:
    queue, before = started(settings), len(list_labels(settings, RUN))
    first = labelled(settings, queue, 5)
    undone = undo_step(settings, queue, "anna")

    assert (undone.place, undone.progress.labelled) == (first.done, 0)
    given, withdrawal = list_labels(settings, RUN)[before:]
    assert (given.withdrawn, withdrawal.withdrawn, withdrawal.value) == (False, True, 5.0)
    assert given.key not in current_labels([given, withdrawal])

    again = labelled(settings, queue, 5)

    assert again.label
    assert again.label.judge_seen is True  # it was shown after the first label
    assert len(list_labels(settings, RUN)) == before + 3
    lines = [json.loads(line) for line in export_labels(settings, RUN, "jsonl")]
    assert [line["withdrawn"] for line in lines[before:]] == [False, True, False]


def test_a_file_can_withdraw_a_label_too(tmp_path: Path) -> None:
    own = settings_of(tmp_path)
    with closing(open_store(own)) as store:
        add_run(store)
    later = {**LINE, "withdrawn": "yes", "created_at": "2030-01-01T00:00:00Z"}
    file = jsonl(tmp_path, {**LINE, "created_at": "2029-01-01T00:00:00Z"}, later)

    assert import_labels(own, file).added == 2
    assert import_labels(own, file).added == 0
    assert current_labels(list_labels(own)) == {}
    assert import_labels(own, jsonl(tmp_path, {**LINE, "withdrawn": True})).added == 0


def test_a_label_that_is_sent_again_is_added_once(settings: Settings) -> None:
    queue, before = started(settings), len(list_labels(settings, RUN))
    first, again = (label_step(settings, queue, "anna", GivenLabel(place=1, value=3)) for _ in range(2))

    assert first.label == again.label
    assert len(list_labels(settings, RUN)) == before + 1


def test_another_opinion_that_is_sent_again_is_added_once_and_still_says_that_the_judge_was_seen(
    settings: Settings,
) -> None:
    queue, before = started(settings, seed=7), len(list_labels(settings, RUN))
    steps = [label_step(settings, queue, "berta", GivenLabel(place=1, value=value)) for value in (3, 4, 4)]

    assert steps[1].label == steps[2].label
    assert [step.label and step.label.judge_seen for step in steps] == [False, True, True]
    assert len(list_labels(settings, RUN)) == before + 2


def test_undo_of_a_skip_brings_the_sample_back_and_adds_nothing(settings: Settings) -> None:
    queue, before = started(settings), len(list_labels(settings, RUN))
    skipped = skip_step(settings, queue, "anna", 1)
    undone = undo_step(settings, queue, "anna")

    assert (skipped.place, skipped.progress.skipped, undone.place, undone.progress.skipped) == (2, 1, 1, 0)
    assert len(list_labels(settings, RUN)) == before
    assert undo_step(settings, queue, "anna").place == 1  # nothing is left to take back


def test_a_queue_ends_and_goes_on_after_a_restart(settings: Settings) -> None:
    queue = started(settings, "uncertain", 3, metric="rude")
    labelled(settings, queue, 0)
    assert open_queue(settings, RUN, "rude", "uncertain")
    labelled(settings, queue, 1)
    end = labelled(settings, queue, 0)

    assert (end.place, end.progress.left, end.progress.reviewers) == (None, 0, ("anna",))
    assert open_queue(settings, RUN, "rude", "uncertain") is None
    assert {label.probability for label in list_labels(settings, RUN) if label.metric == "rude"} == {None}


def test_threads_of_two_reviewers_never_get_the_same_sample(settings: Settings) -> None:
    queue = started(settings, size=40)

    def work(who: str) -> list[int]:
        done = []
        step = next_step(settings, queue, who)
        while step.place is not None:
            done.append(step.place)
            step = label_step(settings, queue, who, GivenLabel(place=step.place, value=3))
        return done

    with ThreadPoolExecutor(2) as threads:
        anna, ben = threads.map(work, ("anna", "ben"))

    assert sorted([*anna, *ben]) == list(range(1, 41))


def test_what_cannot_be_labelled_is_refused_with_the_field(settings: Settings) -> None:
    queue = started(settings)
    with pytest.raises(UnknownNameError, match="clarity"):
        started(settings, metric="clairty")
    with pytest.raises(InvalidLabelError, match="outside the scale"):
        labelled(settings, queue, 6)
    with pytest.raises(InvalidLabelError, match="another answer"):
        labelled(settings, queue, 5, answer_hash="f" * 64)
    with pytest.raises(InvalidLabelError, match="Say who labels"):
        next_step(settings, queue, "  ")
    assert next_step(settings, queue, "anna").progress.labelled == 0
