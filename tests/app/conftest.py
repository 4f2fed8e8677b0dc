"""Where calls of the Python API find themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from labelling import add_run

from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of this very process, for calls of the Python API."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "PROMPT_EVALUATOR_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def settings(here: Path) -> Settings:
    """Of a folder whose store has one run, with answers to label."""
    assert here.is_dir()
    found = read_settings()
    store = Store.open(found.store)
    add_run(store)
    store.close()
    return found
