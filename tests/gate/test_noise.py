"""Pass, fail or inconclusive: what the gate decides, and what it refuses to decide."""

from __future__ import annotations

from random import Random

import msgspec
import pytest
from compared_runs import LIKERT, MemoryRun, case, drawn, of_metric, run, scores
from gated_runs import METRICS_ONLY, NO_RAILS, gated

from prompt_evaluator.errors import IncomparableError, UnknownNameError
from prompt_evaluator.model.comparison import ComparedCase
from prompt_evaluator.model.gate import GatePolicy, Guardrails

CENTRES = [2.4 + at % 20 / 9 for at in range(60)]
SHARE = {"passes": (0.0, 1.0)}


def noisy(seed: int, shift: float = 0.0, samples: int = 5) -> MemoryRun:
    return of_metric(drawn(Random(seed), [centre + shift for centre in CENTRES], samples))


def passes(count: int, of: int, samples: int = 1) -> MemoryRun:
    values = [[1.0] * samples] * count + [[0.0] * samples] * (of - count)
    return of_metric(values, "passes", scales=SHARE)


def test_a_clear_drop_fails() -> None:
    found = gated(noisy(1), noisy(2, -0.5))

    assert (found.verdict, found.exit_code) == ("fail", 1)
    metric = found.metrics["quality"]
    assert metric.difference is not None
    assert metric.difference < -metric.margin
    assert metric.margin == pytest.approx(0.1)
    assert metric.more_samples is None
    assert "quality" in found.reasons[0]


def test_a_clear_gain_passes() -> None:
    found = gated(noisy(1), noisy(2, 0.4))

    assert (found.verdict, found.exit_code) == ("pass", 0)
    assert found.metrics["quality"].low is not None
    assert found.metrics["quality"].low > -0.1


def test_too_little_data_is_inconclusive_and_says_what_would_decide() -> None:
    baseline, candidate = (of_metric(drawn(Random(seed), CENTRES[:12], 3)) for seed in (1, 4))

    found = gated(baseline, candidate)

    metric = found.metrics["quality"]
    assert (found.verdict, found.exit_code) == ("inconclusive", 4)
    assert metric.more_cases is not None
    assert metric.more_cases > 0
    assert metric.smallest_drop is not None
    assert metric.smallest_drop > metric.margin
    assert "more cases" in found.reasons[0]


def test_as_many_cases_as_would_decide_usually_pass_if_nothing_changed() -> None:
    baseline, candidate = (of_metric(drawn(Random(seed), CENTRES[:20], 3)) for seed in (5, 6))
    few = gated(baseline, candidate).metrics["quality"]
    assert few.more_cases is not None
    many = [2.4 + at % 20 / 9 for at in range(20 + few.more_cases)]

    verdicts = [
        gated(of_metric(drawn(random, many, 3)), of_metric(drawn(random, many, 3))).verdict
        for random in map(Random, range(20))
    ]

    assert verdicts.count("pass") >= 12
    assert verdicts.count("fail") <= 2


@pytest.mark.parametrize("count", [1, 4])
def test_fewer_than_five_cases_never_decide(count: int) -> None:
    found = gated(of_metric([[5.0, 5.0]] * count), of_metric([[1.0, 1.0]] * count))

    metric = found.metrics["quality"]
    assert found.verdict == "inconclusive"
    assert (metric.low, metric.high, metric.p_value) == (None, None, None)
    assert metric.more_cases == 5 - count


def test_identical_runs_pass_only_if_enough_cases_are_alike() -> None:
    assert gated(passes(58, 58), passes(58, 58)).verdict == "inconclusive"
    assert gated(passes(60, 60), passes(60, 60)).verdict == "pass"


def test_the_number_of_equal_cases_that_would_decide_is_right() -> None:
    few = gated(passes(20, 20, 3), passes(20, 20, 3)).metrics["passes"]
    assert few.more_cases is not None
    enough = 20 + few.more_cases

    assert gated(passes(enough, enough, 3), passes(enough, enough, 3)).verdict == "pass"
    assert gated(passes(enough - 1, enough - 1, 3), passes(enough - 1, enough - 1, 3)).verdict == "inconclusive"


def test_a_slightly_worse_run_is_never_surer_than_an_identical_one() -> None:
    """One case of 20 that drops a little has a small spread, which does not show that others do not drop."""
    baseline = of_metric([[4.0, 4.0]] * 20)
    candidate = of_metric([[4.0, 4.0]] * 19 + [[3.5, 3.5]])

    assert gated(baseline, baseline).verdict == "inconclusive"
    assert gated(baseline, candidate).verdict == "inconclusive"


def test_four_cases_that_drop_are_no_evidence_whatever_their_size() -> None:
    found = gated(passes(20, 20, 3), passes(16, 20, 3)).metrics["passes"]

    assert found.verdict == "inconclusive"
    assert found.p_value == pytest.approx(1 / 16)


def test_passes_and_failures_with_one_sample_are_tested_exactly() -> None:
    found = gated(passes(20, 20), passes(14, 20)).metrics["passes"]

    assert found.method == "exact_paired"
    assert found.p_value == pytest.approx(0.5**6)
    assert found.verdict == "fail"


def test_rates_have_a_margin_of_5_points_and_other_scales_one_in_proportion() -> None:
    cases = [case(f"c{at}", {"rate": [1.0], "stars": [3.0], "score": [50.0]}) for at in range(6)]
    found = gated(*(run(cases, scales={"rate": (0.0, 1.0), "stars": (1.0, 5.0), "score": (0.0, 100.0)}),) * 2)

    margins = {name: each.margin for name, each in found.metrics.items()}
    assert margins == pytest.approx({"rate": 0.05, "stars": 0.1, "score": 2.5})


def test_a_metric_that_only_one_run_has_fails() -> None:
    both = [case(f"c{at}", {"quality": [3.0], "tone": [3.0]}) for at in range(30)]
    one = [case(f"c{at}", {"quality": [3.0]}) for at in range(30)]

    for baseline, candidate, missing in ((both, one, "candidate"), (one, both, "baseline")):
        found = gated(run(baseline), run(candidate))

        assert found.verdict == "fail"
        assert found.metrics["tone"].missing == missing
        assert found.metrics["tone"].verdict == "fail"
        assert any("tone" in reason and missing in reason for reason in found.reasons)


def test_the_policy_chooses_the_metrics_and_their_margins() -> None:
    policy = GatePolicy(metrics={"quality": 1.0}, guardrails=NO_RAILS)

    found = gated(noisy(1), noisy(2, -0.5), policy)

    assert found.verdict == "pass"
    assert found.metrics["quality"].margin == 1.0


def test_a_metric_that_the_policy_misspells_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'quality'"):
        gated(noisy(1), noisy(2), GatePolicy(metrics={"qualty": None}))


def test_a_flag_can_decide_like_a_metric() -> None:
    cases = [[case(f"c{at}", {}, flags={"rude": (raised, 3)}) for at in range(40)] for raised in (0, 2)]
    policy = GatePolicy(metrics={"rude": 0.1}, guardrails=NO_RAILS)

    found = gated(run(cases[0]), run(cases[1]), policy)

    assert found.verdict == "fail"
    assert found.metrics["rude"].lower_is_better
    assert found.metrics["rude"].difference == pytest.approx(2 / 3)
    assert gated(run(cases[1]), run(cases[0]), policy).verdict == "pass"


def test_no_common_case_and_no_score_are_refused() -> None:
    with pytest.raises(IncomparableError, match="no test case in common"):
        gated(run([case("a", {"quality": [1.0]})]), run([case("b", {"quality": [1.0]})]))
    with pytest.raises(IncomparableError, match="neither has a score"):
        gated(run([case("a", {})]), run([case("a", {})]))


def test_other_datasets_and_other_cases_are_refused_unless_allowed() -> None:
    other = of_metric([[3.0]] * 10, dataset_hash="0" * 64)
    with pytest.raises(IncomparableError, match="different datasets"):
        gated(of_metric([[3.0]] * 10), other)
    fewer = of_metric([[3.0]] * 9, dataset_hash=None)
    with pytest.raises(IncomparableError, match="1 case missing"):
        gated(of_metric([[3.0]] * 10), fewer)

    assert gated(of_metric([[3.0]] * 10), other, allow_different=True).cases == 10
    assert gated(of_metric([[3.0]] * 10), fewer, allow_different=True).cases == 9


def test_different_scales_are_refused() -> None:
    ours = of_metric([[3.0]] * 10)
    theirs = of_metric([[3.0]] * 10, scales={"quality": (0.0, 10.0)})

    with pytest.raises(IncomparableError, match="its scale is 1 to 5 in the baseline and 0 to 10"):
        gated(ours, theirs)


def test_a_case_that_falls_below_the_minimum_fails_and_one_that_was_below_does_not() -> None:
    policy = GatePolicy(guardrails=NO_RAILS, case_minimum={"quality": 2.0})
    baseline = of_metric([[4.0, 4.0]] * 40 + [[1.0, 1.0]])
    candidate = of_metric([[4.0, 4.0]] * 39 + [[1.0, 2.0], [1.0, 1.0]])

    found = gated(baseline, candidate, policy)

    assert found.verdict == "fail"
    assert [each.test_case_id for each in found.fallen_cases] == ["case-39"]
    assert found.fallen == 1
    assert gated(candidate, candidate, policy).fallen == 0


def sliced(drop: float, seed: int) -> MemoryRun:
    """Cases of three topics, of which one drops."""
    random = Random(seed)
    values = drawn(random, [4.0 - (drop if at % 3 == 0 else 0.0) for at in range(90)], 5)
    return run([case(f"c{at}", {"quality": each}, metadata={"topic": "abc"[at % 3]}) for at, each in enumerate(values)])


def test_a_slice_that_drops_fails_even_if_the_whole_does_not() -> None:
    policy = GatePolicy(metrics={"quality": 0.6}, guardrails=NO_RAILS, slices=("topic",))

    found = gated(sliced(0, 1), sliced(1.2, 2), policy)

    assert found.verdict == "fail"
    assert [(each.value, each.verdict) for each in found.slices if each.verdict == "fail"] == [("a", "fail")]
    assert found.metrics["quality"].verdict != "fail"
    assert "topic = a" in " ".join(found.reasons)


def test_a_key_that_no_case_has_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'topic'"):
        gated(sliced(0, 1), sliced(0, 2), GatePolicy(slices=("topics",)))


class TestErrors:
    def with_missing(self, seed: int, missing: int, shift: float = 0.0) -> MemoryRun:
        values = drawn(Random(seed), [centre + shift for centre in CENTRES], 5)
        cases = [
            case(f"case-{at}", {"quality": scores(*each, missing=1 if at < missing else 0)})
            for at, each in enumerate(values)
        ]
        return run(cases)

    def test_a_few_errors_do_not_matter_if_the_verdict_is_clear(self) -> None:
        assert gated(noisy(1), self.with_missing(2, 1, -0.6)).verdict == "fail"
        assert gated(noisy(1), self.with_missing(2, 1, 0.6)).verdict == "pass"

    def test_errors_that_could_change_the_verdict_refuse_it(self) -> None:
        found = gated(noisy(1), self.with_missing(2, 30))

        assert (found.verdict, found.exit_code) == (None, 3)
        assert found.metrics["quality"].unscored == (0, 30)
        assert "neither passes nor failures" in found.reasons[0]
        assert "--retry-errors" in found.reasons[0]

    def test_a_run_without_any_score_because_of_errors_is_refused_not_failed(self) -> None:
        failed = [ComparedCase(f"case-{at}", "same", {}, {}, {}, None, {"quality": 5}) for at in range(60)]

        found = gated(noisy(1), run(failed))

        assert (found.verdict, found.exit_code) == (None, 3)

    def test_a_guardrail_that_fails_is_not_changed_by_missing_scores(self) -> None:
        baseline, candidate = noisy(1), self.with_missing(2, 30)
        facts = {"samples": 300, "cases": 60}
        baseline.facts = msgspec.structs.replace(baseline.facts, failed_samples=0, **facts)
        candidate.facts = msgspec.structs.replace(candidate.facts, failed_samples=90, **facts)

        found = gated(baseline, candidate, GatePolicy())

        assert found.verdict == "fail"
        assert found.guardrails["errors"].verdict == "fail"


def test_inconclusive_can_be_made_to_pass_or_fail() -> None:
    found = gated(of_metric([[3.0]] * 8), of_metric([[3.0]] * 8))

    assert found.verdict == "inconclusive"
    assert [found.with_inconclusive(wished).exit_code for wished in ("pass", "fail", "4")] == [0, 1, 4]
    assert found.with_inconclusive("pass").verdict == "inconclusive"
    assert gated(noisy(1), noisy(2, -0.6)).with_inconclusive("pass").exit_code == 1


def test_several_metrics_are_corrected_for_failing_but_not_for_passing() -> None:
    random = Random(3)
    names = [f"m{at}" for at in range(10)]
    scales = dict.fromkeys(names, LIKERT)
    ours, theirs = (
        [case(f"c{at}", {name: drawn(random, [3.0 + shift], 3)[0] for name in names}) for at in range(60)]
        for shift in (0.0, 0.0)
    )
    alone = GatePolicy(metrics={"m0": 0.01}, guardrails=NO_RAILS)

    together = gated(run(ours, scales=scales), run(theirs, scales=scales))
    single = gated(run(ours, scales=scales), run(theirs, scales=scales), alone)

    first, only = together.metrics["m0"], single.metrics["m0"]
    assert (first.low, first.high) == (only.low, only.high)
    assert first.p_value is not None
    assert only.p_value is not None
    assert first.p_value >= only.p_value


def test_guardrails_that_neither_run_measured_are_listed_and_not_applied() -> None:
    found = gated(noisy(1), noisy(2, 0.5), GatePolicy())

    assert {name: each.verdict for name, each in found.guardrails.items()} == {
        "errors": "not_measured",
        "cost": "not_measured",
    }
    assert found.verdict == "pass"


def test_the_default_policy_is_the_documented_one() -> None:
    policy = GatePolicy()

    assert policy.level == 0.05
    assert policy.guardrails == Guardrails(level=0.01, flags=0.05, errors=0.05, cost=0.2, latency=None)
    assert METRICS_ONLY.metrics is None
