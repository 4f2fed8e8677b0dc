"""Retry-After in all its forms."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from prompt_evaluator.providers.http import retry_after

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param({"retry-after": "7"}, 7.0, id="seconds"),
        pytest.param({"retry-after": "0.25"}, 0.25, id="fractions"),
        pytest.param({"retry-after": "-3"}, 0.0, id="negative"),
        pytest.param({"retry-after": formatdate(NOW + 30, usegmt=True)}, 30.0, id="a date"),
        pytest.param({"retry-after": formatdate(NOW - 30, usegmt=True)}, 0.0, id="a date in the past"),
        pytest.param({"retry-after-ms": "1500"}, 1.5, id="milliseconds"),
        pytest.param({"x-ms-retry-after-ms": "250"}, 0.25, id="Azure's milliseconds"),
        pytest.param({"retry-after-ms": "100", "retry-after": "1"}, 0.1, id="the finer of two"),
        pytest.param({"retry-after-ms": "x", "retry-after": "1"}, 1.0, id="the readable of two"),
        pytest.param({"retry-after": "soon"}, None, id="words"),
        pytest.param({"retry-after": ""}, None, id="nothing"),
        pytest.param({"retry-after": "nan"}, None, id="nan"),
        pytest.param({"retry-after": "inf"}, None, id="for ever"),
        pytest.param({"retry-after": "Wed, 99 Foo 2025 99:99:99 GMT"}, None, id="no date"),
        pytest.param({}, None, id="no header"),
    ],
)
def test_retry_after_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds
