"""Settings, and `load_dataset`, which is documented under this name."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prompt_evaluator.datasets.loading import load_dataset

__all__ = ["load_dataset"]


def __getattr__(name: str) -> Any:
    if name == "load_dataset":
        from prompt_evaluator.datasets.loading import load_dataset  # noqa: PLC0415 - settings do not need it

        return load_dataset
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
