"""The installed command with numbers that made it hang, fill the memory or end in a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from prompt_evaluator.model import bounds

if TYPE_CHECKING:
    from workspace import Workspace


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
