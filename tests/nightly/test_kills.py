"""`kill -9` many more times than `make test` has time for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from killing import kills_cost_little_and_change_nothing

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Workspace


def test_a_hundred_kills_cost_little_and_change_nothing(online: Workspace, service: ChatService) -> None:
    kills_cost_little_and_change_nothing(online, service, 100)
