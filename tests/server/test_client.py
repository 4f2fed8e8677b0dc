"""The client knows what the server takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.client import (
    ChangeFields,
    Client,
    ResultsFields,
    RunFields,
    RunsFields,
    UnreachableServerError,
)
from prompt_evaluator.model.api import ResultsQuery, RunChange, RunSettings, RunsQuery

if TYPE_CHECKING:
    import msgspec


@pytest.mark.parametrize(
    ("fields", "struct"),
    [(RunFields, RunSettings), (RunsFields, RunsQuery), (ResultsFields, ResultsQuery), (ChangeFields, RunChange)],
)
def test_the_client_has_every_field_of_a_request(fields: type, struct: type[msgspec.Struct]) -> None:
    assert set(fields.__annotations__) == set(struct.__struct_fields__)


def test_a_server_that_is_not_there_is_told_in_a_sentence() -> None:
    with pytest.raises(UnreachableServerError, match="Is `prompt-evaluator serve` running"):
        Client("http://127.0.0.1:1").run("x")
