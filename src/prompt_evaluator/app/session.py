"""What a use case gets from its caller: a workspace, limits and subscribers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from prompt_evaluator.app.models import Models
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.run_limits import RunLimits
from prompt_evaluator.providers.calls.allowance import Allowance
from prompt_evaluator.providers.calls.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.pipeline.events import Subscriber
    from prompt_evaluator.providers.calls.allowance import Span
    from prompt_evaluator.providers.calls.meter import Meter
    from prompt_evaluator.providers.catalogue import ModelName
    from prompt_evaluator.store import Store

_CONFIGURE = "set its price under `prices:` of its provider"


class Stoppable(Protocol):
    """A run that can be stopped early."""

    def stop(self, reason: str) -> None:
        """Stop soon, so that the run can be resumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One command, or one call of the Python API. The session does not close the workspace."""

    workspace: Workspace = field(default_factory=Workspace)
    subscribers: tuple[Subscriber, ...] = ()
    """Notified of every event of every run."""
    meter: Meter | None = None
    limits: RunLimits = field(default_factory=RunLimits)
    on_run: Callable[[Stoppable], None] | None = None
    """Called with a run before it starts, so that a signal can stop it."""
    on_commit: Callable[[float], None] | None = None
    """Called with the seconds that each finished unit took to become durable."""
    _budget: Budget = field(init=False)
    _allowance: Allowance | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_allowance", _allowance(self.workspace))
        # One budget for the whole session, so that a group of runs does not spend it once per run.
        budget = Budget(max_calls=self.limits.max_calls, max_cost=self.limits.max_cost, allowance=self._allowance)
        object.__setattr__(self, "_budget", budget)

    @property
    def settings(self) -> Settings:
        return self.workspace.settings

    @property
    def store(self) -> Store:
        """The workspace's store, which the workspace closes."""
        return self.workspace.store

    @property
    def budget(self) -> Budget:
        """What all runs of the session may spend together."""
        return self._budget

    def models(self) -> Models:
        """The models of one run, with the workspace's connections and limits and this session's budget and meter."""
        return Models(
            self.settings.providers,
            shared=self.workspace.calls,
            meter=self.meter,
            max_concurrency=self.limits.max_concurrency,
            budget=self._budget,
            assumed_price=self.limits.assumed,
        )

    def check_engine(self) -> None:
        """Raise `ConfigurationError` if the engine's extra is not installed."""
        if self.limits.engine == "ray":
            self.workspace.ray(self.limits.ray_address)

    def check_budget(self, names: Iterable[ModelName], models: Models) -> None:
        """Raise an error if a budget is used up, or cannot be enforced because a price is unknown."""
        prices = {name: models.price(name) for name in names}
        unknown = [name for name, price in prices.items() if price is None]
        if unknown and self._allowance is not None:
            what = f"The price of {unknown[0]} is unknown, so the budget for all runs cannot be enforced."
            raise ConfigurationError(f"{what} Pass --assume-price, or {_CONFIGURE}; 0 if it costs nothing.")
        if unknown and self.limits.max_cost is not None and self.limits.max_calls is None:
            what = f"The price of {unknown[0]} is unknown, so --max-cost cannot be enforced."
            raise ConfigurationError(f"{what} Pass --assume-price or --max-calls, or {_CONFIGURE}.")
        if self._allowance is not None and any(price.input or price.output for price in prices.values() if price):
            self._allowance.check()


def _allowance(workspace: Workspace) -> Allowance | None:
    """What this process may spend of the budgets for all runs, if there are any."""
    spans: tuple[Span, ...] = ("day", "month")
    caps = {span: workspace.settings.value(f"max_cost_per_{span}") for span in spans}
    most = {span: cap for span, cap in caps.items() if cap is not None}
    if not most:
        return None
    return Allowance(most, lambda: workspace.store, lambda: workspace.calls.thread)
