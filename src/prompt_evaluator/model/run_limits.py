"""What one run may use."""

from typing import Annotated

import msgspec

from prompt_evaluator.model import bounds
from prompt_evaluator.model.declaration import Option, declared, number


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a run. They do not affect what is evaluated, so a run can be resumed with different ones."""

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


LIMITS = declared(RunLimits)
