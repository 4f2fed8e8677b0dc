"""What the outside world lends to a use case: settings, limits, and somebody who watches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prompt_evaluator.app.filling import StoredResults
from prompt_evaluator.app.models import Models
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.options import RunLimits
from prompt_evaluator.providers.calls.budget import Budget
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prompt_evaluator.app.runs import Run, Watcher
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.providers.calls.meter import Meter
    from prompt_evaluator.providers.catalogue import ModelName


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One command, or one call of the Python API."""

    settings: Settings = field(default_factory=read_settings)
    watcher: Watcher | None = None
    meter: Meter | None = None
    limits: RunLimits = field(default_factory=RunLimits)
    on_run: Callable[[Run], None] | None = None
    """Called with a run before it starts, so that a signal can stop it."""
    on_commit: Callable[[float], None] | None = None
    """Called with the seconds that each finished unit took to become durable."""
    _budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        # One for the whole session: a group of runs may not spend it once for each of them.
        object.__setattr__(self, "_budget", Budget(max_calls=self.limits.max_calls, max_cost=self.limits.max_cost))

    def models(self) -> Models:
        """The providers that are configured, within this session's budget."""
        return Models(
            self.settings.providers,
            meter=self.meter,
            max_concurrency=self.limits.max_concurrency,
            budget=self._budget,
        )

    def open_store(self) -> Store:
        return open_store(self.settings)

    def check_budget(self, names: Iterable[ModelName], models: Models) -> None:
        """A budget of money cannot be kept for a model whose price nobody knows."""
        if self.limits.max_cost is None or self.limits.max_calls is not None:
            return
        for name in names:
            if models.price(name) is None:
                what = f"The price of {name} is not known, so --max-cost cannot be kept."
                raise ConfigurationError(f"{what} Configure its price, or give --max-calls too.")


def open_store(settings: Settings) -> Store:
    """The store that the settings name; runs of an older one get their result rows."""
    return Store.open(settings.store, fill=StoredResults)
