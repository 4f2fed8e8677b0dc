"""Runs items in worker processes of Ray: the local engine's feeding and stopping, with a worker that sends them off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.engines.local import LocalEngine
from prompt_evaluator.engines.ray.pool import Pool, PoolOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.engines.ray.cluster import RayCluster
    from prompt_evaluator.model.work import WorkerSource
    from prompt_evaluator.ports.working import Desk, Items, MakeWorker, Results


class RayEngine(LocalEngine):
    """Works on items in other processes. What a dead process had not delivered is worked on again."""

    def __init__(  # noqa: PLR0913 - made in one place
        self,
        cluster: RayCluster,
        source: Callable[[int], WorkerSource],
        desk: Desk,
        *,
        window: int,
        workers: int | None = None,
        most_workers: int | None = None,
        gpus: float = 0.0,
        silence: float = 600.0,
    ) -> None:
        """Prepare; nothing is started.

        Args:
            cluster: Where the processes run.
            source: Returns what a worker is made from, given the number of processes.
            desk: What they share.
            window: Items in progress, over all processes.
            workers: How many processes; by default one for each CPU or, with `gpus`, for what GPUs there are.
            most_workers: No more than this, whatever `workers` and the cluster say.
            gpus: GPUs of each.
            silence: Seconds after which a process that says nothing counts as dead.
        """
        super().__init__(window)
        self._cluster, self._source, self._desk = cluster, source, desk
        self._window, self._processes, self._gpus = window, workers, gpus
        self._silence = silence
        self._most = min(window, most_workers or window)
        self._pool: Pool | None = None

    def stop(self, drain_seconds: float | None) -> None:
        """Take no more items; give those in progress this long to finish. Of several calls, the earliest end counts."""
        super().stop(drain_seconds)
        if self._pool is not None:
            self._pool.stop()

    async def run(self, items: Items, make_worker: MakeWorker, results: Results) -> None:  # noqa: ARG002 - made elsewhere
        """Work on all items. If a worker raises, cancel the others and raise its error."""
        ray = await self._cluster.ray()
        workers = max(1, min(self._processes or self._places(ray), self._most))
        options = PoolOptions(
            workers=workers,
            window=self._window,
            gpus=self._gpus,
            own_ray=self._cluster.is_ours,
            silence=self._silence,
        )
        async with Pool(ray, self._source(workers), self._desk, options, results) as pool:
            self._pool = pool
            if self._stopped:
                pool.stop()
            await super().run(items, lambda _sink: pool, results)

    def _places(self, ray: Any) -> int:
        """How many processes the cluster has room for at present."""
        found = ray.cluster_resources()
        return int(found.get("GPU", 0) / self._gpus) if self._gpus else int(found.get("CPU", 1))
