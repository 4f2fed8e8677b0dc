"""A server that others can reach does not start without tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from workspace import Workspace


@pytest.mark.parametrize(
    ("options", "environment"),
    [
        (("--host", "0.0.0.0"), {}),
        (("--host", "::"), {}),
        ((), {"PROMPT_EVALUATOR_SERVER_ALLOWED_HOSTS": "evals.example"}),
        ((), {"PROMPT_EVALUATOR_SERVER_PUBLIC_URL": "https://evals.example"}),
    ],
    ids=["any address", "any IPv6 address", "another host", "a public address"],
)
def test_a_server_for_others_needs_a_token_first(
    offline: Workspace, options: tuple[str, ...], environment: dict[str, str]
) -> None:
    offline.environment |= environment
    done = offline.run("serve", "--port", "0", *options)

    assert done.code == 2
    assert "everybody needs a token" in done.err
    assert "prompt-evaluator token create" in done.err
    assert "Traceback" not in done.err
