"""Lists the available providers, and tests whether one answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.models import Models
from prompt_evaluator.app.planning.options import evaluate_options
from prompt_evaluator.app.planning.plans import judge_of, target_of
from prompt_evaluator.app.planning.prepared import CANNOT_JUDGE
from prompt_evaluator.app.settings import masked
from prompt_evaluator.calls.governor import DEFAULT_CONCURRENCY
from prompt_evaluator.errors import UnreachableError
from prompt_evaluator.metrics.rubric_metric import RubricMetric
from prompt_evaluator.metrics.rubrics import load_rubric
from prompt_evaluator.model import Answer, Failed, Limits, ModelConfig, TestCase
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.scoring import RecordedJudge
from prompt_evaluator.providers.keys import Key, shown_proxy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import ProviderSettings

_CASE = TestCase(id="test", input="Reply with the one word: ready")

_LONGEST_WAIT = 60.0
"""Most seconds to wait for one short answer."""


class ProviderStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a provider without calling it. Never contains a key's value."""

    name: str
    kind: str
    key: str
    """The variable or file that the key comes from; `none needed` without one."""
    key_present: bool | None
    """None if no key is needed."""
    key_required: bool
    """Whether nothing works without it."""
    address: str | None
    """Where its calls go, without credentials."""
    address_source: str | None
    """The variable that the address comes from; None if it is configured or built in."""
    proxy: str | None
    """The proxy that calls go through and where it is set, without credentials."""
    limits: Limits


def list_providers(configured: Mapping[str, ProviderSettings] | None = None) -> list[ProviderStatus]:
    """Return every provider, built-in or configured."""
    return [_status(name, settings) for name, settings in sorted(Models(configured).settings.items())]


def calls_at_once(limits: Limits) -> int:
    """Return how many calls a provider with these limits may have in flight."""
    return limits.max_concurrency or DEFAULT_CONCURRENCY


def asked_for(model: str, configured: Mapping[str, ProviderSettings] | None = None) -> str:
    """Describe what `try_provider` calls, such as `openai/gpt-4o-mini at https://api.openai.com/v1`.

    Raises:
        ConfigurationError: It cannot be called: there is no such model, or no key.
    """
    models = Models(configured)
    name = models.name(model)
    models.check(name)
    status = _status(name.provider, models.settings[name.provider])
    return f"{name.provider}/{name.model} {f'at {status.address}' if status.address else 'on this machine'}"


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One request as a run would send it, and what came of it."""

    role: str
    """`the model under test` or `a judge`."""
    config: ModelConfig
    answers: tuple[Answer, ...]
    failed: str | None = None
    """Why a run could not use it."""


async def try_provider(model: str, settings: Settings) -> AsyncIterator[Trial]:
    """Ask a model what a run would ask it, once as the model under test and once as a judge, in one try each.

    Raises:
        ProviderError: The service refused, could not be reached, or did not answer within a minute.
    """
    options = msgspec.structs.replace(evaluate_options(settings, {}), generator_model=model, judge_model=model)
    name = Models(settings.providers).name(model)
    known = Models(settings.providers).settings
    entry = known[name.provider]
    limits = msgspec.structs.replace(
        entry.limits, max_tries=1, try_timeout=min(entry.limits.try_timeout, _LONGEST_WAIT)
    )
    entry = msgspec.structs.replace(entry, limits=limits)
    async with Models({**known, name.provider: entry}) as models:
        client = models.client(name.provider)
        target = msgspec.structs.replace(target_of(options, name, models), prompt=None, template=None)
        try:
            answer = await client.complete(RequestBuilder(target, name.model).request(_CASE, 0))
        except UnreachableError as error:
            message = str(error).removeprefix(f"{error.provider}: ")
            raise type(error)(f"{message} {error.advice}".rstrip(), provider=error.provider) from None
        yield Trial(role="the model under test", config=target, answers=(answer,))
        if entry.kind in CANNOT_JUDGE:
            return
        config = judge_of(name, options, models)
        judge = RecordedJudge(client, config, name.model, _CASE)
        score = await RubricMetric(load_rubric("default")).score(_CASE, answer, judge)
        failed = score.reason if isinstance(score, Failed) else None
        yield Trial(role="a judge", config=config, answers=tuple(judge.replies), failed=failed)


def _status(name: str, settings: ProviderSettings) -> ProviderStatus:
    key = Key(name, settings)
    variable = settings.base_url_env
    from_variable = os.environ.get(variable) if variable else None
    return ProviderStatus(
        name=name,
        kind=settings.kind,
        key=key.source or "none needed",
        key_present=key.present if key.source else None,
        key_required=settings.key_required and key.source is not None,
        address=masked(from_variable or settings.base_url) or (f"${variable}" if variable else None),
        address_source=variable if from_variable else None,
        proxy=shown_proxy(name, settings),
        limits=settings.limits,
    )
