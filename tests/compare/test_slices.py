"""Groups of cases, by their metadata."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from compared_runs import MemoryRun, case, compared, drawn, run

from prompt_evaluator.errors import ConfigurationError, UnknownNameError


def topical(values: list[list[float]], metadata: list[dict[str, Any]]) -> MemoryRun:
    pairs = enumerate(zip(values, metadata, strict=True))
    return run([case(f"case-{at}", {"quality": found}, metadata=of) for at, (found, of) in pairs])


def two_runs(metadata: list[dict[str, Any]], lower: float = 0.0) -> tuple[MemoryRun, MemoryRun]:
    """The candidate is lower in cases about billing."""
    random, count = Random(2), len(metadata)
    centres = [3.5 - (lower if of.get("topic") == "billing" else 0) for of in metadata]
    return topical(drawn(random, [3.5] * count, 4), metadata), topical(drawn(random, centres, 4), metadata)


def test_a_slice_that_dropped_is_found_and_is_the_first() -> None:
    metadata = [{"topic": "billing" if at % 3 == 0 else "account"} for at in range(60)]

    comparison = compared(*two_runs(metadata, lower=1.2))

    first, second = comparison.slices
    assert (first.key, first.value, first.metric, first.cases, first.verdict) == (
        "topic",
        "billing",
        "quality",
        20,
        "worse",
    )
    assert first.candidate_mean - first.baseline_mean == pytest.approx(first.difference)
    assert (second.value, second.verdict) == ("account", "inconclusive")
    assert comparison.slice_comparisons == 2


def test_p_values_are_corrected_for_all_slices() -> None:
    metadata = [{"topic": "billing" if at % 3 == 0 else "account", "half": at % 2 == 0} for at in range(60)]
    alone = compared(*two_runs(metadata, lower=0.5), slices=("topic",))
    together = compared(*two_runs(metadata, lower=0.5))

    values = [next(each.p_value for each in found.slices if each.value == "billing") for found in (alone, together)]

    assert (alone.slice_comparisons, together.slice_comparisons) == (2, 4)
    assert values[0] is not None
    assert values[1] == pytest.approx(2 * values[0])


def test_a_slice_of_fewer_than_five_cases_is_shown_but_not_tested() -> None:
    metadata = [{"topic": "billing" if at < 4 else "account"} for at in range(20)]

    comparison = compared(*two_runs(metadata, lower=2))

    small = next(each for each in comparison.slices if each.value == "billing")
    assert (small.cases, small.p_value, small.low, small.verdict) == (4, None, None, "inconclusive")
    assert comparison.slice_comparisons == 1


def test_keys_that_do_not_divide_the_cases_into_a_few_groups_are_left_out() -> None:
    metadata = [
        {
            "id": f"number {at}",
            "topic": "billing",
            "weight": at % 2 / 2,
            "nested": {"a": at % 2},
            "nothing": None,
            "level": at % 3,
        }
        for at in range(30)
    ]

    comparison = compared(*two_runs(metadata))

    assert {(each.key, each.value) for each in comparison.slices} == {("level", "0"), ("level", "1"), ("level", "2")}


def test_every_tag_of_a_case_is_a_slice() -> None:
    metadata = [{"tags": ["hard", "new"] if at % 2 else ["new"]} for at in range(20)]

    comparison = compared(*two_runs(metadata))

    assert {(each.value, each.cases) for each in comparison.slices} == {("hard", 10), ("new", 20)}


def test_true_and_false_are_written_as_in_json() -> None:
    comparison = compared(*two_runs([{"hard": at % 2 == 0} for at in range(20)]))

    assert {each.value for each in comparison.slices} == {"true", "false"}


def test_a_key_that_is_asked_for_may_have_many_values() -> None:
    metadata = [{"topic": f"topic {at // 2}", "level": 1} for at in range(60)]

    comparison = compared(*two_runs(metadata), slices=("topic",))

    assert len(comparison.slices) == 30
    assert comparison.slice_comparisons == 0


def test_a_mistyped_key_is_refused_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match=r"no metadata key 'topics'\. Did you mean 'topic'"):
        compared(*two_runs([{"topic": "a"}] * 6), slices=("topics",))


def test_a_key_with_too_many_values_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot be sliced by 'id': it has more than 200 values"):
        compared(*two_runs([{"id": at} for at in range(300)]), slices=("id",))


def test_metadata_of_a_run_that_has_none_is_taken_from_the_other() -> None:
    with_topics, _ = two_runs([{"topic": "abc"[at % 3]} for at in range(30)])
    without, _ = two_runs([{}] * 30)

    assert len(compared(without, with_topics).slices) == 3


def test_a_new_key_in_every_case_does_not_fill_the_memory() -> None:
    metadata = [{f"key {at}": at % 2} for at in range(400)]

    with pytest.raises(UnknownNameError) as refused:
        compared(*two_runs(metadata), slices=("other",))

    assert len(refused.value.known) == 100
