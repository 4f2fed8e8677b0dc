"""Reduces several samples of one case to one number."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SHOWN = 40
_NAMED = re.compile(r"pass(?P<mark>[@^])(?P<k>[0-9]+)|(?P<least>[0-9]+)-of-(?P<n>[0-9]+)")


class Samples(NamedTuple):
    """The score of each sample, and whether it passes."""

    scores: Sequence[float]
    passed: Sequence[bool]


def mean(scores: Sequence[float]) -> float:
    if not scores:
        raise ValueError("there are no scores")
    return math.fsum(scores) / len(scores)


def best_of(scores: Sequence[float]) -> float:
    """The highest score: the result if the best answer were always picked."""
    if not scores:
        raise ValueError("there are no scores")
    return max(scores)


def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that at least one of k samples passes, given that c of n did: 1 - C(n-c, k) / C(n, k).

    Unbiased (Chen et al. 2021, "Evaluating Large Language Models Trained on Code"); 1 - (1 - c/n)^k is not.
    """
    _check(n, c, k)
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Probability that all of k samples pass, given that c of n did: C(c, k) / C(n, k).

    Unbiased (Yao et al. 2024, "tau-bench"); (c/n)^k is not.
    """
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def majority(passed: Sequence[bool]) -> bool:
    """Whether more than half pass; exactly half is not enough."""
    if not passed:
        raise ValueError("there are no samples")
    return 2 * sum(passed) > len(passed)


def k_of_n(passed: Sequence[bool], k: int) -> bool:
    """Whether at least k pass."""
    if not 0 < k <= len(passed):
        raise ValueError(f"{k} of {len(passed)} samples is not possible")
    return sum(passed) >= k


def numbers_in(name: str) -> list[str]:
    """K and N in the name of a reducer, as written; none if it has no numbers or is unknown."""
    found = _NAMED.fullmatch(name)
    return [found[group] for group in ("k", "least", "n") if found[group]] if found else []


def reducer(name: str) -> Callable[[Samples], float]:
    """Look up a reducer by name: `mean`, `best-of`, `majority`, `pass@3`, `pass^3` or `2-of-3`.

    The returned function raises `ValueError` if there are too few samples. `2-of-3` uses the first three.
    """
    plain: dict[str, Callable[[Samples], float]] = {
        "mean": lambda samples: mean(samples.scores),
        "best-of": lambda samples: best_of(samples.scores),
        "majority": lambda samples: float(majority(samples.passed)),
    }
    if name in plain:
        return plain[name]
    if not (found := _NAMED.fullmatch(name)):
        raise ValueError(
            f"Unknown reducer {name[:_SHOWN]!r}. Known reducers: {', '.join(plain)}, pass@K, pass^K and K-of-N"
        )
    if found["mark"]:
        k, estimate = int(found["k"]), pass_at_k if found["mark"] == "@" else pass_hat_k
        return lambda samples: estimate(len(samples.passed), sum(samples.passed), k)
    least, n = int(found["least"]), int(found["n"])
    if not 0 < least <= n:
        raise ValueError(f"{name!r} is not a reducer: {least} of {n} is not possible")
    return lambda samples: float(k_of_n(_first(samples.passed, n), least))


def _first(passed: Sequence[bool], n: int) -> Sequence[bool]:
    if len(passed) < n:
        raise ValueError(f"expected at least {n} samples, got {len(passed)}")
    return passed[:n]


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 0 < k <= n):
        raise ValueError(f"{k} of {n} samples, {c} of which pass, is not possible")
