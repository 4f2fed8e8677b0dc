"""Comparisons of runs whose truth is known: how often chance alone makes a case or a run look worse."""

from __future__ import annotations

from collections import Counter
from random import Random

from compared_runs import DROPPED, compared, drawn, of_metric, with_drops

CENTRES = [2.2 + at % 20 / 8 for at in range(50)]


def test_another_case_is_among_the_first_seven_by_chance_at_most_once_in_twenty() -> None:
    found = [{row.test_case_id for row in with_drops(seed).cases[:7]} for seed in range(1_000)]

    assert found.count(DROPPED) >= 950


def test_a_second_draw_of_the_same_answers_is_rarely_called_worse_or_better() -> None:
    verdicts = Counter[str]()
    for seed in range(200):
        random = Random(1_000 + seed)
        baseline, candidate = (of_metric(drawn(random, CENTRES, 5)) for _ in range(2))
        verdicts[compared(baseline, candidate).metrics["quality"].verdict] += 1

    assert verdicts["worse"] <= 20
    assert verdicts["better"] <= 20
