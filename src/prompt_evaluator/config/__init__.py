"""Settings, and `load_dataset`, which users were promised under this name."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prompt_evaluator.datasets.loading import load_dataset

__all__ = ["load_dataset"]


def __getattr__(name: str) -> Any:
    if name == "load_dataset":
        from prompt_evaluator.datasets.loading import load_dataset  # noqa: PLC0415 - config itself reads no cases

        return load_dataset
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
