"""What holds for any two runs and any policy."""

from __future__ import annotations

import math

import msgspec
from compared_runs import MemoryRun, of_metric
from gated_runs import NO_RAILS, gated
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.model.gate import GatePolicy, MetricResult

ORDER = {"fail": 0, "inconclusive": 1, "pass": 2}
SCALE = {"quality": (0.0, 10.0)}
halves = st.integers(4, 12).map(lambda value: value / 2)
values = st.lists(st.lists(halves, min_size=2, max_size=2), min_size=1, max_size=30)
pairs = st.lists(st.tuples(*(st.lists(halves, min_size=2, max_size=2),) * 2), min_size=1, max_size=30)
Pairs = list[tuple[list[float], list[float]]]


def of(found: Pairs, side: int, shift: float = 0.0) -> MemoryRun:
    return of_metric([[value + shift for value in pair[side]] for pair in found], scales=SCALE)


def judged(found: Pairs, margin: float = 0.5, shift: float = 0.0, sides: tuple[int, int] = (0, 1)) -> MetricResult:
    policy = GatePolicy(metrics={"quality": margin}, guardrails=NO_RAILS)
    return gated(of(found, sides[0], shift), of(found, sides[1], shift), policy).metrics["quality"]


@given(found=pairs, margins=st.tuples(st.floats(0, 3), st.floats(0, 3)))
def test_a_wider_margin_never_makes_a_verdict_worse(found: Pairs, margins: tuple[float, float]) -> None:
    narrow, wide = (judged(found, margin) for margin in sorted(margins))

    assert ORDER[narrow.verdict] <= ORDER[wide.verdict]


@given(found=pairs, shift=st.sampled_from([-1.0, 0.5, 2.0]))
def test_the_same_constant_in_both_runs_changes_nothing(found: Pairs, shift: float) -> None:
    before, after = judged(found), judged(found, shift=shift)

    assert before.verdict == after.verdict
    for name in ("difference", "low", "high", "p_value"):
        first, second = getattr(before, name), getattr(after, name)
        assert (first is None) == (second is None)
        assert first is None or math.isclose(first, second, abs_tol=1e-9)


@given(found=pairs)
def test_swapped_runs_have_the_mirrored_interval_and_never_both_fail(found: Pairs) -> None:
    one, other = judged(found), judged(found, sides=(1, 0))

    assert one.difference is not None
    assert other.difference is not None
    assert math.isclose(one.difference, -other.difference, abs_tol=1e-12)
    if one.low is not None and one.high is not None and other.low is not None and other.high is not None:
        assert math.isclose(one.low, -other.high, abs_tol=1e-9)
        assert math.isclose(one.high, -other.low, abs_tol=1e-9)
    assert (one.verdict, other.verdict) != ("fail", "fail")


@given(found=pairs)
def test_the_difference_lies_in_its_interval_and_verdicts_follow_from_the_numbers(found: Pairs) -> None:
    one = judged(found)

    assert one.difference is not None
    if one.low is None or one.high is None:
        assert one.verdict == "inconclusive"
        return
    assert one.low - 1e-9 <= one.difference <= one.high + 1e-9
    assert (one.verdict == "pass") == (one.low > -one.margin)
    if one.verdict == "fail":
        assert one.p_value is not None
        assert one.p_value < 0.05
        assert one.difference < -one.margin


@given(found=pairs)
def test_a_result_can_be_written_and_read_as_json(found: Pairs) -> None:
    policy = GatePolicy(guardrails=NO_RAILS)
    result = gated(of(found, 0), of(found, 1), policy)

    assert msgspec.json.decode(msgspec.json.encode(result), type=type(result)) == result
