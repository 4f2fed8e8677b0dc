"""What to say about runs that a judge has compared answer by answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.model.findings import Findings, NextStep, Note
from prompt_evaluator.model.pairwise import PairwiseFinding, PairwiseFindings, StrengthFinding
from prompt_evaluator.model.wording import listed, many, p_value, percent, signed
from prompt_evaluator.reports.comparison_verdicts import MARKS
from prompt_evaluator.reports.facts import facts
from prompt_evaluator.reports.headline import headline
from prompt_evaluator.reports.next_step import command, continuation
from prompt_evaluator.reports.several import letter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prompt_evaluator.model import RunPlan, RunRecord
    from prompt_evaluator.model.findings import Files
    from prompt_evaluator.model.pairwise import PairwiseReport, PairwiseResult, PairwiseStrength, PositionBias
    from prompt_evaluator.model.result import RunResult
    from prompt_evaluator.reports.next_step import Reader

_SHORT_ID = 8
_TWO = 2
_SYNTHETIC = "SYNTHETIC: made up offline by the mock. These are not a model's preferences."
_UNRANKED = "No strengths: not all runs have been compared yet."


def pairwise_findings(report: PairwiseReport) -> PairwiseFindings:
    """What to say about every two of the runs, and about all of them."""
    judges = dict.fromkeys(result.judge_model for result in report.comparisons)
    letters = {run: letter(at) for at, run in enumerate(report.runs)}
    is_synthetic = any(result.synthetic for result in report.comparisons)
    return PairwiseFindings(
        headline=f"Answers compared side by side, in both orders, by {listed(judges)}.",
        synthetic=_SYNTHETIC if is_synthetic else None,
        comparisons=tuple(_finding(result, letters) for result in report.comparisons),
        strengths=tuple(_strength(each, letters) for each in report.strengths or ()),
        no_strengths=_UNRANKED if len(report.runs) > _TWO and not report.strengths else None,
    )


def pairwise_run_findings(record: RunRecord, result: RunResult, files: Files, reader: Reader) -> Findings:
    """What to say about the run of a pairwise comparison; what it means is shown by the comparison."""
    known = facts(record.plan, result)
    incomplete = record.status == "aborted" or result.totals.errors
    return Findings(
        headline=headline(record, result, None),
        no_scores=Note(code="pairwise", text="The command below shows which run is preferred. It makes no new calls."),
        facts=msgspec.structs.replace(known, worst=(), flakiest=(), confidence=None),
        files=files,
        next_step=continuation(record.plan, result, reader) if incomplete else _comparison(record.plan, reader),
    )


def _comparison(plan: RunPlan, reader: Reader) -> NextStep:
    compared = (plan.baseline_run_id or "", plan.parent_run_id or "")
    judge = ("--judge-model", plan.judge.model) if plan.judge else ()
    return command("compare", reader, "compare", *compared, "--pairwise", *judge)


def _finding(result: PairwiseResult, letters: Mapping[str, str]) -> PairwiseFinding:
    return PairwiseFinding(
        mark=MARKS[result.verdict],
        text=_sentence(result, letters[result.baseline], letters[result.candidate]),
        facts=tuple(_facts(result)),
        warnings=tuple(_warnings(result)),
    )


def _sentence(result: PairwiseResult, baseline: str, candidate: str) -> str:
    if result.win_rate is None:
        return f"Cannot tell yet: no answer of {candidate} was compared with one of {baseline}."
    share = f"{percent(result.win_rate)}{_interval(result.low, result.high)}"
    if result.verdict == "better":
        return f"{candidate} is better than {baseline}: preferred in {share}."
    if result.verdict == "worse":
        return f"{candidate} is worse than {baseline}: preferred in only {share}."
    if result.verdict == "no_difference":
        return f"No difference seen between {candidate} and {baseline}: {candidate} is preferred in {share}."
    return f"Cannot tell yet whether {candidate} is better than {baseline}: preferred in {share}."


def _facts(result: PairwiseResult) -> Iterator[tuple[str, str]]:
    if result.pairs:
        test = "" if result.p_value is None else f"; sign test {p_value(result.p_value)}"
        yield "Cases", _score(result.case_wins, result.case_losses, result.case_ties) + test
        why = [
            f"{count:,} {words}"
            for count, words in (
                (result.disagreements, "because the orders disagree"),
                (result.same, "with the same answers"),
            )
            if count
        ]
        yield "Pairs", _score(result.wins, result.losses, result.ties) + (f": {listed(why)}" if why else "")
    if (bias := result.position_bias).pairs:
        yield "Position", _bias_text(bias)
    left_out = [
        f"{many(count, 'pair')} {words}"
        for count, words in (
            (result.unjudged, "could not be judged"),
            (result.missing, "in which a run has no answer"),
        )
        if count
    ]
    if left_out:
        yield "Left out", listed(left_out)


def _warnings(result: PairwiseResult) -> Iterator[str]:
    if result.status == "aborted":
        yield "The comparison is not finished: the numbers cover only the pairs judged so far."
    bias = result.position_bias
    if bias.large:
        place = "first" if bias.first >= bias.second else "second"
        share = percent((bias.first_share if place == "first" else bias.second_share) or 0)
        yield (
            f"Large position bias: in {share} of the pairs the judge preferred whichever answer came {place}. These "
            "pairs count as ties and hide differences. Try another judge with --judge-model."
        )
    if result.judge_model in {result.baseline_model, result.candidate_model} and _has_two_models(result):
        yield (
            f"{result.judge_model} judges its own answers against those of another model, and models tend to favour "
            "their own. Try another judge with --judge-model."
        )
    if result.unjudged:
        yield f"Pairs that could not be judged can be tried again: resume {result.run_id} --retry-errors."


def _has_two_models(result: PairwiseResult) -> bool:
    return not result.synthetic and result.baseline_model != result.candidate_model


def _bias_text(bias: PositionBias) -> str:
    first = f"{percent(bias.first_share or 0)}{_interval(bias.first_low, bias.first_high)}"
    second = f"{percent(bias.second_share or 0)}{_interval(bias.second_low, bias.second_high)}"
    pairs = many(bias.pairs, "pair")
    return f"first place preferred in both orders in {first} of {pairs}, second place in {second}"


def _strength(found: PairwiseStrength, letters: Mapping[str, str]) -> StrengthFinding:
    return StrengthFinding(
        name=f"{letters[found.run_id]}  {found.run_id[:_SHORT_ID]}",
        strength=signed(found.strength, 2),
        interval=f"{signed(found.low, 2)} to {signed(found.high, 2)}",
        chance=percent(found.win_chance),
    )


def _score(wins: int, losses: int, ties: int) -> str:
    return f"{wins:,} won, {losses:,} lost, {ties:,} tied"


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({percent(low)} to {percent(high)})"
