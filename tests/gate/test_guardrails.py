"""Flags, errors, cost and latency fail a run that got much worse, and keep no other from passing."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from compared_runs import MemoryRun, case, run
from gated_runs import gated

from prompt_evaluator.model.gate import GatePolicy, Guardrails

COUNT = 80


def made(
    seed: int,
    *,
    raised: float = 0.0,
    flag: str | None = "rude",
    cost: float | None = None,
    latency: float | None = None,
    **facts: Any,
) -> MemoryRun:
    """A run whose quality is far above any margin's reach, with what guardrails look at."""
    random = Random(seed)
    cases = []
    for at in range(COUNT):
        flags = {flag: (sum(random.random() < raised for _ in range(3)), 3)} if flag else {}
        found = case(f"c{at}", {"quality": [random.choice([3.0, 4.0]) for _ in range(3)]}, flags=flags)
        found = msgspec.structs.replace(
            found,
            cost=None if cost is None else cost * random.uniform(0.8, 1.2),
            latency_ms=None if latency is None else latency * random.lognormvariate(0, 0.3),
        )
        cases.append(found)
    return run(cases, **facts)


LOOSE = GatePolicy(metrics={"quality": 2.0}, guardrails=Guardrails(latency=0.2))


def test_a_flag_that_is_raised_much_more_often_fails() -> None:
    found = gated(made(1), made(2, raised=0.3), LOOSE)

    assert found.verdict == "fail"
    assert found.guardrails["flag rude"].verdict == "fail"
    assert found.guardrails["flag rude"].margin == 0.05
    assert "flag rude" in found.reasons[0]


def test_a_flag_that_is_raised_as_often_does_not_keep_a_run_from_passing() -> None:
    found = gated(made(1, raised=0.2), made(2, raised=0.2), LOOSE)

    assert found.verdict == "pass"
    assert found.guardrails["flag rude"].verdict in ("pass", "inconclusive")


@pytest.mark.parametrize(("flags", "missing"), [(("rude", None), "candidate"), ((None, "rude"), "baseline")])
def test_a_flag_that_only_one_run_has_fails(flags: tuple[str | None, str | None], missing: str) -> None:
    found = gated(made(1, flag=flags[0]), made(2, flag=flags[1]), LOOSE)

    assert found.verdict == "fail"
    assert found.guardrails["flag rude"].missing == missing


@pytest.mark.parametrize("what", ["cost", "latency"])
def test_a_cost_or_latency_that_grows_by_half_fails_and_one_that_stays_does_not(what: str) -> None:
    baseline = made(1, **{what: 100.0})  # type: ignore[arg-type]

    worse = gated(baseline, made(2, **{what: 150.0}), LOOSE)  # type: ignore[arg-type]
    same = gated(baseline, made(3, **{what: 100.0}), LOOSE)  # type: ignore[arg-type]

    assert worse.verdict == "fail"
    assert worse.guardrails[what].margin == pytest.approx(20, rel=0.1)
    assert same.verdict == "pass"
    assert same.guardrails[what].verdict != "fail"


@pytest.mark.parametrize("what", ["cost", "latency"])
def test_a_cost_or_latency_that_only_one_run_has_fails(what: str) -> None:
    found = gated(made(1, **{what: 1.0}), made(2), LOOSE)  # type: ignore[arg-type]

    assert found.verdict == "fail"
    assert found.guardrails[what].missing == "candidate"


def test_what_is_free_in_both_runs_passes() -> None:
    found = gated(made(1, cost=0.0), made(2, cost=0.0), LOOSE)

    assert found.guardrails["cost"].verdict == "pass"
    assert found.guardrails["cost"].difference == 0


def test_errors_are_counted_by_case() -> None:
    few = made(2, samples=3 * COUNT, failed_samples=3)
    many = made(2, samples=3 * COUNT, failed_samples=60)
    none = made(1, samples=3 * COUNT, failed_samples=0)

    assert gated(none, few, LOOSE).guardrails["errors"].verdict == "pass"
    assert gated(none, many, LOOSE).verdict == "fail"
    assert gated(none, made(2), LOOSE).guardrails["errors"].missing == "candidate"
    assert gated(made(1), made(2), LOOSE).guardrails["errors"].verdict == "not_measured"


def test_guardrails_can_be_turned_off_or_changed() -> None:
    off = GatePolicy(metrics={"quality": 2.0}, guardrails=Guardrails(flags=None))
    wide = GatePolicy(metrics={"quality": 2.0}, guardrails=Guardrails(flag_margins={"rude": 0.5}))

    assert "flag rude" not in gated(made(1), made(2, raised=0.3), off).guardrails
    assert gated(made(1), made(2, raised=0.3), wide).verdict == "pass"
    assert gated(made(1), made(2, raised=0.3), wide).guardrails["flag rude"].margin == 0.5


def test_many_flags_rarely_fail_by_chance() -> None:
    failed = 0
    for seed in range(60):
        random = Random(seed)
        sides = [
            run(
                [
                    case(
                        f"c{at}", {"quality": [3.0, 4.0]}, flags={f"f{n}": (random.randint(0, 1), 2) for n in range(12)}
                    )
                    for at in range(40)
                ]
            )
            for _ in range(2)
        ]
        failed += gated(sides[0], sides[1], LOOSE).verdict == "fail"

    assert failed <= 3


def test_the_latency_of_the_mock_is_not_applied() -> None:
    fast, slow = (made(1, latency=latency, synthetic=True) for latency in (10.0, 90.0))

    found = gated(fast, slow, LOOSE)

    assert found.guardrails["latency"].verdict == "not_measured"
    assert found.verdict == "pass"
