"""A suite: datasets, models and metrics that are run together under one name."""

from typing import Annotated, Any

import msgspec

from prompt_evaluator.model.bounds import SAMPLES


class Suite(msgspec.Struct, frozen=True, kw_only=True):
    """One entry under `suites:` in the configuration. Every model is run on every dataset."""

    name: str
    title: str | None = None
    datasets: tuple[str, ...]
    """Names of datasets: benchmarks, or short names from the configuration."""
    models: tuple[str, ...]
    metrics: tuple[str | dict[str, Any], ...] = ()
    """As written; may be empty if there is a rubric."""
    judge: str | None = None
    """None for the configured judge."""
    rubric: str | None = None
    """The name or path of a rubric that also judges."""
    samples: Annotated[int, SAMPLES.meta] | None = None
    """Samples per case; None for what the command or request uses otherwise."""
    origin: str = ""
    """Where it is written: the file and the line."""
