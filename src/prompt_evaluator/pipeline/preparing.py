"""Prepares metrics: what a judge writes once, such as evaluation steps, is shared by all runs that ask the same."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.errors import BadReplyError, ProviderError
from prompt_evaluator.model import MetricUse, Preparation, Unit
from prompt_evaluator.pipeline.naming import preparation_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import JudgeConfig
    from prompt_evaluator.pipeline.scoring import RecordedJudge
    from prompt_evaluator.pipeline.uses import AppliedMetric
    from prompt_evaluator.ports import Metric, UnitSink
    from prompt_evaluator.store import Store

NO_CASE = ""
"""Case id of units that do not belong to a case; no case can have it."""

_MOST_KEPT = 4_096
_encode = msgspec.json.Encoder().encode
_preparation = msgspec.json.Decoder(Preparation).decode


class Preparer:
    """Prepares metrics, asking a judge only for what no run has asked for before."""

    def __init__(
        self,
        judge: Callable[[JudgeConfig], RecordedJudge],
        build: Callable[[MetricUse], Metric],
        find: Callable[[bytes], Unit | None],
        ledger: UnitSink,
    ) -> None:
        """Start empty.

        Args:
            judge: Returns a judge to ask.
            build: Makes a metric from a use.
            find: Looks up a finished unit of any run by name.
            ledger: Stores new units.
        """
        self._judge, self._build, self._find, self._ledger = judge, build, find, ledger
        self._locks: dict[bytes, asyncio.Lock] = {}
        self._options: dict[bytes, dict[str, Any]] = {}
        """Options that the judge has written, by preparation name."""
        self._broken: dict[bytes, Exception] = {}
        self._ready: dict[int, tuple[AppliedMetric, AppliedMetric]] = {}

    async def ready(self, applied: AppliedMetric) -> AppliedMetric:
        """Return the metric, ready to be applied.

        Raises:
            ProviderError: The judge wrote nothing usable. Other errors are the metric's own.
        """
        if applied.judge is None:
            return applied
        if (known := self._ready.get(id(applied))) is None:
            options = await self._prepared(applied, applied.judge)
            ready = applied.with_metric(self._again(applied, options)) if options else applied
            if len(self._ready) >= _MOST_KEPT:
                self._ready.clear()
            known = self._ready[id(applied)] = (applied, ready)
        return known[1]

    async def options(self, applied: AppliedMetric) -> dict[str, Any]:
        """What the judge has written for the metric; empty if it needs nothing. Raises as `ready` does."""
        return await self._prepared(applied, applied.judge) if applied.judge else {}

    def known(self, applied: AppliedMetric) -> AppliedMetric:
        """Return the metric, prepared only if that needs no call."""
        if applied.judge is None:
            return applied
        if (known := self._ready.get(id(applied))) is not None:
            return known[1]
        unit = self._find(preparation_name(applied.metric, applied.judge))
        return applied.with_metric(self._again(applied, _preparation(unit.data).options)) if unit else applied

    async def _prepared(self, applied: AppliedMetric, judge: JudgeConfig) -> dict[str, Any]:
        """If several samples need it at once, the first asks and the others wait."""
        name = preparation_name(applied.metric, judge)
        async with self._locks.setdefault(name, asyncio.Lock()):
            if name in self._broken:
                raise self._broken[name]
            if (options := self._options.get(name)) is None:
                options = self._known(applied, name)
                if options is None:
                    options = await self._asked(applied, judge, name)
                self._options[name] = options
        return options

    def _known(self, applied: AppliedMetric, name: bytes) -> dict[str, Any] | None:
        if (unit := self._find(name)) is None:
            return None
        known = _preparation(unit.data)
        # Store it with this run too, because the other one may be deleted.
        self._keep(name, Preparation(metric=applied.key, options=known.options, reused=True))
        return known.options

    async def _asked(self, applied: AppliedMetric, judge: JudgeConfig, name: bytes) -> dict[str, Any]:
        asked = self._judge(judge)
        options: dict[str, Any] = {}
        try:
            options = _filled_in(applied.metric, await applied.metric.prepared(asked))
        except Exception as error:
            # A service may be back for the next sample; another unusable reply would only cost money.
            if not isinstance(error, ProviderError) or isinstance(error, BadReplyError):
                self._broken[name] = error
            raise
        finally:
            if asked.replies:
                made = Preparation(metric=applied.key, options=options, replies=tuple(asked.replies))
                self._keep(name, made, ok=bool(options))
        return options

    def _again(self, applied: AppliedMetric, options: dict[str, Any]) -> Metric:
        use = applied.use
        return self._build(msgspec.structs.replace(use, options={**use.options, **options}))

    def _keep(self, name: bytes, made: Preparation, *, ok: bool = True) -> None:
        data = _encode(made)
        self._ledger.put(Unit(case_id=NO_CASE, name=name, kind="preparation", sample=0, ok=ok, data=data))


def preparations(store: Store, run_id: str) -> list[Preparation]:
    """What judges have written for the metrics of a run."""
    return [_preparation(unit.data) for unit in store.units(run_id, [NO_CASE])[NO_CASE]]


def _filled_in(metric: Metric, ready: Metric) -> dict[str, Any]:
    """The options that changed, as builtins."""
    if ready is metric:  # most metrics, including those without options, such as a rubric
        return {}
    if not isinstance(metric, msgspec.Struct) or not isinstance(ready, msgspec.Struct):
        raise TypeError("a metric that is prepared must be a msgspec.Struct, so that its options can be stored")
    before, after = msgspec.to_builtins(metric), msgspec.to_builtins(ready)
    return {name: value for name, value in after.items() if value != before.get(name)}
