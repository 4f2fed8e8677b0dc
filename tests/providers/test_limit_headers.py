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


def told_of(limit: int, remaining: int, reset: str) -> list[tuple[float | None, float | None]]:
    return told(
        x_ratelimit_limit_requests=str(limit),
        x_ratelimit_remaining_requests=str(remaining),
        x_ratelimit_reset_requests=reset,
    )


@pytest.mark.parametrize(
    ("limit", "remaining", "reset"),
    [
        (10_000, 9_999, "8.64s"),
        (10_000, 9_999, "8s"),
        (10_000, 9_999, "9"),
        (10_000, 9_998, "14.3s"),  # two, one of them partly refilled
        (10_000, 9_993, "1m0.48s"),
        (2_000, 1_999, "43.2s"),
        (2_000, 1_999, "43.2"),
        (14_400, 14_399, "6s"),
        (1_000_000, 999_500, "43.2s"),
        (5_000, 4_999, "720ms"),  # of an hour
        (5_000, 4_999, "1s"),
        (5_000, 4_940, "43.2s"),
    ],
)
def test_a_limit_of_a_day_or_an_hour_of_which_little_is_used_is_not_one_for_a_minute(
    limit: int, remaining: int, reset: str
) -> None:
    assert told_of(limit, remaining, reset) == []


@pytest.mark.parametrize(
    ("limit", "remaining", "reset"),
    [
        (10_000, 9_999, "6ms"),
        (10_000, 9_999, "0s"),
        (10_000, 10_000, "0s"),
        (10_000, 10_000, "1ms"),
        (150_000, 149_984, "6ms"),
        (30_000_000, 29_999_966, "0s"),
        (500, 499, "120ms"),
        (500, 490, "1.2s"),
        (500, 490, "2s"),
        (3, 2, "20s"),
        (60, 0, "1m0s"),
        (500, 0, "60"),
    ],
)
def test_a_limit_that_refills_within_a_minute_is_one_for_a_minute(limit: int, remaining: int, reset: str) -> None:
    assert told_of(limit, remaining, reset) == [(float(limit), None)]


@pytest.mark.parametrize(
    ("limit", "remaining", "reset"),
    [(60, 58, "44s"), (60, 30, "3s"), (500, 492, "59.2s"), (10_000, 9_900, "45s"), (18_000, 17_997, "7.66s")],
)
def test_a_limit_that_is_whole_again_at_a_fixed_time_is_one_for_a_minute(
    limit: int, remaining: int, reset: str
) -> None:
    assert told_of(limit, remaining, reset) == [(float(limit), None)]


def test_a_reply_that_leaves_the_period_open_changes_nothing_that_is_known() -> None:
    governor = Governor(Limits(), clock=lambda: 100.0)
    lane = governor.open_lane()

    def says(remaining: int, reset: str) -> None:
        report_limits(
            {
                "x-ratelimit-limit-requests": "60",
                "x-ratelimit-remaining-requests": str(remaining),
                "x-ratelimit-reset-requests": reset,
            },
            governor.learn,
        )

    says(40, "5s")
    assert governor.try_enter(lane, 0)
    says(59, "59s")  # the next minute has begun

    assert not governor.try_enter(lane, 0)


@pytest.mark.parametrize("remaining", ["", "many", "-1", "9" * 30])
def test_what_is_left_of_a_limit_may_be_unreadable(remaining: str) -> None:
    headers = {"x_ratelimit_limit_requests": "2000", "x_ratelimit_reset_requests": "43.2s"}

    assert told(**headers, x_ratelimit_remaining_requests=remaining) == [(2_000.0, None)]


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
