"""What the judges of a case replied, word for word."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.case_api import JudgeReplies, JudgeReply
from prompt_evaluator.pipeline.samples import group

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.pipeline.samples import SampleUnits


def judge_replies(settings: Settings, run_id: str, case_id: str, samples: Sequence[int] = ()) -> JudgeReplies:
    """The last reply of each judgement of a case, or of some of its samples.

    Args:
        settings: Of the project.
        run_id: The run.
        case_id: The case.
        samples: Their numbers, from 0; all samples by default.

    Raises:
        UnknownNameError: There is no such run or case.
    """
    with closing(open_store(settings)) as store:
        record = store.run(run_id)
        full = record.plan.run_id
        store.case_detail(full, case_id)
        found = group(store.units(full, [case_id])[case_id], record.plan.num_samples)
    replies = [
        reply
        for number, units in enumerate(found)
        if not samples or number in samples
        for reply in _replies(number, units)
    ]
    return JudgeReplies(run_id=full, test_case_id=case_id, replies=tuple(replies))


def _replies(number: int, units: SampleUnits) -> Iterator[JudgeReply]:
    for attempt in units.attempts:
        for (metric, repeat), judgement in attempt.judgements.items():
            failed = judgement.failed
            if judgement.raw is not None or failed:
                yield JudgeReply(
                    sample=number,
                    attempt=attempt.number,
                    metric=metric,
                    repeat=repeat,
                    reply=judgement.raw,
                    error=failed.reason if failed else None,
                )
