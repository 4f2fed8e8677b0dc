"""The installed command with numbers that made it hang, fill the memory or end in a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from workspace import REAL

from prompt_evaluator.model import bounds

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Done, Workspace

    from prompt_evaluator.model.bounds import Bound


def refused(done: Done, place: str, bound: Bound) -> None:
    assert (done.code, done.out) == (2, "")
    assert place in done.err
    assert bound.words in done.err
    assert len(done.err) < 500


@pytest.mark.parametrize(
    ("arguments", "place", "bound"),
    [
        (("-n", "1000000000"), "'--num-samples' / '-n'", bounds.SAMPLES),
        (("-j", "10000000"), "'--max-concurrency' / '-j'", bounds.CONCURRENCY),
        (("--judge-repeats", "1000000000"), "'--judge-repeats'", bounds.JUDGE_REPEATS),
        (("--attempts", "1000000000"), "'--attempts'", bounds.ATTEMPTS),
        (("--max-cost", "nan"), "'--max-cost'", bounds.BUDGET),
        (("--temperature", "-0.0"), "'--temperature' / '-t'", bounds.TEMPERATURE),
        (("--seed", "9" * 5_000), "'--seed'", bounds.SEED),
        (("--metrics", "length(max_words=1e9)"), "'max_words' of the metric 'length'", bounds.LENGTH),
        (("--metrics", "numeric(abs_tolerance=-1)"), "'abs_tolerance' of the metric 'numeric'", bounds.TOLERANCE),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "",
)
def test_a_flag_is_refused_before_any_call(
    online: Workspace, service: ChatService, arguments: tuple[str, ...], place: str, bound: Bound
) -> None:
    done = online.evaluate(*REAL, *arguments, timeout=60)

    refused(done, place, bound)
    assert service.paid == 0


@pytest.mark.parametrize(
    ("limit", "value", "bound"),
    [
        ("max_tries", 1_000_000_000, bounds.TRIES),
        ("max_concurrency", 10_000_000, bounds.CONCURRENCY),
        ("try_timeout", 1e-9, bounds.TIMEOUT),
        ("deadline", 1e-9, bounds.TIMEOUT),
    ],
)
def test_a_limit_is_refused_before_any_call(
    online: Workspace, service: ChatService, limit: str, value: float, bound: Bound
) -> None:
    online.configure(providers={"openai": {"limits": {limit: value}}})

    done = online.evaluate(*REAL, timeout=60)

    refused(done, f"`providers.openai.limits.{limit}`", bound)
    assert service.paid == 0


def test_a_scale_that_would_overflow_is_refused(offline: Workspace) -> None:
    scale = {"name": "tone", "description": "How kind?", "min_score": -1e308, "max_score": 1e308}
    offline.write("mine.yaml", yaml.safe_dump({"metrics": [scale]}))

    refused(offline.evaluate("--rubric", "mine.yaml"), "min_score of 'tone'", bounds.SCORE)


def test_the_widest_scale_is_judged(offline: Workspace) -> None:
    scale = {
        "name": "tone",
        "description": "How kind?",
        "min_score": bounds.SCORE.least,
        "max_score": bounds.SCORE.most,
    }
    offline.write("mine.yaml", yaml.safe_dump({"metrics": [scale]}))

    done = offline.evaluate("--rubric", "mine.yaml", "-n", "3")

    (metric,) = done.artifact["overall_metric_stats"].values()
    assert done.code == 0
    assert bounds.SCORE.least <= metric["min_of_means"] <= metric["max_of_means"] <= bounds.SCORE.most


def test_the_most_calls_in_flight_are_possible(offline: Workspace) -> None:
    assert offline.evaluate("-n", "2", "-j", "10000").code == 0


@pytest.mark.parametrize(
    ("more", "product"),
    [
        (("--judge-repeats", "101"), "1 attempts × 101 judgements make up to 101,000 results"),
        (("--attempts", "99", "--judge-repeats", "2"), "99 attempts × 2 judgements make up to 198,000 results"),
    ],
)
def test_more_results_of_a_case_than_fit_into_memory_are_refused(
    offline: Workspace, more: tuple[str, ...], product: str
) -> None:
    done = offline.evaluate("-n", "1000", *more)

    assert done.code == 2
    assert f"1,000 samples × {product} per case, but the limit is 100,000." in done.err
    assert not (offline.folder / "runs").exists()


@pytest.mark.parametrize("name", ["pass@" + "9" * 5_000, "pass@6", "3-of-6", "pass^0", "2-of-1"], ids=len)
def test_a_reducer_of_more_samples_than_there_are_is_refused(offline: Workspace, name: str) -> None:
    done = offline.evaluate("--reducers", name)

    assert done.code == 2
    assert done.err.startswith(f"Error: The reducer '{name[:40]}' cannot be used: ")
    assert len(done.err) < 300


@pytest.mark.parametrize("name", ["pass@1000000000", "pass^0", "2-of-10001", "pass@" + "9" * 5_000], ids=len)
def test_the_numbers_of_a_reducer_have_the_bounds_of_samples(offline: Workspace, name: str) -> None:
    done = offline.evaluate("--reducers", name)

    refused(done, f"The reducer '{name[:40]}' cannot be used: ", bounds.SAMPLES)


@pytest.mark.parametrize("condition", ["cost>1e400", "cost>1_000", "cost<nan", "cases>" + "9" * 5_000], ids=len)
def test_a_condition_with_what_is_no_number_is_refused(offline: Workspace, condition: str) -> None:
    done = offline.run("runs", "list", "--where", condition)

    assert done.code == 2
    assert "which is not a number" in done.err
