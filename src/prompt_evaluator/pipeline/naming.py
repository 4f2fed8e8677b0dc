"""Names units of work: equal requests have equal names, in every run and on every machine.

Stored units are found by name, so changing how names are made means paying for all of them again. Tests hold golden
values.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import Answer, JudgeConfig, Message, MetricUse, Request, RunPlan, TestCase
    from prompt_evaluator.ports import Metric

_encode = msgspec.json.Encoder(order="sorted").encode
_SIZE = 16
_MOST_DIGESTS = 1_000

_digests: dict[int, tuple[object, str]] = {}
"""Digests of schemas, system messages and cases, by `id`: a run uses the same objects many times, and hashing them each
time would cost more than everything else. The object is kept so that no other object gets its `id`."""


def unit_name(kind: str, identity: str, request: Request) -> bytes:
    """Hash of everything that decides the answer: the identity of the model and every part of the request.

    Neither contains secrets. The case itself is not included, only what was put into the messages.
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
        request.effort,
    )
    return _hash((kind, identity, asked))


def generation_name(plan: RunPlan, request: Request) -> bytes:
    return unit_name("generation", plan.target.identity, request)


def metric_digest(metric: Metric, judge: JudgeConfig | None) -> bytes:
    """The part of a judgement's name that all answers share: the metric's definition and its judge."""
    return _hash((metric.definition(), _judge(judge)))


def preparation_name(metric: Metric, judge: JudgeConfig | None) -> bytes:
    """Name of what a judge writes once for a metric; the same in every run that asks for it in the same way."""
    asked: Callable[[], dict[str, Any]] = getattr(metric, "preparation", metric.definition)
    return _hash(("preparation", asked(), _judge(judge)))


def judgement_name(  # noqa: PLR0913, PLR0917 - everything that decides a score
    metric: Metric,
    digest: bytes,
    use: MetricUse,
    case: TestCase,
    answer: Answer,
    sample: int,
    attempt: int,
    repeat: int,
) -> bytes:
    """Hash of the metric and judge (`digest`), what they look at, and which judgement of it this is.

    Two uses of the same metric make two judgements, so what distinguishes them is part of the name.

    If a metric declares which metadata it reads, changes to other metadata do not change the name. The sample is part
    of the name: two samples may give the same answer, and each is judged separately.
    """
    keys: tuple[str, ...] | None = getattr(metric, "metadata_keys", None)
    looked_at = (_whole_case(case), answer) if keys is None else _shown_to_judges(case, answer, keys)
    called = None if use.name == use.metric else use.name
    return _hash(("judgement", digest.hex(), called, bool(use.negated), looked_at, sample, attempt, repeat))


def _whole_case(case: TestCase) -> str:
    """Digest of a case without its file and line."""
    if (known := _digests.get(id(case))) is None:
        known = _remember(case, msgspec.structs.replace(case, file=None, line=None))
    return known[1]


def _shown_to_judges(case: TestCase, answer: Answer, keys: tuple[str, ...]) -> tuple[Any, ...]:
    metadata = [case.metadata.get(key) for key in keys]
    asked = case.messages or case.input
    known = (asked, case.task, case.expected_constraints, case.all_references, metadata)
    return (*known, answer.text, answer.tool_calls)


def _judge(judge: JudgeConfig | None) -> tuple[Any, ...] | None:
    """What identifies a judge. The name already has the repeat; a rubric's instructions are in its definition."""
    if judge is None:
        return None
    sent = [judge.sent(name) for name in ("temperature", "max_tokens", "seed", "effort")]
    return (judge.model, judge.identity, *sent, judge.sent_params)


def _hash(value: Any) -> bytes:
    return hashlib.blake2b(_encode(value), digest_size=_SIZE).digest()


def _digest(part: dict[str, Any] | Message | None) -> str | None:
    if part is None:
        return None
    if (known := _digests.get(id(part))) is None:
        known = _remember(part, part)
    return known[1]


def _remember(key: object, value: object) -> tuple[object, str]:
    if len(_digests) > _MOST_DIGESTS:
        _digests.clear()
    _digests[id(key)] = known = (key, _hash(value).hex())
    return known
