"""What a worker in another process is made from: values, so that it can be sent there."""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from prompt_evaluator.app.models import CODE_MARK
from prompt_evaluator.model import Price, ProviderSettings, RunPlan
from prompt_evaluator.model.work import WorkerSource
from prompt_evaluator.usercode.trust import TRUST_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.app.models import Models
    from prompt_evaluator.pipeline.execute import Executor

_MAKER = "prompt_evaluator.app.remote.worker:make_worker"


class RemoteSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A run as a worker needs to know it."""

    plan: RunPlan
    retry_errors: bool
    share: float
    """The share of every limit that is this worker's."""
    max_concurrency: int
    budget: Literal["calls", "cost"] | None
    """What the run's budget limits, if anything; the driver keeps it."""
    assumed_price: Price | None
    models: dict[str, str]
    """Digest of the code of each model that is made of code."""
    metrics: dict[str, str]
    """Digest of each metric that all cases have."""


class PrivateSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What may contain secrets."""

    providers: dict[str, ProviderSettings]
    environment: dict[str, str]


def make_source(
    executor: Executor, models: Models, workers: int, budget: Literal["calls", "cost"] | None
) -> WorkerSource:
    """Describe the worker of a run that has this many."""
    plan = executor.plan
    asked = [config for config in (plan.target, plan.judge, *plan.judges.values()) if config]
    functions = _functions(plan, models)
    spec = RemoteSpec(
        plan=plan,
        retry_errors=executor.retry_errors,
        share=1 / workers,
        max_concurrency=max(1, models.max_concurrency // workers),
        budget=budget,
        assumed_price=models.assumed_price,
        models={
            config.model: config.identity.partition(CODE_MARK)[2]
            for config in asked
            if CODE_MARK in config.identity and config.model not in functions and not _is_not_called(config, plan)
        },
        metrics={applied.key: applied.digest.hex() for applied in executor.uses.common()},
    )
    names = {models.name(config.model).provider for config in asked if not _is_not_called(config, plan)}
    private = PrivateSpec(
        providers={name: models.settings[name] for name in models.settings},
        environment=_variables(models.settings[name] for name in names),
    )
    return WorkerSource(
        maker=_MAKER,
        spec=msgspec.json.encode(spec),
        private=msgspec.json.encode(private),
        folder=os.getcwd(),  # noqa: PTH109 - shown and compared as text
        path=tuple(_own_folders(sys.path)),
        objects={model.partition(":")[2]: function for model, function in functions.items()},
    )


def _is_not_called(config: Any, plan: RunPlan) -> bool:
    """Whether the run only judges answers that another run has."""
    return config is plan.target and plan.parent_run_id is not None


def _functions(plan: RunPlan, models: Models) -> dict[str, Any]:
    """The target, if it is a function object of this process, by its model name."""
    name = models.name(plan.target.model)
    if plan.parent_run_id is not None or models.settings[name.provider].kind != "python":
        return {}
    from prompt_evaluator.providers.function import adopted  # noqa: PLC0415 - only for functions

    function = adopted(name.model)
    return {} if function is None else {plan.target.model: function}


def _variables(entries: Iterable[ProviderSettings]) -> dict[str, str]:
    """The variables that the entries name, as far as they are set here."""
    named = {name for entry in entries for name in (entry.api_key_env, entry.base_url_env) if name}
    return {name: os.environ[name] for name in sorted({*named, TRUST_VARIABLE}) if name in os.environ}


def _own_folders(path: Iterable[str]) -> list[str]:
    """Where this process finds modules, besides those that are installed: a worker has its own."""
    installed = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    found = (os.path.abspath(folder) for folder in path)  # noqa: PTH100 - sys.path holds strings
    return [folder for folder in found if not folder.startswith(installed) and os.path.isdir(folder)]  # noqa: PTH112
