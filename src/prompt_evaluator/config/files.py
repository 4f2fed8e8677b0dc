"""The former names of `load_settings`, until nobody asks for them any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.config.loading import Settings as Config
from prompt_evaluator.config.loading import load_settings

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Config", "load_config"]


def load_config(path: Path | None = None) -> Config:
    return load_settings(path)
