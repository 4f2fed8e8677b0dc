"""`list providers` and `providers test`: where calls go, and whether anybody answers there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sockets import bound

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Workspace

MODEL = "openai/gpt-4o-mini"


@pytest.fixture
def nobody(offline: Workspace) -> Workspace:
    """A folder whose `openai` is at a port where nobody listens."""
    with bound("127.0.0.1", 0) as sock:
        port = sock.getsockname()[1]
    offline.environment |= {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "test-key-1234567890"}
    return offline


def test_a_test_says_whom_it_asks_and_what_came_back(online: Workspace, service: ChatService) -> None:
    done = online.run("providers", "test", MODEL)

    assert done.code == 0
    assert done.err == f"Asking {MODEL} at {service.url}/v1 ...\n"
    generated, *_, judged = [line for line in done.out.splitlines() if line.startswith("ok")]
    assert generated.startswith("ok  as the model under test: gpt-4o-mini answered in ")
    assert judged.startswith("ok  as a judge: gpt-4o-mini answered in ")


def test_a_test_of_an_address_where_nobody_is_asks_once_and_says_what_to_check(nobody: Workspace) -> None:
    done = nobody.run("providers", "test", MODEL)

    assert done.code == 3
    first, error = done.err.splitlines()
    assert first == f"Asking {MODEL} at {nobody.environment['OPENAI_BASE_URL']} ..."
    assert "Connection refused. Check that the service is running and that its address is right" in error
    assert "tries" not in error


def test_without_a_key_nobody_is_asked_and_the_exit_code_is_that_of_an_evaluation(offline: Workspace) -> None:
    done = offline.run("providers", "test", MODEL)
    evaluated = offline.run("evaluate-dataset", "-i", "x", "-s", "prompt.txt", "--generator-model", MODEL)

    assert done.err == evaluated.err == "Error: openai: no key. Set OPENAI_API_KEY.\n"
    assert done.code == evaluated.code == 2


@pytest.mark.parametrize("status", [429, 503])
def test_a_test_reports_the_first_reply_and_does_not_wait_for_a_better_one(
    online: Workspace, service: ChatService, status: int
) -> None:
    service.set(rules=[{"status": status, "message": "not now"}])

    done = online.run("providers", "test", MODEL)

    assert done.code == 3
    assert f"({status}): not now." in done.err
    assert service.paid == 1


def test_a_variable_that_sets_an_address_is_shown_with_it(nobody: Workspace) -> None:
    address = nobody.environment["OPENAI_BASE_URL"]

    shown = nobody.run("list", "providers").out
    status = nobody.run("list", "providers", "openai", "--json").json

    assert f"{address} (from OPENAI_BASE_URL)" in shown
    assert (status["address"], status["address_source"]) == (address, "OPENAI_BASE_URL")


def test_the_mock_is_asked_on_this_machine(offline: Workspace) -> None:
    assert offline.run("providers", "test", "mock/default").err == "Asking mock/default on this machine ...\n"
