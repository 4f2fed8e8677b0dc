"""The installed command with numbers that made it hang, fill the memory or end in a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml
from entries import each
from workspace import REAL

from prompt_evaluator.model import bounds

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Workspace


def test_a_number_out_of_bounds_is_refused_before_any_call(online: Workspace, service: ChatService) -> None:
    by_flag = online.evaluate(*REAL, "-n", "1000000000", timeout=60)
    by_option = online.evaluate(*REAL, "--metrics", "length(max_words=1e9)", timeout=60)
    online.configure(providers={"openai": {"limits": {"max_tries": 1_000_000_000}}})
    by_limit = online.evaluate(*REAL, timeout=60)

    for done, place in ((by_flag, "--num-samples"), (by_option, "'max_words'"), (by_limit, "openai.limits.max_tries")):
        assert (done.code, done.out) == (2, "")
        assert place in done.err
        assert "has to be a whole number from" in done.err
    assert service.paid == 0


def test_the_widest_scale_is_judged(offline: Workspace) -> None:
    least, most, _ = bounds.SCORE
    scale = {"name": "tone", "description": "How kind?", "min_score": least, "max_score": most}
    offline.write("mine.yaml", yaml.safe_dump({"metrics": [scale]}))

    done = offline.evaluate("--rubric", "mine.yaml", "-n", "3")

    (metric,) = done.artifact["overall_metric_stats"].values()
    assert done.code == 0
    assert least <= metric["min_of_means"] <= metric["max_of_means"] <= most


def test_the_most_calls_in_flight_are_possible(offline: Workspace) -> None:
    assert offline.evaluate("-n", "2", "-j", "10000").code == 0


def test_more_results_of_a_case_than_fit_into_memory_are_refused(offline: Workspace) -> None:
    done = offline.evaluate("-n", "10000", "--judge-repeats", "11")

    assert done.code == 2
    product = "1 attempt × 11 judgements make up to 110,000 results"
    assert f"10,000 samples × {product} per case, but the limit is 100,000." in done.err
    assert not (offline.folder / "runs").exists()


@each("name", ["pass@" + "9" * 5_000, "pass@6", "3-of-6", "pass^0", "2-of-1", "2-of-10001"])
def test_a_reducer_of_more_samples_than_there_are_is_refused(offline: Workspace, name: str) -> None:
    done = offline.evaluate("--reducers", name)

    assert done.code == 2
    assert done.err.startswith(f"Error: The reducer '{name[:40]}' cannot be used: ")
    assert len(done.err) < 300


@each("condition", ["cost>1e400", "cost>1_000", "cost<nan", "cases>" + "9" * 5_000], ids=lambda text: text[:20])
def test_a_condition_with_what_is_no_number_is_refused(offline: Workspace, condition: str) -> None:
    done = offline.run("runs", "list", "--where", condition)

    assert done.code == 2
    assert "which is not a number" in done.err
