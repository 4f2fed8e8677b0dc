"""Output of `--estimate`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.estimate import SMALL_CASES, SMALL_SAMPLES
from prompt_evaluator.cli.text import clean, columns, hang, span, tokens, wrap, writable
from prompt_evaluator.model.wording import many, money

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.app.estimate import Amounts, Estimate, Range

_GUTTER = 10
_WIDEST_TEXT = 110


def print_estimate(estimate: Estimate) -> None:
    click.echo(writable(estimate_text(estimate, columns(sys.stdout)), sys.stdout.encoding))


def estimate_text(estimate: Estimate, width: int) -> str:
    """Return the estimate in lines narrower than `width`."""
    width = min(width - 1, _WIDEST_TEXT)
    judge = f", judged by {estimate.judge}" if estimate.judge else ""
    size = f"{many(estimate.cases, 'case')} × {many(estimate.samples, 'sample')}"
    head = clean(f"Estimate for {size} of {estimate.model}{judge}. No call was made.")
    shown = facts(estimate) | {"Time": _time(estimate)}
    return "\n".join([*wrap(head, width), "", *labelled(shown, width), "", *remarks(estimate, estimate, width)])


def facts(estimate: Amounts) -> dict[str, str]:
    """Return the texts shared by the estimates of one run and of a group, by label."""
    return {
        "Calls": _calls(estimate),
        "Tokens": f"{between(estimate.input_tokens, tokens)} in, {between(estimate.output_tokens, tokens)} out",
        "Cost": _cost(estimate),
    }


def labelled(facts: dict[str, str], width: int) -> list[str]:
    return [line for label, text in facts.items() for line in hang(label, wrap(text, width - _GUTTER), _GUTTER)]


def remarks(estimate: Amounts, size: Estimate, width: int) -> list[str]:
    """Return what the numbers leave out, and how to start smaller than `size`."""
    lines = wrap("Retries and repeated judgement requests are not included.", width)
    if size.reuse:
        lines += wrap("With --reuse, calls that earlier runs already made are not repeated, so it may be less.", width)
    if estimate.calls > estimate.small_calls:
        flags = [f"--max-cases {SMALL_CASES}"]
        if size.samples > SMALL_SAMPLES:
            flags.append(f"--num-samples {SMALL_SAMPLES}")
        lines += wrap(f"Start small: {' '.join(flags)} makes {many(estimate.small_calls, 'call')}.", width)
    return lines


def _calls(estimate: Amounts) -> str:
    if not estimate.judgements:
        return f"{estimate.calls:,}"
    return f"{estimate.calls:,}: {many(estimate.answers, 'answer')} and {many(estimate.judgements, 'judgement')}"


def _cost(estimate: Amounts) -> str:
    if estimate.cost is not None:
        return between(estimate.cost, money)
    models = " and ".join(map(clean, estimate.unpriced))
    return f"unknown: no price for {models}. Pass --assume-price, or set one under prices: of its provider"


def _time(estimate: Estimate) -> str:
    alone = f"one call at a time takes {between(estimate.seconds_one_by_one, span)}"
    at_once = f"with {many(estimate.concurrency, 'concurrent call')} of 2 to 3 s"
    reason = f"at {estimate.bound_by}" if estimate.bound_by else at_once
    return f"{between(estimate.seconds, span)} {reason}; {alone}"


def between(found: Range, show: Callable[[float], str]) -> str:
    low, high = show(found.low), show(found.high)
    if low == high:
        return low
    number, _, unit = low.partition(" ")
    return f"{number if unit and high.endswith(f' {unit}') else low} to {high}"
