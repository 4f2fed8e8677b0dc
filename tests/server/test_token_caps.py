"""A token limits the runs that it asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from served import LimitedClient, served

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.server_settings import server_settings
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.client import RefusedError
from prompt_evaluator.model.token import Token

if TYPE_CHECKING:
    from workspace import Workspace


def _token(**caps: float) -> Token:
    return Token(id="00000000", name="anna", role="runner", created_at=now(), **caps)  # type: ignore[arg-type]


def test_the_stricter_limit_counts_that_of_the_token_or_that_of_the_server(
    offline: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline.configure(server={"max_samples": 10, "max_cost": 2.0})
    monkeypatch.chdir(offline.folder)
    server = server_settings(read_settings())

    assert server.within(None) == server
    assert server.within(_token(max_samples=3, max_cost=5.0, max_concurrency=4)).max_samples == 3
    assert server.within(_token(max_samples=3, max_cost=5.0)).max_cost == 2.0
    assert server.within(_token(max_concurrency=4)).max_concurrency == 4
    assert server.within(_token(max_samples=30)).max_samples == 10


def test_a_run_beyond_the_limits_of_its_token_is_refused(offline: Workspace) -> None:
    made = offline.run("token", "create", "anna", "--role", "runner", "--max-samples", "2", "--max-cost", "0.5")
    listed = offline.run("token", "list", "--json").json["tokens"][0]
    offline.configure(server={"allowed_hosts": ["eval.example"]})
    with served(offline) as server:
        client = LimitedClient(server.address, token=made.out.strip())
        with pytest.raises(RefusedError) as samples:
            client.start_run(dataset="basic-coding", model="mock/default", samples=3)
        with pytest.raises(RefusedError) as cost:
            client.start_run(dataset="basic-coding", model="mock/default", max_cost=1.0)
        run = client.wait(client.start_run(dataset="basic-coding", model="mock/default", samples=2).id)
        with pytest.raises(RefusedError) as nobody:
            server.client.runs()

    assert (listed["max_samples"], listed["max_cost"], listed["max_concurrency"]) == (2, 0.5, None)
    assert (samples.value.status, samples.value.field) == (422, "samples")
    assert (cost.value.status, cost.value.field) == (422, "max_cost")
    assert run.status == "completed"
    assert nobody.value.status == 401
