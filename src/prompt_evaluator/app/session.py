"""What a use case gets from its caller: a workspace, limits and subscribers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from prompt_evaluator.app.models import Models
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.calls.budget import Budget
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.run_limits import RunLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prompt_evaluator.calls.meter import Meter
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.pipeline.events import Subscriber
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

    def __post_init__(self) -> None:
        # One budget for the whole session, so that a group of runs does not spend it once per run.
        object.__setattr__(self, "_budget", Budget(max_calls=self.limits.max_calls, max_cost=self.limits.max_cost))

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
            shared=self.workspace.connections,
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
        """Raise an error if the budget cannot be enforced because a price is unknown."""
        if self.limits.max_cost is None or self.limits.max_calls is not None:
            return
        for name in names:
            if models.price(name) is None:
                what = f"The price of {name} is unknown, so --max-cost cannot be enforced."
                raise ConfigurationError(f"{what} Pass --assume-price or --max-calls, or {_CONFIGURE}.")
