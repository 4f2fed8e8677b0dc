"""A Ray for a whole session of tests, shared by its processes: prints its address, and ends when they are gone."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from prompt_evaluator.engines.ray.cluster import _OF_OUR_OWN, RayCluster

CPUS = 8
"""Places for workers, not load: tests of several processes have two workers each."""


async def main(watched: int) -> None:
    cluster = RayCluster(cpus=CPUS)
    ray = await cluster.ray()
    print(  # noqa: T201 - read by `ray_head.py`
        ray.get_runtime_context().gcs_address, _OF_OUR_OWN["RAY_AUTH_TOKEN"], cluster.session, flush=True
    )
    while _exists(watched):  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.3)
    await cluster.close()


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


try:
    asyncio.run(main(int(sys.argv[1])))
finally:
    Path(sys.argv[2]).unlink(missing_ok=True)  # says where this Ray is
