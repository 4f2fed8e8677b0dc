"""Estimates what several runs will take, individually and together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.estimate import Amounts, Estimate, total

if TYPE_CHECKING:
    from collections.abc import Sequence


class MemberEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """One of several runs: a model on a dataset."""

    dataset: str
    model: str
    prompt: str | None
    """A short name of the system prompt; None in a group that does not compare prompts."""
    estimate: Estimate


class GroupEstimate(Amounts, frozen=True, kw_only=True):
    """What several runs would take, one after the other."""

    members: tuple[MemberEstimate, ...]


def group_estimate(members: Sequence[MemberEstimate]) -> GroupEstimate:
    """Add up the estimates of one or more runs."""
    each = [member.estimate for member in members]
    unpriced = tuple(dict.fromkeys(model for one in each for model in one.unpriced))
    return GroupEstimate(
        members=tuple(members),
        answers=sum(one.answers for one in each),
        judgements=sum(one.judgements for one in each),
        calls=sum(one.calls for one in each),
        small_calls=sum(one.small_calls for one in each),
        attempts=max(one.attempts for one in each),
        input_tokens=total(one.input_tokens for one in each),
        output_tokens=total(one.output_tokens for one in each),
        cost=None if unpriced else total(one.cost for one in each if one.cost),
        unpriced=unpriced,
        seconds=total(one.seconds for one in each),
        seconds_one_by_one=total(one.seconds_one_by_one for one in each),
    )
