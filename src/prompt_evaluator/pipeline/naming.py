"""What a unit of work is called: the same question has the same name, in every run and on every machine."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model import Answer, Message, Request, RunPlan, TestCase
    from prompt_evaluator.pipeline.assemble import SampleUnits
    from prompt_evaluator.pipeline.messages import Asker
    from prompt_evaluator.ports import Judge

_encode = msgspec.json.Encoder(order="sorted").encode
_MOST_DIGESTS = 1_000


_digests: dict[int, tuple[object, str]] = {}
"""Of schemas and system messages, by `id`: a run uses the same objects for every request, and hashing them each time
would cost more than all the rest. The object is kept, so its `id` stays its own."""


def unit_name(kind: str, identity: str, request: Request) -> bytes:
    """A hash of everything that decides the answer: who is asked, and every part of the request.

    Secrets are in neither. The case itself is not part of it, only what of it was put into the messages.
    """
    asked = (
        request.model,
        [_digest(message) if message.role == "system" else message for message in request.messages],
        request.temperature,
        request.max_tokens,
        request.seed,
        request.tools,
        _digest(request.response_schema),
        request.top_logprobs,
        request.sample,
        request.attempt,
        request.options,
    )
    return hashlib.blake2b(_encode((kind, identity, asked)), digest_size=16).digest()


def generation_name(plan: RunPlan, request: Request) -> bytes:
    return unit_name("generation", plan.generator.identity, request)


def judgement_name(plan: RunPlan, request: Request, sample: int) -> bytes:
    """The sample is part of it: two samples may give the same answer, and each is judged on its own."""
    return unit_name(f"judgement of {sample}", plan.judge.identity if plan.judge else "", request)


def expected_names(
    plan: RunPlan, case: TestCase, samples: Sequence[SampleUnits], asker: Asker, judge: Judge | None
) -> set[bytes]:
    """What the answers and judgements of these samples are called."""
    names = set()
    for sample, units in enumerate(samples):
        names.add(generation_name(plan, asker.request(case, sample)))
        answer = units.generation.answer if units.generation else None
        if answer is not None and judge is not None:
            names.update(judgement_names(plan, judge, case, answer, sample))
    return names


def judgement_names(plan: RunPlan, judge: Judge, case: TestCase, answer: Answer, sample: int) -> list[bytes]:
    """One for each repeat."""
    return [judgement_name(plan, judge.request(case, answer, repeat), sample) for repeat in range(plan.judgings)]


def _digest(part: dict[str, Any] | Message | None) -> str | None:
    if part is None:
        return None
    if (known := _digests.get(id(part))) is None:
        if len(_digests) > _MOST_DIGESTS:
            _digests.clear()
        known = _digests[id(part)] = (part, hashlib.blake2b(_encode(part), digest_size=16).hexdigest())
    return known[1]
