from __future__ import annotations

from typing import Any

import msgspec
import pytest
from entries import each

from prompt_evaluator.cli.pairwise_view import pairwise_lines
from prompt_evaluator.cli.text import cells, plain
from prompt_evaluator.compare.pairwise import pairwise_result, strengths
from prompt_evaluator.model.pairwise import Pair, PairwiseReport, PairwiseResult
from prompt_evaluator.reports.pairwise import pairwise_findings

WON, LOST, TIED, FIRST, SECOND = Pair(1, 1), Pair(0, 0), Pair(0.5, 0.5), Pair(1, 0), Pair(0, 1)
IDS = ("aaaaaaaa-1", "bbbbbbbb-2", "cccccccc-3")


def result(*cases: list[Pair], baseline: str = IDS[0], candidate: str = IDS[1], **more: Any) -> PairwiseResult:
    about = {"run_id": "run-4", "status": "completed", "judge_model": "x/judge", "synthetic": False}
    models = {"baseline_model": "x/a", "candidate_model": "x/b"}
    return pairwise_result(cases, baseline=baseline, candidate=candidate, **{**about, **models, **more})


def report(*results: PairwiseResult) -> PairwiseReport:
    runs = IDS[: max(2, len(results))]
    found = strengths(runs, results) if len(runs) > 2 else None
    return PairwiseReport(runs=runs, comparisons=results, strengths=found)


def said(*results: PairwiseResult) -> str:
    lines = pairwise_lines(pairwise_findings(report(*results)), 100)
    return " ".join(plain("\n".join(lines)).split())


@pytest.mark.parametrize(
    ("cases", "sentence", "mark"),
    [
        ([[WON]] * 9 + [[LOST]], "B is better than A: preferred in 90 % (55 % to 99.7 %).", "good"),
        ([[LOST]] * 9 + [[WON]], "B is worse than A: preferred in only 10 % (0.3 % to 45 %).", "bad"),
        ([[WON]] * 2 + [[LOST]], "Cannot tell yet whether B is better than A: preferred in 67 %.", "warning"),
        ([[Pair(None, None)]], "Cannot tell yet: no answer of B was compared with one of A.", "warning"),
    ],
)
def test_the_first_sentence_is_the_verdict(cases: list[list[Pair]], sentence: str, mark: str) -> None:
    (found,) = pairwise_findings(report(result(*cases))).comparisons

    assert (found.text, found.mark) == (sentence, mark)


def test_no_difference_has_no_mark() -> None:
    (found,) = pairwise_findings(report(result(*[[WON, LOST]] * 300, [WON], [LOST]))).comparisons

    assert found.mark is None
    assert found.text.startswith("No difference seen between B and A: B is preferred in 50 %")


def test_the_numbers_behind_it_are_shown() -> None:
    text = said(result([WON, WON], [LOST], [TIED], [FIRST], [Pair(0.5, 0.5, is_same=True)]))

    assert "Cases 1 won, 1 lost, 3 tied; sign test p > 0.99" in text
    assert "Pairs 2 won, 1 lost, 3 tied: 1 because the orders disagree and 1 with the same answers" in text
    assert "first place preferred in both orders in 20 % of 5 pairs, second place in 0 %" in text
    assert "Left out" not in text


@pytest.mark.parametrize(("pair", "place"), [(FIRST, "first"), (SECOND, "second")])
def test_a_large_position_bias_is_said_with_its_place(pair: Pair, place: str) -> None:
    text = said(result(*[[pair]] * 10))

    assert f"Large position bias: in 100 % of the pairs the judge preferred whichever answer came {place}." in text


def test_pairs_that_do_not_count_are_said() -> None:
    text = said(result([WON, Pair(None, 1), Pair(None, None, has_answers=False)]))

    assert "Left out 1 pair could not be judged and 1 pair in which a run has no answer" in text
    assert "resume run-4 --retry-errors" in text


def test_a_comparison_that_is_not_finished_says_so() -> None:
    assert "The comparison is not finished" in said(result([WON], status="aborted"))


def test_a_model_that_judges_itself_against_another_is_pointed_out() -> None:
    own = said(result([WON], judge_model="x/b"))
    both = said(result([WON], judge_model="x/a", candidate_model="x/a"))

    assert "x/b judges its own answers against those of another model" in own
    assert "judges its own" not in both


def test_made_up_preferences_are_called_synthetic() -> None:
    assert "SYNTHETIC" in said(result([WON], synthetic=True))


def test_three_runs_have_strengths_with_letters() -> None:
    text = said(
        result(*[[WON]] * 9, [LOST]),
        result(*[[WON]] * 9, [LOST], candidate=IDS[2]),
        result(*[[WON]] * 6, *[[LOST]] * 4, baseline=IDS[1], candidate=IDS[2]),
    )

    ranking = text.partition("Strength")[2]
    assert ranking.index("C cccccccc") < ranking.index("B bbbbbbbb") < ranking.index("A aaaaaaaa")
    assert "C is better than A" in text


def test_three_runs_of_which_two_were_compared_have_none() -> None:
    unfinished = msgspec.structs.replace(report(result([WON])), runs=IDS)

    assert pairwise_findings(unfinished).no_strengths == "No strengths: not all runs have been compared yet."


@each("width", [40, 80, 160])
def test_lines_fit_the_terminal(width: int) -> None:
    everything = report(
        result(*[[FIRST, Pair(None, 1)]] * 10, judge_model="x/b", status="aborted"),
        result(*[[WON]] * 9, [Pair(None, None, has_answers=False)], candidate=IDS[2], synthetic=True),
        result(*[[WON]] * 6, *[[LOST]] * 4, baseline=IDS[1], candidate=IDS[2]),
    )

    lines = pairwise_lines(pairwise_findings(everything), width)

    assert max(cells(plain(line)) for line in lines) <= width
