"""What changed from one run to the next."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.model.run_facts import parameters
from prompt_evaluator.model.trend import TrendDifference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model import PromptRef, RunPlan

_SHORT = 4
"""Characters of a hash: enough to tell neighbouring runs apart."""
_LONGEST = 24
"""Longer values of parameters are not shown."""
_SERVICE = "service"
_SEED = "seed"
"""Another seed draws other samples of the same thing."""


def run_differences(before: RunPlan, after: RunPlan, metric: str) -> tuple[TrendDifference, ...]:
    """What differs between two runs of one dataset and one judge that could move this metric."""
    return tuple(_differences(before, after, metric))


def _differences(before: RunPlan, after: RunPlan, metric: str) -> Iterator[TrendDifference]:
    prompts = [plan.target.prompt for plan in (before, after)]
    hashes = [prompt.hash if prompt else None for prompt in prompts]
    if hashes[0] != hashes[1]:
        yield _difference("prompt", hashes, [_prompt(prompt) for prompt in prompts])
    models = [plan.target.model for plan in (before, after)]
    if models[0] != models[1]:
        yield _difference("model", models, models)
    yield from _parameters(before, after, same_model=models[0] == models[1])
    rubrics = [plan.rubric.hash if plan.rubric else None for plan in (before, after)]
    if rubrics[0] != rubrics[1]:
        yield _difference("rubric", rubrics, [_start(digest) for digest in rubrics])
    uses = [_definition(plan, metric) for plan in (before, after)]
    if uses[0] != uses[1]:
        yield _difference("metric", uses, [_start(digest) for digest in uses], called=f"definition of {metric}")


def _parameters(before: RunPlan, after: RunPlan, *, same_model: bool) -> Iterator[TrendDifference]:
    ours, theirs = (parameters(msgspec.to_builtins(plan.target)) for plan in (before, after))
    for name in dict.fromkeys((*ours, *theirs)):
        values = [ours.get(name), theirs.get(name)]
        if values[0] == values[1] or name == _SEED or (name == _SERVICE and not same_model):
            continue
        texts = ["default" if value is None else f"{value}" for value in values]
        if name == _SERVICE or any(len(text) > _LONGEST or not text.isprintable() for text in texts):
            yield TrendDifference(what=name, before=values[0], after=values[1], text=f"{name} changed")
        else:
            yield _difference(name, values, texts)


def _difference(what: str, values: list[Any], texts: list[str], called: str | None = None) -> TrendDifference:
    text = f"{called or what} {texts[0]} → {texts[1]}"
    return TrendDifference(what=what, before=values[0], after=values[1], text=text)


def _prompt(prompt: PromptRef | None) -> str:
    if prompt is None:
        return "none"
    return f"{prompt.version} ({prompt.hash[:_SHORT]})" if prompt.version else prompt.hash[:_SHORT]


def _start(digest: str | None) -> str:
    return digest[:_SHORT] if digest else "none"


def _definition(plan: RunPlan, metric: str) -> str | None:
    """The hash of the metric uses with this name; None if cases or the rubric ask for the metric."""
    uses = [use for use in plan.metrics if metric in (use.name, use.metric)]
    return sha256(msgspec.json.encode(uses, order="deterministic")).hexdigest() if uses else None
