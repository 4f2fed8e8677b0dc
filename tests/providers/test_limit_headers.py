"""Limits that replies name: those for a minute are kept, those for a day are not taken for them."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta

import pytest

from prompt_evaluator.model import Limits
from prompt_evaluator.providers.calls.governor import Governor
from prompt_evaluator.providers.calls.limit_headers import report_limits


def told(**headers: str) -> list[tuple[float | None, float | None]]:
    """What a reply with these headers tells; `_` stands for `-`."""
    found: list[tuple[float | None, float | None]] = []
    report_limits(
        {name.replace("_", "-"): value for name, value in headers.items()},
        lambda requests, tokens: found.append((requests, tokens)),
    )
    return found


def moment(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("reset", ["1s", "120ms", "59.7s", "1m0s", "60", "0", "", "6ms", "1m"])
def test_a_limit_that_is_whole_again_within_a_minute_is_one_for_a_minute(reset: str) -> None:
    assert told(x_ratelimit_limit_requests="500", x_ratelimit_reset_requests=reset) == [(500.0, None)]


@pytest.mark.parametrize(
    "reset",
    [
        "1d2h",
        "1d",
        "23h59m59s",
        "7m12s",
        "2m59.56s",
        "86400",
        "86400s",
        "1D2H",
        "86400000ms",
        "tomorrow",
        "1 day",
        "nan",
    ],
)
def test_a_limit_that_takes_longer_to_be_whole_again_is_not_one_for_a_minute(reset: str) -> None:
    assert told(x_ratelimit_limit_requests="200", x_ratelimit_reset_requests=reset) == [(math.inf, None)]


@pytest.mark.parametrize(
    ("seconds", "limit"), [(-30, 50.0), (1, 50.0), (58, 50.0), (3_600, math.inf), (90_000, math.inf)]
)
def test_the_end_may_be_a_moment(seconds: float, limit: float) -> None:
    at = moment(seconds)
    assert told(anthropic_ratelimit_requests_limit="50", anthropic_ratelimit_requests_reset=at) == [(limit, None)]
    for number in (time.time() + seconds, (time.time() + seconds) * 1000):
        headers = {"x_ratelimit_limit_tokens": "50", "x_ratelimit_reset_tokens": str(number)}
        assert told(**headers) == [(None, limit)]


def test_requests_of_a_day_say_nothing_about_tokens_of_a_minute() -> None:
    headers = {
        "x_ratelimit_limit_requests": "14400",
        "x_ratelimit_reset_requests": "2m59.56s",
        "x_ratelimit_limit_tokens": "18000",
        "x_ratelimit_reset_tokens": "7.66s",
    }

    assert told(**headers) == [(math.inf, 18_000.0)]


@pytest.mark.parametrize("limit", ["", "many", "-1", "1e3", "9" * 30, "٣"])
def test_what_is_no_number_is_no_limit(limit: str) -> None:
    assert told(x_ratelimit_limit_requests=limit, x_ratelimit_reset_requests="1s") == []


def test_a_limit_of_200_a_day_does_not_pace_calls() -> None:
    governor = Governor(Limits(), clock=lambda: 100.0)
    lane = governor.open_lane()

    report_limits({"x-ratelimit-limit-requests": "3", "x-ratelimit-reset-requests": "8h0m0s"}, governor.learn)

    assert [governor.try_enter(lane, 0) for _ in range(8)] == [True] * 8


def test_a_limit_that_turns_out_to_be_for_a_day_is_forgotten() -> None:
    governor = Governor(Limits(), clock=lambda: 100.0)
    lane = governor.open_lane()
    names = ("requests", "tokens")
    report_limits(
        {f"x-ratelimit-{part}-{name}": value for name in names for part, value in (("limit", "2"), ("reset", "43s"))},
        governor.learn,
    )
    assert governor.try_enter(lane, 0)
    assert not governor.try_enter(lane, 0)

    report_limits(
        {f"x-ratelimit-{part}-{name}": value for name in names for part, value in (("limit", "2"), ("reset", "86s"))},
        governor.learn,
    )

    assert governor.try_enter(lane, 0)
    assert not governor.counts_tokens


def test_a_limit_for_a_day_leaves_what_the_user_configured() -> None:
    governor = Governor(Limits(requests_per_minute=60, tokens_per_minute=600), clock=lambda: 100.0)
    lane = governor.open_lane()

    governor.learn(math.inf, math.inf)

    assert governor.counts_tokens
    assert governor.try_enter(lane, 0)
    assert not governor.try_enter(lane, 0)
