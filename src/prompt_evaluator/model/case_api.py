"""Requests and answers about one case: its page, and what its judges replied."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from prompt_evaluator.model.bounds import SAMPLE_INDEX, SAMPLES

AnswerForm = Literal["text", "markdown", "diff"]


class CasePageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to show a case, and the list that the previous and the next case are taken from."""

    q: Annotated[str, Meta(max_length=2_000)] = ""
    """A filter, such as `failing topic:billing`."""
    sort: Annotated[str, Meta(min_length=1, max_length=300)] = "position"
    """`position`, `cost`, `latency`, `flakiness` or a metric; `-` in front reverses."""
    view: AnswerForm = "text"
    against: Annotated[str, Meta(max_length=40)] = ""
    """What `diff` compares with: `reference`, `reference-2`, `sample-3`; by default the reference."""
    sample: Annotated[int, SAMPLES.meta] | None = None
    """Show this sample alone, with its whole answer. Starts at 1."""


class JudgeRepliesQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which replies of judges."""

    sample: tuple[Annotated[int, SAMPLE_INDEX.meta], ...] = ()
    """Starts at 0; may be repeated; by default all samples."""


class JudgeReply(msgspec.Struct, frozen=True, kw_only=True):
    """One judgement of one answer, as the judge wrote it."""

    sample: int
    """Starts at 0, as do the next two."""
    attempt: int
    repeat: int
    metric: str
    """The metric, or the rubric."""
    reply: str | None
    """The judge's last reply, verbatim; null if it never replied."""
    error: str | None
    """Why there is no score, if there is none."""


class JudgeReplies(msgspec.Struct, frozen=True, kw_only=True):
    """What the judges of a case replied."""

    run_id: str
    test_case_id: str
    replies: tuple[JudgeReply, ...]
