"""A service that counts what is paid for, and folders to run in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from chat_service import ChatService, running_service
from workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def service() -> Iterator[ChatService]:
    with running_service() as service:
        yield service


@pytest.fixture
def online(tmp_path: Path, service: ChatService) -> Workspace:
    """A folder whose `openai` is the service."""
    return Workspace(tmp_path, service.environment)


@pytest.fixture
def offline(tmp_path: Path) -> Workspace:
    """A folder without any key: only the mock answers."""
    return Workspace(tmp_path)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of this very process, for calls of the Python API."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "PROMPT_EVALUATOR_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path
