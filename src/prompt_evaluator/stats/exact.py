"""Tests without approximation: of counts, and of the samples of one case in two runs."""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from prompt_evaluator.stats.distributions import incomplete_beta

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_STATES = 25_000
_STATES_PER_VALUE = 200
"""Different sums of half the values up to which permutations are counted. 200 samples on a scale from 1 to 5 have
20,000 (0.03 s); 24 samples with 24 different scores that fit no grid have 4,096 (0.005 s)."""
_DRAWS = 9_999
_ENOUGH = 50
"""Drawn permutations as extreme as the observed one after which no more are drawn: the p value is then known to 14 %,
and too large to matter among many cases."""
_GRIDS = (1, 100)
"""Steps per point on which scores are looked for first."""
_FINE = math.lcm(*range(1, 25))
"""Steps between the lowest and the highest of scores that fit no grid; thirds and sevenths of it are whole numbers."""
_ROUNDING = 1e-9


_COUNTED = 64
"""Up to so many samples, groupings are counted instead of added up from logarithms."""


def binomial_two_sided(successes: int, total: int) -> float:
    """Exact two-sided p value of this many successes if success and failure are equally likely. 1 if total is 0."""
    if not 0 <= successes <= total:
        raise ValueError(f"{successes} of {total} is not a proportion")
    fewer = min(successes, total - successes)
    if total - 2 * fewer <= 1:
        return 1.0
    return 2 * incomplete_beta(0.5, total - fewer, fewer + 1)


sign_test = binomial_two_sided


def mcnemar(wins: int, losses: int) -> float:
    """Exact two-sided p value of McNemar's test. Pairs in which both sides are equal do not count."""
    return binomial_two_sided(wins, wins + losses)


@lru_cache(maxsize=4_096)
def fisher_less(k: int, n: int, l: int, m: int) -> float:  # noqa: E741 - the usual names
    """Fisher's exact one-sided p value that l of m is a lower proportion than k of n.

    It is the probability that at most l of the k + l successes fall into the second group if all groupings are equally
    likely. Sums the shorter tail, downwards from its largest term, so that large counts neither overflow nor take long.
    """
    if not (0 <= k <= n and 0 <= l <= m):
        raise ValueError(f"{k} of {n} and {l} of {m} are not proportions")
    fewest, most = max(0, k + l - n), min(m, k + l)
    if l == most:
        return 1.0
    if n + m <= _COUNTED:  # correctly rounded, so that 1 in 20 is not below 0.05
        ways = sum(math.comb(m, each) * math.comb(n, k + l - each) for each in range(fewest, l + 1))
        return ways / math.comb(n + m, k + l)
    if l * (n + m) <= (k + l) * m:  # below the expected number
        return min(1.0, _tail(l, fewest, n, m, k + l))
    # Above it, the other tail is the shorter one: the first group has fewer than k successes.
    return max(0.0, 1.0 - _tail(k - 1, k + l - most, m, n, k + l))


def _tail(start: int, fewest: int, n: int, m: int, successes: int) -> float:
    """Probability that the group of m has from `fewest` to `start` of the successes, which is below their mean."""
    log = _log_comb(m, start) + _log_comb(n, successes - start) - _log_comb(n + m, successes)
    term, total = 1.0, 1.0
    for count in range(start, fewest, -1):
        term *= count * (n - successes + count) / ((m - count + 1) * (successes - count + 1))
        total += term
        if term < 1e-17 * total:
            break
    return math.exp(log + math.log(total))


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def permutation_less(first: Sequence[float], second: Sequence[float]) -> float:
    """One-sided p value that the second group's mean is lower than the first's.

    It is the share of all ways to divide the pooled values into groups of these sizes that give the second group a
    mean as low or lower. For values of 0 and 1 it is Fisher's. 1 if a group is empty.

    Exact for up to 24 values, and for more if they are on a grid, such as 200 scores from 1 to 5. Otherwise estimated
    from up to 9,999 random divisions, of which b are as low, as (b + 1) / 10,000; if b reaches 50 after m, as 50 / m.
    The seed is fixed, so that the same values have the same p value.
    """
    if not first or not second:
        return 1.0
    return _permutation_less(tuple(sorted(first)), tuple(sorted(second)))


@lru_cache(maxsize=2_048)
def _permutation_less(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    low, high = min(first[0], second[0]), max(first[-1], second[-1])
    if low == high:
        return 1.0
    if all(value in (low, high) for value in (*first, *second)):
        return fisher_less(first.count(high), len(first), second.count(high), len(second))
    pool, slack = _on_grid((*first, *second), low, high)
    limit = sum(pool[len(first) :]) + slack
    pool.sort()  # equal values in the same half have fewer sums
    size, middle = len(second), len(pool) // 2
    lower, upper = _sums(pool[:middle], size), _sums(pool[middle:], size)
    if lower is None or upper is None:
        return _drawn_share(pool, size, limit)
    return _count(lower, upper, size, limit) / math.comb(len(pool), size)


def _on_grid(values: tuple[float, ...], low: float, high: float) -> tuple[list[int], int]:
    """Values as whole numbers of steps, and how many steps sums may be apart by rounding alone."""
    for steps in _GRIDS:
        whole, close = [round(value * steps) for value in values], _ROUNDING * min(1.0, (high - low) * steps)
        if all(abs(value * steps - near) <= close for value, near in zip(values, whole, strict=True)):
            return whole, 0
    scale = _FINE / (high - low)
    return [round((value - low) * scale) for value in values], len(values)


def _sums(values: list[int], most: int) -> list[dict[int, int]] | None:
    """For each number of values, in how many ways that many have each sum. None if there are too many sums."""
    ways: list[dict[int, int]] = [{0: 1}, *({} for _ in range(min(most, len(values))))]
    limit = min(_MOST_STATES, 2 * len(values) * _STATES_PER_VALUE)
    for value in values:
        for size in range(len(ways) - 1, 0, -1):
            target = ways[size]
            for total, count in ways[size - 1].items():
                target[total + value] = target.get(total + value, 0) + count
        if sum(map(len, ways)) > limit:
            return None
    return ways


def _count(lower: list[dict[int, int]], upper: list[dict[int, int]], size: int, limit: int) -> int:
    """Ways to take `size` values from the two halves with a sum of at most `limit`."""
    found = 0
    for taken, left in enumerate(lower):
        if not 0 <= size - taken < len(upper) or not left:
            continue
        right = sorted(upper[size - taken].items())
        totals, ways = [total for total, _ in right], [0, *accumulate(count for _, count in right)]
        found += sum(count * ways[bisect_right(totals, limit - total)] for total, count in left.items())
    return found


def _drawn_share(pool: list[int], size: int, limit: int) -> float:
    """Sequential Monte Carlo test (Besag and Clifford 1991)."""
    from random import Random  # noqa: PLC0415 - needed only for many different scores

    draw = Random(0).sample  # noqa: S311 - not a secret
    found = 0
    for drawn in range(1, _DRAWS + 1):
        found += sum(draw(pool, size)) <= limit
        if found == _ENOUGH:
            return found / drawn
    return (found + 1) / (_DRAWS + 1)
