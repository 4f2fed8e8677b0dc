"""What holds for any two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from compared_runs import MemoryRun, case, compared, run, scores
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import CaseScores, ComparedCase, Comparison, PairedResult

SCALES = {"quality": (1.0, 5.0), "passes": (0.0, 1.0), "odd": (-3.0, 7.5)}
MIRRORED = {"better": "worse", "worse": "better", "no_difference": "no_difference", "inconclusive": "inconclusive"}
OTHER_SIDE = {"baseline": "candidate", "candidate": "baseline", None: None}


@st.composite
def measured(draw: st.DrawFn, low: float, high: float) -> CaseScores:
    value = st.sampled_from([low, high]) | st.integers(int(low), int(high)).map(float) | st.floats(low, high)
    values = draw(st.lists(value, min_size=1, max_size=5))
    return scores(*values, missing=draw(st.integers(0, 2)), known=draw(st.booleans()))


@st.composite
def cases(draw: st.DrawFn, at: int) -> ComparedCase:
    chosen = draw(st.lists(st.sampled_from([*SCALES]), unique=True))
    flags = draw(st.dictionaries(st.sampled_from(["rude", "leaks"]), st.integers(0, 3), max_size=2))
    return case(
        f"case-{at}",
        {name: draw(measured(*SCALES[name])) for name in chosen},
        flags={name: (raised, 3) for name, raised in flags.items()},
        metadata={"level": at % 3, "hard": at % 2 == 0, "tags": ["a", "b"][: at % 3]},
        content=draw(st.sampled_from(["same", "same", "other", None])) if at else None,
    )


@st.composite
def runs(draw: st.DrawFn) -> MemoryRun:
    """The first case is in every run."""
    present = draw(st.lists(st.booleans(), max_size=25))
    found = [draw(cases(at)) for at, there in enumerate([True, *present]) if there]
    facts: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "path": st.just("file.json"),
                "rubric_hash": st.sampled_from([None, "1" * 64]),
                "status": st.sampled_from(["running", None]),
                "scales": st.sampled_from([{}, {"quality": (0.0, 1.0)}]),
                "prompt_text": st.text(),
                "parameters": st.dictionaries(st.text(), st.none() | st.integers() | st.text(), max_size=2),
            },
        )
    )
    return run(found, **({"scales": SCALES} | facts))


@given(runs(), runs())
def test_any_two_runs_with_a_common_case_can_be_compared_and_swapping_them_mirrors_all(
    first: MemoryRun, second: MemoryRun
) -> None:
    forth = compared(first, second, allow_different=True)
    back = compared(second, first, allow_different=True)

    assert forth.common_cases == back.common_cases
    assert forth.slice_comparisons == back.slice_comparisons
    assert forth.metrics.keys() == back.metrics.keys()
    assert forth.flags.keys() == back.flags.keys()
    for one, swapped_one in zip_by_name(forth, back):
        assert_mirrored(one, swapped_one)
    slices = {(each.key, each.value, each.metric): each for each in back.slices}
    assert len(slices) == len(forth.slices)
    for each in forth.slices:
        other = slices[each.key, each.value, each.metric]
        assert (each.cases, each.verdict) == (other.cases, MIRRORED[other.verdict])
        assert each.difference == pytest.approx(-other.difference, abs=1e-9)
    rows = {(row.test_case_id, row.metric): row for row in back.cases}
    assert len(rows) == len(forth.cases) == len(back.cases)
    for row in forth.cases:
        mirrored = rows[row.test_case_id, row.metric]
        swapped = {"worse": "better", "better": "worse"}.get(row.class_, row.class_)
        assert (mirrored.class_, mirrored.p_value) == (swapped, row.p_value)
        assert (mirrored.baseline, mirrored.candidate) == (row.candidate, row.baseline)


@given(runs())
def test_a_run_compared_with_itself_is_never_better_or_worse(only: MemoryRun) -> None:
    comparison = compared(only, only)

    results = [*comparison.metrics.values(), *comparison.flags.values()]
    assert {result.verdict for result in results} <= {"no_difference", "inconclusive"}
    assert {row.class_ for row in comparison.cases} <= {"same", "too_few"}
    assert comparison.differs == {}
    assert all(result.verdict == "inconclusive" for result in results if result.cases <= 5)


def zip_by_name(forth: Comparison, back: Comparison) -> list[tuple[PairedResult, PairedResult]]:
    pairs: list[tuple[PairedResult, PairedResult]] = [
        (found, back.metrics[name]) for name, found in forth.metrics.items()
    ]
    return pairs + [(found, back.flags[name]) for name, found in forth.flags.items()]


def assert_mirrored(one: PairedResult, other: PairedResult) -> None:
    assert (one.cases, one.wins, one.losses, one.ties) == (other.cases, other.losses, other.wins, other.ties)
    assert (one.method, one.missing) == (other.method, OTHER_SIDE[other.missing])
    assert one.verdict == (other.verdict if one.missing else MIRRORED[other.verdict])
    assert (one.more_cases_needed, one.detectable) == (other.more_cases_needed, other.detectable)
    if one.difference is not None:
        assert other.difference == pytest.approx(-one.difference, abs=1e-9)
        assert other.p_value == pytest.approx(one.p_value)
    if one.low is not None and one.high is not None:
        assert [other.low, other.high] == pytest.approx([-one.high, -one.low], abs=1e-9)
