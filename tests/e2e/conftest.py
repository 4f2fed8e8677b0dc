"""What every end-to-end test starts from."""

from __future__ import annotations

from contextlib import closing
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
def offline(tmp_path: Path) -> Iterator[Workspace]:
    """A folder without any key: only the mock answers."""
    with closing(Workspace(tmp_path)) as workspace:
        yield workspace


@pytest.fixture
def online(tmp_path: Path, service: ChatService) -> Iterator[Workspace]:
    """A folder whose `openai` is the service."""
    with closing(Workspace(tmp_path, service.environment)) as workspace:
        yield workspace
