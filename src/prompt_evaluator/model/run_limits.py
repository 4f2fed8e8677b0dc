"""What one run may use, and where it runs."""

from typing import Annotated

import msgspec

from prompt_evaluator.model import bounds
from prompt_evaluator.model.declaration import ENGINE, PRICE, TEXT, Option, declared, number
from prompt_evaluator.model.settings import Price


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a run and where it runs. They do not affect what is evaluated, so it can be resumed with others."""

    max_concurrency: Annotated[
        int | None,
        Option(
            help="The maximum number of calls in flight, per key.",
            kind=number(bounds.CONCURRENCY),
            flags=("--max-concurrency", "-j"),
            setting="max_concurrency",
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        Option(
            help="Stop before spending more US dollars than this. The run can be resumed.",
            kind=number(bounds.BUDGET),
            flags=("--max-cost",),
            setting="max_cost",
        ),
    ] = None
    max_calls: Annotated[
        int | None,
        Option(
            help="Stop before making more calls than this. The run can be resumed.",
            kind=number(bounds.CALLS),
            flags=("--max-calls",),
            setting="max_calls",
        ),
    ] = None
    assume_price: Annotated[
        str | None,
        Option(
            help="The price of models whose price is unknown, in US dollars per million tokens, such as 2.5/10.",
            kind=PRICE,
            flags=("--assume-price",),
            setting="assume_price",
            metavar="IN/OUT",
        ),
    ] = None
    engine: Annotated[
        str,
        Option(
            help="Where samples are made: local (in this process) or ray (in processes of a Ray cluster).",
            kind=ENGINE,
            flags=("--engine",),
            setting="engine",
        ),
    ] = "local"
    ray_address: Annotated[
        str | None,
        Option(
            help="With --engine ray: the cluster, as HOST:PORT, or auto.",
            kind=TEXT,
            flags=("--ray-address",),
            setting="ray_address",
            otherwise="a Ray of its own on this machine",
        ),
    ] = None
    ray_workers: Annotated[
        int | None,
        Option(
            help="With --engine ray: the number of worker processes.",
            kind=number(bounds.WORKERS),
            flags=("--ray-workers",),
            setting="ray_workers",
            otherwise="one per CPU",
        ),
    ] = None
    ray_gpus: Annotated[
        float | None,
        Option(
            help="With --engine ray: the GPUs of each worker process, for local models.",
            kind=number(bounds.GPUS),
            flags=("--ray-gpus",),
            setting="ray_gpus",
        ),
    ] = None

    @property
    def assumed(self) -> Price | None:
        """`assume_price` as a price."""
        if self.assume_price is None:
            return None
        asked, answered = map(float, self.assume_price.split("/"))
        return Price(input=asked, output=answered)


LIMITS = declared(RunLimits)
